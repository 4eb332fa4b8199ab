#include "mpi-eval/referee/rival_blocks.h"

#include <math.h>
#include <string.h>

#include "core/stats.h"

#define FAULT_PAIRS 8 /* before "more than half" is said */

void atoll_sample_block_add(struct atoll_sample_block *block, double ns, double hz, int is_disturbed)
{
    if (is_disturbed || block->count >= ATOLL_BLOCK_SAMPLE_LIMIT) {
        block->disturbed += is_disturbed ? 1 : 0;
        return;
    }
    block->ns[block->count++] = ns;
    if (hz > 0)
        block->clocks_hz[block->clock_count++] = hz;
}

static double median_of(const double *values, size_t count)
{
    double scratch[ATOLL_BLOCK_SAMPLE_LIMIT];
    struct atoll_summary summary;
    atoll_summary_of(values, count, scratch, &summary);
    return summary.median;
}

double atoll_sample_block_ns(const struct atoll_sample_block *block)
{
    return median_of(block->ns, block->count);
}

double atoll_sample_block_hz(const struct atoll_sample_block *block)
{
    return median_of(block->clocks_hz, block->clock_count);
}

enum atoll_pair_fault atoll_pair_fault_of(const struct atoll_sample_block *rival,
                                          const struct atoll_sample_block *best)
{
    if (!rival->count || !best->count || rival->disturbed > rival->count || best->disturbed > best->count)
        return ATOLL_PAIR_DISTURBED;
    return atoll_duel_differ(atoll_sample_block_hz(rival), atoll_sample_block_hz(best),
                             ATOLL_BLOCK_CLOCK_APART)
               ? ATOLL_PAIR_CLOCKS
               : ATOLL_PAIR_FINE;
}

double atoll_pair_log_ratio(const struct atoll_sample_block *rival, const struct atoll_sample_block *best)
{
    double by_time = log(atoll_sample_block_ns(rival) / atoll_sample_block_ns(best));
    if (atoll_pair_fault_of(rival, best) != ATOLL_PAIR_CLOCKS)
        return by_time;
    double by_cycles = by_time + log(atoll_sample_block_hz(rival) / atoll_sample_block_hz(best));
    return fmin(by_time, by_cycles);
}

void atoll_rival_score_init(struct atoll_rival_score *score, unsigned pair_limit, double target)
{
    if (!pair_limit)
        pair_limit = 16;
    pair_limit = pair_limit < ATOLL_BLOCK_PAIR_LEAST  ? ATOLL_BLOCK_PAIR_LEAST
                 : pair_limit > ATOLL_DUEL_PAIR_LIMIT ? ATOLL_DUEL_PAIR_LIMIT
                                                      : pair_limit;
    memset(score, 0, sizeof(*score));
    score->pair_limit = pair_limit;
    score->target = target;
    score->ratio = 1;
}

unsigned atoll_rival_score_repeated(const struct atoll_rival_score *score)
{
    return score->clocks < ATOLL_BLOCK_CLOCK_PAIRS ? score->clocks : ATOLL_BLOCK_CLOCK_PAIRS;
}

enum atoll_rival_score_state atoll_rival_score_add(struct atoll_rival_score *s, double log_ratio,
                                                   enum atoll_pair_fault fault)
{
    if (!isfinite(log_ratio))
        fault = ATOLL_PAIR_DISTURBED;
    s->disturbed += fault == ATOLL_PAIR_DISTURBED;
    s->clocks += fault == ATOLL_PAIR_CLOCKS;
    if (fault == ATOLL_PAIR_DISTURBED ||
        (fault == ATOLL_PAIR_CLOCKS && s->clocks <= ATOLL_BLOCK_CLOCK_PAIRS)) {
        size_t lost = s->disturbed + atoll_rival_score_repeated(s), all = s->pair_count + lost;
        return all >= FAULT_PAIRS && 2 * lost > all ? ATOLL_RIVAL_SCORE_UNSTABLE : ATOLL_RIVAL_SCORE_MORE;
    }
    if (s->pair_count < s->pair_limit)
        s->log_ratios[s->pair_count++] = log_ratio;
    s->ratio = atoll_paired_interval(s->log_ratios, s->pair_count, &s->ratio_lo, &s->ratio_hi);
    if (s->pair_count >= s->pair_limit)
        return ATOLL_RIVAL_SCORE_ENOUGH;
    return s->pair_count >= ATOLL_BLOCK_PAIR_LEAST && (s->ratio_hi - s->ratio_lo) / 2 <= s->target * s->ratio
               ? ATOLL_RIVAL_SCORE_ENOUGH
               : ATOLL_RIVAL_SCORE_MORE;
}
