/* site_keys.c - the tables of a profile's keys, what their values may be, the defaults, and what keys must say together. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/site/site_draft.h"

#define SITE(m)      offsetof(struct atoll_site, m)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PYTHON_BYTES 256 /* of struct atoll_setup */
#define SECTION(rows)                                                                                        \
    {                                                                                                        \
        (rows), COUNT(rows)                                                                                  \
    }

static const char *const schedulers[ATOLL_SITE_SCHEDULER_COUNT] = {"slurm", "pbs", "local"};
static const char *const launchers[] = {"auto", "libslurm", "commands",
                                        "local"}; /* enum atoll_launcher_kind */
static const char *const starts[ATOLL_SITE_START_COUNT] = {"srun", "mpirun", "mpiexec", "ibrun", "direct"};
static const char *const layouts[] = {"exact", "uniform"};
static const char *const gpu_asks[ATOLL_SITE_GPUS_COUNT] = {"per-node", "gres", "none"};
static const char *const visibles[ATOLL_SITE_VISIBLE_COUNT] = {"all", "one"};
static const char *const array_counts[] = {"one", "elements"};
static const char *const continues[ATOLL_SITE_CONTINUE_COUNT] = {"requeue", "successor", "none"};
static const char *const broadcasts[ATOLL_SITE_BROADCAST_COUNT] = {"none", "sbcast", "copy"};
static const char *const runtimes[] = {"apptainer", "singularity"};
static const char *const devices[ATOLL_SITE_DEVICE_COUNT] = {"none", "nv", "rocm"};
static const char *const places[ATOLL_SITE_PLACE_COUNT] = {"job", "login", "spool"};

/* ---- the values ---- */

static int read_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *text = atoll_yaml_scalar(node);

    if (!text || strlen(text) > 63 || strspn(text, letters) != strlen(text) || text[0] == '.' ||
        text[0] == '-') {
        return atoll_yaml_fail(
            walk, node,
            "name '%.80s' must be 1 to 63 letters, digits or ._- and start with a letter or digit",
            text ? text : "");
    }
    return atoll_yaml_read_text(walk, node, target);
}

/* A word becomes the value of an option or of a directive: a blank would end it there, a dash begin another. */
static int read_word(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);

    if (text && (strpbrk(text, " \t\n\r'\"\\") || text[0] == '-')) {
        return atoll_yaml_fail(
            walk, node, "'%.80s' must be one word: no blanks, quotes or backslashes, no dash at its start",
            text);
    }
    return atoll_yaml_read_text(walk, node, target);
}

static int read_item(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char ***next = target;

    return atoll_yaml_read_text(walk, node, (*next)++);
}

static int read_words(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_site_words *words = target;
    size_t count = atoll_yaml_count(node);
    const char **items, **next;

    if (count > ATOLL_SITE_WORD_LIMIT) {
        return atoll_yaml_fail(walk, node, "%zu items, at most %d are allowed; remove some", count,
                               ATOLL_SITE_WORD_LIMIT);
    }
    next = items = atoll_arena_alloc_array(walk->arena, count + 1, sizeof(*items), walk->err);
    if (!items || atoll_yaml_list(walk, node, ATOLL_SITE_WORD_LIMIT, "texts", read_item, &next) != 0)
        return -1;
    words->items = items;
    words->count = count;
    return 0;
}

static int read_setup(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    if (atoll_yaml_scalar(node))
        return atoll_yaml_fail(walk, node, "a list of shell lines is expected here; write each as '- LINE'");
    return read_words(walk, node, target);
}

/* It is expanded between double quotes by the batch script: variables may stand in it, commands may not. */
static int read_scratch(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-:${}";
    const char *text = atoll_yaml_scalar(node);

    if (!text || strspn(text, letters) != strlen(text) || (text[0] != '/' && text[0] != '$')) {
        return atoll_yaml_fail(
            walk, node,
            "scratch '%.80s' must be an absolute path that may name variables, like /tmp or "
            "${SLURM_TMPDIR:-/tmp}",
            text ? text : "");
    }
    return atoll_yaml_read_text(walk, node, target);
}

static int read_folder(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (!text || *text != '/')
        return atoll_yaml_fail(walk, node, "knowledge '%.80s' must be the absolute path of a folder",
                               text ? text : "");
    return atoll_yaml_read_text(walk, node, target);
}

/* Nodes look for it by this very path: one that is relative would be another on each. */
static int read_python(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);

    if (!text || (text[0] != '/' && strcmp(text, "none") != 0) || strlen(text) >= PYTHON_BYTES) {
        return atoll_yaml_fail(
            walk, node,
            "python '%.80s' must be the absolute path of a Python with torch on the nodes, "
            "of less than %d bytes, or none",
            text ? text : "", PYTHON_BYTES);
    }
    return atoll_yaml_read_text(walk, node, target);
}

