/* States of the process: none -> started -> loaded -> qualified.  Whatever goes wrong between leads back to none. */
#include "mpi-eval/backend/cuda/measure/device.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "mpi-eval/backend/cuda/measure/lock.h"
#include "mpi-eval/node/gpus.h"
#include "mpi-eval/referee/time_account.h"
#include "mpi-eval/torch/interpreter.h"

#define FAILURE_LIMIT 2 /* known-answer kernels in a row */
#define START_LIMIT   3
#define COMPILE_LIMIT 3
#define SEALED_SHARE  0.5
#define SEALED_LEAST  ((uint64_t)4 << 30)   /* and by a sixteenth more, up to its share */
#define MARGIN_BYTES  ((uint64_t)768 << 20) /* local memory of kernels, code, printf, the profiler's */
#define LOCAL_SHARE   16                    /* no more than this part of the memory is left for more of it */
#define ARENA_MIN     ((uint64_t)64 << 20)
#define LENT_BYTES    ((uint64_t)4 << 30) /* an area of more is a task's for as long as that runs */
#define FLUSH_MIN     ((uint64_t)32 << 20)
#define SEALED_GRAIN  ((uint64_t)2 << 20) /* the device's large pages: other processes map it */
#define KNOWN_BYTES   ((uint64_t)1 << 20)
#define FLUSH_CACHES  4 /* twice the cache is written, as much is read */

void atoll_cuda_device_choose(struct atoll_cuda_worker_settings *ret)
{
    const char *text = getenv(ATOLL_GPU_VARIABLE);
    char *end = NULL;
    *ret = (struct atoll_cuda_worker_settings){0};
    if (!text || !text[0])
        return;
    unsigned long ordinal = strtoul(text, &end, 10);
    if (end && *end == 0 && ordinal < 1024)
        ret->ordinal = (unsigned)ordinal;
    else
        ret->uuid = text;
}

void atoll_cuda_target(uint32_t capability, char *ret_target, size_t bytes)
{
    snprintf(ret_target, bytes, "sm_%u%s", capability, capability >= 90 ? "a" : "");
}

/* ---- batches ---- */

static int run_judge(struct atoll_cuda_device *d)
{
    if (d->reply.status == ATOLL_COMMAND_BATCH_DONE || d->reply.status == ATOLL_COMMAND_BATCH_REFUSED)
        return 0;
    atoll_cuda_device_drop(d);
    return 1;
}

int atoll_cuda_device_run(struct atoll_cuda_device *d, double deadline_ns, struct atoll_err *err)
{
    if (!d->worker)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "a batch without a device process");
    return atoll_cuda_worker_run(d->worker, &d->batch, deadline_ns, &d->reply, err) != 0 ? -1 : run_judge(d);
}

/* Where there is room for a context more. */
static int spare_begin(struct atoll_cuda_device *d)
{
    struct atoll_cuda_worker_settings settings;
    if (atoll_cuda_device_free_bytes(d) < ATOLL_CUDA_SPARE_BYTES || d->facts.compute_mode != 0)
        return 0;
    atoll_cuda_device_settings(d, &settings);
    return atoll_cuda_spare_begin(&d->spare, &settings);
}

struct listening {
    struct atoll_cuda_device *device;
    int *begun;
};

static void silence_broken(void *context)
{
    struct listening *l = context;
    *l->begun = spare_begin(l->device);
}

int atoll_cuda_device_run_doubtful(struct atoll_cuda_device *d, double deadline_ns, double silence_ns,
                                   int *ret_disturbed, struct atoll_err *err)
{
    struct listening listening = {d, ret_disturbed};
    const struct atoll_cuda_worker_silence silence = {silence_ns, silence_broken, &listening};
    *ret_disturbed = 0;
    if (!d->worker)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "a batch without a device process");
    return atoll_cuda_worker_run_heard(d->worker, &d->batch, deadline_ns, &silence, &d->reply, err) != 0
               ? -1
               : run_judge(d);
}

void atoll_cuda_device_settle(struct atoll_cuda_device *d)
{
    if (!d->spare.worker || d->spare.is_ready)
        return;
    enum atoll_time_part before = atoll_time_account_enter(d->referee->account, ATOLL_TIME_START);
    atoll_cuda_spare_settle(&d->spare);
    atoll_time_account_enter(d->referee->account, before);
}

int atoll_cuda_device_run_own(struct atoll_cuda_device *d, const char *what, struct atoll_err *err)
{
    int rc = atoll_cuda_device_run(d, ATOLL_CUDA_OWN_DEADLINE_NS, err);
    if (rc > 0)
        atoll_cuda_device_drop_all(d);
    if (rc == 0 && d->reply.status == ATOLL_COMMAND_BATCH_REFUSED)
        return atoll_err_set(err, ATOLL_E_CHILD, "%s: command %u was refused: %s", what, d->reply.command,
                             d->reply.text);
    return rc;
}

