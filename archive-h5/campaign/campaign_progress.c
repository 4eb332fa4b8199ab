/* campaign_progress.c - the hint as far as it can be true, then what the journals hold behind it.
 * A hint can be true when its attempt is one that counts and its bytes lie before that attempt's seal: then those bytes
 * are the same for everybody, and so is what is counted in them. */
#include "archive-h5/campaign/campaign_progress.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/campaign/campaign_state.h"
#include "archive-h5/journal/journal_tally.h"

#define CAMPAIGN_LIMIT_S 9e9 /* what a count of nanoseconds holds */

struct look {
    const struct atoll_campaign *campaign;
    struct atoll_attempt *attempts; /* owned */
    size_t count;
    long *chain; /* owned; the attempts that count, the newest first */
    long length;
};

static const struct atoll_attempt *linked(const struct look *l, long index)
{
    return &l->attempts[l->chain[index]];
}

/* How many bytes of a linked attempt count. */
static uint64_t seal_of(const struct look *l, long index)
{
    return index > 0 ? linked(l, index - 1)->header.sealed_offset : UINT64_MAX;
}

static int look_init(struct look *l, const struct atoll_campaign *campaign, struct atoll_err *err)
{
    *l = (struct look){.campaign = campaign};
    if (atoll_campaign_attempts(campaign, &l->attempts, &l->count, err) != 0)
        return -1;
    l->chain = calloc(l->count + 1, sizeof *l->chain);
    if (!l->chain)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory to look at %zu attempts", l->count);
    if (atoll_campaign_chain(campaign, l->attempts, l->count, l->chain, &l->length, err) != 0)
        return -1;
    for (long i = 0; i < l->length; i++)
        if (atoll_campaign_own(campaign, linked(l, i), err) != 0)
            return -1;
    return 0;
}

static void look_fini(struct look *l)
{
    free(l->attempts);
    free(l->chain);
}

/* A segment is made of closed journals only.  Asked before the journal is read: one that is closed meanwhile may have a
 * segment soon after. */
static int newest_count(const struct look *l, const char *path, uint64_t from,
                        struct atoll_journal_tally *tally, struct atoll_err *err)
{
    const char *name = linked(l, 0)->name;
    int has_segment = atoll_campaign_has_segment(l->campaign, name);
    int got = atoll_journal_tally(path, from, UINT64_MAX, tally, err);
    if (got == 1 && has_segment && !tally->is_closed)
        return atoll_err_set(
            err, ATOLL_E_CORRUPT,
            "%s: ends early although the segment beside it was made of it; restore it from a copy", path);
    return got;
}

/* The linked attempts from `first` on, which is counted from byte `from`, to the newest.  As atoll_journal_tally. */
static int chain_count(const struct look *l, long first, uint64_t from, struct atoll_journal_tally *tally,
                       struct atoll_err *err)
{
    int got = 1;
    for (long i = first; got == 1 && i >= 0; i--) {
        char path[PATH_MAX];
        if (atoll_campaign_journal_path(l->campaign, path, sizeof path, linked(l, i)->name, err) != 0)
            return -1;
        got = i == 0 ? newest_count(l, path, i == first ? from : 0, tally, err)
                     : atoll_journal_tally(path, i == first ? from : 0, seal_of(l, i), tally, err);
    }
    return got;
}

/* Which linked attempt the hint is about, -1 none.  Whether its bytes are there, before the seal, the count says. */
static long hint_place(const struct look *l, const struct atoll_progress_json *hint)
{
    for (long i = 0; i < l->length; i++)
        if (!strcmp(linked(l, i)->name, hint->attempt))
            return hint->journal_bytes > 0 ? i : -1;
    return -1;
}

