#include "evolution/strategy/staged.h"

#include <string.h>

#include "base/array.h"

#define STAGE_BIT(stage) ((uint32_t)1 << (stage))

static const struct transition {
    uint8_t state, event, next;
} transitions[] = {
    {ATOLL_STAGED_WAITING, ATOLL_STAGED_BEGUN, ATOLL_STAGED_ANALYSE},
    {ATOLL_STAGED_WAITING, ATOLL_STAGED_LOST, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_ANALYSE, ATOLL_STAGED_ASKED, ATOLL_STAGED_ANALYSING},
    {ATOLL_STAGED_ANALYSE, ATOLL_STAGED_LOST, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_ANALYSING, ATOLL_STAGED_UNORDERED, ATOLL_STAGED_ORDER},
    {ATOLL_STAGED_ANALYSING, ATOLL_STAGED_STAGE, ATOLL_STAGED_WRITE},
    {ATOLL_STAGED_ANALYSING, ATOLL_STAGED_FINISHED, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_ORDER, ATOLL_STAGED_ASKED, ATOLL_STAGED_ORDERING},
    {ATOLL_STAGED_ORDER, ATOLL_STAGED_LOST, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_ORDERING, ATOLL_STAGED_STAGE, ATOLL_STAGED_WRITE},
    {ATOLL_STAGED_WRITE, ATOLL_STAGED_ASKED, ATOLL_STAGED_WRITING},
    {ATOLL_STAGED_WRITE, ATOLL_STAGED_LOST, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_WRITING, ATOLL_STAGED_QUEUED, ATOLL_STAGED_TRYING},
    {ATOLL_STAGED_WRITING, ATOLL_STAGED_MISSED, ATOLL_STAGED_WRITE},
    {ATOLL_STAGED_WRITING, ATOLL_STAGED_CLOSED, ATOLL_STAGED_ANALYSE},
    {ATOLL_STAGED_WRITING, ATOLL_STAGED_FINISHED, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_TRYING, ATOLL_STAGED_MISSED, ATOLL_STAGED_WRITE},
    {ATOLL_STAGED_TRYING, ATOLL_STAGED_CLOSED, ATOLL_STAGED_ANALYSE},
    {ATOLL_STAGED_TRYING, ATOLL_STAGED_FINISHED, ATOLL_STAGED_OVER},
};

int atoll_staged_step(enum atoll_staged_state state, enum atoll_staged_event event, uint8_t *ret_state)
{
    for (size_t i = 0; i < sizeof transitions / sizeof *transitions; i++)
        if (transitions[i].state == state && transitions[i].event == event) {
            *ret_state = transitions[i].next;
            return 0;
        }
    return -1;
}

void atoll_staged_init(struct atoll_staged_run *run)
{
    memset(run, 0, sizeof *run);
    run->kernel = run->winner = ATOLL_NONE;
}

int atoll_staged_happen(struct atoll_staged_run *run, enum atoll_staged_event event)
{
    return atoll_staged_step((enum atoll_staged_state)run->state, event, &run->state);
}

/* Stages that may not be worked on any more. */
static uint32_t barred(const struct atoll_staged_run *run)
{
    uint32_t stages = run->done;
    for (unsigned a = 0; a < ATOLL_ISSUE_STAGE_COUNT; a++)
        for (unsigned b = 0; b < ATOLL_ISSUE_STAGE_COUNT; b++)
            if ((run->done & STAGE_BIT(b)) &&
                atoll_stage_precedes((enum atoll_issue_stage)a, (enum atoll_issue_stage)b))
                stages |= STAGE_BIT(a);
    return stages;
}

uint64_t atoll_staged_open_issues(const struct atoll_staged_run *run)
{
    uint64_t issues = run->issues;
    uint32_t closed = barred(run);
    for (unsigned stage = 0; stage < ATOLL_ISSUE_STAGE_COUNT; stage++)
        if (closed & STAGE_BIT(stage))
            issues &= ~atoll_issues_of_stage(run->issues, (enum atoll_issue_stage)stage);
    return issues;
}

