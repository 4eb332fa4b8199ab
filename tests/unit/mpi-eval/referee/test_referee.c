/* The real thing: worker, compiler, reference and candidates of the fixture task. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/referee/sampling.h"
#include "mpi-eval/referee/state.h"
#include "mpi-eval/referee/trial.h"

static struct atoll_task *task, *pair; /* pair: the same with a second bench variant */
static struct atoll_compiler *compiler;
static struct atoll_referee *referee;
static struct atoll_backend alone; /* its backend */
static uint64_t next_evaluation = 1;

static const char plan[] =
    "/* atoll-plan {\"version\": 1, \"scratch\": {\"s\": \"4 * N\"}, \"launch\": [{\"function\": \"f\", "
    "\"units\": \"M\", \"args\": [\"x\", \"w\", \"y\", \"s\", \"i32:N\"]}]} */\n";
static const char head[] = "void f(long b, long e, float *x, const float *w, float *y, float *s, int n)\n{\n";
#define LOOP  "for (long i = b; i < e; i++) for (int j = 0; j < n; j++) "
#define RIGHT "x[i * n + j] * w[j] + x[i * n + (j + 1) % n]"

static char *source_of(const char *body)
{
    char *text = NULL;
    assert_true(asprintf(&text, "%s%s%s\n}\n", plan, head, body) > 0);
    return text;
}

struct built {
    struct atoll_prepared *prepared;
    struct atoll_compiled compiled;
};

/* Compiles a body once; what is built lives until the end. */
static struct {
    const char *body;
    struct built built;
} shelf[32];
static size_t shelf_count;

static struct built compile_source(const struct atoll_task *of, const char *source)
{
    struct built b = {0};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_order_candidate c = {.language = "c", .source = source};
    b.prepared = atoll_prepared_create(of, &atoll_backend_cpu, &c, NULL, &err);
    assert_non_null(b.prepared);
    if (b.prepared->verdict != ATOLL_V_CORRECT)
        fail_msg("%s", b.prepared->detail);
    assert_int_equal(atoll_compiler_run(compiler, "candidate.c", b.prepared->unit_text,
                                        b.prepared->unit_length, NULL, 0, &b.compiled, &err),
                     0);
    if (b.compiled.status != ATOLL_COMPILE_OK)
        fail_msg("%s", b.compiled.diagnostics);
    return b;
}

static struct built compile_body(const struct atoll_task *of, const char *body)
{
    char *source = source_of(body);
    struct built b = compile_source(of, source);
    free(source);
    return b;
}

#define AGAIN_LIMIT 200 /* times something else may have the cores */

/* A timed trial is made again while others disturb it: what they do is no part of these tests, and on a busy machine hardly any
 * evaluation would come to its end. */
static void trial_alone(struct atoll_referee *r, struct atoll_case *known,
                        struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                        struct atoll_trial *t)
{
    int is_timed = known->task->variants[order->input_set->variant].kind == ATOLL_VARIANT_BENCH, again = 1;
    double reference_ns = 0;
    for (int i = 0; again && i < AGAIN_LIMIT; i++) {
        atoll_backend_cpu.trial(r, known, candidate, order, t);
        struct atoll_sampling_sample sample = {t->ns, t->lost_ns, t->own_ns,
                                               t->disturbed || t->pace > ATOLL_SAMPLING_PACE};
        again = is_timed && t->verdict == ATOLL_V_CORRECT && atoll_sampling_disturbed(&sample);
        reference_ns += t->reference_ns; /* asked once, by the first */
    }
    t->reference_ns = reference_ns;
    t->pace = 0;
}

static void evaluate_order(const struct built *b, struct atoll_order *order, struct atoll_evaluation *e)
{
    double device_ns = referee->counting.device_ns;
    order->evaluation = next_evaluation++;
    atoll_evaluation_init(e);
    atoll_referee_evaluate(referee, order->task, order, b->prepared, b->compiled.object,
                           b->compiled.object_length, e);
    assert_true(referee->counting.device_ns == device_ns + e->occupied_ns); /* counters' share is of it */
}

static void evaluate(const struct built *b, double baseline_ns, double incumbent_ns,
                     struct atoll_evaluation *e)
{
    struct atoll_order order = {.baseline_ns = baseline_ns, .incumbent_ns = incumbent_ns};
    evaluate_order(b, &order, e);
}

static struct built build(const char *body)
{
    for (size_t i = 0; i < shelf_count; i++)
        if (strcmp(shelf[i].body, body) == 0)
            return shelf[i].built;
    assert_in_range(shelf_count, 0, sizeof(shelf) / sizeof(*shelf) - 1);
    shelf[shelf_count].body = body;
    shelf[shelf_count].built = compile_body(task, body);
    return shelf[shelf_count++].built;
}

