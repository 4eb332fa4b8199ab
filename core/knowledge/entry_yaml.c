/* entry_yaml.c - constraints, patterns and examples: tables of keys.  Words are held against what there is: classes of a diagnosis,
 * names of the index. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "core/behaviour/behaviour.h"
#include "core/diagnosis.h"
#include "core/knowledge/entry_reader.h"

#define ENTRY(m)    offsetof(struct atoll_knowledge_entry, m)
#define MEASURED(m) offsetof(struct atoll_knowledge_measurement, m)
#define COUNT(a)    (sizeof(a) / sizeof(*(a)))
#define NAMES       64 /* of one kind, at least as many as there are */

_Static_assert(ATOLL_ERROR_COUNT <= NAMES && ATOLL_LIMITER_COUNT <= NAMES && ATOLL_STALL_COUNT <= NAMES &&
                   ATOLL_UNUSED_COUNT <= NAMES,
               "a list of names is longer");
_Static_assert(ATOLL_KNOWLEDGE_DEVICE_LIMIT <= NAMES, "a list of devices is longer");
_Static_assert(ATOLL_KNOWLEDGE_FEATURE_LIMIT <= NAMES, "a list of features is longer");
_Static_assert(ATOLL_KNOWLEDGE_FAMILY_LIMIT <= NAMES, "a list of families is longer");

static struct atoll_knowledge_reading *reading_of(struct atoll_yaml_walk *walk)
{
    return walk->owner;
}

/* ---- lists of known words ---- */

