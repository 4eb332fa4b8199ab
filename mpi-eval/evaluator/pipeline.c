/* pipeline.c - orders in hand, from arrival to result.
 *
 * States of an order: WAITS_TASK (its task is not known to the referee) -> COMPILES (an object is missing) -> MEASURED (lent
 * to the referee's thread) -> DONE.  A verdict of levels 1 to 3 goes from any of the first two to DONE.
 *
 * What a model asks for (TOOL) goes the same way behind the orders: COMPILE from COMPILES to DONE, CHECK over the referee's thread
 * in its turn.  It is compiled while there are no orders, or one compile child more than it needs has nothing to do, or after it has waited
 * for PATIENCE_NS, one at a time; and it is in no account of orders.
 *
 * The compiler has one owner: this thread, except while the device is opened (`lent`), which compiles kernels of ours.
 * A task's reference is compiled here beside the candidates, and the TASK request comes with the object.  References that
 * orders wait for are compiled in the order of these; those of all other tasks whenever a compile child has nothing to do,
 * so that a candidate that comes waits for no more than the end of one.  What is wrong with one is told to the task's
 * orders.
 *
 * While the device has nothing to measure, draws are answered one by one (ANSWER): an order that comes waits for no more
 * than one of them.  While there are orders, only what these are likely to see.  Where compiling and measuring share cores,
 * only while nothing is compiled; and never between a rival and the next candidate: another process may have the device
 * until then. */
#include "mpi-eval/evaluator/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "core/task/reference.h"
#include "mpi-eval/evaluator/object_cache.h"
#include "mpi-eval/evaluator/tool_report.h"
#include "mpi-eval/evaluator/held_order.h"

#define TASK_LIMIT        4096u
#define CACHE_BYTES       (256u << 20)
#define REFERENCE_BYTES   (4u << 20)
#define REFERENCES_AHEAD  64 /* compiled, of tasks that nobody has ordered anything for */
#define ORDER_ARENA_BYTES (4u << 20)
#define TOOL_LIMIT        32                  /* calls in hand */
#define PATIENCE_NS       1e9                 /* of a call, for a compile child */
#define TOOL_NUMBERS      ((uint64_t)1 << 63) /* from here on no evaluation has a number */

struct task_entry {
    struct atoll_task *task;       /* owned */
    int known;                     /* to the referee */
    char *refusal;                 /* owned; why the referee cannot work on it, NULL if it can */
    enum atoll_verdict refused_as; /* what its orders end with then, at which level */
    unsigned refused_level;
    struct atoll_object *reference; /* one count of it, from its compilation until the task is known */
    enum { ANSWERS_MISSING, ANSWERS_NEXT, ANSWERS_ALL } answered; /* draws, as far as they can be now */
};

struct compile_job {
    uint64_t number;
    struct atoll_object *object; /* one count of it: the order that wanted it may be gone before */
    struct atoll_id plan;
};

struct atoll_pipeline {
    const struct atoll_backend *backend;
    struct atoll_compiler *compiler;             /* borrowed */
    struct atoll_referee_thread *referee_thread; /* borrowed */
    struct atoll_object_cache *cache;
    struct task_entry *tasks;
    uint32_t task_count;
    struct atoll_referee_request setup;  /* OPEN or TASK: one at a time */
    int busy;                            /* setup is with the referee's thread ... */
    int lent;                            /* ... and the compiler with it */
    int opens;                           /* the device was asked for ... */
    int open;                            /* ... and is there */
    uint32_t next_reference;             /* task whose reference is compiled when nobody waits */
    unsigned reference_count;            /* compiled or being compiled, of tasks that are not known yet */
    struct atoll_referee_request answer; /* one draw ahead */
    int answers;                         /* it is with the referee's thread */
    int is_left;                         /* what was measured last was a rival */
    uint32_t next_answer;                /* task that is looked at first */
    struct atoll_held_order *first, **end;
    unsigned work_count, measured_count; /* orders; measured: with the referee's thread, calls as well */
    unsigned tool_count;
    uint64_t next_job;
    struct compile_job
        jobs[3 * ATOLL_PIPELINE_ORDER_LIMIT + REFERENCES_AHEAD]; /* two sides and a reference each */
    unsigned job_count;
    struct atoll_pulse pulse;
};

