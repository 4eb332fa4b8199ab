/* knowledge.c - what models of a new campaign are told of: the folders of knowledge as one file, in which Atoll's own hints stand
 * first, so that these keep their names. */
#include "scheduler/campaign/campaign_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/print.h"
#include "base/yaml.h"
#include "core/experience/hint_file.h"
#include "base/spelling.h"
#include "base/word_list.h"
#include "core/knowledge/knowledge_base.h"
#include "core/knowledge/pack.h"
#include "evolution/prompt/prompt.h"

#define HINTS "hints.yaml"

static int merge(struct atoll_hint_file *sum, struct atoll_hint_file *more, struct atoll_err *err)
{
    size_t new, known;
    int rc = atoll_hint_file_merge(sum, more, &new, &known, err);
    atoll_hint_file_fini(more);
    return rc;
}

static int merge_file(struct atoll_hint_file *sum, const char *path, struct atoll_err *err)
{
    struct atoll_hint_file more;
    return atoll_hint_file_load(path, &more, err) != 0 ? -1 : merge(sum, &more, err);
}

static int merge_pack(struct atoll_hint_file *sum, const struct atoll_knowledge_pack *pack,
                      struct atoll_err *err)
{
    const struct atoll_knowledge_file *file = atoll_knowledge_pack_find(pack, HINTS);
    struct atoll_hint_file more;
    if (!file)
        return 0;
    return atoll_hint_file_parse(HINTS, file->text, file->length, &more, err) != 0 ? -1
                                                                                   : merge(sum, &more, err);
}

/* Whether all the categories that a hint is for are of a family that is left out. */
static int is_left_out(const struct atoll_experience_hint *hint, const struct atoll_knowledge_index *index,
                       const struct atoll_option_list *except)
{
    const char *families[ATOLL_KNOWLEDGE_FAMILY_LIMIT], *at = hint->category;
    size_t length, words = 0, out = 0;
    for (; (length = atoll_word_at(&at)) > 0; at += length, words++) {
        char word[ATOLL_HINT_CATEGORY_BYTES + 1];
        int is_of_one = 0;
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        size_t count = atoll_knowledge_families_of(index, word, "", families, ATOLL_KNOWLEDGE_FAMILY_LIMIT);
        for (size_t f = 0; f < count; f++)
            for (size_t x = 0; x < except->count; x++)
                is_of_one |= strcmp(families[f], except->items[x]) == 0;
        out += (size_t)is_of_one;
    }
    return words > 0 && out == words;
}

static void leave_out(struct atoll_hint_file *sum, const struct atoll_knowledge_index *index,
                      const struct atoll_option_list *except)
{
    size_t kept = 0;
    for (size_t i = 0; i < sum->hint_count; i++)
        if (!is_left_out(&sum->hints[i], index, except))
            sum->hints[kept++] = sum->hints[i];
    sum->hint_count = kept;
}

/* Those of the pack are checked in any case. */
static int hints_put(struct atoll_knowledge_pack *pack, const struct atoll_knowledge_index *index,
                     const struct atoll_plan_settings *settings, struct atoll_err *err)
{
    const struct atoll_option_list *files = &settings->experience, *except = &settings->knowledge_except;
    struct atoll_hint_file sum = {0};
    struct atoll_buffer text;
    int rc = merge_pack(&sum, pack, err);
    for (size_t i = 0; rc == 0 && i < files->count; i++)
        rc = merge_file(&sum, files->items[i], err);
    atoll_buffer_init(&text, ATOLL_YAML_FILE_BYTES);
    if (rc == 0 && (files->count > 0 || except->count > 0)) {
        leave_out(&sum, index, except);
        atoll_hint_file_write_yaml(&sum, &text);
        rc = text.failed == ATOLL_E_LIMIT
                 ? atoll_err_set(err, ATOLL_E_LIMIT,
                                 "the hints of all files together have more than %zu bytes; give fewer with "
                                 "--experience",
                                 ATOLL_YAML_FILE_BYTES)
                 : atoll_buffer_check(&text, err);
        if (rc == 0)
            rc = atoll_knowledge_pack_put(pack, HINTS, (const char *)text.data, text.length, err);
    }
    atoll_buffer_fini(&text);
    atoll_hint_file_fini(&sum);
    return rc;
}

static void replaced_print(const struct atoll_knowledge_pack *pack)
{
    for (uint32_t i = 0; i < pack->count; i++)
        if (pack->files[i].is_instead)
            atoll_print(stderr, "atoll: knowledge: %s is that of %s\n", pack->files[i].path,
                        pack->files[i].folder);
}

static int is_family(const struct atoll_knowledge_index *index, const char *name, struct atoll_err *err)
{
    const char *known[ATOLL_KNOWLEDGE_FAMILY_LIMIT];
    char hint[ATOLL_SPELLING_HINT_BYTES];
    for (size_t i = 0; i < index->family_count; i++) {
        known[i] = index->families[i].name;
        if (strcmp(known[i], name) == 0)
            return 1;
    }
    atoll_err_set(
        err, ATOLL_E_USAGE, "--knowledge-except %.60s: no such family of operators; %s", name,
        atoll_spelling_hint(name, known, index->family_count, "index.yaml of knowledge names them", hint));
    return 0;
}