/* Words of one kind; with `any`, "*" stands for a missing list. */
static int read_known(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target,
                      const char *what, const char *const *names, size_t count, int any)
{
    const char *const *list;
    if (atoll_knowledge_read_words(walk, node, &list))
        return -1;
    if (any && !list[1] && strcmp(list[0], ATOLL_KNOWLEDGE_ANY) == 0)
        return 0;
    for (size_t i = 0; list[i]; i++) {
        char hint[ATOLL_SPELLING_HINT_BYTES], all[400] = "";
        size_t known = 0, used = 0;
        while (known < count && strcmp(names[known], list[i]) != 0)
            known++;
        if (known < count)
            continue;
        for (size_t k = 0; k < count && used < sizeof(all); k++)
            used +=
                (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", k ? " " : "there are ", names[k]);
        return atoll_yaml_fail(walk, node, "'%.60s' is no %s; %s", list[i], what,
                               atoll_spelling_hint(list[i], names, count, all, hint));
    }
    *(const char *const **)target = list;
    return 0;
}

static int read_languages(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[ATOLL_KNOWLEDGE_LANGUAGES];
    for (size_t i = 0; i < ATOLL_KNOWLEDGE_LANGUAGES; i++)
        names[i] = atoll_knowledge_language(i);
    return read_known(walk, node, target, "language", names, COUNT(names), 1);
}

static int read_devices(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_knowledge_index *index = &reading_of(walk)->base->index;
    const char *names[NAMES];
    for (size_t i = 0; i < index->device_count; i++)
        names[i] = index->devices[i].name;
    return read_known(walk, node, target, "device of index.yaml", names, index->device_count, 1);
}

static int read_features(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_knowledge_index *index = &reading_of(walk)->base->index;
    const char *names[NAMES];
    for (size_t i = 0; i < index->feature_count; i++)
        names[i] = index->features[i].name;
    return read_known(walk, node, target, "feature of index.yaml", names, index->feature_count, 0);
}

static int read_families(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_knowledge_index *index = &reading_of(walk)->base->index;
    const char *names[NAMES];
    for (size_t i = 0; i < index->family_count; i++)
        names[i] = index->families[i].name;
    return read_known(walk, node, target, "family of index.yaml", names, index->family_count, 1);
}

static size_t error_names(const char *names[NAMES])
{
    size_t count = 0;
    for (unsigned i = ATOLL_ERROR_NONE + 1; i < ATOLL_ERROR_COUNT; i++)
        names[count++] = atoll_error_class_name((enum atoll_error_class)i);
    return count;
}

static int read_errors(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[NAMES];
    return read_known(walk, node, target, "class of errors", names, error_names(names), 0);
}

static int read_limiters(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[NAMES];
    for (unsigned i = 0; i < ATOLL_LIMITER_COUNT; i++)
        names[i] = atoll_limiter_name((enum atoll_limiter)i);
    return read_known(walk, node, target, "limiter", names, ATOLL_LIMITER_COUNT, 0);
}

static int read_stalls(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[NAMES];
    for (unsigned i = 1; i < ATOLL_STALL_COUNT; i++)
        names[i - 1] = atoll_stall_name((enum atoll_stall)i);
    return read_known(walk, node, target, "stall", names, ATOLL_STALL_COUNT - 1, 0);
}

static int read_unused(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[NAMES];
    for (unsigned i = 0; i < ATOLL_UNUSED_COUNT; i++)
        names[i] = atoll_unused_name((enum atoll_unused)i);
    return read_known(walk, node, target, "thing that a binary may leave unused", names, ATOLL_UNUSED_COUNT,
                      0);
}

/* "memory 0": a dimension of behaviour and a level of it. */
static int read_cells(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    char words[3 * ATOLL_BEHAVIOUR_LEVELS][32];
    const char *names[3 * ATOLL_BEHAVIOUR_LEVELS];
    for (unsigned i = 0; i < COUNT(names); i++) {
        snprintf(words[i], sizeof(words[i]), "%s %u",
                 atoll_behaviour_dimension_name(i / ATOLL_BEHAVIOUR_LEVELS), i % ATOLL_BEHAVIOUR_LEVELS);
        names[i] = words[i];
    }
    return read_known(walk, node, target, "dimension of behaviour and its level", names, COUNT(names), 0);
}

/* ---- single values ---- */

static int read_id(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    size_t length = text ? strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;
    if (!text || text[length] || length < ATOLL_KNOWLEDGE_ID_LEAST || length > ATOLL_KNOWLEDGE_ID_BYTES)
        return atoll_yaml_fail(walk, node, "an id is %d to %d of a-z, 0-9 and -; '%.80s' is none",
                               ATOLL_KNOWLEDGE_ID_LEAST, ATOLL_KNOWLEDGE_ID_BYTES, text ? text : "");
    return atoll_knowledge_read_line(walk, node, target);
}

static int read_sentence(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text;
    if (atoll_knowledge_read_line(walk, node, &text))
        return -1;
    if (strlen(text) > ATOLL_KNOWLEDGE_LINE_BYTES)
        return atoll_yaml_fail(walk, node, "a text of %zu bytes; at most %d: say it shorter", strlen(text),
                               ATOLL_KNOWLEDGE_LINE_BYTES);
    *(const char **)target = text;
    return 0;
}

static int read_code_of(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, size_t limit,
                        void *target)
{
    const char *text = atoll_yaml_scalar(node);
    size_t length = text ? strlen(text) : 0, line = 1;
    if (length == 0 || length > limit)
        return atoll_yaml_fail(walk, node, "code of 1 to %zu bytes is expected here, this has %zu%s", limit,
                               length, length ? "; show less" : ": begin it with '|'");
    for (const char *c = text; *c; c++) {
        line += *c == '\n';
        if ((*c < 0x20 && *c != '\n' && *c != '\t') || *c > 0x7e)
            return atoll_yaml_fail(
                walk, node, "a character in line %zu of the code that is not plain ASCII; replace it", line);
    }
    const char *copy = atoll_arena_text(walk->arena, text, length, walk->err);
    if (!copy)
        return -1;
    *(const char **)target = copy;
    return 0;
}

static int read_code(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return read_code_of(walk, node, ATOLL_KNOWLEDGE_CODE_BYTES, target);
}

static int read_short_code(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return read_code_of(walk, node, ATOLL_KNOWLEDGE_PATTERN_BYTES, target);
}

static int read_severity(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[ATOLL_KNOWLEDGE_SEVERITY_COUNT];
    size_t index;
    for (unsigned i = 0; i < COUNT(names); i++)
        names[i] = atoll_knowledge_severity_name((enum atoll_knowledge_severity)i);
    if (atoll_yaml_choose(walk, node, "severity", names, COUNT(names), &index))
        return -1;
    *(enum atoll_knowledge_severity *)target = (enum atoll_knowledge_severity)index;
    return 0;
}

static int read_fails(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[ATOLL_KNOWLEDGE_FAILURE_COUNT];
    size_t index;
    for (unsigned i = 0; i < COUNT(names); i++)
        names[i] = atoll_knowledge_failure_name((enum atoll_knowledge_failure)i);
    if (atoll_yaml_choose(walk, node, "failure", names, COUNT(names), &index))
        return -1;
    *(enum atoll_knowledge_failure *)target = (enum atoll_knowledge_failure)index;
    return 0;
}

static int read_stage(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[ATOLL_ISSUE_STAGE_COUNT];
    size_t index;
    for (unsigned i = 0; i < COUNT(names); i++)
        names[i] = atoll_stage_name((enum atoll_issue_stage)i);
    if (atoll_yaml_choose(walk, node, "stage", names, COUNT(names), &index))
        return -1;
    *(enum atoll_issue_stage *)target = (enum atoll_issue_stage)index;
    return 0;
}

struct range {
    double *values;
    size_t count;
};

static int read_bound(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct range *range = target;
    return atoll_yaml_read_positive(walk, node, &range->values[range->count++]);
}

static int read_expected(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct range range = {target, 0};
    if (atoll_yaml_list(walk, node, 2, "bounds", read_bound, &range))
        return -1;
    if (range.count != 2 || range.values[0] > range.values[1] || range.values[1] > 1000)
        return atoll_yaml_fail(walk, node,
                               "two factors are expected here, the smaller one first, as [1.1, 2.0]");
    return 0;
}

/* ---- one entry ---- */

/* An entry that is wrong is told and left out; the rest of its file is read. */
static int add(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, int failed,
               struct atoll_err *mine, struct atoll_knowledge_entry *entry)
{
    struct atoll_knowledge_reading *r = reading_of(walk);
    if (!failed && entry->replaces && !entry->id)
        failed = atoll_yaml_fail(walk, node, "what it replaces has an id; write that");
    if (!failed)
        failed = atoll_knowledge_reading_add(r, entry, mine);
    return failed ? atoll_knowledge_reading_failed(r, mine, walk->err) : 0;
}

static const struct atoll_yaml_row constraint_rows[] = {
    {"id", ATOLL_YAML_REQUIRED, read_id, ENTRY(id)},
    {"replaces", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, ENTRY(replaces)},
    {"severity", ATOLL_YAML_REQUIRED, read_severity, ENTRY(severity)},
    {"language", ATOLL_YAML_REQUIRED, read_languages, ENTRY(languages)},
    {"devices", ATOLL_YAML_REQUIRED, read_devices, ENTRY(devices)},
    {"families", ATOLL_YAML_OPTIONAL, read_families, ENTRY(families)},
    {"about", ATOLL_YAML_OPTIONAL, atoll_knowledge_read_words, ENTRY(about)},
    {"features", ATOLL_YAML_OPTIONAL, read_features, ENTRY(features)},
    {"errors", ATOLL_YAML_OPTIONAL, read_errors, ENTRY(errors)},
    {"what", ATOLL_YAML_REQUIRED, read_sentence, ENTRY(what)},
    {"task", ATOLL_YAML_OPTIONAL, read_sentence, ENTRY(task)},
    {"wrong", ATOLL_YAML_OPTIONAL, read_code, ENTRY(wrong)},
    {"right", ATOLL_YAML_OPTIONAL, read_code, ENTRY(right)},
    {"fails", ATOLL_YAML_OPTIONAL, read_fails, ENTRY(fails)},
    {"message", ATOLL_YAML_OPTIONAL, read_sentence, ENTRY(message)},
    {"source", ATOLL_YAML_REQUIRED, read_sentence, ENTRY(source)},
};
static const struct atoll_yaml_section constraint_section = {constraint_rows, COUNT(constraint_rows)};

static int check_constraint(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                            const struct atoll_knowledge_entry *e)
{
    const char *names[NAMES];
    size_t count = error_names(names), i = 0;
    int given = !!e->wrong + !!e->right + !!e->message + (e->fails != ATOLL_KNOWLEDGE_FAILURE_COUNT);
    if (given == 0 && e->severity == ATOLL_KNOWLEDGE_INFO)
        return 0;
    if (given != 4)
        return atoll_yaml_fail(walk, node,
                               "constraint '%s' needs wrong, right, fails and message; only one of severity "
                               "info may be without all four",
                               e->id);
    if (strcmp(e->wrong, e->right) == 0)
        return atoll_yaml_fail(walk, node, "wrong and right of constraint '%s' are the same", e->id);
    if (e->fails != ATOLL_KNOWLEDGE_FAILS_RESULT)
        return 0;
    while (i < count && strcmp(names[i], e->message) != 0)
        i++;
    if (i < count)
        return 0;
    char hint[ATOLL_SPELLING_HINT_BYTES];
    return atoll_yaml_fail(
        walk, node,
        "constraint '%s' fails by its result, so its message is a class of errors, which "
        "'%.60s' is not; %s",
        e->id, e->message,
        atoll_spelling_hint(e->message, names, count, "race, wrong, bounds ... are", hint));
}

static int read_constraint(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_err mine = ATOLL_ERR_INIT;
    struct atoll_yaml_walk inner = *walk;
    struct atoll_knowledge_entry e = {.kind = ATOLL_KNOWLEDGE_CONSTRAINT,
                                      .path = target,
                                      .line = (unsigned)atoll_yaml_line(node),
                                      .fails = ATOLL_KNOWLEDGE_FAILURE_COUNT};
    inner.err = &mine;
    int failed = atoll_yaml_map(&inner, &constraint_section, node, &e) || check_constraint(&inner, node, &e);
    return add(walk, node, failed, &mine, &e);
}

static const struct atoll_yaml_row pattern_rows[] = {
    {"id", ATOLL_YAML_REQUIRED, read_id, ENTRY(id)},
    {"replaces", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, ENTRY(replaces)},
    {"stage", ATOLL_YAML_REQUIRED, read_stage, ENTRY(stage)},
    {"language", ATOLL_YAML_REQUIRED, read_languages, ENTRY(languages)},
    {"devices", ATOLL_YAML_REQUIRED, read_devices, ENTRY(devices)},
    {"families", ATOLL_YAML_OPTIONAL, read_families, ENTRY(families)},
    {"about", ATOLL_YAML_OPTIONAL, atoll_knowledge_read_words, ENTRY(about)},
    {"features", ATOLL_YAML_OPTIONAL, read_features, ENTRY(features)},
    {"limiters", ATOLL_YAML_OPTIONAL, read_limiters, ENTRY(limiters)},
    {"errors", ATOLL_YAML_OPTIONAL, read_errors, ENTRY(errors)},
    {"stalls", ATOLL_YAML_OPTIONAL, read_stalls, ENTRY(stalls)},
    {"unused", ATOLL_YAML_OPTIONAL, read_unused, ENTRY(unused)},
    {"cells", ATOLL_YAML_OPTIONAL, read_cells, ENTRY(cells)},
    {"what", ATOLL_YAML_REQUIRED, read_sentence, ENTRY(what)},
    {"task", ATOLL_YAML_OPTIONAL, read_sentence, ENTRY(task)},
    {"before", ATOLL_YAML_REQUIRED, read_short_code, ENTRY(before)},
    {"after", ATOLL_YAML_REQUIRED, read_short_code, ENTRY(after)},
    {"why", ATOLL_YAML_REQUIRED, read_sentence, ENTRY(why)},
    {"expected", ATOLL_YAML_REQUIRED, read_expected, ENTRY(expected)},
    {"applies", ATOLL_YAML_REQUIRED, read_sentence, ENTRY(applies)},
    {"source", ATOLL_YAML_REQUIRED, read_sentence, ENTRY(source)},
};
static const struct atoll_yaml_section pattern_section = {pattern_rows, COUNT(pattern_rows)};

static int read_pattern(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_err mine = ATOLL_ERR_INIT;
    struct atoll_yaml_walk inner = *walk;
    struct atoll_knowledge_entry e = {
        .kind = ATOLL_KNOWLEDGE_PATTERN, .path = target, .line = (unsigned)atoll_yaml_line(node)};
    inner.err = &mine;
    int failed = atoll_yaml_map(&inner, &pattern_section, node, &e);
    if (!failed && strcmp(e.before, e.after) == 0)
        failed = atoll_yaml_fail(&inner, node, "before and after of pattern '%s' are the same", e.id);
    return add(walk, node, failed, &mine, &e);
}

static int read_number(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_knowledge_numbers *n = target;
    const char *key = atoll_yaml_key(node);
    n->names[n->count] = atoll_arena_text(walk->arena, key, strlen(key), walk->err);
    return n->names[n->count] ? atoll_yaml_read_count64(walk, node, &n->values[n->count++]) : -1;
}

static int read_numbers(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_pairs(walk, node, ATOLL_TASK_DIM_LIMIT, "numbers", read_number, target);
}

static int read_date(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    int year, month, day, end = 0;
    const char *text = atoll_yaml_scalar(node);
    if (!text || sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &end) != 3 || text[end] || end != 10 ||
        month < 1 || month > 12 || day < 1 || day > 31) {
        return atoll_yaml_fail(walk, node, "a day is expected here, as 2026-11-23");
    }
    return atoll_knowledge_read_line(walk, node, target);
}