void atoll_cuda_device_drop(struct atoll_cuda_device *d)
{
    atoll_cuda_worker_destroy(d->worker);
    for (uint32_t i = 0; i < ATOLL_AREA_COUNT; i++)
        atoll_calm_stir(&d->calm, d->areas[i].bytes);
    d->worker = NULL;
    memset(d->areas, 0, sizeof(d->areas));
    memset(d->candidates, 0, sizeof(d->candidates));
    memset(d->oracles, 0, sizeof(d->oracles));
    d->local_bytes = ATOLL_SUPPORT_LOCAL_BYTES;
    d->has_unreached = 0;
    d->has_lent = 0;
    if (d->expected_store && !d->sealed.bytes)
        atoll_expected_store_reset(d->expected_store, 0);
}

void atoll_cuda_device_replace(struct atoll_cuda_device *d)
{
    atoll_cuda_device_drop(d);
    d->last_stack_bytes = 0;
}

void atoll_cuda_device_drop_all(struct atoll_cuda_device *d)
{
    atoll_cuda_spare_fini(&d->spare);
    atoll_cuda_sealed_memory_fini(&d->sealed);
    atoll_cuda_device_drop(d);
}

/* ---- memory ---- */

/* The areas whose size is not the wanted one give their memory back. */
static int areas_free(struct atoll_cuda_device *d, const int *is_new, struct atoll_err *err)
{
    int count = 0;
    atoll_command_batch_clear(&d->batch);
    for (uint32_t i = 0; i < ATOLL_AREA_COUNT; i++)
        if (is_new[i] && d->areas[i].bytes) {
            atoll_command_batch_free(&d->batch, i);
            atoll_calm_stir(&d->calm, d->areas[i].bytes);
            count++;
        }
    int rc = count ? atoll_cuda_device_run_own(d, "memory of the device", err) : 0;
    for (uint32_t i = 0; rc == 0 && i < ATOLL_AREA_COUNT; i++)
        if (is_new[i])
            d->areas[i] = (struct atoll_span){0, 0};
    return rc;
}

/* The sealed area in the memory of its own process, with what is sealed there when it has that size already: 0, or, where there is
 * none (any more), it is left to areas_take.  1 lost, -1.  *ret_kept: 1 where something may be sealed there. */
static int sealed_attach(struct atoll_cuda_device *d, int *ret_kept, struct atoll_err *err)
{
    struct atoll_cuda_worker_settings settings;
    uint64_t bytes = d->wanted[ATOLL_AREA_SEALED];
    atoll_cuda_device_settings(d, &settings);
    *ret_kept = 0;
    int has = bytes ? atoll_cuda_sealed_memory_have(&d->sealed, &settings, bytes) : 0;
    if (has == 1)
        atoll_expected_store_grow(d->expected_store, bytes);
    else
        atoll_expected_store_reset(d->expected_store, bytes);
    if (has < 0 || !bytes)
        return 0;
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_attach(&d->batch, ATOLL_AREA_SEALED, d->sealed.handle, bytes);
    int rc = atoll_cuda_device_run(d, ATOLL_CUDA_OWN_DEADLINE_NS, err);
    if (rc == 0 && d->reply.status == ATOLL_COMMAND_BATCH_DONE) {
        d->areas[ATOLL_AREA_SEALED] = (struct atoll_span){atoll_command_batch_take_u64(&d->reply), bytes};
        *ret_kept = has;
        return 0;
    }
    if (rc < 0)
        return rc;
    if (has) { /* that process may have ended: another one, with nothing in it */
        atoll_cuda_sealed_memory_fini(&d->sealed);
        atoll_expected_store_reset(d->expected_store, 0);
        return rc == 0 ? sealed_attach(d, ret_kept, err) : rc;
    }
    /* a driver that does not bear it would be lost each time */
    atoll_cuda_sealed_memory_shut(&d->sealed, d->reply.text);
    atoll_expected_store_reset(d->expected_store, rc == 0 ? bytes : 0);
    return rc;
}

/* What a process frees it may be given again as it is: with what candidates wrote there. */
static int areas_overwrite(struct atoll_cuda_device *d, const int *is_new, uint64_t sealed_kept,
                           struct atoll_err *err)
{
    atoll_command_batch_clear(&d->batch);
    for (uint32_t i = 0; i < ATOLL_AREA_COUNT; i++) {
        uint64_t kept = i == ATOLL_AREA_SEALED ? sealed_kept : 0;
        if (is_new[i] && d->areas[i].bytes > kept)
            atoll_command_batch_set(&d->batch, d->areas[i].address + kept, 0, (d->areas[i].bytes - kept) / 4);
    }
    return atoll_cuda_device_run_own(d, "overwriting new memory", err);
}

