/* pilot_part.c - one step on one part: its command, what is looked at while it runs, and how it went. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "archive-h5/campaign/campaign_progress.h"
#include "base/log.h"
#include "base/clock.h"
#include "scheduler/job/pilot_state.h"
#include "scheduler/job/pilot_step.h"
#include "scheduler/job/step.h"

#define ARENA_BYTES    ((size_t)8 << 20)
#define HOSTS_IN_WORDS 64
#define HOSTS_BYTES    ((size_t)4 << 20)
#define WORDS          (32 + 64) /* ours, and the longest list of --eval-option */
#define STEP_FAILED_S  5         /* after a failed step: the scheduler learns of a lost node a little later */

/* Nodes of the allocation that take part: all but the bad ones. */
static size_t nodes_left(const struct pilot *p, const char **ret_nodes, const char **ret_out,
                         size_t *ret_out_count)
{
    size_t count = 0, out = 0;

    for (size_t i = 0; i < p->nodes.count; i++) {
        if (atoll_node_list_has(&p->bad, p->nodes.names[i])) {
            ret_out[out++] = p->nodes.names[i];
        } else {
            ret_nodes[count++] = p->nodes.names[i];
        }
    }
    *ret_out_count = out;
    return count;
}

struct step_texts {
    char part[PATH_MAX], program[PATH_MAX], takeover[16], restarts[16], until[32], lease[32], hosts[PATH_MAX];
    const char *arguments[WORDS];
};

static void add(struct step_texts *t, size_t *count, const char *word)
{
    if (*count < WORDS - 1) {
        t->arguments[(*count)++] = word;
        t->arguments[*count] = NULL;
    }
}

static void arguments_fill(const struct pilot *p, uint32_t silent_epoch, struct step_texts *t)
{
    size_t count = 0;

    snprintf(t->restarts, sizeof(t->restarts), "%u", p->allocation.restarts);
    add(t, &count, "--job");
    add(t, &count, p->allocation.job);
    add(t, &count, "--restarts");
    add(t, &count, t->restarts);
    add(t, &count, "--on-signal");
    add(t, &count, "drain");
    add(t, &count, "--drain-file");
    add(t, &count, p->drain_file);
    add(t, &count, "--drain-file");
    add(t, &count, p->paused_file);
    if (p->settings->lease_time_s > 0) {
        snprintf(t->lease, sizeof(t->lease), "%.17g", p->settings->lease_time_s);
        add(t, &count, "--lease-time");
        add(t, &count, t->lease);
    }
    if (silent_epoch) {
        snprintf(t->takeover, sizeof(t->takeover), "%u", silent_epoch);
        add(t, &count, "--takeover");
        add(t, &count, t->takeover);
    }
    if (atoll_pilot_left_s(p) < HUGE_VAL) {
        snprintf(t->until, sizeof(t->until), "%.0f", (double)time(NULL) + atoll_pilot_left_s(p));
        add(t, &count, "--until");
        add(t, &count, t->until);
    }
    for (size_t i = 0; i < p->settings->eval_word_count; i++) {
        add(t, &count, p->settings->eval_words[i]);
    }
    add(t, &count, t->part);
}

/* mpiexec leaves nodes out by it; for mpirun a long list is no word of a command line. */
static int needs_hosts(const struct atoll_site *site, const struct atoll_step_request *request)
{
    return site->step.start == ATOLL_SITE_MPIEXEC ||
           (site->step.start == ATOLL_SITE_MPIRUN && request->node_count > HOSTS_IN_WORDS);
}

/* The file of hosts that some launchers need; ret_path "" where this one needs none. */
static int hosts_write(const struct pilot *p, const struct atoll_step_request *request, char *ret_path,
                       size_t bytes, struct atoll_err *err)
{
    struct atoll_buffer text;
    int status;

    ret_path[0] = '\0';
    if (!needs_hosts(p->settings->site, request)) {
        return 0;
    }
    atoll_buffer_init(&text, HOSTS_BYTES);
    status = atoll_step_hosts(p->settings->site, request, &text, err);
    if (status == 0) {
        snprintf(ret_path, bytes, "%.3900s/.hosts-%.60s", p->sweep->dir, p->allocation.job);
        status = atoll_file_replace(atoll_file_ops_real(), ret_path, text.data, text.length, err);
    }
    atoll_buffer_fini(&text);
    return status;
}