/* "yes" is what a person writes there. */
static int read_held_out(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    int is_yes = text && strcmp(text, "yes") == 0;
    if (!is_yes && !(text && strcmp(text, "no") == 0))
        return atoll_yaml_read_flag(walk, node, target);
    *(int *)target = is_yes;
    return 0;
}

static const struct atoll_yaml_row measured_rows[] = {
    {"variant", ATOLL_YAML_OPTIONAL, read_sentence, MEASURED(variant)},
    {"dims", ATOLL_YAML_REQUIRED, read_numbers, MEASURED(dims)},
    {"choice", ATOLL_YAML_OPTIONAL, read_numbers, MEASURED(choice)},
    {"device", ATOLL_YAML_REQUIRED, read_sentence, MEASURED(device)},
    {"time_us", ATOLL_YAML_REQUIRED, atoll_yaml_read_positive, MEASURED(time_us)},
    {"rival", ATOLL_YAML_REQUIRED, read_sentence, MEASURED(rival)},
    {"rival_us", ATOLL_YAML_REQUIRED, atoll_yaml_read_positive, MEASURED(rival_us)},
    {"floor_share", ATOLL_YAML_OPTIONAL, atoll_yaml_read_share, MEASURED(floor_share)},
    {"date", ATOLL_YAML_REQUIRED, read_date, MEASURED(date)},
    {"held_out", ATOLL_YAML_OPTIONAL, read_held_out, MEASURED(is_held_out)},
};
static const struct atoll_yaml_section measured_section = {measured_rows, COUNT(measured_rows)};

