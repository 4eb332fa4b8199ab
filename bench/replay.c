#include "bench/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "bench/known_space.h"
#include "evolution/tuner/tune.h"

enum { STREAM_TUNER = 1, STREAM_ANSWERS, STREAM_RANDOM };

static struct atoll_random stream(uint64_t seed, unsigned which)
{
    return (struct atoll_random){.key = atoll_random_at(seed, which)};
}

/* ---- the best so far ---- */

struct best {
    struct atoll_curves *curves;
    size_t run, evaluations;
    double seen_ns;
};

static void best_take(struct best *best, const struct atoll_t4_entry *entry, double seen_ns)
{
    best->evaluations++;
    if (seen_ns > 0 && seen_ns < best->seen_ns) {
        best->seen_ns = seen_ns;
        atoll_curves_set(best->curves, best->run, best->evaluations, entry->time_ns);
    }
}

/* ---- the tuner ---- */

struct search {
    const struct atoll_replay *replay;
    struct atoll_tune *tune;
    struct atoll_random proposals, answers;
    unsigned char *asked; /* by place in the table */
    size_t asked_count, pending_count;
    const struct atoll_t4_entry *pending[ATOLL_REPLAY_PENDING_LIMIT];
};

/* 1, 0 when nothing is left, -1. */
static int search_ask(struct search *s, struct atoll_err *err)
{
    const struct atoll_t4 *t4 = s->replay->t4;
    const struct atoll_t4_entry *entry;
    struct atoll_choice choice;
    struct atoll_point point;
    int rc = atoll_tune_propose(s->tune, &s->proposals, NULL, &choice, err);
    if (rc != 1)
        return rc;
    entry = atoll_space_point(&t4->space, &choice, &point) ? atoll_t4_find(t4, &point) : NULL;
    if (!entry)
        return atoll_err_set(err, ATOLL_E_MISMATCH, "replay: %s: proposal %zu is not legal", t4->name,
                             s->asked_count);
    if (s->asked[entry - t4->entries]++)
        return atoll_err_set(err, ATOLL_E_MISMATCH, "replay: %s: proposal %zu came before", t4->name,
                             s->asked_count);
    s->pending[s->pending_count++] = entry;
    s->asked_count++;
    return 1;
}

static double answer_of(struct search *s, const struct atoll_t4_entry *entry)
{
    if (entry->status != ATOLL_T4_CORRECT || !s->replay->is_raw || entry->run_count == 0)
        return entry->time_ns;
    size_t run = (size_t)atoll_random_below(atoll_random_next(&s->answers), entry->run_count);
    return s->replay->t4->runs_ns[entry->first + run];
}

static void search_answer(struct search *s, struct best *best)
{
    size_t at = s->pending_count > 1
                    ? (size_t)atoll_random_below(atoll_random_next(&s->answers), s->pending_count)
                    : 0;
    const struct atoll_t4_entry *entry = s->pending[at];
    struct atoll_choice choice = atoll_space_choice(&s->replay->t4->space, &entry->point);
    double time_ns = answer_of(s, entry);
    s->pending[at] = s->pending[--s->pending_count];
    atoll_tune_result(s->tune, &choice, time_ns);
    best_take(best, entry, time_ns);
}

static int search_run(struct search *s, struct best *best, struct atoll_err *err)
{
    size_t budget = best->curves->budget;
    int rc = 1;
    while (best->evaluations < budget) {
        while (rc == 1 && s->asked_count < budget && s->pending_count < s->replay->pending)
            rc = search_ask(s, err);
        if (rc < 0)
            return -1;
        if (s->pending_count == 0)
            return 0;
        search_answer(s, best);
    }
    return 0;
}

static struct atoll_tune *tune_create(const struct atoll_replay *replay, struct atoll_err *err)
{
    struct atoll_tune *tune = atoll_tune_create_space(&replay->t4->space, err);
    struct atoll_tune_settings settings = atoll_tune_settings_default();
    if (tune && replay->suggestions) {
        struct atoll_choice choices[ATOLL_SHAPE_LIMIT];
        size_t count;
        if (atoll_known_space_trials(replay->t4, replay->suggestions, choices, &count, err) != 0) {
            atoll_tune_destroy(tune);
            return NULL;
        }
        atoll_tune_suggest(tune, choices, count);
    }
    if (!tune || !replay->strategies)
        return tune;
    settings.strategies = replay->strategies;
    atoll_tune_set(tune, &settings);
    return tune;
}

int atoll_replay_tuner(const struct atoll_replay *replay, uint64_t seed, struct atoll_curves *curves,
                       size_t run, struct atoll_err *err)
{
    struct best best = {curves, run, 0, INFINITY};
    struct search s = {.replay = replay,
                       .tune = tune_create(replay, err),
                       .proposals = stream(seed, STREAM_TUNER),
                       .answers = stream(seed, STREAM_ANSWERS),
                       .asked = calloc(replay->t4->count, 1)};
    int rc = -1;
    if (!s.asked)
        atoll_err_set(err, ATOLL_E_MEMORY, "replay: out of memory");
    else if (s.tune)
        rc = search_run(&s, &best, err);
    atoll_tune_destroy(s.tune);
    free(s.asked);
    return rc;
}

/* ---- random search ---- */

int atoll_replay_random(const struct atoll_replay *replay, uint64_t seed, struct atoll_curves *curves,
                        size_t run, struct atoll_err *err)
{
    const struct atoll_t4 *t4 = replay->t4;
    struct best best = {curves, run, 0, INFINITY};
    struct atoll_random random = stream(seed, STREAM_RANDOM);
    size_t *places = malloc(t4->count * sizeof(*places));
    if (!places)
        return atoll_err_set(err, ATOLL_E_MEMORY, "replay: out of memory");
    for (size_t i = 0; i < t4->count; i++)
        places[i] = i;
    for (size_t i = 0; i < t4->count && i < curves->budget; i++) {
        size_t other = i + (size_t)atoll_random_below(atoll_random_next(&random), t4->count - i);
        size_t place = places[other];
        places[other] = places[i];
        best_take(&best, &t4->entries[place], t4->entries[place].time_ns);
    }
    free(places);
    return 0;
}
