#include "mpi-eval/referee/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/evaluation.h"

#define CHOSEN_LEAST 4       /* disturbed samples before anything is said of them */
#define CHOSEN_RATIO 1.25    /* what a cache that others have used may cost */
#define CHOSEN_NS    20000.0 /* what ends a sample takes now more, now less */

#define PATIENCE_LATE  2    /* instead of ATOLL_SAMPLING_PATIENCE, past the limit */
#define INTERVAL_LEAST 6    /* samples that have a 95 % interval */
#define CLEAR_RATIO    1.05 /* beyond that interval */

int atoll_sampling_init(struct atoll_sampling *s, const struct atoll_sampling_rules *rules,
                        struct atoll_err *err)
{
    *s = (struct atoll_sampling){.rules = *rules};
    s->samples_ns = calloc(ATOLL_SAMPLES_LIMIT, sizeof(*s->samples_ns));
    s->scratch = calloc(ATOLL_SAMPLES_LIMIT, sizeof(*s->scratch));
    for (int i = 0; i < 2; i++)
        s->own_ns[i] = calloc(ATOLL_SAMPLES_LIMIT, sizeof(*s->own_ns[i]));
    if (s->samples_ns && s->scratch && s->own_ns[0] && s->own_ns[1])
        return 0;
    atoll_sampling_fini(s);
    return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for samples");
}

void atoll_sampling_fini(struct atoll_sampling *s)
{
    free(s->samples_ns);
    free(s->scratch);
    free(s->own_ns[0]);
    free(s->own_ns[1]);
    *s = (struct atoll_sampling){0};
}

double atoll_sampling_half_width(const struct atoll_sampling *s)
{
    double width = s->summary.relative_half_width;
    if (s->summary.median > 0 && s->summary.median < ATOLL_SAMPLING_SHORT_NS)
        width += s->rules.resolution_ns / s->summary.median;
    return width;
}

/* So many samples of each variant are enough where even the mean of their fastest is so many times behind.  Two slow samples of a fast kernel are
 * no rarity on a machine that others use; that both take three times as long is one. */
static const struct {
    size_t count;
    double ratio;
} drops[] = {{2, 3.0}, {3, 1.5}, {4, 1.15}};

int atoll_sampling_is_behind(const struct atoll_sampling *const *series, const double *weights, size_t count,
                             double incumbent_ns)
{
    double weight = 0, log_least = 0, log_lo95 = 0;
    size_t fewest = ATOLL_SAMPLES_LIMIT;
    int is_known = count > 0 && incumbent_ns > 0;
    for (size_t i = 0; i < count; i++) {
        const struct atoll_sampling *s = series[i];
        size_t least = s->rules.sample_min > INTERVAL_LEAST ? s->rules.sample_min : INTERVAL_LEAST;
        fewest = s->count < fewest ? s->count : fewest;
        is_known = is_known && s->count >= least;
        weight += weights[i];
        log_least += weights[i] * log(s->least_ns);
        log_lo95 += weights[i] * log(s->summary.lo95);
    }
    if (!(incumbent_ns > 0 && weight > 0))
        return 0;
    for (size_t i = 0; i < sizeof(drops) / sizeof(*drops); i++)
        if (fewest >= drops[i].count && exp(log_least / weight) > incumbent_ns * drops[i].ratio)
            return 1;
    return is_known && exp(log_lo95 / weight) > incumbent_ns * CLEAR_RATIO;
}

enum atoll_sampling_fault atoll_sampling_fault_of(const struct atoll_sampling *s)
{
    struct atoll_summary kept, discarded;
    if (s->discarded > s->count)
        return 2 * s->slowed > s->discarded ? ATOLL_SAMPLING_SLOWED : ATOLL_SAMPLING_BUSY;
    if (s->own_count[0] < CHOSEN_LEAST || s->own_count[1] < CHOSEN_LEAST)
        return ATOLL_SAMPLING_FINE;
    atoll_summary_of(s->own_ns[0], s->own_count[0], s->scratch, &kept);
    atoll_summary_of(s->own_ns[1], s->own_count[1], s->scratch, &discarded);
    return discarded.median > CHOSEN_RATIO * kept.p90 + CHOSEN_NS ? ATOLL_SAMPLING_CHOSEN
                                                                  : ATOLL_SAMPLING_FINE;
}

