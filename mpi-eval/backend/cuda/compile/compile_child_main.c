/* atoll-compile-cuda: one compile child.  "describe" prints where NVRTC is and its version.  "serve TARGET
 * BYTES FOLDER..." compiles for its parent (compile_child.h): it opens NVRTC and compiles a kernel of ours, which
 * loads all that NVRTC loads lazily; then it gives up everything but reading the folders, and only then reads what a
 * candidate wrote. BYTES bounds a cubin; a job brings its own bound of processor time. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "core/rules/rules.h"
#include "mpi-eval/backend/sandbox/sandbox.h"
#include "mpi-eval/backend/cuda/compile/compile_child.h"
#include "mpi-eval/backend/cuda/compile/nvrtc.h"

#define FOLDER_LIMIT  32
#define JOB_LIMIT     1000               /* NVRTC keeps a little memory of every program */
#define PROBE_BYTES   ((size_t)64 << 20) /* what cannot be mapped any more says that memory is short */
#define REPLY_BYTES   ((size_t)1 << 30)
#define STATM_BYTES   64
#define ALT_BYTES     ((size_t)64 << 10)
#define KEPT_BYTES    (64 << 20) /* of the heap between two jobs; a job takes 20 to 50 MB of it */
#define LARGE_BYTES   (32 << 20) /* what is mapped for itself and given back at once: glibc's most */
#define EXIT_USAGE    64
#define EXIT_NO_NVRTC 69
#define WARM_UP_NAME  "warm.cu"

static const char warm_up_text[] =
    "extern \"C\" __global__ void warm(float *x) { x[threadIdx.x] = x[threadIdx.x] * 2 + 1; }\n";

struct server {
    const struct atoll_nvrtc_library *nvrtc;
    struct atoll_arena *arena;
    struct atoll_buffer request, reply;
    unsigned char *memory; /* of the request, REQUEST_BYTES */
    int statm_fd;          /* opened before the sandbox closed */
    unsigned jobs;
    size_t output_bytes;
};

/* ---- bytes ---- */

/* 1, or 0 at the end of the stream. */
static int read_all(void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t got = read(ATOLL_COMPILE_WIRE_FD, (char *)bytes + done, length - done);
        if (got == 0 || (got < 0 && errno != EINTR))
            return 0;
        done += got > 0 ? (size_t)got : 0;
    }
    return 1;
}

static int write_all(const void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t put = write(ATOLL_COMPILE_WIRE_FD, (const char *)bytes + done, length - done);
        if (put < 0 && errno != EINTR)
            return 0;
        done += put > 0 ? (size_t)put : 0;
    }
    return 1;
}

static int send_frame(const struct atoll_buffer *b)
{
    unsigned char head[ATOLL_COMPILE_WIRE_HEAD_BYTES];
    if (b->failed)
        return 0;
    for (size_t i = 0; i < sizeof(head); i++)
        head[i] = (unsigned char)(b->length >> (8 * i));
    return write_all(head, sizeof(head)) && write_all(b->data, b->length);
}

/* Length of the frame that is now in s->memory; 0: no more. */
static size_t receive_frame(struct server *s)
{
    unsigned char head[ATOLL_COMPILE_WIRE_HEAD_BYTES];
    size_t length = 0;
    if (!read_all(head, sizeof(head)))
        return 0;
    for (size_t i = 0; i < sizeof(head); i++)
        length |= (size_t)head[i] << (8 * i);
    return length <= ATOLL_COMPILE_WIRE_REQUEST_BYTES && read_all(s->memory, length) ? length : 0;
}

/* ---- limits ---- */

