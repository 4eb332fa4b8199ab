/* zygote.c - our end.  The link is a compile child's (compile_child.h): frames of a length and bytes. */
#include "mpi-eval/backend/cuda/triton/zygote.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/program.h"
#include "mpi-eval/backend/cuda/compile/compile_child.h"
#include "mpi-eval/backend/sandbox/scratch.h"
#include "mpi-eval/torch/confinement.h"
#include "mpi-eval/torch/interpreter.h"

#define FRAME_BYTES  ((size_t)25 << 20)
#define WORDS_BYTES  1024
#define FACT_VALUES  64
#define HELLO_BYTES  ((size_t)1 << 20)
#define FILE_LIMIT   ((rlim_t)1 << 20)
#define DEADLINE_MIN 1.0 /* s */
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

struct atoll_triton_zygote {
    struct atoll_compile_child child;
    struct atoll_scratch *scratch;
    double since_ns;
    char version[32], ptxas[PATH_MAX];
};

/* ---- start ---- */

/* What its children may read: all of the zygote's, but for processes and devices. */
static int child_ruleset(const struct atoll_python_places *places, int *ret_fd, struct atoll_err *err)
{
    struct atoll_landlock_path paths[ATOLL_PYTHON_PLACE_LIMIT];
    size_t count = 0;
    for (size_t i = 0; i < places->count; i++) {
        const struct atoll_landlock_path *p = &places->paths[i];
        if (p->writable == ATOLL_LANDLOCK_READ && strncmp(p->path, "/proc", 5) != 0 &&
            strncmp(p->path, "/sys", 4) != 0 && strcmp(p->path, "/etc/passwd") != 0 &&
            strcmp(p->path, "/etc/group") != 0)
            paths[count++] = *p;
    }
    return atoll_landlock_create(paths, count, ret_fd, err);
}

static int hello_send(struct atoll_triton_zygote *z, const struct atoll_triton_zygote_settings *s,
                      json_t *path, int has_landlock, struct atoll_err *err)
{
    struct atoll_buffer text, frame;
    double seconds = s->deadline_ns / 1e9 > DEADLINE_MIN ? s->deadline_ns / 1e9 : DEADLINE_MIN;
    json_t *hello =
        json_pack("{s:O, s:i, s:f, s:I, s:b, s:i, s:i, s:i}", "path", path, "arch", (int)s->arch, "seconds",
                  seconds, "memory", (json_int_t)s->memory_bytes, "has_landlock", has_landlock, "landlock",
                  (int)SYS_landlock_restrict_self, "seccomp", (int)SYS_seccomp, "tgkill", (int)SYS_tgkill);
    atoll_buffer_init(&text, HELLO_BYTES);
    atoll_buffer_init(&frame, HELLO_BYTES);
    int rc = hello ? atoll_json_put(&text, hello, err)
                   : atoll_err_set(err, ATOLL_E_MEMORY, "no memory to start Triton");
    if (rc == 0) {
        atoll_buffer_put_blob(&frame, text.data, text.length);
        /* the child reads before it says anything: the frame goes out as if it were ready */
        rc = atoll_compile_child_send(&z->child, &frame) == 0
                 ? 0
                 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory to start Triton");
    }
    json_decref(hello);
    atoll_buffer_fini(&text);
    atoll_buffer_fini(&frame);
    return rc;
}

/* What the interpreter sees of the environment: its own folder everywhere, and where to look for libraries, as we do. */
struct environment {
    char home[PATH_MAX + 8], temporary[PATH_MAX + 8], cache[PATH_MAX + 24], locale[24], hash[24], search[24],
        libraries[8192];
    char *list[8];
};