/* What comes and goes with its task stays the process's between; but where PyTorch has a room on the device, it may have all of it. */
static int is_lent(const struct atoll_cuda_device *d, uint32_t area)
{
    return (area == ATOLL_AREA_ARENA || area == ATOLL_AREA_PLAIN) && d->wanted[area] > LENT_BYTES &&
           !d->torch_room;
}

static int areas_take(struct atoll_cuda_device *d, struct atoll_err *err)
{
    int is_taken[ATOLL_AREA_COUNT], count = 0;
    atoll_command_batch_clear(&d->batch);
    for (uint32_t i = 0; i < ATOLL_AREA_COUNT; i++) {
        is_taken[i] = d->wanted[i] && !d->areas[i].bytes;
        count += is_taken[i];
        if (is_taken[i] && is_lent(d, i))
            atoll_command_batch_alloc_lent(&d->batch, i, d->wanted[i]);
        else if (is_taken[i])
            atoll_command_batch_alloc(&d->batch, i, d->wanted[i]);
        d->has_lent |= is_taken[i] && is_lent(d, i);
    }
    int rc = count ? atoll_cuda_device_run_own(d, "memory of the device", err) : 0;
    for (uint32_t i = 0; rc == 0 && i < ATOLL_AREA_COUNT; i++)
        if (is_taken[i])
            d->areas[i] = (struct atoll_span){atoll_command_batch_take_u64(&d->reply), d->wanted[i]};
    if (rc == 0 && count && atoll_reader_finish(&d->reply.reader, "addresses of the device", err) != 0)
        rc = -1;
    return rc;
}

/* ns since *mark_ns, which moves on. */
static double lap_ns(double *mark_ns)
{
    double now = atoll_clock_raw_ns(), ns = now - *mark_ns;
    *mark_ns = now;
    return ns;
}

/* Allocates the areas whose wanted size differs from what there is: first frees, then takes, then overwrites. */
static int areas_make(struct atoll_cuda_device *d, struct atoll_err *err)
{
    int is_new[ATOLL_AREA_COUNT], count = 0, is_kept = 0;
    uint64_t sealed_before = d->sealed.bytes;
    double mark = atoll_clock_raw_ns();
    for (uint32_t i = 0; i < ATOLL_AREA_COUNT; i++) {
        is_new[i] = d->wanted[i] != d->areas[i].bytes;
        count += is_new[i];
    }
    if (!count)
        return 0;
    int rc = areas_free(d, is_new, err);
    if (rc == 0 && is_new[ATOLL_AREA_SEALED])
        rc = sealed_attach(d, &is_kept, err);
    d->steps.attached_ns = lap_ns(&mark);
    if (rc == 0)
        rc = areas_take(d, err);
    d->steps.taken_ns = lap_ns(&mark);
    if (rc == 0)
        rc = areas_overwrite(d, is_new, is_kept ? sealed_before : 0, err);
    d->steps.overwritten_ns = lap_ns(&mark);
    if (rc < 0) /* what is allocated now is not known */
        atoll_cuda_device_drop_all(d);
    return rc;
}

/* What arena, plain and sealed area may take together. */
static uint64_t areas_all(const struct atoll_cuda_device *d)
{
    uint64_t kept = MARGIN_BYTES + d->torch_room + (d->sealed.is_shut ? 0 : ATOLL_CUDA_SEALED_CONTEXT_BYTES),
             budget = (d->facts.free_bytes > kept ? d->facts.free_bytes - kept : 0),
             fixed = d->wanted[ATOLL_AREA_FLUSH] + d->wanted[ATOLL_AREA_RESULT];
    return budget > fixed ? budget - fixed : 0;
}

uint64_t atoll_cuda_device_sealed_most(const struct atoll_cuda_device *d)
{
    return (uint64_t)(SEALED_SHARE * (double)areas_all(d));
}

/* That, and what the sealed area takes of it where there is enough. */
static uint64_t areas_budget(const struct atoll_cuda_device *d, uint64_t *ret_sealed)
{
    uint64_t share = atoll_cuda_device_sealed_most(d), sealed = SEALED_LEAST;
    while (sealed < d->sealed_demand + d->sealed_fresh && sealed < share)
        sealed += sealed / 16;
    *ret_sealed = sealed > share ? share : sealed;
    return areas_all(d);
}

