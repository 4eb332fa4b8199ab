/* The suite of hostile kernels through the real referee: a line per kernel with what was expected and what came; what is
 * dear (bombs, kernels that cost device processes) only with ATOLL_TEST_HOSTILE=all.  Then the pairs of which one leaves a
 * letter for the other, and those that hide from a tool.  With ATOLL_TEST_HOSTILE_SUITE=DIR the seeds of every task in DIR
 * follow, for which there are no rows: none may gain 3 % on the task's first seed and on its honest_* ones. */
#include "tests/gpu/device.h"

#include <dirent.h>

#include "tests/gpu/referee.h"
#include "tests/support/hostile_cuda.h"

#define SANITIZE_NS    200e9
#define UNSTABLE_LIMIT 3

#define ATTEMPT_TASKS 32

static struct atoll_task *tasks[HOSTILE_CUDA_TASK_COUNT], *attempted[ATTEMPT_TASKS];
static uint32_t attempted_count;
static struct atoll_compiler *compiler;
static struct atoll_referee *referee;
static uint64_t next_evaluation = 1;
static size_t failed_count;

static void line(const char *name, unsigned wanted, enum atoll_verdict got, double ns, const char *detail,
                 int is_good)
{
    char text[256];
    failed_count += !is_good;
    printf("%s  %-30s expected %-28s got %-14s %9.1f us  %.160s\n", is_good ? "ok  " : "FAIL", name,
           cheats_verdicts_text(wanted, text, sizeof(text)), atoll_verdict_name(got), ns / 1e3, detail);
    fflush(stdout);
}

static void build_of(const struct atoll_task *task, const char *seed, struct cheats_built *b)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *source = hostile_cuda_source(task, seed);
    assert_non_null(source);
    if (cheats_build(source, task, atoll_referee_device(referee), compiler, b, &err) != 0)
        fail_msg("%s: %s", seed, err.text);
}

static void build(enum hostile_cuda_task task, const char *seed, struct cheats_built *b)
{
    build_of(tasks[task], seed, b);
}

/* Again while others disturb it. */
static void evaluate(uint32_t number, const struct cheats_built *b, struct atoll_evaluation *e)
{
    for (int i = 0; i < UNSTABLE_LIMIT; i++) {
        struct atoll_order order = {.evaluation = next_evaluation++, .baseline_ns = 1};
        atoll_evaluation_fini(e);
        atoll_referee_evaluate(referee, number, &order, b->prepared, b->compiled.object,
                               b->compiled.object_length, e);
        if (e->verdict != ATOLL_V_UNSTABLE)
            return;
    }
}

static void check_row(const struct hostile_cuda *h)
{
    struct cheats_built b;
    struct atoll_evaluation e;
    unsigned wanted = h->at & AT_FINAL ? CHEATS_VERDICT(CORRECT) : h->verdicts;
    build(h->task, h->seed, &b);
    if (b.at) {
        line(h->seed, wanted, b.verdict, 0, b.detail, b.at & h->at && wanted >> b.verdict & 1u);
        cheats_built_fini(&b);
        return;
    }
    atoll_evaluation_init(&e);
    evaluate((uint32_t)h->task, &b, &e);
    line(h->seed, wanted, e.verdict, atoll_evaluation_time_ns(&e, tasks[h->task]), e.detail,
         wanted >> e.verdict & 1u && (!h->at || h->at & (AT_DEVICE | AT_FINAL)));
    atoll_evaluation_fini(&e);
    cheats_built_fini(&b);
}

static void rows(void **state)
{
    const char *which = getenv("ATOLL_TEST_HOSTILE");
    int all = which && strcmp(which, "all") == 0;
    size_t failed = failed_count;
    (void)state;
    if (!referee)
        skip();
    for (size_t i = 0; i < HOSTILE_CUDA_COUNT; i++)
        if (all || !hostile_cuda[i].is_dear)
            check_row(&hostile_cuda[i]);
    assert_int_equal(failed_count, failed);
}