/* Posts the one request that opens the device or makes a task known; none may be out.  number: the task's; 0 for OPEN. */
static void post_setup(struct atoll_pipeline *p, enum atoll_referee_request_kind kind, uint32_t number)
{
    p->setup = (struct atoll_referee_request){.kind = kind, .task_number = number};
    if (kind == ATOLL_REFEREE_REQUEST_TASK) {
        p->setup.task = p->tasks[number].task;
        p->setup.reference = p->tasks[number].reference;
    }
    p->busy = 1;
    p->lent = kind == ATOLL_REFEREE_REQUEST_OPEN;
    atoll_referee_thread_post_first(p->referee_thread, &p->setup);
}

struct atoll_pipeline *atoll_pipeline_create(const struct atoll_backend *backend,
                                             struct atoll_compiler *compiler,
                                             struct atoll_referee_thread *referee_thread,
                                             struct atoll_err *err)
{
    struct atoll_pipeline *p = calloc(1, sizeof(*p));
    if (!p) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the orders in hand");
        return NULL;
    }
    p->cache = atoll_object_cache_create(CACHE_BYTES, err);
    if (!p->cache) {
        free(p);
        return NULL;
    }
    p->backend = backend;
    p->compiler = compiler;
    p->referee_thread = referee_thread;
    p->end = &p->first;
    return p;
}

static void work_destroy(struct atoll_pipeline *p, struct atoll_held_order *work)
{
    for (int side = 0; side < ATOLL_HELD_SIDES; side++) {
        atoll_prepared_destroy(work->prepared[side]);
        atoll_object_cache_release(p->cache, work->objects[side]);
    }
    atoll_evaluation_fini(&work->request.evaluation);
    atoll_rival_fini(&work->request.rival);
    atoll_arena_destroy(work->arena);
    atoll_buffer_fini(&work->report);
    free(work);
}

void atoll_pipeline_destroy(struct atoll_pipeline *p)
{
    if (!p)
        return;
    for (struct atoll_held_order *work = p->first, *next; work; work = next) {
        next = work->next;
        work_destroy(p, work);
    }
    for (uint32_t i = 0; i < p->task_count; i++) {
        atoll_object_cache_release(p->cache, p->tasks[i].reference);
        atoll_task_destroy(p->tasks[i].task);
        free(p->tasks[i].refusal);
    }
    free(p->tasks);
    atoll_object_cache_destroy(p->cache);
    free(p);
}

int atoll_pipeline_is_open(const struct atoll_pipeline *p)
{
    return p->open;
}

int atoll_pipeline_owns_compiler(const struct atoll_pipeline *p)
{
    return !p->lent;
}

void atoll_pipeline_pulse(const struct atoll_pipeline *p, struct atoll_pulse *pulse)
{
    pulse->occupied_ns += p->pulse.occupied_ns;
    pulse->candidate_ns += p->pulse.candidate_ns;
    pulse->compile_ns += p->pulse.compile_ns;
    pulse->queued += p->work_count;
    pulse->compiling += p->job_count;
}

/* ---- compilations under way ---- */

