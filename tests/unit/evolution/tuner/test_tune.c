#include "tests/support/simulation.h"

#include <math.h>

#include "evolution/tuner/space.h"
#include "evolution/tuner/tune.h"

struct fixture {
    struct atoll_task *task;
    struct atoll_arena *arena;
};

static int set_up(void **state)
{
    static const struct sim_seed seeds[] = {{"naive", NULL, NULL}};
    struct fixture *f = calloc(1, sizeof(*f));
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 1u << 24);
    sim_task("tuned", seeds, 1, 1, &bytes);
    f->task = atoll_task_decode(bytes.data, bytes.length, NULL);
    f->arena = atoll_arena_create(1u << 24, NULL);
    atoll_buffer_fini(&bytes);
    *state = f;
    return f->task && f->arena ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    atoll_task_destroy(f->task);
    atoll_arena_destroy(f->arena);
    free(f);
    return 0;
}

static const struct atoll_plan *plan_of(struct fixture *f, const char *params, const char *require)
{
    char text[2048];
    const char *body;
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(text, sizeof(text),
             "/* atoll-plan {\"version\": 1, \"params\": {%s}, \"require\": [%s],"
             "\"launch\": [{\"function\": \"f\", \"units\": \"N\", \"args\": [\"x\", \"y\"]}]} */ body",
             params, require);
    const struct atoll_plan *plan = atoll_plan_parse(f->arena, f->task, "c", text, &body, &err);
    if (!plan)
        fail_msg("%s", err.text);
    return plan;
}

#define SMALL  "\"A\": [1, 2, 3, 4, 5, 6, 7, 8], \"B\": [10, 20, 30, 40, 50], \"C\": [0, 1, 2]"
#define EIGHTS "[0, 1, 2, 3, 4, 5, 6, 7]"
#define VAST                                                                                                 \
    "\"A\": " EIGHTS ", \"B\": " EIGHTS ", \"C\": " EIGHTS ", \"D\": " EIGHTS ", \"E\": " EIGHTS             \
    ", \"F\": " EIGHTS

static int seen_before(const struct atoll_choice *seen, size_t count, const struct atoll_choice *c)
{
    for (size_t i = 0; i < count; i++)
        if (!memcmp(seen[i].values, c->values, sizeof(c->values)))
            return 1;
    return 0;
}

static void every_legal_combination_once(void **state)
{
    struct fixture *f = *state;
    const struct atoll_plan *plan = plan_of(f, SMALL, "\"A * C <= 8\", \"B != 30\"");
    struct atoll_tune *tune = atoll_tune_create(f->task, plan, NULL);
    struct atoll_random random = {5, 0};
    static struct atoll_choice seen[200];
    struct atoll_choice c;
    size_t count = 0;
    uint64_t legal = atoll_tune_legal_count(tune);
    while (atoll_tune_propose(tune, &random, count ? &seen[0] : NULL, &c, NULL) == 1) {
        assert_int_equal(atoll_plan_choice_legal(f->task, plan, &c, NULL), 1);
        assert_false(seen_before(seen, count, &c));
        assert_true(count < 200);
        seen[count++] = c;
        if (count % 3) /* some fail, some never answer */
            atoll_tune_result(tune, &c, count % 2 ? 0 : (double)(100 + c.values[0]));
    }
    assert_int_equal(count, legal);
    assert_int_equal(count, 4 * (8 + 8 + 4)); /* C = 0, 1, 2 */
    assert_true(atoll_tune_exhausted(tune));
    atoll_tune_destroy(tune);
}

static void first_is_the_first_legal(void **state)
{
    struct fixture *f = *state;
    struct atoll_choice c;
    struct atoll_tune *tune = atoll_tune_create(f->task, plan_of(f, SMALL, "\"A > 2\", \"C > 0\""), NULL);
    assert_int_equal(atoll_tune_first(tune, &c), 1);
    assert_true(c.count == 3 && c.values[0] == 3 && c.values[1] == 10 && c.values[2] == 1);
    atoll_tune_destroy(tune);
    tune = atoll_tune_create(f->task, plan_of(f, SMALL, "\"A > 9\""), NULL);
    assert_int_equal(atoll_tune_first(tune, &c), 0);
    assert_int_equal(atoll_tune_legal_count(tune), 0);
    assert_true(atoll_tune_exhausted(tune));
    atoll_tune_destroy(tune);
}

