/* Rivals of a task are answered one by one, so that what follows from each is known. */
#include "tests/support/simulation.h"

#include <math.h>

#include "core/fitness.h"
#include "evolution/engine/state.h"

#define WIDE "\"A\": [1, 2, 3, 4, 5, 6, 7, 8], \"B\": [1, 2, 3, 4, 5, 6, 7, 8]"
#define TORCH                                                                                                \
    "{name: slow, torch: \"x * 1\", compile: default}, {torch: \"x.clone()\"}, "                             \
    "{name: best, torch: \"x.clone()\", compile: max-autotune}"

static const struct sim_seed seeds[] = {{"naive", NULL, NULL}, {"wide", WIDE, NULL}};

/* 0: with a baseline; 1: without any seed; 2: as 0, with two bench variants; 3: as 0, with one that is for another backend. */
static struct atoll_buffer tasks[4];

static int set_up(void **state)
{
    for (size_t i = 0; i < 4; i++)
        atoll_buffer_init(&tasks[i], 1u << 24);
    sim_task_with("rivals", seeds, 2, "baselines: [{name: naive, file: seeds/naive.c}, " TORCH "]\n",
                  &tasks[0]);
    sim_task_with("bare", seeds, 0, "baselines: [" TORCH "]\n", &tasks[1]);
    sim_task_with("pair", seeds, 2,
                  "  bench.large: {N: 65536}\nbaselines: [{name: naive, file: seeds/naive.c}, " TORCH "]\n",
                  &tasks[2]);
    sim_task_with(
        "there", seeds, 2,
        "  bench.gpu: {N: 65536, backend: cuda}\nbaselines: [{name: naive, file: seeds/naive.c}, " TORCH
        "]\n",
        &tasks[3]);
    return 0;
}

static int tear_down(void **state)
{
    for (size_t i = 0; i < 4; i++)
        atoll_buffer_fini(&tasks[i]);
    return 0;
}

/* Means are made of logarithms. */
static int is_near(double a, double b)
{
    return b > 0 ? fabs(a / b - 1) < 1e-9 : a == b;
}

static void say_torch(struct sim *s, uint32_t slots, uint32_t torch_slots)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.slots = slots;
    event.model_count = 1;
    event.models[0] = (struct atoll_capacity){"H200", slots, torch_slots, {0}};
    sim_step(s, &event);
}

static struct sim *begin(unsigned task, uint64_t evaluations, uint32_t torch_slots)
{
    struct atoll_search search;
    struct sim *s = malloc(sizeof(*s));
    assert_non_null(s);
    atoll_search_defaults(&search);
    search.islands = 1;
    search.noop_interval = 0;
    search.stagnation_limit = 0;
    search.evaluation_budget = evaluations;
    sim_start(s, 1, &search);
    sim_add_task(s, 0, &tasks[task]);
    say_torch(s, 2, torch_slots);
    return s;
}

static void end(struct sim *s)
{
    sim_check_replay(s);
    sim_reload(s);
    sim_fini(s);
    free(s);
}

/* The next answer of a loop that must not be endless. */
static void answer(struct sim *s)
{
    assert_true(s->order_count > 0 && s->event_count < 2000);
    sim_answer(s);
}

static struct atoll_task_status status_of(const struct sim *s)
{
    struct atoll_task_status status;
    assert_int_equal(atoll_engine_task_status(s->engine, 0, 0, &status), 0);
    return status;
}

/* Position of the first order of a type; the number of orders where there is none. */
static size_t order_of(const struct sim *s, enum atoll_decision_type type)
{
    size_t at = 0;
    while (at < s->order_count && s->orders[at].type != type)
        at++;
    return at;
}

static struct atoll_decision take(struct sim *s, enum atoll_decision_type type)
{
    size_t at = order_of(s, type);
    assert_true(at < s->order_count);
    return sim_take(s, at);
}

/* The order that is alone under way is of this type. */
static struct atoll_decision take_only(struct sim *s, enum atoll_decision_type type)
{
    assert_int_equal(s->order_count, 1);
    return take(s, type);
}

/* Evaluations and promotions are answered, of rivals and finals nothing, until nothing else is left. */
static void answer_candidates(struct sim *s)
{
    for (size_t at = 0; at < s->order_count;) {
        struct atoll_decision o = s->orders[at];
        if (o.type == ATOLL_DECIDE_EVALUATE) {
            sim_take(s, at);
            sim_answer_evaluate(s, &o);
        } else if (o.type == ATOLL_DECIDE_DUEL && o.purpose == ATOLL_DUEL_PROMOTION) {
            sim_take(s, at);
            sim_answer_duel(s, &o);
        } else {
            at++;
            continue;
        }
        at = 0;
    }
}

