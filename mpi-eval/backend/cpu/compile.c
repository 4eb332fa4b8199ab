/* A job waits in the queue until a slot is free.  A slot is a folder, a Landlock ruleset that makes this
 * folder the only one to write to, and at most one process group.  cc runs in the folder with relative names
 * only, so that equal sources give equal objects.  The group's output comes through one pipe; its end of file
 * says that the job is over. A mutex lets the referee's thread stop and continue the groups while the owner's
 * thread starts and reaps them. */
#include "mpi-eval/backend/cpu/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mpi-eval/backend/cpu/diagnostics.h"
#include "mpi-eval/backend/cpu/object.h"
#include "mpi-eval/backend/cpu/sandbox.h"
#include "mpi-eval/backend/cpu/scratch.h"
#include "mpi-eval/backend/cpu/spawn.h"
#include "mpi-eval/backend/cpu/toolchain.h"

#define OBJECT_NAME  "object.so"
#define OUTPUT_BYTES ((size_t)64 << 10) /* of diagnostics kept; the rest is read and dropped */
#define FLAG_LIMIT   128
#define SLOT_LIMIT   256
#define NAME_BYTES   64
#define RUN_LOOK_MS  20 /* atoll_compiler_run looks at deadlines this often */
#define TEXT_LIMIT   ((size_t)16 << 20)

/* Before the user's flags.  No start files: they bring constructors.  -z defs: what is not there is a compile
 * error. */
static const char *const fixed_flags[] = {
    "-shared",
    "-fPIC",
    "-nostartfiles",
    "-pipe",
    "-w",
    "-fmax-errors=5",
    "-fdiagnostics-color=never",
    "-frandom-seed=atoll",
    "-Wl,-z,now",
    "-Wl,-z,relro",
    "-Wl,-z,noexecstack",
    "-Wl,-z,defs",
    "-Wl,--build-id=none",
    "-Wl,--hash-style=gnu",
    "-Wl,-s",
};

struct job {
    struct job *next;
    uint64_t number, serial;
    char file_name[NAME_BYTES];
    char *text;
    size_t length;
    char **defines; /* "-DNAME=VALUE" */
    size_t define_count;
    struct atoll_compiled result;
};

struct slot {
    char *folder;
    int folder_fd, ruleset, pipe;
    pid_t pid;
    struct job *job; /* that runs; NULL: free */
    char *output;
    size_t output_length;
    double ran_ns, since_ns; /* running time up to the last pause; start of the present stretch */
    int timed_out;
};

