/* task_source.c - what a task.yaml names besides itself: the reference, baselines, and every file of seeds/. */
#include "core/task/task_parse.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "core/plan/plan.h"

#define PATH_LIMIT 255

/* Whether a path may be named inside a task: relative, plain characters, no empty, "." or ".." part. */
static int path_ok(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/";
    size_t length = strlen(path);
    if (length == 0 || length > PATH_LIMIT || strspn(path, plain) != length || path[length - 1] == '/')
        return 0;
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return 0;
    }
    return 1;
}

/* Text of a file of the task, remembered for its bytes; path must live as long as the arena.  NULL and err. */
static const char *take(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, const char *path,
                        size_t limit)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    const struct atoll_task_store *store = atoll_task_parse_of(w)->store;
    struct atoll_task_owner *o = atoll_task_parse_of(w)->owner;
    if (!path_ok(path)) {
        atoll_yaml_fail(w, node,
                        "path '%.80s' must stay inside the task's folder; write a plain relative path", path);
        return NULL;
    }
    for (size_t i = 0; i < o->text_count; i++)
        if (strcmp(o->texts[i].path, path) == 0)
            return o->texts[i].text;
    if (o->text_count == ATOLL_TASK_TEXT_LIMIT) {
        atoll_yaml_fail(w, node, "more than %d baselines and seeds; remove some", ATOLL_TASK_SEED_LIMIT);
        return NULL;
    }
    const char *text = store->read(store->context, w->arena, path, limit, &inner);
    if (!text) {
        atoll_task_pass(w, node, &inner);
        return NULL;
    }
    o->texts[o->text_count++] = (struct atoll_task_text){path, text};
    return text;
}

static int read_path(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    return text ? atoll_task_copy(w, text, target)
                : atoll_yaml_fail(w, node, "a file name is expected here, like seeds/naive.c");
}

/* ---- baselines, and every other file of seeds/ ---- */

static const char *language_of(const char *path)
{
    static const char *const known[][2] = {
        {".c", "c"}, {".cu", "cuda"}, {".cl", "opencl"}, {".py", "triton"}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(dot, known[i][0]) == 0)
            return known[i][1];
    return NULL;
}

size_t atoll_task_definitions_place(const struct atoll_task *task, const char *text)
{
    const char *end = task->definitions ? strstr(text, "*/") : NULL;
    return end ? (size_t)(end + 2 - text) : 0;
}

static const char *defined(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, const char *text)
{
    const char *words = atoll_task_of(w)->definitions;
    size_t plan = atoll_task_definitions_place(atoll_task_of(w), text), length;
    if (!plan)
        return text;
    length = strlen(text) + strlen(words) + 1;
    if (length > ATOLL_SOURCE_LIMIT) {
        atoll_yaml_fail(w, node, "a seed with the task's definitions is longer than %d bytes; shorten it",
                        ATOLL_SOURCE_LIMIT);
        return NULL;
    }
    char *both = atoll_arena_alloc(w->arena, length + 1, w->err);
    if (both)
        snprintf(both, length + 1, "%.*s %s%s", (int)plan, text, words, text + plan);
    return both;
}

static int add_seed(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, const char *name,
                    const char *path, int is_baseline)
{
    struct atoll_task *task = atoll_task_of(w);
    const char *language = language_of(path);
    if (!language) {
        return atoll_yaml_fail(
            w, node, "'%.80s': seeds and baselines end in .c, .cu, .py or .cl; rename or remove it", path);
    }
    for (size_t i = 0; i < task->seed_count; i++)
        if (strcmp(task->seeds[i].name, name) == 0 && strcmp(task->seeds[i].language, language) == 0)
            return atoll_yaml_fail(w, node, "two %s seeds are called '%s'; rename one", language, name);
    if (task->seed_count == ATOLL_TASK_SEED_LIMIT) {
        return atoll_yaml_fail(w, node, "more than %d baselines and seeds; remove some",
                               ATOLL_TASK_SEED_LIMIT);
    }
    const char *text = take(w, node, path, ATOLL_SOURCE_LIMIT),
               *source = text && strcmp(language, "triton") != 0 ? defined(w, node, text) : text;
    if (!source)
        return -1;
    task->seeds[task->seed_count++] = (struct atoll_seed){name, language, source, is_baseline};
    return 0;
}

struct baseline {
    const char *name, *file;
    const char *expression; /* of torch */
    size_t mode_count;
    enum atoll_torch_mode modes[ATOLL_TORCH_MODE_COUNT];
    int has_list;
};