static void put_word(struct atoll_buffer *out, const char *word)
{
    atoll_buffer_printf(out, "%s%s", out->length ? "," : "", word);
}

/* A seed of the task is the kernel of an example of a family that is left out. */
static int has_excepted_seed(const struct atoll_task *task, const struct atoll_knowledge_base *base,
                             const struct atoll_option_list *except)
{
    for (size_t i = 0; i < base->count; i++) {
        const struct atoll_knowledge_entry *e = &base->entries[i];
        int is_out = 0;
        for (size_t x = 0; x < except->count; x++)
            is_out |= e->families && atoll_knowledge_has(e->families, except->items[x]);
        for (size_t s = 0; s < task->seed_count && is_out && e->kind == ATOLL_KNOWLEDGE_EXAMPLE; s++)
            if (atoll_knowledge_is_kernel_of(e, task->seeds[s].source))
                return 1;
    }
    return 0;
}

/* Families that are left out, and the tasks of the run that are of one, or begin with a kernel of one. */
static int except_put(struct atoll_campaign_plan *plan, const struct atoll_knowledge_base *base,
                      struct atoll_err *err)
{
    const struct atoll_knowledge_index *index = &base->index;
    const struct atoll_option_list *except = &plan->settings->knowledge_except;
    for (size_t i = 0; i < except->count; i++) {
        if (!is_family(index, except->items[i], err))
            return -1;
        put_word(&plan->except, except->items[i]);
    }
    for (size_t t = 0; t < plan->tasks.count && except->count > 0; t++) {
        const char *families[ATOLL_KNOWLEDGE_FAMILY_LIMIT];
        size_t count =
            atoll_knowledge_families(index, plan->tasks.tasks[t], families, ATOLL_KNOWLEDGE_FAMILY_LIMIT);
        int is_of_one = has_excepted_seed(plan->tasks.tasks[t], base, except);
        for (size_t f = 0; f < count; f++)
            for (size_t i = 0; i < except->count; i++)
                is_of_one |= strcmp(families[f], except->items[i]) == 0;
        if (is_of_one)
            put_word(&plan->seedless, plan->tasks.tasks[t]->name);
    }
    atoll_buffer_put_u8(&plan->except, 0);
    atoll_buffer_put_u8(&plan->seedless, 0);
    return atoll_buffer_check(&plan->except, err) != 0 ? -1 : atoll_buffer_check(&plan->seedless, err);
}

/* What is wrong with an entry is for `atoll knowledge check` and the log of the run: it keeps nobody from running. */
static void pass_over(void *context, const struct atoll_err *problem)
{
    (void)context;
    (void)problem;
}

const char *atoll_plan_knowledge_left(const struct atoll_search *search)
{
    static const char *const left[2][2] = {
        {NULL, "calls of tools, which search them (--set tools=0 leaves them out)"},
        {"hints (--set hints=0 leaves them out)",
         "hints, and calls of tools, which search them (--set hints=0 --set tools=0 leaves both out)"}};
    int has_hints =
        search->hints && search->strategy != ATOLL_STRATEGY_REPEATED; /* whose asks are told none */
    return search->knowledge ? NULL : left[has_hints][search->tools > 0];
}

int atoll_plan_knowledge_write(struct atoll_campaign_plan *plan, int is_quiet, struct atoll_err *err)
{
    const struct atoll_plan_settings *settings = plan->settings;
    const struct atoll_option_list *given = &settings->knowledge;
    struct atoll_knowledge_pack *pack =
        atoll_knowledge_pack_load(settings->site_knowledge, given->items, given->count, err);
    if (!pack)
        return -1;
    const char *left = settings->model.where ? atoll_plan_knowledge_left(&plan->search) : NULL;
    if (!is_quiet)
        replaced_print(pack);
    if (!is_quiet && left)
        fprintf(stderr,
                "atoll: knowledge=0 tells models no entries; what they still get of its folders: %s\n", left);
    struct atoll_knowledge_base *base = atoll_knowledge_base_parse(pack, pass_over, NULL, err);
    int rc = base ? except_put(plan, base, err) : -1;
    rc = rc == 0 ? hints_put(pack, &base->index, settings, err) : rc;
    atoll_knowledge_base_destroy(base);
    rc = rc == 0 ? atoll_prompt_texts_check(pack, err) : rc; /* now, and not at the first ask */
    rc = rc == 0 && settings->model.where && plan->search.knowledge > 1
             ? atoll_plan_kernels_put(plan, pack, err)
             : rc;
    rc = rc == 0 ? atoll_knowledge_pack_to_json(pack, &plan->knowledge, err) : rc;
    atoll_knowledge_pack_destroy(pack);
    return rc;
}