static int read_signal(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const char *const names[] = {"TERM", "INT", "HUP", "QUIT", "USR2"};
    const char *text = atoll_yaml_scalar(node);
    size_t i;

    if (text && (strcmp(text, "USR1") == 0 || strcmp(text, "SIGUSR1") == 0)) {
        return atoll_yaml_fail(walk, node,
                               "signal USR1 is caught by communication libraries (NCCL); write TERM or USR2");
    }
    if (atoll_yaml_choose(walk, node, "signal", names, COUNT(names), &i) != 0)
        return -1;
    *(const char **)target = names[i];
    return 0;
}

static int read_limit(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    double seconds;

    if (atoll_yaml_read_duration(walk, node, &seconds) != 0)
        return -1;
    if (!(seconds > 0))
        return atoll_yaml_fail(walk, node, "'%.40s' must be longer than 0", atoll_yaml_scalar(node));
    *(double *)target = seconds;
    return 0;
}

static int read_positive(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    uint32_t count;

    if (atoll_yaml_read_count(walk, node, &count) != 0)
        return -1;
    if (count == 0) {
        return atoll_yaml_fail(
            walk, node, "0 is too few; write at least 1, or leave the key out where there is no limit");
    }
    *(unsigned *)target = count;
    return 0;
}

/* ---- environment ---- */

static int read_variable(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_site_draft *draft = walk->owner;
    struct atoll_site_variable *variable = &draft->environment[draft->site.environment_count];
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    const char *name = atoll_yaml_key(node);

    if (!name[0] || strspn(name, letters) != strlen(name) || strchr("0123456789", name[0])) {
        return atoll_yaml_fail(
            walk, node, "'%.64s' is no name of an environment variable; write one like OMP_NUM_THREADS",
            name);
    }
    variable->value = "";
    if ((atoll_yaml_count(node) || atoll_yaml_scalar(node)) &&
        atoll_yaml_read_text(walk, node, &variable->value) != 0) {
        return -1;
    }
    variable->name = atoll_arena_text(walk->arena, name, strlen(name), walk->err);
    draft->site.environment_count++;
    return variable->name ? 0 : -1;
}

static int read_environment(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_pairs(walk, node, ATOLL_SITE_WORD_LIMIT, "variables", read_variable, target);
}

/* ---- the keys ---- */

/* Enumerations and flags are ints behind their offsets. */
_Static_assert(sizeof(enum atoll_site_start) == sizeof(int), "an enumeration is read as an int");

#define CHOICE(reader, what, names)                                                                          \
    static int reader(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)        \
    {                                                                                                        \
        size_t i;                                                                                            \
                                                                                                             \
        if (atoll_yaml_choose(walk, node, what, names, COUNT(names), &i) != 0) {                             \
            return -1;                                                                                       \
        }                                                                                                    \
        *(int *)target = (int)i;                                                                             \
        return 0;                                                                                            \
    }
CHOICE(read_scheduler, "scheduler", schedulers)
CHOICE(read_launcher, "launcher", launchers)
CHOICE(read_start, "start", starts)
CHOICE(read_layout, "layout", layouts)
CHOICE(read_gpu_ask, "way to ask for GPUs", gpu_asks)
CHOICE(read_visible, "visible", visibles)
CHOICE(read_array_counts, "array_counts", array_counts)
CHOICE(read_continue, "continue", continues)
CHOICE(read_broadcast, "broadcast", broadcasts)
CHOICE(read_device, "gpu", devices)
CHOICE(read_place, "gateway", places)

static int read_runtime(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    size_t i;

    if (atoll_yaml_choose(walk, node, "runtime", runtimes, COUNT(runtimes), &i) != 0)
        return -1;
    *(const char **)target = runtimes[i];
    return 0;
}

