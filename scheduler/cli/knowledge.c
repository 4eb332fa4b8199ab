/* knowledge.c - `atoll knowledge list`, `search`, `show` and `check`: what models are told, looked up and looked at
 * (docs/spec/knowledge.md). */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/print.h"
#include "base/spelling.h"
#include "base/text_index.h"
#include "core/knowledge/knowledge_base.h"
#include "scheduler/cli/command.h"
#include "scheduler/knowledge/overlay.h"

#define ENTRY_LIMIT (4u << 20) /* of the index of words */
#define NAME_LIMIT  4096
#define WHAT_BYTES  100 /* of a line of a table */

struct look_settings {
    struct atoll_option_list folders;
    const char *kind, *language, *device, *family;
    long long count;
    int json;
};

#define FIELD(name) offsetof(struct look_settings, name)
#define FOLDERS_ROW                                                                                          \
    {                                                                                                        \
        "knowledge", 'k', ATOLL_OPT_LIST, FIELD(folders), "DIR", NULL, 0, 0, NULL,                           \
            "A folder whose files are added to those that are installed; may be given several times."        \
    }
#define FILTER_ROWS                                                                                          \
    {"kind",                                                                                                 \
     0,                                                                                                      \
     ATOLL_OPT_TEXT,                                                                                         \
     FIELD(kind),                                                                                            \
     "NAME",                                                                                                 \
     0,                                                                                                      \
     0,                                                                                                      \
     0,                                                                                                      \
     NULL,                                                                                                   \
     "Only these: constraint, pattern, example or hardware."},                                               \
        {"language",                                                                                         \
         0,                                                                                                  \
         ATOLL_OPT_TEXT,                                                                                     \
         FIELD(language),                                                                                    \
         "NAME",                                                                                             \
         0,                                                                                                  \
         0,                                                                                                  \
         0,                                                                                                  \
         NULL,                                                                                               \
         "Only what holds for it: c, cuda, triton, opencl."},                                                \
        {"device",                                                                                           \
         0,                                                                                                  \
         ATOLL_OPT_TEXT,                                                                                     \
         FIELD(device),                                                                                      \
         "NAME",                                                                                             \
         0,                                                                                                  \
         0,                                                                                                  \
         0,                                                                                                  \
         NULL,                                                                                               \
         "Only what holds for this family of devices: hopper, cpu ..."},                                     \
    {                                                                                                        \
        "family", 0, ATOLL_OPT_TEXT, FIELD(family), "NAME", 0, 0, 0, NULL,                                   \
            "Only what holds for this family of operators: gemm, attention ..."                              \
    }

static struct atoll_knowledge_base *base_open(const struct atoll_option_list *folders, struct atoll_err *err)
{
    struct atoll_knowledge_pack *pack = atoll_knowledge_overlay_load(folders->items, folders->count, err);
    struct atoll_knowledge_base *base = pack ? atoll_knowledge_base_parse(pack, NULL, NULL, err) : NULL;
    atoll_knowledge_pack_destroy(pack);
    return base;
}

/* ---- one entry ---- */

static int is_listed(const struct look_settings *s, const struct atoll_knowledge_entry *e)
{
    return (!s->kind || strcmp(s->kind, atoll_knowledge_kind_name(e->kind)) == 0) &&
           (!s->language || atoll_knowledge_has(e->languages, s->language)) &&
           (!s->device || atoll_knowledge_has(e->devices, s->device)) &&
           (!s->family || atoll_knowledge_has(e->families, s->family));
}

/* USAGE, with the nearest one, where there is no such kind. */
static int check_kind(const char *kind, struct atoll_err *err)
{
    const char *names[ATOLL_KNOWLEDGE_KIND_COUNT];
    char hint[ATOLL_SPELLING_HINT_BYTES];

    for (unsigned i = 0; i < ATOLL_KNOWLEDGE_KIND_COUNT; i++) {
        names[i] = atoll_knowledge_kind_name((enum atoll_knowledge_kind)i);
        if (!kind || strcmp(kind, names[i]) == 0)
            return 0;
    }
    return atoll_err_set(
        err, ATOLL_E_USAGE, "--kind %.40s: no such kind; %s", kind,
        atoll_spelling_hint(kind, names, ATOLL_KNOWLEDGE_KIND_COUNT, "--help names them", hint));
}