struct measurements {
    struct atoll_knowledge_measurement *rows;
    size_t count;
};

static int read_measurement(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct measurements *m = target;
    return atoll_yaml_map(walk, &measured_section, node, &m->rows[m->count++]);
}

static int read_measured(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_knowledge_entry *e = target;
    size_t count = atoll_yaml_count(node);
    count = count > ATOLL_KNOWLEDGE_MEASURED_LIMIT ? ATOLL_KNOWLEDGE_MEASURED_LIMIT : count;
    struct measurements m = {atoll_arena_alloc_array(walk->arena, count + 1, sizeof(*m.rows), walk->err), 0};
    if (!m.rows || atoll_yaml_list(walk, node, ATOLL_KNOWLEDGE_MEASURED_LIMIT, "rows", read_measurement, &m))
        return -1;
    e->measured = m.rows;
    e->measured_count = m.count;
    return 0;
}

struct shapes {
    struct atoll_knowledge_numbers *rows;
    size_t count;
};

static int read_shape(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct shapes *s = target;
    return read_numbers(walk, node, &s->rows[s->count++]);
}

/* Shapes that the tool which measures looks at, and nobody before it. */
static int read_shapes(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_knowledge_entry *e = target;
    struct shapes s = {
        atoll_arena_alloc_array(walk->arena, ATOLL_KNOWLEDGE_HELD_OUT_LIMIT, sizeof(*s.rows), walk->err), 0};
    if (!s.rows || atoll_yaml_list(walk, node, ATOLL_KNOWLEDGE_HELD_OUT_LIMIT, "shapes", read_shape, &s))
        return -1;
    e->held_out = s.rows;
    e->held_out_count = s.count;
    return 0;
}