static void duel(enum atoll_duel_purpose purpose, enum hostile_cuda_task task, const char *elite,
                 const char *challenger, struct atoll_duel *ret)
{
    struct cheats_built a, b;
    struct atoll_order order = {.evaluation = next_evaluation++,
                                .kind = ATOLL_ORDER_DUEL,
                                .purpose = purpose,
                                .baseline_ns = 1,
                                .alpha = 0.01,
                                .margin = 0.02956, /* ln(1.03) */
                                .pair_limit = 12};
    build(task, elite, &a);
    build(task, challenger, &b);
    assert_true(!a.at && !b.at);
    atoll_referee_duel(referee, (uint32_t)task, &order, a.prepared, a.compiled.object,
                       a.compiled.object_length, b.prepared, b.compiled.object, b.compiled.object_length,
                       ret);
    cheats_built_fini(&a);
    cheats_built_fini(&b);
}

/* The defender leaves key and sum of each row; the challenger, where it finds them, reads three elements of a row.  Those with larger
 * frames leave marks, and whoever finds some is wrong; the larger the frame, the longer it takes. */
static void letters(void **state)
{
    static const struct {
        const char *elite, *challenger;
        int is_dear;
        enum hostile_cuda_task task;
    } pairs[] = {{"cheat_duel_local_leave", "honest_duel_local", 0, ROWSUM},
                 {"cheat_duel_local_leave", "cheat_duel_local_find", 0, ROWSUM},
                 {"honest_duel_local", "cheat_duel_local_find", 0, ROWSUM},
                 {"cheat_frame_3k", "cheat_frame_12k", 0, FRAMES},
                 {"cheat_frame_6k", "cheat_frame_6k", 0, FRAMES},
                 {"cheat_frame_12k", "cheat_frame_3k", 0, FRAMES},
                 {"cheat_frame_20k", "cheat_frame_6k", 1, FRAMES},
                 {"cheat_duel_far_leave", "cheat_duel_far_find", 1, ROWSUM}};
    const char *which = getenv("ATOLL_TEST_HOSTILE");
    size_t failed = failed_count;
    (void)state;
    if (!referee)
        skip();
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        struct atoll_duel d;
        char text[160];
        if (pairs[i].is_dear && !(which && strcmp(which, "all") == 0))
            continue;
        duel(ATOLL_DUEL_PROMOTION, pairs[i].task, pairs[i].elite, pairs[i].challenger, &d);
        snprintf(text, sizeof(text), "against %s: ratio %.3f, p %.3g, %u pairs; %.60s", pairs[i].elite,
                 d.ratio, d.p_value, d.pair_count, d.detail);
        int is_lost = strstr(d.detail, "the defender failed") != NULL; /* as one with too large a frame may */
        int is_clean = d.verdict == ATOLL_V_CORRECT && !is_lost;
        line(pairs[i].challenger, CHEATS_VERDICT(CORRECT), d.verdict, d.challenger_ns, text,
             (pairs[i].is_dear && is_lost) || (pairs[i].task == FRAMES ? is_clean : !d.better));
    }
    assert_int_equal(failed_count, failed);
}

/* A finalist that reads out of bounds in samples alone is seen where a tool sees samples. */
static void finalists(void **state)
{
    size_t failed = failed_count;
    (void)state;
    if (!referee)
        skip();
    for (size_t i = 0; i < HOSTILE_CUDA_COUNT; i++) {
        const struct hostile_cuda *h = &hostile_cuda[i];
        struct atoll_duel d;
        if (!(h->at & AT_FINAL))
            continue;
        duel(ATOLL_DUEL_FINAL, h->task, "naive", h->seed, &d);
        if (strstr(d.detail, "not run under compute-sanitizer")) {
            printf("SKIP  %s: %.200s\n", h->seed, d.detail);
            continue;
        }
        line(h->seed, h->verdicts, d.verdict, d.challenger_ns, d.detail,
             h->verdicts >> d.verdict & 1u && (d.verdict == ATOLL_V_CORRECT || strstr(d.detail, h->says)));
    }
    assert_int_equal(failed_count, failed);
}

