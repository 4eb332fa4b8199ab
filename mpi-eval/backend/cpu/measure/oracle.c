#include "mpi-eval/backend/cpu/measure/oracle.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/task/init.h"
#include "base/clock.h"
#include "base/random.h"
#include "mpi-eval/referee/wide.h"
#include "core/task/reference.h"

#define DEADLINE_NS        60e9
#define UNIT_LIMIT         ((size_t)4 << 20)
#define REPEATED           512
#define ELEMENTS_PER_PIECE ((size_t)32 << 10) /* a multiple of REPEATED; some 50 us where values are made */

struct atoll_oracle {
    const struct atoll_task *task;
    struct atoll_memory *memory;
    struct atoll_team *team;          /* borrowed */
    struct atoll_torch_oracle *torch; /* borrowed; of tasks that PyTorch defines */
    struct atoll_runner_settings settings;
    uint64_t hash_key;
    void *object;
    size_t object_length;
    struct atoll_runner *runner;
    int has_scale[ATOLL_TASK_TENSOR_LIMIT];
};

int atoll_oracle_unit(const struct atoll_task *task, const char **ret_name, struct atoll_buffer *out,
                      struct atoll_err *err)
{
    *ret_name = "reference-unit.c";
    return atoll_reference_translation_unit(task, out, err) != 0 ? -1 : atoll_buffer_check(out, err);
}

static int oracle_compile(struct atoll_oracle *o, struct atoll_compiler *compiler, struct atoll_err *err)
{
    const char *name;
    struct atoll_buffer text;
    struct atoll_compiled c;
    atoll_buffer_init(&text, UNIT_LIMIT);
    int failed = atoll_oracle_unit(o->task, &name, &text, err);
    if (!failed)
        failed = atoll_compiler_run(compiler, name, (const char *)text.data, text.length, NULL, 0, &c, err);
    atoll_buffer_fini(&text);
    if (failed)
        return -1;
    if (c.status != ATOLL_COMPILE_OK) {
        char quote[ATOLL_REFERENCE_QUOTE_BYTES];
        atoll_reference_quote(o->task->reference_source, c.diagnostics, quote);
        atoll_err_set(err, c.status == ATOLL_COMPILE_BROKEN ? ATOLL_E_CHILD : ATOLL_E_INPUT,
                      "%s: the reference does not compile: %s%s", o->task->name, c.diagnostics, quote);
        atoll_compiled_fini(&c);
        return -1;
    }
    o->object = c.object;
    o->object_length = c.object_length;
    c.object = NULL;
    atoll_compiled_fini(&c);
    return 0;
}

static struct atoll_oracle *oracle_allocate(const struct atoll_task *task,
                                            const struct atoll_runner_settings *runner,
                                            struct atoll_memory *memory, uint64_t hash_key,
                                            struct atoll_err *err)
{
    struct atoll_oracle *o = calloc(1, sizeof(*o));
    if (!o) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a reference");
        return NULL;
    }
    o->task = task;
    o->memory = memory;
    o->settings = *runner;
    o->hash_key = hash_key;
    for (size_t i = 0; i < task->tensor_count && !task->torch; i++)
        o->has_scale[i] = atoll_reference_has_scale(task, i);
    return o;
}

struct atoll_oracle *atoll_oracle_create(const struct atoll_task *task, struct atoll_compiler *compiler,
                                         const struct atoll_runner_settings *runner,
                                         struct atoll_memory *memory, struct atoll_torch_oracle *torch,
                                         uint64_t hash_key, struct atoll_err *err)
{
    struct atoll_oracle *o = oracle_allocate(task, runner, memory, hash_key, err);
    if (!o)
        return NULL;
    o->torch = torch;
    if (task->torch || oracle_compile(o, compiler, err) == 0)
        return o;
    atoll_oracle_destroy(o);
    return NULL;
}

struct atoll_oracle *atoll_oracle_create_compiled(const struct atoll_task *task, const void *object,
                                                  size_t length, const struct atoll_runner_settings *runner,
                                                  struct atoll_memory *memory, uint64_t hash_key,
                                                  struct atoll_err *err)
{
    struct atoll_oracle *o = oracle_allocate(task, runner, memory, hash_key, err);
    if (!o)
        return NULL;
    o->object = malloc(length + 1);
    if (!o->object) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a reference");
        atoll_oracle_destroy(o);
        return NULL;
    }
    memcpy(o->object, object, length);
    o->object_length = length;
    return o;
}

const void *atoll_oracle_object(const struct atoll_oracle *oracle, size_t *ret_length)
{
    *ret_length = oracle->object_length;
    return oracle->object;
}