static int read_torch(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    return text ? atoll_task_copy(w, text, target)
                : atoll_yaml_fail(w, node,
                                  "a Python expression is expected here, like \"torch.matmul(a, b)\"");
}

static int read_mode(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    static const char *const names[] = {"none", "default", "max-autotune", "max-autotune-no-cudagraphs"};
    static const enum atoll_torch_mode modes[] = {ATOLL_TORCH_EAGER, ATOLL_TORCH_COMPILE,
                                                  ATOLL_TORCH_MAX_AUTOTUNE, ATOLL_TORCH_MAX_AUTOTUNE};
    struct baseline *b = target;
    size_t index = 0;
    if (atoll_yaml_choose(w, node, "mode of torch.compile", names, 4, &index))
        return -1;
    b->modes[b->mode_count++] = modes[index];
    return 0;
}

/* A mode, or a list of them: the same expression several times. */
static int read_compile(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct baseline *b = target;
    if (atoll_yaml_scalar(node))
        return read_mode(w, node, target);
    b->has_list = 1;
    if (atoll_yaml_list(w, node, ATOLL_TORCH_MODE_COUNT, "modes", read_mode, target))
        return -1;
    return b->mode_count ? 0 : atoll_yaml_fail(w, node, "compile names no mode; write none or default");
}

static const struct atoll_yaml_row baseline_rows[] = {
    {"name", ATOLL_YAML_OPTIONAL, atoll_task_read_word, offsetof(struct baseline, name)},
    {"file", ATOLL_YAML_OPTIONAL, read_path, offsetof(struct baseline, file)},
    {"torch", ATOLL_YAML_OPTIONAL, read_torch, offsetof(struct baseline, expression)},
    {"compile", ATOLL_YAML_OPTIONAL, read_compile, 0},
};
static const struct atoll_yaml_section baseline = {baseline_rows,
                                                   sizeof(baseline_rows) / sizeof(*baseline_rows)};

static int add_rivals(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, struct baseline *b)
{
    if (!b->mode_count)
        b->modes[b->mode_count++] = ATOLL_TORCH_EAGER;
    for (size_t i = 0; i < b->mode_count; i++) {
        const char *name = b->name, *mode = atoll_torch_mode_name(b->modes[i]);
        char both[2 * ATOLL_NAME_LIMIT];
        if (name && b->has_list) {
            snprintf(both, sizeof(both), "%s-%s", name, mode);
            if (atoll_task_copy(w, both, &name))
                return -1;
        }
        if (atoll_task_add_rival(w, node, name ? name : mode, b->expression, b->modes[i]))
            return -1;
    }
    return 0;
}

static int read_baseline(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct baseline b = {0};
    if (atoll_yaml_map(w, &baseline, node, &b))
        return -1;
    if (b.file && b.expression)
        return atoll_yaml_fail(w, node, "a baseline is a file or torch, not both; make it two");
    if (b.expression)
        return add_rivals(w, node, &b);
    if (!b.file || !b.name) {
        return atoll_yaml_fail(
            w, node, "key '%s' is missing; a baseline is {name: ..., file: seeds/...} or {torch: ...}",
            b.file ? "name" : "file");
    }
    if (b.mode_count)
        return atoll_yaml_fail(w, node, "compile is of torch baselines; remove it here");
    return add_seed(w, node, b.name, b.file, 1);
}

int atoll_task_read_baselines(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(w, node, ATOLL_TASK_SEED_LIMIT + ATOLL_TASK_RIVAL_LIMIT, "baselines",
                           read_baseline, NULL);
}

int atoll_task_add_seeds(struct atoll_yaml_walk *w)
{
    const struct atoll_task_store *store = atoll_task_parse_of(w)->store;
    const struct atoll_task_owner *owner = atoll_task_parse_of(w)->owner;
    for (size_t i = 0; i < store->seed_count; i++) {
        const char *path = store->seeds[i], *base = strrchr(path, '/');
        size_t taken = 0;
        base = base ? base + 1 : path;
        while (taken < owner->text_count && strcmp(owner->texts[taken].path, path) != 0)
            taken++;
        if (taken < owner->text_count) /* a baseline, or the reference */
            continue;
        const char *name = atoll_arena_text(w->arena, base, strcspn(base, "."), w->err);
        if (!name || add_seed(w, NULL, name, path, 0))
            return -1;
    }
    return 0;
}

/* ---- the definition of correct: reference.c, or a module of PyTorch ---- */

