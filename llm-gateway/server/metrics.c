/* metrics.c - counters by model and by endpoint, gauges by name; the text is written when somebody asks for it. */
#include "llm-gateway/server/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_LIMIT 256
#define TRY_LIMIT   1024 /* pairs of endpoint and status */
#define GAUGE_LIMIT 64
#define NAME_BYTES  64
#define OTHER       "other" /* what a full table counts under */

/* seconds; the last bucket is +Inf */
static const double bounds[] = {0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1800};
#define BOUND_COUNT (sizeof(bounds) / sizeof(*bounds))

struct model {
    char name[NAME_BYTES];
    uint64_t by_status[ATOLL_LLM_STATUS_COUNT];
    uint64_t from_store;
    uint64_t tokens[5]; /* in the order of kinds */
    double cost_usd;
    uint64_t at_most[BOUND_COUNT + 1];
    double elapsed_s, first_byte_s;
    uint64_t first_byte_count;
};

struct
try {
    char endpoint[NAME_BYTES];
    int http_status;
    uint64_t count;
};

struct gauge {
    char name[NAME_BYTES];
    double value;
};

struct atoll_metrics {
    size_t model_count, try_count, gauge_count;
    struct model *models[MODEL_LIMIT]; /* each allocated when it is first seen */
    struct try tries[TRY_LIMIT];
    struct gauge gauges[GAUGE_LIMIT];
    uint64_t lost; /* counts that found no memory */
};

struct atoll_metrics *atoll_metrics_create(struct atoll_err *err)
{
    struct atoll_metrics *metrics = calloc(1, sizeof(*metrics));
    if (!metrics)
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for metrics");
    return metrics;
}

void atoll_metrics_destroy(struct atoll_metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < metrics->model_count; i++)
        free(metrics->models[i]);
    free(metrics);
}

/* ---- counting ---- */

/* Label values: printable, and what the text format needs no escape for. */
static void set_name(char ret[NAME_BYTES], const char *from)
{
    snprintf(ret, NAME_BYTES, "%s", from);
    for (char *c = ret; *c; c++)
        if ((unsigned char)*c < 0x20 || strchr("\"\\\x7f", *c))
            *c = '_';
}

static struct model *known_model(const struct atoll_metrics *metrics, const char *name)
{
    for (size_t i = 0; i < metrics->model_count; i++)
        if (strcmp(metrics->models[i]->name, name) == 0)
            return metrics->models[i];
    return NULL;
}

static struct model *find_model(struct atoll_metrics *metrics, const char *given)
{
    char name[NAME_BYTES];
    set_name(name, given ? given : "");
    struct model *model = known_model(metrics, name);
    if (!model && metrics->model_count >= MODEL_LIMIT - 1) {
        strcpy(name, OTHER);
        model = known_model(metrics, name);
    }
    if (model)
        return model;
    model = calloc(1, sizeof(*model));
    if (!model)
        return NULL;
    memcpy(model->name, name, sizeof(name));
    metrics->models[metrics->model_count++] = model;
    return model;
}

static size_t bucket_of(double seconds)
{
    size_t i = 0;
    while (i < BOUND_COUNT && !(seconds <= bounds[i]))
        i++;
    return i;
}

static double sane(double v)
{
    return isfinite(v) && v > 0 ? v : 0;
}

void atoll_metrics_outcome(struct atoll_metrics *metrics, const char *model,
                           const struct atoll_llm_outcome *outcome)
{
    struct model *m = find_model(metrics, model);
    if (!m || outcome->status >= ATOLL_LLM_STATUS_COUNT) {
        metrics->lost++;
        return;
    }
    m->by_status[outcome->status]++;
    if (outcome->is_from_store) { /* it cost nothing now, and took no time of a provider */
        m->from_store++;
        return;
    }
    const struct atoll_llm_usage *u = &outcome->usage;
    const uint64_t tokens[5] = {u->input, u->cached_input, u->cache_write, u->output, u->reasoning};
    for (size_t i = 0; i < 5; i++)
        m->tokens[i] += tokens[i];
    m->cost_usd += sane(outcome->cost_usd);
    m->at_most[bucket_of(sane(outcome->elapsed_s))]++;
    m->elapsed_s += sane(outcome->elapsed_s);
    if (sane(outcome->first_byte_s) > 0) {
        m->first_byte_s += outcome->first_byte_s;
        m->first_byte_count++;
    }
}