void atoll_oracle_set_team(struct atoll_oracle *oracle, struct atoll_team *team)
{
    oracle->team = team;
}

void atoll_oracle_destroy(struct atoll_oracle *oracle)
{
    if (!oracle)
        return;
    atoll_runner_destroy(oracle->runner);
    free(oracle->object);
    free(oracle);
}

void atoll_truth_fini(struct atoll_truth *truth)
{
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++) {
        free(truth->values[i]);
        free(truth->scale[i]);
        free(truth->inputs[i]);
    }
    *truth = (struct atoll_truth){0};
}

/* ---- arrays that are filled by the team ---- */

struct making {
    const struct atoll_task *task;
    size_t tensor;
    const struct atoll_input_set *input_set;
    uint64_t seed;
    void *data;
    atomic_int failed;
};

static int make_range(const struct making *m, size_t begin, size_t end, struct atoll_err *err)
{
    return atoll_init_fill(m->task, m->tensor, &m->task->variants[m->input_set->variant], m->seed,
                           m->input_set->distribution, begin, end, m->data, err);
}

static void make_elements(void *context, size_t begin, size_t end)
{
    struct making *m = context;
    if (make_range(m, begin, end, NULL) != 0)
        atomic_store_explicit(&m->failed, 1, memory_order_relaxed);
}

int atoll_oracle_make_input(const struct atoll_task *task, size_t tensor,
                            const struct atoll_input_set *input_set, uint64_t seed, size_t count,
                            struct atoll_team *team, void *ret_data, struct atoll_err *err)
{
    struct making m = {task, tensor, input_set, seed, ret_data, 0};
    atoll_team_run(team, count, ELEMENTS_PER_PIECE, make_elements, &m);
    /* Whatever fails does so for any range. */
    return atomic_load_explicit(&m.failed, memory_order_relaxed) ? make_range(&m, 0, count, err) : 0;
}

/* The same pattern everywhere. */
struct repeating {
    double *values;
    double pattern[REPEATED];
};

static void repeat(void *context, size_t begin, size_t end)
{
    struct repeating *f = context;
    for (size_t i = begin; i < end; i += REPEATED)
        atoll_wide_copy(f->values + i, f->pattern,
                        (end - i < REPEATED ? end - i : REPEATED) * sizeof(*f->values));
}

static void fill_with(struct atoll_team *team, double value, double *values, size_t count)
{
    struct repeating f = {.values = values};
    for (size_t i = 0; i < REPEATED; i++)
        f.pattern[i] = value;
    atoll_team_run(team, count, ELEMENTS_PER_PIECE, repeat, &f);
}

/* Everything one question needs while it is asked. */
struct question {
    struct atoll_oracle *oracle;
    const struct atoll_input_set *input_set;
    const struct atoll_variant *variant;
    long changed_tensor;
    struct atoll_run_request request;
    struct atoll_run_argument arguments[3 * ATOLL_TASK_TENSOR_LIMIT];
    struct atoll_block blocks[3 * ATOLL_TASK_TENSOR_LIMIT];
    long long dims[ATOLL_TASK_DIM_LIMIT];
    size_t counts[ATOLL_TASK_TENSOR_LIMIT];
};

/* Opens argument slot `slot` (3 per tensor: input, expected, scale) with `bytes`. */
static struct atoll_block *question_open(struct question *q, size_t slot, size_t bytes, int read_only,
                                         struct atoll_err *err)
{
    struct atoll_block *b = &q->blocks[slot];
    if (atoll_block_open(q->oracle->memory, bytes, atoll_mix64(q->input_set->seed + slot), b, err) != 0)
        return NULL;
    size_t i = q->request.buffer_count++;
    q->request.buffers[i] = (struct atoll_run_buffer){b->fd, b->file_bytes, read_only};
    q->arguments[slot] = (struct atoll_run_argument){.buffer = (int)i, .offset = b->offset};
    return b;
}

static int question_open_input(struct question *q, size_t tensor, struct atoll_err *err)
{
    const struct atoll_task *task = q->oracle->task;
    size_t count = q->counts[tensor];
    struct atoll_block *b =
        question_open(q, 3 * tensor, count * atoll_dtype_bytes(task->tensors[tensor].dtype), 1, err);
    uint64_t seed = q->input_set->seed ^ ((long)tensor == q->changed_tensor ? ATOLL_INPUT_SET_CHANGED : 0);
    if (!b)
        return -1;
    return atoll_oracle_make_input(task, tensor, q->input_set, seed, count, q->oracle->team,
                                   atoll_block_data(b), err);
}

