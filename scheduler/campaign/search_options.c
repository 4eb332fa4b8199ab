/* search_options.c - what has an option of its own is a row here; everything is a row of core/search.c. */
#include "scheduler/campaign/search_options.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/print.h"
#include "base/spelling.h"
#include "base/units.h"

#define NAME_BYTES    64
#define FIELD_LIMIT   128
#define LISTING_BYTES 65536

static const struct row {
    const char *option, *field;
    size_t offset;
    int is_duration; /* a time as people write it, kept in nanoseconds */
} rows[] = {
#define ROW(option, member, field, is_duration)                                                              \
    {                                                                                                        \
        option, field, offsetof(struct atoll_search_options, member), is_duration                            \
    }
    ROW("strategy", strategy, "strategy", 0),
    ROW("seed", seed, "seed", 0),
    ROW("islands", islands, "islands", 0),
    ROW("evaluations", evaluations, "evaluation_budget", 0),
    ROW("seconds", seconds, "wall_budget_ns", 1),
    ROW("device-seconds", device_seconds, "device_budget_ns", 1),
    ROW("tokens", tokens, "token_budget", 0),
    ROW("money", money, "money_budget_usd", 0),
    ROW("floor-goal", floor_goal, "floor_goal", 0),
    ROW("samples", samples, "samples", 0),
#undef ROW
};
#define ROW_COUNT (sizeof(rows) / sizeof(*rows))

static const char *given(const struct atoll_search_options *options, const struct row *row)
{
    const char *value;
    memcpy(&value, (const char *)options + row->offset, sizeof(value));
    return value;
}

/* The row of a setting's own option where that was given. */
static const struct row *row_given(const struct atoll_search_options *options, const char *field)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strcmp(rows[i].field, field) == 0 && given(options, &rows[i]))
            return &rows[i];
    return NULL;
}

static int names(const char *setting, const char *field)
{
    size_t length = strlen(field);
    return strncmp(setting, field, length) == 0 && setting[length] == '=';
}

int atoll_search_options_has(const struct atoll_search_options *options, const char *field)
{
    for (size_t i = 0; i < options->set.count; i++)
        if (names(options->set.items[i], field))
            return 1;
    return row_given(options, field) != NULL;
}

/* Whoever typed it reads the option's name first. */
static int set(struct atoll_search *search, const struct atoll_search_field *field, const char *option,
               const char *value, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    if (atoll_search_set(search, field, value, &why) == 0)
        return 0;
    return atoll_err_set(err, ATOLL_E_USAGE, "--%s: %s", option, why.text);
}

/* "name=value", once. */
static int apply_setting(const struct atoll_search_options *options, size_t index,
                         struct atoll_search *search, struct atoll_err *err)
{
    const char *text = options->set.items[index];
    const char *equals = strchr(text, '=');
    char name[NAME_BYTES];
    if (!equals || equals == text) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "--set %.64s: NAME=VALUE is expected; `atoll run --list-settings` prints all",
                             text);
    }
    snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
    const struct atoll_search_field *field = atoll_search_field(name);
    if (!field) {
        const char *known[FIELD_LIMIT];
        char hint[ATOLL_SPELLING_HINT_BYTES];
        size_t count;
        const struct atoll_search_field *fields = atoll_search_fields(&count);
        count = count < FIELD_LIMIT ? count : FIELD_LIMIT;
        for (size_t i = 0; i < count; i++)
            known[i] = fields[i].name;
        return atoll_err_set(
            err, ATOLL_E_USAGE, "--set %s: no such setting; %s", name,
            atoll_spelling_hint(name, known, count, "`atoll run --list-settings` prints all", hint));
    }
    const struct row *row = row_given(options, name);
    if (row) {
        return atoll_err_set(err, ATOLL_E_USAGE, "--set %s and --%s are the same setting; give one of them",
                             name, row->option);
    }
    for (size_t i = 0; i < index; i++)
        if (names(options->set.items[i], name))
            return atoll_err_set(err, ATOLL_E_USAGE, "--set %s is given twice", name);
    return set(search, field, "set", equals + 1, err);
}