/* Eager, then the baseline with its time as a bar, then seeds and candidates, and one other rival at a time. */
static void the_order_of_things(void **state)
{
    struct sim *s = begin(0, 60, 1);
    struct atoll_decision eager = take_only(s, ATOLL_DECIDE_RIVAL);
    assert_int_equal(eager.rival, 1); /* the first that compiles nothing */
    assert_true(eager.limit_ns > 0);
    sim_reload(s);
    sim_rivalled(s, &eager, ATOLL_V_CORRECT, 1e6);
    struct atoll_decision baseline = take_only(s, ATOLL_DECIDE_EVALUATE);
    assert_true(is_near(baseline.incumbent_ns, 1e6) && is_near(baseline.baseline_ns, 0));
    sim_evaluated(s, &baseline, ATOLL_V_CORRECT, 7e7);
    assert_int_equal(s->counts[ATOLL_DECIDE_RIVAL], 1); /* candidates first */
    size_t seed = 0;
    while (seed < s->order_count && s->orders[seed].op != ATOLL_OPERATOR_SEED)
        seed++;
    assert_true(is_near(s->orders[seed].incumbent_ns, 1e6) && is_near(s->orders[seed].baseline_ns, 7e7));
    while (s->counts[ATOLL_DECIDE_RIVAL] < 2)
        answer(s);
    assert_true(status_of(s).evaluated >= 10 && !status_of(s).done);
    struct atoll_decision second = take(s, ATOLL_DECIDE_RIVAL);
    assert_int_equal(second.rival, 0);
    uint64_t evaluated = status_of(s).evaluated;
    while (status_of(s).evaluated < evaluated + 10)
        answer(s);
    assert_int_equal(s->counts[ATOLL_DECIDE_RIVAL], 2); /* one at a time, and the search goes on beside it */
    assert_true(is_near(status_of(s).rival_ns, 1e6) && status_of(s).rival == 1);
    sim_rivalled(s, &second, ATOLL_V_CORRECT, 9e5);
    struct atoll_decision third = take(s, ATOLL_DECIDE_RIVAL);
    assert_int_equal(third.rival, 2);
    sim_rivalled(s, &third, ATOLL_V_WRONG, 1);
    assert_true(is_near(status_of(s).rival_ns, 9e5) && status_of(s).rival == 0);
    assert_true(is_near(status_of(s).baseline_ns, 7e7));
    while (s->order_count)
        answer(s);
    struct atoll_task_status last = status_of(s);
    assert_int_equal(s->counts[ATOLL_DECIDE_RIVAL], 3);
    assert_int_equal(s->duels[ATOLL_DUEL_RIVAL], 1);
    assert_true(s->duels[ATOLL_DUEL_FINAL] >= 1);
    const struct atoll_decision *duel = &s->last[ATOLL_DECIDE_DUEL];
    assert_int_equal(duel->purpose, ATOLL_DUEL_RIVAL); /* who is the best of the finals */
    assert_true(atoll_id_equal(&duel->candidate, &last.best) && is_near(duel->incumbent_ns, 9e5) &&
                duel->rivals[1] == 0);
    expect_close(duel->alpha / (0.05 / 2 / 4), 1, 1e-9);
    expect_close(last.rival_ratio / (9e5 / sim_time(&last.best)), 1, 1e-9);
    assert_true(last.final_ratio > 0);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    end(s);
}

/* What no evaluator can measure is not ordered, and nothing is said of it: all is as if the task had none. */
static void without_torch_there_are_none(void **state)
{
    struct sim *s = begin(0, 30, 0);
    assert_int_equal(s->counts[ATOLL_DECIDE_RIVAL], 0);
    assert_true(is_near(s->orders[0].incumbent_ns, 0));
    while (s->order_count)
        answer(s);
    assert_int_equal(s->counts[ATOLL_DECIDE_RIVAL] + s->duels[ATOLL_DUEL_RIVAL], 0);
    assert_true(status_of(s).final_ratio > 0 && is_near(status_of(s).rival_ns, 0));
    end(s);
    s = begin(1, 30, 0); /* neither seed nor rival */
    assert_int_equal(status_of(s).reason, ATOLL_REASON_NO_BASELINE);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    end(s);
}