struct atoll_compiler {
    struct atoll_toolchain toolchain;
    struct atoll_scratch *scratch;
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
    struct job *first, **last; /* queued */
    struct job *done;          /* not collected yet, latest first */
    uint64_t serial;
    int paused;
    pthread_mutex_t mutex;
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void job_destroy(struct job *job)
{
    if (!job)
        return;
    for (size_t i = 0; i < job->define_count; i++)
        free(job->defines[i]);
    free(job->result.object);
    free(job->result.diagnostics);
    free(job->defines);
    free(job->text);
    free(job);
}

static int split_flags(struct atoll_compiler *compiler, const char *flags, struct atoll_err *err)
{
    for (const char *at = flags; *at;) {
        size_t blank = strspn(at, " \t\n"), length = strcspn(at + blank, " \t\n");
        if (length > 0 && compiler->flag_count == FLAG_LIMIT)
            return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d compiler flags", FLAG_LIMIT);
        if (length > 0) {
            char *flag = strndup(at + blank, length);
            if (!flag)
                return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for compiler flags");
            compiler->flags[compiler->flag_count++] = flag;
        }
        at += blank + length;
    }
    return 0;
}

static int make_slot(struct atoll_compiler *compiler, unsigned index, struct atoll_err *err)
{
    struct slot *slot = &compiler->slots[index];
    slot->folder_fd = slot->ruleset = slot->pipe = -1;
    slot->output = malloc(OUTPUT_BYTES);
    if (!slot->output || asprintf(&slot->folder, "%s/%u", atoll_scratch_path(compiler->scratch), index) < 0)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a compile slot");
    if (mkdir(slot->folder, 0700) != 0)
        return atoll_err_errno(err, errno, "cannot make the folder %s", slot->folder);
    slot->folder_fd = open(slot->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (slot->folder_fd < 0)
        return atoll_err_errno(err, errno, "cannot open the folder %s", slot->folder);
    struct atoll_landlock_path paths[ATOLL_TOOLCHAIN_PATH_LIMIT + 3];
    size_t count = compiler->toolchain.path_count;
    memcpy(paths, compiler->toolchain.paths, count * sizeof paths[0]);
    paths[count++] = (struct atoll_landlock_path){slot->folder, 1};
    paths[count++] = (struct atoll_landlock_path){"/dev/null", 1};
    paths[count++] = (struct atoll_landlock_path){"/dev/urandom", 0};
    return atoll_landlock_create(paths, count, &slot->ruleset, err);
}

static void end_group(struct slot *slot)
{
    kill(-slot->pid, SIGKILL);
    kill(-slot->pid, SIGCONT);
}

static void free_slot(struct slot *slot)
{
    if (slot->job) {
        end_group(slot);
        while (waitpid(slot->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        close(slot->pipe);
    }
    job_destroy(slot->job);
    if (slot->folder_fd >= 0)
        close(slot->folder_fd);
    if (slot->ruleset >= 0)
        close(slot->ruleset);
    free(slot->folder);
    free(slot->output);
}

static void free_jobs(struct job *job)
{
    while (job) {
        struct job *next = job->next;
        job_destroy(job);
        job = next;
    }
}

void atoll_compiler_destroy(struct atoll_compiler *compiler)
{
    if (!compiler)
        return;
    for (unsigned i = 0; i < compiler->slot_count; i++)
        free_slot(&compiler->slots[i]);
    free_jobs(compiler->first);
    free_jobs(compiler->done);
    for (size_t i = 0; i < compiler->flag_count; i++)
        free(compiler->flags[i]);
    free(compiler->slots);
    free(compiler->version);
    atoll_filter_fini(&compiler->filter);
    atoll_toolchain_fini(&compiler->toolchain);
    atoll_scratch_destroy(compiler->scratch);
    pthread_mutex_destroy(&compiler->mutex);
    free(compiler);
}

static void fill_limits(struct atoll_compiler *compiler, const struct atoll_compiler_settings *settings)
{
    compiler->limits[0] = (struct atoll_limit){RLIMIT_AS, settings->memory_bytes};
    compiler->limits[1] = (struct atoll_limit){RLIMIT_FSIZE, settings->output_bytes};
    compiler->limits[2] = (struct atoll_limit){RLIMIT_CORE, 0};
    /* Bounds what outlives us: cc dies with its parent, cc1 only with its work. */
    compiler->limits[3] = (struct atoll_limit){RLIMIT_CPU, (rlim_t)(settings->deadline_ns / 1e9) + 2};
}

static void fill_environment(struct atoll_compiler *compiler)
{
    static char temporary[] = "TMPDIR=.", home[] = "HOME=.";
    size_t count = 0;
    for (char *const *e = compiler->toolchain.environment; *e; e++)
        compiler->environment[count++] = *e;
    compiler->environment[count++] = temporary;
    compiler->environment[count++] = home;
    compiler->environment[count] = NULL;
}

static int set_up(struct atoll_compiler *compiler, const struct atoll_compiler_settings *settings,
                  struct atoll_err *err)
{
    if (split_flags(compiler, settings->flags, err) != 0 ||
        atoll_toolchain_init(&compiler->toolchain, settings->command, err) != 0 ||
        atoll_filter_init(&compiler->filter, ATOLL_FILTER_COMPILE, err) != 0)
        return -1;
    if (asprintf(&compiler->version, "%s %s", compiler->toolchain.version, settings->flags) < 0) {
        compiler->version = NULL;
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compiler's version");
    }
    fill_limits(compiler, settings);
    fill_environment(compiler);
    compiler->scratch = atoll_scratch_create(err);
    if (!compiler->scratch)
        return -1;
    for (unsigned i = 0; i < settings->slots; i++) {
        compiler->slot_count = i + 1;
        if (make_slot(compiler, i, err) != 0)
            return -1;
    }
    return 0;
}

/* What a candidate needs, tried once: compile, link with libm, pass the object check. */
static int probe(struct atoll_compiler *compiler, struct atoll_err *err)
{
    static const char text[] =
        "#include <math.h>\n"
        "void atoll_probe(double *x, long n) { for (long i = 0; i < n; i++) x[i] = exp(x[i]); }\n";
    static const char *const symbols[] = {"atoll_probe"};
    struct atoll_compiled result;
    struct atoll_err why = ATOLL_ERR_INIT;
    if (atoll_compiler_run(compiler, "probe.c", text, sizeof text - 1, NULL, 0, &result, err) != 0)
        return -1;
    int status = result.status == ATOLL_COMPILE_OK
                     ? atoll_object_check(result.object, result.object_length, 0, symbols, 1, &why)
                     : -1;
    if (status != 0)
        atoll_err_set(err, ATOLL_E_MISSING,
                      "%s makes no shared object that Atoll can use: %.600s (Debian: apt install gcc "
                      "libc6-dev; or check the "
                      "compiler flags)",
                      compiler->toolchain.path,
                      result.status == ATOLL_COMPILE_OK ? why.text : result.diagnostics);
    free(result.object);
    free(result.diagnostics);
    return status;
}

struct atoll_compiler *atoll_compiler_create(const struct atoll_compiler_settings *settings,
                                             struct atoll_err *err)
{
    if (settings->slots < 1 || settings->slots > SLOT_LIMIT || !(settings->deadline_ns > 0)) {
        atoll_err_set(err, ATOLL_E_LIMIT,
                      "%u compile slots, deadline %.3g s: 1 to %d slots and a deadline above 0 are possible",
                      settings->slots, settings->deadline_ns / 1e9, SLOT_LIMIT);
        return NULL;
    }
    struct atoll_compiler *compiler = calloc(1, sizeof *compiler);
    if (!compiler || !(compiler->slots = calloc(settings->slots, sizeof compiler->slots[0]))) {
        free(compiler);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compiler");
        return NULL;
    }
    compiler->deadline_ns = settings->deadline_ns;
    compiler->output_bytes = settings->output_bytes;
    compiler->last = &compiler->first;
    pthread_mutex_init(&compiler->mutex, NULL);
    if (set_up(compiler, settings, err) != 0 || probe(compiler, err) != 0) {
        atoll_compiler_destroy(compiler);
        return NULL;
    }
    return compiler;
}

const char *atoll_compiler_version(const struct atoll_compiler *compiler)
{
    return compiler->version;
}

/* Diagnostics and cc's command line show this name: letters, digits, . _ - and no leading dash or dot. */
static int check_name(const char *name, struct atoll_err *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(name);
    if (length < 3 || length >= NAME_BYTES || strspn(name, allowed) != length || name[0] == '-' ||
        name[0] == '.' || strcmp(name + length - 2, ".c") != 0)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "\"%s\" is no name for a translation unit", name);
    return 0;
}

static struct job *job_create(const char *file_name, const char *text, size_t length,
                              const char *const *defines, size_t define_count)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    snprintf(job->file_name, sizeof job->file_name, "%s", file_name);
    job->text = malloc(length + 1);
    job->defines = calloc(define_count + 1, sizeof job->defines[0]);
    if (!job->text || !job->defines) {
        job_destroy(job);
        return NULL;
    }
    memcpy(job->text, text, length);
    job->length = length;
    for (; job->define_count < define_count; job->define_count++) {
        if (asprintf(&job->defines[job->define_count], "-D%s", defines[job->define_count]) < 0) {
            job_destroy(job);
            return NULL;
        }
    }
    return job;
}

static int write_source(const struct slot *slot, struct atoll_err *err)
{
    const struct job *job = slot->job;
    int fd =
        openat(slot->folder_fd, job->file_name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return atoll_err_errno(err, errno, "cannot write %s/%s", slot->folder, job->file_name);
    int status = 0;
    for (size_t done = 0; done < job->length && status == 0;) {
        ssize_t wrote = write(fd, job->text + done, job->length - done);
        if (wrote < 0 && errno != EINTR)
            status = atoll_err_errno(err, errno, "cannot write %s/%s", slot->folder, job->file_name);
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    close(fd);
    return status;
}

static char **make_arguments(const struct atoll_compiler *compiler, const struct job *job)
{
    static char output[] = "-o", object[] = OBJECT_NAME, maths[] = "-lm";
    const size_t fixed = sizeof fixed_flags / sizeof fixed_flags[0];
    char **argv = calloc(1 + fixed + compiler->flag_count + job->define_count + 5, sizeof *argv);
    size_t n = 0;
    if (!argv)
        return NULL;
    argv[n++] = compiler->toolchain.path;
    for (size_t i = 0; i < fixed; i++)
        argv[n++] = (char *)(uintptr_t)fixed_flags[i];
    for (size_t i = 0; i < compiler->flag_count; i++)
        argv[n++] = compiler->flags[i];
    for (size_t i = 0; i < job->define_count; i++)
        argv[n++] = job->defines[i];
    argv[n++] = output;
    argv[n++] = object;
    argv[n++] = (char *)(uintptr_t)job->file_name;
    argv[n++] = maths;
    argv[n] = NULL;
    return argv;
}

static int start_cc(struct atoll_compiler *compiler, struct slot *slot, struct atoll_err *err)
{
    int ends[2];
    char **argv = make_arguments(compiler, slot->job);
    if (!argv)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a command line");
    if (pipe2(ends, O_CLOEXEC) != 0) {
        free(argv);
        return atoll_err_errno(err, errno, "cannot make a pipe");
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    struct atoll_spawn spawn = {
        .path = compiler->toolchain.path,
        .argv = argv,
        .environment = compiler->environment,
        .folder = slot->folder,
        .fds = {-1, ends[1], ends[1]},
        .fd_count = 3,
        .limits = compiler->limits,
        .limit_count = sizeof compiler->limits / sizeof compiler->limits[0],
        .ruleset = slot->ruleset,
        .filter = &compiler->filter,
        .drop_privileges = 1,
    };
    slot->pid = atoll_spawn_start(&spawn, err);
    close(ends[1]);
    free(argv);
    if (slot->pid < 0) {
        close(ends[0]);
        return -1;
    }
    slot->pipe = ends[0];
    return 0;
}

/* The slot is free again; the job waits for its collector. */
static void finish(struct atoll_compiler *compiler, struct slot *slot, enum atoll_compile_status status,
                   const char *diagnostics)
{
    struct job *job = slot->job;
    job->result.job = job->number;
    job->result.status = status;
    job->result.diagnostics = strdup(diagnostics);
    job->result.wall_ns = slot->ran_ns;
    job->next = compiler->done;
    compiler->done = job;
    slot->job = NULL;
    atoll_scratch_empty(slot->folder_fd, 1);
}

static void start_job(struct atoll_compiler *compiler, struct slot *slot)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    slot->job = compiler->first;
    compiler->first = slot->job->next;
    if (!compiler->first)
        compiler->last = &compiler->first;
    slot->output_length = 0;
    slot->ran_ns = 0;
    slot->timed_out = 0;
    slot->since_ns = now_ns();
    if (write_source(slot, &err) != 0 || start_cc(compiler, slot, &err) != 0)
        finish(compiler, slot, ATOLL_COMPILE_BROKEN, err.text);
}

static void start_jobs(struct atoll_compiler *compiler)
{
    for (unsigned i = 0; i < compiler->slot_count && compiler->first && !compiler->paused; i++) {
        if (!compiler->slots[i].job)
            start_job(compiler, &compiler->slots[i]);
    }
}

static int enqueue(struct atoll_compiler *compiler, uint64_t number, const char *file_name, const char *text,
                   size_t length, const char *const *defines, size_t define_count, uint64_t *ret_serial,
                   struct atoll_err *err)
{
    if (check_name(file_name, err) != 0)
        return -1;
    if (length > TEXT_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "the translation unit has %zu bytes; %zu are possible",
                             length, TEXT_LIMIT);
    struct job *job = job_create(file_name, text, length, defines, define_count);
    if (!job)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a compile job");
    job->number = number;
    pthread_mutex_lock(&compiler->mutex);
    job->serial = *ret_serial = ++compiler->serial;
    *compiler->last = job;
    compiler->last = &job->next;
    start_jobs(compiler);
    pthread_mutex_unlock(&compiler->mutex);
    return 0;
}

int atoll_compiler_submit(struct atoll_compiler *compiler, uint64_t job, const char *file_name,
                          const char *text, size_t length, const char *const *defines, size_t define_count,
                          struct atoll_err *err)
{
    uint64_t serial;
    return enqueue(compiler, job, file_name, text, length, defines, define_count, &serial, err);
}

size_t atoll_compiler_pollfds(const struct atoll_compiler *compiler, struct pollfd *ret_fds, size_t limit)
{
    size_t count = 0;
    for (unsigned i = 0; i < compiler->slot_count && count < limit; i++) {
        if (compiler->slots[i].job)
            ret_fds[count++] = (struct pollfd){compiler->slots[i].pipe, POLLIN, 0};
    }
    return count;
}

static double running_ns(const struct atoll_compiler *compiler, const struct slot *slot)
{
    return slot->ran_ns + (compiler->paused ? 0 : now_ns() - slot->since_ns);
}

/* Running time left until the next deadline; -1: none runs. */
static double time_left_ns(const struct atoll_compiler *compiler)
{
    double least = -1;
    for (unsigned i = 0; i < compiler->slot_count; i++) {
        const struct slot *slot = &compiler->slots[i];
        if (!slot->job || compiler->paused)
            continue;
        double left = compiler->deadline_ns - running_ns(compiler, slot);
        left = left < 0 ? 0 : left;
        least = least < 0 || left < least ? left : least;
    }
    return least;
}

int atoll_compiler_timeout_ms(const struct atoll_compiler *compiler)
{
    pthread_mutex_t *mutex = &((struct atoll_compiler *)(uintptr_t)compiler)->mutex;
    pthread_mutex_lock(mutex);
    double left = compiler->done ? 0 : time_left_ns(compiler);
    pthread_mutex_unlock(mutex);
    if (left <= 0)
        return left < 0 ? -1 : 0;
    return left / 1e6 < INT_MAX - 1 ? (int)(left / 1e6) + 1 : INT_MAX;
}

/* 1 at end of file. */
static int drain(struct slot *slot)
{
    char rest[4096];
    for (;;) {
        size_t room = OUTPUT_BYTES - 1 - slot->output_length;
        ssize_t got = room > 0 ? read(slot->pipe, slot->output + slot->output_length, room)
                               : read(slot->pipe, rest, sizeof rest);
        if (got == 0)
            return 1;
        if (got < 0 && errno != EINTR)
            return errno != EAGAIN;
        if (got > 0 && room > 0)
            slot->output_length += (size_t)got;
    }
}

static int read_object(const struct atoll_compiler *compiler, struct slot *slot)
{
    struct stat st;
    int fd = openat(slot->folder_fd, OBJECT_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    void *object = NULL;
    size_t length = 0, done = 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (uint64_t)st.st_size <= compiler->output_bytes) {
        length = (size_t)st.st_size;
        object = malloc(length);
    }
    for (ssize_t got = 1; object && done < length && got > 0; done += got > 0 ? (size_t)got : 0)
        got = read(fd, (char *)object + done, length - done);
    close(fd);
    if (!object || done != length) {
        free(object);
        return -1;
    }
    slot->job->result.object = object;
    slot->job->result.object_length = length;
    return 0;
}

/* Which words in the output of cc, as or ld mean what. */
static const struct sign {
    const char *words;
    enum atoll_compile_status status;
} signs[] = {
    {"out of memory", ATOLL_COMPILE_MEMORY},
    {"virtual memory exhausted", ATOLL_COMPILE_MEMORY},
    {"memory exhausted", ATOLL_COMPILE_MEMORY},
    {"annot allocate memory", ATOLL_COMPILE_MEMORY},
    {"std::bad_alloc", ATOLL_COMPILE_MEMORY},
    {"Killed signal terminated", ATOLL_COMPILE_MEMORY},
    {"CPU time limit exceeded", ATOLL_COMPILE_TIMEOUT},
    {"No space left on device", ATOLL_COMPILE_BROKEN},
    {"cannot execute", ATOLL_COMPILE_BROKEN},
};

/* Words count in lines of the tools themselves only: a candidate can put any words into "file:line: error:
 * ..." lines and the source lines under them. */
static const char *find_words(const struct slot *slot, const char *words)
{
    const char *name = slot->job->file_name;
    for (const char *line = slot->output; *line;) {
        size_t length = strcspn(line, "\n");
        int of_tool = line[0] != ' ' && strncmp(line, name, strlen(name)) != 0;
        if (of_tool && memmem(line, length, words, strlen(words)))
            return line;
        line += length + (line[length] == '\n');
    }
    return NULL;
}

static enum atoll_compile_status judge(const struct slot *slot, int wait_status)
{
    if (slot->timed_out)
        return ATOLL_COMPILE_TIMEOUT;
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return ATOLL_COMPILE_OK;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (find_words(slot, signs[i].words))
            return signs[i].status;
    }
    return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL ? ATOLL_COMPILE_BROKEN
                                                                        : ATOLL_COMPILE_ERROR;
}

static void conclude(struct atoll_compiler *compiler, struct slot *slot, int wait_status)
{
    char diagnostics[ATOLL_DIAGNOSTICS_BYTES] = "";
    slot->output[slot->output_length] = '\0';
    for (size_t i = 0; i < slot->output_length; i++)
        slot->output[i] = slot->output[i] ? slot->output[i] : ' ';
    enum atoll_compile_status status = judge(slot, wait_status);
    if (status == ATOLL_COMPILE_TIMEOUT)
        snprintf(diagnostics, sizeof diagnostics, "the compiler was not done after %.3g s",
                 compiler->deadline_ns / 1e9);
    else if (status != ATOLL_COMPILE_OK)
        atoll_diagnostics_trim(slot->output, slot->folder, diagnostics);
    if (status == ATOLL_COMPILE_OK && read_object(compiler, slot) != 0) {
        status = ATOLL_COMPILE_BROKEN;
        snprintf(diagnostics, sizeof diagnostics, "the compiler left no object of at most %llu bytes",
                 (unsigned long long)compiler->output_bytes);
    }
    finish(compiler, slot, status, diagnostics);
}

/* The group gets SIGKILL while its leader is still a zombie: the number cannot be another group's. */
static void reap(struct atoll_compiler *compiler, struct slot *slot)
{
    siginfo_t info = {0};
    int wait_status = 0;
    if (waitid(P_PID, (id_t)slot->pid, &info, WEXITED | WNOWAIT | WNOHANG) != 0 || info.si_pid == 0)
        return;
    end_group(slot);
    waitpid(slot->pid, &wait_status, 0);
    slot->ran_ns = running_ns(compiler, slot);
    drain(slot);
    close(slot->pipe);
    slot->pipe = -1;
    conclude(compiler, slot, wait_status);
}

static void tend(struct atoll_compiler *compiler, struct slot *slot)
{
    if (!slot->job)
        return;
    drain(slot);
    if (!slot->timed_out && running_ns(compiler, slot) > compiler->deadline_ns) {
        slot->timed_out = 1;
        end_group(slot);
    }
    reap(compiler, slot);
}

/* Takes a finished job: that of one serial, or any (0). */
static int take(struct atoll_compiler *compiler, uint64_t serial, struct atoll_compiled *ret_compiled)
{
    pthread_mutex_lock(&compiler->mutex);
    for (unsigned i = 0; i < compiler->slot_count; i++)
        tend(compiler, &compiler->slots[i]);
    start_jobs(compiler);
    struct job **at = &compiler->done;
    while (*at && serial && (*at)->serial != serial)
        at = &(*at)->next;
    struct job *job = *at;
    if (job)
        *at = job->next;
    pthread_mutex_unlock(&compiler->mutex);
    if (!job)
        return 0;
    *ret_compiled = job->result;
    job->result = (struct atoll_compiled){0};
    job_destroy(job);
    return 1;
}

int atoll_compiler_collect(struct atoll_compiler *compiler, struct atoll_compiled *ret_compiled)
{
    return take(compiler, 0, ret_compiled);
}

static void signal_groups(struct atoll_compiler *compiler, int paused)
{
    pthread_mutex_lock(&compiler->mutex);
    double now = now_ns();
    for (unsigned i = 0; i < compiler->slot_count && compiler->paused != paused; i++) {
        struct slot *slot = &compiler->slots[i];
        if (!slot->job)
            continue;
        kill(-slot->pid, paused ? SIGSTOP : SIGCONT);
        if (paused)
            slot->ran_ns += now - slot->since_ns;
        else
            slot->since_ns = now;
    }
    compiler->paused = paused;
    pthread_mutex_unlock(&compiler->mutex);
}

void atoll_compiler_pause(struct atoll_compiler *compiler)
{
    signal_groups(compiler, 1);
}

void atoll_compiler_resume(struct atoll_compiler *compiler)
{
    signal_groups(compiler, 0);
}

int atoll_compiler_run(struct atoll_compiler *compiler, const char *file_name, const char *text,
                       size_t length, const char *const *defines, size_t define_count,
                       struct atoll_compiled *ret_compiled, struct atoll_err *err)
{
    uint64_t serial;
    if (enqueue(compiler, 0, file_name, text, length, defines, define_count, &serial, err) != 0)
        return -1;
    while (!take(compiler, serial, ret_compiled)) {
        struct pollfd fds[SLOT_LIMIT];
        size_t count = atoll_compiler_pollfds(compiler, fds, SLOT_LIMIT);
        poll(fds, (nfds_t)count, RUN_LOOK_MS);
    }
    return 0;
}