uint64_t atoll_cuda_device_local_room(const struct atoll_cuda_device *d, uint32_t frame_bytes)
{
    const struct atoll_device_limits *l = &d->facts.limits;
    return frame_bytes <= ATOLL_SUPPORT_LOCAL_BYTES
               ? 0
               : atoll_support_local_room(frame_bytes - ATOLL_SUPPORT_LOCAL_BYTES, l->multiprocessors,
                                          l->threads_per_multiprocessor);
}

/* The budget less what is left for local memory while no task needs it. */
static uint64_t areas_usual(const struct atoll_cuda_device *d, uint64_t budget)
{
    uint32_t frame_bytes = ATOLL_SUPPORT_LOCAL_WIDEST;
    while (atoll_cuda_device_local_room(d, frame_bytes) > d->facts.free_bytes / LOCAL_SHARE)
        frame_bytes /= 2;
    uint64_t room = atoll_cuda_device_local_room(d, frame_bytes);
    return budget > room ? budget - room : 0;
}

uint64_t atoll_cuda_device_free_bytes(const struct atoll_cuda_device *d)
{
    uint64_t sealed, budget = areas_budget(d, &sealed);
    uint64_t used = d->areas[ATOLL_AREA_ARENA].bytes + d->areas[ATOLL_AREA_PLAIN].bytes +
                    d->areas[ATOLL_AREA_SEALED].bytes;
    return budget > used ? budget - used : 0;
}

/* Small areas only grow, so that tasks in turns share them.  Large ones go when a task comes that does not need them: whenever
 * another candidate runs all of them is overwritten. */
static uint64_t area_size(const struct atoll_cuda_device *d, enum atoll_cuda_area area, uint64_t wanted)
{
    uint64_t had = wanted > LENT_BYTES ? d->wanted[area] : d->usual[area];
    return had > wanted ? had : wanted;
}

void atoll_cuda_device_expect(struct atoll_cuda_device *d, uint64_t bytes)
{
    d->sealed_demand += bytes;
}

void atoll_cuda_device_expect_fresh(struct atoll_cuda_device *d, uint64_t bytes)
{
    d->sealed_fresh = bytes > d->sealed_fresh ? bytes : d->sealed_fresh;
}

void atoll_cuda_device_leave(struct atoll_cuda_device *d, uint64_t bytes)
{
    if (bytes <= d->torch_room)
        return;
    d->torch_room = bytes;
    if (d->has_lent)
        atoll_cuda_device_drop(d);
}

int atoll_cuda_device_has_room(const struct atoll_cuda_device *d, uint64_t arena, uint64_t plain)
{
    const uint64_t *w = d->wanted;
    uint64_t sealed, budget = areas_usual(d, areas_budget(d, &sealed));
    uint64_t all_arena = w[ATOLL_AREA_ARENA] > arena ? w[ATOLL_AREA_ARENA] : arena;
    uint64_t all_plain = w[ATOLL_AREA_PLAIN] > plain ? w[ATOLL_AREA_PLAIN] : plain;
    return d->worker && all_arena <= budget && all_plain <= budget - all_arena &&
           sealed <= budget - all_arena - all_plain;
}

int atoll_cuda_device_reserve(struct atoll_cuda_device *d, uint64_t arena_least, uint64_t arena_wanted,
                              uint64_t plain, struct atoll_err *err)
{
    uint64_t *w = d->wanted, sealed, all = areas_budget(d, &sealed), budget = areas_usual(d, all);
    uint64_t arena = area_size(d, ATOLL_AREA_ARENA, arena_wanted);
    uint64_t all_plain = area_size(d, ATOLL_AREA_PLAIN, plain);
    if (arena > budget || all_plain > budget - arena || arena + all_plain + sealed > budget) {
        /* what earlier tasks wanted goes first, then the expected values, then the rotation, then the room of local memory */
        if (arena_least > budget || plain > budget - arena_least)
            budget = all;
        arena = arena_wanted > ARENA_MIN ? arena_wanted : ARENA_MIN;
        all_plain = plain;
        if (arena > budget || all_plain > budget - arena)
            arena = arena_least;
        if (arena > budget || all_plain > budget - arena)
            return atoll_err_set(err, ATOLL_E_LIMIT, "needs %llu bytes, device has %llu",
                                 (unsigned long long)arena_least + plain, (unsigned long long)budget);
        if (arena == arena_least) /* as far as memory allows */
            arena = budget - all_plain;
        if (sealed > budget - arena - all_plain)
            sealed = budget - arena - all_plain;
    }
    w[ATOLL_AREA_ARENA] = arena;
    w[ATOLL_AREA_PLAIN] = all_plain;
    for (uint32_t i = 0; i < ATOLL_AREA_COUNT; i++)
        if (w[i] <= LENT_BYTES && w[i] > d->usual[i])
            d->usual[i] = w[i];
    w[ATOLL_AREA_SEALED] = sealed / SEALED_GRAIN * SEALED_GRAIN;
    if (d->local_bytes > ATOLL_SUPPORT_LOCAL_BYTES &&
        w[ATOLL_AREA_ARENA] + w[ATOLL_AREA_PLAIN] + w[ATOLL_AREA_SEALED] +
                atoll_cuda_device_local_room(d, d->local_bytes) >
            all) {
        atoll_cuda_device_replace(d); /* the driver does not give local memory back */
        return 1;
    }
    if (w[ATOLL_AREA_ARENA] + w[ATOLL_AREA_PLAIN] + w[ATOLL_AREA_SEALED] + ATOLL_CUDA_SPARE_BYTES > all)
        atoll_cuda_spare_fini(&d->spare);
    return areas_make(d, err);
}

