/* A job waits in the queue until a slot is free.  A slot has a private folder, a Landlock ruleset that makes this folder
 * the only one to write to, and at most one process group at work on one job.  The compiler runs in the slot's folder
 * with relative names only, so that equal sources give equal objects.  The group's output comes through one pipe; the
 * group gets SIGKILL while its leader is still a zombie: the number cannot be another group's.  A mutex lets the
 * referee's thread stop and continue the groups while the owner's thread starts and reaps them. */
#include "mpi-eval/backend/compile/compiler_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/clock.h"
#include "mpi-eval/backend/compile/compile_folder.h"
#include "mpi-eval/backend/compile/compile_job.h"
#include "mpi-eval/backend/compile/compile_patience.h"
#include "mpi-eval/backend/compile/diagnostics.h"
#include "mpi-eval/backend/compile/toolchain.h"
#include "mpi-eval/backend/sandbox/scratch.h"
#include "mpi-eval/backend/sandbox/spawn.h"

#define ASSEMBLY_BYTES ((uint64_t)4 << 20) /* a longer text of a candidate is not looked at */
#define FLAG_LIMIT     128
#define SLOT_LIMIT     256
#define NICENESS       10                 /* what measures must not wait for its turn behind compilers */
#define OUTPUT_BYTES   ((size_t)64 << 10) /* of diagnostics kept; the rest is read and dropped */

struct slot {
    char *folder;
    int folder_fd, ruleset, pipe;
    pid_t pid;
    struct atoll_compile_job *job; /* that runs, owned; NULL: free */
    /* Failed with words that blame this machine, owned; what runs then is the probe, which is known to compile. */
    struct atoll_compile_job *doubted;
    char *output; /* of the group, NUL-terminated by reap */
    size_t output_length;
    double ran_ns, since_ns; /* running time up to the last pause; start of the present stretch */
    double spent_ns; /* processor time of the job's groups that were reaped, and of judging what they made */
    struct atoll_compile_patience patience;
    int timed_out;
};

