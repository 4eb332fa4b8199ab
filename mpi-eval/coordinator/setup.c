/* setup.c - one row per option. */
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/coordinator/setup.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/spelling.h"
#include "base/units.h"

#define CPU_COMPILER       "cc"
#define SANITIZE_LONGEST_S 300 /* a peer without results is given up after 600 s (peer_table.c) */

enum kind {
    KIND_TEXT,
    KIND_SECONDS,
    KIND_BYTES,
    KIND_COUNT,
    KIND_NUMBER,
    KIND_BACKEND,
    KIND_TIMING,
    KIND_COUNTERS,
    KIND_SANITIZE,
    KIND_LIMIT
};

static const struct row {
    const char *key;
    enum kind kind;
    size_t offset, size;
    double min, max;
} rows[] = {
#define ROW(key, kind, field, min, max)                                                                      \
    {                                                                                                        \
        key, kind, offsetof(struct atoll_setup, field), sizeof(((struct atoll_setup *)0)->field), min, max   \
    }
    ROW("compiler", KIND_TEXT, compiler, 0, 0),
    ROW("compile-flags", KIND_TEXT, compile_flags, 0, 0),
    ROW("compile-deadline", KIND_SECONDS, compile_deadline_ns, 0.1, 3600),
    ROW("compile-memory", KIND_BYTES, compile_memory_bytes, 1 << 24, 1e15),
    ROW("sample-device", KIND_SECONDS, sample_device_ns, 0.001, 3600),
    ROW("sample-wall", KIND_SECONDS, sample_wall_ns, 0.001, 3600),
    ROW("sample-min", KIND_COUNT, sample_min, 1, 4096),
    ROW("interval", KIND_NUMBER, interval_target, 1e-6, 1),
    ROW("full-compares", KIND_COUNT, full_compares, 1, 4096),
    ROW("threads", KIND_COUNT, threads, 0, 4096),
    ROW("backend", KIND_BACKEND, backend, 0, 0),
    ROW("timing", KIND_TIMING, is_warm, 0, 0),
    ROW("include-path", KIND_TEXT, include_path, 0, 0),
    ROW("python", KIND_TEXT, python, 0, 0),
    ROW("counters", KIND_COUNTERS, profile_all, 0, 0),
    ROW("counters-ratio", KIND_NUMBER, profile_ratio, 1, 1e6),
    ROW("counters-budget", KIND_NUMBER, profile_budget, 0, 1),
    ROW("sanitize", KIND_SANITIZE, sanitize_deadline_ns, 0, 0),
    ROW("sanitize-deadline", KIND_SECONDS, sanitize_deadline_ns, 1, SANITIZE_LONGEST_S),
#undef ROW
};

void atoll_setup_defaults(struct atoll_setup *ret_setup)
{
    *ret_setup = (struct atoll_setup){.sample_device_ns = 1e9,
                                      .sample_wall_ns = 3e9,
                                      .sample_min = 7,
                                      .interval_target = 0.005,
                                      .full_compares = 5,
                                      .compile_deadline_ns = 20e9,
                                      .compile_memory_bytes = (uint64_t)2 << 30,
                                      .sanitize_deadline_ns = 60e9,
                                      .compiler = CPU_COMPILER,
                                      .compile_flags = ATOLL_SETUP_COMPILE_FLAGS,
                                      .backend = "cpu",
                                      .profile_ratio = ATOLL_SETUP_COUNTERS_RATIO,
                                      .profile_budget = ATOLL_SETUP_COUNTERS_BUDGET};
}

static int parse_number(const struct row *row, const char *value, double *ret_number, struct atoll_err *err)
{
    char *end = NULL;
    uint64_t bytes;
    int rc = 0;
    if (row->kind == KIND_SECONDS)
        return atoll_duration_parse(value, ret_number, err);
    if (row->kind == KIND_BYTES) {
        rc = atoll_bytes_parse(value, &bytes, err);
        *ret_number = (double)bytes;
        return rc;
    }
    *ret_number = strtod(value, &end);
    if (end == value || *end || (row->kind == KIND_COUNT && *ret_number != floor(*ret_number)))
        rc = atoll_err_set(err, ATOLL_E_INPUT, "'%s' is not a number that fits", value);
    return rc;
}