int atoll_cuda_device_hand_over(struct atoll_cuda_device *d, uint64_t candidate, uint32_t stack_bytes,
                                uint64_t key, struct atoll_err *err)
{
    static const enum atoll_cuda_area areas[] = {ATOLL_AREA_ARENA, ATOLL_AREA_PLAIN, ATOLL_AREA_FLUSH,
                                                 ATOLL_AREA_RESULT};
    const struct atoll_span *sealed = &d->areas[ATOLL_AREA_SEALED];
    uint32_t left_bytes = d->last_stack_bytes;
    uint64_t offset, bytes;
    if (d->last_candidate == candidate) {
        d->last_stack_bytes = stack_bytes; /* the process may be another one */
        return 0;
    }
    atoll_command_batch_clear(&d->batch);
    for (size_t i = 0; i < sizeof(areas) / sizeof(*areas); i++)
        if (d->areas[areas[i]].bytes)
            atoll_command_batch_set(&d->batch, d->areas[areas[i]].address, (uint32_t)atoll_random_at(key, i),
                                    d->areas[areas[i]].bytes / 4);
    for (size_t k = 0; sealed->bytes && atoll_expected_store_gap(d->expected_store, k, &offset, &bytes); k++)
        atoll_command_batch_set(&d->batch, sealed->address + offset, (uint32_t)atoll_random_at(~key, k),
                                bytes / 4);
    int is_wiped =
        left_bytes <= d->local_bytes &&
        atoll_support_local_wipe(&d->batch, left_bytes, d->facts.limits.multiprocessors,
                                 d->facts.limits.threads_per_multiprocessor,
                                 atoll_random_at(key, 0x6c6f63616cull), atoll_cuda_result(d, 0)) == 0;
    int rc = is_wiped ? atoll_cuda_device_run_own(d, "handing the memory over", err) : 1;
    if (rc < 0 && left_bytes > ATOLL_SUPPORT_LOCAL_BYTES && d->worker &&
        d->reply.status ==
            ATOLL_COMMAND_BATCH_REFUSED) { /* memory of larger frames, by a driver that had given it back */
        atoll_err_clear(err);
        d->local_refusals++;
        is_wiped = 0;
        rc = 1;
    }
    if (!is_wiped)
        atoll_cuda_device_drop(d);
    if (rc == 0 || !is_wiped) {
        d->last_candidate = candidate;
        d->last_stack_bytes = stack_bytes;
    }
    return rc;
}

int atoll_cuda_device_place(struct atoll_cuda_device *d, const uint64_t *bytes, size_t count, uint64_t key,
                            struct atoll_layout *ret_layout, struct atoll_err *err)
{
    int is_again = key == d->last_key;
    if (atoll_layout_make(&d->areas[ATOLL_AREA_ARENA], bytes, count, key, is_again ? -1 : d->last_place,
                          ret_layout, err) != 0)
        return -1;
    /* The same key means the same place, even where the one before it had pushed it on. */
    if (is_again && ret_layout->place != (unsigned)d->last_place && ret_layout->places > 1)
        return atoll_layout_make(&d->areas[ATOLL_AREA_ARENA], bytes, count, key, (int)ret_layout->place,
                                 ret_layout, err);
    d->last_key = key;
    d->last_place = (int)ret_layout->place;
    d->places = ret_layout->places;
    return 0;
}

/* ---- the process ---- */