static int slot_init(struct slot *slot, const char *base, unsigned index,
                     const struct atoll_landlock_path *paths, size_t path_count, const char *headers,
                     struct atoll_err *err)
{
    struct atoll_landlock_path all[ATOLL_TOOLCHAIN_PATH_LIMIT + 4];
    slot->folder_fd = slot->ruleset = slot->pipe = -1;
    slot->output = malloc(OUTPUT_BYTES);
    if (!slot->output || asprintf(&slot->folder, "%s/%u", base, index) < 0)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a compile slot");
    if (mkdir(slot->folder, 0700) != 0)
        return atoll_err_errno(err, errno, "cannot make the folder %s", slot->folder);
    slot->folder_fd = open(slot->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (slot->folder_fd < 0)
        return atoll_err_errno(err, errno, "cannot open the folder %s", slot->folder);
    size_t count = path_count < ATOLL_TOOLCHAIN_PATH_LIMIT ? path_count : ATOLL_TOOLCHAIN_PATH_LIMIT;
    memcpy(all, paths, count * sizeof(all[0]));
    all[count++] = (struct atoll_landlock_path){slot->folder, 1};
    all[count++] = (struct atoll_landlock_path){"/dev/null", 1};
    all[count++] = (struct atoll_landlock_path){"/dev/urandom", 0};
    if (headers)
        all[count++] = (struct atoll_landlock_path){headers, 0};
    return atoll_landlock_create(all, count, &slot->ruleset, err);
}

static void slot_kill(struct slot *slot)
{
    kill(-slot->pid, SIGKILL);
    kill(-slot->pid, SIGCONT);
}

static void slot_fini(struct slot *slot)
{
    if (slot->job) {
        slot_kill(slot);
        while (waitpid(slot->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        close(slot->pipe);
    }
    atoll_compile_job_destroy(slot->job);
    atoll_compile_job_destroy(slot->doubted);
    if (slot->folder_fd >= 0)
        close(slot->folder_fd);
    if (slot->ruleset >= 0)
        close(slot->ruleset);
    free(slot->folder);
    free(slot->output);
}

static int write_source(const struct slot *slot, struct atoll_err *err)
{
    const struct atoll_compile_job *job = slot->job;
    int fd =
        openat(slot->folder_fd, job->file_name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return atoll_err_errno(err, errno, "cannot write %s/%s", slot->folder, job->file_name);
    int status = atoll_write_all(fd, job->text, job->length) == 0
                     ? 0
                     : atoll_err_errno(err, errno, "cannot write %s/%s", slot->folder, job->file_name);
    close(fd);
    return status;
}

static int slot_start(struct slot *slot, struct atoll_spawn *spawn, struct atoll_err *err)
{
    int ends[2];
    if (write_source(slot, err) != 0)
        return -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return atoll_err_errno(err, errno, "cannot make a pipe");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    spawn->folder = slot->folder;
    spawn->ruleset = slot->ruleset;
    spawn->fds[0] = -1;
    spawn->fds[1] = spawn->fds[2] = ends[1];
    spawn->fd_count = 3;
    slot->pid = atoll_spawn_start(spawn, err);
    close(ends[1]);
    if (slot->pid < 0) {
        close(ends[0]);
        return -1;
    }
    slot->pipe = ends[0];
    return 0;
}

static void slot_drain(struct slot *slot)
{
    char rest[4096];
    for (;;) {
        size_t room = OUTPUT_BYTES - 1 - slot->output_length;
        ssize_t got = room > 0 ? read(slot->pipe, slot->output + slot->output_length, room)
                               : read(slot->pipe, rest, sizeof(rest));
        if (got == 0 || (got < 0 && errno != EINTR))
            return;
        if (got > 0 && room > 0)
            slot->output_length += (size_t)got;
    }
}

static double timeval_ns(const struct timeval *time)
{
    return (double)time->tv_sec * 1e9 + (double)time->tv_usec * 1e3;
}

static int slot_reap(struct slot *slot, int *ret_wait_status)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)slot->pid, &info, WEXITED | WNOWAIT | WNOHANG) != 0 || info.si_pid == 0)
        return 0;
    struct rusage used = {0};
    slot_kill(slot);
    wait4(slot->pid, ret_wait_status, 0, &used);
    slot->spent_ns += timeval_ns(&used.ru_utime) + timeval_ns(&used.ru_stime);
    slot_drain(slot);
    close(slot->pipe);
    slot->pipe = -1;
    slot->output[slot->output_length] = '\0';
    for (size_t i = 0; i < slot->output_length; i++)
        slot->output[i] = slot->output[i] ? slot->output[i] : ' ';
    return 1;
}

static int slot_read_object(struct slot *slot, const char *name, uint64_t limit)
{
    struct atoll_compiled *result = &slot->job->result;
    result->object = atoll_compile_folder_read(slot->folder_fd, name, limit, &result->object_length);
    return result->object ? 0 : -1;
}

struct cc {
    struct atoll_compiler base;
    struct atoll_compiler_style style;
    struct atoll_toolchain toolchain;
    struct atoll_scratch *scratch;
    struct atoll_parsed_headers headers;
    struct atoll_filter filter;
    char *flags[FLAG_LIMIT];
    size_t flag_count;
    char *version;
    double deadline_ns;
    uint64_t output_bytes;
    struct atoll_limit limits[4];
    char *environment[12]; /* borrowed from toolchain, and literals */
    struct slot *slots;
    unsigned slot_count;
    struct atoll_compile_queue queued, done;
    int paused;
    pthread_mutex_t mutex;
};

static int flags_split(struct cc *cc, const char *flags, struct atoll_err *err)
{
    for (const char *at = flags; *at;) {
        size_t blank = strspn(at, " \t\n"), length = strcspn(at + blank, " \t\n");
        if (length > 0 && cc->flag_count == FLAG_LIMIT)
            return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d compiler flags", FLAG_LIMIT);
        if (length > 0) {
            char *flag = strndup(at + blank, length);
            if (!flag)
                return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for compiler flags");
            cc->flags[cc->flag_count++] = flag;
        }
        at += blank + length;
    }
    return 0;
}

