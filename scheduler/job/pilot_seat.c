#include "scheduler/job/pilot_seat.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#define ARENA_BYTES    ((size_t)8 << 20)
#define HOSTS_IN_WORDS 64 /* for mpirun a longer list is no word of a command line */
#define HOSTS_BYTES    ((size_t)4 << 20)
#define WORDS          (32 + 64) /* ours, and the longest list of --eval-option */
#define STAGE_LOOK_NS  100e6     /* before a step is ending; then at each look at the step */
#define DISMISS_S      5.0       /* for a step that is not needed, before it is ended */

struct atoll_seat {
    const struct atoll_seat_job *job;
    struct atoll_pilot_step *step;
    struct atoll_arena *arena;
    size_t part, bad_count;
    enum { DEVICES_GIVEN, DEVICES_MISSING, DEVICES_MISSING_TOLD } devices;
    double stage_ns; /* when its stage was looked at */
    enum atoll_handover_stage stage;
    char part_path[PATH_MAX], program[PATH_MAX], gate_file[PATH_MAX], stage_file[PATH_MAX], takeover[16],
        restarts[16], until[32], lease[32], hosts[PATH_MAX];
    const char *arguments[WORDS];
    size_t argument_count;
};

/* ---- its command ---- */

static void add(struct atoll_seat *seat, const char *word)
{
    if (seat->argument_count < WORDS - 1) {
        seat->arguments[seat->argument_count++] = word;
        seat->arguments[seat->argument_count] = NULL;
    }
}

static void add_option(struct atoll_seat *seat, const char *option, const char *value)
{
    add(seat, option);
    add(seat, value);
}

static void arguments_fill(struct atoll_seat *seat, uint32_t silent_epoch, int stands_by, double left_s)
{
    const struct atoll_seat_job *job = seat->job;

    snprintf(seat->program, sizeof(seat->program), "%.4000s/atoll-eval", job->programs);
    snprintf(seat->restarts, sizeof(seat->restarts), "%u", job->allocation->restarts);
    add_option(seat, "--job", job->allocation->job);
    add_option(seat, "--restarts", seat->restarts);
    add_option(seat, "--on-signal", "drain");
    add_option(seat, "--drain-file", job->drain_file);
    add_option(seat, "--drain-file", job->paused_file);
    if (*job->calibrations)
        add_option(seat, "--keep-calibration", job->calibrations);
    add_option(seat, "--stage", seat->stage_file);
    if (stands_by)
        add_option(seat, "--gate", seat->gate_file);
    if (job->settings->lease_time_s > 0) {
        snprintf(seat->lease, sizeof(seat->lease), "%.17g", job->settings->lease_time_s);
        add_option(seat, "--lease-time", seat->lease);
    }
    if (silent_epoch) {
        snprintf(seat->takeover, sizeof(seat->takeover), "%u", silent_epoch);
        add_option(seat, "--takeover", seat->takeover);
    }
    if (left_s < HUGE_VAL) {
        snprintf(seat->until, sizeof(seat->until), "%.0f", (double)time(NULL) + left_s);
        add_option(seat, "--until", seat->until);
    }
    for (size_t i = 0; i < job->settings->eval_word_count; i++)
        add(seat, job->settings->eval_words[i]);
    add(seat, seat->part_path);
}

/* The file of hosts that some launchers need: mpiexec leaves nodes out by it. */
static int hosts_write(struct atoll_seat *seat, struct atoll_step_request *request, struct atoll_err *err)
{
    const struct atoll_pilot_settings *settings = seat->job->settings;
    enum atoll_site_start start = settings->site->step.start;
    struct atoll_buffer text;
    int status;

    if (start != ATOLL_SITE_MPIEXEC && !(start == ATOLL_SITE_MPIRUN && request->node_count > HOSTS_IN_WORDS))
        return 0;
    atoll_buffer_init(&text, HOSTS_BYTES);
    status = atoll_step_hosts(settings->site, request, &text, err);
    if (status == 0) {
        snprintf(seat->hosts, sizeof(seat->hosts), "%.3900s/.hosts-%.60s", settings->sweep->dir,
                 seat->job->allocation->job);
        status = atoll_file_replace(atoll_file_ops_real(), seat->hosts, text.data, text.length, err);
    }
    atoll_buffer_fini(&text);
    request->host_file = seat->hosts;
    return status;
}

/* On all nodes of the allocation but the bad ones. */
static int words_make(struct atoll_seat *seat, const char *const **ret_words, struct atoll_err *err)
{
    const struct atoll_node_list *all = seat->job->nodes, *bad = seat->job->bad;
    const struct atoll_pilot_settings *settings = seat->job->settings;
    const char **nodes = atoll_arena_alloc_array(seat->arena, all->count + 1, sizeof(*nodes), err);
    const char **out = atoll_arena_alloc_array(seat->arena, all->count + 1, sizeof(*out), err);
    struct atoll_step_request request = {.nodes = nodes,
                                         .left_out = out,
                                         .evaluators_per_node = settings->sweep->evaluators_per_node,
                                         .gpus_per_node = settings->sweep->gpus_per_node,
                                         .program = seat->program,
                                         .arguments = seat->arguments};

    if (!nodes || !out)
        return -1;
    for (size_t i = 0; i < all->count; i++)
        if (atoll_node_list_has(bad, all->names[i]))
            out[request.left_out_count++] = all->names[i];
        else
            nodes[request.node_count++] = all->names[i];
    if (request.node_count == 0)
        return atoll_err_set(err, ATOLL_E_CHILD, "no node of the job is left that the scheduler calls good");
    return hosts_write(seat, &request, err) != 0
               ? -1
               : atoll_step_command(settings->site, &request, seat->arena, ret_words, err);
}