static void environment_make(struct environment *e, const char *folder)
{
    const char *libraries = getenv("LD_LIBRARY_PATH");
    size_t count = 0;
    snprintf(e->home, sizeof(e->home), "HOME=%s", folder);
    snprintf(e->temporary, sizeof(e->temporary), "TMPDIR=%s", folder);
    snprintf(e->cache, sizeof(e->cache), "TRITON_CACHE_DIR=%s", folder);
    snprintf(e->locale, sizeof(e->locale), "LC_ALL=C.UTF-8");
    snprintf(e->hash, sizeof(e->hash), "PYTHONHASHSEED=0");
    snprintf(e->search, sizeof(e->search), "PATH=/usr/bin:/bin");
    snprintf(e->libraries, sizeof(e->libraries), "LD_LIBRARY_PATH=%s", libraries ? libraries : "");
    e->list[count++] = e->home;
    e->list[count++] = e->temporary;
    e->list[count++] = e->cache;
    e->list[count++] = e->locale;
    e->list[count++] = e->hash;
    e->list[count++] = e->search;
    if (libraries)
        e->list[count++] = e->libraries;
    e->list[count] = NULL;
}

static int process_start(struct atoll_triton_zygote *z, const struct atoll_triton_zygote_settings *s,
                         const json_t *interpreter, struct atoll_err *err)
{
    struct atoll_python_places *places = calloc(1, sizeof(*places));
    struct atoll_filter filter = {0};
    struct atoll_limit limits[] = {{RLIMIT_CORE, 0}, {RLIMIT_FSIZE, FILE_LIMIT}};
    struct environment environment;
    char script[PATH_MAX];
    char *argv[] = {strdup(s->python), strdup("-I"), strdup("-B"), NULL, NULL};
    int rulesets[2] = {-1, -1}, filter_fd = -1, rc = -1;
    const char *named = s->script ? s->script : getenv("ATOLL_TRITON_SCRIPT");
    if (named)
        snprintf(script, sizeof(script), "%s", named);
    else if (atoll_program_data("torch/atoll_triton.py", script, sizeof(script), err) != 0)
        goto done;
    argv[3] = strdup(script);
    if (!places || !argv[0] || !argv[1] || !argv[2] || !argv[3]) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to start Triton");
        goto done;
    }
    const char *folder = atoll_scratch_path(z->scratch);
    environment_make(&environment, folder);
    atoll_python_places_make(places, interpreter, script, folder, 0, 0);
    if (atoll_filter_init(&filter, ATOLL_FILTER_COMPILE, err) != 0 ||
        atoll_landlock_create(places->paths, places->count, &rulesets[0], err) != 0 ||
        child_ruleset(places, &rulesets[1], err) != 0 ||
        (filter_fd = atoll_python_filter_file(ATOLL_FILTER_ALONE, err)) < 0)
        goto done;
    struct atoll_spawn spawn = {.path = s->python,
                                .argv = argv,
                                .environment = environment.list,
                                .folder = folder,
                                .fds = {-1, -1, -1, filter_fd, rulesets[1]},
                                .fd_count = 5,
                                .limits = limits,
                                .limit_count = 2,
                                .ruleset = rulesets[0],
                                .filter = &filter,
                                .drop_privileges = 1};
    rc = atoll_compile_child_start(&z->child, &spawn, err);
    if (rc == 0)
        rc = hello_send(z, s, json_object_get(interpreter, "path"), rulesets[1] >= 0, err);
done:
    for (int i = 0; i < 2; i++)
        if (rulesets[i] >= 0)
            close(rulesets[i]);
    if (filter_fd >= 0)
        close(filter_fd);
    atoll_filter_fini(&filter);
    if (places)
        atoll_python_places_fini(places);
    free(places);
    for (size_t i = 0; i < sizeof(argv) / sizeof(*argv); i++)
        free(argv[i]);
    return rc;
}

struct atoll_triton_zygote *atoll_triton_zygote_create(const struct atoll_triton_zygote_settings *settings,
                                                       struct atoll_err *err)
{
    struct atoll_triton_zygote *z = calloc(1, sizeof(*z));
    json_t *interpreter = NULL;
    if (!z) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to start Triton");
        return NULL;
    }
    atoll_compile_child_init(&z->child, FRAME_BYTES);
    z->since_ns = atoll_clock_mono_ns();
    if ((z->scratch = atoll_scratch_create(err)) &&
        (interpreter = atoll_torch_examine(settings->python, err)) &&
        process_start(z, settings, interpreter, err) == 0) {
        json_decref(interpreter);
        return z;
    }
    json_decref(interpreter);
    atoll_triton_zygote_destroy(z);
    return NULL;
}

void atoll_triton_zygote_destroy(struct atoll_triton_zygote *z)
{
    if (!z)
        return;
    atoll_compile_child_fini(&z->child);
    atoll_scratch_destroy(z->scratch);
    free(z);
}