size_t atoll_sampling_busiest(const struct atoll_sampling *const *series, size_t count, double wall_ns)
{
    size_t kept = 0, discarded = 0, busiest = 0;
    for (size_t i = 0; i < count; i++) {
        kept += series[i]->count;
        discarded += series[i]->discarded;
        if (series[i]->discarded > series[busiest]->discarded)
            busiest = i;
    }
    if (discarded <= kept)
        return count;
    const struct atoll_sampling_rules *rules = &series[busiest]->rules;
    size_t patience = wall_ns >= rules->wall_limit_ns ? PATIENCE_LATE : ATOLL_SAMPLING_PATIENCE;
    return kept + discarded >= patience * rules->sample_min ? busiest : count;
}

static enum atoll_sampling_state end_with(const struct atoll_sampling *s, enum atoll_sampling_state state)
{
    return atoll_sampling_fault_of(s) == ATOLL_SAMPLING_FINE ? state : ATOLL_SAMPLING_UNSTABLE;
}

enum atoll_sampling_state atoll_sampling_add(struct atoll_sampling *s, double sample_ns, double wall_ns)
{
    s->least_ns = s->least_ns > 0 ? fmin(s->least_ns, sample_ns) : sample_ns;
    if (s->count < ATOLL_SAMPLES_LIMIT) {
        s->samples_ns[s->count++] = sample_ns;
        s->device_ns += sample_ns;
        atoll_summary_of(s->samples_ns, s->count, s->scratch, &s->summary);
    }
    if (s->count >= ATOLL_SAMPLES_LIMIT)
        return end_with(s, ATOLL_SAMPLING_LIMIT);
    if (s->count < s->rules.sample_min)
        return ATOLL_SAMPLING_MORE;
    if (atoll_sampling_half_width(s) <= s->rules.interval_target)
        return end_with(s, ATOLL_SAMPLING_ENOUGH);
    if (s->device_ns >= s->rules.device_limit_ns || wall_ns >= s->rules.wall_limit_ns)
        return end_with(s, ATOLL_SAMPLING_LIMIT);
    return ATOLL_SAMPLING_MORE;
}

int atoll_sampling_disturbed(const struct atoll_sampling_sample *sample)
{
    return sample->is_slowed ||
           sample->lost_ns > fmax(ATOLL_SAMPLING_LOST_NS, ATOLL_SAMPLING_LOST_RATIO * sample->ns);
}

static void own_add(struct atoll_sampling *s, const struct atoll_sampling_sample *sample, int is_discarded)
{
    size_t *count = &s->own_count[is_discarded];
    if (!sample->is_slowed && sample->own_ns > 0 && *count < ATOLL_SAMPLES_LIMIT)
        s->own_ns[is_discarded][(*count)++] = sample->own_ns;
}

/* A busy machine is waited for, but not for ever: with enough samples, or past the limit with some, more than half of them
 * disturbed is the end. */
static enum atoll_sampling_state discard(struct atoll_sampling *s, const struct atoll_sampling_sample *sample,
                                         double wall_ns)
{
    int is_late = wall_ns >= s->rules.wall_limit_ns;
    s->discarded++;
    s->slowed += sample->is_slowed ? 1 : 0;
    own_add(s, sample, 1);
    if (!sample->is_slowed)
        s->least_ns = fmin(s->least_ns > 0 ? s->least_ns : sample->ns, sample->ns - sample->lost_ns);
    size_t all = s->count + s->discarded, patience = is_late ? PATIENCE_LATE : ATOLL_SAMPLING_PATIENCE;
    if (s->discarded > s->count && all >= patience * s->rules.sample_min)
        return ATOLL_SAMPLING_UNSTABLE;
    return is_late && s->count >= s->rules.sample_min ? end_with(s, ATOLL_SAMPLING_LIMIT)
                                                      : ATOLL_SAMPLING_MORE;
}