/* The kernel lies beside example.yaml. */
static int read_kernel(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_knowledge_reading *r = reading_of(walk);
    struct atoll_knowledge_entry *e = target;
    char path[ATOLL_KNOWLEDGE_PATH_BYTES + 1];
    const char *name = atoll_yaml_scalar(node), *end = strrchr(r->file->path, '/') + 1;
    int length =
        snprintf(path, sizeof(path), "%.*s%s", (int)(end - r->file->path), r->file->path, name ? name : "");
    const struct atoll_knowledge_file *file = name && !strchr(name, '/') && (size_t)length < sizeof(path)
                                                  ? atoll_knowledge_pack_find(r->pack, path)
                                                  : NULL;
    if (!file)
        return atoll_yaml_fail(walk, node, "there is no file '%.100s' beside this one; name the kernel's",
                               name ? name : "");
    if (file->length > ATOLL_SOURCE_LIMIT)
        return atoll_yaml_fail(walk, node, "kernel '%.100s' has %zu bytes; a source has at most %u", name,
                               file->length, ATOLL_SOURCE_LIMIT);
    e->kernel_path = atoll_arena_text(walk->arena, path, strlen(path), walk->err);
    e->kernel = atoll_arena_text(walk->arena, file->text, file->length, walk->err);
    return e->kernel && e->kernel_path ? 0 : -1;
}