/* One more, which counts the object up until it has come back.  plan: NULL for what has none. */
static int start_compile(struct atoll_pipeline *p, struct atoll_object *object,
                         const struct atoll_prepared *plan, const char *name, const char *text, size_t length,
                         struct atoll_err *err)
{
    struct compile_job *job = &p->jobs[p->job_count];
    if (p->job_count >= sizeof(p->jobs) / sizeof(p->jobs[0]))
        return atoll_err_set(err, ATOLL_E_LIMIT, "too many compilations at a time");
    if (atoll_compiler_submit(p->compiler, p->next_job, name, text, length, NULL, 0, err) != 0)
        return -1;
    *job = (struct compile_job){.number = p->next_job++, .object = object};
    if (plan) {
        struct atoll_buffer bytes;
        atoll_buffer_init(&bytes, 1u << 20);
        atoll_buffer_put_text(&bytes, plan->plan->canonical);
        for (size_t i = 0; i < plan->choice.count; i++)
            atoll_buffer_put_i64(&bytes, plan->choice.values[i]);
        if (!bytes.failed)
            job->plan = atoll_id_of(bytes.data, bytes.length);
        atoll_buffer_fini(&bytes);
    }
    p->job_count++;
    object->references++;
    object->state = ATOLL_OBJECT_COMPILING;
    return 0;
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
    [ATOLL_COMPILE_FORBIDDEN] = {ATOLL_V_FORBIDDEN, ""},
    [ATOLL_COMPILE_PLAN] = {ATOLL_V_BAD_PLAN, ""},
};

/* Takes what the compiler gave for a job, out of `compiled`. */
static void finish_compile(struct atoll_pipeline *p, unsigned index, struct atoll_compiled *compiled)
{
    struct atoll_object *object = p->jobs[index].object;
    object->compile_ns = compiled->wall_ns;
    object->processor_ns = compiled->processor_ns;
    p->pulse.compile_ns += compiled->wall_ns;
    if (compiled->status == ATOLL_COMPILE_OK) {
        object->state = ATOLL_OBJECT_READY;
        object->bytes = compiled->object;
        object->length = compiled->object_length;
        object->report = compiled->report;
        compiled->object = NULL;
        compiled->report = NULL;
        /* Equal objects with equal plans are the same binary, whatever their sources. */
        struct atoll_id both[2] = {p->jobs[index].plan, atoll_id_of(object->bytes, object->length)};
        object->binary = atoll_id_of(both, sizeof(both));
    } else {
        const char *own = compile_verdicts[compiled->status].text;
        object->state = ATOLL_OBJECT_FAILED;
        object->verdict = compile_verdicts[compiled->status].verdict;
        char text[1100];
        snprintf(text, sizeof(text), "%s%s%.1000s", own,
                 compiled->status == ATOLL_COMPILE_BROKEN && compiled->diagnostics && compiled->diagnostics[0]
                     ? ": "
                     : "",
                 compiled->status == ATOLL_COMPILE_BROKEN && compiled->diagnostics ? compiled->diagnostics
                                                                                   : "");
        object->diagnostics = strdup(own[0] ? text : compiled->diagnostics ? compiled->diagnostics : "");
    }
    p->jobs[index] = p->jobs[--p->job_count];
    atoll_object_cache_release(p->cache, object);
}

static void collect_compiles(struct atoll_pipeline *p)
{
    struct atoll_compiled compiled;
    while (!p->lent && atoll_compiler_collect(p->compiler, &compiled) == 1) {
        unsigned i = 0;
        while (i < p->job_count && p->jobs[i].number != compiled.job)
            i++;
        if (i < p->job_count)
            finish_compile(p, i, &compiled);
        atoll_compiled_fini(&compiled);
    }
}

/* ---- tasks and their references ---- */

int atoll_pipeline_add_task(struct atoll_pipeline *p, uint32_t number, struct atoll_task *task,
                            struct atoll_err *err)
{
    if (number != p->task_count || number >= TASK_LIMIT) {
        atoll_task_destroy(task);
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "task %u came where task %u was expected", number,
                             p->task_count);
    }
    struct task_entry *grown = realloc(p->tasks, (number + 1) * sizeof(*grown));
    if (!grown) {
        atoll_task_destroy(task);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a task");
    }
    p->tasks = grown;
    p->tasks[number] = (struct task_entry){.task = task};
    p->task_count++;
    return 0;
}

