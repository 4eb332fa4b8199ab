/* step.c - one function for each launcher; all words go through one list.
 *
 * srun, Slurm 20.11 and later (the man page's options; layouts tried on a cluster of four nodes):
 *   --overcommit      rank 0 waits most of its time and gets no processor of its own
 *   --overlap         a step that is being killed still holds its resources
 *   --wait=0, --kill-on-bad-exit=0, --no-kill   a lost rank or node ends itself alone
 *   no --cpus-per-task  it would narrow the step to so many processors; evaluators pin their own threads
 *   --gpu-bind=map_gpu:0,1,..  is dealt to the ranks of each node by local number and starts again at its end, so that on
 *                     the first node rank 0 shares a GPU with one evaluator and every GPU has its evaluator */
#include "scheduler/job/pilot.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"

/* A command as it grows; what fails is kept, and nothing is put behind it. */
struct step {
    const struct atoll_site *site;
    const struct atoll_step_request *request;
    unsigned ranks_first, ranks_other; /* on the first node, on each other one */
    int is_copy;                       /* not the program's ranks: one process for each node */
    struct atoll_arena *arena;
    const char **words;
    size_t count;
    int has_failed;
    struct atoll_err *err;
};

static void put(struct step *step, const char *word)
{
    if (step->has_failed)
        return;
    if (step->count + 1 >= ATOLL_STEP_WORD_LIMIT) {
        atoll_err_set(step->err, ATOLL_E_LIMIT,
                      "a step's command has more than %d words; give fewer arguments", ATOLL_STEP_WORD_LIMIT);
        step->has_failed = 1;
        return;
    }
    step->words[step->count++] = word;
}

static void put_all(struct step *step, const char *const *words)
{
    for (; words && *words; words++)
        put(step, *words);
}

/* Takes the text. */
static void put_buffer(struct step *step, struct atoll_buffer *text)
{
    const char *word = NULL;

    if (!step->has_failed) {
        word = atoll_buffer_check(text, step->err) == 0
                   ? atoll_arena_text(step->arena, (const char *)text->data, text->length, step->err)
                   : NULL;
        step->has_failed = !word;
    }
    atoll_buffer_fini(text);
    if (word)
        put(step, word);
}