static const struct atoll_yaml_row example_rows[] = {
    {"version", ATOLL_YAML_REQUIRED, atoll_yaml_read_version1, 0},
    {"id", ATOLL_YAML_REQUIRED, read_id, ENTRY(id)},
    {"replaces", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, ENTRY(replaces)},
    {"what", ATOLL_YAML_REQUIRED, read_sentence, ENTRY(what)},
    {"language", ATOLL_YAML_REQUIRED, read_languages, ENTRY(languages)},
    {"family", ATOLL_YAML_REQUIRED, read_families, ENTRY(families)},
    {"about", ATOLL_YAML_OPTIONAL, atoll_knowledge_read_words, ENTRY(about)},
    {"features", ATOLL_YAML_OPTIONAL, read_features, ENTRY(features)},
    {"task", ATOLL_YAML_REQUIRED, read_sentence, ENTRY(task)},
    {"kernel", ATOLL_YAML_REQUIRED, read_kernel, 0},
    {"measured", ATOLL_YAML_REQUIRED, read_measured, 0},
    {"held_out", ATOLL_YAML_OPTIONAL, read_shapes, 0},
    {"learn", ATOLL_YAML_REQUIRED, atoll_knowledge_read_words, ENTRY(learn)},
    {"source", ATOLL_YAML_REQUIRED, read_sentence, ENTRY(source)},
};
static const struct atoll_yaml_section example_section = {example_rows, COUNT(example_rows)};