static void shelf_clear(void)
{
    while (shelf_count) {
        struct built *b = &shelf[--shelf_count].built;
        atoll_prepared_destroy(b->prepared);
        atoll_compiled_fini(&b->compiled);
    }
}

static int add_pair(struct atoll_err *err)
{
    size_t bench = 0;
    while (bench < pair->variant_count && pair->variants[bench].kind != ATOLL_VARIANT_BENCH)
        bench++;
    struct atoll_variant *other = &pair->variants[pair->variant_count++];
    *other = pair->variants[bench];
    other->name = "bench.other";
    return atoll_referee_add_task(referee, 1, pair, err);
}

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler_settings settings = {.command = "cc",
                                               .flags = "-O1",
                                               .slots = 1,
                                               .deadline_ns = 20e9,
                                               .memory_bytes = (uint64_t)2 << 30,
                                               .output_bytes = (uint64_t)16 << 20};
    struct atoll_setup setup = {.secret = {1, 2, 3},
                                .sample_device_ns = 20e6,
                                .sample_wall_ns = 60e6,
                                .sample_min = 7,
                                .interval_target = 0.005,
                                .full_compares = 5,
                                .compile_deadline_ns = 20e9,
                                .compile_memory_bytes = (uint64_t)2 << 30};
    (void)state;
    alone = *atoll_backend_find(setup.backend);
    alone.trial = trial_alone;
    setenv("ATOLL_WORKER", ATOLL_BUILD_DIR "/atoll-worker", 1);
    snprintf(setup.compiler, sizeof(setup.compiler), "cc");
    if (!(task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", &err)) ||
        !(pair = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", &err)) ||
        !(compiler = atoll_cc_create(&settings, &err)) ||
        !(referee = atoll_referee_create(&alone, &setup, compiler, &err)) ||
        atoll_referee_add_task(referee, 0, task, &err) != 0 || add_pair(&err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shelf_clear();
    atoll_referee_destroy(referee);
    atoll_compiler_destroy(compiler);
    atoll_task_destroy(task);
    atoll_task_destroy(pair);
    return 0;
}

/* One body, the verdict it must get and what the text must say. */
static const struct {
    const char *body;
    enum atoll_verdict verdict;
    const char *says;
} cases[] = {
    {LOOP "y[i * n + j] = " RIGHT ";", ATOLL_V_CORRECT, ""},
    {"for (int k = 0; k < n; k++) s[k] = 1; " LOOP "y[i * n + j] = " RIGHT ";", ATOLL_V_CORRECT, ""},
    {LOOP "y[i * n + j] = 2 * (" RIGHT ");", ATOLL_V_WRONG, "constant factor of 2"},
    {LOOP "y[i * n + j] = " RIGHT " + 1;", ATOLL_V_WRONG, "constant offset of 1"},
    {"for (long i = b; i < e; i++) for (int j = 0; j < n / 8 * 8; j++) y[i * n + j] = " RIGHT ";",
     ATOLL_V_WRONG, "missing tail of the last axis"},
    {LOOP "y[i * n + j] = 3;", ATOLL_V_WRONG, "the same value 3"},
    {LOOP "y[i * n + j] = __builtin_nanf(\"\");", ATOLL_V_WRONG, "NaN or Inf"},
    {"(void)b;", ATOLL_V_WRONG, "nothing was written"},
    {LOOP "y[i * n + j] = " RIGHT "; if (b == 0) y[-1] = 1;", ATOLL_V_WRONG, "bytes before the start of y"},
    {LOOP "y[i * n + j] = " RIGHT "; s[n] = 1;", ATOLL_V_WRONG, "bytes past the end of s"},
    {LOOP "y[i * n + j] = " RIGHT "; x[0] = 1;", ATOLL_V_WRONG, "changed the input x"},
    {LOOP "{ float r = " RIGHT "; if (y[i * n + j] != y[i * n + j]) y[i * n + j] = r; }", ATOLL_V_WRONG,
     "never written"},
    {LOOP "y[i * n + j] = " RIGHT "; *(volatile int *)8 = 1;", ATOLL_V_CRASH, "SIGSEGV"},
    {LOOP "y[i * n + j] = " RIGHT "; for (volatile int k = 1; k;) ;", ATOLL_V_TIMEOUT,
     "not finished after 0.2 s"},
};

/* One deadline from the start of the compiler to the verdict, and the detail says in what it was over: what compiling took is missing afterwards, in a run that hangs
 * as well as between runs, and it is the candidate's. */
static void test_whole_deadline(void **state)
{
    static const char hangs[] = LOOP "y[i * n + j] = " RIGHT "; for (volatile int k = 1; k;) ;";
    static const char hangs_timed[] = LOOP "y[i * n + j] = " RIGHT "; for (volatile int k = n == 512; k;) ;";
    static const struct {
        const char *body;
        double left_ns;
        enum atoll_verdict verdict;
        const char *says;
    } rows[] = {
        {LOOP "y[i * n + j] = " RIGHT ";", 60e9, ATOLL_V_CORRECT, ""},
        {LOOP "y[i * n + j] = " RIGHT ";", 0, ATOLL_V_TIMEOUT, "no verdict after 110 s"},
        {LOOP "y[i * n + j] = " RIGHT ";", 0, ATOLL_V_TIMEOUT, "that was over while it was compiled;"},
        {LOOP "y[i * n + j] = " RIGHT ";", 1, ATOLL_V_TIMEOUT, "that was over while it was loaded;"},
        {hangs, 50e6, ATOLL_V_TIMEOUT, "not finished after 0.0"},
        {hangs, 500e6, ATOLL_V_TIMEOUT, "that was over while it was checked at variant check"},
        {hangs_timed, 2e9, ATOLL_V_TIMEOUT, "that was over while it was sampled at variant bench"},
    };
    struct atoll_setup setup = {.compile_deadline_ns = 20e9, .sample_wall_ns = 3e9};
    (void)state;
    assert_true(atoll_referee_whole_deadline_ns(&setup, 9, 0) == 113e9);
    assert_true(atoll_referee_whole_deadline_ns(&setup, 9, 100e6) == 27.5e9);
    assert_true(atoll_referee_whole_deadline_ns(&setup, 9, 1) == 23.45e9);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct built b = build(rows[i].body);
        struct atoll_evaluation e;
        b.prepared->compile_ns = atoll_referee_whole_deadline_ns(&referee->setup, 9, 0) - rows[i].left_ns;
        evaluate(&b, 0, 0, &e);
        b.prepared->compile_ns = 0;
        if (e.verdict != rows[i].verdict || !strstr(e.detail, rows[i].says))
            fail_msg("row %zu: %s, \"%s\"", i, atoll_verdict_name(e.verdict), e.detail);
        assert_true(e.verdict == ATOLL_V_CORRECT || e.level == 4);
        atoll_evaluation_fini(&e);
    }
}

static void test_verdicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct built b = build(cases[i].body);
        struct atoll_evaluation e;
        evaluate(&b, cases[i].verdict == ATOLL_V_TIMEOUT ? 1 : 0, 0, &e);
        if (e.verdict != cases[i].verdict || !strstr(e.detail, cases[i].says))
            fail_msg("case %zu: %s, \"%s\"", i, atoll_verdict_name(e.verdict), e.detail);
        if (e.verdict == ATOLL_V_CORRECT) {
            assert_int_equal(e.timing_count, 1);
            assert_true(e.timings[0].sample_count >= 7);
            assert_true(e.timings[0].summary.median > 0 && e.timings[0].floor_ns > 0);
            assert_true(e.fully_compared_count >= 5 && e.draw_count >= 9);
            assert_true(e.worst_error < 1 && e.candidate_ns > 0 && e.occupied_ns > e.candidate_ns);
        }
        atoll_evaluation_fini(&e);
    }
}

