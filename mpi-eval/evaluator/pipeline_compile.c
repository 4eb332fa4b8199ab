/* pipeline_compile.c - level 3: objects from units, side by side. */
#include <string.h>

#include "mpi-eval/evaluator/pipeline_state.h"

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

int atoll_pipeline_compile_start(struct atoll_pipeline *p, struct atoll_object *object,
                                 const struct atoll_prepared *plan, const char *name, const char *text,
                                 size_t length, struct atoll_err *err)
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

void atoll_pipeline_compiles_collect(struct atoll_pipeline *p)
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