/* The value is one of known, names with blanks between them.  what: "choice of counters"; all: "there are a and b". */
static int is_one_of(const char *value, const char *known, const char *what, const char *all,
                     struct atoll_err *err)
{
    char hint[ATOLL_SPELLING_HINT_BYTES];
    size_t length = strlen(value);
    for (const char *at = known; length && (at = strstr(at, value)) != NULL; at++)
        if ((at == known || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return 0;
    return atoll_err_set(err, ATOLL_E_INPUT, "'%.100s' is no %s; %s", value, what,
                         atoll_spelling_hint_in(value, known, all, hint));
}

static int apply_backend(struct atoll_setup *setup, const char *value, struct atoll_err *err)
{
    setup->backend_null = strcmp(value, "null") == 0;
    if (setup->backend_null)
        return 0;
    if (!value[0] || !atoll_backend_find(value))
        return is_one_of(value, "cpu cuda null", "backend", "there are cpu, cuda and null", err);
    snprintf(setup->backend, sizeof(setup->backend), "%s", value);
    /* What compiles for the backend unless the campaign says otherwise. */
    int is_cuda = strcmp(setup->backend, "cuda") == 0;
    if (is_cuda && strcmp(setup->compiler, CPU_COMPILER) == 0)
        snprintf(setup->compiler, sizeof(setup->compiler), "nvrtc");
    if (is_cuda && strcmp(setup->compile_flags, ATOLL_SETUP_COMPILE_FLAGS) == 0)
        setup->compile_flags[0] = '\0';
    return 0;
}

static int apply_timing(struct atoll_setup *setup, const char *value, struct atoll_err *err)
{
    if (is_one_of(value, "cold warm", "way of timing", "there are cold and warm", err) != 0)
        return -1;
    setup->is_warm = strcmp(value, "warm") == 0;
    return 0;
}

/* none, near (the elite of their cell) or all. */
static int apply_counters(struct atoll_setup *setup, const char *value, struct atoll_err *err)
{
    if (is_one_of(value, "none near all", "choice of counters", "there are none, near and all", err) != 0)
        return -1;
    setup->profile_all = strcmp(value, "all") == 0;
    if (strcmp(value, "none") == 0)
        setup->profile_ratio = 0;
    return 0;
}

/* none or finals. */
static int apply_sanitize(struct atoll_setup *setup, const char *value, struct atoll_err *err)
{
    if (is_one_of(value, "none finals", "choice of what is sanitized", "there are none and finals", err) != 0)
        return -1;
    if (strcmp(value, "none") == 0)
        setup->sanitize_deadline_ns = 0;
    return 0;
}

static int (*const choices[KIND_LIMIT])(struct atoll_setup *, const char *, struct atoll_err *) = {
    [KIND_BACKEND] = apply_backend,
    [KIND_TIMING] = apply_timing,
    [KIND_COUNTERS] = apply_counters,
    [KIND_SANITIZE] = apply_sanitize,
};

static int apply_row(struct atoll_setup *setup, const struct row *row, const char *value,
                     struct atoll_err *err)
{
    double number = 0;
    if (choices[row->kind])
        return choices[row->kind](setup, value, err);
    if (row->kind == KIND_TEXT) {
        if (strlen(value) >= row->size)
            return atoll_err_set(err, ATOLL_E_INPUT, "the text is longer than %zu bytes", row->size - 1);
        memcpy((char *)setup + row->offset, value, strlen(value) + 1);
        return 0;
    }
    if (parse_number(row, value, &number, err) != 0)
        return -1;
    if (!(number >= row->min && number <= row->max))
        return atoll_err_set(err, ATOLL_E_INPUT, "%s is not within %g to %g", value, row->min, row->max);
    /* counters: none and sanitize: none stand, wherever they stood. */
    if ((row->offset == offsetof(struct atoll_setup, profile_ratio) && !(setup->profile_ratio > 0)) ||
        (row->offset == offsetof(struct atoll_setup, sanitize_deadline_ns) &&
         !(setup->sanitize_deadline_ns > 0))) {
        return 0;
    }
    double seconds_ns = number * 1e9;
    uint64_t bytes = (uint64_t)number;
    uint32_t count = (uint32_t)number;
    const void *stored = row->kind == KIND_SECONDS  ? (const void *)&seconds_ns
                         : row->kind == KIND_BYTES  ? (const void *)&bytes
                         : row->kind == KIND_NUMBER ? (const void *)&number
                                                    : (const void *)&count;
    memcpy((char *)setup + row->offset, stored, row->size);
    return 0;
}

int atoll_setup_option(struct atoll_setup *setup, const char *key, const char *value, struct atoll_err *err)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].key, key) == 0)
            return apply_row(setup, &rows[i], value, err) == 0 ? 1 : -1;
    return 0;
}

int atoll_setup_of_campaign(const struct atoll_campaign *campaign, int is_null, struct atoll_setup *ret_setup,
                            struct atoll_err *err)
{
    const struct atoll_config *config = atoll_campaign_config(campaign);
    struct atoll_setup setup;
    atoll_setup_defaults(&setup);
    for (size_t i = 0; i < config->option_count; i++) {
        const struct atoll_config_option *option = &config->options[i];
        if (atoll_setup_option(&setup, option->key, option->value, err) < 0) {
            return atoll_err_add(err, "in option '%s' of %s/campaign.yaml", option->key,
                                 atoll_campaign_dir(campaign));
        }
    }
    setup.backend_null |= is_null != 0;
    if (setup.backend_null && !atoll_campaign_option(campaign, "sample-device"))
        setup.sample_device_ns = 0;
    setup.wants_triton = !setup.backend_null && config->search.triton != ATOLL_TRITON_NONE &&
                         strcmp(setup.backend, "cuda") == 0;
    if (getrandom(setup.secret, sizeof(setup.secret), 0) != (ssize_t)sizeof(setup.secret))
        return atoll_err_errno(err, errno, "cannot draw the run's secret");
    *ret_setup = setup;
    return 0;
}