/* A smooth bowl with its bottom at (5, 5, ...). */
static double bowl(const struct atoll_choice *c)
{
    double time = 100;
    for (size_t i = 0; i < c->count; i++)
        time += (double)((c->values[i] - 5) * (c->values[i] - 5));
    return time;
}

static double tuned(struct fixture *f, const struct atoll_plan *plan, uint64_t seed, int blind)
{
    struct atoll_tune *tune = atoll_tune_create(f->task, plan, NULL);
    struct atoll_random random = {seed, 0};
    struct atoll_choice c;
    double best = HUGE_VAL;
    for (unsigned i = 0; i < 100 && atoll_tune_propose(tune, &random, NULL, &c, NULL) == 1; i++) {
        double time = bowl(&c);
        best = time < best ? time : best;
        atoll_tune_result(tune, &c, blind ? 0 : time);
    }
    atoll_tune_destroy(tune);
    return best;
}

/* Told nothing, the same tuner samples at random. */
static void search_beats_blind_sampling(void **state)
{
    struct fixture *f = *state;
    const struct atoll_plan *plan = plan_of(f, VAST, "\"(A + B) % 2 == 0 || C > 1\"");
    unsigned wins = 0;
    SKIP_UNDER_SANITIZERS();
    for (uint64_t seed = 1; seed <= 20; seed++)
        wins += tuned(f, plan, seed, 0) < tuned(f, plan, seed, 1);
    assert_true(wins >= 18);
}

/* What a path requires counts where a variant takes it, and tells of partial points as the plan's own requirements do. */
static void requirements_of_paths(void **state)
{
    static const struct {
        const char *when;
        uint64_t legal; /* 0: too many to be counted */
    } rows[] = {{"N > 0", 512}, {"N > 1000000000", 0}};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[2048];
        const char *body;
        struct atoll_choice c;
        struct atoll_err err = ATOLL_ERR_INIT;
        snprintf(text, sizeof(text),
                 "/* atoll-plan {\"version\": 1, \"params\": {" VAST
                 "}, \"paths\": [{\"when\": \"%s\", \"require\": "
                 "[\"A == 7\", \"B == 6\", \"C == D\"], \"launch\": [{\"function\": \"f\", \"units\": \"N\", "
                 "\"args\": "
                 "[\"x\"]}]}, {\"launch\": [{\"function\": \"g\", \"units\": \"N\", \"args\": [\"x\"]}]}]} "
                 "*/ body",
                 rows[i].when);
        const struct atoll_plan *plan = atoll_plan_parse(f->arena, f->task, "c", text, &body, &err);
        if (!plan)
            fail_msg("%s", err.text);
        struct atoll_space_of_plan of = {.task = f->task, .plan = plan};
        struct atoll_space space;
        atoll_space_init_plan(&space, &of);
        struct atoll_point point = {{6}};
        assert_int_equal(space.prefix(&of, &point, 1), i); /* A is 6 */
        struct atoll_tune *tune = atoll_tune_create(f->task, plan, NULL);
        assert_int_equal(atoll_tune_first(tune, &c), 1);
        if (rows[i].legal)
            assert_int_equal(atoll_tune_legal_count(tune), rows[i].legal);
        assert_true(c.values[0] == (i ? 0 : 7) && c.values[1] == (i ? 0 : 6));
        atoll_tune_destroy(tune);
    }
}

/* Of 262,144 points 512 are legal, and partial points tell: they are listed without the product. */
static void rare_legal_points_are_listed(void **state)
{
    struct fixture *f = *state;
    const struct atoll_plan *plan = plan_of(f, VAST, "\"A == 7\", \"B == 6\", \"C == D\"");
    struct atoll_tune *tune = atoll_tune_create(f->task, plan, NULL);
    struct atoll_random random = {9, 0};
    static struct atoll_choice seen[600];
    struct atoll_choice c;
    size_t count = 0;
    assert_int_equal(atoll_tune_legal_count(tune), 512);
    assert_int_equal(atoll_tune_first(tune, &c), 1);
    assert_true(c.values[0] == 7 && c.values[1] == 6 && c.values[2] == c.values[3]);
    assert_int_equal(atoll_tune_add(tune, &c, NULL), 0);
    seen[count++] = c;
    while (count < 600 && atoll_tune_propose(tune, &random, NULL, &c, NULL) == 1) {
        assert_int_equal(atoll_plan_choice_legal(f->task, plan, &c, NULL), 1);
        assert_false(seen_before(seen, count, &c));
        seen[count++] = c;
        atoll_tune_result(tune, &c, bowl(&c));
    }
    assert_int_equal(count, 512);
    assert_true(atoll_tune_exhausted(tune));
    assert_int_equal(atoll_tune_propose(tune, &random, NULL, &c, NULL), 0);
    atoll_tune_destroy(tune);
}

