/* pipeline.c - orders in hand.
 * States of a work: WAITS_TASK (its task is not known to the referee) -> COMPILES (an object is missing) ->
 * MEASURED (lent to the examiner) -> ANSWERED.  A verdict of levels 1 to 3 goes from any of the first two to
 * ANSWERED. The compiler has one owner: this thread, except while an errand is out that uses it (`lent`).
 * Where the backend gives a unit for a task's reference, it is compiled here beside the candidates, and the TASK errand
 * comes with the object.  Else that errand uses the compiler: before it is posted no new compile is started until all
 * running ones have come back. */
#include "mpi-eval/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/arena.h"
#include "core/log.h"
#include "mpi-eval/clock.h"

#define TASK_LIMIT        4096u
#define CACHE_BYTES       (256u << 20)
#define ORDER_ARENA_BYTES (4u << 20)
#define REFERENCE_BYTES   (4u << 20)

enum work_state { WORK_WAITS_TASK, WORK_COMPILES, WORK_MEASURED, WORK_ANSWERED };

enum { CANDIDATE, ELITE, SIDES };

struct work {
    enum work_state state;
    struct atoll_arena *arena;
    struct atoll_order order;
    int64_t arrived_unix_ns;
    struct atoll_prepared *prepared[SIDES];
    struct atoll_object *objects[SIDES];
    struct atoll_errand errand; /* also holds the answer */
    struct work *next;
};

struct task_place {
    struct atoll_task *task;        /* owned */
    int known;                      /* to the referee */
    char *refusal;                  /* owned; why the referee cannot work on it, NULL if it can */
    struct atoll_object *reference; /* one count of it, from its compilation until the task is known */
};

struct atoll_pipeline {
    const struct atoll_backend *backend;
    struct atoll_compiler *compiler; /* borrowed */
    struct atoll_examiner *examiner; /* borrowed */
    struct atoll_cache *cache;
    struct task_place *tasks;
    uint32_t task_count;
    struct atoll_errand setup;      /* OPEN or TASK: one at a time */
    int busy, lent, open, draining; /* busy: setup is out; lent: the compiler, too */
    struct work *first, **end;
    unsigned work_count;
    uint64_t next_job;
    struct {
        uint64_t job;
        struct atoll_object *object; /* holds a reference: the work that wanted it may be gone before */
        struct atoll_id plan;
    } jobs[3 * ATOLL_PIPELINE_ORDER_LIMIT]; /* two sides and a reference each */
    unsigned job_count;
    struct atoll_pulse pulse;
};

/* ---- lifetime ---- */

static void setup_post(struct atoll_pipeline *p, enum atoll_errand_kind kind, uint32_t number)
{
    p->setup = (struct atoll_errand){.kind = kind, .task_number = number};
    if (kind == ATOLL_ERRAND_TASK) {
        p->setup.task = p->tasks[number].task;
        p->setup.reference = p->tasks[number].reference;
    }
    p->busy = 1;
    p->lent = !p->setup.reference;
    atoll_examiner_post_first(p->examiner, &p->setup);
}

struct atoll_pipeline *atoll_pipeline_create(const struct atoll_backend *backend,
                                             struct atoll_compiler *compiler, struct atoll_examiner *examiner,
                                             struct atoll_err *err)
{
    struct atoll_pipeline *p = calloc(1, sizeof *p);
    if (!p) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the orders in hand");
        return NULL;
    }
    p->cache = atoll_cache_create(CACHE_BYTES, err);
    if (!p->cache) {
        free(p);
        return NULL;
    }
    p->backend = backend;
    p->compiler = compiler;
    p->examiner = examiner;
    p->end = &p->first;
    setup_post(p, ATOLL_ERRAND_OPEN, 0);
    return p;
}

static void work_destroy(struct atoll_pipeline *p, struct work *work)
{
    for (int side = 0; side < SIDES; side++) {
        atoll_prepared_destroy(work->prepared[side]);
        atoll_cache_release(p->cache, work->objects[side]);
    }
    atoll_evaluation_fini(&work->errand.evaluation);
    atoll_arena_destroy(work->arena);
    free(work);
}