/* code: ATOLL_E_INPUT, its reference is wrong, or ATOLL_E_LIMIT, the device has no room for it. */
static int refuse_task(struct task_entry *task, enum atoll_code code, const char *why, struct atoll_err *err)
{
    task->refused_as = code == ATOLL_E_LIMIT ? ATOLL_V_LAUNCH_ERROR : ATOLL_V_COMPILE_ERROR;
    task->refused_level = code == ATOLL_E_LIMIT ? 4 : 3;
    task->refusal = strdup(why);
    return task->refusal ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a refusal");
}

static void release_reference(struct atoll_pipeline *p, struct task_entry *task)
{
    p->reference_count -= task->reference != NULL;
    atoll_object_cache_release(p->cache, task->reference);
    task->reference = NULL;
}

/* OPEN or TASK has come back.  -1: the evaluator cannot go on. */
static int collect_setup(struct atoll_pipeline *p, struct atoll_err *err)
{
    const struct atoll_referee_request *setup = &p->setup;
    p->busy = p->lent = 0;
    if (setup->kind == ATOLL_REFEREE_REQUEST_OPEN) {
        p->open = setup->rc == 0;
        if (setup->rc != 0 && err)
            *err = setup->err;
        return setup->rc;
    }
    struct task_entry *task = &p->tasks[setup->task_number];
    release_reference(p, task);
    task->known = setup->rc == 0;
    if (setup->rc == 0)
        return 0;
    if (setup->err.code == ATOLL_E_INPUT || setup->err.code == ATOLL_E_LIMIT)
        return refuse_task(task, setup->err.code, setup->err.text, err);
    if (err)
        *err = setup->err;
    return atoll_err_add(err, "in task '%s'", task->task->name);
}

static int start_reference(struct atoll_pipeline *p, struct task_entry *task, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_id id = atoll_id_of(task->task->id.bytes, sizeof(task->task->id.bytes));
    const char *name;
    struct atoll_buffer unit;
    atoll_buffer_init(&unit, REFERENCE_BYTES);
    int rc = p->backend->case_unit(task->task, &name, &unit, &why);
    if (rc == 0) {
        task->reference = atoll_object_cache_take(p->cache, &id, &why);
        rc = task->reference ? 0 : -1;
        p->reference_count += rc == 0;
    }
    if (rc == 0 && task->reference->state == ATOLL_OBJECT_NEW)
        rc = start_compile(p, task->reference, NULL, name, (const char *)unit.data, unit.length, &why);
    atoll_buffer_fini(&unit);
    if (rc != 0 && why.code == ATOLL_E_INPUT)
        return refuse_task(task, why.code, why.text, err);
    if (rc != 0 && err)
        *err = why;
    return rc;
}

static int refuse_reference(struct atoll_pipeline *p, struct task_entry *task, struct atoll_err *err)
{
    char text[1024], quote[ATOLL_REFERENCE_QUOTE_BYTES] = "";
    const char *diagnostics = task->reference->diagnostics ? task->reference->diagnostics : "";
    int is_wrong = task->reference->verdict == ATOLL_V_COMPILE_ERROR;
    if (is_wrong)
        atoll_reference_quote(task->task->reference_source, diagnostics, quote);
    snprintf(text, sizeof(text), "the reference of task '%s' does not compile for the device: %.700s%s",
             task->task->name, diagnostics, quote);
    release_reference(p, task);
    return is_wrong ? refuse_task(task, ATOLL_E_INPUT, text, err)
                    : atoll_err_set(err, ATOLL_E_CHILD, "%s", text);
}