static void cc_destroy(struct atoll_compiler *compiler)
{
    struct cc *cc = (struct cc *)compiler;
    for (unsigned i = 0; i < cc->slot_count; i++)
        slot_fini(&cc->slots[i]);
    atoll_compile_queue_fini(&cc->queued);
    atoll_compile_queue_fini(&cc->done);
    for (size_t i = 0; i < cc->flag_count; i++)
        free(cc->flags[i]);
    free(cc->slots);
    free(cc->version);
    atoll_filter_fini(&cc->filter);
    atoll_toolchain_fini(&cc->toolchain);
    atoll_parsed_headers_fini(&cc->headers);
    atoll_scratch_destroy(cc->scratch);
    pthread_mutex_destroy(&cc->mutex);
    free(cc);
}

static const char *cc_version(const struct atoll_compiler *compiler)
{
    return ((const struct cc *)compiler)->version;
}

static int set_up(struct cc *cc, const struct atoll_compiler_settings *settings, struct atoll_err *err)
{
    if (flags_split(cc, settings->flags, err) != 0 ||
        atoll_toolchain_init(&cc->toolchain, settings->command, err) != 0 ||
        atoll_filter_init(&cc->filter, ATOLL_FILTER_COMPILE, err) != 0)
        return -1;
    for (const char *const *folder = cc->style.folders; folder && *folder; folder++)
        atoll_toolchain_add_folder(&cc->toolchain, *folder);
    if (asprintf(&cc->version, "%s %s", cc->toolchain.version, settings->flags) < 0) {
        cc->version = NULL;
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compiler's version");
    }
    cc->limits[0] = (struct atoll_limit){RLIMIT_AS, settings->memory_bytes};
    cc->limits[1] = (struct atoll_limit){RLIMIT_FSIZE, settings->output_bytes};
    cc->limits[2] = (struct atoll_limit){RLIMIT_CORE, 0};
    /* Bounds what outlives us: cc dies with its parent, cc1 only with its work. */
    cc->limits[3] = (struct atoll_limit){RLIMIT_CPU, 0}; /* the job's deadline, see compiler_start */
    static char temporary[] = "TMPDIR=.", home[] = "HOME=.";
    size_t count = 0;
    for (char *const *e = cc->toolchain.environment; *e; e++)
        cc->environment[count++] = *e;
    cc->environment[count++] = temporary;
    cc->environment[count++] = home;
    cc->environment[count] = NULL;
    cc->scratch = atoll_scratch_create(err);
    /* With one child it would be waited for. */
    if (!cc->scratch || atoll_parsed_headers_init(&cc->headers, atoll_scratch_path(cc->scratch),
                                                  settings->slots > 1 ? cc->style.headers : NULL, err) != 0)
        return -1;
    for (unsigned i = 0; i < settings->slots; i++) {
        cc->slot_count = i + 1;
        if (slot_init(&cc->slots[i], atoll_scratch_path(cc->scratch), i, cc->toolchain.paths,
                      cc->toolchain.path_count, cc->headers.folder, err) != 0)
            return -1;
    }
    return 0;
}

/* What a candidate needs, tried once. */
static int probe(struct cc *cc, struct atoll_err *err)
{
    const struct atoll_compiler_style *style = &cc->style;
    struct atoll_compiled result;
    struct atoll_err why = ATOLL_ERR_INIT;
    if (atoll_compiler_run(&cc->base, style->probe_name, style->probe_text, strlen(style->probe_text), NULL,
                           0, &result, err) != 0)
        return -1;
    int status =
        result.status == ATOLL_COMPILE_OK ? style->check(result.object, result.object_length, &why) : -1;
    if (status != 0)
        atoll_err_set(err, ATOLL_E_MISSING,
                      "%s makes no %s that Atoll can use: %.600s (%s; or check the compiler flags)",
                      cc->toolchain.path, style->kind,
                      result.status == ATOLL_COMPILE_OK ? why.text : result.diagnostics, style->remedy);
    atoll_compiled_fini(&result);
    return status;
}