static struct try *known_try(struct atoll_metrics *metrics, const char *endpoint, int http_status)
{
    for (size_t i = 0; i < metrics->try_count; i++)
        if (metrics->tries[i].http_status == http_status && strcmp(metrics->tries[i].endpoint, endpoint) == 0)
            return &metrics->tries[i];
    return NULL;
}

void atoll_metrics_try(struct atoll_metrics *metrics, const char *endpoint, int http_status)
{
    char name[NAME_BYTES];
    set_name(name, endpoint ? endpoint : "");
    struct try *t = known_try(metrics, name, http_status);
    if (!t && metrics->try_count >= TRY_LIMIT - 1) {
        strcpy(name, OTHER);
        http_status = 0;
        t = known_try(metrics, name, http_status);
    }
    if (!t) {
        t = &metrics->tries[metrics->try_count++];
        *t = (struct try){.http_status = http_status};
        memcpy(t->endpoint, name, sizeof(name));
    }
    t->count++;
}

/* Names are ours and become parts of metric names: [a-z0-9_]. */
void atoll_metrics_gauge(struct atoll_metrics *metrics, const char *name, double value)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    if (!name[0] || strlen(name) >= NAME_BYTES || strspn(name, letters) != strlen(name)) {
        metrics->lost++;
        return;
    }
    size_t i = 0;
    while (i < metrics->gauge_count && strcmp(metrics->gauges[i].name, name) != 0)
        i++;
    if (i == GAUGE_LIMIT) {
        metrics->lost++;
        return;
    }
    if (i == metrics->gauge_count) {
        memcpy(metrics->gauges[i].name, name, strlen(name) + 1);
        metrics->gauge_count++;
    }
    metrics->gauges[i].value = value;
}

/* ---- writing ---- */

/* The format wants NaN, +Inf and -Inf so. */
static void put_value(struct atoll_buffer *out, double v)
{
    if (isnan(v))
        atoll_buffer_printf(out, " NaN\n");
    else if (isinf(v))
        atoll_buffer_printf(out, v > 0 ? " +Inf\n" : " -Inf\n");
    else
        atoll_buffer_printf(out, " %.17g\n", v);
}

static void put_head(struct atoll_buffer *out, const char *name, const char *type, const char *help)
{
    atoll_buffer_printf(out, "# HELP atoll_gateway_%s %s\n# TYPE atoll_gateway_%s %s\n", name, help, name,
                        type);
}

static void put_outcomes(const struct atoll_metrics *metrics, struct atoll_buffer *out)
{
    put_head(out, "outcomes_total", "counter", "Calls by model and what became of them.");
    for (size_t i = 0; i < metrics->model_count; i++)
        for (int s = 0; s < ATOLL_LLM_STATUS_COUNT; s++)
            if (metrics->models[i]->by_status[s])
                atoll_buffer_printf(out,
                                    "atoll_gateway_outcomes_total{model=\"%s\",status=\"%s\"} %" PRIu64 "\n",
                                    metrics->models[i]->name, atoll_llm_status_name((enum atoll_llm_status)s),
                                    metrics->models[i]->by_status[s]);
    put_head(out, "from_store_total", "counter", "Calls that the store answered.");
    for (size_t i = 0; i < metrics->model_count; i++)
        atoll_buffer_printf(out, "atoll_gateway_from_store_total{model=\"%s\"} %" PRIu64 "\n",
                            metrics->models[i]->name, metrics->models[i]->from_store);
}

