/* alter_record.c - copies a journal and gives its final comparisons another ratio, as a record that is not true:
 * alter_record FROM TO RATIO LO HI.  With a ratio of 0 it decided nothing, and profiles are those of a processor, whose binary tells of
 * no registers.  Snapshots are left out: the engine is derived from events. */
#include <stdio.h>
#include <stdlib.h>

#include "archive-h5/journal/journal.h"
#include "archive-h5/journal/journal_reader.h"
#include "base/arena.h"

#define ARENA_BYTES ((size_t)64 << 20)

struct copy {
    struct atoll_journal *to;
    struct atoll_arena *arena;
    double ratio, lo, hi;
    unsigned altered;
};

static int copy_event(struct copy *c, const struct atoll_record *record, struct atoll_err *err)
{
    struct atoll_event event;
    int status;

    atoll_event_init(&event, ATOLL_EVENT_DUELLED);
    if (atoll_event_decode(record->bytes, record->length, c->arena, &event, err) != 0)
        return -1;
    if (event.type == ATOLL_EVENT_DUELLED && event.duel.purpose == ATOLL_DUEL_FINAL &&
        event.duel.pair_count) {
        event.duel.ratio = c->ratio > 0 ? c->ratio : 1;
        event.duel.ratio_lo = c->lo;
        event.duel.ratio_hi = c->hi;
        c->altered++;
        if (!(c->ratio > 0)) {
            event.duel.verdict = ATOLL_V_UNSTABLE;
            event.duel.better = 0;
            event.duel.p_value = event.duel.pair_count = 1;
            snprintf(event.duel.detail, sizeof(event.duel.detail), "9 of 12 samples were disturbed");
        }
    }
    if (event.type == ATOLL_EVENT_EVALUATED && !(c->ratio > 0))
        event.evaluation.profile.resources = (struct atoll_resources){
            .kernel_count = event.evaluation.profile.resources.kernel_count, .mix = {[ATOLL_MIX_FP32] = 7}};
    status = atoll_journal_append_event(c->to, &event, NULL, err);
    atoll_event_fini(&event);
    return status;
}

static int copy_decisions(struct copy *c, const struct atoll_record *record, struct atoll_err *err)
{
    struct atoll_decision *decisions = calloc((size_t)record->decision_count + 1, sizeof(*decisions));
    size_t cursor = 0, count = 0;
    int status = decisions ? 0 : -1;

    while (status == 0 && count < record->decision_count &&
           (status = atoll_record_decision(record, &cursor, &decisions[count], err)) == 1) {
        status = 0;
        count++;
    }
    status = status == 0 ? atoll_journal_append_decisions(c->to, record->event, decisions, count, err) : -1;
    free(decisions);
    return status;
}

static int copy_record(struct copy *c, const char *path, const struct atoll_record *r, struct atoll_err *err)
{
    switch (r->type) {
    case ATOLL_RECORD_HEADER:
        c->to = atoll_journal_create(path, &r->header, NULL, err);
        return c->to ? 0 : -1;
    case ATOLL_RECORD_EVENT: return copy_event(c, r, err);
    case ATOLL_RECORD_DECISIONS: return copy_decisions(c, r, err);
    case ATOLL_RECORD_DEVICE: return atoll_journal_append_device(c->to, r->unix_ns, &r->device, err);
    case ATOLL_RECORD_CLOSE: return atoll_journal_append_close(c->to, r->unix_ns, r->reason, err);
    default: return 0;
    }
}

int main(int argc, char **argv)
{
    struct atoll_err err = {0};
    struct atoll_journal_reader *from = argc == 6 ? atoll_journal_reader_open(argv[1], &err) : NULL;
    struct copy copy = {.arena = atoll_arena_create(ARENA_BYTES, &err)};
    const struct atoll_record *record;
    int status = from && copy.arena ? 1 : -1;

    if (status == 1) {
        copy.ratio = strtod(argv[3], NULL);
        copy.lo = strtod(argv[4], NULL);
        copy.hi = strtod(argv[5], NULL);
    }
    while (status == 1 && (status = atoll_journal_reader_next(from, &record, &err)) == 1)
        status = copy_record(&copy, argv[2], record, &err) == 0 ? 1 : -1;
    if (status == 0)
        status = atoll_journal_sync(copy.to, &err);
    if (status != 0)
        fprintf(stderr, "alter_record: %s\n", argc == 6 ? err.text : "FROM TO RATIO LO HI");
    else
        printf("%u\n", copy.altered);
    atoll_journal_destroy(copy.to);
    atoll_arena_destroy(copy.arena);
    atoll_journal_reader_close(from);
    return status != 0;
}