/* A header to be parsed is not linked, and what is saved of it would be parsed again, without its macros. */
static size_t put_flags(const struct cc *cc, const struct atoll_compile_job *job, char **argv)
{
    static char header[] = "c-header", language[] = "-x", only[] = "-c";
    size_t n = 0;
    for (size_t i = 0; cc->style.flags[i]; i++)
        if (!job->is_header || strncmp(cc->style.flags[i], "-save-temps", 11) != 0)
            argv[n++] = (char *)(uintptr_t)cc->style.flags[i];
    for (size_t i = 0; i < cc->flag_count; i++)
        argv[n++] = cc->flags[i];
    if (job->is_header) {
        argv[n++] = only;
        argv[n++] = language;
        argv[n++] = header;
    }
    return n;
}

static char **arguments_make(const struct cc *cc, struct atoll_compile_job *job)
{
    static char output[] = "-o", include[] = "-include";
    size_t fixed = 0, tail = 0, n = 0;
    while (cc->style.flags[fixed])
        fixed++;
    while (cc->style.tail[tail])
        tail++;
    char **argv = calloc(9 + fixed + cc->flag_count + job->define_count + tail, sizeof(*argv));
    if (!argv)
        return NULL;
    argv[n++] = cc->toolchain.path;
    n += put_flags(cc, job, argv + n);
    for (size_t i = 0; i < job->define_count; i++)
        argv[n++] = job->defines[i];
    if (job->header && !job->is_header) {
        atoll_parsed_headers_path(&cc->headers, job->header, job->header_path, sizeof(job->header_path));
        argv[n++] = include;
        argv[n++] = job->header_path;
    }
    argv[n++] = output;
    argv[n++] = (char *)(uintptr_t)cc->style.object_name;
    argv[n++] = (char *)(uintptr_t)job->file_name;
    for (size_t i = 0; i < tail && !job->is_header; i++)
        argv[n++] = (char *)(uintptr_t)cc->style.tail[i];
    argv[n] = NULL;
    return argv;
}

/* What the preprocessor made of the slot's unit, owned by the caller; NULL: it left nothing of allowed size. */
static char *preprocessed(const struct cc *cc, const struct slot *slot)
{
    char *text = atoll_compile_folder_saved(slot->folder_fd, ".i", cc->output_bytes);
    if (text && slot->job->header)
        atoll_parsed_headers_hide(&cc->headers, slot->job->header, text);
    return text;
}

/* Judges what was compiled: 0, or -1 with the rule, or with why there is nothing to judge, in err. */
static int judge(const struct cc *cc, const struct slot *slot, struct atoll_err *err)
{
    if (!cc->style.judge || strcmp(slot->job->file_name, cc->style.judged_name) != 0)
        return 0;
    char *text = preprocessed(cc, slot);
    if (!text)
        return atoll_err_set(err, ATOLL_E_CHILD,
                             "the compiler left no preprocessed text of at most %llu bytes",
                             (unsigned long long)cc->output_bytes);
    int status = cc->style.judge(text, err);
    free(text);
    return status;
}

/* What a person would look at in the assembler text of a candidate that compiled. */
static void look(const struct cc *cc, const struct slot *slot, char report[ATOLL_COMPILE_REPORT_BYTES])
{
    if (!cc->style.look || strcmp(slot->job->file_name, cc->style.judged_name) != 0)
        return;
    char *text = atoll_compile_folder_saved(slot->folder_fd, ".s", ASSEMBLY_BYTES);
    if (text)
        cc->style.look(text, report);
    free(text);
}

/* The slot is free again; the job waits for its collector. */
static void job_finish(struct cc *cc, struct slot *slot, enum atoll_compile_status status,
                       const char *diagnostics, const char *report)
{
    struct atoll_compile_job *job = slot->job;
    slot->job = NULL;
    atoll_scratch_empty(slot->folder_fd, 1);
    if (job->is_header) { /* nobody asked for it */
        atoll_parsed_headers_keep(&cc->headers, job->header, -1, NULL);
        atoll_compile_job_destroy(job);
        return;
    }
    atoll_compile_job_finish(job, status, diagnostics, report, slot->ran_ns);
    job->result.processor_ns = slot->spent_ns;
    atoll_compile_queue_put(&cc->done, job);
}