/* Names of one kind that a base knows; enough for those of the index, and of every entry beside it. */
#define FILTER_LIMIT 256
struct names {
    const char *known[FILTER_LIMIT]; /* borrowed */
    size_t count;
};

static void name_add(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->known[i], name) == 0)
            return;
    if (names->count < FILTER_LIMIT)
        names->known[names->count++] = name;
}

static void names_add(struct names *names, const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++)
        name_add(names, list[i]);
}

/* USAGE, with what there is and the nearest one, where it is given and nothing holds for it by name. */
static int check_name(const char *option, const char *given, const struct names *names, struct atoll_err *err)
{
    char hint[ATOLL_SPELLING_HINT_BYTES], all[512] = "";

    for (size_t i = 0; i < names->count; i++)
        if (given && strcmp(given, names->known[i]) == 0)
            return 0;
    if (!given)
        return 0;
    for (size_t i = 0; i < names->count && strlen(all) < sizeof(all) - 1; i++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "", names->known[i]);
    atoll_spelling_hint(given, names->known, names->count, "", hint);
    return atoll_err_set(err, ATOLL_E_USAGE, "--%s %.40s: nothing is of it; %s%sthere are: %s", option, given,
                         hint, *hint ? " " : "", all);
}

/* Languages, devices and families that are asked for are known: to the index, or to an entry. */
static int check_filters(const struct look_settings *s, const struct atoll_knowledge_base *base,
                         struct atoll_err *err)
{
    struct names languages = {.count = 0}, devices = {.count = 0}, families = {.count = 0};

    for (size_t i = 0; i < base->index.device_count; i++)
        name_add(&devices, base->index.devices[i].name);
    for (size_t i = 0; i < base->index.family_count; i++)
        name_add(&families, base->index.families[i].name);
    for (size_t i = 0; i < base->count; i++) {
        names_add(&languages, base->entries[i].languages);
        names_add(&devices, base->entries[i].devices);
        names_add(&families, base->entries[i].families);
    }
    return check_name("language", s->language, &languages, err) != 0 ||
                   check_name("device", s->device, &devices, err) != 0 ||
                   check_name("family", s->family, &families, err) != 0
               ? -1
               : 0;
}

/* Of a folder of knowledge, once the filters are known to mean something.  NULL: err says why not. */
static struct atoll_knowledge_base *base_open_filtered(const struct look_settings *s, struct atoll_err *err)
{
    struct atoll_knowledge_base *base = check_kind(s->kind, err) == 0 ? base_open(&s->folders, err) : NULL;

    if (!base || check_filters(s, base, err) == 0)
        return base;
    atoll_knowledge_base_destroy(base);
    return NULL;
}

static const char *list_text(const char *const *list, char *ret, size_t bytes)
{
    size_t used = 0;
    snprintf(ret, bytes, "%s", list ? "" : "any");
    for (size_t i = 0; list && list[i] && used < bytes; i++)
        used += (size_t)snprintf(ret + used, bytes - used, "%s%s", i ? " " : "", list[i]);
    return ret;
}

static json_t *list_json(const char *const *list)
{
    json_t *array = json_array();
    for (size_t i = 0; list && list[i]; i++)
        json_array_append_new(array, json_string(list[i]));
    return array;
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text)
        json_object_set_new(object, key, atoll_json_text(text));
}

static void set_list(json_t *object, const char *key, const char *const *list)
{
    if (list)
        json_object_set_new(object, key, list_json(list));
}

static json_t *numbers_json(const struct atoll_knowledge_numbers *n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n->count; i++)
        json_object_set_new(object, n->names[i], json_integer((json_int_t)n->values[i]));
    return object;
}

static json_t *measured_json(const struct atoll_knowledge_entry *e)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < e->measured_count; i++) {
        const struct atoll_knowledge_measurement *m = &e->measured[i];
        json_t *row =
            json_pack("{s:o, s:o, s:o, s:f, s:o, s:f, s:f, s:o, s:b}", "dims", numbers_json(&m->dims),
                      "choice", numbers_json(&m->choice), "device", atoll_json_text(m->device), "time_us",
                      m->time_us, "rival", atoll_json_text(m->rival), "rival_us", m->rival_us, "floor_share",
                      m->floor_share, "date", atoll_json_text(m->date), "held_out", m->is_held_out);
        set_text(row, "variant", m->variant);
        json_array_append_new(rows, row);
    }
    return rows;
}