void atoll_pipeline_destroy(struct atoll_pipeline *p)
{
    if (!p)
        return;
    for (struct work *work = p->first, *next; work; work = next) {
        next = work->next;
        work_destroy(p, work);
    }
    for (uint32_t i = 0; i < p->task_count; i++) {
        atoll_cache_release(p->cache, p->tasks[i].reference);
        atoll_task_destroy(p->tasks[i].task);
        free(p->tasks[i].refusal);
    }
    free(p->tasks);
    atoll_cache_destroy(p->cache);
    free(p);
}

int atoll_pipeline_add_task(struct atoll_pipeline *p, uint32_t number, struct atoll_task *task,
                            struct atoll_err *err)
{
    if (number != p->task_count || number >= TASK_LIMIT) {
        atoll_task_destroy(task);
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "task %u came where task %u was expected", number,
                             p->task_count);
    }
    struct task_place *grown = realloc(p->tasks, (number + 1) * sizeof *grown);
    if (!grown) {
        atoll_task_destroy(task);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a task");
    }
    p->tasks = grown;
    p->tasks[number] = (struct task_place){.task = task};
    p->task_count++;
    return 0;
}

int atoll_pipeline_is_open(const struct atoll_pipeline *p)
{
    return p->open;
}

int atoll_pipeline_owns_compiler(const struct atoll_pipeline *p)
{
    return !p->lent;
}

/* ---- answers ---- */

/* NULL before the device is open. */
static const struct atoll_device_info *device_info(const struct atoll_pipeline *p)
{
    return p->open ? atoll_examiner_device(p->examiner) : NULL;
}

static uint64_t device_key(const struct atoll_pipeline *p)
{
    const struct atoll_device_info *device = device_info(p);
    return device ? device->key : 0;
}

/* What the cascade decided before the referee: level 1 to 3, or 0 for trouble of ours. */
static void work_conclude(struct atoll_pipeline *p, struct work *work, enum atoll_verdict verdict,
                          unsigned level, const char *detail)
{
    if (work->order.is_duel) {
        struct atoll_duel *duel = &work->errand.duel;
        *duel =
            (struct atoll_duel){.purpose = work->order.purpose, .verdict = verdict, .device = device_key(p)};
        snprintf(duel->detail, sizeof duel->detail, "%s", detail);
    } else {
        struct atoll_evaluation *e = &work->errand.evaluation;
        e->verdict = verdict;
        e->level = level;
        e->device = device_key(p);
        snprintf(e->detail, sizeof e->detail, "%s", detail);
    }
    work->state = WORK_ANSWERED;
}

static void evaluation_complete(struct work *work)
{
    struct atoll_evaluation *e = &work->errand.evaluation;
    const struct atoll_object *object = work->objects[CANDIDATE];
    e->evaluation = work->order.evaluation;
    e->candidate = work->order.candidate.id;
    if (e->started_unix_ns == 0)
        e->started_unix_ns = work->arrived_unix_ns;
    if (work->prepared[CANDIDATE])
        e->behaviour = work->prepared[CANDIDATE]->behaviour;
    if (object) {
        e->compile_ns = object->compile_ns;
        e->binary = object->binary;
    }
}

static struct work *work_take_answered(struct atoll_pipeline *p)
{
    for (struct work **place = &p->first; *place; place = &(*place)->next) {
        struct work *work = *place;
        if (work->state != WORK_ANSWERED)
            continue;
        *place = work->next;
        if (!*place)
            p->end = place;
        p->work_count--;
        return work;
    }
    return NULL;
}

int atoll_pipeline_answer(struct atoll_pipeline *p, uint16_t *ret_type, struct atoll_buffer *out)
{
    struct work *work = work_take_answered(p);
    if (!work)
        return 0;
    if (work->order.is_duel) {
        work->errand.duel.evaluation = work->order.evaluation;
        work->errand.duel.purpose = work->order.purpose;
        atoll_duel_encode(&work->errand.duel, out);
        *ret_type = ATOLL_MSG_DUELLED;
    } else {
        evaluation_complete(work);
        atoll_evaluation_encode(&work->errand.evaluation, out);
        *ret_type = ATOLL_MSG_EVALUATED;
    }
    work_destroy(p, work);
    return 1;
}