/* NVRTC has no way to say that memory ran out in every place: it crashes.  Async-signal-safe. */
static void on_crash(int number)
{
    if (mmap(NULL, PROBE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
        _exit(ATOLL_COMPILE_WIRE_EXIT_MEMORY);
    signal(number, SIG_DFL);
    raise(number);
}

static int catch_crashes(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT};
    stack_t stack = {.ss_sp = malloc(ALT_BYTES), .ss_size = ALT_BYTES};
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
    int failed = !stack.ss_sp || sigaltstack(&stack, NULL) != 0;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        failed |= sigaction(numbers[i], &action, NULL) != 0;
    return failed ? -1 : 0;
}

/* Half of the address space in use after a job, or many jobs: a fresh child is better. */
static int must_leave(const struct server *s)
{
    char text[STATM_BYTES] = "";
    struct rlimit limit;
    ssize_t got = s->statm_fd >= 0 ? pread(s->statm_fd, text, sizeof(text) - 1, 0) : 0;
    uint64_t pages = got > 0 ? strtoull(text, NULL, 10) : 0;
    if (s->jobs >= JOB_LIMIT)
        return 1;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           pages * (uint64_t)sysconf(_SC_PAGESIZE) > limit.rlim_cur / 2;
}

/* ---- NVRTC ---- */

/* The toolkit's own needs the C library's headers, which are not here; kernels want the one type of it that they are
 * given (docs/spec/plan.md, tensormap). */
static const char cuda_h[] = "#pragma once\n"
                             "struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; };\n"
                             "typedef struct CUtensorMap_st CUtensorMap;\n";

static unsigned compile(struct server *s, const char *name, const char *text, const char *const *options,
                        int count, struct _nvrtcProgram **ret_program)
{
    static const char *const texts[] = {cuda_h}, *const names[] = {"cuda.h"};
    *ret_program = NULL;
    unsigned result = s->nvrtc->nvrtcCreateProgram(ret_program, text, name, 1, texts, names);
    return result == ATOLL_NVRTC_SUCCESS ? s->nvrtc->nvrtcCompileProgram(*ret_program, count, options)
                                         : result;
}

/* 0 when what was made of a candidate may be used. */
static int judge(struct server *s, const char *name, struct _nvrtcProgram *program, struct atoll_err *err)
{
    size_t bytes = 0;
    char *ptx = NULL;
    if (strcmp(name, ATOLL_COMPILE_WIRE_CANDIDATE) != 0)
        return 0;
    int failed = s->nvrtc->nvrtcGetPTXSize(program, &bytes) != ATOLL_NVRTC_SUCCESS || bytes == 0 ||
                         !(ptx = calloc(1, bytes + 1)) ||
                         s->nvrtc->nvrtcGetPTX(program, ptx) != ATOLL_NVRTC_SUCCESS
                     ? atoll_err_set(err, ATOLL_E_INPUT, "the compiler shows no PTX of this source")
                     : atoll_rules_check_ptx(ptx, err);
    free(ptx);
    return failed;
}

static int request_serve(struct server *s, uint64_t serial, uint32_t most_seconds, const char *name,
                         const char *text, const char *const *options, int count)
{
    struct _nvrtcProgram *program;
    s->jobs++;
    /* The wall-clock deadline is the parent's; this one ends a child whose parent is gone. */
    struct rusage used;
    struct rlimit limit;
    if (getrusage(RUSAGE_SELF, &used) == 0 && getrlimit(RLIMIT_CPU, &limit) == 0) {
        rlim_t seconds = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + most_seconds + 2;
        limit.rlim_cur = seconds < limit.rlim_max ? seconds : limit.rlim_max;
        setrlimit(RLIMIT_CPU, &limit);
    }
    struct atoll_err why = ATOLL_ERR_INIT;
    unsigned result = compile(s, name, text, options, count, &program);
    if (result == ATOLL_NVRTC_SUCCESS && judge(s, name, program, &why) != 0)
        result = ATOLL_COMPILE_WIRE_FORBIDDEN;
    int leaves = result == ATOLL_NVRTC_ERROR_OUT_OF_MEMORY || must_leave(s);
    atoll_buffer_clear(&s->reply);
    atoll_buffer_put_u64(&s->reply, serial);
    atoll_buffer_put_u32(&s->reply, result);
    atoll_buffer_put_u32(&s->reply, (uint32_t)leaves);
    size_t log_bytes = 0;
    char *log = NULL;
    if (program && s->nvrtc->nvrtcGetProgramLogSize(program, &log_bytes) == ATOLL_NVRTC_SUCCESS &&
        log_bytes > 0 && (log = malloc(log_bytes)) &&
        s->nvrtc->nvrtcGetProgramLog(program, log) != ATOLL_NVRTC_SUCCESS)
        log_bytes = 0;
    size_t length = log && log_bytes > 0 ? strnlen(log, log_bytes) : 0;
    const char *words = result == ATOLL_COMPILE_WIRE_FORBIDDEN ? why.text : log ? log : "";
    length = result == ATOLL_COMPILE_WIRE_FORBIDDEN ? strlen(why.text) : length;
    atoll_buffer_put_blob(&s->reply, words,
                          length < ATOLL_COMPILE_WIRE_LOG_BYTES ? length : ATOLL_COMPILE_WIRE_LOG_BYTES);
    free(log);
    size_t bytes = 0;
    char *cubin = NULL;
    if (result == ATOLL_NVRTC_SUCCESS &&
        s->nvrtc->nvrtcGetCUBINSize(program, &bytes) == ATOLL_NVRTC_SUCCESS && bytes > 0 &&
        bytes <= s->output_bytes && (cubin = malloc(bytes)) &&
        s->nvrtc->nvrtcGetCUBIN(program, cubin) != ATOLL_NVRTC_SUCCESS)
        bytes = 0;
    atoll_buffer_put_blob(&s->reply, cubin ? cubin : "", cubin ? bytes : 0);
    free(cubin);
    if (program)
        s->nvrtc->nvrtcDestroyProgram(&program);
    return send_frame(&s->reply) && !leaves;
}

/* 1: on with the next. */
static int serve_one(struct server *s)
{
    const char *options[ATOLL_COMPILE_WIRE_OPTION_LIMIT];
    struct atoll_reader r;
    size_t length = receive_frame(s), text_length = 0;
    if (length == 0)
        return 0;
    atoll_arena_reset(s->arena);
    atoll_reader_init(&r, s->memory, length);
    uint64_t serial = atoll_reader_u64(&r);
    uint32_t seconds = atoll_reader_u32(&r);
    const char *name = atoll_reader_text(&r, s->arena);
    const char *text = atoll_reader_blob(&r, &text_length);
    uint32_t count = atoll_reader_count(&r, 4);
    if (count > ATOLL_COMPILE_WIRE_OPTION_LIMIT)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        options[i] = atoll_reader_text(&r, s->arena);
    if (atoll_reader_finish(&r, "request", NULL) != 0 || text_length == 0 || text[text_length - 1] != '\0')
        return 0;
    return request_serve(s, serial, seconds, name, text, options, (int)count);
}

/* ---- start ---- */

static int warm_up(struct server *s, const char *target, struct atoll_err *err)
{
    char option[64];
    const char *options[] = {option};
    struct _nvrtcProgram *program;
    snprintf(option, sizeof(option), "--gpu-architecture=%s", target);
    for (int i = 0; i < 2; i++) { /* the second time finds what the first one loaded */
        unsigned result = compile(s, WARM_UP_NAME, warm_up_text, options, 1, &program);
        if (program)
            s->nvrtc->nvrtcDestroyProgram(&program);
        if (result != ATOLL_NVRTC_SUCCESS)
            return atoll_err_set(err, ATOLL_E_MISSING, "NVRTC cannot compile for %s: %s", target,
                                 s->nvrtc->nvrtcGetErrorString(result));
    }
    return 0;
}

static int confine(char *const *folders, int count, struct atoll_err *err)
{
    struct atoll_landlock_path paths[FOLDER_LIMIT];
    struct atoll_filter filter = {NULL, 0};
    int ruleset = -1, error = 0;
    if (count > FOLDER_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d folders", FOLDER_LIMIT);
    for (int i = 0; i < count; i++)
        paths[i] = (struct atoll_landlock_path){folders[i], 0};
    if (atoll_landlock_create(paths, (size_t)count, &ruleset, err) != 0 ||
        atoll_filter_init(&filter, ATOLL_FILTER_ALONE, err) != 0)
        return -1;
    error = atoll_landlock_apply(ruleset);
    if (ruleset >= 0)
        close(ruleset);
    if (!error)
        error = atoll_filter_apply(&filter, 1);
    atoll_filter_fini(&filter);
    return error ? atoll_err_errno(err, error, "cannot confine the compile child") : 0;
}

/* What a job gives back the next one wants again: pages that go to the system meanwhile are cleared and mapped anew for each. */
static void keep_heap(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_TOP_PAD, KEPT_BYTES / 16);
#endif
}

static int serve(const char *target, const char *bytes, char *const *folders, int count)
{
    struct server s = {.output_bytes = strtoull(bytes, NULL, 10)};
    struct atoll_err err = ATOLL_ERR_INIT;
    keep_heap();
    atoll_buffer_init(&s.reply, REPLY_BYTES);
    s.statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    s.nvrtc = atoll_nvrtc_library_open(&err);
    int failed = !s.nvrtc || catch_crashes() != 0 || warm_up(&s, target, &err) != 0 ||
                 confine(folders, count, &err) != 0;
    if (!failed) {
        s.memory = malloc(ATOLL_COMPILE_WIRE_REQUEST_BYTES);
        s.arena = atoll_arena_create((size_t)1 << 20, &err);
        failed = !s.memory || !s.arena;
        if (failed)
            atoll_err_set(&err, ATOLL_E_MEMORY, "no memory for requests");
    }
    atoll_buffer_put_u32(&s.reply, (uint32_t)failed);
    atoll_buffer_put_text(&s.reply, err.text);
    if (!send_frame(&s.reply) || failed)
        return EXIT_NO_NVRTC;
    while (serve_one(&s))
        ;
    return 0;
}

static int describe(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_nvrtc_library *nvrtc = atoll_nvrtc_library_open(&err);
    int major = 0, minor = 0;
    Dl_info info;
    void *symbol = NULL;
    if (!nvrtc) {
        printf("error %s\n", err.text);
        return EXIT_NO_NVRTC;
    }
    memcpy(&symbol, &nvrtc->nvrtcVersion, sizeof(symbol));
    char *path = dladdr(symbol, &info) && info.dli_fname ? realpath(info.dli_fname, NULL) : NULL;
    if (!path || nvrtc->nvrtcVersion(&major, &minor) != ATOLL_NVRTC_SUCCESS) {
        printf("error NVRTC does not tell its version\n");
        return EXIT_NO_NVRTC;
    }
    printf("nvrtc %s\nversion %d.%d\n", path, major, minor);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "describe") == 0)
        return describe();
    if (argc >= 4 && strcmp(argv[1], "serve") == 0)
        return serve(argv[2], argv[3], argv + 4, argc - 4);
    fprintf(stderr, "atoll-compile-cuda is started by atoll-eval and atoll\n");
    return EXIT_USAGE;
}