int atoll_cuda_device_qualify(struct atoll_cuda_device *d, struct atoll_err *err)
{
    uint64_t key = atoll_random_at(d->referee->salt ^ 0x7175616cull, ++d->clock),
             result = atoll_cuda_result(d, 0);
    size_t length = 0;
    uint64_t got = 0;
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_set(&d->batch, result, 0, 2);
    atoll_support_known_answer(&d->batch, d->areas[ATOLL_AREA_FLUSH].address, d->facts.limits.multiprocessors,
                               key, result);
    atoll_command_batch_read(&d->batch, result, 8);
    int rc = atoll_cuda_device_run_own(d, "known-answer kernel", err);
    if (rc > 0)
        return atoll_err_set(err, ATOLL_E_CHILD, "the known-answer kernel did not end: %s", d->reply.text);
    if (rc < 0)
        return -1;
    const void *bytes = atoll_command_batch_take_bytes(&d->reply, &length);
    if (length == 8)
        memcpy(&got, bytes, 8);
    if (length == 8 && got == atoll_support_known_answer_expected(d->facts.limits.multiprocessors, key))
        return 0;
    return atoll_err_set(err, ATOLL_E_CHILD, "device %s computes a wrong known answer", d->facts.uuid);
}

/* By its UUID: another device may have taken its number.  A part of one keeps the name that it was chosen by. */
void atoll_cuda_device_settings(const struct atoll_cuda_device *d, struct atoll_cuda_worker_settings *ret)
{
    *ret = d->settings;
    if (d->uuid[0] && !(ret->uuid && strncmp(ret->uuid, "MIG-", 4) == 0))
        ret->uuid = d->uuid;
}

static struct {
    pthread_mutex_t lock;
    struct atoll_cuda_worker *worker;
} prepared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct atoll_cuda_worker *prepared_swap(struct atoll_cuda_worker *worker)
{
    pthread_mutex_lock(&prepared.lock);
    struct atoll_cuda_worker *before = prepared.worker;
    prepared.worker = worker;
    pthread_mutex_unlock(&prepared.lock);
    return before;
}

void atoll_cuda_device_prepare(struct atoll_cuda_worker *worker)
{
    atoll_cuda_worker_destroy(prepared_swap(worker));
}

static int process_start(struct atoll_cuda_device *d, struct atoll_err *err)
{
    struct atoll_cuda_worker_settings settings;
    atoll_cuda_device_settings(d, &settings);
    d->worker = d->generation == 0 ? prepared_swap(NULL) : atoll_cuda_spare_take(&d->spare);
    int is_spare = d->generation && d->worker;
    if (!d->worker)
        d->worker = atoll_cuda_worker_create(&settings, err);
    if (!d->worker)
        return -1;
    d->generation++;
    struct atoll_cuda_facts facts = *atoll_cuda_worker_facts(d->worker);
    if (is_spare) /* it was begun beside the one before it */
        facts.free_bytes = d->facts.free_bytes;
    if (d->sealed.worker) /* what it has is ours */
        facts.free_bytes += d->sealed.bytes + ATOLL_CUDA_SEALED_CONTEXT_BYTES;
    if (d->facts.free_bytes && facts.free_bytes > d->facts.free_bytes)
        facts.free_bytes = d->facts.free_bytes; /* a plan of memory holds */
    d->facts = facts;
    return 0;
}

static int process_equip(struct atoll_cuda_device *d, struct atoll_err *err)
{
    uint64_t cache = (uint64_t)fmax(d->facts.last_level_cache_bytes, 0);
    uint64_t flush = FLUSH_CACHES * ((cache + 4095) / 4096 * 4096);
    d->wanted[ATOLL_AREA_FLUSH] = flush > FLUSH_MIN ? flush : FLUSH_MIN;
    d->wanted[ATOLL_AREA_RESULT] = ATOLL_CUDA_RESULT_BYTES;
    if (!d->wanted[ATOLL_AREA_ARENA])
        d->wanted[ATOLL_AREA_ARENA] = ARENA_MIN;
    double mark = atoll_clock_raw_ns();
    atoll_command_batch_clear(&d->batch);
    atoll_support_load(&d->batch, d->support.bytes, d->support.length, d->calibration.bytes,
                       d->calibration.length);
    int rc = atoll_cuda_device_run_own(d, "kernels of ours", err);
    d->steps.loaded_ns = lap_ns(&mark);
    if (rc == 0)
        rc = atoll_cuda_device_reserve(d, ARENA_MIN, ARENA_MIN, 0, err);
    if (rc > 0)
        return atoll_err_set(err, ATOLL_E_CHILD, "the device process was lost while it was set up: %s",
                             d->reply.text);
    mark = atoll_clock_raw_ns();
    if (rc == 0)
        rc = atoll_cuda_device_qualify(d, err);
    d->steps.qualified_ns = lap_ns(&mark);
    return rc;
}