/* ---- arrival: levels 1 and 2 ---- */

static void work_prepare(struct atoll_pipeline *p, struct work *work)
{
    const struct atoll_order_candidate *sides[SIDES] = {&work->order.candidate, &work->order.elite};
    struct atoll_err err = ATOLL_ERR_INIT;
    for (int side = 0; side < (work->order.is_duel ? SIDES : 1); side++) {
        struct atoll_prepared *prepared = atoll_prepared_create(p->tasks[work->order.task].task, p->backend,
                                                                sides[side], device_info(p), &err);
        work->prepared[side] = prepared;
        if (!prepared) {
            work_conclude(p, work, ATOLL_V_INFRASTRUCTURE, 0, err.text);
            return;
        }
        if (prepared->verdict == ATOLL_V_CORRECT)
            continue;
        enum atoll_verdict verdict = side == ELITE ? ATOLL_V_INFRASTRUCTURE : prepared->verdict;
        work_conclude(p, work, verdict, prepared->verdict == ATOLL_V_BAD_PLAN ? 1 : 2, prepared->detail);
        return;
    }
}

static struct work *work_create(struct atoll_err *err)
{
    struct work *work = calloc(1, sizeof *work);
    if (!work) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an order");
        return NULL;
    }
    work->arena = atoll_arena_create(ORDER_ARENA_BYTES, err);
    if (!work->arena) {
        free(work);
        return NULL;
    }
    atoll_evaluation_init(&work->errand.evaluation);
    work->arrived_unix_ns = atoll_clock_unix_ns();
    return work;
}

int atoll_pipeline_order(struct atoll_pipeline *p, const void *payload, size_t length, struct atoll_err *err)
{
    if (p->work_count >= ATOLL_PIPELINE_ORDER_LIMIT)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "more than %d orders at a time",
                             ATOLL_PIPELINE_ORDER_LIMIT);
    struct work *work = work_create(err);
    if (!work)
        return -1;
    if (atoll_order_decode(payload, length, work->arena, &work->order, err) != 0) {
        work_destroy(p, work);
        return -1;
    }
    if (work->order.task >= p->task_count) {
        uint32_t task = work->order.task;
        work_destroy(p, work);
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "an order for task %u, which was never sent", task);
    }
    *p->end = work;
    p->end = &work->next;
    p->work_count++;
    work_prepare(p, work);
    return 0;
}

/* ---- level 3 ---- */

static struct atoll_id plan_id(const struct atoll_prepared *prepared)
{
    struct atoll_id id = {{0}};
    struct atoll_buffer text;
    atoll_buffer_init(&text, 1u << 20);
    atoll_buffer_put_text(&text, prepared->plan->canonical);
    for (size_t i = 0; i < prepared->choice.count; i++)
        atoll_buffer_put_i64(&text, prepared->choice.values[i]);
    if (!text.failed)
        id = atoll_id_of(text.data, text.length);
    atoll_buffer_fini(&text);
    return id;
}

/* Equal objects with equal plans are the same binary, whatever their sources. */
static struct atoll_id binary_id(const struct atoll_id *plan, const void *bytes, size_t length)
{
    struct atoll_id both[2] = {*plan, atoll_id_of(bytes, length)};
    return atoll_id_of(both, sizeof both);
}

/* plan: NULL for what has none. */
static int compile_start(struct atoll_pipeline *p, struct atoll_object *object,
                         const struct atoll_prepared *plan, const char *name, const char *text, size_t length,
                         struct atoll_err *err)
{
    if (p->job_count >= sizeof p->jobs / sizeof p->jobs[0])
        return atoll_err_set(err, ATOLL_E_LIMIT, "too many compilations at a time");
    if (atoll_compiler_submit(p->compiler, p->next_job, name, text, length, NULL, 0, err) != 0)
        return -1;
    p->jobs[p->job_count].job = p->next_job++;
    p->jobs[p->job_count].object = object;
    p->jobs[p->job_count].plan = plan ? plan_id(plan) : (struct atoll_id){{0}};
    p->job_count++;
    object->references++;
    object->state = ATOLL_OBJECT_COMPILING;
    return 0;
}