static const struct atoll_yaml_row step_rows[] = {
    {"start", ATOLL_YAML_REQUIRED, read_start, SITE(step.start)},
    {"mpi", ATOLL_YAML_OPTIONAL, read_word, SITE(step.mpi)},
    {"layout", ATOLL_YAML_OPTIONAL, read_layout, SITE(step.is_uniform)},
    {"overlap", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, SITE(step.has_overlap)},
    {"extra", ATOLL_YAML_OPTIONAL, read_words, SITE(step.extra)},
};
static const struct atoll_yaml_row gpu_rows[] = {
    {"ask", ATOLL_YAML_REQUIRED, read_gpu_ask, SITE(gpus.ask)},
    {"gres", ATOLL_YAML_OPTIONAL, read_word, SITE(gpus.gres)},
    {"per_node", ATOLL_YAML_OPTIONAL, read_positive, SITE(gpus.per_node)},
    {"visible", ATOLL_YAML_OPTIONAL, read_visible, SITE(gpus.visible)},
};
static const struct atoll_yaml_row job_rows[] = {
    {"partition", ATOLL_YAML_OPTIONAL, read_word, SITE(job.partition)},
    {"account", ATOLL_YAML_OPTIONAL, read_word, SITE(job.account)},
    {"qos", ATOLL_YAML_OPTIONAL, read_word, SITE(job.qos)},
    {"constraint", ATOLL_YAML_OPTIONAL, read_word, SITE(job.constraint)},
    {"reservation", ATOLL_YAML_OPTIONAL, read_word, SITE(job.reservation)},
    {"directives", ATOLL_YAML_OPTIONAL, read_words, SITE(job.directives)},
    {"exclusive", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, SITE(job.is_exclusive)},
    {"no_kill", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, SITE(job.has_no_kill)},
    {"cpus_per_rank", ATOLL_YAML_OPTIONAL, read_positive, SITE(job.cpus_per_rank)},
};
static const struct atoll_yaml_row limit_rows[] = {
    {"queued", ATOLL_YAML_OPTIONAL, read_positive, SITE(limits.queued)},
    {"eligible", ATOLL_YAML_OPTIONAL, read_positive, SITE(limits.eligible)},
    {"running", ATOLL_YAML_OPTIONAL, read_positive, SITE(limits.running)},
    {"arrays", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, SITE(limits.has_arrays)},
    {"array_size", ATOLL_YAML_OPTIONAL, read_positive, SITE(limits.array_size)},
    {"array_counts", ATOLL_YAML_OPTIONAL, read_array_counts, SITE(limits.counts_elements)},
    {"time", ATOLL_YAML_OPTIONAL, read_limit, SITE(limits.time_s)},
    {"nodes_min", ATOLL_YAML_OPTIONAL, read_positive, SITE(limits.nodes_min)},
    {"nodes_max", ATOLL_YAML_OPTIONAL, read_positive, SITE(limits.nodes_max)},
    {"poll", ATOLL_YAML_OPTIONAL, read_limit, SITE(limits.poll_s)},
};
static const struct atoll_yaml_row end_rows[] = {
    {"signal", ATOLL_YAML_OPTIONAL, read_signal, SITE(end.signal)},
    {"before", ATOLL_YAML_OPTIONAL, read_limit, SITE(end.before_s)},
    {"continue", ATOLL_YAML_OPTIONAL, read_continue, SITE(end.go_on)},
    {"grace", ATOLL_YAML_OPTIONAL, atoll_yaml_read_duration, SITE(end.grace_s)},
};
static const struct atoll_yaml_row file_rows[] = {
    {"scratch", ATOLL_YAML_OPTIONAL, read_scratch, SITE(files.scratch)},
    {"broadcast", ATOLL_YAML_OPTIONAL, read_broadcast, SITE(files.broadcast)},
};
static const struct atoll_yaml_row container_rows[] = {
    {"image", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, SITE(container.image)},
    {"runtime", ATOLL_YAML_OPTIONAL, read_runtime, SITE(container.runtime)},
    {"program", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, SITE(container.program)},
    {"binds", ATOLL_YAML_OPTIONAL, read_words, SITE(container.binds)},
    {"gpu", ATOLL_YAML_OPTIONAL, read_device, SITE(container.device)},
    {"extra", ATOLL_YAML_OPTIONAL, read_words, SITE(container.extra)},
};
static const struct atoll_yaml_row network_rows[] = {
    {"proxy", ATOLL_YAML_OPTIONAL, read_word, SITE(network.proxy)},
    {"no_proxy", ATOLL_YAML_OPTIONAL, read_word, SITE(network.no_proxy)},
    {"gateway", ATOLL_YAML_OPTIONAL, read_place, SITE(network.gateway)},
};

/* Every section's rows carry offsets from the whole profile. */
#define SUBMAP(reader, rows)                                                                                 \
    static int reader(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)        \
    {                                                                                                        \
        static const struct atoll_yaml_section section = SECTION(rows);                                      \
        struct atoll_site_draft *draft = walk->owner;                                                        \
                                                                                                             \
        return atoll_yaml_map(walk, &section, node, &draft->site);                                           \
    }
SUBMAP(read_step, step_rows)
SUBMAP(read_gpus, gpu_rows)
SUBMAP(read_job, job_rows)
SUBMAP(read_limits, limit_rows)
SUBMAP(read_end, end_rows)
SUBMAP(read_files, file_rows)
SUBMAP(read_container, container_rows)
SUBMAP(read_network, network_rows)