/* What a requirement says at a variant of another backend is nothing to this plan. */
static void other_backends_do_not_count(void **state)
{
    struct fixture *f = *state;
    const struct atoll_plan *plan =
        plan_of(f, VAST, "\"A == 7\", \"B == 6\", \"C == 5\", \"D == 4\", \"N > 100\"");
    for (int other = 0; other < 2; other++) {
        struct atoll_choice c;
        for (size_t v = 0; v < f->task->variant_count; v++)
            if (f->task->variants[v].kind == ATOLL_VARIANT_CHECK)
                f->task->variants[v].backend = other ? "cuda" : NULL;
        struct atoll_tune *tune = atoll_tune_create(f->task, plan, NULL);
        assert_int_equal(atoll_tune_first(tune, &c), other);
        atoll_tune_destroy(tune);
    }
    for (size_t v = 0; v < f->task->variant_count; v++)
        f->task->variants[v].backend = NULL;
}

static void unknown_results_are_ignored(void **state)
{
    struct fixture *f = *state;
    struct atoll_tune *tune = atoll_tune_create(f->task, plan_of(f, SMALL, ""), NULL);
    struct atoll_random random = {5, 0};
    struct atoll_choice odd = {.count = 3, .values = {77, 10, 0}}, fewer = {.count = 1, .values = {1}}, c;
    atoll_tune_result(tune, &odd, 1);
    atoll_tune_result(tune, &fewer, 1);
    assert_int_equal(atoll_tune_add(tune, &odd, NULL), 0);
    assert_int_equal(atoll_tune_propose(tune, &random, &odd, &c, NULL), 1);
    atoll_tune_result(tune, &c, 5);
    atoll_tune_result(tune, &c, 0); /* withdrawn */
    assert_int_equal(atoll_tune_propose(tune, &random, &c, &c, NULL), 1);
    atoll_tune_destroy(tune);
    atoll_tune_destroy(NULL);
}

static void state_travels(void **state)
{
    struct fixture *f = *state;
    const struct atoll_plan *plan = plan_of(f, SMALL, "");
    struct atoll_tune *a = atoll_tune_create(f->task, plan, NULL),
                      *b = atoll_tune_create(f->task, plan, NULL);
    struct atoll_random random = {5, 0}, other;
    struct atoll_choice c, d;
    struct atoll_buffer bytes;
    for (unsigned i = 0; i < 30; i++) {
        assert_int_equal(atoll_tune_propose(a, &random, NULL, &c, NULL), 1);
        atoll_tune_result(a, &c, i % 4 ? bowl(&c) : 0);
    }
    atoll_buffer_init(&bytes, 1u << 20);
    struct atoll_codec out = {.out = &bytes};
    assert_int_equal(atoll_tune_codec(a, &out, NULL), 0);
    struct atoll_reader reader;
    atoll_reader_init(&reader, bytes.data, bytes.length);
    struct atoll_codec in = {.in = &reader};
    assert_int_equal(atoll_tune_codec(b, &in, NULL), 0);
    assert_int_equal(atoll_reader_finish(&reader, "tuner", NULL), 0);
    other = random;
    for (int more = 1; more;) {
        more = atoll_tune_propose(a, &random, NULL, &c, NULL);
        assert_int_equal(atoll_tune_propose(b, &other, NULL, &d, NULL), more);
        assert_memory_equal(&c, &d, sizeof(c));
        atoll_tune_result(a, &c, bowl(&c));
        atoll_tune_result(b, &d, bowl(&d));
    }
    atoll_buffer_fini(&bytes);
    atoll_tune_destroy(a);
    atoll_tune_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_legal_combination_once), cmocka_unit_test(first_is_the_first_legal),
        cmocka_unit_test(search_beats_blind_sampling),  cmocka_unit_test(rare_legal_points_are_listed),
        cmocka_unit_test(requirements_of_paths),        cmocka_unit_test(other_backends_do_not_count),
        cmocka_unit_test(unknown_results_are_ignored),  cmocka_unit_test(state_travels),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