/* Where the baseline is wrong a rival is the yardstick: of fitness, of deadlines, and of the only final. */
static void a_rival_takes_the_baselines_place(void **state)
{
    static const int is_eager_correct[] = {1, 0};
    for (size_t i = 0; i < 2; i++) {
        struct sim *s = begin(0, 40, 2);
        struct atoll_decision eager = take_only(s, ATOLL_DECIDE_RIVAL), order;
        sim_rivalled(s, &eager, is_eager_correct[i] ? ATOLL_V_CORRECT : ATOLL_V_COMPILE_ERROR, 5e6);
        order = take_only(s, ATOLL_DECIDE_EVALUATE);
        assert_true(is_near(order.incumbent_ns, (is_eager_correct[i] ? 5e6 : 0)));
        sim_evaluated(s, &order, ATOLL_V_WRONG, 0);
        if (!is_eager_correct[i]) { /* then the others are tried, one by one */
            order = take_only(s, ATOLL_DECIDE_RIVAL);
            assert_int_equal(order.rival, 0);
            sim_rivalled(s, &order, ATOLL_V_TIMEOUT, 0);
            sim_reload(s);
            order = take_only(s, ATOLL_DECIDE_RIVAL);
            assert_int_equal(order.rival, 2);
            sim_rivalled(s, &order, ATOLL_V_CORRECT, 5e6);
        }
        assert_false(status_of(s).done);
        struct atoll_decision seed = take(s, ATOLL_DECIDE_EVALUATE);
        assert_int_equal(seed.op, ATOLL_OPERATOR_SEED);
        assert_true(is_near(seed.incumbent_ns, 5e6) &&
                    is_near(seed.baseline_ns, 0)); /* a seed may take its time */
        sim_evaluated(s, &seed, ATOLL_V_CORRECT, 2e6);
        assert_true(is_near(s->last[ATOLL_DECIDE_EVALUATE].baseline_ns, 5e6));
        assert_true(atoll_id_equal(&s->best[0], &seed.candidate)); /* the first that is right */
        expect_close(status_of(s).best_fitness,
                     atoll_fitness(s->search.fitness_form, ATOLL_V_CORRECT, 2e6, 5e6, 5e5), 1e-12);
        sim_reload(s);
        while (s->order_count)
            answer(s);
        struct atoll_task_status last = status_of(s);
        assert_int_not_equal(last.reason, ATOLL_REASON_NO_BASELINE);
        assert_int_equal(s->duels[ATOLL_DUEL_FINAL], 0);
        assert_int_equal(s->duels[ATOLL_DUEL_RIVAL], 1);
        assert_true(atoll_id_is_zero(&last.baseline) && is_near(last.baseline_ns, 0));
        expect_close(last.rival_ratio / (last.rival_ns / sim_time(&last.best)), 1, 1e-9);
        assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
        end(s);
    }
}

/* No baseline, and no rival that is right: only then is there no yardstick. */
static void without_both_there_is_no_baseline(void **state)
{
    struct sim *s = begin(0, 40, 1);
    struct atoll_decision order = take_only(s, ATOLL_DECIDE_RIVAL);
    sim_rivalled(s, &order, ATOLL_V_WRONG, 0);
    order = take_only(s, ATOLL_DECIDE_EVALUATE);
    sim_evaluated(s, &order, ATOLL_V_WRONG, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_false(status_of(s).done);
        order = take_only(s, ATOLL_DECIDE_RIVAL);
        sim_rivalled(s, &order, ATOLL_V_COMPILE_ERROR, 0);
    }
    assert_int_equal(status_of(s).reason, ATOLL_REASON_NO_BASELINE);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    end(s);
}

/* Sources come from outside; the first is the best, and its final is against the rival. */
static void a_task_without_seeds_has_a_rival(void **state)
{
    struct sim *s = begin(1, 10, 1);
    struct atoll_decision order = take_only(s, ATOLL_DECIDE_RIVAL);
    assert_int_equal(order.rival, 0); /* there is nothing for eager to go before */
    sim_source(
        s, 0, 0,
        "/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N\", \"args\": "
        "[\"x\", \"y\"]}]} */ void f(long b, long e, const float *x, float *y) { }");
    assert_int_equal(s->order_count, 0);
    sim_rivalled(s, &order, ATOLL_V_CORRECT, 3e6);
    order = take(s, ATOLL_DECIDE_EVALUATE);
    assert_true(is_near(order.baseline_ns, 3e6));
    sim_evaluated(s, &order, ATOLL_V_CORRECT, 1e6);
    while (s->order_count)
        answer(s);
    assert_int_equal(s->duels[ATOLL_DUEL_RIVAL], 1);
    assert_true(status_of(s).rival_ratio > 0 && status_of(s).final_ratio == 0);
    assert_int_equal(status_of(s).reason, ATOLL_REASON_EXHAUSTED);
    end(s);
}