static int question_open_expected(struct question *q, size_t tensor, struct atoll_err *err)
{
    size_t count = q->counts[tensor];
    struct atoll_block *b = question_open(q, 3 * tensor + 1, count * sizeof(double), 0, err);
    if (!b)
        return -1;
    fill_with(q->oracle->team, (double)NAN, atoll_block_data(b), count);
    if (!q->oracle->has_scale[tensor])
        return 0;
    b = question_open(q, 3 * tensor + 2, count * sizeof(double), 0, err);
    if (!b)
        return -1;
    fill_with(q->oracle->team, 0, atoll_block_data(b), count);
    return 0;
}

static int question_expression(const struct question *q, const struct atoll_expression *e, int64_t *ret_value,
                               struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t count = atoll_task_bindings(q->oracle->task, q->variant, bindings);
    return atoll_expression_eval(e, bindings, count, ret_value, err);
}

static int question_open_all(struct question *q, struct atoll_err *err)
{
    const struct atoll_task *task = q->oracle->task;
    int64_t units, scratch = 0;
    if (question_expression(q, task->units, &units, err) != 0 ||
        (task->scratch && question_expression(q, task->scratch, &scratch, err) != 0))
        return -1;
    for (size_t i = 0; i < 3 * task->tensor_count; i++)
        q->arguments[i] = (struct atoll_run_argument){.buffer = -1};
    for (size_t i = 0; i < task->tensor_count; i++) {
        enum atoll_role role = task->tensors[i].role;
        if (atoll_task_element_count(task, i, q->variant, &q->counts[i], err) != 0)
            return -1;
        if (role != ATOLL_ROLE_OUT && question_open_input(q, i, err) != 0)
            return -1;
        if ((role == ATOLL_ROLE_OUT || role == ATOLL_ROLE_INOUT) && question_open_expected(q, i, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < task->dim_count; i++)
        q->dims[i] = q->variant->dims[i];
    q->request.kind = ATOLL_RUN_REFERENCE;
    q->request.launch_count = 1;
    q->request.launches[0].units = units;
    q->request.dims = q->dims;
    q->request.dim_count = task->dim_count;
    q->request.tensor_count = task->tensor_count;
    q->request.scratch_doubles = (size_t)(scratch > 0 ? scratch : 0);
    q->request.reference_arguments = q->arguments;
    q->request.deadline_ns = DEADLINE_NS;
    return 0;
}

static int question_run(struct question *q, double *ret_ns, struct atoll_err *err)
{
    struct atoll_oracle *o = q->oracle;
    struct atoll_run_result result = {.status = ATOLL_RUN_LOST};
    for (int attempt = 0; attempt < 3 && result.status == ATOLL_RUN_LOST; attempt++) {
        static const char *const symbols[] = {"atoll_reference_range"};
        if (!o->runner)
            o->runner = atoll_runner_create(&o->settings, o->object, o->object_length, 0, symbols, 1, err);
        if (!o->runner || atoll_runner_start(o->runner, &q->request, err) != 0)
            return -1;
        atoll_runner_finish(o->runner, &q->request, &result);
        if (result.status == ATOLL_RUN_LOST) {
            atoll_runner_destroy(o->runner);
            o->runner = NULL;
        }
    }
    if (result.status == ATOLL_RUN_LOST)
        return atoll_err_set(err, ATOLL_E_CHILD, "%s: the worker of the reference was lost three times",
                             o->task->name);
    if (result.status != ATOLL_RUN_DONE)
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: the reference failed at variant %s: %s, %s",
                             o->task->name, q->variant->name, atoll_run_status_name(result.status),
                             result.detail);
    *ret_ns = result.ns;
    return 0;
}

/* What the buffers hold, borrowed. */
static int question_collect(const struct question *q, struct atoll_truth *truth, struct atoll_err *err)
{
    const struct atoll_task *task = q->oracle->task;
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_block *b = &q->blocks[3 * i];
        enum atoll_role role = task->tensors[i].role;
        int64_t where;
        truth->counts[i] = q->counts[i];
        if (role == ATOLL_ROLE_IN || role == ATOLL_ROLE_CONSTANT)
            truth->input_hash[i] =
                atoll_memory_hash(q->oracle->team, q->oracle->hash_key, atoll_block_data(b), b->bytes);
        for (int k = 1; k <= 2; k++)
            if (b[k].base && !atoll_block_guards_intact(&b[k], &where))
                return atoll_err_set(err, ATOLL_E_INPUT,
                                     "%s: the reference writes outside of %s (%lld bytes from its start)",
                                     task->name, task->tensors[i].name, (long long)where);
        truth->inputs[i] = b[0].base ? atoll_block_data(&b[0]) : NULL;
        truth->input_bytes[i] = b[0].base ? b[0].bytes : 0;
        truth->values[i] = b[1].base ? atoll_block_data(&b[1]) : NULL;
        truth->scale[i] = b[2].base ? atoll_block_data(&b[2]) : NULL;
    }
    return 0;
}