/* What is NULL is not there. */
static json_t *entry_json(const struct atoll_knowledge_entry *e)
{
    int is_constraint = e->kind == ATOLL_KNOWLEDGE_CONSTRAINT,
        is_pattern = e->kind == ATOLL_KNOWLEDGE_PATTERN;
    json_t *o = json_pack("{s:o, s:s, s:o, s:o, s:i}", "id", atoll_json_text(e->id), "kind",
                          atoll_knowledge_kind_name(e->kind), "what", atoll_json_text(e->what), "file",
                          atoll_json_text(e->path), "line", (int)e->line);
    if (is_constraint)
        set_text(o, "severity", atoll_knowledge_severity_name(e->severity));
    if (is_pattern)
        set_text(o, "stage", atoll_stage_name(e->stage));
    set_list(o, "language", e->languages);
    set_list(o, "devices", e->devices);
    set_list(o, "families", e->families);
    set_list(o, "features", e->features);
    set_list(o, "errors", e->errors);
    set_list(o, "limiters", e->limiters);
    set_list(o, "stalls", e->stalls);
    set_list(o, "unused", e->unused);
    set_list(o, "cells", e->cells);
    set_text(o, "task", e->task);
    set_text(o, "wrong", e->wrong);
    set_text(o, "right", e->right);
    if (e->wrong)
        set_text(o, "fails", atoll_knowledge_failure_name(e->fails));
    set_text(o, "message", e->message);
    set_text(o, "before", e->before);
    set_text(o, "after", e->after);
    set_text(o, "why", e->why);
    if (is_pattern)
        json_object_set_new(o, "expected", json_pack("[f, f]", e->expected[0], e->expected[1]));
    set_text(o, "applies", e->applies);
    set_text(o, "kernel", e->kernel);
    if (e->kind == ATOLL_KNOWLEDGE_EXAMPLE) {
        json_object_set_new(o, "measured", measured_json(e));
        json_object_set_new(o, "proven", json_boolean(atoll_knowledge_is_proven(e)));
    }
    set_list(o, "learn", e->learn);
    set_text(o, "text", e->text);
    set_text(o, "source", e->source);
    return o;
}

static void print_row(const struct atoll_knowledge_entry *e)
{
    char languages[64], devices[128];
    int is_long = strlen(e->what) > WHAT_BYTES;
    atoll_print_line(stdout, 4, "%-10s  %-44s  %-10s  %-16s  %.*s%s", atoll_knowledge_kind_name(e->kind),
                     e->id, list_text(e->languages, languages, sizeof(languages)),
                     list_text(e->devices, devices, sizeof(devices)), is_long ? WHAT_BYTES - 3 : WHAT_BYTES,
                     e->what, is_long ? "..." : "");
}

static void print_list(const char *name, const char *const *list)
{
    char text[512];
    if (list)
        atoll_print(stdout, "%-10s %s\n", name, list_text(list, text, sizeof(text)));
}

static void print_text(const char *name, const char *text)
{
    if (text)
        atoll_print_line(stdout, 11, "%-10s %s", name, text);
}

static void print_code(const char *name, const char *code)
{
    if (!code)
        return;
    atoll_print(stdout, "\n%s:\n", name);
    atoll_print_text(stdout, code);
    if (*code && code[strlen(code) - 1] != '\n')
        putchar('\n');
}

static void print_measured(const struct atoll_knowledge_entry *e)
{
    if (e->kind != ATOLL_KNOWLEDGE_EXAMPLE)
        return;
    atoll_print(stdout, "%-10s %s\n", "proven", atoll_knowledge_is_proven(e) ? "yes" : "no");
    for (size_t i = 0; i < e->measured_count; i++) {
        const struct atoll_knowledge_measurement *m = &e->measured[i];
        atoll_print(stdout, "%-10s %.4g us, %.0f %% of %s (%.4g us), on %s, %s%s%s:", "measured", m->time_us,
                    100 * m->rival_us / m->time_us, m->rival, m->rival_us, m->device, m->date,
                    m->variant ? ", " : "", m->variant ? m->variant : "");
        for (size_t k = 0; k < m->dims.count; k++)
            atoll_print(stdout, " %s=%llu", m->dims.names[k], (unsigned long long)m->dims.values[k]);
        atoll_print(stdout, "%s\n", m->is_held_out ? ", held out" : "");
    }
}