/* Another process, equipped, where one was lost. */
static int process_replace(struct atoll_cuda_device *d, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    for (int i = 0; !d->worker && !d->is_quarantined && i < START_LIMIT; i++) {
        double begin = atoll_clock_raw_ns();
        atoll_err_clear(&why);
        int is_started = process_start(d, &why) == 0;
        double started = atoll_clock_raw_ns();
        if (is_started && process_equip(d, &why) == 0) {
            atoll_log(
                ATOLL_LOG_INFO, "eval.device.started",
                "device process %u started in %.0f ms, and had its kernels and memory %.0f ms later: loaded "
                "%.0f, what is sealed attached %.0f, memory taken %.0f, overwritten %.0f, known answer %.0f",
                d->generation, (started - begin) / 1e6, (atoll_clock_raw_ns() - started) / 1e6,
                d->steps.loaded_ns / 1e6, d->steps.attached_ns / 1e6, d->steps.taken_ns / 1e6,
                d->steps.overwritten_ns / 1e6, d->steps.qualified_ns / 1e6);
            d->failures = 0;
            return 0;
        }
        atoll_cuda_device_drop(d);
        if (why.code == ATOLL_E_MISSING)
            break;
        d->is_quarantined = ++d->failures >= FAILURE_LIMIT;
    }
    if (d->worker)
        return 0;
    if (d->is_quarantined)
        return atoll_err_set(err, ATOLL_E_CHILD, "device %s is in quarantine: %.700s",
                             d->uuid[0] ? d->uuid : "(unnamed)",
                             why.text[0] ? why.text : "it failed its known-answer kernel twice");
    return atoll_err_set(err, why.code, "%s", why.text);
}

/* The time is the start's, whoever waits for it. */
int atoll_cuda_device_ready(struct atoll_cuda_device *d, struct atoll_err *err)
{
    if (d->worker)
        return 0;
    enum atoll_time_part before = atoll_time_account_enter(d->referee->account, ATOLL_TIME_START);
    int rc = process_replace(d, err);
    atoll_time_account_enter(d->referee->account, before);
    return rc;
}

/* ---- opening ---- */

/* Ends `compiled`. */
static int cubin_take(struct atoll_compiled *compiled, const char *name,
                      struct atoll_cuda_cubin_bytes *ret_cubin, struct atoll_err *err)
{
    int failed = 0;
    if (compiled->status == ATOLL_COMPILE_OK) {
        *ret_cubin = (struct atoll_cuda_cubin_bytes){compiled->object, compiled->object_length};
        compiled->object = NULL;
    } else {
        failed =
            atoll_err_set(err, compiled->status == ATOLL_COMPILE_ERROR ? ATOLL_E_INPUT : ATOLL_E_CHILD,
                          "%s does not compile for the device: %.800s", name,
                          compiled->diagnostics && compiled->diagnostics[0] ? compiled->diagnostics
                                                                            : "the compiler did not finish");
    }
    atoll_compiled_fini(compiled);
    return failed;
}

int atoll_cuda_compile(struct atoll_cuda_device *d, const char *name, const char *text, size_t length,
                       struct atoll_cuda_cubin_bytes *ret_cubin, struct atoll_err *err)
{
    struct atoll_compiled compiled = {0};
    int failed = 0;
    /* nvcc has one deadline for all; on a machine where nothing of the compiler is in memory yet ours may need longer, and
     * has less to wait for the next time. */
    for (int i = 0; i < COMPILE_LIMIT && !failed && (i == 0 || compiled.status == ATOLL_COMPILE_TIMEOUT);
         i++) {
        atoll_compiled_fini(&compiled);
        failed = atoll_compiler_run(d->referee->compiler, name, text, length, NULL, 0, &compiled, err);
    }
    return failed ? failed : cubin_take(&compiled, name, ret_cubin, err);
}

/* All units of ours, at the same time: the others are ready before support's. */
static int units_compile(struct atoll_cuda_device *d, struct atoll_err *err)
{
    static const uint64_t job =
        UINT64_MAX - 1; /* and below: nobody else has jobs before the device is open */
    const struct {
        const char *name, *text;
        struct atoll_cuda_cubin_bytes *to;
    } others[] = {{"calibration.cu", atoll_support_calibration_text(), &d->calibration},
                  {"wide_frames.cu", atoll_support_wide_frames_text(), &d->wide_frames}};
    const char *support = atoll_support_text();
    struct atoll_compiler *compiler = d->referee->compiler;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (atoll_compiler_submit(compiler, job - i, others[i].name, others[i].text, strlen(others[i].text),
                                  NULL, 0, err) != 0)
            return -1;
    int failed = atoll_cuda_compile(d, "support.cu", support, strlen(support), &d->support, err);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        struct atoll_compiled compiled = {0};
        if (atoll_compiler_wait(compiler, job - i, &compiled, err) != 0)
            return -1;
        if (failed || compiled.status == ATOLL_COMPILE_TIMEOUT) /* the latter as above */
            atoll_compiled_fini(&compiled);
        if (!failed)
            failed = compiled.status == ATOLL_COMPILE_TIMEOUT
                         ? atoll_cuda_compile(d, others[i].name, others[i].text, strlen(others[i].text),
                                              others[i].to, err)
                         : cubin_take(&compiled, others[i].name, others[i].to, err);
    }
    return failed;
}