/* ---- files ---- */

static const char *own_path(struct atoll_knowledge_reading *r, struct atoll_err *err)
{
    return atoll_arena_text(r->base->arena, r->file->path, strlen(r->file->path), err);
}

static int read_constraint_list(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                                void *target)
{
    return atoll_yaml_list(walk, node, ATOLL_KNOWLEDGE_ENTRY_LIMIT, "constraints", read_constraint, target);
}

static int read_pattern_list(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(walk, node, ATOLL_KNOWLEDGE_ENTRY_LIMIT, "patterns", read_pattern, target);
}

static const struct atoll_yaml_row constraints_rows[] = {
    {"version", ATOLL_YAML_REQUIRED, atoll_yaml_read_version1, 0},
    {"constraints", ATOLL_YAML_REQUIRED, read_constraint_list, 0},
};
static const struct atoll_yaml_section constraints_section = {constraints_rows, COUNT(constraints_rows)};

static const struct atoll_yaml_row patterns_rows[] = {
    {"version", ATOLL_YAML_REQUIRED, atoll_yaml_read_version1, 0},
    {"patterns", ATOLL_YAML_REQUIRED, read_pattern_list, 0},
};
static const struct atoll_yaml_section patterns_section = {patterns_rows, COUNT(patterns_rows)};

/* target: of the section; for lists of entries the file's path, which they keep. */
static int read_yaml(struct atoll_knowledge_reading *r, const struct atoll_yaml_section *section,
                     void *target, size_t *ret_line, struct atoll_err *err)
{
    struct atoll_yaml *yaml = atoll_yaml_parse(r->file->path, r->file->text, r->file->length, err);
    if (!yaml)
        return -1;
    struct atoll_yaml_walk walk = {.yaml = yaml, .arena = r->base->arena, .owner = r, .err = err};
    int rc = atoll_yaml_map(&walk, section, atoll_yaml_root(yaml), target);
    if (ret_line)
        *ret_line = atoll_yaml_line(atoll_yaml_root(yaml));
    atoll_yaml_destroy(yaml);
    return rc;
}

int atoll_knowledge_read_constraints(struct atoll_knowledge_reading *r, struct atoll_err *err)
{
    const char *path = own_path(r, err);
    return path ? read_yaml(r, &constraints_section, (void *)(uintptr_t)path, NULL, err) : -1;
}

int atoll_knowledge_read_patterns(struct atoll_knowledge_reading *r, struct atoll_err *err)
{
    const char *path = own_path(r, err);
    return path ? read_yaml(r, &patterns_section, (void *)(uintptr_t)path, NULL, err) : -1;
}

int atoll_knowledge_read_example(struct atoll_knowledge_reading *r, struct atoll_err *err)
{
    struct atoll_knowledge_entry e = {.kind = ATOLL_KNOWLEDGE_EXAMPLE, .path = own_path(r, err)};
    size_t line = 1;
    const char *folder = r->file->path + strlen("examples/"), *slash = strchr(folder, '/');
    if (!e.path)
        return -1;
    if (!slash || strchr(slash + 1, '/') != strrchr(slash, '/') || strrchr(slash, '/') == slash)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "%s:1: an example lies in examples/DEVICE/NAME/example.yaml; move it there",
                             e.path);
    if (read_yaml(r, &example_section, &e, &line, err) != 0)
        return -1;
    const char *const *features = e.features;
    if (atoll_knowledge_reading_device(r, folder, (size_t)(slash - folder), &e, err) != 0)
        return -1;
    if (features)
        e.features = features;
    e.line = (unsigned)line;
    if (!e.languages || e.languages[1])
        return atoll_err_set(err, ATOLL_E_INPUT, "%s:%u: an example is in one language; name it", e.path,
                             e.line);
    return atoll_knowledge_reading_add(r, &e, err);
}