static void put_format(struct step *step, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put_format(struct step *step, const char *format, ...)
{
    struct atoll_buffer text;
    char word[4096];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(word, sizeof(word), format, arguments);
    va_end(arguments);
    atoll_buffer_init(&text, sizeof(word) - 1); /* a longer word is refused */
    atoll_buffer_put_bytes(&text, word, (size_t)length < sizeof(word) ? (size_t)length : sizeof(word));
    put_buffer(step, &text);
}

static unsigned rank_count(const struct step *step)
{
    return step->ranks_first + (unsigned)(step->request->node_count - 1) * step->ranks_other;
}

static void set_layout(struct step *step)
{
    step->ranks_first = atoll_site_ranks_per_node(step->request->evaluators_per_node);
    step->ranks_other = step->site->step.is_uniform ? step->ranks_first : step->request->evaluators_per_node;
    if (step->is_copy)
        step->ranks_first = step->ranks_other = 1;
    if (step->site->step.start == ATOLL_SITE_DIRECT)
        step->ranks_first = 1;
}

/* "a,b,c" behind prefix; with counts "a:5,b:4". */
static void put_nodes(struct step *step, const char *prefix, const char *const *nodes, size_t count,
                      int has_counts)
{
    struct atoll_buffer text;

    atoll_buffer_init(&text, 1 << 20);
    atoll_buffer_printf(&text, "%s", prefix);
    for (size_t i = 0; i < count; i++) {
        atoll_buffer_printf(&text, "%s%s", i ? "," : "", nodes[i]);
        if (has_counts)
            atoll_buffer_printf(&text, ":%u", i ? step->ranks_other : step->ranks_first);
    }
    put_buffer(step, &text);
}

/* ---- each launcher ---- */

static void put_srun_gpus(struct step *step)
{
    const struct atoll_site *site = step->site;
    unsigned gpus = step->request->gpus_per_node;
    struct atoll_buffer text;

    if (gpus == 0)
        return;
    if (site->gpus.ask == ATOLL_SITE_GPUS_GRES)
        put_format(step, "--gres=%s:%u", site->gpus.gres, gpus);
    else if (site->gpus.ask != ATOLL_SITE_GPUS_NONE)
        put_format(step, "--gpus-per-node=%u", gpus);
    if (site->gpus.visible == ATOLL_SITE_VISIBLE_ONE) {
        atoll_buffer_init(&text, 1 << 16);
        for (unsigned i = 0; i < gpus; i++)
            atoll_buffer_printf(&text, "%s%u", i ? "," : "--gpu-bind=map_gpu:", i);
        put_buffer(step, &text);
    }
}

static void put_srun(struct step *step)
{
    static const char *const fixed[] = {
        "--distribution=cyclic", "--overcommit", "--wait=0",        "--no-kill", "--kill-on-bad-exit=0",
        "--input=none",          "--export=ALL", "--cpu-bind=none", NULL};
    const struct atoll_step_request *r = step->request;

    put(step, "srun");
    put_format(step, "--nodes=%zu", r->node_count);
    put_format(step, "--ntasks=%u", rank_count(step));
    put_all(step, fixed);
    if (step->site->step.has_overlap)
        put(step, "--overlap");
    if (r->left_out_count)
        put_nodes(step, "--exclude=", r->left_out, r->left_out_count, 0);
    if (step->is_copy) {
        put(step, "--mpi=none");
        return;
    }
    if (step->site->step.mpi)
        put_format(step, "--mpi=%s", step->site->step.mpi);
    put_srun_gpus(step);
}

static void put_mpirun(struct step *step)
{
    static const char *const fixed[] = {
        "--map-by", "slot", "--oversubscribe", "--bind-to", "none",          "-x",
        "PATH",     "-x",   "LD_LIBRARY_PATH", "-x",        "ATOLL_SCRATCH", NULL};
    const struct atoll_step_request *r = step->request;

    put(step, "mpirun");
    put(step, "-n");
    put_format(step, "%u", rank_count(step));
    if (r->host_file && !step->is_copy) {
        put(step, "--hostfile");
        put(step, r->host_file);
    } else {
        put(step, "--host");
        put_nodes(step, "", r->nodes, r->node_count, 1);
    }
    put_all(step, fixed);
    for (size_t i = 0; i < step->site->environment_count; i++) {
        put(step, "-x");
        put(step, step->site->environment[i].name);
    }
}

static void put_mpiexec(struct step *step)
{
    const struct atoll_step_request *r = step->request;

    if (r->left_out_count && !r->host_file) {
        atoll_err_set(step->err, ATOLL_E_INTERNAL,
                      "mpiexec leaves nodes out by a host file, and the step has none");
        step->has_failed = 1;
    }
    put(step, "mpiexec");
    put(step, "-n");
    put_format(step, "%u", rank_count(step));
    put(step, "--ppn");
    put_format(step, "%u", step->ranks_first);
    if (r->host_file) {
        put(step, "--hostfile");
        put(step, r->host_file);
    }
}

static void put_ibrun(struct step *step)
{
    if (step->request->left_out_count || step->is_copy) {
        atoll_err_set(step->err, ATOLL_E_INPUT, "ibrun starts the whole job's layout and cannot %s; %s",
                      step->is_copy ? "copy programs" : "leave nodes out",
                      step->is_copy ? "write broadcast: none or sbcast in the site profile"
                                    : "let the job end and submit it again without the bad nodes");
        step->has_failed = 1;
    }
    put(step, "ibrun");
}

static void put_direct(struct step *step)
{
    if (step->request->node_count != 1) {
        atoll_err_set(step->err, ATOLL_E_INPUT,
                      "start: direct is for one node, and the step has %zu; write start: mpirun",
                      step->request->node_count);
        step->has_failed = 1;
    }
}

static void put_launcher(struct step *step)
{
    static void (*const launchers[ATOLL_SITE_START_COUNT])(struct step *) = {
        put_srun, put_mpirun, put_mpiexec, put_ibrun, put_direct};

    launchers[step->site->step.start](step);
    put_all(step, step->site->step.extra.items);
}

static void put_container(struct step *step)
{
    const struct atoll_site *site = step->site;

    put(step, site->container.runtime);
    put(step, "exec");
    if (site->container.device == ATOLL_SITE_DEVICE_NV)
        put(step, "--nv");
    else if (site->container.device == ATOLL_SITE_DEVICE_ROCM)
        put(step, "--rocm");
    for (size_t i = 0; i < site->container.binds.count; i++) {
        put(step, "--bind");
        put(step, site->container.binds.items[i]);
    }
    put_all(step, site->container.extra.items);
    put(step, site->container.image);
}

static int begin(struct step *step)
{
    const struct atoll_step_request *r = step->request;

    if (r->node_count == 0 || r->evaluators_per_node == 0) {
        return atoll_err_set(
            step->err, ATOLL_E_INPUT, "a step needs at least one node and one evaluator on each; %s",
            r->node_count ? "ask for evaluators" : "all nodes of the job are bad, submit it again");
    }
    set_layout(step);
    step->words =
        atoll_arena_alloc_array(step->arena, ATOLL_STEP_WORD_LIMIT, sizeof(*step->words), step->err);
    return step->words ? 0 : -1;
}

int atoll_step_command(const struct atoll_site *site, const struct atoll_step_request *request,
                       struct atoll_arena *arena, const char *const **ret_words, struct atoll_err *err)
{
    struct step step = {.site = site, .request = request, .arena = arena, .err = err};

    if (begin(&step) != 0)
        return -1;
    put_launcher(&step);
    if (site->container.image)
        put_container(&step);
    put(&step, site->container.image && site->container.program ? site->container.program : request->program);
    put_all(&step, request->arguments);
    if (step.has_failed)
        return -1;
    *ret_words = step.words;
    return 0;
}

int atoll_step_hosts(const struct atoll_site *site, const struct atoll_step_request *request,
                     struct atoll_buffer *out, struct atoll_err *err)
{
    struct step step = {.site = site, .request = request};

    set_layout(&step);
    for (size_t i = 0; i < request->node_count; i++) {
        atoll_buffer_printf(out, "%s", request->nodes[i]);
        if (site->step.start == ATOLL_SITE_MPIRUN)
            atoll_buffer_printf(out, " slots=%u", i ? step.ranks_other : step.ranks_first);
        atoll_buffer_put_u8(out, '\n');
    }
    return atoll_buffer_check(out, err);
}

int atoll_step_broadcast(const struct atoll_site *site, const struct atoll_step_request *request,
                         const char *source, const char *target, struct atoll_arena *arena,
                         const char *const **ret_words, struct atoll_err *err)
{
    /* Written beside the target and renamed, so that no rank starts half a program; words in the positions $1 and $2. */
    static const char script[] =
        "mkdir -p -- \"$(dirname -- \"$2\")\" && cp -f -- \"$1\" \"$2.$$\" && mv -f -- \"$2.$$\" \"$2\"";
    const char *const copy[] = {"/bin/sh", "-c", script, "sh", source, target, NULL};
    const char *const sbcast[] = {"sbcast", "--force", "--preserve", source, target, NULL};
    struct step step = {.site = site, .request = request, .is_copy = 1, .arena = arena, .err = err};

    if (source[0] != '/' || target[0] != '/') {
        return atoll_err_set(err, ATOLL_E_INPUT, "a broadcast from '%.120s' to '%.120s' needs absolute paths",
                             source, target);
    }
    if (site->files.broadcast == ATOLL_SITE_BROADCAST_NONE) {
        *ret_words = NULL;
        return 0;
    }
    if (begin(&step) != 0)
        return -1;
    if (site->files.broadcast == ATOLL_SITE_BROADCAST_SBCAST) {
        put_all(&step, sbcast);
    } else {
        put_launcher(&step);
        put_all(&step, copy);
    }
    if (step.has_failed)
        return -1;
    *ret_words = step.words;
    return 0;
}

/* ---- copies of the programs ---- */

#define ARENA_BYTES ((size_t)8 << 20)
#define COPY_S      120.0

static const char *const programs[] = {"atoll-eval", "atoll-worker", "atoll-worker-cuda",
                                       "atoll-compile-cuda"};

static int program_copy(const struct atoll_site *site, const struct atoll_step_request *request,
                        const char *from, const char *to, struct atoll_arena *arena, struct atoll_err *err)
{
    struct atoll_process process = {.what = "broadcast", .deadline_s = COPY_S};
    struct atoll_process_result result;
    int status;

    if (atoll_step_broadcast(site, request, from, to, arena, &process.argv, err) != 0)
        return -1;
    if (!process.argv)
        return 0;
    process.what = process.argv[0];
    if (atoll_process_run(&process, 1 << 16, &result, err) != 0)
        return -1;
    status = result.status == 0
                 ? 0
                 : atoll_err_set(err, ATOLL_E_CHILD, "%s: %.400s", process.argv[0], result.words);
    atoll_process_result_fini(&result);
    return status;
}

/* The site's word with its variables, as a shell reads it. */
static int scratch_find(const struct atoll_site *site, const char *job, char *ret_path, size_t bytes,
                        struct atoll_err *err)
{
    char command[PATH_MAX];
    const char *const words[] = {"/bin/sh", "-c", command, NULL};
    const struct atoll_process process = {.what = "files.scratch", .argv = words, .deadline_s = 10};
    struct atoll_process_result result;
    int length;

    snprintf(command, sizeof(command), "printf %%s \"%.4000s\"",
             site->files.scratch ? site->files.scratch : "/tmp");
    if (atoll_process_run(&process, PATH_MAX, &result, err) != 0)
        return -1;
    length = snprintf(ret_path, bytes, "%.*s/atoll-%.60s", (int)result.out.length,
                      (const char *)result.out.data, job);
    atoll_process_result_fini(&result);
    if (ret_path[0] != '/' || length < 0 || (size_t)length >= bytes) {
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: files.scratch is no absolute path here: %.200s",
                             site->path, ret_path);
    }
    return 0;
}