static void duel_built(struct built a, struct built b, enum atoll_duel_purpose purpose,
                       struct atoll_duel *ret_duel)
{
    struct atoll_order order = {.evaluation = next_evaluation++,
                                .kind = ATOLL_ORDER_DUEL,
                                .purpose = purpose,
                                .alpha = 0.01,
                                .margin = 0.00995,
                                .pair_limit = 16};
    double device_ns = referee->counting.device_ns;
    atoll_referee_duel(referee, 0, &order, a.prepared, a.compiled.object, a.compiled.object_length,
                       b.prepared, b.compiled.object, b.compiled.object_length, ret_duel);
    assert_true(referee->counting.device_ns == device_ns + ret_duel->occupied_ns);
}

static void duel(const char *elite_body, const char *challenger_body, enum atoll_duel_purpose purpose,
                 struct atoll_duel *ret_duel)
{
    duel_built(build(elite_body), build(challenger_body), purpose, ret_duel);
}

#define RIGHT_BODY LOOP "y[i * n + j] = " RIGHT ";"
#define SLOW_BODY  "for (volatile int k = 0; k < 1000000; k++) ; " RIGHT_BODY

static void test_duels(void **state)
{
    struct atoll_duel d;
    (void)state;
    duel(SLOW_BODY, RIGHT_BODY, ATOLL_DUEL_PROMOTION, &d);
    if (d.verdict != ATOLL_V_CORRECT || !d.better || d.ratio < 2)
        fail_msg("fast against slow: %s, better %d, %s", atoll_verdict_name(d.verdict), d.better, d.detail);
    assert_int_equal(d.pair_count, 6);
    assert_true(d.elite_ns > 2 * d.challenger_ns && d.p_value < 0.01);
    duel(RIGHT_BODY, SLOW_BODY, ATOLL_DUEL_PROMOTION, &d);
    assert_int_equal(d.verdict, ATOLL_V_CORRECT);
    assert_int_equal(d.better, 0);
    duel(SLOW_BODY, SLOW_BODY, ATOLL_DUEL_NULL_CONTROL, &d);
    assert_int_equal(d.verdict, ATOLL_V_CORRECT);
    assert_int_equal(d.better, 0);
}