static void print_entry(const struct atoll_knowledge_entry *e)
{
    atoll_print_line(stdout, 0, "%s %s: %s", atoll_knowledge_kind_name(e->kind), e->id, e->what);
    atoll_print(stdout, "%-10s %s:%u\n", "file", e->path, e->line);
    if (e->kind == ATOLL_KNOWLEDGE_CONSTRAINT)
        print_text("severity", atoll_knowledge_severity_name(e->severity));
    if (e->kind == ATOLL_KNOWLEDGE_PATTERN)
        atoll_print(stdout, "%-10s %s\n%-10s %g to %g times as fast\n", "stage", atoll_stage_name(e->stage),
                    "expected", e->expected[0], e->expected[1]);
    print_list("language", e->languages);
    print_list("devices", e->devices);
    print_list("families", e->families);
    print_list("features", e->features);
    print_list("errors", e->errors);
    print_list("limiters", e->limiters);
    print_list("stalls", e->stalls);
    print_list("unused", e->unused);
    print_list("cells", e->cells);
    print_text("task", e->task);
    print_text("why", e->why);
    print_text("applies", e->applies);
    if (e->wrong)
        atoll_print_line(stdout, 11, "%-10s by its %s: %s", "fails", atoll_knowledge_failure_name(e->fails),
                         e->message);
    print_measured(e);
    for (size_t i = 0; e->learn && e->learn[i]; i++)
        print_text("learn", e->learn[i]);
    print_text("source", e->source);
    print_code("wrong", e->wrong);
    print_code("right", e->right);
    print_code("before", e->before);
    print_code("after", e->after);
    print_code("kernel", e->kernel);
    print_code("text", e->text);
}

/* ---- list ---- */

static const struct atoll_option list_options[] = {
    FOLDERS_ROW,
    FILTER_ROWS,
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "A JSON array of entries, whole."},
    {0}};

static const struct atoll_command list_command = {
    "knowledge list",
    "[--kind NAME] [--language NAME] [--device NAME] [--family NAME]",
    "list what models may be told",
    "Constraints, patterns, examples and passages on hardware, one line each: kind, id, languages, devices, "
    "what it says.",
    "atoll knowledge list --kind pattern --device hopper\natoll knowledge list -k my-knowledge",
    list_options,
    NULL};

static int run_list(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct look_settings *s = given;
    struct atoll_knowledge_base *base = base_open_filtered(s, err);
    json_t *rows = s->json ? json_array() : NULL;
    (void)arguments, (void)count;
    for (size_t i = 0; base && i < base->count; i++) {
        if (!is_listed(s, &base->entries[i]))
            continue;
        if (rows)
            json_array_append_new(rows, entry_json(&base->entries[i]));
        else
            print_row(&base->entries[i]);
    }
    if (base && rows)
        atoll_json_print(rows, JSON_INDENT(2), stdout);
    else
        json_decref(rows);
    atoll_knowledge_base_destroy(base);
    return base ? 0 : -1;
}

const struct atoll_subcommand atoll_command_knowledge_list = {
    .command = &list_command, .settings_bytes = sizeof(struct look_settings), .run = run_list};

/* ---- search ---- */

static const struct atoll_option search_options[] = {
    FOLDERS_ROW,
    FILTER_ROWS,
    {"count", 'n', ATOLL_OPT_INT, FIELD(count), "N", "10", 1, 1000, NULL, "At most so many."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL,
     "A JSON array of entries, whole, each with its score."},
    {0}};

static const struct atoll_command search_command = {
    "knowledge search",
    "WORD ...",
    "find what models may be told about some words",
    "Ranked by BM25 over identifiers, words and code of each entry. The score says nothing but the order.",
    "atoll knowledge search wgmma fence\natoll knowledge search --language c alias",
    search_options,
    NULL};