/* What is nobody's fault, or the machine's, is tried again; three times, and not for ever. */
static void failures_of_ours_are_tried_again(void **state)
{
    static const enum atoll_verdict verdicts[] = {ATOLL_V_INFRASTRUCTURE, ATOLL_V_UNSTABLE};
    for (size_t i = 0; i < 2; i++) {
        struct sim *s = begin(0, 40, 1);
        for (unsigned try = 0; try < 4; try++) {
            assert_int_equal(s->order_count, 1);
            assert_int_equal(s->orders[0].rival, 1);
            sim_fail(s, 0, verdicts[i]);
        }
        assert_int_equal(s->retries, 3);
        assert_int_equal(s->counts[ATOLL_DECIDE_ABANDON], i == 0);
        take_only(s, ATOLL_DECIDE_EVALUATE);
        sim_fini(s);
        free(s);
    }
}

/* Of an answer that fits no order, or says what cannot be, nothing is believed. */
static void hostile_answers_are_ignored(void **state)
{
    struct sim *s = begin(0, 40, 1);
    struct atoll_decision order = s->orders[0], other = order;
    struct atoll_engine_status before, after;
    atoll_engine_status(s->engine, &before);
    other.rival = 0;
    sim_rivalled(s, &other, ATOLL_V_CORRECT, 1000);
    other = order;
    other.task = 1;
    sim_rivalled(s, &other, ATOLL_V_CORRECT, 1000);
    other = order;
    other.evaluation += 1;
    sim_rivalled(s, &other, ATOLL_V_CORRECT, 1000);
    sim_evaluated(s, &order, ATOLL_V_CORRECT, 1000);
    atoll_engine_status(s->engine, &after);
    assert_int_equal(after.ignored, before.ignored + 4);
    assert_true(is_near(status_of(s).rival_ns, 0));
    sim_take(s, 0);
    sim_rivalled(s, &order, ATOLL_V_CORRECT, 0); /* right in no time: it counts for nothing */
    assert_true(is_near(status_of(s).rival_ns, 0));
    sim_rivalled(s, &order, ATOLL_V_CORRECT, 1000); /* twice */
    atoll_engine_status(s->engine, &after);
    assert_int_equal(after.ignored, before.ignored + 5);
    end(s);
}

/* Evaluators without torch cannot answer: the order is given up, and made again when one with torch comes. */
static void torch_goes_and_comes(void **state)
{
    struct sim *s = begin(0, 40, 1);
    assert_int_equal(order_of(s, ATOLL_DECIDE_RIVAL), 0);
    say_torch(s, 0, 0); /* nobody is there: it may come back */
    assert_int_equal(s->order_count, 1);
    say_torch(s, 2, 0);
    assert_int_equal(s->counts[ATOLL_DECIDE_ABANDON], 1);
    struct atoll_decision baseline = take_only(s, ATOLL_DECIDE_EVALUATE);
    sim_evaluated(s, &baseline, ATOLL_V_CORRECT, 7e6);
    say_torch(s, 2, 2);
    while (order_of(s, ATOLL_DECIDE_RIVAL) == s->order_count)
        answer(s);
    struct atoll_decision rival = take(s, ATOLL_DECIDE_RIVAL);
    sim_rivalled(s, &rival, ATOLL_V_CORRECT, 1e6);
    while (s->order_count)
        answer(s);
    assert_int_equal(s->duels[ATOLL_DUEL_RIVAL], 1);
    end(s);
}