/* One task of attempts.  Honest: its first seed, which is the baseline, and what says so. */
static void try_task(const struct atoll_task *task, uint32_t number)
{
    double best_ns = 0;
    for (int honest = 1; honest >= 0; honest--)
        for (size_t i = 0; i < task->seed_count; i++) {
            const char *name = task->seeds[i].name;
            struct cheats_built b;
            struct atoll_evaluation e;
            int is_honest = i == 0 || strncmp(name, "honest_", 7) == 0;
            if (is_honest != honest || strcmp(task->seeds[i].language, "cuda") != 0)
                continue;
            build_of(task, name, &b);
            atoll_evaluation_init(&e);
            if (b.at) {
                e.verdict = b.verdict;
                snprintf(e.detail, sizeof(e.detail), "%.1000s", b.detail);
            } else {
                evaluate(number, &b, &e);
            }
            double ns = e.verdict == ATOLL_V_CORRECT ? atoll_evaluation_time_ns(&e, task) : 0;
            if (is_honest && ns > 0 && (best_ns <= 0 || ns < best_ns))
                best_ns = ns;
            line(name, CHEATS_VERDICT(CORRECT), e.verdict, ns, e.detail,
                 is_honest ? e.verdict == ATOLL_V_CORRECT
                           : e.verdict != ATOLL_V_INFRASTRUCTURE && !(ns > 0 && ns < 0.97 * best_ns));
            atoll_evaluation_fini(&e);
            cheats_built_fini(&b);
        }
}

static void attempts(void **state)
{
    const char *suite = getenv("ATOLL_TEST_HOSTILE_SUITE");
    struct dirent **entries = NULL;
    size_t failed = failed_count;
    (void)state;
    if (!referee || !suite)
        skip();
    int count = scandir(suite, &entries, NULL, alphasort);
    for (int i = 0; i < count && attempted_count < ATTEMPT_TASKS; i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        char path[1024];
        uint32_t number = HOSTILE_CUDA_TASK_COUNT + attempted_count;
        if (entries[i]->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%.700s/%.255s", suite, entries[i]->d_name);
        struct atoll_task *task = attempted[attempted_count++] = atoll_task_load(path, &err);
        if (!task || atoll_referee_add_task(referee, number, task, &err) != 0)
            fail_msg("%s", err.text);
        try_task(task, number);
    }
    while (count > 0)
        free(entries[--count]);
    free(entries);
    assert_int_equal(failed_count, failed);
}

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_setup setup = gpu_setup();
    (void)state;
    setup.sanitize_deadline_ns = SANITIZE_NS;
    setup.compile_deadline_ns = 60e9;
    compiler = atoll_backend_cuda.compiler_create(&setup, 1, &err);
    if (compiler)
        referee = atoll_referee_create(&atoll_backend_cuda, &setup, compiler, &err);
    int rc = 0;
    for (enum hostile_cuda_task k = 0; referee && k < HOSTILE_CUDA_TASK_COUNT && rc == 0; k++) {
        tasks[k] = hostile_cuda_task_load(k, &err);
        rc = tasks[k] ? atoll_referee_add_task(referee, (uint32_t)k, tasks[k], &err) : -1;
    }
    if (!referee)
        printf("%s: %s\n", err.code == ATOLL_E_MISSING ? "SKIP" : "FAIL", err.text);
    else if (rc != 0)
        print_error("%s\n", err.text);
    return !referee && err.code != ATOLL_E_MISSING ? -1 : rc;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_referee_destroy(referee);
    atoll_compiler_destroy(compiler);
    for (enum hostile_cuda_task k = 0; k < HOSTILE_CUDA_TASK_COUNT; k++)
        atoll_task_destroy(tasks[k]);
    for (uint32_t k = 0; k < attempted_count; k++)
        atoll_task_destroy(attempted[k]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows), cmocka_unit_test(letters),
                                       cmocka_unit_test(finalists), cmocka_unit_test(attempts)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