/* ---- a task that PyTorch defines ---- */

/* Where inputs and doubles lie in the memory of a question. */
struct torch_layout {
    size_t counts[ATOLL_TASK_TENSOR_LIMIT], inputs[ATOLL_TASK_TENSOR_LIMIT], values[ATOLL_TASK_TENSOR_LIMIT],
        bytes;
};

static int is_out(const struct atoll_tensor *t)
{
    return t->role == ATOLL_ROLE_OUT || t->role == ATOLL_ROLE_INOUT;
}

static int torch_layout_make(const struct atoll_task *task, const struct atoll_variant *variant,
                             struct torch_layout *l, struct atoll_err *err)
{
    memset(l, 0, sizeof(*l));
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        if (atoll_task_element_count(task, i, variant, &l->counts[i], err) != 0)
            return -1;
        if (t->role != ATOLL_ROLE_OUT)
            l->inputs[i] = atoll_shared_memory_take(&l->bytes, l->counts[i] * atoll_dtype_bytes(t->dtype));
        if (is_out(t))
            l->values[i] = atoll_shared_memory_take(&l->bytes, l->counts[i] * sizeof(double));
    }
    return 0;
}

/* Inputs and the places of values, as the process is told of them; NaN where it puts none. */
static int torch_describe(const struct question *q, const struct torch_layout *l, unsigned char *base,
                          json_t *inputs, json_t *outputs, struct atoll_err *err)
{
    const struct atoll_task *task = q->oracle->task;
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        size_t bytes = l->counts[i] * atoll_dtype_bytes(t->dtype);
        uint64_t seed = q->input_set->seed ^ ((long)i == q->changed_tensor ? ATOLL_INPUT_SET_CHANGED : 0);
        if (t->role != ATOLL_ROLE_OUT &&
            (atoll_oracle_make_input(task, i, q->input_set, seed, l->counts[i], q->oracle->team,
                                     base + l->inputs[i], err) != 0 ||
             json_object_set_new(inputs, t->name,
                                 json_pack("{s:I, s:I}", "offset", (json_int_t)l->inputs[i], "bytes",
                                           (json_int_t)bytes)) != 0))
            return -1;
        if (is_out(t))
            fill_with(q->oracle->team, (double)NAN, (double *)(void *)(base + l->values[i]), l->counts[i]);
        if (is_out(t))
            json_array_append_new(outputs,
                                  json_pack("{s:s, s:I, s:I}", "name", t->name, "offset",
                                            (json_int_t)l->values[i], "count", (json_int_t)l->counts[i]));
    }
    return 0;
}

/* Borrowed from the memory of the question. */
static void torch_collect(const struct question *q, const struct torch_layout *l, unsigned char *base,
                          struct atoll_truth *truth)
{
    const struct atoll_task *task = q->oracle->task;
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        truth->counts[i] = l->counts[i];
        if (t->role != ATOLL_ROLE_OUT) {
            truth->inputs[i] = base + l->inputs[i];
            truth->input_bytes[i] = l->counts[i] * atoll_dtype_bytes(t->dtype);
        }
        if (is_out(t))
            truth->values[i] = (double *)(void *)(base + l->values[i]);
        else
            truth->input_hash[i] = atoll_memory_hash(q->oracle->team, q->oracle->hash_key, truth->inputs[i],
                                                     truth->input_bytes[i]);
    }
}

static int torch_visit(const struct question *q, atoll_oracle_visitor *visitor, void *context,
                       struct atoll_err *err)
{
    struct atoll_oracle *o = q->oracle;
    struct atoll_truth truth = {0};
    struct torch_layout layout;
    double begun = atoll_clock_mono_ns();
    unsigned char *base = NULL;
    json_t *inputs = json_object(), *outputs = json_array();
    int rc = torch_layout_make(o->task, q->variant, &layout, err);
    if (rc == 0 && !(base = atoll_torch_oracle_memory(o->torch, layout.bytes, err)))
        rc = -1;
    if (rc == 0)
        rc = torch_describe(q, &layout, base, inputs, outputs, err);
    if (rc == 0) {
        rc = atoll_torch_oracle_ask(o->torch, o->task, q->variant, inputs, outputs, truth.precision, err);
    } else {
        json_decref(inputs);
        json_decref(outputs);
    }
    if (rc != 0)
        return -1;
    truth.ns = atoll_clock_mono_ns() - begun;
    torch_collect(q, &layout, base, &truth);
    return visitor(context, &truth, err);
}