/* A new attempt sends again what was not answered, a rival too; so does an extension of what a stop gave up. */
static void resume_and_extension_send_it_again(void **state)
{
    struct sim *s = begin(0, 40, 1);
    uint64_t number = s->orders[0].evaluation;
    sim_simple(s, ATOLL_EVENT_RESUME);
    assert_int_equal(s->last[ATOLL_DECIDE_REDISPATCH].evaluation, number);
    assert_true(atoll_decision_is_about_rival(&s->last[ATOLL_DECIDE_REDISPATCH]));
    say_torch(s, 2, 1);
    assert_int_equal(s->order_count, 1);
    struct atoll_decision order = take(s, ATOLL_DECIDE_RIVAL);
    sim_rivalled(s, &order, ATOLL_V_CORRECT, 3e6);
    while (order_of(s, ATOLL_DECIDE_RIVAL) == s->order_count)
        answer(s);
    number = s->orders[order_of(s, ATOLL_DECIDE_RIVAL)].evaluation;
    s->engine->search.wall_budget_ns = 1; /* time is over at once */
    s->now_ns += 10;
    sim_simple(s, ATOLL_EVENT_TICK);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    assert_int_equal(s->order_count, 0);
    sim_reload(s);
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_EXTEND);
    event.extension.evaluations = 20;
    s->counts[ATOLL_DECIDE_STOP] = 0;
    sim_step(s, &event);
    sim_simple(s, ATOLL_EVENT_RESUME);
    say_torch(s, 2, 1);
    size_t at = sim_order_at(s, number);
    assert_true(at < s->order_count && s->orders[at].type == ATOLL_DECIDE_RIVAL);
    while (s->order_count)
        answer(s);
    assert_true(status_of(s).rival_ratio > 0);
    assert_int_equal(s->duels[ATOLL_DUEL_RIVAL], 1);
    /* Once more: who met the rival does not meet it again, who is found since does. */
    struct atoll_id best = status_of(s).best;
    s->counts[ATOLL_DECIDE_STOP] = 0;
    sim_step(s, &event);
    sim_simple(s, ATOLL_EVENT_RESUME);
    say_torch(s, 2, 1);
    while (s->order_count)
        answer(s);
    struct atoll_id now = status_of(s).best;
    assert_int_equal(s->duels[ATOLL_DUEL_RIVAL], 1 + !atoll_id_equal(&best, &now));
    sim_reload(s);
    sim_fini(s);
    free(s);
}

/* The rival's final proves the candidate wrong: it is the best no more, and the next one has its turn. */
static void who_proves_wrong_against_the_rival_goes(void **state)
{
    struct sim *s = begin(0, 30, 1);
    struct atoll_id wrong;
    while (!s->duels[ATOLL_DUEL_RIVAL])
        answer(s);
    size_t at = order_of(s, ATOLL_DECIDE_DUEL);
    assert_true(at < s->order_count);
    wrong = s->orders[at].candidate;
    struct atoll_decision duel = sim_take(s, at);
    sim_duelled(s, &duel, ATOLL_V_WRONG, 0, 0);
    assert_int_equal(s->counts[ATOLL_DECIDE_NOT_CONFIRMED] > 0, 1);
    while (s->order_count)
        answer(s);
    struct atoll_task_status last = status_of(s);
    assert_false(atoll_id_equal(&last.best, &wrong));
    assert_int_equal(s->duels[ATOLL_DUEL_RIVAL], 2);
    assert_true(last.rival_ratio > 0);
    end(s);
}

/* Rivals are measured before the finals, and charged apart from candidates: they are no measure of what follows. */
static void rivals_come_before_finals(void **state)
{
    struct sim *s = begin(0, 5, 1); /* over before the others' turn */
    struct atoll_decision order = take_only(s, ATOLL_DECIDE_RIVAL);
    sim_rivalled(s, &order, ATOLL_V_CORRECT, 3e6);
    answer_candidates(s);
    order = take_only(s, ATOLL_DECIDE_RIVAL);
    assert_int_equal(status_of(s).done, 1);
    assert_int_equal(s->duels[ATOLL_DUEL_FINAL], 0);
    sim_rivalled(s, &order, ATOLL_V_CORRECT, 2e6);
    order = take_only(s, ATOLL_DECIDE_RIVAL);
    sim_rivalled(s, &order, ATOLL_V_CORRECT, 1e6);
    struct atoll_engine_status status;
    atoll_engine_status(s->engine, &status);
    expect_close(status.device_ns / ((30 + 5 + 2 * (double)s->engine->duels) * s->occupied_ns), 1, 1e-9);
    while (s->order_count)
        answer(s);
    assert_true(is_near(status_of(s).rival_ns, 1e6) && status_of(s).rival == 2);
    end(s);
}

