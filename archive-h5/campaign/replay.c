/* replay.c - walks the attempts of a campaign in order.
 * The chain (attempt.c) goes back from the newest attempt; an attempt outside it, and
 * what an attempt wrote beyond the offset its successor sealed, is quarantined: counted, never shown to the
 * visitor. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/campaign/campaign_state.h"

struct replay {
    const struct atoll_campaign *campaign;
    atoll_replay_visitor *visit;
    void *context;
    struct atoll_replay_report report;
    struct atoll_err *err;
};

static int account(struct replay *p, const struct atoll_attempt *attempt, const struct atoll_record *record)
{
    struct atoll_replay_report *report = &p->report;
    switch (record->type) {
    case ATOLL_RECORD_EVENT: report->event_count = record->event + 1; return 0;
    case ATOLL_RECORD_DECISIONS:
        if (record->event < report->decided_count) {
            return atoll_campaign_corrupt(p->campaign, attempt->name,
                                          "decides an event that its predecessor decided", p->err);
        }
        report->decided_count = record->event + 1;
        report->decision_count += record->decision_count;
        return 0;
    case ATOLL_RECORD_CLOSE: memcpy(report->reason, record->reason, sizeof(report->reason)); return 0;
    default: return 0;
    }
}

/* What an attempt has beyond its seal. */
static void quarantine(struct replay *p, const struct atoll_attempt *a, struct atoll_journal_reader *reader,
                       uint64_t from)
{
    const struct atoll_record *record;
    struct atoll_journal_end end;
    uint64_t good = from, records = 0;
    while (atoll_journal_reader_next(reader, &record, NULL) == 1) {
        atoll_campaign_show_life(p->campaign);
        if (record->end_offset > from) {
            records++;
            good = record->end_offset;
        }
    }
    p->report.quarantined_records += records;
    if (records > 0 && p->report.quarantined_count < ATOLL_QUARANTINED_LIMIT) {
        struct atoll_quarantined *q = &p->report.quarantined[p->report.quarantined_count++];
        snprintf(q->attempt, sizeof(q->attempt), "%s", a->name);
        q->records = records;
    }
    atoll_journal_reader_end(reader, &end);
    p->report.quarantined_bytes += good - from;
    if (end.file_bytes > good)
        p->report.torn_bytes += end.file_bytes - good;
}

/* One attempt up to `seal` (UINT64_MAX: to its end). */
static int walk(struct replay *p, const struct atoll_attempt *a, struct atoll_journal_reader *reader,
                uint64_t seal)
{
    const struct atoll_record *record;
    struct atoll_journal_end end;
    int got = 1;
    if (atoll_campaign_own(p->campaign, a, p->err) != 0)
        return -1;
    if (a->header.first_event != p->report.event_count) {
        return atoll_campaign_corrupt(p->campaign, a->name, "does not start where its predecessor ends",
                                      p->err);
    }
    uint64_t at = 0;
    while (at < seal && (got = atoll_journal_reader_next(reader, &record, p->err)) == 1) {
        atoll_campaign_show_life(p->campaign);
        at = record->end_offset;
        if (at > seal)
            return atoll_campaign_corrupt(p->campaign, a->name, "is sealed inside a record", p->err);
        if (account(p, a, record) != 0 || (p->visit && p->visit(p->context, a, record, p->err) != 0))
            return -1;
    }
    if (got < 0)
        return -1;
    if (seal != UINT64_MAX) {
        if (at != seal) {
            return atoll_campaign_corrupt(p->campaign, a->name, "is shorter than its successor sealed it",
                                          p->err);
        }
        quarantine(p, a, reader, seal);
        return 0;
    }
    atoll_journal_reader_end(reader, &end);
    if (end.ending != ATOLL_JOURNAL_CLOSED && atoll_campaign_has_segment(p->campaign, a->name)) {
        return atoll_campaign_corrupt(
            p->campaign, a->name,
            "ends early although the segment beside it was made of it; restore it from a copy", p->err);
    }
    p->report.ending = end.ending;
    p->report.torn_bytes += end.lost_bytes;
    p->report.last_good_bytes = end.good_bytes;
    memcpy(p->report.last, a->name, sizeof(p->report.last));
    return 0;
}