/* Makes a task known that an order waits for. */
static int advance_task(struct atoll_pipeline *p, uint32_t number, struct atoll_err *err)
{
    struct task_entry *task = &p->tasks[number];
    if (task->known || task->refusal || (p->busy && p->setup.task_number == number))
        return 0;
    if (!task->task->torch && !task->reference)
        return start_reference(p, task, err);
    if (task->reference && task->reference->state == ATOLL_OBJECT_FAILED)
        return refuse_reference(p, task, err);
    if (!p->busy && (!task->reference || task->reference->state == ATOLL_OBJECT_READY))
        post_setup(p, ATOLL_REFEREE_REQUEST_TASK, number);
    return 0;
}

/* References of tasks that no order waits for, while more than left_count compile children have nothing to do. */
static void prepare_references(struct atoll_pipeline *p, unsigned left_count)
{
    while (p->next_reference < p->task_count && p->reference_count < REFERENCES_AHEAD &&
           atoll_compiler_idle_count(p->compiler) > left_count) {
        struct task_entry *task = &p->tasks[p->next_reference++];
        if (!task->task->torch && !task->known && !task->refusal && !task->reference &&
            start_reference(p, task, NULL) != 0)
            release_reference(p, task); /* the first order that needs it is told why */
    }
}

/* ---- orders ---- */

/* NULL before the device is open. */
static const struct atoll_device_info *device_info(const struct atoll_pipeline *p)
{
    return p->open ? atoll_referee_thread_device(p->referee_thread) : NULL;
}

/* Levels 1 and 2. */
static void prepare_sides(struct atoll_pipeline *p, struct atoll_held_order *work)
{
    const struct atoll_order_candidate *sides[ATOLL_HELD_SIDES] = {&work->order.candidate,
                                                                   &work->order.elite};
    struct atoll_err err = ATOLL_ERR_INIT;
    for (int side = 0; side < atoll_held_order_side_count(work) && work->state != ATOLL_HELD_DONE; side++) {
        struct atoll_prepared *prepared = atoll_prepared_create(p->tasks[work->order.task].task, p->backend,
                                                                sides[side], device_info(p), &err);
        work->prepared[side] = prepared;
        if (!prepared) {
            atoll_held_order_conclude(work, device_info(p), ATOLL_V_INFRASTRUCTURE, 0, err.text);
        } else if (prepared->verdict != ATOLL_V_CORRECT) {
            atoll_held_order_conclude(work, device_info(p),
                                      side == ATOLL_HELD_ELITE ? ATOLL_V_INFRASTRUCTURE : prepared->verdict,
                                      prepared->verdict == ATOLL_V_BAD_PLAN ? 1 : 2, prepared->detail);
        }
    }
}

static void append(struct atoll_pipeline *p, struct atoll_held_order *work)
{
    *p->end = work;
    p->end = &work->next;
}

int atoll_pipeline_tool(struct atoll_pipeline *p, const void *payload, size_t length, struct atoll_err *err)
{
    if (p->tool_count >= TOOL_LIMIT)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "more than %d calls at a time", TOOL_LIMIT);
    struct atoll_held_order *work = atoll_held_order_create(err);
    if (!work)
        return -1;
    struct atoll_tool_order *tool = &work->tool;
    work->is_tool = 1;
    work->arena = atoll_arena_create(ORDER_ARENA_BYTES, err);
    int rc = work->arena ? atoll_tool_order_decode(payload, length, work->arena, tool, err) : -1;
    if (rc == 0 && tool->task >= p->task_count)
        rc = atoll_err_set(err, ATOLL_E_PROTOCOL, "a call for task %u, which was never sent", tool->task);
    work->order = (struct atoll_order){.evaluation = tool->call | TOOL_NUMBERS, .task = tool->task};
    if (rc == 0)
        rc = atoll_tool_candidate(p->tasks[tool->task].task, tool, &work->order.candidate, err);
    if (rc != 0) {
        work_destroy(p, work);
        return -1;
    }
    if (tool->tool == ATOLL_TOOL_COMPILE)
        work->state = ATOLL_HELD_COMPILES;
    append(p, work);
    p->tool_count++;
    prepare_sides(p, work);
    return 0;
}