/* Multiples of 8 go to `even`, others to `odd`; bench alone is one, so 23 x 56 is made to check it and another to finish. */
static struct built build_paths(const char *even, const char *odd)
{
    static const char format[] =
        "/* atoll-plan {\"version\": 1, \"scratch\": {\"s\": \"N - 30\"}, \"paths\": [{\"when\": \"N %% 8 == "
        "0\", "
        "\"launch\": [{\"function\": \"even\", \"units\": \"M\", \"args\": [\"x\", \"w\", \"y\", \"s\", "
        "\"i32:N\"]}]}, "
        "{\"launch\": [{\"function\": \"odd\", \"units\": \"M\", \"args\": [\"x\", \"w\", \"y\", "
        "\"i32:N\"]}]}]} */\n"
        "void even(long b, long e, float *x, const float *w, float *y, float *s, int n)\n{\n%s\n}\n"
        "void odd(long b, long e, float *x, const float *w, float *y, int n)\n{\n%s\n}\n";
    char *source = NULL;
    assert_true(asprintf(&source, format, even, odd) > 0);
    struct built b = compile_source(task, source);
    free(source);
    return b;
}

static void built_free(struct built *b)
{
    atoll_prepared_destroy(b->prepared);
    atoll_compiled_fini(&b->compiled);
}

#define ONLY(condition) LOOP "y[i * n + j] = (" condition ") ? " RIGHT " : 0;"

static void test_paths(void **state)
{
    static const struct {
        const char *even, *odd;
        enum atoll_verdict verdict, last; /* of the evaluation, of the final */
        const char *says, *last_says;
    } rows[] = {
        {"s[0] = 1; " ONLY("n % 8 == 0"), ONLY("n % 8"), ATOLL_V_CORRECT, ATOLL_V_CORRECT, "",
         "right at the hidden variants"},
        {ONLY("n == 512"), ONLY("1"), ATOLL_V_WRONG, ATOLL_V_WRONG, "variant check.path[0]",
         "variant check.path[0]"},
        {ONLY("n == 512 || n == 56"), ONLY("1"), ATOLL_V_CORRECT, ATOLL_V_WRONG, "",
         "variant hidden.path[0]"},
    };
    struct built slow = build(SLOW_BODY);
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct built b = build_paths(rows[i].even, rows[i].odd);
        struct atoll_evaluation e;
        struct atoll_duel d;
        evaluate(&b, 0, 0, &e);
        if (e.verdict != rows[i].verdict || !strstr(e.detail, rows[i].says))
            fail_msg("row %zu: %s, \"%s\"", i, atoll_verdict_name(e.verdict), e.detail);
        if (e.verdict == ATOLL_V_WRONG)
            assert_non_null(strstr(e.detail, "; made for paths[0]: M=23, N=56"));
        atoll_evaluation_fini(&e);
        duel_built(slow, b, ATOLL_DUEL_FINAL, &d);
        if (d.verdict != rows[i].last || !strstr(d.detail, rows[i].last_says))
            fail_msg("row %zu, final: %s, \"%s\"", i, atoll_verdict_name(d.verdict), d.detail);
        assert_null(strstr(d.detail, "N=")); /* hidden shapes stay hidden */
        built_free(&b);
    }
}

static void test_final(void **state)
{
    struct atoll_duel d;
    (void)state;
    duel(SLOW_BODY, RIGHT_BODY, ATOLL_DUEL_FINAL, &d);
    assert_int_equal(d.verdict, ATOLL_V_CORRECT);
    assert_non_null(strstr(d.detail, "right at the hidden variants, deterministic"));
    /* Within the tolerance, but by the address: shift and page. */
    duel(SLOW_BODY,
         RIGHT_BODY
         " for (int j = 0; j < n; j++) y[b * n + j] += 0.7e-8f * (float)((unsigned long)y >> (j & 1 ? 6 : "
         "12) & 63);",
         ATOLL_DUEL_FINAL, &d);
    assert_int_equal(d.verdict, ATOLL_V_CORRECT);
    assert_non_null(strstr(d.detail, "two runs on the same inputs differ"));
    duel(SLOW_BODY, LOOP "y[i * n + j] = n == 41 ? 0 : " RIGHT ";", ATOLL_DUEL_FINAL, &d);
    assert_int_equal(d.verdict, ATOLL_V_WRONG);
    assert_int_equal(d.better, 0);
    assert_non_null(strstr(d.detail, "variant hidden"));
    duel(LOOP "y[i * n + j] = 0;", RIGHT_BODY, ATOLL_DUEL_PROMOTION, &d);
    assert_int_equal(d.verdict, ATOLL_V_CORRECT);
    assert_int_equal(d.better, 1);
    assert_non_null(strstr(d.detail, "the defender failed: wrong"));
    duel(LOOP "y[i * n + j] = 0;", LOOP "y[i * n + j] = 0;", ATOLL_DUEL_NULL_CONTROL, &d);
    assert_int_equal(d.verdict, ATOLL_V_WRONG);
    assert_int_equal(d.better, 0);
}