static void work_fetch_objects(struct atoll_pipeline *p, struct work *work)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (int side = 0; side < (work->order.is_duel ? SIDES : 1); side++) {
        if (work->objects[side])
            continue;
        const struct atoll_prepared *prepared = work->prepared[side];
        struct atoll_object *object = atoll_cache_take(p->cache, &prepared->id, &err);
        work->objects[side] = object;
        if (!object || (object->state == ATOLL_OBJECT_NEW &&
                        compile_start(p, object, prepared, p->backend->unit_name, prepared->unit_text,
                                      prepared->unit_length, &err) != 0)) {
            work_conclude(p, work, ATOLL_V_INFRASTRUCTURE, 0, err.text);
            return;
        }
    }
}

static void object_fail(struct atoll_object *object, enum atoll_verdict verdict, const char *text)
{
    object->state = ATOLL_OBJECT_FAILED;
    object->verdict = verdict;
    object->diagnostics = strdup(text);
}

static const struct {
    enum atoll_verdict verdict;
    const char *text; /* "" = the compiler's own words */
} compile_verdicts[] = {
    [ATOLL_COMPILE_ERROR] = {ATOLL_V_COMPILE_ERROR, ""},
    [ATOLL_COMPILE_TIMEOUT] = {ATOLL_V_COMPILE_ERROR, "the compiler did not finish within its deadline; "
                                                      "use less unrolling or simpler code"},
    [ATOLL_COMPILE_MEMORY] = {ATOLL_V_COMPILE_ERROR, "the compiler ran out of its memory limit; "
                                                     "use less unrolling or smaller tables"},
    [ATOLL_COMPILE_BROKEN] = {ATOLL_V_INFRASTRUCTURE, "the compiler could not be run"},
};

static void compile_finish(struct atoll_pipeline *p, unsigned index, struct atoll_compiled *compiled)
{
    struct atoll_object *object = p->jobs[index].object;
    object->compile_ns = compiled->wall_ns;
    p->pulse.compile_ns += compiled->wall_ns;
    if (compiled->status == ATOLL_COMPILE_OK) {
        object->state = ATOLL_OBJECT_READY;
        object->bytes = compiled->object;
        object->length = compiled->object_length;
        object->binary = binary_id(&p->jobs[index].plan, object->bytes, object->length);
        object->report = compiled->report;
        compiled->object = NULL;
        compiled->report = NULL;
    } else {
        const char *own = compile_verdicts[compiled->status].text;
        const char *text = own[0] ? own : (compiled->diagnostics ? compiled->diagnostics : "");
        object_fail(object, compile_verdicts[compiled->status].verdict, text);
    }
    p->jobs[index] = p->jobs[--p->job_count];
    atoll_cache_release(p->cache, object);
}

static void compiles_collect(struct atoll_pipeline *p)
{
    struct atoll_compiled compiled;
    while (!p->lent && p->job_count > 0 && atoll_compiler_collect(p->compiler, &compiled) == 1) {
        for (unsigned i = 0; i < p->job_count; i++) {
            if (p->jobs[i].job == compiled.job) {
                compile_finish(p, i, &compiled);
                break;
            }
        }
        atoll_compiled_fini(&compiled);
    }
}

/* ---- levels 4 to 8 ---- */

static void work_post(struct atoll_pipeline *p, struct work *work)
{
    struct atoll_errand *errand = &work->errand;
    for (int side = 0; side < SIDES; side++)
        if (work->prepared[side])
            work->prepared[side]->report = work->objects[side]->report;
    errand->kind = work->order.is_duel ? ATOLL_ERRAND_DUEL : ATOLL_ERRAND_EVALUATE;
    errand->task_number = work->order.task;
    errand->order = &work->order;
    errand->candidate = work->prepared[CANDIDATE];
    errand->elite = work->prepared[ELITE];
    errand->candidate_object = work->objects[CANDIDATE];
    errand->elite_object = work->objects[ELITE];
    work->state = WORK_MEASURED;
    atoll_examiner_post(p->examiner, errand);
}