struct reference {
    const char *file, *problem;
    const char *device; /* reference.cu */
    const struct atoll_expression *units, *scratch;
    struct atoll_torch_reference torch;
    int has_torch_key; /* form, entry, backward or memory */
};

static int read_form(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    static const char *const names[] = {"module", "function"};
    struct reference *r = target;
    size_t index = 0;
    if (atoll_yaml_choose(w, node, "form", names, 2, &index))
        return -1;
    r->torch.is_function = index == 1;
    r->has_torch_key = 1;
    return 0;
}

static int read_entry(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct reference *r = target;
    r->has_torch_key = 1;
    return atoll_task_read_name(w, node, (void *)&r->torch.entry);
}

static int read_backward(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct reference *r = target;
    r->has_torch_key = 1;
    return atoll_yaml_read_flag(w, node, &r->torch.is_backward);
}

static int read_memory(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct reference *r = target;
    r->has_torch_key = 1;
    return atoll_yaml_read_number(w, node, &r->torch.memory_bytes);
}

#define REFERENCE(m) offsetof(struct reference, m)
static const struct atoll_yaml_row reference_rows[] = {
    {"file", ATOLL_YAML_OPTIONAL, read_path, REFERENCE(file)},
    {"device", ATOLL_YAML_OPTIONAL, read_path, REFERENCE(device)},
    {"units", ATOLL_YAML_OPTIONAL, atoll_task_read_expression, REFERENCE(units)},
    {"scratch", ATOLL_YAML_OPTIONAL, atoll_task_read_expression, REFERENCE(scratch)},
    {"torch", ATOLL_YAML_OPTIONAL, read_path, REFERENCE(problem)},
    {"form", ATOLL_YAML_OPTIONAL, read_form, 0},
    {"entry", ATOLL_YAML_OPTIONAL, read_entry, 0},
    {"backward", ATOLL_YAML_OPTIONAL, read_backward, 0},
    {"memory", ATOLL_YAML_OPTIONAL, read_memory, 0},
};
static const struct atoll_yaml_section reference = {reference_rows,
                                                    sizeof(reference_rows) / sizeof(*reference_rows)};

static int take_problem(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, struct reference *r)
{
    size_t length = strlen(r->problem);
    if (length < 4 || strcmp(r->problem + length - 3, ".py") != 0)
        return atoll_yaml_fail(w, node, "'%.80s': a torch reference ends in .py; rename it", r->problem);
    if (r->units || r->scratch || r->device)
        return atoll_yaml_fail(w, node, "device, units and scratch belong to a reference.c; remove them");
    struct atoll_torch_reference *torch = atoll_arena_alloc(w->arena, sizeof(*torch), w->err);
    if (!torch)
        return -1;
    *torch = r->torch;
    torch->file = r->problem;
    if (!torch->entry)
        torch->entry = torch->is_function ? "forward" : "Model";
    torch->source = take(w, node, r->problem, ATOLL_TASK_FILE_LIMIT);
    atoll_task_of(w)->torch = torch;
    return torch->source ? 0 : -1;
}

static int take_device(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node,
                       const struct reference *r)
{
    if (!r->device)
        return 0;
    size_t length = strlen(r->device);
    if (length < 4 || strcmp(r->device + length - 3, ".cu") != 0)
        return atoll_yaml_fail(w, node, "'%.80s': a reference for devices ends in .cu; rename it", r->device);
    atoll_task_of(w)->device_source = take(w, node, r->device, ATOLL_TASK_FILE_LIMIT);
    return atoll_task_of(w)->device_source ? 0 : -1;
}

int atoll_task_read_reference(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct reference r = {0};
    struct atoll_task *task = atoll_task_of(w);
    atoll_task_parse_of(w)->reference_node = node;
    if (atoll_yaml_map(w, &reference, node, &r))
        return -1;
    if (r.file && r.problem)
        return atoll_yaml_fail(w, node, "reference names file and torch; keep one of them");
    if (r.problem)
        return take_problem(w, node, &r);
    if (!r.file || !r.units) {
        return atoll_yaml_fail(
            w, node,
            "key '%s' is missing; a reference is {file: reference.c, units: ...} or {torch: problem.py}",
            r.file ? "units" : "file");
    }
    if (r.has_torch_key) {
        return atoll_yaml_fail(w, node,
                               "form, entry, backward and memory belong to a torch reference; remove them");
    }
    task->units = r.units;
    task->scratch = r.scratch;
    task->reference_source = take(w, node, r.file, ATOLL_TASK_FILE_LIMIT);
    return task->reference_source ? take_device(w, node, &r) : -1;
}