static const struct atoll_yaml_row root_rows[] = {
    {"version", ATOLL_YAML_REQUIRED, atoll_yaml_read_version1, 0},
    {"name", ATOLL_YAML_REQUIRED, read_name, SITE(name)},
    {"summary", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, SITE(summary)},
    {"notes", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, SITE(notes)},
    {"scheduler", ATOLL_YAML_OPTIONAL, read_scheduler, SITE(scheduler)},
    {"launcher", ATOLL_YAML_OPTIONAL, read_launcher, SITE(launcher)},
    {"step", ATOLL_YAML_REQUIRED, read_step, 0},
    {"gpus", ATOLL_YAML_OPTIONAL, read_gpus, 0},
    {"job", ATOLL_YAML_OPTIONAL, read_job, 0},
    {"limits", ATOLL_YAML_OPTIONAL, read_limits, 0},
    {"end", ATOLL_YAML_OPTIONAL, read_end, 0},
    {"files", ATOLL_YAML_OPTIONAL, read_files, 0},
    {"modules", ATOLL_YAML_OPTIONAL, read_words, SITE(modules)},
    {"setup", ATOLL_YAML_OPTIONAL, read_setup, SITE(setup)},
    {"python", ATOLL_YAML_OPTIONAL, read_python, SITE(python)},
    {"knowledge", ATOLL_YAML_OPTIONAL, read_folder, SITE(knowledge)},
    {"environment", ATOLL_YAML_OPTIONAL, read_environment, 0},
    {"container", ATOLL_YAML_OPTIONAL, read_container, 0},
    {"network", ATOLL_YAML_OPTIONAL, read_network, 0},
};

static void set_defaults(struct atoll_site_draft *draft)
{
    static const char *const nothing[] = {NULL};
    static const struct atoll_site_words none = {nothing, 0};
    struct atoll_site *site = &draft->site;

    site->step.has_overlap = 1;
    site->step.is_uniform = -1; /* not said */
    site->gpus.gres = "gpu";
    site->job.has_no_kill = 1;
    site->limits.has_arrays = 1;
    site->limits.counts_elements = 1;
    site->limits.time_s = HUGE_VAL;
    site->limits.poll_s = 90;
    site->end.signal = "TERM";
    site->end.before_s = 180;
    site->files.scratch = "${TMPDIR:-/tmp}";
    site->container.runtime = runtimes[0];
    site->environment = draft->environment;
    site->step.extra = site->job.directives = site->modules = site->setup = none;
    site->container.binds = site->container.extra = none;
}

static int check(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *root,
                 const struct atoll_site *site)
{
    const struct atoll_yaml_node *step = atoll_yaml_find(root, "step");

    if (site->scheduler != ATOLL_SITE_SLURM && site->step.start == ATOLL_SITE_SRUN) {
        return atoll_yaml_fail(walk, step,
                               "srun is Slurm's, and scheduler is %s; write start: mpiexec or mpirun",
                               schedulers[site->scheduler]);
    }
    if (site->step.mpi && site->step.start != ATOLL_SITE_SRUN)
        return atoll_yaml_fail(walk, atoll_yaml_find(step, "mpi"), "mpi is for start: srun alone; remove it");
    if (site->step.start == ATOLL_SITE_IBRUN && !site->step.is_uniform) {
        return atoll_yaml_fail(walk, atoll_yaml_find(step, "layout"),
                               "ibrun knows layout: uniform alone; remove the line");
    }
    if (site->files.broadcast == ATOLL_SITE_BROADCAST_SBCAST && site->scheduler != ATOLL_SITE_SLURM) {
        return atoll_yaml_fail(walk, atoll_yaml_find(root, "files"),
                               "sbcast is Slurm's; write broadcast: copy");
    }
    if (site->limits.nodes_max && site->limits.nodes_min > site->limits.nodes_max) {
        return atoll_yaml_fail(walk, atoll_yaml_find(root, "limits"),
                               "nodes_min is above nodes_max; exchange them");
    }
    if (site->limits.time_s <= site->end.before_s) {
        return atoll_yaml_fail(walk, atoll_yaml_find(root, "limits"),
                               "time (%.0f s) is not longer than end.before (%.0f s); make before shorter",
                               site->limits.time_s, site->end.before_s);
    }
    return 0;
}

int atoll_site_read_keys(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *root)
{
    static const struct atoll_yaml_section section = SECTION(root_rows);
    struct atoll_site_draft *draft = walk->owner;
    struct atoll_site *site = &draft->site;

    set_defaults(draft);
    if (atoll_yaml_map(walk, &section, root, &draft->site) != 0)
        return -1;
    if (site->step.is_uniform < 0) { /* what a profile leaves open follows from other keys */
        site->step.is_uniform =
            site->step.start == ATOLL_SITE_MPIEXEC || site->step.start == ATOLL_SITE_IBRUN;
    }
    if (site->scheduler == ATOLL_SITE_LOCAL)
        site->launcher = ATOLL_LAUNCHER_LOCAL;
    return check(walk, root, site);
}