enum atoll_sampling_state atoll_sampling_take(struct atoll_sampling *s,
                                              const struct atoll_sampling_sample *sample, double wall_ns)
{
    if (atoll_sampling_disturbed(sample))
        return discard(s, sample, wall_ns);
    own_add(s, sample, 0);
    return atoll_sampling_add(s, sample->ns, wall_ns);
}

int atoll_sampling_timing(const struct atoll_sampling *s, uint32_t variant, enum atoll_sampling_state state,
                          struct atoll_timing *ret_timing, struct atoll_err *err)
{
    size_t bytes = s->count * sizeof(*s->samples_ns);
    double *samples_ns = malloc(bytes + 1);
    if (!samples_ns)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for samples");
    memcpy(samples_ns, s->samples_ns, bytes);
    *ret_timing =
        (struct atoll_timing){.variant = variant,
                              .flags = (state == ATOLL_SAMPLING_DROPPED ? ATOLL_TIMING_DROPPED_EARLY : 0u) |
                                       (state == ATOLL_SAMPLING_LIMIT ? ATOLL_TIMING_TIME_LIMIT : 0u),
                              .summary = s->summary,
                              .resolution_ns = s->rules.resolution_ns,
                              .sample_count = s->count,
                              .samples_ns = samples_ns,
                              .discarded_count = (uint32_t)s->discarded};
    return 0;
}

struct atoll_floor atoll_floor_of(const struct atoll_work *work, unsigned precisions,
                                  const struct atoll_device_info *device, int is_warm)
{
    struct atoll_floor f = {0};
    double cache = device->last_level_cache_bytes;
    /* Bytes that must pass between memory and the last-level cache. */
    double bytes = is_warm ? fmax(0.0, work->read_bytes + work->write_bytes - cache)
                           : work->read_bytes + fmax(0.0, work->write_bytes - cache);
    /* The measured peak that stands for an arithmetic type: types without a measurement of their own count as float, since
     * the audit floor refuses nothing. */
    double vector = 0, matrix = 0;
    for (unsigned t = 0; t <= ATOLL_DTYPE_COUNT; t++) {
        if (!(precisions >> t & 1u))
            continue;
        double ordinary = t < ATOLL_DTYPE_COUNT ? device->peak_flops[t] : 0,
               tensor = device->limits.tensor_flops[t];
        if (!(ordinary > 0) && (!(tensor > 0) || work->is_split) && t != ATOLL_F64)
            ordinary = device->peak_flops[ATOLL_F32];
        vector = fmax(vector, ordinary);
        matrix = fmax(matrix, tensor);
    }
    double peak = fmax(vector, matrix);
    f.is_split = work->is_split && peak > 0;
    if (device->bandwidth_bytes_per_s > 0)
        f.hard_ns = 1e9 * bytes / device->bandwidth_bytes_per_s;
    f.hard_ns = fmax(f.hard_ns, device->empty_launch_ns);
    if (f.is_split && matrix > vector)
        f.audit_ns = 1e9 * fmax(work->matrix_flops / matrix, vector > 0 ? work->flops / vector : 0);
    else if (peak > 0)
        f.audit_ns = 1e9 * (work->flops + work->matrix_flops) / peak;
    f.reporting_ns = fmax(f.hard_ns, f.audit_ns);
    return f;
}

void atoll_floor_put(const struct atoll_floor *floor, int is_trusted, struct atoll_timing *timing)
{
    int is_known = floor->reporting_ns > 0 && is_trusted;
    timing->floor_ns = is_known ? floor->reporting_ns : 0;
    timing->flags &= ~(uint32_t)(ATOLL_TIMING_FLOOR_SINGLE | ATOLL_TIMING_FLOOR_SPLIT);
    if (is_known)
        timing->flags |= floor->is_split ? ATOLL_TIMING_FLOOR_SPLIT : ATOLL_TIMING_FLOOR_SINGLE;
}
