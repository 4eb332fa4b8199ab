/* facts.c - sentences about a device, one function each, in an order that never changes. */
#include "core/facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct writer {
    char *text;
    size_t bytes, used;
};

static void put(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(w->text + w->used, w->bytes - w->used, format, list);
    va_end(list);
    if (n > 0)
        w->used += (size_t)n < w->bytes - w->used ? (size_t)n : w->bytes - w->used - 1;
}

/* A text of the device: other bytes than printable ASCII become '?'. */
static void put_text(struct writer *w, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes && text[i]; i++)
        put(w, "%c", text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
}

/* Three significant digits with a decimal prefix: "4.2 TB/s". */
static void put_quantity(struct writer *w, double value, const char *unit)
{
    static const struct {
        double least;
        const char *prefix;
    } prefixes[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {0, ""}};
    size_t i = 0;
    while (i + 1 < sizeof(prefixes) / sizeof(*prefixes) && value < prefixes[i].least)
        i++;
    double scale = prefixes[i].least > 0 ? prefixes[i].least : 1;
    put(w, value / scale < 999.5 ? "%.3g %s%s" : "%.0f %s%s", value / scale, prefixes[i].prefix, unit);
}

static void put_bytes(struct writer *w, double bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    size_t i = 0;
    while (i + 1 < sizeof(units) / sizeof(*units) && bytes >= 1024)
        bytes /= 1024, i++;
    put(w, "%.4g %s", bytes, units[i]);
}

static void put_count(struct writer *w, uint32_t count, const char *what)
{
    if (count)
        put(w, ", %u %s", count, what);
}

static void name(struct writer *w, const struct atoll_device_info *d)
{
    const struct atoll_device_limits *l = &d->limits;
    if (d->model[0])
        put_text(w, d->model, sizeof(d->model));
    else
        put(w, "A device");
    if (l->compute_capability)
        put(w, ", compute capability %u.%u", l->compute_capability / 10, l->compute_capability % 10);
    if (l->target[0]) {
        put(w, " (compile target ");
        put_text(w, l->target, sizeof(l->target));
        put(w, ")");
    }
    put_count(w, l->multiprocessors, "multiprocessors");
    put_count(w, l->multiprocessors ? 0 : d->threads, "threads");
    if (l->clock_hz > 0) {
        put(w, " at up to ");
        put_quantity(w, l->clock_hz, "Hz");
    }
    put(w, ".");
}

static void per_multiprocessor(struct writer *w, const struct atoll_device_limits *l)
{
    if (!l->multiprocessors || !l->threads_per_multiprocessor)
        return;
    put(w, " Each multiprocessor holds %u threads", l->threads_per_multiprocessor);
    put_count(w, l->blocks_per_multiprocessor, "blocks");
    put_count(w, l->registers_per_multiprocessor, "registers of 32 bits");
    if (l->shared_bytes_per_multiprocessor) {
        put(w, ", ");
        put_bytes(w, l->shared_bytes_per_multiprocessor);
        put(w, " of shared memory");
    }
    put_count(w, l->warp_size, "threads in a warp");
    put(w, ".");
}

static void per_block(struct writer *w, const struct atoll_device_limits *l)
{
    if (!l->threads_per_block)
        return;
    put(w, " A block has at most %u threads", l->threads_per_block);
    if (l->shared_bytes_per_block)
        put(w, " and %u bytes of shared memory, static and dynamic together", l->shared_bytes_per_block);
    put(w, "; ");
    if (l->cluster_blocks)
        put(w, "a cluster has at most %u blocks", l->cluster_blocks);
    else
        put(w, "there are no clusters");
    put(w, "; cooperative launches are %s.", l->cooperative ? "possible" : "not possible");
}

static void memory(struct writer *w, const struct atoll_device_info *d)
{
    if (d->limits.memory_bytes > 0 &&
        d->limits.multiprocessors) { /* a processor's is no limit that a kernel meets */
        put(w, " Memory: ");
        put_bytes(w, d->limits.memory_bytes);
        put(w, ".");
    }
    if (d->last_level_cache_bytes > 0) {
        put(w, " Last-level cache: ");
        put_bytes(w, d->last_level_cache_bytes);
        put(w, ".");
    }
    if (d->bandwidth_bytes_per_s > 0) {
        put(w, " Measured copy bandwidth: ");
        put_quantity(w, d->bandwidth_bytes_per_s, "B/s");
        put(w, ".");
    }
}

/* "f32 60 TFLOP/s, f64 ..."; the one after the last type is tf32. */
static void peaks(struct writer *w, const char *title, const double *rates, size_t count)
{
    int any = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(rates[i] > 0))
            continue;
        put(w, "%s%s ", any ? ", " : title,
            i < ATOLL_DTYPE_COUNT ? atoll_dtype_name((enum atoll_dtype)i) : "tf32");
        put_quantity(w, rates[i],
                     i == ATOLL_DTYPE_COUNT || atoll_dtype_is_float((enum atoll_dtype)i) ? "FLOP/s" : "OP/s");
        any = 1;
    }
    put(w, any ? "." : "");
}

const char *atoll_device_facts(const struct atoll_device_info *device, char *ret_text, size_t bytes)
{
    struct writer w = {ret_text, bytes, 0};
    if (!bytes)
        return ret_text;
    ret_text[0] = 0;
    name(&w, device);
    per_multiprocessor(&w, &device->limits);
    per_block(&w, &device->limits);
    memory(&w, device);
    peaks(&w, " Measured arithmetic peaks: ", device->peak_flops, ATOLL_DTYPE_COUNT);
    peaks(&w, " Measured tensor peaks: ", device->limits.tensor_flops, ATOLL_DTYPE_COUNT + 1);
    if (device->empty_launch_ns > 0)
        put(&w, " An empty launch takes %.3g us.", device->empty_launch_ns / 1000);
    return ret_text;
}