/* ---- its life ---- */

void atoll_seat_destroy(struct atoll_seat *seat)
{
    if (!seat)
        return;
    atoll_pilot_step_destroy(seat->step);
    unlink(seat->gate_file);
    unlink(seat->stage_file);
    atoll_arena_destroy(seat->arena);
    free(seat);
}

struct atoll_seat *atoll_seat_create(struct atoll_seat_job *job, size_t part, uint32_t silent_epoch,
                                     int stands_by, double left_s, double reserve_s, struct atoll_err *err)
{
    const struct atoll_sweep *sweep = job->settings->sweep;
    struct atoll_seat *seat = calloc(1, sizeof(*seat));
    struct atoll_pilot_step_settings settings = {
        .self = job->self,
        .look = job->look,
        .context = job->context,
        .drain_file = job->drain_file,
        .interrupts = job->settings->interrupts,
        .lease_time_s = job->lease_time_s,
        .end_mono_ns = atoll_clock_mono_ns() + (left_s + reserve_s) * 1e9,
    };

    if (!seat) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a step");
        return NULL;
    }
    *seat = (struct atoll_seat){.job = job, .part = part, .bad_count = job->bad->count};
    seat->arena = atoll_arena_create(ARENA_BYTES, err);
    snprintf(seat->gate_file, sizeof(seat->gate_file), "%.3900s/" ATOLL_SEAT_FILE "%.60s.%u.gate", sweep->dir,
             job->allocation->job, job->step_count);
    snprintf(seat->stage_file, sizeof(seat->stage_file), "%.3900s/" ATOLL_SEAT_FILE "%.60s.%u.stage",
             sweep->dir, job->allocation->job, job->step_count++);
    if (seat->arena &&
        atoll_sweep_part_path(sweep, part, seat->part_path, sizeof(seat->part_path), err) == 0) {
        arguments_fill(seat, silent_epoch, stands_by, left_s);
        settings.part = stands_by ? NULL : seat->part_path;
        if (words_make(seat, &settings.words, err) == 0 && atoll_handover_make(seat->stage_file, err) == 0 &&
            (!stands_by || atoll_handover_make(seat->gate_file, err) == 0)) {
            seat->step = atoll_pilot_step_start(&settings, err);
        }
    }
    if (!seat->step) {
        atoll_seat_destroy(seat);
        return NULL;
    }
    return seat;
}

int atoll_seat_give_part(struct atoll_seat *seat, size_t part, uint32_t silent_epoch, struct atoll_err *err)
{
    if (atoll_sweep_part_path(seat->job->settings->sweep, part, seat->part_path, sizeof(seat->part_path),
                              err) != 0 ||
        atoll_pilot_step_take(seat->step, seat->part_path, err) != 0 ||
        atoll_handover_open_gate(seat->gate_file, seat->part_path, silent_epoch, err) != 0) {
        return -1;
    }
    seat->part = part;
    seat->devices = DEVICES_MISSING;
    return 0;
}

void atoll_seat_give_devices(struct atoll_seat *seat)
{
    struct atoll_err err = ATOLL_ERR_INIT;

    if (seat->devices == DEVICES_GIVEN)
        return;
    if (atoll_handover_give_devices(seat->gate_file, &err) == 0) {
        seat->devices = DEVICES_GIVEN;
        return;
    }
    if (seat->devices == DEVICES_MISSING)
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.devices", &err);
    seat->devices = DEVICES_MISSING_TOLD;
}

void atoll_seat_let_leave(struct atoll_seat *seat)
{
    atoll_pilot_step_let_leave(seat->step);
}

void atoll_seat_dismiss(struct atoll_seat *seat)
{
    double until_ns = atoll_clock_mono_ns() + DISMISS_S * 1e9;

    if (!seat)
        return;
    unlink(seat->gate_file);
    while (!atoll_pilot_step_look(seat->step) && atoll_clock_mono_ns() < until_ns)
        atoll_pilot_step_pause();
    atoll_seat_destroy(seat);
}

/* ---- what is known of it ---- */

enum atoll_handover_stage atoll_seat_stage(struct atoll_seat *seat)
{
    double now_ns = atoll_clock_mono_ns();

    if (seat->stage >= ATOLL_HANDOVER_ENDING || now_ns - seat->stage_ns > STAGE_LOOK_NS) {
        seat->stage = atoll_handover_look(seat->stage_file);
        seat->stage_ns = now_ns;
    }
    return seat->stage;
}

const struct atoll_pilot_step_result *atoll_seat_look(struct atoll_seat *seat)
{
    return seat ? atoll_pilot_step_look(seat->step) : NULL;
}

size_t atoll_seat_part(const struct atoll_seat *seat)
{
    return seat->part;
}

const char *atoll_seat_part_path(const struct atoll_seat *seat)
{
    return seat->part_path;
}

int atoll_seat_has_good_nodes(const struct atoll_seat *seat)
{
    return seat->bad_count == seat->job->bad->count;
}