int atoll_pipeline_order(struct atoll_pipeline *p, const void *payload, size_t length, struct atoll_err *err)
{
    if (p->work_count >= ATOLL_PIPELINE_ORDER_LIMIT) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "more than %d orders at a time",
                             ATOLL_PIPELINE_ORDER_LIMIT);
    }
    struct atoll_held_order *work = atoll_held_order_create(err);
    if (!work)
        return -1;
    work->arena = atoll_arena_create(ORDER_ARENA_BYTES, err);
    if (!work->arena || atoll_order_decode(payload, length, work->arena, &work->order, err) != 0) {
        work_destroy(p, work);
        return -1;
    }
    if (work->order.task >= p->task_count) {
        atoll_err_set(err, ATOLL_E_PROTOCOL, "an order for task %u, which was never sent", work->order.task);
        work_destroy(p, work);
        return -1;
    }
    if (!atoll_order_has_rivals(p->tasks[work->order.task].task, &work->order)) {
        atoll_err_set(err, ATOLL_E_PROTOCOL, "an order about a rival that task %u does not have",
                      work->order.task);
        work_destroy(p, work);
        return -1;
    }
    append(p, work);
    p->work_count++;
    atoll_time_account_orders(atoll_referee_thread_account(p->referee_thread), 1);
    prepare_sides(p, work);
    return 0;
}

static void fetch_objects(struct atoll_pipeline *p, struct atoll_held_order *work)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (int side = 0; side < atoll_held_order_side_count(work); side++) {
        const struct atoll_prepared *prepared = work->prepared[side];
        if (work->objects[side])
            continue;
        struct atoll_object *object = atoll_object_cache_take(p->cache, &prepared->id, &err);
        work->objects[side] = object;
        if (!object || (object->state == ATOLL_OBJECT_NEW &&
                        start_compile(p, object, prepared, prepared->unit_name, prepared->unit_text,
                                      prepared->unit_length, &err) != 0)) {
            atoll_held_order_conclude(work, device_info(p), ATOLL_V_INFRASTRUCTURE, 0, err.text);
            return;
        }
    }
}

/* Hands an order whose objects are ready to the referee's thread. */
static void post_order(struct atoll_pipeline *p, struct atoll_held_order *work)
{
    struct atoll_referee_request *request = &work->request;
    for (int side = 0; side < atoll_held_order_side_count(work); side++) {
        work->prepared[side]->report = work->objects[side]->report;
        work->prepared[side]->compile_ns = work->objects[side]->processor_ns;
    }
    request->kind = atoll_held_order_request_kind(work);
    request->task_number = work->order.task;
    request->order = &work->order;
    request->candidate = work->prepared[ATOLL_HELD_CANDIDATE];
    request->elite = work->prepared[ATOLL_HELD_ELITE];
    request->candidate_object = work->objects[ATOLL_HELD_CANDIDATE];
    request->elite_object = work->objects[ATOLL_HELD_ELITE];
    work->state = ATOLL_HELD_MEASURED;
    p->measured_count++;
    atoll_referee_thread_post(p->referee_thread, request);
}

/* Whether a model's source may go to the compile children now: one of them is left for candidates, where there may be some. */
static int may_compile(const struct atoll_pipeline *p, const struct atoll_held_order *work)
{
    if (atoll_compiler_idle_count(p->compiler) > (p->work_count > 0 ? 1 : 0))
        return 1;
    int waits = atoll_clock_mono_ns() - work->arrived_ns < PATIENCE_NS;
    for (const struct atoll_held_order *other = p->first; other && !waits; other = other->next)
        waits = other->is_tool && other->objects[ATOLL_HELD_CANDIDATE] &&
                other->objects[ATOLL_HELD_CANDIDATE]->state == ATOLL_OBJECT_COMPILING;
    return !waits;
}