static unsigned calibrations;
static double calibrated_flops; /* what a new calibration finds */

static int calibrate(struct atoll_referee *r, struct atoll_err *err)
{
    (void)err;
    calibrations++;
    r->info.peak_flops[ATOLL_F32] = calibrated_flops;
    return 0;
}

/* A correct kernel that is faster than its floor asks for a new calibration; where that does not help, the floor is
 * unknown from then on. */
static void test_beaten_floor(void **state)
{
    static const struct {
        double flops; /* of the first calibration; of the second: next */
        double next;
        unsigned calibrations; /* so far */
        int is_known;
    } rows[] = {{1e6, 1e14, 1, 1}, {1e14, 1, 1, 1}, {1e6, 2e6, 4, 0}, {1e14, 1, 4, 0}};
    struct atoll_backend backend = *referee->backend;
    const struct atoll_backend *usual = referee->backend;
    struct atoll_device_info info = referee->info;
    struct atoll_case *known = atoll_referee_case(referee, 0);
    (void)state;
    backend.measure = calibrate;
    referee->backend = &backend;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct built b = build(RIGHT_BODY);
        struct atoll_evaluation e;
        referee->info.peak_flops[ATOLL_F32] = rows[i].flops;
        calibrated_flops = rows[i].next;
        evaluate(&b, 0, 0, &e);
        if (e.verdict != ATOLL_V_CORRECT)
            fail_msg("row %zu: %s, \"%s\"", i, atoll_verdict_name(e.verdict), e.detail);
        assert_int_equal(calibrations, rows[i].calibrations);
        assert_int_equal(e.timings[0].floor_ns > 0, rows[i].is_known);
        assert_int_equal(atoll_evaluation_floor_model(&e),
                         rows[i].is_known ? ATOLL_FLOOR_SINGLE : ATOLL_FLOOR_UNTOLD);
        if (rows[i].is_known)
            assert_true(e.timings[0].floor_ns <= 1.05 * e.timings[0].summary.hi95);
        atoll_evaluation_fini(&e);
    }
    memset(known->floor_is_wrong, 0, sizeof(known->floor_is_wrong));
    referee->info = info;
    referee->backend = usual;
}

static unsigned watched_count;

static enum atoll_verdict watch(struct atoll_referee *r, struct atoll_case *known,
                                struct atoll_loaded_candidate *candidate, char *ret_detail)
{
    assert_ptr_equal(r, referee);
    assert_memory_equal(&known->task->id, &task->id, sizeof(task->id));
    assert_ptr_equal(candidate->prepared, build(RIGHT_BODY).prepared);
    snprintf(ret_detail, ATOLL_DETAIL_BYTES, "%s", watched_count++ ? "two hazards" : "watched closely");
    return watched_count == 1 ? ATOLL_V_CORRECT : ATOLL_V_WRONG;
}

/* A backend that can watch accesses is asked about the challenger of a final duel, and of no other. */
static void test_watched_final(void **state)
{
    struct atoll_backend watching = *referee->backend;
    const struct atoll_backend *usual = referee->backend;
    struct atoll_duel d;
    (void)state;
    watching.sanitize = watch;
    referee->backend = &watching;
    duel(SLOW_BODY, RIGHT_BODY, ATOLL_DUEL_PROMOTION, &d);
    assert_int_equal(watched_count, 0);
    duel(SLOW_BODY, RIGHT_BODY, ATOLL_DUEL_FINAL, &d);
    assert_int_equal(watched_count, 1);
    assert_int_equal(d.verdict, ATOLL_V_CORRECT);
    assert_true(d.pair_count > 0);
    assert_non_null(strstr(d.detail, "deterministic, watched closely"));
    duel(SLOW_BODY, RIGHT_BODY, ATOLL_DUEL_FINAL, &d);
    assert_int_equal(d.verdict, ATOLL_V_WRONG);
    assert_int_equal(d.better, 0);
    assert_int_equal(d.pair_count, 0);
    assert_string_equal(d.detail, "two hazards");
    duel(SLOW_BODY, LOOP "y[i * n + j] = n == 41 ? 0 : " RIGHT ";", ATOLL_DUEL_FINAL, &d);
    assert_int_equal(watched_count, 2); /* wrong before it came to that */
    referee->backend = usual;
}