int atoll_search_options_apply(const struct atoll_search_options *options, struct atoll_search *search,
                               struct atoll_err *err)
{
    struct atoll_search chosen = *search, same;
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_buffer bytes;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *value = given(options, &rows[i]);
        char nanoseconds[32];
        double seconds;
        if (value && rows[i].is_duration) {
            if (atoll_duration_parse(value, &seconds, &why) != 0)
                return atoll_err_set(err, ATOLL_E_USAGE, "--%s: %s", rows[i].option, why.text);
            snprintf(nanoseconds, sizeof(nanoseconds), "%.17g", seconds * 1e9);
            value = nanoseconds;
        }
        if (value && set(&chosen, atoll_search_field(rows[i].field), rows[i].option, value, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < options->set.count; i++)
        if (apply_setting(options, i, &chosen, err) != 0)
            return -1;
    /* The engine refuses settings that do not go together: here before a campaign is made. */
    atoll_buffer_init(&bytes, LISTING_BYTES);
    atoll_search_encode(&chosen, &bytes);
    int status = atoll_buffer_check(&bytes, err);
    if (status == 0 && atoll_search_decode(bytes.data, bytes.length, &same, &why) != 0)
        status = atoll_err_set(err, ATOLL_E_USAGE, "%s", why.text);
    atoll_buffer_fini(&bytes);
    if (status == 0)
        *search = chosen;
    return status;
}

static void put_range(const struct atoll_search_field *field, struct atoll_buffer *out)
{
    if (field->top) {
        atoll_buffer_printf(out, "%g..%s", field->min, field->top);
        return;
    }
    if (field->kind != ATOLL_SEARCH_NAME) {
        atoll_buffer_printf(out, isinf(field->max) ? "%g.." : "%g..%.10g", field->min, field->max);
        return;
    }
    for (uint32_t i = 0; i <= (uint32_t)field->max; i++)
        atoll_buffer_printf(out, "%s%s", i ? "|" : "", field->names[i]);
}

/* A cell of at least width columns, and a blank. */
static void put_cell(struct atoll_buffer *out, size_t begin, size_t width)
{
    size_t length = out->length - begin;
    atoll_buffer_printf(out, "%*s", (int)(length < width ? width - length : 0) + 1, "");
}

void atoll_search_options_list(const struct atoll_search *defaults, FILE *out)
{
    enum { NAME_WIDTH = 24, RANGE_WIDTH = 38, DEFAULT_WIDTH = 12, SUMMARY_LEAST = 60 };
    struct atoll_buffer text;
    size_t count;
    const struct atoll_search_field *fields = atoll_search_fields(&count);
    size_t columns = atoll_print_columns(out);
    /* What it is stands behind, or where that is hardly a word wide, below. */
    const char *between =
        columns && columns < NAME_WIDTH + RANGE_WIDTH + DEFAULT_WIDTH + SUMMARY_LEAST ? "\n    " : "";
    atoll_buffer_init(&text, LISTING_BYTES);
    atoll_buffer_printf(&text, "%-*s %-*s %-*s %s\n", NAME_WIDTH, "setting", RANGE_WIDTH, "values",
                        DEFAULT_WIDTH, "default", *between ? "" : "what it is");
    for (size_t i = 0; i < count; i++) {
        atoll_buffer_printf(&text, "%-*s ", NAME_WIDTH, fields[i].name);
        size_t begin = text.length;
        put_range(&fields[i], &text);
        put_cell(&text, begin, RANGE_WIDTH);
        begin = text.length;
        atoll_search_print(defaults, &fields[i], &text);
        put_cell(&text, begin, DEFAULT_WIDTH);
        atoll_buffer_printf(&text, "%s%s\n", between, fields[i].summary);
    }
    fwrite(text.data, 1, text.length, out);
    atoll_buffer_fini(&text);
}

void atoll_search_options_man(FILE *out)
{
    struct atoll_search defaults;
    size_t count;
    const struct atoll_search_field *fields = atoll_search_fields(&count);
    atoll_search_defaults(&defaults);
    fputs(".TH ATOLL-SETTINGS 7 \"\" \"Atoll\" \"Atoll manual\"\n.SH NAME\natoll\\-settings \\- settings of "
          "the search\n.SH DESCRIPTION\n`atoll run \\-\\-set NAME=VALUE` changes one; campaign.yaml keeps "
          "all of "
          "them, and a resume takes them from there.\n.SH SETTINGS\n",
          out);
    for (size_t i = 0; i < count; i++) {
        struct atoll_buffer text;
        atoll_buffer_init(&text, LISTING_BYTES);
        atoll_buffer_printf(&text, ".TP\n.B %s\n%s. Values: ", fields[i].name, fields[i].summary);
        put_range(&fields[i], &text);
        atoll_buffer_printf(&text, ". Default: ");
        atoll_search_print(&defaults, &fields[i], &text);
        atoll_buffer_printf(&text, ".\n");
        atoll_buffer_put_u8(&text, 0);
        for (const char *c = (const char *)text.data; *c;
             c++) { /* a dash is a hyphen unless roff is told otherwise */
            fprintf(out, *c == '-' ? "\\%c" : "%c", *c);
        }
        atoll_buffer_fini(&text);
    }
    fputs(".SH SEE ALSO\n.BR atoll\\-run (1)\n", out);
}

/* The default as --set reads it: a seed has more bits than a JSON number. */
static json_t *setting_json(const struct atoll_search *defaults, const struct atoll_search_field *field)
{
    static const char *const kinds[] = {[ATOLL_SEARCH_U64] = "whole",
                                        [ATOLL_SEARCH_U32] = "whole",
                                        [ATOLL_SEARCH_F64] = "number",
                                        [ATOLL_SEARCH_NAME] = "name"};
    struct atoll_buffer value;
    atoll_buffer_init(&value, LISTING_BYTES);
    atoll_search_print(defaults, field, &value);
    atoll_buffer_put_u8(&value, 0);
    json_t *o = json_pack("{s:s, s:s, s:s, s:s}", "name", field->name, "kind", kinds[field->kind], "default",
                          (const char *)value.data, "summary", field->summary);
    atoll_buffer_fini(&value);
    if (field->top)
        json_object_set_new(o, "max_word", json_string(field->top));
    if (field->kind != ATOLL_SEARCH_NAME) {
        json_object_set_new(o, "min", isinf(field->min) ? json_null() : json_real(field->min));
        json_object_set_new(o, "max", isinf(field->max) ? json_null() : json_real(field->max));
        return o;
    }
    json_t *values = json_array();
    for (uint32_t i = 0; i <= (uint32_t)field->max; i++)
        json_array_append_new(values, json_string(field->names[i]));
    json_object_set_new(o, "values", values);
    return o;
}

void atoll_search_options_list_json(const struct atoll_search *defaults, FILE *out)
{
    size_t count;
    const struct atoll_search_field *fields = atoll_search_fields(&count);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, setting_json(defaults, &fields[i]));
    atoll_json_print(list, JSON_INDENT(2), out);
}