/* 1 when a side failed to compile: concluded. */
static int work_compile_failed(struct atoll_pipeline *p, struct work *work)
{
    for (int side = 0; side < SIDES; side++) {
        const struct atoll_object *object = work->objects[side];
        if (!object || object->state != ATOLL_OBJECT_FAILED)
            continue;
        int is_charged = side == CANDIDATE && object->verdict != ATOLL_V_INFRASTRUCTURE;
        work_conclude(p, work, is_charged ? object->verdict : ATOLL_V_INFRASTRUCTURE, is_charged ? 3 : 0,
                      object->diagnostics ? object->diagnostics : "");
        return 1;
    }
    return 0;
}

static int work_is_compiled(const struct work *work)
{
    for (int side = 0; side < (work->order.is_duel ? SIDES : 1); side++) {
        if (!work->objects[side] || work->objects[side]->state != ATOLL_OBJECT_READY)
            return 0;
    }
    return 1;
}

static int task_refuse(struct task_place *task, const char *why, struct atoll_err *err)
{
    task->refusal = strdup(why);
    return task->refusal ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a refusal");
}

/* A task whose reference is wrong costs its own orders, not the evaluator. */
static int work_task_refused(struct atoll_pipeline *p, struct work *work)
{
    const char *refusal = p->tasks[work->order.task].refusal;
    if (work->state != WORK_WAITS_TASK || !refusal)
        return 0;
    work_conclude(p, work, ATOLL_V_COMPILE_ERROR, 3, refusal);
    return 1;
}

static void work_advance(struct atoll_pipeline *p, struct work *work)
{
    if (work_task_refused(p, work))
        return;
    if (work->state == WORK_WAITS_TASK && p->tasks[work->order.task].known)
        work->state = WORK_COMPILES;
    if (work->state != WORK_COMPILES && work->state != WORK_WAITS_TASK)
        return;
    if (!p->lent && !p->draining)
        work_fetch_objects(p, work);
    if (work->state == WORK_ANSWERED || work_compile_failed(p, work))
        return;
    if (work->state == WORK_COMPILES && work_is_compiled(work))
        work_post(p, work);
}

/* -1: the device computes no more. */
static int examined_collect(struct atoll_pipeline *p, struct work *work, struct atoll_err *err)
{
    const struct atoll_errand *errand = &work->errand;
    int is_duel = errand->kind == ATOLL_ERRAND_DUEL;
    p->pulse.occupied_ns += is_duel ? errand->duel.occupied_ns : errand->evaluation.occupied_ns;
    p->pulse.candidate_ns += is_duel ? errand->duel.candidate_ns : errand->evaluation.candidate_ns;
    work->state = WORK_ANSWERED;
    if (errand->rc == 0)
        return 0;
    if (err)
        *err = errand->err;
    return -1;
}

static void reference_give(struct atoll_pipeline *p, struct task_place *task)
{
    atoll_cache_release(p->cache, task->reference);
    task->reference = NULL;
}

static int setup_collect(struct atoll_pipeline *p, struct atoll_err *err)
{
    p->busy = p->lent = 0;
    if (p->setup.kind == ATOLL_ERRAND_TASK)
        reference_give(p, &p->tasks[p->setup.task_number]);
    if (p->setup.rc != 0 && p->setup.kind == ATOLL_ERRAND_TASK && p->setup.err.code == ATOLL_E_INPUT)
        return task_refuse(&p->tasks[p->setup.task_number], p->setup.err.text, err);
    if (p->setup.rc != 0) {
        if (err)
            *err = p->setup.err;
        return p->setup.kind == ATOLL_ERRAND_OPEN
                   ? -1
                   : atoll_err_add(err, "in task '%s'", p->tasks[p->setup.task_number].task->name);
    }
    if (p->setup.kind == ATOLL_ERRAND_OPEN)
        p->open = 1;
    else
        p->tasks[p->setup.task_number].known = 1;
    return 0;
}

static int errands_collect(struct atoll_pipeline *p, struct atoll_err *err)
{
    struct atoll_errand *errand;
    while ((errand = atoll_examiner_collect(p->examiner)) != NULL) {
        if (errand == &p->setup && setup_collect(p, err) != 0)
            return -1;
        for (struct work *work = p->first; work; work = work->next) {
            if (errand == &work->errand && examined_collect(p, work, err) != 0)
                return -1;
        }
    }
    return 0;
}

