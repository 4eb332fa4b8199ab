/* proposal.c - what is under way, in the order of its numbers. */
#include "evolution/engine/proposal.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void atoll_proposals_fini(struct atoll_proposals *p)
{
    free(p->items);
    memset(p, 0, sizeof(*p));
}

int atoll_proposals_add(struct atoll_proposals *p, const struct atoll_proposal *proposal,
                        struct atoll_err *err)
{
    if (p->count >= 16 && p->alive < p->count / 2) { /* drop what was answered */
        uint32_t kept = 0;
        for (uint32_t i = 0; i < p->count; i++)
            if (p->items[i].decision.type)
                p->items[kept++] = p->items[i];
        p->count = kept;
    }
    if (atoll_array_reserve(&p->items, &p->capacity, p->count + 1, sizeof(*p->items), err))
        return -1;
    p->items[p->count++] = *proposal;
    p->alive++;
    p->evaluations += proposal->decision.type == ATOLL_DECIDE_EVALUATE;
    return 0;
}

struct atoll_proposal *atoll_proposals_find(const struct atoll_proposals *p, uint64_t evaluation)
{
    uint32_t low = 0, high = p->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (p->items[middle].decision.evaluation < evaluation)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == p->count || p->items[low].decision.evaluation != evaluation || !p->items[low].decision.type)
        return NULL;
    return &p->items[low];
}

void atoll_proposals_remove(struct atoll_proposals *p, struct atoll_proposal *proposal)
{
    p->alive--;
    p->evaluations -= proposal->decision.type == ATOLL_DECIDE_EVALUATE;
    proposal->decision.type = (enum atoll_decision_type)0;
}

static int decision_codec(struct atoll_decision *d, struct atoll_codec *codec, struct atoll_err *err)
{
    if (codec->out) {
        struct atoll_buffer bytes;
        atoll_buffer_init(&bytes, 4096);
        atoll_decision_encode(d, &bytes);
        atoll_buffer_put_blob(codec->out, bytes.data, bytes.length);
        int failed = atoll_buffer_check(&bytes, err);
        atoll_buffer_fini(&bytes);
        return failed;
    }
    size_t length;
    const void *bytes = atoll_reader_blob(codec->in, &length);
    if (!codec->in->failed && (atoll_decision_decode(bytes, length, d, NULL) ||
                               (d->type != ATOLL_DECIDE_EVALUATE && d->type != ATOLL_DECIDE_DUEL &&
                                d->type != ATOLL_DECIDE_RIVAL))) {
        codec->in->failed = 1;
    }
    return 0;
}

static int proposal_codec(struct atoll_proposal *p, struct atoll_codec *codec, struct atoll_err *err)
{
    if (decision_codec(&p->decision, codec, err))
        return -1;
    atoll_codec_u32(codec, &p->task);
    atoll_codec_u32(codec, &p->individual);
    atoll_codec_u32(codec, &p->elite);
    atoll_codec_u32(codec, &p->retries);
    return 0;
}

/* Whom a decision of this kind is about. */
static int has_candidate(const struct atoll_decision *d)
{
    return d->type != ATOLL_DECIDE_RIVAL;
}

static int has_elite(const struct atoll_decision *d)
{
    return d->type == ATOLL_DECIDE_DUEL && d->purpose != ATOLL_DUEL_RIVAL;
}

static int is_position(uint32_t position, int is_wanted, uint32_t count)
{
    return is_wanted ? position < count : position == ATOLL_NONE;
}

int atoll_proposals_codec(struct atoll_proposals *p, uint32_t task_count, uint32_t individual_count,
                          struct atoll_codec *codec, struct atoll_err *err)
{
    uint32_t count = p->alive;
    atoll_codec_count(codec, &count, 16);
    if (codec->out) {
        for (uint32_t i = 0; i < p->count; i++)
            if (p->items[i].decision.type && proposal_codec(&p->items[i], codec, err))
                return -1;
        return 0;
    }
    uint64_t last = 0;
    for (uint32_t i = 0; i < count && !codec->in->failed; i++) {
        struct atoll_proposal loaded;
        memset(&loaded, 0, sizeof(loaded));
        if (proposal_codec(&loaded, codec, err))
            return -1;
        if (codec->in->failed || loaded.decision.evaluation <= last || loaded.task >= task_count ||
            !is_position(loaded.individual, has_candidate(&loaded.decision), individual_count) ||
            !is_position(loaded.elite, has_elite(&loaded.decision), individual_count)) {
            codec->in->failed = 1;
        } else if (atoll_proposals_add(p, &loaded, err)) {
            return -1;
        }
        last = loaded.decision.evaluation;
    }
    return 0;
}