static void test_early_drop(void **state)
{
    struct built b = build(SLOW_BODY);
    struct atoll_evaluation e;
    (void)state;
    evaluate(&b, 0, 1000, &e);
    assert_int_equal(e.verdict, ATOLL_V_CORRECT);
    assert_int_equal(e.timings[0].sample_count, 2);
    assert_true(e.timings[0].flags & ATOLL_TIMING_DROPPED_EARLY);
    assert_non_null(
        strstr(e.detail, "2 samples were enough")); /* and why it was not measured with more care */
    assert_non_null(strstr(e.detail, "times the 1 us that it is held against"));
    atoll_evaluation_fini(&e);
}

static uint32_t sampled[64]; /* variants of timed samples, in the order taken */
static size_t sampled_count;

/* A trial as usual, with a note. */
static void trial_that_notes(struct atoll_referee *r, struct atoll_case *known,
                             struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                             struct atoll_trial *ret_trial)
{
    uint32_t variant = order->input_set->variant;
    trial_alone(r, known, candidate, order, ret_trial);
    if (ret_trial->verdict == ATOLL_V_CORRECT)
        snprintf(ret_trial->detail, sizeof(ret_trial->detail), "a note");
    if (known->task->variants[variant].kind == ATOLL_VARIANT_BENCH &&
        sampled_count < sizeof(sampled) / sizeof(*sampled))
        sampled[sampled_count++] = variant;
}

static int is_first_bench(const struct atoll_case *known, uint32_t variant)
{
    for (uint32_t v = 0; v < variant; v++)
        if (known->task->variants[v].kind == ATOLL_VARIANT_BENCH)
            return 0;
    return 1;
}

/* Variants are sampled in turn, and given up together: by the incumbent, or by bars where each has one; a bar at one of them
 * says nothing of the mean.  What is said of both is kept, once. */
static void test_early_drop_of_several(void **state)
{
    static const struct {
        double bars_ns[2], incumbent_ns;
        const char *held_against; /* NULL: measured to its end */
    } rows[] = {{{1000, 4000}, 0, "times the 2 us that it is held against"},
                {{1000, 4000}, 1000, "times the 1 us that it is held against"},
                {{1000, 0}, 3000, "times the 3 us that it is held against"},
                {{1000, 0}, 0, NULL},
                {{0, 0}, 1000, "times the 1 us that it is held against"},
                {{0, 0}, 0, NULL}};
    static struct atoll_backend noting; /* a failure leaves it behind */
    const struct atoll_backend *usual = referee->backend;
    struct built b = compile_body(pair, SLOW_BODY);
    (void)state;
    noting = *usual;
    noting.trial = trial_that_notes;
    noting.is_tiled = is_first_bench;
    referee->backend = &noting;
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        int is_dropped = rows[row].held_against != NULL;
        struct atoll_order order = {.task = 1, .incumbent_ns = rows[row].incumbent_ns};
        struct atoll_evaluation e;
        for (size_t v = 0, bench = 0; v < pair->variant_count; v++)
            if (pair->variants[v].kind == ATOLL_VARIANT_BENCH)
                order.bars_ns[v] = rows[row].bars_ns[bench++];
        sampled_count = 0;
        evaluate_order(&b, &order, &e);
        assert_int_equal(e.verdict, ATOLL_V_CORRECT);
        assert_int_equal(e.timing_count, 2);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal((e.timings[i].flags & ATOLL_TIMING_DROPPED_EARLY) != 0, is_dropped);
            if (is_dropped) /* few samples have no interval, and say so */
                assert_true(e.timings[i].sample_count >= 2 && e.timings[i].sample_count < 6 &&
                            e.timings[i].summary.relative_half_width > 1e9);
            else
                assert_true(e.timings[i].sample_count >= 7);
            assert_int_equal((e.timings[i].flags & ATOLL_TIMING_TILED) != 0,
                             i == 0); /* which reference it was */
        }
        assert_true(sampled[0] == e.timings[0].variant && sampled[1] == e.timings[1].variant &&
                    sampled[2] == sampled[0] && sampled[3] == sampled[1]);
        assert_int_equal(strstr(e.detail, "samples of each variant were enough") != NULL, is_dropped);
        assert_true(!is_dropped || strstr(e.detail, rows[row].held_against));
        const char *note = strstr(e.detail, "a note");
        assert_int_equal(note != NULL, !is_dropped);
        assert_true(!note || !strstr(note + 1, "a note"));
        atoll_evaluation_fini(&e);
    }
    referee->backend = usual;
    atoll_prepared_destroy(b.prepared);
    atoll_compiled_fini(&b.compiled);
}

#define OPENED   2 /* number of the task whose pool is opened */
#define POOL_END 64

static unsigned seen_draws[POOL_END];

