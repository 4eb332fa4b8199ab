#include "scheduler/knowledge/check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/word_list.h"
#include "core/experience/hint_file.h"
#include "core/knowledge/knowledge_base.h"
#include "core/knowledge/region.h"
#include "core/plan/plan.h"
#include "evolution/prompt/prompt.h"
#include "scheduler/campaign/run_tasks.h"
#include "scheduler/knowledge/code.h"

#define FAMILY_LIMIT 16 /* of one task */

struct check {
    const struct atoll_knowledge_check_settings *settings;
    const struct atoll_knowledge_base *base;
    atoll_finding_row *row;
    void *context;
    struct atoll_check_code *code; /* NULL: nothing is compiled */
    struct atoll_task **tasks;     /* of entries, until their code is compiled */
};

static void tell(const struct check *c, enum atoll_finding_result result,
                 const struct atoll_knowledge_entry *entry, const char *what, const char *text)
{
    atoll_finding_tell(c->row, c->context, result, entry, what, text);
}

static int is_wanted(const struct check *c, const struct atoll_knowledge_entry *entry)
{
    const char *only = c->settings->only;
    return !only || !*only || strstr(entry->id, only) != NULL;
}

/* ---- files ---- */

static void tell_problem(void *context, const struct atoll_err *problem)
{
    const struct check *c = context;
    const struct atoll_finding f = {
        .result = ATOLL_FINDING_FAILED, .place = "", .id = "", .what = "file", .text = problem->text};
    c->row(c->context, &f);
}

static int is_category(const struct check *c, const char *category)
{
    const struct atoll_knowledge_index *index = &c->base->index;
    for (size_t i = 0; i < index->family_count; i++)
        if (index->families[i].categories && atoll_knowledge_has(index->families[i].categories, category))
            return 1;
    return 0;
}

/* Texts and kernels that the index lists of languages. */
static void check_prompts(const struct check *c, const struct atoll_knowledge_pack *pack)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    const struct atoll_finding f = {
        .result = ATOLL_FINDING_OK, .place = "index.yaml", .id = "", .what = "prompts", .text = ""};
    if (atoll_prompt_texts_check(pack, &why) != 0)
        tell_problem((void *)(uintptr_t)c, &why);
    else
        c->row(c->context, &f);
}

/* A text without its regions is worded as it is, and never evolves: nobody would notice. */
static void check_regions(const struct check *c, const struct atoll_knowledge_pack *pack)
{
    for (size_t i = 0; i < ATOLL_KNOWLEDGE_LANGUAGES; i++) {
        struct atoll_err why = ATOLL_ERR_INIT, said = ATOLL_ERR_INIT;
        char path[64];
        snprintf(path, sizeof(path), "prompts/%.32s.md", atoll_knowledge_language(i));
        const struct atoll_knowledge_file *file = atoll_knowledge_pack_find(pack, path);
        if (!file || atoll_regions_check(file->text, &why) == 0)
            continue;
        atoll_err_set(&said, ATOLL_E_INPUT, "%s: %s; without its regions it does not evolve", path, why.text);
        tell_problem((void *)(uintptr_t)c, &said);
    }
}

/* The first category of a hint that no family has; 0: all are known. */
static int find_unknown(const struct check *c, const char *categories,
                        char ret_word[ATOLL_HINT_CATEGORY_BYTES + 1])
{
    size_t length;
    for (const char *at = categories; (length = atoll_word_at(&at)) > 0; at += length) {
        snprintf(ret_word, ATOLL_HINT_CATEGORY_BYTES + 1, "%.*s", (int)length, at);
        if (!is_category(c, ret_word))
            return 1;
    }
    return 0;
}