/* What a model wanted is compiled. */
static void report_compiled(struct atoll_pipeline *p, struct atoll_held_order *work)
{
    work->prepared[ATOLL_HELD_CANDIDATE]->report = work->objects[ATOLL_HELD_CANDIDATE]->report;
    atoll_tool_report_compiled(p->backend, work->prepared[ATOLL_HELD_CANDIDATE],
                               work->objects[ATOLL_HELD_CANDIDATE], device_info(p), work->tool.pattern,
                               &work->report);
    work->state = ATOLL_HELD_DONE;
}

/* Moves an order on as far as it goes now. */
static void advance_order(struct atoll_pipeline *p, struct atoll_held_order *work)
{
    const struct task_entry *task = &p->tasks[work->order.task];
    if (work->state != ATOLL_HELD_WAITS_TASK && work->state != ATOLL_HELD_COMPILES)
        return;
    /* A task whose reference is wrong, or that has no room here, costs its own orders, not the evaluator. */
    if (work->state == ATOLL_HELD_WAITS_TASK && task->refusal) {
        atoll_held_order_conclude(work, device_info(p), task->refused_as, task->refused_level, task->refusal);
        return;
    }
    if (task->known)
        work->state = ATOLL_HELD_COMPILES;
    if (work->is_tool && !work->objects[ATOLL_HELD_CANDIDATE] && !may_compile(p, work))
        return;
    fetch_objects(p, work);
    int ready_count = 0;
    for (int side = 0; side < atoll_held_order_side_count(work) && work->state != ATOLL_HELD_DONE; side++) {
        const struct atoll_object *object = work->objects[side];
        ready_count += object && object->state == ATOLL_OBJECT_READY;
        if (object && object->state == ATOLL_OBJECT_FAILED) {
            int is_charged = side == ATOLL_HELD_CANDIDATE && object->verdict != ATOLL_V_INFRASTRUCTURE;
            atoll_held_order_conclude(work, device_info(p),
                                      is_charged ? object->verdict : ATOLL_V_INFRASTRUCTURE,
                                      !is_charged                           ? 0
                                      : object->verdict == ATOLL_V_BAD_PLAN ? 1
                                                                            : 3,
                                      object->diagnostics ? object->diagnostics : "");
        }
    }
    if (work->state != ATOLL_HELD_COMPILES || ready_count < atoll_held_order_side_count(work))
        return;
    if (work->is_tool && work->tool.tool == ATOLL_TOOL_COMPILE)
        report_compiled(p, work);
    else
        post_order(p, work);
}

/* A measurement has come back.  -1: the device computes no more. */
static int collect_measured(struct atoll_pipeline *p, struct atoll_held_order *work, struct atoll_err *err)
{
    const struct atoll_referee_request *request = &work->request;
    /* What an order is not about is 0. */
    p->pulse.occupied_ns +=
        request->duel.occupied_ns + request->evaluation.occupied_ns + request->rival.occupied_ns;
    p->pulse.candidate_ns += request->duel.candidate_ns + request->evaluation.candidate_ns;
    work->state = ATOLL_HELD_DONE;
    p->measured_count--;
    p->is_left =
        request->kind == ATOLL_REFEREE_REQUEST_RIVAL || request->kind == ATOLL_REFEREE_REQUEST_RIVAL_DUEL;
    p->tasks[work->order.task].answered = ANSWERS_MISSING;
    if (request->rc != 0 && err)
        *err = request->err;
    return request->rc;
}

/* ---- draws ahead ---- */

static void collect_answer(struct atoll_pipeline *p)
{
    p->answers = 0;
    p->pulse.occupied_ns += p->answer.answer_ns;
    if (!p->answer.has_answered)
        p->tasks[p->answer.task_number].answered = p->answer.is_ordered ? ANSWERS_NEXT : ANSWERS_ALL;
}

static int misses_answers(const struct task_entry *task, int is_ordered)
{
    return task->known && !task->task->torch && task->answered < (is_ordered ? ANSWERS_NEXT : ANSWERS_ALL);
}

