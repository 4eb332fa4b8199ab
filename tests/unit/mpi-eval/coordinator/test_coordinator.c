/* Whole campaigns against the evaluators of fake_peers.h: they answer orders as the null backend does,
 * and misbehaves as a case asks. */
#include "tests/unit/mpi-eval/coordinator/campaign_run.h"

#include <math.h>

/* Each evaluation number at most once; returns how many. */
static unsigned acks_count(void **state)
{
    static unsigned char seen[100000];
    FILE *file = fopen(path_of(state, "acks"), "r");
    unsigned count = 0, number;
    memset(seen, 0, sizeof(seen));
    while (file && fscanf(file, "%u", &number) == 1) {
        assert_true(number < sizeof(seen));
        assert_int_equal(seen[number], 0);
        seen[number] = 1;
        count++;
    }
    if (file)
        fclose(file);
    return count;
}

/* A ratio of a final comparison has its interval, also when an earlier attempt made it.  Returns how many there are. */
static unsigned intervals_check(void **state)
{
    struct atoll_campaign_progress s;
    unsigned count = 0;
    assert_int_equal(atoll_campaign_progress_read(path_of(state, "c"), &s, NULL), 0);
    assert_true(s.has_hint);
    for (size_t i = 0; i < s.hint.task_count; i++) {
        const struct atoll_campaign_progress_task *t = &s.hint.tasks[i];
        if (!(t->final_ratio > 1)) /* of a baseline that stayed the best there is none */
            continue;
        assert_true(fabs(t->final_lo / t->final_ratio - 0.75) < 1e-6);
        assert_true(fabs(t->final_hi / t->final_ratio - 1.5) < 1e-6);
        assert_true(t->final_pairs > 0);
        count++;
    }
    atoll_campaign_progress_fini(&s);
    return count;
}

