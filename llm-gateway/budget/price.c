/* price.c - a table of prices, and whole nanodollars from it.
 * A price in dollars per million tokens is kept as it is written; money is computed in picodollars (1e-12 USD), in which a
 * price of at most six decimals is a whole number per token, and rounded up to nanodollars at the end: no sum is too low. */
#include "llm-gateway/budget/price.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/yaml.h"

#define MODEL_LIMIT 1024
#define PRICE_MAX   1e6 /* dollars per million tokens: keeps products inside 128 bits by far */

struct row {
    const char *name;
    struct atoll_price price;
};

struct atoll_prices {
    struct atoll_arena *arena;
    const char *date, *source;
    size_t row_count;
    struct row *rows;
};

/* ---- the file ---- */

static int read_price(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    double value;
    if (atoll_yaml_read_number(walk, node, &value))
        return -1;
    if (value > PRICE_MAX)
        return atoll_yaml_fail(walk, node, "%s dollars per million tokens is no price; at most 1e6",
                               atoll_yaml_scalar(node));
    *(double *)target = value;
    return 0;
}

static int read_ratio(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    double value;
    if (atoll_yaml_read_number(walk, node, &value))
        return -1;
    if (value < 1 || value > 1000)
        return atoll_yaml_fail(walk, node, "'%s' must lie between 1 and 1000", atoll_yaml_scalar(node));
    *(double *)target = value;
    return 0;
}

static int read_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_prices *prices = walk->owner;
    const char *name;
    if (atoll_yaml_read_text(walk, node, &name))
        return -1;
    for (size_t i = 0; i < prices->row_count; i++)
        if (strcmp(prices->rows[i].name, name) == 0)
            return atoll_yaml_fail(walk, node, "model '%.80s' stands here twice; remove one row", name);
    *(const char **)target = name;
    return 0;
}

/* Batches are not used any more: a table that still prices them is refused rather than read as if it said nothing. */
static int refuse_removed(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_fail(walk, node, "batch_ratio: was removed with the batch APIs; delete it");
}

#define ROW(m) offsetof(struct row, price.m)
static const struct atoll_yaml_row model_rows[] = {
    {"name", ATOLL_YAML_REQUIRED, read_name, offsetof(struct row, name)},
    {"input", ATOLL_YAML_REQUIRED, read_price, ROW(input)},
    {"cached_input", ATOLL_YAML_OPTIONAL, read_price, ROW(cached_input)},
    {"cache_write", ATOLL_YAML_OPTIONAL, read_price, ROW(cache_write)},
    {"output", ATOLL_YAML_REQUIRED, read_price, ROW(output)},
    {"batch_ratio", ATOLL_YAML_HIDDEN, refuse_removed, 0},
    {"above_input_tokens", ATOLL_YAML_OPTIONAL, atoll_yaml_read_positive, ROW(above_input_tokens)},
    {"above_ratio", ATOLL_YAML_OPTIONAL, read_ratio, ROW(above_ratio)},
};
static const struct atoll_yaml_section model_section = {model_rows, sizeof(model_rows) / sizeof(*model_rows)};

/* What a row does not say is never cheaper than what it says. */
static int read_model(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_prices *prices = target;
    struct row row = {.price = {.cached_input = -1, .cache_write = -1}};
    if (atoll_yaml_map(walk, &model_section, node, &row))
        return -1;
    if ((row.price.above_input_tokens > 0) != (row.price.above_ratio > 0))
        return atoll_yaml_fail(walk, node,
                               "above_input_tokens and above_ratio go together; give both or none");
    if (row.price.cached_input < 0)
        row.price.cached_input = row.price.input;
    if (row.price.cache_write < 0)
        row.price.cache_write = row.price.input;
    prices->rows[prices->row_count++] = row;
    return 0;
}

static int read_models(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_prices *prices = walk->owner;
    size_t count = atoll_yaml_count(node);
    prices->rows = atoll_arena_alloc_array(walk->arena, count < MODEL_LIMIT ? count : MODEL_LIMIT,
                                           sizeof(*prices->rows), walk->err);
    if (!prices->rows)
        return -1;
    return atoll_yaml_list(walk, node, MODEL_LIMIT, "models", read_model, prices);
}

/* YYYY-MM-DD, so that dates compare as texts. */
static int read_date(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    static const char shape[] = "0000-00-00";
    int is_date = text && strlen(text) == sizeof(shape) - 1;
    for (size_t i = 0; is_date && shape[i]; i++)
        is_date = shape[i] == '-' ? text[i] == '-' : text[i] >= '0' && text[i] <= '9';
    if (!is_date)
        return atoll_yaml_fail(walk, node, "date '%.40s' is none; write YYYY-MM-DD", text ? text : "");
    return atoll_yaml_read_text(walk, node, target);
}