/* The task of the oldest order; without orders each in turn; -1 none. */
static int64_t find_unanswered(struct atoll_pipeline *p, int *ret_is_ordered)
{
    *ret_is_ordered = p->first != NULL;
    for (const struct atoll_held_order *work = p->first; work; work = work->next)
        if (work->state != ATOLL_HELD_DONE && misses_answers(&p->tasks[work->order.task], 1))
            return work->order.task;
    for (uint32_t i = 0; i < p->task_count && !p->first; i++) {
        uint32_t number = (p->next_answer + i) % p->task_count;
        if (!misses_answers(&p->tasks[number], 0))
            continue;
        p->next_answer = number + 1;
        return number;
    }
    return -1;
}

static void answer_ahead(struct atoll_pipeline *p)
{
    int is_ordered;
    if (!p->backend->answer || p->busy || p->answers || p->measured_count || p->is_left ||
        (p->job_count && !p->backend->compiles_beside))
        return;
    int64_t number = find_unanswered(p, &is_ordered);
    if (number < 0)
        return;
    p->answer = (struct atoll_referee_request){
        .kind = ATOLL_REFEREE_REQUEST_ANSWER, .task_number = (uint32_t)number, .is_ordered = is_ordered};
    p->answers = 1;
    atoll_referee_thread_post(p->referee_thread, &p->answer);
}

/* Where compiling disturbs nothing, references are compiled meanwhile; one child is for what the device needs. */
static void open_device(struct atoll_pipeline *p)
{
    if (p->backend->compiles_beside)
        prepare_references(p, 1);
    p->opens = 1;
    post_setup(p, ATOLL_REFEREE_REQUEST_OPEN, 0);
}

int atoll_pipeline_advance(struct atoll_pipeline *p, struct atoll_err *err)
{
    struct atoll_referee_request *request;
    while ((request = atoll_referee_thread_collect(p->referee_thread)) != NULL) {
        struct atoll_held_order *work = p->first;
        while (work && request != &work->request)
            work = work->next;
        if (request == &p->answer)
            collect_answer(p);
        if ((request == &p->setup && collect_setup(p, err) != 0) ||
            (work && collect_measured(p, work, err) != 0)) {
            return -1;
        }
    }
    collect_compiles(p);
    if (!p->opens)
        open_device(p);
    if (!p->open)
        return 0;
    for (int of_tools = 0; of_tools < 2; of_tools++) {
        for (struct atoll_held_order *work = p->first; work; work = work->next) {
            if (work->is_tool != of_tools)
                continue;
            if (work->state == ATOLL_HELD_WAITS_TASK && advance_task(p, work->order.task, err) != 0)
                return -1;
            advance_order(p, work);
        }
    }
    prepare_references(p, 0);
    answer_ahead(p);
    return 0;
}

int atoll_pipeline_is_done(const struct atoll_pipeline *p)
{
    const struct atoll_held_order *work = p->first;
    while (work && (work->state == ATOLL_HELD_DONE || work->is_tool))
        work = work->next;
    return p->work_count > 0 && !work;
}

int atoll_pipeline_result(struct atoll_pipeline *p, uint16_t *ret_type, struct atoll_buffer *out)
{
    struct atoll_held_order **at = &p->first;
    while (*at && (*at)->state != ATOLL_HELD_DONE)
        at = &(*at)->next;
    struct atoll_held_order *work = *at;
    if (!work)
        return 0;
    *at = work->next;
    if (!*at)
        p->end = at;
    if (work->is_tool) {
        p->tool_count--;
        *ret_type = atoll_held_order_encode(work, out);
        work_destroy(p, work);
        return 1;
    }
    p->work_count--;
    atoll_time_account_orders(atoll_referee_thread_account(p->referee_thread), p->work_count > 0);
    *ret_type = atoll_held_order_encode(work, out);
    work_destroy(p, work);
    return 1;
}