void atoll_staged_arrange(struct atoll_staged_run *run, const uint8_t *wished, size_t count)
{
    uint8_t order[ATOLL_ISSUE_STAGE_COUNT];
    size_t ordered = atoll_stage_order_complete(atoll_staged_open_issues(run), wished, count, order);
    memset(run->order, 0, sizeof run->order);
    memcpy(run->order, order, ordered);
    run->order_count = (uint8_t)ordered;
}

void atoll_staged_enter(struct atoll_staged_run *run)
{
    run->stage = run->order[0];
    run->order_count--;
    memmove(run->order, run->order + 1, run->order_count);
    run->order[run->order_count] = 0;
    run->round = run->failure_count = 0;
    memset(run->failures, 0, sizeof run->failures);
    run->idle |= STAGE_BIT(run->stage);
}

void atoll_staged_fail(struct atoll_staged_run *run, uint32_t individual)
{
    if (run->failure_count == ATOLL_ASK_FAILURE_LIMIT)
        memmove(run->failures, run->failures + 1, --run->failure_count * sizeof *run->failures);
    run->failures[run->failure_count++] = individual;
}

enum atoll_staged_event atoll_staged_close_round(struct atoll_staged_run *run, unsigned rounds)
{
    if (run->winner == ATOLL_NONE && run->round + 1u < rounds) {
        run->round++;
        return ATOLL_STAGED_MISSED;
    }
    if (run->winner != ATOLL_NONE) {
        run->kernel = run->winner;
        run->improved |= STAGE_BIT(run->stage);
    }
    run->winner = ATOLL_NONE;
    run->done |= STAGE_BIT(run->stage);
    return barred(run) == STAGE_BIT(ATOLL_ISSUE_STAGE_COUNT) - 1 ? ATOLL_STAGED_FINISHED
                                                                 : ATOLL_STAGED_CLOSED;
}

static void stages_codec(uint32_t *stages, struct atoll_codec *c)
{
    atoll_codec_u32(c, stages);
    if (c->in && *stages >= STAGE_BIT(ATOLL_ISSUE_STAGE_COUNT))
        c->in->failed = 1;
}

static void small_codec(uint8_t *v, unsigned limit, struct atoll_codec *c)
{
    atoll_codec_u8(c, v);
    if (c->in && *v >= limit) {
        *v = 0;
        c->in->failed = 1;
    }
}

static void kernel_codec(uint32_t *kernel, uint32_t individual_count, int may_be_none, struct atoll_codec *c)
{
    atoll_codec_u32(c, kernel);
    if (c->in && *kernel >= individual_count && !(may_be_none && *kernel == ATOLL_NONE))
        c->in->failed = 1;
}

void atoll_staged_codec(struct atoll_staged_run *run, uint32_t individual_count, struct atoll_codec *c)
{
    small_codec(&run->state, ATOLL_STAGED_STATE_COUNT, c);
    small_codec(&run->stage, ATOLL_ISSUE_STAGE_COUNT, c);
    atoll_codec_u8(c, &run->round);
    small_codec(&run->order_count, ATOLL_ISSUE_STAGE_COUNT + 1, c);
    for (unsigned i = 0; i < run->order_count; i++)
        small_codec(&run->order[i], ATOLL_ISSUE_STAGE_COUNT, c);
    int has_kernel = run->state != ATOLL_STAGED_WAITING && run->state != ATOLL_STAGED_OVER;
    kernel_codec(&run->kernel, individual_count, !has_kernel, c);
    kernel_codec(&run->winner, individual_count, 1, c);
    small_codec(&run->failure_count, ATOLL_ASK_FAILURE_LIMIT + 1, c);
    for (unsigned i = 0; i < run->failure_count; i++)
        kernel_codec(&run->failures[i], individual_count, 0, c);
    atoll_codec_u32(c, &run->left);
    atoll_codec_u64(c, &run->ask);
    atoll_codec_u64(c, &run->issues);
    stages_codec(&run->done, c);
    stages_codec(&run->improved, c);
    stages_codec(&run->idle, c);
    if (c->in && run->state == ATOLL_STAGED_TRYING && !run->left)
        c->in->failed = 1;
}