static void trial_that_counts(struct atoll_referee *r, struct atoll_case *known,
                              struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                              struct atoll_trial *ret_trial)
{
    const struct atoll_input_set *d = order->input_set;
    trial_alone(r, known, candidate, order, ret_trial);
    if (known->task->variants[d->variant].kind != ATOLL_VARIANT_BENCH)
        return;
    assert_true(d->series == 0 && d->number < POOL_END);
    seen_draws[d->number]++;
}

/* The first evaluations of a task answer no more of its pool than they see: those that follow see the same and one more. */
static void test_draws_are_opened_one_by_one(void **state)
{
    struct atoll_backend counting = *referee->backend;
    const struct atoll_backend *usual = referee->backend;
    struct built b = build(SLOW_BODY);
    size_t bench = 0, open = 7;
    (void)state;
    while (task->variants[bench].kind != ATOLL_VARIANT_BENCH)
        bench++;
    assert_int_equal(atoll_referee_add_task(referee, OPENED, task, NULL), 0);
    struct atoll_case *known = atoll_referee_case(referee, OPENED);
    counting.trial = trial_that_counts;
    referee->backend = &counting;
    for (unsigned i = 0; i < 12; i++) {
        struct atoll_order order = {.task = OPENED, .evaluation = next_evaluation++, .incumbent_ns = 1000};
        struct atoll_evaluation e;
        memset(seen_draws, 0, sizeof(seen_draws));
        atoll_evaluation_init(&e);
        assert_int_equal(known->open_count[bench], open);
        atoll_referee_evaluate(referee, OPENED, &order, b.prepared, b.compiled.object,
                               b.compiled.object_length, &e);
        size_t seen = 0, last = 0;
        for (size_t k = 0; k < POOL_END; k++) {
            assert_in_range(seen_draws[k], 0, 1);
            seen += seen_draws[k];
            last = seen_draws[k] ? k : last;
        }
        assert_in_range(seen, 1, POOL_END);
        assert_true(last < (seen > open ? seen : open));
        open = last < open ? open : last + 1; /* more where others disturb it */
        open += open < ATOLL_INPUT_SET_POOL_MIN;
        atoll_evaluation_fini(&e);
    }
    assert_true(known->open_count[bench] >= ATOLL_INPUT_SET_POOL_MIN);
    referee->backend = usual;
}

#define AHEAD     3 /* numbers of tasks whose draws are answered ahead */
#define IMPATIENT 4

static unsigned answers_ahead(uint32_t number, int is_ordered)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned count = 0;
    for (int rc = 1; rc; count += rc == 1) {
        rc = atoll_referee_answer_ahead(referee, number, is_ordered, &err);
        if (rc < 0)
            fail_msg("%s", err.text);
        assert_in_range(count, 0, 100);
    }
    return count;
}

static double asked_ns;

static void trial_that_asks(struct atoll_referee *r, struct atoll_case *known,
                            struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                            struct atoll_trial *ret_trial)
{
    trial_alone(r, known, candidate, order, ret_trial);
    asked_ns += order->input_set->number < ATOLL_INPUT_SET_POOL_MIN ? ret_trial->reference_ns : 0;
}

/* What orders will see, then the rest of the pool; the evaluation that follows asks nothing of it and sees what it would have
 * seen.  A variant that takes long is left to who needs it. */
static void test_answers_ahead(void **state)
{
    struct atoll_backend asking = *referee->backend;
    const struct atoll_backend *usual = referee->backend;
    struct atoll_order order = {.task = AHEAD, .evaluation = next_evaluation++, .incumbent_ns = 1000};
    struct built b = build(SLOW_BODY);
    struct atoll_evaluation e;
    size_t bench = 0;
    (void)state;
    while (task->variants[bench].kind != ATOLL_VARIANT_BENCH)
        bench++;
    assert_int_equal(answers_ahead(AHEAD, 1), 0); /* nobody knows it */
    assert_int_equal(atoll_referee_add_task(referee, AHEAD, task, NULL), 0);
    assert_int_equal(atoll_referee_add_task(referee, IMPATIENT, task, NULL), 0);
    double before_ns = referee->phases.ns[ATOLL_PHASE_EXPECTED];
    assert_int_equal(answers_ahead(AHEAD, 1), 7 + ATOLL_INPUT_SET_CHECK_POOL);
    assert_true(referee->phases.ns[ATOLL_PHASE_EXPECTED] > before_ns);
    assert_int_equal(answers_ahead(AHEAD, 0), ATOLL_INPUT_SET_POOL_MIN - 7);
    assert_int_equal(answers_ahead(AHEAD, 0), 0);
    struct atoll_case *known = atoll_referee_case(referee, AHEAD);
    assert_int_equal(known->open_count[bench], 7);
    asking.trial = trial_that_asks;
    referee->backend = &asking;
    asked_ns = 0;
    atoll_evaluation_init(&e);
    atoll_referee_evaluate(referee, AHEAD, &order, b.prepared, b.compiled.object, b.compiled.object_length,
                           &e);
    referee->backend = usual;
    assert_true(asked_ns == 0 && e.draw_count > 2);
    assert_true(known->open_count[bench] >= 8);
    atoll_evaluation_fini(&e);
    known = atoll_referee_case(referee, IMPATIENT);
    known->answer_ns[bench] = 2e9;
    assert_int_equal(answers_ahead(IMPATIENT, 0), ATOLL_INPUT_SET_CHECK_POOL);
    assert_int_equal(answers_ahead(IMPATIENT, 1), 7);
}