static int walk_file(struct replay *p, const struct atoll_attempt *a, const struct atoll_journal_header *next)
{
    char path[PATH_MAX];
    struct atoll_id digest;
    if (atoll_campaign_journal_path(p->campaign, path, sizeof(path), a->name, p->err) != 0 ||
        (next && atoll_campaign_digest(path, next->sealed_offset, &digest, p->err) != 0)) {
        return -1;
    }
    if (next && !atoll_id_equal(&digest, &next->sealed_digest)) {
        return atoll_campaign_corrupt(p->campaign, a->name, "was changed after its successor sealed it",
                                      p->err);
    }
    struct atoll_journal_reader *reader = atoll_journal_reader_open(path, p->err);
    if (!reader)
        return -1;
    p->report.attempt_count++;
    int failed = walk(p, a, reader, next ? next->sealed_offset : UINT64_MAX);
    atoll_journal_reader_close(reader);
    return failed;
}

static void quarantine_file(struct replay *p, const struct atoll_attempt *a)
{
    char path[PATH_MAX];
    struct atoll_journal_reader *reader =
        atoll_campaign_journal_path(p->campaign, path, sizeof(path), a->name, NULL) == 0
            ? atoll_journal_reader_open(path, NULL)
            : NULL;
    if (reader)
        quarantine(p, a, reader, 0);
    atoll_journal_reader_close(reader);
}

static int replay_attempts(struct replay *p, const struct atoll_attempt *attempts, size_t count)
{
    long length = 0;
    long *chain = calloc(count + 1, sizeof(*chain));
    char *linked = calloc(count + 1, 1);
    int failed = chain && linked
                     ? atoll_campaign_chain(p->campaign, attempts, count, chain, &length, p->err)
                     : atoll_err_set(p->err, ATOLL_E_MEMORY, "no memory to replay %zu attempts", count);
    for (long i = length - 1; !failed && i >= 0; i--) {
        linked[chain[i]] = 1;
        failed = walk_file(p, &attempts[chain[i]], i > 0 ? &attempts[chain[i - 1]].header : NULL);
    }
    for (size_t i = 0; !failed && i < count; i++) {
        p->report.stillborn_count += !attempts[i].has_journal;
        if (attempts[i].has_journal && !linked[i])
            quarantine_file(p, &attempts[i]);
    }
    free(chain);
    free(linked);
    return failed ? -1 : 0;
}

int atoll_campaign_replay(const struct atoll_campaign *c, atoll_replay_visitor *visit, void *context,
                          struct atoll_replay_report *ret_report, struct atoll_err *err)
{
    struct replay p = {.campaign = c, .visit = visit, .context = context, .err = err};
    struct atoll_attempt *attempts;
    size_t count;
    p.report.ending = ATOLL_JOURNAL_STILLBORN;
    if (atoll_campaign_attempts(c, &attempts, &count, err) != 0)
        return -1;
    int failed = replay_attempts(&p, attempts, count);
    free(attempts);
    if (failed)
        return -1;
    if (atoll_campaign_is_held(c)) {
        c->seen->report = p.report;
        c->seen->valid = 1;
    }
    if (ret_report)
        *ret_report = p.report;
    return 0;
}

struct snapshot_search {
    uint32_t engine_version;
    int found;
    uint64_t event;
    struct atoll_buffer *out;
};

static int keep_snapshot(void *context, const struct atoll_attempt *attempt,
                         const struct atoll_record *record, struct atoll_err *err)
{
    struct snapshot_search *s = context;
    if (record->type != ATOLL_RECORD_SNAPSHOT || attempt->header.engine_version != s->engine_version)
        return 0;
    s->found = 1;
    s->event = record->event;
    atoll_buffer_clear(s->out);
    atoll_buffer_put_bytes(s->out, record->bytes, record->length);
    return atoll_buffer_check(s->out, err);
}

int atoll_campaign_last_snapshot(const struct atoll_campaign *c, uint32_t engine_version, uint64_t *ret_event,
                                 struct atoll_buffer *out, struct atoll_err *err)
{
    struct snapshot_search s = {engine_version, 0, 0, out};
    if (atoll_campaign_replay(c, keep_snapshot, &s, NULL, err) != 0)
        return -1;
    if (s.found)
        *ret_event = s.event;
    return s.found;
}
