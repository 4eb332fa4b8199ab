#include "mpi-eval/referee/sampling.h"

#include <math.h>
#include <stdlib.h>

#include "core/evaluation.h"

int atoll_sampling_init(struct atoll_sampling *s, const struct atoll_sampling_rules *rules,
                        struct atoll_err *err)
{
    *s = (struct atoll_sampling){.rules = *rules};
    s->samples_ns = calloc(ATOLL_SAMPLES_LIMIT, sizeof(*s->samples_ns));
    s->scratch = calloc(ATOLL_SAMPLES_LIMIT, sizeof(*s->scratch));
    if (s->samples_ns && s->scratch)
        return 0;
    atoll_sampling_fini(s);
    return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for samples");
}

void atoll_sampling_fini(struct atoll_sampling *s)
{
    free(s->samples_ns);
    free(s->scratch);
    *s = (struct atoll_sampling){0};
}

double atoll_sampling_half_width(const struct atoll_sampling *s)
{
    double width = s->summary.relative_half_width;
    if (s->summary.median > 0 && s->summary.median < ATOLL_SAMPLING_SHORT_NS)
        width += s->rules.resolution_ns / s->summary.median;
    return width;
}

/* Even the fastest sample is far behind without what others took of its time, or the median is behind with 95 %
 * certainty and some margin. */
static int is_clearly_slower(const struct atoll_sampling *s)
{
    double incumbent = s->rules.incumbent_ns;
    if (incumbent <= 0 || s->count < ATOLL_SAMPLING_DROP_MIN || s->slowed_kept)
        return 0;
    if (s->least_ns > incumbent * ATOLL_SAMPLING_DROP_RATIO)
        return 1;
    return !s->disturbed && s->count >= s->rules.sample_min && s->count >= 6 &&
           s->summary.lo95 > incumbent * 1.05;
}

enum atoll_sampling_state atoll_sampling_add(struct atoll_sampling *s, double sample_ns, double wall_ns)
{
    double own_ns = sample_ns - fmax(s->lost_ns, 0);
    s->least_ns = s->least_ns > 0 ? fmin(s->least_ns, own_ns) : own_ns;
    s->lost_ns = 0;
    if (s->count < ATOLL_SAMPLES_LIMIT) {
        s->samples_ns[s->count++] = sample_ns;
        s->device_ns += sample_ns;
        atoll_summary_of(s->samples_ns, s->count, s->scratch, &s->summary);
    }
    if (is_clearly_slower(s))
        return ATOLL_SAMPLING_DROPPED;
    if (s->count >= ATOLL_SAMPLES_LIMIT)
        return ATOLL_SAMPLING_LIMIT;
    if (s->count < s->rules.sample_min)
        return ATOLL_SAMPLING_MORE;
    if (atoll_sampling_half_width(s) <= s->rules.interval_target)
        return ATOLL_SAMPLING_ENOUGH;
    if (s->device_ns >= s->rules.device_limit_ns || wall_ns >= s->rules.wall_limit_ns)
        return ATOLL_SAMPLING_LIMIT;
    return ATOLL_SAMPLING_MORE;
}

int atoll_sampling_disturbed(double sample_ns, double lost_ns)
{
    return lost_ns > fmax(ATOLL_SAMPLING_LOST_NS, ATOLL_SAMPLING_LOST_RATIO * sample_ns);
}

int atoll_sampling_discards(struct atoll_sampling *s, double sample_ns, double lost_ns, int is_slowed)
{
    if (!is_slowed && !atoll_sampling_disturbed(sample_ns, lost_ns))
        return 0;
    s->slowed += is_slowed ? 1 : 0;
    if (s->discarded > s->count) {
        s->disturbed++;
        s->slowed_kept += is_slowed ? 1 : 0;
        s->lost_ns = lost_ns;
        return 0;
    }
    s->discarded++;
    return 1;
}

int atoll_sampling_is_unstable(const struct atoll_sampling *s)
{
    size_t all = s->count + s->discarded, disturbed = s->disturbed + s->discarded;
    return s->disturbed > 0 && s->count >= s->rules.sample_min &&
           (double)disturbed >= ATOLL_SAMPLING_UNSTABLE * (double)all;
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