static void test_device(void **state)
{
    const struct atoll_device_info *d = atoll_referee_device(referee);
    (void)state;
    assert_string_equal(d->backend, "cpu");
    assert_true(d->bandwidth_bytes_per_s > 1e8 && d->peak_flops[ATOLL_F32] > 1e8 &&
                d->peak_flops[ATOLL_F64] > 1e8);
    assert_true(d->empty_launch_ns > 0 && d->clock_resolution_ns > 0 && d->threads >= 1 && d->key != 0);
    assert_true(d->limits.memory_bytes > 1e8);
    assert_int_equal(atoll_referee_requalify(referee, NULL), 0);
}

static void count_row(void *context, const char *test, int passed, const char *detail)
{
    if (!passed)
        fail_msg("%s: %s", test, detail);
    ++*(int *)context;
}

static unsigned opened, opened_without_report;

/* What the compiler says comes with the object: a Triton image cannot be launched without it. */
static enum atoll_verdict open_with_report(struct atoll_referee *r, const struct atoll_prepared *prepared,
                                           const void *object, size_t length,
                                           struct atoll_loaded_candidate *ret_candidate, char *ret_detail)
{
    opened++;
    opened_without_report += !prepared->report || !*prepared->report;
    return atoll_backend_cpu.candidate_open(r, prepared, object, length, ret_candidate, ret_detail);
}

static void test_admission(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_backend watched = atoll_backend_cpu;
    const struct atoll_backend *own = referee->backend;
    int rows = 0;
    (void)state;
    watched.candidate_open = open_with_report;
    referee->backend = &watched;
    int rc = atoll_referee_admit(referee, NULL, task, 2, count_row, &rows, &err);
    referee->backend = own;
    assert_int_equal(rc, 0);
    assert_true(rows >= 15 && opened >= 1);
    assert_int_equal(opened_without_report, 0);
}

static void test_bad_arguments(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct built b = build(RIGHT_BODY);
    struct atoll_order order = {.evaluation = next_evaluation++};
    struct atoll_evaluation e;
    (void)state;
    atoll_evaluation_init(&e);
    atoll_referee_evaluate(referee, 7, &order, b.prepared, b.compiled.object, b.compiled.object_length, &e);
    assert_int_equal(e.verdict, ATOLL_V_INFRASTRUCTURE);
    assert_non_null(strstr(e.detail, "task number 7"));
    static _Alignas(64) const char object[] = "this is no object";
    atoll_referee_evaluate(referee, 0, &order, b.prepared, object, sizeof(object), &e);
    if (e.verdict != ATOLL_V_FORBIDDEN)
        fail_msg("%s: %s", atoll_verdict_name(e.verdict), e.detail);
    assert_int_equal(atoll_referee_add_task(referee, 0, task, &err), -1);
    assert_int_equal(err.code, ATOLL_E_EXISTS);
    atoll_evaluation_fini(&e);
}

/* The last one: a cancelled referee stays cancelled. */
static void test_cancel(void **state)
{
    struct built b = build(RIGHT_BODY);
    struct atoll_order order = {.evaluation = next_evaluation++};
    struct atoll_evaluation e;
    (void)state;
    atoll_evaluation_init(&e);
    atoll_referee_cancel(referee);
    atoll_referee_evaluate(referee, 0, &order, b.prepared, b.compiled.object, b.compiled.object_length, &e);
    assert_int_equal(e.verdict, ATOLL_V_INFRASTRUCTURE);
    assert_string_equal(e.detail, "cancelled");
    atoll_evaluation_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_device),
                                       cmocka_unit_test(test_verdicts),
                                       cmocka_unit_test(test_whole_deadline),
                                       cmocka_unit_test(test_early_drop),
                                       cmocka_unit_test(test_early_drop_of_several),
                                       cmocka_unit_test(test_draws_are_opened_one_by_one),
                                       cmocka_unit_test(test_answers_ahead),
                                       cmocka_unit_test(test_duels),
                                       cmocka_unit_test(test_final),
                                       cmocka_unit_test(test_paths),
                                       cmocka_unit_test(test_watched_final),
                                       cmocka_unit_test(test_beaten_floor),
                                       cmocka_unit_test(test_admission),
                                       cmocka_unit_test(test_bad_arguments),
                                       cmocka_unit_test(test_cancel)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
