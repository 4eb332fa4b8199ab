/* The rounds of a comparison on a device that this test plays: what is disturbed is played again on the same input sets. */
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/referee/state.h"
#include "mpi-eval/referee/trial.h"

#define SEEN_LIMIT 400

/* Every trial of a bench variant, in order. */
static struct seen {
    uint64_t seed, placement;
    int is_challenger, is_disturbed;
} seen[SEEN_LIMIT];
static size_t seen_count;
static unsigned held, asked; /* answers that are held now, and that were asked for */
static const struct atoll_prepared *challenger;

static int device_open(struct atoll_referee *referee, struct atoll_err *err)
{
    (void)referee;
    (void)err;
    return 0;
}

static void device_close(struct atoll_referee *referee)
{
    (void)referee;
}

static int case_open(struct atoll_referee *referee, struct atoll_case *known, struct atoll_err *err)
{
    (void)referee;
    (void)known;
    (void)err;
    return 0;
}

static void case_close(struct atoll_referee *referee, struct atoll_case *known)
{
    (void)referee;
    (void)known;
}

static enum atoll_verdict candidate_open(struct atoll_referee *referee, const struct atoll_prepared *prepared,
                                         const void *object, size_t object_length,
                                         struct atoll_loaded_candidate *ret_candidate, char *ret_detail)
{
    (void)referee;
    (void)object;
    (void)object_length;
    (void)ret_detail;
    ret_candidate->prepared = prepared;
    return ATOLL_V_CORRECT;
}

static void candidate_close(struct atoll_referee *referee, struct atoll_loaded_candidate *candidate)
{
    (void)referee;
    (void)candidate;
}

static void *hold(struct atoll_referee *referee, struct atoll_case *known,
                  const struct atoll_input_set *input_set, int need_full, struct atoll_err *err)
{
    (void)referee;
    (void)need_full;
    (void)err;
    held++;
    asked += known->task->variants[input_set->variant].kind == ATOLL_VARIANT_BENCH;
    return malloc(1);
}

static void release(struct atoll_referee *referee, void *answer)
{
    (void)referee;
    held--;
    free(answer);
}

/* The challenger takes half as long; others disturb every fifth sample. */
static void trial(struct atoll_referee *referee, struct atoll_case *known,
                  struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                  struct atoll_trial *ret_trial)
{
    (void)referee;
    int is_challenger = candidate->prepared == challenger;
    double apart = 1 + (double)(order->input_set->seed % 8) / 100;
    *ret_trial = (struct atoll_trial){.verdict = ATOLL_V_CORRECT, .ns = (is_challenger ? 1e6 : 2e6) * apart};
    if (known->task->variants[order->input_set->variant].kind != ATOLL_VARIANT_BENCH)
        return;
    assert_in_range(seen_count, 0, SEEN_LIMIT - 1);
    ret_trial->disturbed = seen_count % 5 == 4;
    seen[seen_count++] =
        (struct seen){order->input_set->seed, order->placement, is_challenger, ret_trial->disturbed};
}

static const struct atoll_backend played = {.name = "played",
                                            .open = device_open,
                                            .close = device_close,
                                            .case_open = case_open,
                                            .case_close = case_close,
                                            .candidate_open = candidate_open,
                                            .candidate_close = candidate_close,
                                            .hold = hold,
                                            .release = release,
                                            .trial = trial};

static void what_is_disturbed_is_played_again_on_the_same_inputs(void **state)
{
    static const char source[] =
        "/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"M\", \"args\": "
        "[\"x\", \"w\", \"y\"]}]} */\nvoid f(long b, long e, float *x, const float *w, float *y)\n{\n}\n";
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_setup setup = {.secret = {1, 2, 3}, .full_compares = 5};
    struct atoll_order order = {.evaluation = 7, .alpha = 0.05, .purpose = ATOLL_DUEL_PROMOTION};
    struct atoll_order_candidate c = {.language = "c", .source = source};
    struct atoll_task *task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", &err);
    struct atoll_referee *referee = atoll_referee_create(&played, &setup, NULL, &err);
    struct atoll_prepared *elite = atoll_prepared_create(task, &atoll_backend_cpu, &c, NULL, &err),
                          *better = atoll_prepared_create(task, &atoll_backend_cpu, &c, NULL, &err);
    struct atoll_duel d;
    (void)state;
    assert_true(elite && better && referee && atoll_referee_add_task(referee, 0, task, &err) == 0);
    challenger = better;
    atoll_referee_duel(referee, 0, &order, elite, NULL, 0, better, NULL, 0, &d);
    assert_int_equal(d.verdict, ATOLL_V_CORRECT);
    assert_true(d.better);

    size_t kept = 0, replaced = 0;
    for (size_t i = 0; i < seen_count; i += 2) {
        const struct seen *one = &seen[i], *other = &seen[i + 1];
        int is_disturbed = one->is_disturbed || other->is_disturbed;
        assert_true(one->seed == other->seed && one->placement == other->placement);
        assert_int_equal(one->is_challenger, kept % 2); /* a round that is played again begins as it did */
        assert_true(i == 0 || one->placement != seen[i - 1].placement);
        if (i + 2 < seen_count)
            assert_int_equal(seen[i + 2].seed == one->seed, is_disturbed);
        kept += is_disturbed ? 0 : 1;
        replaced += is_disturbed ? 1 : 0;
    }
    assert_int_equal(kept, d.pair_count);
    assert_true(replaced > 2);
    assert_int_equal(asked, kept);
    assert_int_equal(held, 0);
    atoll_prepared_destroy(elite);
    atoll_prepared_destroy(better);
    atoll_referee_destroy(referee);
    atoll_task_destroy(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_disturbed_is_played_again_on_the_same_inputs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
