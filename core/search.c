#include "core/search.h"

#include <math.h>
#include <string.h>

static const char *const role_names[ATOLL_ISLAND_ROLE_COUNT] = {
    [ATOLL_ISLAND_FUSION] = "fusion",           [ATOLL_ISLAND_MEMORY] = "memory",
    [ATOLL_ISLAND_PARALLELISM] = "parallelism", [ATOLL_ISLAND_ALGORITHM] = "algorithm",
    [ATOLL_ISLAND_NUMERICS] = "numerics",
};

const char *atoll_island_role_name(enum atoll_island_role role)
{
    return (unsigned)role < ATOLL_ISLAND_ROLE_COUNT ? role_names[role] : "unknown";
}

const char *atoll_language_name(enum atoll_language language)
{
    static const char *const names[ATOLL_LANGUAGE_COUNT] = {
        [ATOLL_LANGUAGE_C] = "c", [ATOLL_LANGUAGE_CUDA] = "cuda"};
    return (unsigned)language < ATOLL_LANGUAGE_COUNT ? names[language] : "unknown";
}

enum atoll_language atoll_language_of_backend(const char *backend)
{
    return strcmp(backend, "cuda") == 0 ? ATOLL_LANGUAGE_CUDA : ATOLL_LANGUAGE_C;
}

void atoll_search_defaults(struct atoll_search *ret_search)
{
    *ret_search = (struct atoll_search){
        .seed = 1,
        .islands = 2,
        .generation_size = 8,
        .migration_interval = 4,
        .selection_share = {[ATOLL_SELECT_UNIFORM] = 0.5, [ATOLL_SELECT_FITNESS] = 0.5},
        .fitness_form = ATOLL_FITNESS_LOG,
        .finals_share = 0.12,
        .finals_tries = 3,
        .queue_depth = 3,
        .alpha = 0.05,
        .margin = 0.01,
        .pair_limit = 16,
        .noop_interval = 10,
        .stagnation_limit = 60,
    };
}

/* One row per field: encoder, decoder and the check of its range come from here; the order is the order of
 * the bytes. */
enum field_kind { FIELD_U64, FIELD_U32, FIELD_F64, FIELD_FORM };

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    double min, max;
};

#define FIELD(name, kind, min, max)                                                                          \
    {                                                                                                        \
#name, kind, offsetof(struct atoll_search, name), min, max                                           \
    }
#define COUNT_MAX 4294967295.0
#define NS_MAX    1e18 /* thirty years */

static const struct field fields[] = {
    FIELD(seed, FIELD_U64, 0, HUGE_VAL),
    FIELD(islands, FIELD_U32, 1, ATOLL_ISLAND_LIMIT),
    FIELD(generation_size, FIELD_U32, 1, COUNT_MAX),
    FIELD(migration_interval, FIELD_U32, 0, COUNT_MAX),
    FIELD(selection_share[ATOLL_SELECT_UNIFORM], FIELD_F64, 0, 1e6),
    FIELD(selection_share[ATOLL_SELECT_FITNESS], FIELD_F64, 0, 1e6),
    FIELD(selection_share[ATOLL_SELECT_CURIOSITY], FIELD_F64, 0, 1e6),
    FIELD(selection_share[ATOLL_SELECT_ISLAND], FIELD_F64, 0, 1e6),
    FIELD(fitness_form, FIELD_FORM, ATOLL_FITNESS_LOG, ATOLL_FITNESS_CLIPPED),
    FIELD(evaluation_budget, FIELD_U64, 0, HUGE_VAL),
    FIELD(device_budget_ns, FIELD_F64, 0, NS_MAX),
    FIELD(wall_budget_ns, FIELD_F64, 0, NS_MAX),
    FIELD(finals_share, FIELD_F64, 0, 0.9),
    FIELD(finals_tries, FIELD_U32, 1, 16),
    FIELD(queue_depth, FIELD_U32, 1, 1024),
    FIELD(alpha, FIELD_F64, 1e-12, 0.4999),
    FIELD(margin, FIELD_F64, 0, 1),
    FIELD(pair_limit, FIELD_U32, 4, 4096),
    FIELD(noop_interval, FIELD_U32, 0, COUNT_MAX),
    FIELD(stagnation_limit, FIELD_U32, 0, COUNT_MAX),
};

#define FIELD_COUNT (sizeof fields / sizeof *fields)

static void field_encode(const struct field *f, const struct atoll_search *s, struct atoll_buffer *out)
{
    const char *base = (const char *)s + f->offset;
    switch (f->kind) {
    case FIELD_U64: atoll_buffer_put_u64(out, *(const uint64_t *)(const void *)base); break;
    case FIELD_U32: atoll_buffer_put_u32(out, *(const uint32_t *)(const void *)base); break;
    case FIELD_F64: atoll_buffer_put_f64(out, *(const double *)(const void *)base); break;
    case FIELD_FORM: atoll_buffer_put_u8(out, (uint8_t)s->fitness_form); break;
    }
}

/* Returns the value as a double for the check of its range. */
static double field_decode(const struct field *f, struct atoll_reader *r, struct atoll_search *s)
{
    char *base = (char *)s + f->offset;
    switch (f->kind) {
    case FIELD_U64: return (double)(*(uint64_t *)(void *)base = atoll_reader_u64(r));
    case FIELD_U32: return *(uint32_t *)(void *)base = atoll_reader_u32(r);
    case FIELD_F64: return *(double *)(void *)base = atoll_reader_f64(r);
    case FIELD_FORM: break;
    }
    unsigned form = atoll_reader_u8(r);
    s->fitness_form = form ? ATOLL_FITNESS_CLIPPED : ATOLL_FITNESS_LOG;
    return form;
}

void atoll_search_encode(const struct atoll_search *s, struct atoll_buffer *out)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        field_encode(&fields[i], s, out);
    if (s->language != ATOLL_LANGUAGE_C)
        atoll_buffer_put_u8(out, (uint8_t)s->language);
}

/* The byte at the end, where there is one: any language but c. */
static int language_decode(struct atoll_reader *r, struct atoll_search *s, struct atoll_err *err)
{
    unsigned language = atoll_reader_u8(r);
    if (r->failed)
        return 0;
    if (language == ATOLL_LANGUAGE_C || language >= ATOLL_LANGUAGE_COUNT)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "search settings: language is %u", language);
    s->language = (enum atoll_language)language;
    return 0;
}

int atoll_search_decode(const void *bytes, size_t length, struct atoll_search *ret_search,
                        struct atoll_err *err)
{
    struct atoll_reader r;
    atoll_reader_init(&r, bytes, length);
    struct atoll_search s;
    memset(&s, 0, sizeof s);
    double values[FIELD_COUNT];
    for (size_t i = 0; i < FIELD_COUNT; i++)
        values[i] = field_decode(&fields[i], &r, &s);
    if (!r.failed && r.offset < r.length && language_decode(&r, &s, err))
        return -1;
    if (atoll_reader_finish(&r, "search settings", err))
        return -1;
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (!(values[i] >= fields[i].min && values[i] <= fields[i].max))
            return atoll_err_set(err, ATOLL_E_PROTOCOL, "search settings: %s is %g, must be %g to %g",
                                 fields[i].name, values[i], fields[i].min, fields[i].max);
    double sum = 0;
    for (size_t i = 0; i < ATOLL_SELECTION_COUNT; i++)
        sum += s.selection_share[i];
    if (!(sum > 0))
        return atoll_err_set(err, ATOLL_E_PROTOCOL,
                             "search settings: the shares of all selection rules are 0");
    *ret_search = s;
    return 0;
}