/* ---- what it says ---- */

static int hello_receive(struct atoll_triton_zygote *z, struct atoll_reader *r, struct atoll_err *err)
{
    char words[WORDS_BYTES];
    uint32_t failed = atoll_reader_u32(r);
    atoll_reader_fixed_text(r, words, sizeof(words));
    if (atoll_reader_finish(r, "hello", NULL) != 0)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "the process of Triton starts with nonsense");
    if (failed)
        return atoll_err_set(err, ATOLL_E_MISSING, "%s", words);
    json_t *facts = atoll_json_load(words, strlen(words), FACT_VALUES, 0, NULL);
    snprintf(z->version, sizeof(z->version), "%s", atoll_json_member(facts, "triton"));
    snprintf(z->ptxas, sizeof(z->ptxas), "%s", atoll_json_member(facts, "ptxas"));
    json_decref(facts);
    return z->version[0] && z->ptxas[0] == '/'
               ? 0
               : atoll_err_set(err, ATOLL_E_MISSING, "Triton does not tell its version and its ptxas");
}

static int reply_receive(struct atoll_reader *r, struct atoll_triton_reply *ret, struct atoll_err *err)
{
    ret->serial = atoll_reader_u64(r);
    uint32_t end = atoll_reader_u32(r);
    ret->which = atoll_reader_u32(r);
    ret->peak_bytes = atoll_reader_u64(r);
    ret->processor_ns = (double)atoll_reader_u64(r);
    ret->bytes = atoll_reader_blob(r, &ret->length);
    ret->end = (enum atoll_triton_end)end;
    return atoll_reader_finish(r, "reply", NULL) == 0 && end < ATOLL_TRITON_END_COUNT
               ? 0
               : atoll_err_set(err, ATOLL_E_PROTOCOL, "the process of Triton talks nonsense");
}

int atoll_triton_zygote_poll(struct atoll_triton_zygote *z, struct atoll_triton_reply *ret,
                             struct atoll_err *err)
{
    struct atoll_reader frame;
    int is_starting = z->child.state == ATOLL_COMPILE_CHILD_STARTING;
    memset(ret, 0, sizeof(*ret));
    int got = atoll_compile_child_poll(&z->child, &frame);
    if (got < 0)
        return atoll_err_set(err, ATOLL_E_CHILD,
                             is_starting ? "the process of Triton ended before it was ready"
                                         : "the process of Triton ended");
    if (got == 0)
        return 0;
    ret->is_ready = is_starting;
    int failed = is_starting ? hello_receive(z, &frame, err) : reply_receive(&frame, ret, err);
    return failed ? -1 : 1;
}

int atoll_triton_zygote_send(struct atoll_triton_zygote *z, uint64_t serial, unsigned part, unsigned parts,
                             const void *request, size_t length)
{
    struct atoll_buffer frame;
    if (z->child.state != ATOLL_COMPILE_CHILD_READY || z->child.out_done < z->child.out.length)
        return 0;
    atoll_buffer_init(&frame, ATOLL_COMPILE_WIRE_REQUEST_BYTES);
    atoll_buffer_put_u64(&frame, serial);
    atoll_buffer_put_u32(&frame, part);
    atoll_buffer_put_u32(&frame, parts);
    atoll_buffer_put_blob(&frame, request, length);
    int rc = atoll_compile_child_send(&z->child, &frame);
    atoll_buffer_fini(&frame);
    return rc == 0 ? 1 : -1;
}

struct pollfd atoll_triton_zygote_pollfd(const struct atoll_triton_zygote *z)
{
    int sends = z->child.out_done < z->child.out.length;
    return (struct pollfd){z->child.fd, (short)(POLLIN | (sends ? POLLOUT : 0)), 0};
}

const char *atoll_triton_zygote_version(const struct atoll_triton_zygote *z)
{
    return z->version;
}

const char *atoll_triton_zygote_ptxas(const struct atoll_triton_zygote *z)
{
    return z->ptxas;
}

double atoll_triton_zygote_age_ns(const struct atoll_triton_zygote *z)
{
    return atoll_clock_mono_ns() - z->since_ns;
}