static int index_add(struct atoll_text_index *index, const struct atoll_knowledge_entry *e,
                     struct atoll_err *err)
{
    json_t *document = entry_json(e);
    struct atoll_buffer text;
    atoll_buffer_init(&text, (size_t)1 << 20);
    int rc = atoll_json_put(&text, document, err);
    if (rc == 0)
        rc = atoll_text_index_add(index, (const char *)text.data, text.length, err);
    json_decref(document);
    atoll_buffer_fini(&text);
    return rc;
}

static void print_hits(const struct look_settings *s, const struct atoll_knowledge_base *base,
                       const struct atoll_text_hit *hits, size_t count)
{
    json_t *rows = s->json ? json_array() : NULL;
    long long shown = 0;
    for (size_t i = 0; i < count && shown < s->count; i++) {
        const struct atoll_knowledge_entry *e = &base->entries[hits[i].text];
        if (!is_listed(s, e))
            continue;
        shown++;
        json_t *row = rows ? entry_json(e) : NULL;
        if (row)
            json_object_set_new(row, "score", json_real(hits[i].score));
        if (row)
            json_array_append_new(rows, row);
        else
            print_row(e);
    }
    if (rows)
        atoll_json_print(rows, JSON_INDENT(2), stdout);
    else if (shown == 0)
        puts("nothing is about these words");
}

static int run_search(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct look_settings *s = given;
    struct atoll_knowledge_base *base = base_open_filtered(s, err);
    struct atoll_text_index *index = base ? atoll_text_index_create(ENTRY_LIMIT, err) : NULL;
    struct atoll_text_query query;
    struct atoll_text_hit hits[ATOLL_KNOWLEDGE_ENTRY_LIMIT];
    char words[1024] = "";
    int rc = index ? 0 : -1;
    for (size_t i = 0; i < count; i++)
        snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%s", i ? " " : "", arguments[i]);
    for (size_t i = 0; rc == 0 && i < base->count; i++)
        rc = index_add(index, &base->entries[i], err);
    if (rc == 0) {
        atoll_text_query_init(&query, words, strlen(words));
        print_hits(s, base, hits, atoll_text_index_find(index, &query, hits, ATOLL_KNOWLEDGE_ENTRY_LIMIT));
    }
    atoll_text_index_destroy(index);
    atoll_knowledge_base_destroy(base);
    return rc;
}

const struct atoll_subcommand atoll_command_knowledge_search = {.command = &search_command,
                                                                .settings_bytes =
                                                                    sizeof(struct look_settings),
                                                                .least = 1,
                                                                .most = 32,
                                                                .missing = "name words to look for",
                                                                .run = run_search};

/* ---- show ---- */

static const struct atoll_option show_options[] = {
    FOLDERS_ROW, {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "A JSON object."}, {0}};

static const struct atoll_command show_command = {
    "knowledge show",
    "ID",
    "show one entry of knowledge, whole",
    "A constraint with its wrong and right code, a pattern before and after, an example with its kernel and "
    "what was measured, a passage on hardware. `atoll knowledge list` names them.",
    "atoll knowledge show c-plan-unknown-name\natoll knowledge show hardware/nvidia/hopper/wgmma#descriptors",
    show_options,
    NULL};

static int run_show(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct look_settings *s = given;
    struct atoll_knowledge_base *base = base_open(&s->folders, err);
    const struct atoll_knowledge_entry *e = base ? atoll_knowledge_base_find(base, arguments[0]) : NULL;
    (void)count;
    if (base && !e) {
        const char *names[NAME_LIMIT];
        char hint[ATOLL_SPELLING_HINT_BYTES];
        size_t known = 0;
        for (; known < base->count && known < NAME_LIMIT; known++)
            names[known] = base->entries[known].id;
        atoll_err_set(
            err, ATOLL_E_NOTFOUND, "no entry of knowledge '%.100s'; %s", arguments[0],
            atoll_spelling_hint(arguments[0], names, known, "`atoll knowledge list` names them", hint));
    } else if (e && s->json) {
        atoll_json_print(entry_json(e), JSON_INDENT(2), stdout);
    } else if (e) {
        print_entry(e);
    }
    atoll_knowledge_base_destroy(base);
    return e ? 0 : -1;
}

const struct atoll_subcommand atoll_command_knowledge_show = {.command = &show_command,
                                                              .settings_bytes = sizeof(struct look_settings),
                                                              .least = 1,
                                                              .most = 1,
                                                              .missing = "name an entry",
                                                              .run = run_show};