static int compiler_start(struct cc *cc, struct slot *slot, struct atoll_err *err)
{
    char **argv = arguments_make(cc, slot->job);
    if (!argv)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a command line");
    cc->limits[3].value = (rlim_t)(atoll_compile_job_deadline_ns(slot->job, cc->deadline_ns) / 1e9) + 2;
    struct atoll_spawn spawn = {
        .path = cc->toolchain.path,
        .argv = argv,
        .environment = cc->environment,
        .limits = cc->limits,
        .limit_count = sizeof(cc->limits) / sizeof(cc->limits[0]),
        .filter = &cc->filter,
        .drop_privileges = 1,
        .niceness = NICENESS,
    };
    int status = slot_start(slot, &spawn, err);
    free(argv);
    return status;
}

/* The slot's job begins now. */
static int job_start(struct cc *cc, struct slot *slot, struct atoll_err *err)
{
    slot->output_length = 0;
    slot->ran_ns = slot->spent_ns = 0;
    slot->timed_out = 0;
    slot->patience = (struct atoll_compile_patience){0};
    slot->since_ns = atoll_clock_mono_ns();
    if (compiler_start(cc, slot, err) != 0)
        return -1;
    if (cc->paused)
        kill(-slot->pid, SIGSTOP);
    return 0;
}

static void header_choose(const struct cc *cc, struct atoll_compile_job *job)
{
    if (job->is_header || strcmp(job->file_name, cc->style.judged_name ? cc->style.judged_name : "") != 0)
        return;
    job->header = atoll_parsed_headers_find(&cc->headers, job->text);
    if (job->header && cc->headers.states[job->header - 1] != ATOLL_PARSED_READY)
        job->header = 0;
}

static void jobs_start(struct cc *cc)
{
    for (unsigned i = 0; i < cc->slot_count && cc->queued.first && !cc->paused; i++) {
        struct slot *slot = &cc->slots[i];
        struct atoll_err err = ATOLL_ERR_INIT;
        if (slot->job)
            continue;
        slot->job = atoll_compile_queue_take(&cc->queued);
        header_choose(cc, slot->job);
        if (job_start(cc, slot, &err) != 0)
            job_finish(cc, slot, ATOLL_COMPILE_BROKEN, err.text, "");
    }
}

/* The first unit that includes a large header has it parsed beside itself, those that start later take it. */
static void header_ask(struct cc *cc, const struct atoll_compile_job *job)
{
    struct atoll_err ignored = ATOLL_ERR_INIT;
    char text[4096];
    if (strcmp(job->file_name, cc->style.judged_name ? cc->style.judged_name : "") != 0)
        return;
    size_t header = atoll_parsed_headers_find(&cc->headers, job->text);
    if (!header || cc->headers.states[header - 1] != ATOLL_PARSED_UNASKED)
        return;
    atoll_parsed_headers_unit(&cc->headers, header, text, sizeof(text));
    struct atoll_compile_job *parse = atoll_compile_job_create(0, cc->style.probe_name, cc->style.suffix,
                                                               text, strlen(text), NULL, 0, &ignored);
    if (!parse)
        return;
    parse->header = header;
    parse->is_header = 1;
    cc->headers.states[header - 1] = ATOLL_PARSED_BEING_MADE;
    atoll_compile_queue_put(&cc->queued, parse);
}

static int cc_submit(struct atoll_compiler *compiler, uint64_t number, const char *file_name,
                     const char *text, size_t length, const char *const *defines, size_t define_count,
                     struct atoll_err *err)
{
    struct cc *cc = (struct cc *)compiler;
    struct atoll_compile_job *job = atoll_compile_job_create(number, file_name, cc->style.suffix, text,
                                                             length, defines, define_count, err);
    if (!job)
        return -1;
    pthread_mutex_lock(&cc->mutex);
    atoll_compile_queue_put(&cc->queued, job);
    header_ask(cc, job);
    jobs_start(cc);
    pthread_mutex_unlock(&cc->mutex);
    return 0;
}