static void info_fill(const struct atoll_cuda_device *d, struct atoll_device_info *info)
{
    struct atoll_id id = atoll_id_of(d->facts.uuid, strlen(d->facts.uuid));
    const char *toolchain = d->referee->compiler ? atoll_compiler_version(d->referee->compiler) : "";
    info->key = atoll_id_u64(&id);
    snprintf(info->backend, sizeof(info->backend), "cuda");
    snprintf(info->model, sizeof(info->model), "%s", d->facts.model);
    snprintf(info->uuid, sizeof(info->uuid), "%s", d->facts.uuid);
    if (gethostname(info->node, sizeof(info->node) - 1) != 0)
        snprintf(info->node, sizeof(info->node), "unknown");
    snprintf(info->toolchain, sizeof(info->toolchain), "%.*s", (int)sizeof(info->toolchain) - 1, toolchain);
    info->last_level_cache_bytes = d->facts.last_level_cache_bytes;
    info->limits = d->facts.limits;
    snprintf(d->referee->pci, sizeof(d->referee->pci), "%s", d->facts.pci);
    atoll_cuda_target(info->limits.compute_capability, info->limits.target, sizeof(info->limits.target));
    atoll_torch_versions(d->referee->setup.python, 1, info->torch, sizeof(info->torch));
    snprintf(info->isolation, sizeof(info->isolation),
             "device process of its own, sandboxed; answers sealed; lock per device");
}

static int device_begin(struct atoll_cuda_device *d, struct atoll_err *err)
{
    d->expected_store = atoll_expected_store_create(err);
    if (!d->expected_store || process_start(d, err) != 0)
        return -1;
    snprintf(d->uuid, sizeof(d->uuid), "%s", d->facts.uuid);
    info_fill(d, &d->referee->info);
    d->lock_fd = atoll_cuda_lock(NULL, d->uuid, err);
    if (d->lock_fd < 0)
        return -1;
    if (d->referee->setup.backend_null)
        return 0;
    atoll_watch_open(&d->watch, d->uuid);
    spare_begin(d); /* the device has nothing to do meanwhile */
    if (units_compile(d, err) != 0 ||
        atoll_support_stack(d->support.bytes, d->support.length, &d->support_stack_bytes, err) != 0)
        return -1;
    atoll_cuda_spare_settle(&d->spare);
    struct atoll_err why = ATOLL_ERR_INIT;
    if (process_equip(d, &why) == 0)
        return 0;
    atoll_cuda_device_drop(d); /* once more, on another process */
    d->failures = 1;
    return atoll_cuda_device_ready(d, err);
}

int atoll_cuda_device_open(struct atoll_referee *referee, struct atoll_err *err)
{
    struct atoll_cuda_device *d = calloc(1, sizeof(*d));
    if (!d)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a device");
    d->referee = referee;
    d->lock_fd = -1;
    d->last_place = -1;
    d->local_bytes = ATOLL_SUPPORT_LOCAL_BYTES;
    atoll_command_batch_init(&d->batch);
    atoll_command_batch_reply_init(&d->reply);
    atoll_cuda_device_choose(&d->settings);
    referee->device_state = d;
    if (device_begin(d, err) == 0)
        return 0;
    atoll_cuda_device_close(referee);
    return -1;
}

void atoll_cuda_device_close(struct atoll_referee *referee)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    if (!d)
        return;
    atoll_cuda_device_drop_all(d);
    atoll_torch_oracle_destroy(d->torch);
    atoll_torch_oracle_destroy(d->torch_host);
    atoll_expected_store_destroy(d->expected_store);
    atoll_watch_close(&d->watch);
    atoll_cuda_unlock(d->lock_fd);
    free(d->support.bytes);
    free(d->calibration.bytes);
    free(d->wide_frames.bytes);
    atoll_command_batch_fini(&d->batch);
    atoll_command_batch_reply_fini(&d->reply);
    free(d);
    referee->device_state = NULL;
}