/* 1: tally continues what the hint says; 0: it cannot. */
static int hint_continue(const struct look *l, const struct atoll_progress_json *hint,
                         struct atoll_journal_tally *ret_tally)
{
    struct atoll_journal_tally tally = {.evaluated = hint->evaluated,
                                        .duelled = hint->duelled,
                                        .campaign_ns =
                                            (int64_t)(fmin(hint->campaign_s, CAMPAIGN_LIMIT_S) * 1e9),
                                        .unix_ns = hint->written_unix_ns};
    long place = hint_place(l, hint);
    if (place < 0 || chain_count(l, place, hint->journal_bytes, &tally, NULL) != 1)
        return 0;
    *ret_tally = tally;
    return 1;
}

static void standing_fill(struct atoll_campaign_progress *s, const struct look *l,
                          const struct atoll_journal_tally *tally)
{
    const struct atoll_attempt *newest = linked(l, 0);
    enum atoll_journal_ending ending = tally->is_closed ? ATOLL_JOURNAL_CLOSED : ATOLL_JOURNAL_KILLED;
    s->phase = atoll_journal_is_final(ending, tally->reason) ? ATOLL_CAMPAIGN_PROGRESS_ENDED
                                                             : ATOLL_CAMPAIGN_PROGRESS_OPEN;
    memcpy(s->attempt, newest->name, sizeof s->attempt);
    s->attempt_number = newest->header.attempt;
    s->evaluated = tally->evaluated;
    s->duelled = tally->duelled;
    s->campaign_s = (double)tally->campaign_ns / 1e9;
    s->last_unix_ns = tally->unix_ns;
    memcpy(s->reason, tally->reason, sizeof s->reason);
    s->lost_bytes = tally->lost_bytes;
    s->walked_bytes = tally->walked_bytes;
    for (size_t i = 0; i < l->count; i++)
        s->attempt_count += (uint64_t)l->attempts[i].has_journal;
}

/* The tasks' names, where no hint tells more. */
static int names_fill(struct atoll_campaign_progress *s, const struct atoll_campaign_config *config,
                      struct atoll_err *err)
{
    struct atoll_progress_json *hint = &s->hint;
    atoll_progress_json_fini(hint);
    hint->tasks = calloc(config->task_count + 1, sizeof *hint->tasks);
    if (!hint->tasks)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu tasks", config->task_count);
    hint->task_count = config->task_count;
    for (size_t i = 0; i < config->task_count; i++)
        snprintf(hint->tasks[i].name, sizeof hint->tasks[i].name, "%s", config->tasks[i].name);
    return 0;
}

static int standing_find(struct atoll_campaign_progress *s, const struct look *l, struct atoll_err *err)
{
    struct atoll_journal_tally tally = {.events = 0};
    if (l->length > 0 && atoll_progress_json_read(l->campaign, &s->hint))
        s->has_hint = hint_continue(l, &s->hint, &tally);
    if (!s->has_hint && names_fill(s, atoll_campaign_config(l->campaign), err) != 0)
        return -1;
    if (l->length == 0)
        return 0;
    if (!s->has_hint && chain_count(l, l->length - 1, 0, &tally, err) != 1)
        return -1;
    standing_fill(s, l, &tally);
    return 0;
}

int atoll_campaign_progress_of(const struct atoll_campaign *campaign,
                               struct atoll_campaign_progress *ret_standing, struct atoll_err *err)
{
    struct atoll_campaign_progress standing = {.phase = ATOLL_CAMPAIGN_PROGRESS_FRESH,
                                               .evaluation_budget =
                                                   atoll_campaign_config(campaign)->search.evaluation_budget};
    struct look look;
    int rc = look_init(&look, campaign, err);
    if (rc == 0)
        rc = standing_find(&standing, &look, err);
    look_fini(&look);
    if (rc == 0)
        *ret_standing = standing;
    else
        atoll_campaign_progress_fini(&standing);
    return rc;
}

int atoll_campaign_progress_read(const char *dir, struct atoll_campaign_progress *ret_standing,
                                 struct atoll_err *err)
{
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, err);
    int rc = campaign ? atoll_campaign_progress_of(campaign, ret_standing, err) : -1;
    atoll_campaign_close(campaign);
    return rc;
}

void atoll_campaign_progress_fini(struct atoll_campaign_progress *standing)
{
    atoll_progress_json_fini(&standing->hint);
}