static const struct atoll_yaml_row file_rows[] = {
    {"version", ATOLL_YAML_REQUIRED, atoll_yaml_read_version1, 0},
    {"date", ATOLL_YAML_REQUIRED, read_date, offsetof(struct atoll_prices, date)},
    {"source", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, offsetof(struct atoll_prices, source)},
    {"models", ATOLL_YAML_REQUIRED, read_models, 0},
};
static const struct atoll_yaml_section file_section = {file_rows, sizeof(file_rows) / sizeof(*file_rows)};

static struct atoll_prices *read_prices(const struct atoll_yaml *yaml, struct atoll_err *err)
{
    struct atoll_arena *arena = atoll_arena_create((size_t)4 << 20, err);
    struct atoll_prices *prices = arena ? atoll_arena_alloc(arena, sizeof(*prices), err) : NULL;
    struct atoll_yaml_walk walk = {yaml, arena, prices, err};
    if (prices) {
        prices->arena = arena;
        if (!atoll_yaml_map(&walk, &file_section, atoll_yaml_root(yaml), prices))
            return prices;
    }
    atoll_arena_destroy(arena);
    return NULL;
}

struct atoll_prices *atoll_prices_load(const char *path, struct atoll_err *err)
{
    struct atoll_yaml *yaml = atoll_yaml_load(path, err);
    struct atoll_prices *prices = yaml ? read_prices(yaml, err) : NULL;
    atoll_yaml_destroy(yaml);
    return prices;
}

void atoll_prices_destroy(struct atoll_prices *prices)
{
    if (prices)
        atoll_arena_destroy(prices->arena);
}

const struct atoll_price *atoll_prices_find(const struct atoll_prices *prices, const char *name)
{
    for (size_t i = 0; i < prices->row_count; i++)
        if (strcmp(prices->rows[i].name, name) == 0)
            return &prices->rows[i].price;
    return NULL;
}

/* ---- money ---- */

/* A sum in picodollars that says UINT64_MAX nanodollars rather than wrap around. */
struct sum {
    unsigned __int128 pico;
    int is_beyond;
};

static void add(struct sum *sum, uint64_t tokens, double per_million)
{
    /* dollars per million tokens * 1e6 = picodollars per token; a tiny excess of binary fractions is not rounded up */
    double per_token = ceil(per_million * 1e6 - 1e-6);
    unsigned __int128 limit = (unsigned __int128)UINT64_MAX * 1000;
    if (!(per_token > 0) || !tokens)
        return;
    if (!(per_token < 0x1p60)) { /* then four products of 124 bits fit */
        sum->is_beyond = 1;
        return;
    }
    sum->pico += (unsigned __int128)tokens * (uint64_t)per_token;
    sum->is_beyond |= sum->pico > limit;
}

static atoll_nanousd rounded_up(const struct sum *sum)
{
    return sum->is_beyond ? UINT64_MAX : (atoll_nanousd)((sum->pico + 999) / 1000);
}

static double ratio_of(const struct atoll_price *price, uint64_t input)
{
    return price->above_ratio > 0 && (double)input >= price->above_input_tokens ? price->above_ratio : 1;
}

atoll_nanousd atoll_price_cost(const struct atoll_price *price, const struct atoll_llm_usage *usage)
{
    struct sum sum = {0, 0};
    if (!price)
        return 0;
    double ratio = ratio_of(price, usage->input);
    /* parts beyond the whole (a provider that counts otherwise) are paid for, they make nothing cheaper */
    uint64_t cached = usage->cached_input, written = usage->cache_write;
    uint64_t plain = usage->input > cached ? usage->input - cached : 0;
    plain = plain > written ? plain - written : 0;
    add(&sum, plain, price->input * ratio);
    add(&sum, cached, price->cached_input * ratio);
    add(&sum, written, price->cache_write * ratio);
    add(&sum, usage->output, price->output * ratio);
    return rounded_up(&sum);
}

atoll_nanousd atoll_price_worst(const struct atoll_price *price, uint64_t input_bound, uint64_t output_limit)
{
    struct sum sum = {0, 0};
    if (!price)
        return 0;
    double ratio = ratio_of(price, input_bound);
    double dearest = fmax(price->input, fmax(price->cached_input, price->cache_write));
    add(&sum, input_bound, dearest * ratio);
    add(&sum, output_limit, price->output * ratio);
    return rounded_up(&sum);
}