static void check_hints(const struct check *c, const struct atoll_knowledge_pack *pack)
{
    const struct atoll_knowledge_file *file = atoll_knowledge_pack_find(pack, "hints.yaml");
    struct atoll_hint_file hints;
    struct atoll_err why = ATOLL_ERR_INIT;
    char text[64], unknown[ATOLL_HINT_CATEGORY_BYTES + 1];
    if (!file)
        return;
    if (atoll_hint_file_parse(file->path, file->text, file->length, &hints, &why) != 0) {
        tell_problem((void *)(uintptr_t)c, &why);
        return;
    }
    for (size_t i = 0; i < hints.hint_count; i++)
        if (find_unknown(c, hints.hints[i].category, unknown)) {
            atoll_err_clear(&why);
            atoll_err_set(
                &why, ATOLL_E_INPUT,
                "%s: hint '%s' is for category '%s', which no family of index.yaml has; change it, or add "
                "the category there",
                file->path, hints.hints[i].name, unknown);
            tell_problem((void *)(uintptr_t)c, &why);
        }
    snprintf(text, sizeof(text), "%zu hints", hints.hint_count);
    const struct atoll_finding f = {
        .result = ATOLL_FINDING_OK, .place = file->path, .id = "", .what = "file", .text = text};
    c->row(c->context, &f);
    atoll_hint_file_fini(&hints);
}

/* ---- references ---- */

static const char *numbers_text(const struct atoll_knowledge_numbers *n, char *ret, size_t bytes)
{
    size_t used = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < n->count && used < bytes; i++)
        used += (size_t)snprintf(ret + used, bytes - used, "%s%s=%llu", i ? " " : "", n->names[i],
                                 (unsigned long long)n->values[i]);
    return ret;
}

/* Exactly the dims of the task. */
static int are_dims_of(const struct atoll_task *task, const struct atoll_knowledge_numbers *dims)
{
    size_t known = 0;
    for (size_t i = 0; i < dims->count; i++)
        for (size_t k = 0; k < task->dim_count; k++)
            known += strcmp(task->dims[k], dims->names[i]) == 0;
    return known == dims->count && known == task->dim_count;
}

/* NULL: the kernel's plan has this choice, and it is legal. */
static const char *choice_fault(const struct atoll_task *task, const struct atoll_plan *plan,
                                const struct atoll_knowledge_numbers *numbers)
{
    struct atoll_choice choice;
    atoll_plan_first_choice(plan, &choice);
    for (size_t i = 0; i < numbers->count; i++) {
        size_t at = 0, value = 0;
        while (at < plan->param_count && strcmp(plan->params[at].name, numbers->names[i]) != 0)
            at++;
        if (at == plan->param_count)
            return "names a param that the kernel has not";
        choice.values[at] = (int64_t)numbers->values[i];
        while (value < plan->params[at].value_count && plan->params[at].values[value] != choice.values[at])
            value++;
        if (value == plan->params[at].value_count)
            return "gives a param a value that the kernel does not list";
    }
    return atoll_plan_choice_legal(task, plan, &choice, NULL) == 1 ? NULL : "is not legal";
}

/* Whether what was measured can still be made. */
static void check_choices(const struct check *c, const struct atoll_knowledge_entry *e,
                          const struct atoll_task *task)
{
    struct atoll_arena *arena = atoll_arena_create((size_t)8 << 20, NULL);
    const char *body, *fault;
    char text[512], choice[256];
    const struct atoll_plan *plan =
        arena ? atoll_plan_parse(arena, task, e->languages[0], e->kernel, &body, NULL) : NULL;
    for (size_t i = 0; plan && i < e->measured_count; i++) {
        const struct atoll_knowledge_numbers *numbers = &e->measured[i].choice;
        if ((fault = choice_fault(task, plan, numbers)) == NULL)
            continue;
        snprintf(text, sizeof(text), "the measured choice %s %s; measure it again",
                 numbers_text(numbers, choice, sizeof(choice)), fault);
        tell(c, ATOLL_FINDING_FAILED, e, "measured", text);
    }
    atoll_arena_destroy(arena);
}