static int step_words(const struct pilot *p, struct step_texts *texts, struct atoll_arena *arena,
                      const char *const **ret_words, struct atoll_err *err)
{
    const char **nodes = atoll_arena_alloc_array(arena, p->nodes.count + 1, sizeof(*nodes), err);
    const char **out = atoll_arena_alloc_array(arena, p->nodes.count + 1, sizeof(*out), err);
    struct atoll_step_request request = {.nodes = nodes,
                                         .left_out = out,
                                         .evaluators_per_node = p->sweep->evaluators_per_node,
                                         .gpus_per_node = p->sweep->gpus_per_node,
                                         .program = texts->program,
                                         .arguments = texts->arguments};

    if (!nodes || !out) {
        return -1;
    }
    request.node_count = nodes_left(p, nodes, out, &request.left_out_count);
    if (request.node_count == 0) {
        return atoll_err_set(err, ATOLL_E_CHILD, "no node of the job is left that the scheduler calls good");
    }
    if (hosts_write(p, &request, texts->hosts, sizeof(texts->hosts), err) != 0) {
        return -1;
    }
    request.host_file = texts->hosts[0] ? texts->hosts : NULL;
    return atoll_step_command(p->settings->site, &request, arena, ret_words, err);
}

static int evaluated_count(const char *part, uint64_t *ret_count, int *ret_ended, struct atoll_err *err)
{
    struct atoll_campaign_progress standing;

    if (atoll_campaign_progress_read(part, &standing, err) != 0) {
        return -1;
    }
    *ret_count = standing.evaluated + standing.duelled;
    *ret_ended = standing.phase == ATOLL_CAMPAIGN_PROGRESS_ENDED;
    atoll_campaign_progress_fini(&standing);
    return 0;
}

/* After a step, also a good one, which goes on when it loses a node: nodes that the scheduler calls bad are left out from now
 * on, and named. */
static void bad_nodes_find(struct pilot *p)
{
    char names[ATOLL_ALLOCATION_NODES_BYTES];
    struct atoll_node_list bad;
    struct atoll_err err = ATOLL_ERR_INIT;

    if (!p->launcher || p->nodes.count < 2 ||
        atoll_launcher_bad_nodes(p->launcher, p->allocation.nodes, names, sizeof(names), &err) != 0 ||
        atoll_node_list_parse(names, &bad, &err) != 0) {
        return;
    }
    for (size_t i = 0; i < bad.count; i++) {
        if (!atoll_node_list_has(&p->bad, bad.names[i])) {
            atoll_log(ATOLL_LOG_WARNING, "pilot.node",
                      "node %s is down or draining: the job goes on without it", bad.names[i]);
            atoll_sweep_tell(p->sweep->dir, p->allocation.job, "node",
                             "node %s is left out: the scheduler calls it bad", bad.names[i]);
        }
    }
    atoll_node_list_fini(&p->bad);
    p->bad = bad;
}

#define NODE_ASKS 20u /* until the scheduler knows of a lost node, or it was no node */

struct step_watch {
    struct pilot *pilot;
    const char *part;
    uint64_t evaluators; /* most that answered */
    unsigned asked;
};

/* A step goes on without what it lost.  Evaluators that are missing may be on a node that is down, of which the scheduler learns
 * a little later; only while some are missing is it asked. */
static void step_look(void *context)
{
    struct step_watch *watch = context;
    struct pilot *p = watch->pilot;
    struct atoll_campaign_progress standing;
    size_t known = p->bad.count;
    uint64_t now;

    if (p->nodes.count < 2 || atoll_campaign_progress_read(watch->part, &standing, NULL) != 0) {
        return;
    }
    now = standing.has_hint ? standing.hint.evaluators : 0;
    atoll_campaign_progress_fini(&standing);
    if (now >= watch->evaluators) {
        watch->evaluators = now;
        watch->asked = 0;
    } else if (watch->asked++ < NODE_ASKS) {
        bad_nodes_find(p);
        watch->evaluators = p->bad.count > known ? now : watch->evaluators;
    }
}