static size_t cc_pollfds(const struct atoll_compiler *compiler, struct pollfd *ret_fds, size_t limit)
{
    const struct cc *cc = (const struct cc *)compiler;
    size_t count = 0;
    for (unsigned i = 0; i < cc->slot_count && count < limit; i++)
        if (cc->slots[i].job)
            ret_fds[count++] = (struct pollfd){cc->slots[i].pipe, POLLIN, 0};
    return count;
}

static double running_ns(const struct cc *cc, const struct slot *slot)
{
    return slot->ran_ns + (cc->paused ? 0 : atoll_clock_mono_ns() - slot->since_ns);
}

static double slot_deadline_ns(const struct cc *cc, const struct slot *slot)
{
    return atoll_compile_job_deadline_ns(slot->job, cc->deadline_ns);
}

/* Running time left until the next look at a late job; -1: none runs. */
static double time_left_ns(const struct cc *cc)
{
    double least = -1;
    for (unsigned i = 0; i < cc->slot_count; i++) {
        const struct slot *slot = &cc->slots[i];
        if (!slot->job || cc->paused)
            continue;
        double left =
            atoll_compile_patience_left_ns(&slot->patience, running_ns(cc, slot), slot_deadline_ns(cc, slot));
        least = least < 0 || left < least ? left : least;
    }
    return least;
}

static int cc_timeout_ms(const struct atoll_compiler *compiler)
{
    struct cc *cc = (struct cc *)(uintptr_t)compiler;
    pthread_mutex_lock(&cc->mutex);
    double left = cc->done.first ? 0 : time_left_ns(cc);
    pthread_mutex_unlock(&cc->mutex);
    if (left <= 0)
        return left < 0 ? -1 : 0;
    return left / 1e6 < INT_MAX - 1 ? (int)(left / 1e6) + 1 : INT_MAX;
}

/* The job that failed is the candidate's or this machine's fault: the probe decides, which compiled before. */
static void doubt_begin(struct cc *cc, struct slot *slot, const char *diagnostics, const char *report)
{
    const struct atoll_compiler_style *style = &cc->style;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_compile_job_finish(slot->job, ATOLL_COMPILE_ERROR, diagnostics, report, slot->ran_ns);
    slot->job->result.processor_ns = slot->spent_ns;
    slot->doubted = slot->job;
    slot->job = NULL;
    atoll_scratch_empty(slot->folder_fd, 1); /* what the job left may be what took the space */
    slot->job = atoll_compile_job_create(0, style->probe_name, style->suffix, style->probe_text,
                                         strlen(style->probe_text), NULL, 0, &err);
    if (slot->job && job_start(cc, slot, &err) == 0)
        return;
    atoll_compile_job_destroy(slot->job);
    slot->job = slot->doubted;
    slot->doubted = NULL;
    job_finish(cc, slot, ATOLL_COMPILE_BROKEN, err.text, report);
}

static void doubt_end(struct cc *cc, struct slot *slot, int wait_status)
{
    int works = !slot->timed_out && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
    atoll_compile_job_destroy(slot->job);
    slot->job = NULL;
    atoll_scratch_empty(slot->folder_fd, 1);
    if (!works)
        slot->doubted->result.status = ATOLL_COMPILE_BROKEN;
    atoll_compile_queue_put(&cc->done, slot->doubted);
    slot->doubted = NULL;
}

static void header_conclude(struct cc *cc, struct slot *slot, int wait_status)
{
    int is_made = !slot->timed_out && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
    atoll_parsed_headers_keep(&cc->headers, slot->job->header, slot->folder_fd,
                              is_made ? cc->style.object_name : NULL);
    atoll_compile_job_destroy(slot->job);
    slot->job = NULL;
    atoll_scratch_empty(slot->folder_fd, 1);
}

