#include "scheduler/cli/profile_view.h"

#include <math.h>

#include "base/json.h"

/* Resources in the order in which they are printed. */
static const struct {
    const char *name, *unit;
    size_t offset;
} resources[] = {
#define RESOURCE(field, unit)                                                                                \
    {                                                                                                        \
#field, unit, offsetof(struct atoll_row_profile, field)                                              \
    }
    RESOURCE(kernel_count, ""),
    RESOURCE(registers, ""),
    RESOURCE(static_shared_bytes, "bytes"),
    RESOURCE(dynamic_shared_bytes, "bytes"),
    RESOURCE(stack_bytes, "bytes"),
    RESOURCE(spill_store_bytes, "bytes"),
    RESOURCE(spill_load_bytes, "bytes"),
#undef RESOURCE
};
#define RESOURCE_COUNT (sizeof(resources) / sizeof(*resources))

static uint32_t resource(const struct atoll_row_profile *p, size_t index)
{
    return *(const uint32_t *)(const void *)((const char *)p + resources[index].offset);
}

static int find(const struct atoll_archive_view *view, uint64_t evaluation, struct atoll_row_profile *ret)
{
    int64_t row = atoll_query_profile(view->query, evaluation);

    if (row < 0) {
        return -1;
    }
    atoll_tables_get(view->tables, ATOLL_TABLE_PROFILES, (uint64_t)row, ret);
    return 0;
}

static void print_line(FILE *out, const char *name, double value, const char *unit)
{
    fprintf(out, "    %-24s %14.10g %s\n", name, value, unit[0] == '1' ? "" : unit);
}

static void print_resources(FILE *out, const struct atoll_row_profile *p)
{
    for (size_t i = 0; i < RESOURCE_COUNT; i++) {
        print_line(out, resources[i].name, resource(p, i), resources[i].unit);
    }
    if (p->theoretical_occupancy > 0) {
        print_line(out, "theoretical_occupancy", 100 * p->theoretical_occupancy, "%");
    }
    for (unsigned m = 0; m < ATOLL_MIX_COUNT; m++) {
        if (p->mix[m]) {
            print_line(out, atoll_mix_name((enum atoll_mix)m), p->mix[m], "instructions");
        }
    }
}

static void print_counters(FILE *out, const struct atoll_row_profile *p)
{
    for (unsigned c = 0; c < ATOLL_COUNTER_COUNT; c++) {
        if (isfinite(p->counters[c])) {
            print_line(out, atoll_counter_name((enum atoll_counter)c), p->counters[c],
                       atoll_counter_unit((enum atoll_counter)c));
        }
    }
    if (p->intensity_flops_per_byte > 0) {
        print_line(out, "intensity", p->intensity_flops_per_byte, "operations per byte");
    }
}

void atoll_profile_view_print(const struct atoll_archive_view *view, uint64_t evaluation, FILE *out)
{
    struct atoll_row_profile p;
    const char *reason;

    if (find(view, evaluation, &p) != 0) {
        return;
    }
    reason = atoll_tables_text(view->tables, p.reason);
    fprintf(out, "  profile      %s, limited by: %s%s%s\n", atoll_tier_name((enum atoll_tier)p.tier),
            atoll_limiter_name((enum atoll_limiter)p.limiter), *reason ? "; no more: " : "", reason);
    if (p.clock_hz > 0) {
        print_line(out, "clock", p.clock_hz * 1e-6, "MHz");
    }
    if (p.throttle_reasons) {
        fprintf(out, "    %-24s %#14llx\n", "throttle_reasons", (unsigned long long)p.throttle_reasons);
    }
    if (p.kernel_count) {
        print_resources(out, &p);
    }
    print_counters(out, &p);
}

static json_t *resources_json(const struct atoll_row_profile *p)
{
    json_t *object = json_object(), *mix = json_object();

    for (size_t i = 0; i < RESOURCE_COUNT; i++) {
        json_object_set_new(object, resources[i].name, json_integer(resource(p, i)));
    }
    json_object_set_new(object, "theoretical_occupancy", json_real(p->theoretical_occupancy));
    for (unsigned m = 0; m < ATOLL_MIX_COUNT; m++) {
        json_object_set_new(mix, atoll_mix_name((enum atoll_mix)m), json_integer(p->mix[m]));
    }
    json_object_set_new(object, "mix", mix);
    return object;
}

static json_t *counters_json(const struct atoll_row_profile *p)
{
    json_t *object = json_object();

    for (unsigned c = 0; c < ATOLL_COUNTER_COUNT; c++) {
        if (isfinite(p->counters[c])) {
            json_object_set_new(object, atoll_counter_name((enum atoll_counter)c),
                                json_pack("{s:f, s:s}", "value", p->counters[c], "unit",
                                          atoll_counter_unit((enum atoll_counter)c)));
        }
    }
    return object;
}

json_t *atoll_profile_view_json(const struct atoll_archive_view *view, uint64_t evaluation)
{
    struct atoll_row_profile p;
    json_t *object;

    if (find(view, evaluation, &p) != 0) {
        return json_null();
    }
    object =
        json_pack("{s:s, s:s, s:o, s:f, s:I, s:f, s:f}", "tier", atoll_tier_name((enum atoll_tier)p.tier),
                  "limiter", atoll_limiter_name((enum atoll_limiter)p.limiter), "reason",
                  atoll_json_text(atoll_tables_text(view->tables, p.reason)), "clock_hz", p.clock_hz,
                  "throttle_reasons", (json_int_t)p.throttle_reasons, "intensity_flops_per_byte",
                  p.intensity_flops_per_byte, "wall_ns", p.wall_ns);
    json_object_set_new(object, "resources", p.kernel_count ? resources_json(&p) : json_null());
    json_object_set_new(object, "counters", counters_json(&p));
    return object;
}