static const char *const ends[] = {[ATOLL_STEP_EXITED] = "ended",
                                   [ATOLL_STEP_SILENT] = "stood still and was killed",
                                   [ATOLL_STEP_LATE] = "was still there at the job's end and was killed"};

/* A step is told of when it did not go as it should. */
static void step_judge(struct pilot *p, size_t part, const struct atoll_pilot_step_result *result,
                       uint64_t gained, int has_ended)
{
    const char *name = p->sweep->parts[part].name;
    int is_good = result->end == ATOLL_STEP_EXITED && result->status == 0;
    int is_taken = result->end == ATOLL_STEP_EXITED && result->status == atoll_code_exit_status(ATOLL_E_BUSY);

    p->results += gained;
    atoll_log(is_good ? ATOLL_LOG_INFO : ATOLL_LOG_WARNING, "pilot.step",
              "part %s: the step %s with status %d after %llu results%s", name, ends[result->end],
              result->status, (unsigned long long)gained, has_ended ? "; the part has ended" : "");
    if (is_taken) {
        return; /* somebody was faster */
    }
    if (!is_good) {
        atoll_sweep_tell(p->sweep->dir, p->allocation.job, "lost",
                         "part %s: the step %s with status %d after %llu results", name, ends[result->end],
                         result->status, (unsigned long long)gained);
        if (!atoll_pilot_is_interrupted(p)) {
            sleep(STEP_FAILED_S);
        }
    }
    bad_nodes_find(p);
    atoll_pilot_choice_note(p->choice, part, is_good || gained > 0);
}

static int step_run(struct pilot *p, size_t part, uint32_t silent_epoch, struct atoll_arena *arena,
                    struct atoll_err *err)
{
    struct step_texts texts = {.arguments = {NULL}};
    struct step_watch watch = {.pilot = p, .part = texts.part};
    struct atoll_pilot_step_settings settings = {
        .self = &p->self,
        .look = step_look,
        .context = &watch,
        .drain_file = p->drain_file,
        .interrupts = p->settings->interrupts,
        .lease_time_s = atoll_pilot_lease_time_s(p),
        .end_mono_ns = atoll_clock_mono_ns() + (atoll_pilot_left_s(p) + atoll_pilot_reserve_s(p) / 2) * 1e9};
    struct atoll_pilot_step_result result;
    uint64_t before, after;
    int has_ended;

    if (atoll_sweep_part_path(p->sweep, part, texts.part, sizeof(texts.part), err) != 0 ||
        evaluated_count(texts.part, &before, &has_ended, err) != 0) {
        return -1;
    }
    snprintf(texts.program, sizeof(texts.program), "%.4000s/atoll-eval", p->programs);
    arguments_fill(p, silent_epoch, &texts);
    if (step_words(p, &texts, arena, &settings.words, err) != 0) {
        return -1;
    }
    settings.part = texts.part;
    atoll_log(ATOLL_LOG_INFO, "pilot.part", "takes part %s%s", p->sweep->parts[part].name,
              silent_epoch ? ", whose job was lost" : "");
    atoll_sweep_tell(p->sweep->dir, p->allocation.job, silent_epoch ? "takeover" : "part", "takes part %s%s",
                     p->sweep->parts[part].name, silent_epoch ? ", whose holder stood still" : "");
    if (atoll_pilot_step_run(&settings, &result, err) != 0 ||
        evaluated_count(texts.part, &after, &has_ended, err) != 0) {
        return -1;
    }
    step_judge(p, part, &result, after > before ? after - before : 0, has_ended);
    return 0;
}

int atoll_pilot_part_run(struct pilot *p, size_t part, uint32_t silent_epoch, struct atoll_err *err)
{
    struct atoll_arena *arena = atoll_arena_create(ARENA_BYTES, err);
    int status = arena ? step_run(p, part, silent_epoch, arena, err) : -1;

    atoll_arena_destroy(arena);
    return status;
}