/* Whether what was compiled with a parsed header is what it would be without. */
static int header_suits(const struct cc *cc, const struct slot *slot, int wait_status)
{
    int (*suits)(const char *) = cc->headers.table[slot->job->header - 1].suits;
    char *text = NULL;
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0)
        return 0;
    int is_same = !suits || ((text = preprocessed(cc, slot)) && suits(text));
    free(text);
    return is_same;
}

/* A unit may be wrong only because it has a header where it would not have asked for it: its errors are those that it has by
 * itself.  Both runs are on its account. */
static void header_forgo(struct cc *cc, struct slot *slot)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    double ran_ns = slot->ran_ns, spent_ns = slot->spent_ns;
    slot->job->header = 0;
    atoll_scratch_empty(slot->folder_fd, 1);
    if (job_start(cc, slot, &err) != 0) {
        job_finish(cc, slot, ATOLL_COMPILE_BROKEN, err.text, "");
        return;
    }
    slot->ran_ns = ran_ns;
    slot->spent_ns = spent_ns;
}

static void job_conclude(struct cc *cc, struct slot *slot, int wait_status)
{
    char diagnostics[ATOLL_DIAGNOSTICS_BYTES] = "", report[ATOLL_COMPILE_REPORT_BYTES] = "";
    if (cc->style.report)
        cc->style.report(slot->output, report);
    enum atoll_compile_status status =
        slot->timed_out ? ATOLL_COMPILE_TIMEOUT
                        : atoll_compile_judge(slot->output, slot->job->file_name, wait_status);
    if (status == ATOLL_COMPILE_TIMEOUT)
        atoll_compile_patience_tell(&slot->patience, slot_deadline_ns(cc, slot), diagnostics,
                                    sizeof(diagnostics));
    else if (status != ATOLL_COMPILE_OK)
        atoll_diagnostics_trim(slot->output, slot->folder, diagnostics);
    struct atoll_err err = ATOLL_ERR_INIT;
    int is_judged = status == ATOLL_COMPILE_OK || status == ATOLL_COMPILE_ERROR;
    double begin = atoll_clock_mono_ns(), begin_spent = atoll_compile_thread_processor_ns();
    int is_refused = is_judged && judge(cc, slot, &err) != 0;
    slot->ran_ns += atoll_clock_mono_ns() - begin; /* how much there is to judge is the candidate's doing */
    slot->spent_ns += atoll_compile_thread_processor_ns() - begin_spent;
    if (is_refused && (status == ATOLL_COMPILE_OK || err.code == ATOLL_E_INPUT)) {
        status = err.code == ATOLL_E_INPUT ? ATOLL_COMPILE_FORBIDDEN : ATOLL_COMPILE_BROKEN;
        snprintf(diagnostics, sizeof(diagnostics), "%s", err.text);
    }
    if (status == ATOLL_COMPILE_OK && slot->spent_ns > slot_deadline_ns(cc, slot)) {
        status = ATOLL_COMPILE_TIMEOUT;
        snprintf(diagnostics, sizeof(diagnostics),
                 "what the compiler made was not looked through after %.3g s of processor time",
                 slot_deadline_ns(cc, slot) / 1e9);
    }
    if (status == ATOLL_COMPILE_OK && slot_read_object(slot, cc->style.object_name, cc->output_bytes) != 0) {
        status = ATOLL_COMPILE_BROKEN;
        snprintf(diagnostics, sizeof(diagnostics), "the compiler left no object of at most %llu bytes",
                 (unsigned long long)cc->output_bytes);
    }
    if (status == ATOLL_COMPILE_OK)
        look(cc, slot, report);
    if (status == ATOLL_COMPILE_ERROR && atoll_compile_blames_machine(slot->output))
        doubt_begin(cc, slot, diagnostics, report);
    else
        job_finish(cc, slot, status, diagnostics, report);
}

static int is_over(const struct cc *cc, struct slot *slot)
{
    double running = running_ns(cc, slot), deadline = slot_deadline_ns(cc, slot);
    if (!atoll_compile_patience_is_late(&slot->patience, running, deadline))
        return 0;
    double processor = atoll_compile_group_processor_ns(slot->pid);
    return atoll_compile_patience_ends(&slot->patience, running, deadline,
                                       processor < 0 ? processor : processor + slot->spent_ns);
}

