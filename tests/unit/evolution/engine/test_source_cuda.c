/* test_source_cuda.c - CUDA templates among the sources: plans with tensor maps, legality at the variants of the cuda
 * backend only, instances and their identities. */
#include "tests/support/expect.h"

#include <string.h>

#include "evolution/engine/source.h"
#include "evolution/tuner/tune.h"

struct fixture {
    struct atoll_task *task; /* rowsum; its variant "bench" (N = 512) is for cpu only */
    struct atoll_arena *arena;
    struct atoll_sources sources;
};

static int set_up(void **state)
{
    static struct fixture f;
    memset(&f, 0, sizeof(f));
    f.task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/rowsum", NULL);
    f.arena = atoll_arena_create(1u << 24, NULL);
    *state = &f;
    return f.task && f.arena ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    atoll_sources_fini(&f->sources);
    atoll_task_destroy(f->task);
    atoll_arena_destroy(f->arena);
    return 0;
}

#define PLAN(params, require)                                                                                \
    "/* atoll-plan {\"version\": 1, \"params\": {" params "}, \"require\": [" require "], \"launch\": ["     \
    "{\"kernel\": \"k\", \"grid\": [\"cdiv(B, TM)\"], \"block\": [\"32 * TM\"], \"shared_bytes\": \"2 * TM " \
    "* TN\","                                                                                                \
    " \"args\": [\"tensormap(x, [N, B], [TN, TM], swizzle=128)\", \"total\", \"i32:N\"]}]} */\n"
#define BODY "extern \"C\" __global__ void k(const __grid_constant__ CUtensorMap x, float *total, int n) {}\n"

static const struct atoll_source *add(struct fixture *f, const char *text, uint32_t *ret_position)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_sources_add(&f->sources, 0, f->task, f->arena, "cuda", text, ATOLL_OPERATOR_SEED, ret_position,
                          &err)) {
        fail_msg("%s", err.text);
    }
    return &f->sources.items[*ret_position];
}

static void a_template_is_tuned(void **state)
{
    struct fixture *f = *state;
    uint32_t at, again;
    const struct atoll_source *s =
        add(f, PLAN("\"TM\": [1, 8, 16], \"TN\": [16, 64]", "\"TM * TN <= 512\"") BODY, &at);
    assert_non_null(s->plan);
    assert_string_equal(s->plan->backend, "cuda");
    assert_string_equal(s->body, "\n" BODY);
    assert_non_null(s->tune);
    assert_int_equal(atoll_tune_legal_count(s->tune), 5);
    add(f, PLAN("\"TM\": [1, 8, 16], \"TN\": [16, 64]", "\"TM * TN <= 512\"") BODY, &again);
    assert_int_equal(again, at);
}

/* N = 512 stands only at a variant of the cpu: it makes nothing illegal here. */
static void only_variants_of_the_backend_count(void **state)
{
    struct fixture *f = *state;
    uint32_t at;
    const struct atoll_source *s = add(f, PLAN("\"TM\": [1, 8], \"TN\": [16]", "\"N != 512\"") BODY, &at);
    assert_int_equal(atoll_tune_legal_count(s->tune), 2);
    s = add(f, PLAN("\"TM\": [1, 8], \"TN\": [16]", "\"N != 4096\"") BODY, &at);
    assert_null(s->tune);
}

/* Comments and other names make another candidate; another list of values does not. */
static void identities(void **state)
{
    struct fixture *f = *state;
    uint32_t at[3];
    struct atoll_choice choice = {2, {8, 64}};
    struct atoll_id ids[3];
    add(f, PLAN("\"TM\": [1, 8], \"TN\": [64]", "") BODY, &at[0]);
    add(f, PLAN("\"TM\": [8, 16, 4], \"TN\": [64, 16]", "\"TM > 2\"") BODY, &at[1]);
    add(f, PLAN("\"TM\": [1, 8], \"TN\": [64]", "") BODY "// renamed\n", &at[2]);
    for (int i = 0; i < 3; i++)
        ids[i] = atoll_source_candidate(&f->sources.items[at[i]], f->task, &choice);
    assert_true(atoll_id_equal(&ids[0], &ids[1]));
    assert_false(atoll_id_equal(&ids[0], &ids[2]));
}

/* A plan that cannot be read is still a source: its verdict is bad_plan, not an error of ours. */
static void a_bad_plan_is_kept(void **state)
{
    struct fixture *f = *state;
    uint32_t at;
    const struct atoll_source *s = add(f,
                                       "/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", "
                                       "\"units\": \"N\", \"args\": []}]} */",
                                       &at);
    assert_null(s->plan);
    assert_null(s->tune);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_template_is_tuned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_variants_of_the_backend_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(identities, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_plan_is_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