/* The task of the oldest order whose task the referee does not know; task_count when there is none. */
static uint32_t task_wanted(const struct atoll_pipeline *p)
{
    for (const struct work *work = p->first; work; work = work->next) {
        const struct task_place *task = &p->tasks[work->order.task];
        if (work->state == WORK_WAITS_TASK && !task->known && !task->refusal)
            return work->order.task;
    }
    return p->task_count;
}

/* Through the compiler of the referee's thread. */
static void tasks_advance_lending(struct atoll_pipeline *p)
{
    uint32_t wanted = task_wanted(p);
    if (wanted < p->task_count && !p->lent && p->job_count == 0)
        setup_post(p, ATOLL_ERRAND_TASK, wanted);
    p->draining = wanted < p->task_count;
}

static int reference_start(struct atoll_pipeline *p, struct task_place *task, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_id id = atoll_id_of(task->task->id.bytes, sizeof task->task->id.bytes);
    const char *name;
    struct atoll_buffer unit;
    atoll_buffer_init(&unit, REFERENCE_BYTES);
    int rc = p->backend->case_unit(task->task, &name, &unit, &why);
    if (rc == 0) {
        task->reference = atoll_cache_take(p->cache, &id, &why);
        rc = !task->reference || (task->reference->state == ATOLL_OBJECT_NEW &&
                                  compile_start(p, task->reference, NULL, name, (const char *)unit.data,
                                                unit.length, &why) != 0)
                 ? -1
                 : 0;
    }
    atoll_buffer_fini(&unit);
    if (rc != 0 && why.code == ATOLL_E_INPUT)
        return task_refuse(task, why.text, err);
    if (rc != 0 && err)
        *err = why;
    return rc;
}

static int reference_failed(struct atoll_pipeline *p, struct task_place *task, struct atoll_err *err)
{
    char text[1024];
    int is_wrong = task->reference->verdict == ATOLL_V_COMPILE_ERROR;
    snprintf(text, sizeof text, "the reference of task '%s' does not compile for the device: %.800s",
             task->task->name, task->reference->diagnostics ? task->reference->diagnostics : "");
    reference_give(p, task);
    return is_wrong ? task_refuse(task, text, err) : atoll_err_set(err, ATOLL_E_CHILD, "%s", text);
}

static int task_advance(struct atoll_pipeline *p, uint32_t number, struct atoll_err *err)
{
    struct task_place *task = &p->tasks[number];
    if (task->known || task->refusal || (p->busy && p->setup.task_number == number))
        return 0;
    if (!task->reference)
        return p->lent ? 0 : reference_start(p, task, err);
    if (task->reference->state == ATOLL_OBJECT_FAILED)
        return reference_failed(p, task, err);
    if (task->reference->state == ATOLL_OBJECT_READY && !p->busy)
        setup_post(p, ATOLL_ERRAND_TASK, number);
    return 0;
}

/* References of all tasks that orders wait for are compiled at once. */
static int tasks_advance(struct atoll_pipeline *p, struct atoll_err *err)
{
    for (struct work *work = p->first; work; work = work->next)
        if (work->state == WORK_WAITS_TASK && task_advance(p, work->order.task, err) != 0)
            return -1;
    return 0;
}

int atoll_pipeline_advance(struct atoll_pipeline *p, struct atoll_err *err)
{
    if (errands_collect(p, err) != 0)
        return -1;
    compiles_collect(p);
    if (p->open && !p->backend->case_unit)
        tasks_advance_lending(p);
    else if (p->open && tasks_advance(p, err) != 0)
        return -1;
    for (struct work *work = p->first; work && p->open; work = work->next)
        work_advance(p, work);
    return 0;
}

void atoll_pipeline_pulse(const struct atoll_pipeline *p, struct atoll_pulse *pulse)
{
    pulse->occupied_ns += p->pulse.occupied_ns;
    pulse->candidate_ns += p->pulse.candidate_ns;
    pulse->compile_ns += p->pulse.compile_ns;
    pulse->queued += p->work_count;
    pulse->compiling += p->job_count;
}
