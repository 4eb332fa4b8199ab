#include "mpi-eval/backend/kept_calibration.h"

#define FILE_BYTES 4096u
#define RATE_MAX   1e24
#define TIME_MAX   1e15
/* Two probes of one device differ by less than the first, and by the second only when it was throttled or shared. */
#define MORE_RATIO 1.03
#define LESS_RATIO 0.6

static void numbers_put(const struct atoll_device_info *info, double jitter_ns, struct atoll_buffer *out)
{
    atoll_buffer_put_f64(out, info->bandwidth_bytes_per_s);
    atoll_buffer_put_f64(out, info->empty_launch_ns);
    atoll_buffer_put_f64(out, info->clock_resolution_ns);
    atoll_buffer_put_f64(out, jitter_ns);
    for (size_t i = 0; i < ATOLL_DTYPE_COUNT; i++)
        atoll_buffer_put_f64(out, info->peak_flops[i]);
    for (size_t i = 0; i <= ATOLL_DTYPE_COUNT; i++)
        atoll_buffer_put_f64(out, info->limits.tensor_flops[i]);
}

static int numbers_take(struct atoll_reader *r, struct atoll_device_info *info, double *ret_jitter_ns)
{
    info->bandwidth_bytes_per_s = atoll_reader_f64_in(r, 1, RATE_MAX);
    info->empty_launch_ns = atoll_reader_f64_in(r, 0, TIME_MAX);
    info->clock_resolution_ns = atoll_reader_f64_in(r, 0, TIME_MAX);
    *ret_jitter_ns = atoll_reader_f64_in(r, 0, TIME_MAX);
    for (size_t i = 0; i < ATOLL_DTYPE_COUNT; i++)
        info->peak_flops[i] = atoll_reader_f64_in(r, 0, RATE_MAX);
    for (size_t i = 0; i <= ATOLL_DTYPE_COUNT; i++)
        info->limits.tensor_flops[i] = atoll_reader_f64_in(r, 0, RATE_MAX);
    return atoll_reader_finish(r, "kept calibration", NULL) == 0;
}

int atoll_kept_calibration_read(struct atoll_device_info *info, const char *how, int64_t now_unix_ns,
                                double *ret_jitter_ns)
{
    struct atoll_device_info found = *info;
    struct atoll_buffer bytes;
    struct atoll_reader r;
    double jitter_ns;
    atoll_buffer_init(&bytes, FILE_BYTES);
    int is_there =
        atoll_kept_record_read(info, how, now_unix_ns, &bytes, &r) && numbers_take(&r, &found, &jitter_ns);
    atoll_buffer_fini(&bytes);
    if (is_there) {
        *info = found;
        *ret_jitter_ns = jitter_ns;
    }
    return is_there;
}

void atoll_kept_calibration_write(const struct atoll_device_info *info, const char *how, int64_t now_unix_ns,
                                  double jitter_ns)
{
    struct atoll_buffer numbers;
    atoll_buffer_init(&numbers, FILE_BYTES);
    numbers_put(info, jitter_ns, &numbers);
    atoll_kept_record_write(info, how, now_unix_ns, &numbers);
    atoll_buffer_fini(&numbers);
}

int atoll_kept_calibration_agrees(double kept_rate, double probed_rate)
{
    return probed_rate > LESS_RATIO * kept_rate && probed_rate < MORE_RATIO * kept_rate;
}