static struct question *question_create(struct atoll_oracle *oracle, const struct atoll_input_set *input_set,
                                        long changed_tensor, struct atoll_err *err)
{
    struct question *q = calloc(1, sizeof(*q));
    if (!q) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a question to the reference");
        return NULL;
    }
    q->oracle = oracle;
    q->input_set = input_set;
    q->variant = &oracle->task->variants[input_set->variant];
    q->changed_tensor = changed_tensor;
    return q;
}

static void question_destroy(struct question *q)
{
    for (size_t i = 0; q && i < 3 * q->oracle->task->tensor_count; i++)
        atoll_block_close(q->oracle->memory, &q->blocks[i]);
    free(q);
}

static int question_answer(struct question *q, struct atoll_truth *truth, struct atoll_err *err)
{
    return question_open_all(q, err) != 0 || question_run(q, &truth->ns, err) != 0 ||
                   question_collect(q, truth, err) != 0
               ? -1
               : 0;
}

int atoll_oracle_visit(struct atoll_oracle *oracle, const struct atoll_input_set *input_set,
                       long changed_tensor, atoll_oracle_visitor *visitor, void *context,
                       struct atoll_err *err)
{
    struct atoll_truth truth = {0};
    struct question *q = question_create(oracle, input_set, changed_tensor, err);
    int failed = !q;
    if (q && oracle->task->torch)
        failed = torch_visit(q, visitor, context, err);
    else if (q)
        failed = question_answer(q, &truth, err) != 0 || visitor(context, &truth, err) != 0;
    question_destroy(q);
    return failed ? -1 : 0;
}

void *atoll_oracle_lend(struct atoll_oracle *oracle, const struct atoll_input_set *input_set,
                        struct atoll_truth *ret_truth, struct atoll_err *err)
{
    struct atoll_truth truth = {0};
    struct question *q = question_create(oracle, input_set, -1, err);
    if (q && question_answer(q, &truth, err) == 0) {
        *ret_truth = truth;
        return q;
    }
    question_destroy(q);
    return NULL;
}

void atoll_oracle_settle(const struct atoll_oracle *oracle)
{
    atoll_runner_settle(oracle->runner);
}

void atoll_oracle_take_back(void *loan)
{
    question_destroy(loan);
}

/* An array of its own, to be copied into; NULL where there is nothing, or no memory. */
static void *copy_begin(struct atoll_arrays *arrays, const void *from, size_t bytes,
                        struct atoll_team_range *ranges, size_t *range_count)
{
    void *copy = from ? atoll_arrays_take(arrays, bytes) : NULL;
    if (copy)
        ranges[(*range_count)++] = (struct atoll_team_range){copy, from, bytes};
    return copy;
}

int atoll_truth_copy(const struct atoll_truth *from, int with_values, struct atoll_arrays *arrays,
                     struct atoll_team *team, struct atoll_truth *ret_truth, struct atoll_err *err)
{
    struct atoll_truth t = *from;
    struct atoll_team_range ranges[3 * ATOLL_TASK_TENSOR_LIMIT];
    size_t count = 0;
    int whole = 1;
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++) {
        size_t bytes = t.counts[i] * sizeof(double);
        t.inputs[i] = copy_begin(arrays, from->inputs[i], t.input_bytes[i], ranges, &count);
        t.values[i] = with_values ? copy_begin(arrays, from->values[i], bytes, ranges, &count) : NULL;
        t.scale[i] = with_values ? copy_begin(arrays, from->scale[i], bytes, ranges, &count) : NULL;
        whole &= (!from->inputs[i] || t.inputs[i]) &&
                 (!with_values || ((!from->values[i] || t.values[i]) && (!from->scale[i] || t.scale[i])));
    }
    if (!whole) {
        atoll_truth_fini(&t);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for inputs and expected values");
    }
    atoll_team_copy(team, ranges, count, ATOLL_TEAM_FRESH_BYTES);
    *ret_truth = t;
    return 0;
}

static int copy_visited(void *context, const struct atoll_truth *truth, struct atoll_err *err)
{
    return atoll_truth_copy(truth, 1, NULL, NULL, context, err);
}

int atoll_oracle_ask(struct atoll_oracle *oracle, const struct atoll_input_set *input_set,
                     long changed_tensor, struct atoll_truth *ret_truth, struct atoll_err *err)
{
    return atoll_oracle_visit(oracle, input_set, changed_tensor, copy_visited, ret_truth, err);
}