static void put_costs(const struct atoll_metrics *metrics, struct atoll_buffer *out)
{
    static const char *const kinds[5] = {"input", "cached_input", "cache_write", "output", "reasoning"};
    put_head(out, "tokens_total", "counter",
             "Tokens; cached_input and cache_write are parts of input, reasoning of output.");
    for (size_t i = 0; i < metrics->model_count; i++)
        for (size_t k = 0; k < 5; k++)
            atoll_buffer_printf(out, "atoll_gateway_tokens_total{model=\"%s\",kind=\"%s\"} %" PRIu64 "\n",
                                metrics->models[i]->name, kinds[k], metrics->models[i]->tokens[k]);
    put_head(out, "cost_usd_total", "counter", "US dollars at the price table.");
    for (size_t i = 0; i < metrics->model_count; i++) {
        atoll_buffer_printf(out, "atoll_gateway_cost_usd_total{model=\"%s\"}", metrics->models[i]->name);
        put_value(out, metrics->models[i]->cost_usd);
    }
}

static void put_times(const struct atoll_metrics *metrics, struct atoll_buffer *out)
{
    put_head(out, "call_seconds", "histogram",
             "From the first try to the end, of calls not answered by the store.");
    for (size_t i = 0; i < metrics->model_count; i++) {
        const struct model *m = metrics->models[i];
        uint64_t sum = 0;
        for (size_t b = 0; b < BOUND_COUNT; b++) {
            sum += m->at_most[b];
            atoll_buffer_printf(out,
                                "atoll_gateway_call_seconds_bucket{model=\"%s\",le=\"%g\"} %" PRIu64 "\n",
                                m->name, bounds[b], sum);
        }
        sum += m->at_most[BOUND_COUNT];
        atoll_buffer_printf(out, "atoll_gateway_call_seconds_bucket{model=\"%s\",le=\"+Inf\"} %" PRIu64 "\n",
                            m->name, sum);
        atoll_buffer_printf(out, "atoll_gateway_call_seconds_sum{model=\"%s\"}", m->name);
        put_value(out, m->elapsed_s);
        atoll_buffer_printf(out, "atoll_gateway_call_seconds_count{model=\"%s\"} %" PRIu64 "\n", m->name,
                            sum);
    }
    put_head(out, "first_byte_seconds", "summary", "Until the first byte of a reply.");
    for (size_t i = 0; i < metrics->model_count; i++) {
        const struct model *m = metrics->models[i];
        atoll_buffer_printf(out, "atoll_gateway_first_byte_seconds_sum{model=\"%s\"}", m->name);
        put_value(out, m->first_byte_s);
        atoll_buffer_printf(out, "atoll_gateway_first_byte_seconds_count{model=\"%s\"} %" PRIu64 "\n",
                            m->name, m->first_byte_count);
    }
}

static void put_tries(const struct atoll_metrics *metrics, struct atoll_buffer *out)
{
    put_head(out, "tries_total", "counter", "HTTP exchanges by endpoint and status; 0: no reply came.");
    for (size_t i = 0; i < metrics->try_count; i++)
        atoll_buffer_printf(
            out, "atoll_gateway_tries_total{endpoint=\"%s\",http_status=\"%d\"} %" PRIu64 "\n",
            metrics->tries[i].endpoint, metrics->tries[i].http_status, metrics->tries[i].count);
}

void atoll_metrics_write(const struct atoll_metrics *metrics, struct atoll_buffer *out)
{
    put_outcomes(metrics, out);
    put_costs(metrics, out);
    put_times(metrics, out);
    put_tries(metrics, out);
    for (size_t i = 0; i < metrics->gauge_count; i++) {
        const struct gauge *g = &metrics->gauges[i];
        atoll_buffer_printf(out, "# TYPE atoll_gateway_%s gauge\natoll_gateway_%s", g->name, g->name);
        put_value(out, g->value);
    }
    put_head(out, "uncounted_total", "counter", "Counts that found no room or no memory.");
    atoll_buffer_printf(out, "atoll_gateway_uncounted_total %" PRIu64 "\n", metrics->lost);
}