static void check_example(const struct check *c, const struct atoll_knowledge_entry *e,
                          const struct atoll_task *task)
{
    const char *families[FAMILY_LIMIT];
    char text[512], dims[256];
    size_t count = atoll_knowledge_families(&c->base->index, task, families, FAMILY_LIMIT), i = 0;
    while (i < count && !atoll_knowledge_has(e->families, families[i]))
        i++;
    if (i == count) {
        snprintf(text, sizeof(text),
                 "its task '%s' is of none of its families (the task is of %zu, %s first); change 'family', "
                 "or the "
                 "rows of index.yaml",
                 e->task, count, count ? families[0] : "none");
        tell(c, ATOLL_FINDING_FAILED, e, "family", text);
    }
    for (i = 0; i < e->measured_count + e->held_out_count; i++) {
        const struct atoll_knowledge_numbers *shape =
            i < e->measured_count ? &e->measured[i].dims : &e->held_out[i - e->measured_count];
        if (are_dims_of(task, shape))
            continue;
        snprintf(text, sizeof(text), "the shape %s does not give each dim of task '%s' a value",
                 numbers_text(shape, dims, sizeof(dims)), e->task);
        tell(c, ATOLL_FINDING_FAILED, e, "measured", text);
    }
    check_choices(c, e, task);
    if (!atoll_knowledge_is_proven(e))
        tell(c, ATOLL_FINDING_NOTE, e, "measured",
             "unproven: no model is told of it, nothing starts from it, until it was measured at its task's "
             "shapes "
             "and at one that was held out, at 85 % of its rival or more");
}

/* The task that an entry names; NULL: it names none, or one that is not there (told). */
static struct atoll_task *task_of(const struct check *c, const struct atoll_knowledge_entry *e)
{
    char dir[PATH_MAX], text[ATOLL_ERR_TEXT_BYTES];
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_task *task = NULL;
    if (e->task && atoll_run_tasks_find_suite(e->task, dir, sizeof(dir), &why) == 0)
        task = atoll_task_load(dir, &why);
    if (!e->task || task)
        return task;
    snprintf(text, sizeof(text), "its task '%.100s' cannot be read: %.800s", e->task, why.text);
    tell(c, ATOLL_FINDING_FAILED, e, "task", text);
    return NULL;
}

static int check_entry(struct check *c, size_t number, struct atoll_err *err)
{
    const struct atoll_knowledge_entry *e = &c->base->entries[number];
    struct atoll_task *task = c->tasks[number] = task_of(c, e);
    if (e->task && !task)
        return 0;
    if (task && e->kind == ATOLL_KNOWLEDGE_EXAMPLE)
        check_example(c, e, task);
    tell(c, ATOLL_FINDING_OK, e, "entry", "");
    return c->code ? atoll_check_code_add(c->code, e, task, err) : 0;
}

static int check_entries(struct check *c, struct atoll_err *err)
{
    const struct atoll_knowledge_base *base = c->base;
    c->tasks = calloc(base->count + 1, sizeof(*c->tasks));
    int rc = c->tasks ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the tasks of knowledge");
    if (rc == 0 && c->settings->compiles) {
        c->code =
            atoll_check_code_create(base, c->settings->python, c->settings->cache, c->settings->choices, err);
        rc = c->code ? 0 : -1;
    }
    for (size_t i = 0; rc == 0 && i < base->count; i++)
        if (is_wanted(c, &base->entries[i]))
            rc = check_entry(c, i, err);
    if (rc == 0 && c->code)
        rc = atoll_check_code_finish(c->code, c->row, c->context, err);
    atoll_check_code_destroy(c->code);
    for (size_t i = 0; c->tasks && i < base->count; i++)
        atoll_task_destroy(c->tasks[i]);
    free(c->tasks);
    return rc;
}

int atoll_knowledge_check(const struct atoll_knowledge_pack *pack,
                          const struct atoll_knowledge_check_settings *settings, atoll_finding_row *row,
                          void *context, struct atoll_err *err)
{
    struct check c = {.settings = settings, .row = row, .context = context};
    struct atoll_knowledge_base *base = atoll_knowledge_base_parse(pack, tell_problem, &c, err);
    if (!base)
        return -1;
    c.base = base;
    if (!settings->only || !*settings->only) {
        check_hints(&c, pack);
        check_prompts(&c, pack);
        check_regions(&c, pack);
    }
    int rc = check_entries(&c, err);
    atoll_knowledge_base_destroy(base);
    return rc;
}