/* What one may take leaves the finals their share of the time. */
static void rivals_leave_time_for_finals(void **state)
{
    struct sim *s = begin(0, 5, 1);
    struct atoll_decision order = take_only(s, ATOLL_DECIDE_RIVAL);
    assert_true(order.limit_ns == 5.4e11);
    sim_rivalled(s, &order, ATOLL_V_CORRECT, 3e6);
    s->engine->search.wall_budget_ns = 1e11;
    answer_candidates(s);
    order = take_only(s, ATOLL_DECIDE_RIVAL);
    expect_close((order.limit_ns + (double)s->now_ns) / (1e11 * (1 - s->search.finals_share)), 1, 1e-6);
    sim_fini(s);
    free(s);
}

/* Rivals that nobody has time for are left out. */
static void rivals_need_time(void **state)
{
    struct sim *s = begin(0, 5, 1);
    struct atoll_decision order = take_only(s, ATOLL_DECIDE_RIVAL);
    sim_rivalled(s, &order, ATOLL_V_CORRECT, 3e6);
    s->engine->search.wall_budget_ns = 2e10; /* less than compiling is thought to take */
    answer_candidates(s);
    assert_int_equal(s->counts[ATOLL_DECIDE_RIVAL], 1);
    while (s->order_count)
        answer(s);
    assert_int_equal(s->duels[ATOLL_DUEL_RIVAL], 1); /* eager is the rival */
    sim_fini(s);
    free(s);
}

/* Medians at both bench variants. */
static void time_both(struct atoll_timing *timings, double first_ns, double second_ns)
{
    for (unsigned i = 0; i < 2; i++) {
        struct atoll_summary *t = &timings[i].summary;
        timings[i].variant = 1 + i;
        t->min = t->p10 = t->median = t->p90 = t->max = t->lo95 = t->hi95 = i ? second_ns : first_ns;
    }
}

static void rival_both(struct sim *s, const struct atoll_decision *order, double first_ns, double second_ns)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_RIVAL);
    event.rival.evaluation = order->evaluation;
    event.rival.task = order->task;
    event.rival.number = order->rival;
    event.rival.timing_count = 2;
    time_both(event.rival.timings, first_ns, second_ns);
    sim_step(s, &event);
    atoll_event_fini(&event);
}

/* A seed that takes a second at both variants; whether either was given up early. */
static void evaluate_both(struct sim *s, const struct atoll_decision *order, int is_first_dropped,
                          int is_second_dropped)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_EVALUATED);
    event.evaluation.evaluation = order->evaluation;
    event.evaluation.candidate = order->candidate;
    event.evaluation.verdict = ATOLL_V_CORRECT;
    event.evaluation.level = 6;
    event.evaluation.timing_count = 2;
    time_both(event.evaluation.timings, 1e9, 1e9);
    event.evaluation.timings[0].flags = is_first_dropped ? ATOLL_TIMING_DROPPED_EARLY : 0;
    event.evaluation.timings[1].flags = is_second_dropped ? ATOLL_TIMING_DROPPED_EARLY : 0;
    sim_step(s, &event);
    atoll_event_fini(&event);
}

static void expect_bars(const struct sim *s, const struct atoll_decision *order, double first_ns,
                        double second_ns)
{
    double bars_ns[ATOLL_TASK_VARIANT_LIMIT];
    atoll_engine_bars(s->engine, order, bars_ns);
    for (unsigned v = 0; v < ATOLL_TASK_VARIANT_LIMIT; v++)
        assert_true(bars_ns[v] == (v == 1 ? first_ns : v == 2 ? second_ns : 0.0));
}

/* Seeds are held against the fastest rival at each variant, and nothing else is: what that was when they are sent. */
static void seeds_have_a_bar_at_each_variant(void **state)
{
    struct sim *s = begin(2, 40, 1);
    struct atoll_decision eager = take_only(s, ATOLL_DECIDE_RIVAL);
    expect_bars(s, &eager, 0, 0);
    rival_both(s, &eager, 1e6, 8e6);
    struct atoll_decision baseline = take_only(s, ATOLL_DECIDE_EVALUATE), other = baseline;
    expect_bars(s, &baseline, 1e6, 8e6);
    sim_reload(s);
    expect_bars(s, &baseline, 1e6, 8e6);
    other.incumbent_ns = 0; /* without racing everything is measured to its end */
    expect_bars(s, &other, 0, 0);
    other = baseline;
    other.op = ATOLL_OPERATOR_TUNE;
    expect_bars(s, &other, 0, 0);
    other = baseline;
    other.type = ATOLL_DECIDE_DUEL;
    expect_bars(s, &other, 0, 0);
    other = baseline;
    other.model = 1; /* of which nothing is known */
    expect_bars(s, &other, 0, 0);
    evaluate_both(s, &baseline, 1, 1);
    while (s->counts[ATOLL_DECIDE_RIVAL] < 2)
        answer(s);
    struct atoll_decision second = take(s, ATOLL_DECIDE_RIVAL);
    rival_both(s, &second, 2e6, 3e6);
    expect_bars(s, &baseline, 1e6, 3e6);
    end(s);
}