/* progress.json and the journal say together what the journals alone say: every result that was acknowledged. */
static void progress_check(void **state, enum atoll_campaign_progress_phase phase)
{
    struct atoll_campaign_progress with, without;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_campaign_progress_read(path_of(state, "c"), &with, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(with.phase, phase);
    assert_int_equal(with.evaluated + with.duelled, acks_count(state));
    assert_true(with.has_hint);
    assert_string_equal(with.hint.attempt, with.attempt);
    assert_int_equal(with.hint.is_stopped, phase == ATOLL_CAMPAIGN_PROGRESS_ENDED);
    assert_int_equal(unlink(path_of(state, "c/" ATOLL_CAMPAIGN_PROGRESS_FILE)), 0);
    assert_int_equal(atoll_campaign_progress_read(path_of(state, "c"), &without, &err), 0);
    assert_int_equal(without.phase, phase);
    assert_int_equal(without.evaluated, with.evaluated);
    assert_int_equal(without.duelled, with.duelled);
    if (phase == ATOLL_CAMPAIGN_PROGRESS_ENDED)
        assert_true(with.walked_bytes < without.walked_bytes / 2);
    atoll_campaign_progress_fini(&with);
    atoll_campaign_progress_fini(&without);
}

static void replay_check(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_replay_report report;
    struct atoll_id digest;
    if (atoll_replay(path_of(state, "c"), NULL, NULL, &report, NULL, &digest, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(report.event_count, report.decided_count);
    assert_int_equal(report.ending, ATOLL_JOURNAL_CLOSED);
    progress_check(state, strcmp(report.reason, ATOLL_CLOSE_DRAINED) == 0 ? ATOLL_CAMPAIGN_PROGRESS_OPEN
                                                                          : ATOLL_CAMPAIGN_PROGRESS_ENDED);
}

static void test_campaigns(void **state)
{
    static const struct {
        enum mischief mischief;
        unsigned min_ignored, min_bad, min_lost;
    } cases[] = {
        {HONEST, 0, 0, 0},         {DUPLICATES, 50, 0, 0},   {GARBAGE, 0, 15, 0},  {GARBAGE_FLOOD, 0, 16, 1},
        {UNKNOWN_TYPES, 0, 15, 0}, {OTHER_RESULTS, 0, 1, 0}, {LOST_ONCE, 0, 0, 1}, {LOST_FOR_GOOD, 0, 0, 1},
        {LATE, 0, 0, 1},           {GREEDY, 0, 6, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct atoll_coordinator_result result;
        struct atoll_err err = ATOLL_ERR_INIT;
        campaign_make(state);
        if (campaign_run(state, cases[i].mischief, 0, &result, &err) != 0)
            fail_msg("case %zu: %s", i, err.text);
        assert_true(result.is_finished && !result.was_finished);
        assert_true(result.evaluated >= BUDGET);
        assert_int_equal(acks_count(state), result.evaluated + result.duelled);
        assert_true(result.ignored >= cases[i].min_ignored);
        assert_true(result.bad_messages >= cases[i].min_bad);
        assert_true(result.peers_lost >= cases[i].min_lost);
        if (cases[i].mischief == HONEST)
            assert_true(result.ignored == 0 && result.bad_messages == 0 && result.peers_lost == 0);
        replay_check(state);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* Each model has a population of its own: both measure the seeds, in one campaign and one journal. */
static void test_models_are_kept_apart(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct peers *p = peers_create(UNLIKE);
    campaign_make(state);
    if (campaign_run_with(state, p, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.is_finished);
    assert_true(p->orders[0] > 4 && p->orders[1] > 4);
    assert_true(seen_by_both(p) >= 2);
    assert_int_equal(acks_count(state), result.evaluated + result.duelled);
    replay_check(state);
    peers_destroy(p);
}

/* What only a lost device could have measured is given up; the rest comes to its end. */
static void test_a_model_is_lost(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    campaign_make(state);
    if (campaign_run(state, UNLIKE_LOST, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.is_finished);
    assert_int_equal(result.peers_lost, 1);
    replay_check(state);
}

/* Rivals go to the one evaluator with torch, whatever happens to it; what was answered is journaled before it is acknowledged,
 * and a replay derives every order of one again. */
static void test_rivals(void **state)
{
    static const enum mischief cases[] = {RIVALS, RIVALS_LOST};
    for (size_t i = 0; i < 2; i++) {
        struct atoll_coordinator_result result;
        struct atoll_replay_report report;
        struct atoll_replayed replayed;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct peers *p = peers_create(cases[i]);
        campaign_make(state);
        if (campaign_run_with(state, p, 0, &result, &err) != 0)
            fail_msg("%s", err.text);
        assert_true(result.is_finished);
        assert_int_equal(result.bad_messages, cases[i] == RIVALS);
        assert_int_equal(result.peers_lost, cases[i] == RIVALS_LOST);
        size_t rivals = 0;
        for (unsigned t = 0; t < 2; t++)
            rivals += p->tasks[t]->rival_count;
        assert_true(rivals > 2 && p->rivals == rivals + 1); /* the first had to be sent twice */
        assert_true(p->bars > 0);
        assert_int_equal(acks_count(state), result.evaluated + result.duelled + rivals);
        if (atoll_replay(path_of(state, "c"), NULL, NULL, &report, NULL, NULL, &err) != 0)
            fail_msg("%s", err.text);
        struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, NULL);
        assert_int_equal(atoll_replay_latest(campaign, &replayed, &err), 0);
        for (uint32_t t = 0; t < 2; t++) {
            struct atoll_task_status s;
            assert_int_equal(atoll_engine_task_status(replayed.engine, t, 0, &s), 0);
            assert_true(s.rival_ns > 0 && s.rival_ratio > 0 && s.rival + 1 == p->tasks[t]->rival_count);
        }
        atoll_replayed_fini(&replayed);
        atoll_campaign_close(campaign);
        peers_destroy(p);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* Nobody answers asks: the tuner does what they were for, whatever the strategy, and the campaign ends. */
static void test_asks_without_an_operator(void **state)
{
    for (uint32_t strategy = 0; strategy < ATOLL_STRATEGY_COUNT; strategy++) {
        struct atoll_coordinator_result result;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_search search = search_of();
        search.strategy = (enum atoll_strategy_kind)strategy;
        search.ask_share = 1;
        campaign_make_with(state, &search);
        if (campaign_run(state, HONEST, 0, &result, &err) != 0)
            fail_msg("strategy %u: %s", strategy, err.text);
        assert_true(result.is_finished);
        replay_check(state);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* A campaign that has ended goes on with more budget, whatever its strategy, and what was acknowledged is not done again. */
static void test_extended(void **state)
{
    for (uint32_t strategy = 0; strategy < ATOLL_STRATEGY_COUNT; strategy++) {
        struct atoll_coordinator_result result;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_search search = search_of();
        const struct atoll_extension by = {.evaluations = 15};
        uint64_t evaluated = 0, intervals = 0;
        search.strategy = (enum atoll_strategy_kind)strategy;
        search.stagnation_limit = 0;
        campaign_make_with(state, &search);
        for (unsigned round = 0; round < 3; round++) {
            struct peers *p = peers_create(round == 1 ? DUPLICATES : HONEST);
            p->extension = round ? &by : NULL;
            if (campaign_run_with(state, p, 0, &result, &err) != 0)
                fail_msg("strategy %u, round %u: %s", strategy, round, err.text);
            assert_true(result.is_finished && !result.was_finished);
            if (strategy != ATOLL_STRATEGY_STAGED) /* which may have nothing left to do */
                assert_true(result.evaluated >= (round ? 15 : BUDGET));
            evaluated += result.evaluated + result.duelled;
            assert_int_equal(acks_count(state), evaluated);
            intervals += intervals_check(state);
            if (round ==
                2) /* which takes progress.json away, from which the next attempt learns of earlier finals */
                replay_check(state);
            peers_destroy(p);
        }
        if (campaign_run(state, HONEST, 0, &result, &err) != 0)
            fail_msg("%s", err.text);
        assert_true(result.was_finished);
        assert_true(intervals > 0);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* What is told to finish makes its finals and ends, with all of its budget left. */
static void test_finished_by_wish(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    campaign_make(state);
    struct peers *p = peers_create(HONEST);
    p->drains = 1;
    assert_int_equal(campaign_run_with(state, p, 1, &result, &err), 0);
    assert_true(result.is_drained);
    peers_destroy(p);
    p = peers_create(HONEST);
    p->finishes = 1;
    if (campaign_run_with(state, p, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.is_finished && result.evaluated < BUDGET);
    replay_check(state);
    peers_destroy(p);
}

/* The last comparisons are told of while they go on; that the devices are free, when everybody was sent away and before the files
 * are made. */
static void test_stages_are_told(void **state)
{
    struct atoll_coordinator_result result;
    struct peers *p = peers_create(HONEST);
    campaign_make(state);
    assert_int_equal(campaign_run_with(state, p, 0, &result, NULL), 0);
    assert_true(result.is_finished);
    assert_int_equal(p->told_count, 3);
    assert_true(p->lives > 0); /* whoever waits for the files hears of them */
    assert_int_equal(p->told[0].stage, ATOLL_HANDOVER_ENDING);
    assert_true(p->told[0].results >= BUDGET && p->told[0].results <= p->results);
    assert_int_equal(p->told[0].stops, 0);
    assert_int_equal(p->told[1].stage, ATOLL_HANDOVER_STOPPED);
    assert_int_equal(p->told[1].results, p->results);
    assert_int_equal(p->told[1].stops, 0);
    assert_int_equal(p->told[2].stage, ATOLL_HANDOVER_RELEASED);
    assert_int_equal(p->told[2].stops, PEERS);
    assert_false(p->told[2].has_archive);
    assert_int_equal(access(path_of(state, "c/archive.h5"), F_OK), 0);
    p->told_count = 0;
    assert_int_equal(campaign_run_with(state, p, 0, &result, NULL), 0);
    assert_true(result.was_finished);
    assert_int_equal(p->told_count, 0);
    peers_destroy(p);
}

/* Nobody is sent anything before the devices are free, and then everybody who was heard is. */
static void test_devices_that_are_not_free_yet(void **state)
{
    struct atoll_coordinator_result result;
    struct peers *p = peers_create(HONEST);
    p->devices_after = 10;
    p->waits_for_devices = 1;
    campaign_make(state);
    assert_int_equal(campaign_run_with(state, p, 0, &result, NULL), 0);
    assert_true(result.is_finished);
    assert_int_equal(p->devices_after, 0);
    for (unsigned i = 0; i < PEERS; i++)
        assert_int_equal(p->setups[i], 1);
    replay_check(state);
    peers_destroy(p);
}

/* A run that is drained has no time to wait for anybody, and nothing to hand over. */
static void test_a_drained_run_tells_nothing(void **state)
{
    struct atoll_coordinator_result result;
    struct peers *p = peers_create(HONEST);
    p->drains = 1;
    p->asks_after = 20;
    campaign_make(state);
    assert_int_equal(campaign_run_with(state, p, 0, &result, NULL), 0);
    assert_true(result.is_drained);
    assert_int_equal(p->told_count, 0);
    peers_destroy(p);
}

static void test_all_evaluators_fail(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    campaign_make(state);
    assert_int_equal(campaign_run(state, FAILS, 0, &result, &err), -1);
    assert_int_equal(err.code, ATOLL_E_MISSING);
    assert_string_equal(err.text, "no compiler here; install one");
}

static unsigned file_count(void **state, const char *name, const char *wanted)
{
    static char text[1 << 16];
    FILE *file = fopen(path_of(state, name), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    unsigned count = 0;
    for (const char *at = strstr(text, wanted); at; at = strstr(at + 1, wanted))
        count++;
    return count;
}

/* Two ranks of node n0 share a device: one works, one is idle and takes over when the other has gone for good. */
static void test_surplus_takes_over(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct peers *p = peers_create(SURPLUS);
    campaign_make(state);
    if (campaign_run_with(state, p, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.is_finished);
    assert_int_equal(result.peers_lost, 1);
    assert_int_equal(p->setups[1], 2);
    assert_true(p->orders[1] > 0);
    assert_int_equal(acks_count(state), result.evaluated + result.duelled);
    assert_int_equal(file_count(state, "c/jobs/test.0/ranks.json", "\"state\":\"ready\""), 2);
    assert_int_equal(file_count(state, "c/jobs/test.0/ranks.json", "\"state\":\"lost\""), 1);
    replay_check(state);
    peers_destroy(p);
}

static void test_all_are_surplus(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    campaign_make(state);
    assert_int_equal(campaign_run(state, SURPLUS_ALL, 0, &result, &err), -1);
    assert_int_equal(err.code, ATOLL_E_BUSY);
    assert_string_equal(err.text, "the device is another's");
    assert_int_equal(file_count(state, "c/jobs/test.0/ranks.json", "\"state\":\"surplus\""), PEERS);
}

static void test_resume_until_finished(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned acks = 0;
    campaign_make(state);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(campaign_run(state, FAILS_LATER, 0, &result, &err), -1);
        assert_true(acks_count(state) > acks);
        progress_check(state, ATOLL_CAMPAIGN_PROGRESS_OPEN);
        acks = acks_count(state);
        atoll_err_clear(&err);
    }
    if (campaign_run(state, HONEST, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.evaluated < BUDGET);
    assert_int_equal(acks_count(state), acks + result.evaluated + result.duelled);
    replay_check(state);
    assert_int_equal(campaign_run(state, HONEST, 0, &result, &err), 0);
    assert_true(result.was_finished);
    assert_int_equal(result.evaluated, 0);
}

/* A peer that has orders and sends heartbeats but no result is given up after ten minutes; one that waits for
 * orders is not, however long. */
static void test_hanging_peer(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct peers *p = peers_create(HANGS);
    campaign_make(state);
    if (campaign_run_with(state, p, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(p->is_lost[1]);
    assert_true(p->dropped_ns > p->answered_ns + 600e9);
    assert_true(p->dropped_ns <= p->answered_ns + 600e9 + 2 * WAIT_STEP_NS);
    assert_int_equal(result.peers_lost, 1);
    assert_true(result.evaluated >= BUDGET);
    replay_check(state);
    peers_destroy(p);
}

static void test_orderly_end(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    campaign_make(state);
    assert_int_equal(campaign_run(state, HONEST, 1, &result, &err), 0);
    assert_true(result.is_finished);
    assert_true(result.evaluated < BUDGET);
    replay_check(state);
}

static void check_closed(void **state, const char *reason)
{
    struct atoll_replay_report report;
    struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, NULL);
    assert_int_equal(atoll_campaign_replay(campaign, NULL, NULL, &report, NULL), 0);
    assert_int_equal(report.ending, ATOLL_JOURNAL_CLOSED);
    assert_string_equal(report.reason, reason);
    assert_true(atoll_resume_last_archive_ns(campaign) > 0);
    atoll_campaign_close(campaign);
}

/* What is left of the search after a drained run. */
static void finish_and_check(void **state, uint64_t evaluated)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    replay_check(state);
    if (campaign_run(state, HONEST, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.is_finished && !result.is_drained);
    assert_true(evaluated + result.evaluated >= BUDGET);
    replay_check(state);
}

/* Nothing is sent any more, all that is under way comes back, and the search goes on in the next run. */
static void test_drained_by_a_signal(void **state)
{
    for (unsigned after = 0; after <= 40; after += 20) {
        struct atoll_coordinator_result result;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct peers *p = peers_create(HONEST);
        p->drains = 1;
        p->asks_after = after;
        campaign_make(state);
        if (campaign_run_with(state, p, after == 0, &result, &err) != 0)
            fail_msg("%s", err.text);
        assert_true(result.is_drained && !result.is_finished);
        assert_true(result.evaluated + result.duelled >= after && result.evaluated < BUDGET);
        assert_int_equal(result.evaluated + result.duelled, p->results); /* none is lost */
        check_closed(state, "drained");
        finish_and_check(state, result.evaluated);
        peers_destroy(p);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* Two results come every 12 s, of six orders under way: an order takes 36 s, closing 10 s.  Nothing is sent in the last 46 s, all that
 * is under way comes back, unless the peers hang: then what they have is left to the next run, and the end is in time still. */
static void test_drained_by_time(void **state)
{
    for (int hangs = 0; hangs < 2; hangs++) {
        struct atoll_coordinator_result result;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct peers *p = peers_create(SLOW);
        p->until_ns = 220e9;
        p->frozen_ns = hangs ? 180e9 : 0;
        campaign_make(state);
        if (campaign_run_with(state, p, 0, &result, &err) != 0)
            fail_msg("%s", err.text);
        assert_true(result.is_drained && !result.is_finished);
        assert_true(result.evaluated > 0 && result.evaluated < BUDGET);
        if (hangs)
            assert_true(result.evaluated + result.duelled < p->results && p->now_ns > 209e9);
        else
            assert_int_equal(result.evaluated + result.duelled, p->results);
        assert_true(p->now_ns > 160e9 && p->now_ns <= 220e9);
        check_closed(state, "drained");
        finish_and_check(state, result.evaluated);
        peers_destroy(p);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* Less time than an order may take: nothing is sent at all. */
static void test_no_time_at_all(void **state)
{
    struct atoll_coordinator_result result;
    struct peers *p = peers_create(SLOW);
    p->until_ns = 35e9;
    campaign_make(state);
    assert_int_equal(campaign_run_with(state, p, 0, &result, NULL), 0);
    assert_true(result.is_drained);
    assert_int_equal(p->results, 0);
    assert_true(p->now_ns < 25e9);
    check_closed(state, "drained");
    finish_and_check(state, 0);
    peers_destroy(p);
}

/* A journal whose decisions are not what the engine decides: they are journaled under another event's number.
 */
static void test_replay_finds_the_difference(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_event event;
    struct atoll_decision lie = {.type = ATOLL_DECIDE_STOP, .reason = ATOLL_REASON_ASKED};
    campaign_make(state);
    struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, NULL);
    assert_int_equal(atoll_campaign_lock(campaign, NULL), 0);
    struct atoll_journal *journal =
        atoll_campaign_start_attempt(campaign, "test", ATOLL_ENGINE_VERSION, 1, NULL, NULL);
    assert_non_null(journal);
    atoll_event_init(&event, ATOLL_EVENT_START);
    event.search = atoll_campaign_config(campaign)->search;
    uint64_t number;
    assert_int_equal(atoll_journal_append_event(journal, &event, &number, NULL), 0);
    assert_int_equal(atoll_journal_append_decisions(journal, number, &lie, 1, NULL), 0);
    assert_int_equal(atoll_journal_sync(journal, NULL), 0);
    atoll_journal_destroy(journal);
    atoll_campaign_close(campaign);
    assert_int_equal(atoll_replay(path_of(state, "c"), NULL, NULL, NULL, NULL, NULL, &err), -1);
    assert_int_equal(err.code, ATOLL_E_MISMATCH);
    assert_non_null(strstr(err.text, "event 0"));
    struct atoll_coordinator_result result;
    assert_int_equal(campaign_run(state, HONEST, 0, &result, &err), -1);
    assert_int_equal(err.code, ATOLL_E_MISMATCH);
}

static void test_newer_engine(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    campaign_make(state);
    struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, NULL);
    assert_int_equal(atoll_campaign_lock(campaign, NULL), 0);
    struct atoll_journal *journal =
        atoll_campaign_start_attempt(campaign, "test", ATOLL_ENGINE_VERSION + 1, 1, NULL, NULL);
    assert_non_null(journal);
    atoll_journal_destroy(journal);
    atoll_campaign_close(campaign);
    assert_int_equal(atoll_replay(path_of(state, "c"), NULL, NULL, NULL, NULL, NULL, &err), -1);
    assert_int_equal(err.code, ATOLL_E_SCHEMA);
}

static int count_times(void *context, const struct atoll_attempt *attempt, const struct atoll_record *record,
                       struct atoll_err *err)
{
    (void)attempt;
    (void)err;
    *(unsigned *)context +=
        record->type == ATOLL_RECORD_EVENT && *(const uint8_t *)record->bytes == ATOLL_EVENT_DEVICE_TIME;
    return 0;
}

/* Of every device all of the attempt's time is in the archive, by part and task; the search does not look at it. */
static void test_device_times(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct peers *p = peers_create(TIMES);
    unsigned events = 0;
    campaign_make(state);
    if (campaign_run_with(state, p, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.is_finished && result.bad_messages == 0);
    struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, &err);
    assert_non_null(campaign);
    assert_int_equal(atoll_campaign_replay(campaign, count_times, &events, NULL, NULL), 0);
    assert_in_range(events, 2 * PEERS, 12 * PEERS); /* every half minute, and at the end */
    struct atoll_projection *projection = atoll_projection_of_campaign(campaign, NULL, &err);
    assert_non_null(projection);
    const struct atoll_tables *tables = atoll_projection_tables(projection);
    struct atoll_row_campaign row;
    atoll_tables_get(tables, ATOLL_TABLE_CAMPAIGN, 0, &row);
    for (unsigned peer = 0; peer < PEERS; peer++) {
        double whole_ns = 0;
        for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_DEVICE_TIME); i++) {
            struct atoll_row_device_time time;
            atoll_tables_get(tables, ATOLL_TABLE_DEVICE_TIME, i, &time);
            assert_string_equal(atoll_tables_text(tables, time.job), "test.0");
            if (time.device != 100 + peer)
                continue;
            whole_ns += atoll_device_time_whole_ns(&time.time);
            if (time.task != ATOLL_TIME_OF_NO_TASK)
                expect_close(time.time.ns[ATOLL_TIME_CHECKS], 1e9 * p->checks_s[peer][time.task], 1e-12);
        }
        expect_close(whole_ns, (double)row.campaign_ns, 0.02);
    }
    atoll_projection_destroy(projection);
    atoll_campaign_close(campaign);
    assert_int_equal(atoll_replay(path_of(state, "c"), NULL, NULL, NULL, NULL, NULL, &err), 0);
    peers_destroy(p);
}

int main(void)
{
    atoll_log_setup(-1, ATOLL_LOG_ERROR, "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_campaigns, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_models_are_kept_apart, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_a_model_is_lost, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_rivals, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_asks_without_an_operator, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_all_evaluators_fail, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_surplus_takes_over, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_all_are_surplus, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_resume_until_finished, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_hanging_peer, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_orderly_end, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_stages_are_told, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_devices_that_are_not_free_yet, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_a_drained_run_tells_nothing, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_drained_by_a_signal, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_extended, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_finished_by_wish, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_drained_by_time, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_no_time_at_all, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_replay_finds_the_difference, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_newer_engine, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_device_times, dir_make, dir_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