static int cc_collect(struct atoll_compiler *compiler, struct atoll_compiled *ret_compiled)
{
    struct cc *cc = (struct cc *)compiler;
    pthread_mutex_lock(&cc->mutex);
    for (unsigned i = 0; i < cc->slot_count; i++) {
        struct slot *slot = &cc->slots[i];
        int wait_status = 0;
        if (!slot->job)
            continue;
        slot_drain(slot);
        if (!slot->timed_out && is_over(cc, slot)) {
            slot->timed_out = 1;
            slot_kill(slot);
        }
        if (slot_reap(slot, &wait_status)) {
            slot->ran_ns = running_ns(cc, slot);
            if (slot->doubted)
                doubt_end(cc, slot, wait_status);
            else if (slot->job->is_header)
                header_conclude(cc, slot, wait_status);
            else if (slot->job->header && !slot->timed_out && !header_suits(cc, slot, wait_status))
                header_forgo(cc, slot);
            else
                job_conclude(cc, slot, wait_status);
        }
    }
    jobs_start(cc);
    int found = atoll_compile_queue_collect(&cc->done, ret_compiled);
    pthread_mutex_unlock(&cc->mutex);
    return found;
}

static unsigned cc_idle_count(struct atoll_compiler *compiler)
{
    struct cc *cc = (struct cc *)compiler;
    unsigned count = 0;
    pthread_mutex_lock(&cc->mutex);
    for (unsigned i = 0; i < cc->slot_count && !cc->paused && !cc->queued.first; i++)
        count += !cc->slots[i].job;
    pthread_mutex_unlock(&cc->mutex);
    return count;
}

static void groups_signal(struct cc *cc, int paused)
{
    pthread_mutex_lock(&cc->mutex);
    double now = atoll_clock_mono_ns();
    for (unsigned i = 0; i < cc->slot_count && cc->paused != paused; i++) {
        struct slot *slot = &cc->slots[i];
        if (!slot->job)
            continue;
        kill(-slot->pid, paused ? SIGSTOP : SIGCONT);
        if (paused)
            slot->ran_ns += now - slot->since_ns;
        else
            slot->since_ns = now;
    }
    cc->paused = paused;
    pthread_mutex_unlock(&cc->mutex);
}

static void cc_pause(struct atoll_compiler *compiler)
{
    groups_signal((struct cc *)compiler, 1);
}

static void cc_resume(struct atoll_compiler *compiler)
{
    groups_signal((struct cc *)compiler, 0);
}

static const struct atoll_compiler_kind cc_kind = {cc_destroy,    cc_version,    cc_submit,
                                                   cc_pollfds,    cc_timeout_ms, cc_collect,
                                                   cc_idle_count, cc_pause,      cc_resume};

struct atoll_compiler *atoll_compiler_driver_create(const struct atoll_compiler_style *style,
                                                    const struct atoll_compiler_settings *settings,
                                                    struct atoll_err *err)
{
    if (settings->slots < 1 || settings->slots > SLOT_LIMIT || !(settings->deadline_ns > 0)) {
        atoll_err_set(err, ATOLL_E_LIMIT,
                      "%u compile slots, deadline %.3g s: 1 to %d slots and a deadline above 0 are possible",
                      settings->slots, settings->deadline_ns / 1e9, SLOT_LIMIT);
        return NULL;
    }
    struct cc *cc = calloc(1, sizeof(*cc));
    if (!cc || !(cc->slots = calloc(settings->slots, sizeof(cc->slots[0])))) {
        free(cc);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compiler");
        return NULL;
    }
    cc->base.kind = &cc_kind;
    cc->style = *style;
    cc->deadline_ns = settings->deadline_ns;
    cc->output_bytes = settings->output_bytes;
    pthread_mutex_init(&cc->mutex, NULL);
    if (set_up(cc, settings, err) != 0 || probe(cc, err) != 0) {
        atoll_compiler_destroy(&cc->base);
        return NULL;
    }
    return &cc->base;
}