/* A seed is held against the best that is there, or the fastest rival where that is faster. */
static void a_seed_is_held_against_the_best(void **state)
{
    static const struct {
        unsigned task;
        double rival_ns; /* at each variant; 0: none */
    } rows[] = {{0, 0}, {2, 0}, {3, 0}, {0, 1e6}, {0, 1e12}, {2, 1e6}, {2, 1e12}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        double rival_ns = rows[i].rival_ns;
        struct sim *s = begin(rows[i].task, 40, rival_ns > 0);
        if (rival_ns > 0) {
            struct atoll_decision rival = take_only(s, ATOLL_DECIDE_RIVAL);
            rival_both(s, &rival, rival_ns, rival_ns);
        }
        struct atoll_decision baseline = take_only(s, ATOLL_DECIDE_EVALUATE);
        assert_true(
            is_near(baseline.incumbent_ns, rival_ns)); /* without one with care: it is the yardstick */
        evaluate_both(s, &baseline, 0, 0);
        double best_ns = s->engine->individuals.items[s->engine->tasks[0].best].time_ns;
        double known_ns = rival_ns > 0 ? fmin(rival_ns, best_ns) : best_ns;
        struct atoll_decision seed = take(s, ATOLL_DECIDE_EVALUATE);
        assert_int_equal(seed.op, ATOLL_OPERATOR_SEED);
        assert_true(best_ns > 0 && is_near(seed.incumbent_ns, known_ns));
        expect_bars(s, &seed, rival_ns, rival_ns);
        end(s);
    }
}

/* A template's time is a bound where it was given up at every variant; elsewhere it may be ahead, and counts as measured. */
static void a_bound_is_a_bound_everywhere(void **state)
{
    for (int is_second_dropped = 0; is_second_dropped < 2; is_second_dropped++) {
        struct sim *s = begin(2, 40, 1);
        struct atoll_decision order = take_only(s, ATOLL_DECIDE_RIVAL);
        rival_both(s, &order, 1e6, 8e6);
        order = take_only(s, ATOLL_DECIDE_EVALUATE);
        evaluate_both(s, &order, 1, 1);
        order = take(s, ATOLL_DECIDE_EVALUATE);
        assert_int_equal(order.op, ATOLL_OPERATOR_SEED);
        evaluate_both(s, &order, 1, is_second_dropped);
        uint32_t wide = atoll_sources_find(&s->engine->sources, &order.source, ATOLL_NONE);
        const struct atoll_source *source = &s->engine->sources.items[wide];
        assert_non_null(source->tune);
        assert_int_equal(isfinite(atoll_tune_bar_ns(source->tune)) != 0, !is_second_dropped);
        end(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_things),
        cmocka_unit_test(without_torch_there_are_none),
        cmocka_unit_test(a_rival_takes_the_baselines_place),
        cmocka_unit_test(without_both_there_is_no_baseline),
        cmocka_unit_test(a_task_without_seeds_has_a_rival),
        cmocka_unit_test(failures_of_ours_are_tried_again),
        cmocka_unit_test(hostile_answers_are_ignored),
        cmocka_unit_test(torch_goes_and_comes),
        cmocka_unit_test(resume_and_extension_send_it_again),
        cmocka_unit_test(who_proves_wrong_against_the_rival_goes),
        cmocka_unit_test(rivals_come_before_finals),
        cmocka_unit_test(rivals_leave_time_for_finals),
        cmocka_unit_test(rivals_need_time),
        cmocka_unit_test(seeds_have_a_bar_at_each_variant),
        cmocka_unit_test(a_seed_is_held_against_the_best),
        cmocka_unit_test(a_bound_is_a_bound_everywhere),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