/* Scratch is often everybody's, and the numbers of jobs are no secret: a folder that another user made holds his programs. */
static int folder_own(const char *path, struct atoll_err *err)
{
    struct stat st;

    if (mkdir(path, 0700) == 0)
        return 0;
    if (errno != EEXIST || lstat(path, &st) != 0)
        return atoll_err_errno(err, errno, "cannot make %s", path);
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0
               ? 0
               : atoll_err_set(
                     err, ATOLL_E_DENIED,
                     "%s is there and is not a folder that is yours alone; nothing is started from it", path);
}

static int programs_copy(const struct atoll_site *site, const struct atoll_step_request *request,
                         const char *from, const char *to, struct atoll_arena *arena, struct atoll_err *err)
{
    if (folder_own(to, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        char source[PATH_MAX], target[PATH_MAX];

        snprintf(source, sizeof(source), "%.4000s/%s", from, programs[i]);
        snprintf(target, sizeof(target), "%.4000s/%s", to, programs[i]);
        if (access(source, X_OK) == 0 && program_copy(site, request, source, target, arena, err) != 0)
            return -1;
    }
    return 0;
}

int atoll_step_programs_copy(const struct atoll_site *site, const struct atoll_node_list *nodes,
                             const char *job, const char *from, char *ret_folder, size_t bytes,
                             struct atoll_err *err)
{
    const struct atoll_step_request request = {
        .nodes = nodes->names, .node_count = nodes->count, .evaluators_per_node = 1, .program = "atoll-eval"};
    char to[PATH_MAX];
    struct atoll_arena *arena;
    int status;

    snprintf(ret_folder, bytes, "%s", from);
    if (site->files.broadcast == ATOLL_SITE_BROADCAST_NONE || nodes->count < 2)
        return 0;
    arena = atoll_arena_create(ARENA_BYTES, err);
    status = !arena || scratch_find(site, job, to, sizeof(to), err) != 0
                 ? -1
                 : programs_copy(site, &request, from, to, arena, err);
    atoll_arena_destroy(arena);
    if (status == 0)
        snprintf(ret_folder, bytes, "%s", to);
    return status;
}
