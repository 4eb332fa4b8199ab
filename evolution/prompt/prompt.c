/* prompt.c - the system text is the same for every ask of a language, kind and island: texts of the pack of knowledge in a fixed
 * order, and the static rules as the library states them; what all writers share stands in front, so that caches of prompts
 * hold it whoever asks.  The sections of the user text are written in full, measured, and given room: each first what its row
 * promises, then what is left in the order of rank, so that a short section's room goes to the long ones. */
#include "evolution/prompt/prompt.h"

#include <stdio.h>
#include <string.h>

#include "core/experience/hint.h"
#include "core/issue.h"
#include "core/knowledge/knowledge_base.h"
#include "core/rules/rules.h"
#include "core/search.h"
#include "evolution/prompt/prompt_form.h"
#include "evolution/prompt/prompt_language.h"
#include "evolution/prompt/prompt_text.h"
#include "core/knowledge/region.h"

#define INDEX_BYTES ((size_t)4 << 20)

/* The system text while it is written. */
struct system {
    const struct atoll_prompt_input *input;
    struct atoll_prompt_languages languages;
    const char *family; /* of the device */
    char missing[128];  /* the first text that the pack has not */
    struct atoll_buffer *out;
};

/* name: below prompts/ of the pack. */
static const struct atoll_knowledge_file *find(struct system *s, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "prompts/%s", name);
    const struct atoll_knowledge_file *file = atoll_knowledge_pack_find(s->input->texts, path);
    if (!file && !*s->missing)
        snprintf(s->missing, sizeof(s->missing), "%s", path);
    return file;
}

static void put_text(struct system *s, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "%s.md", name);
    const struct atoll_knowledge_file *file = find(s, path);
    if (file)
        atoll_buffer_put_bytes(s->out, file->text, file->length);
}

static void put_code(const char *info, const struct atoll_knowledge_file *file, struct atoll_buffer *out)
{
    atoll_buffer_printf(out, "\n```%s\n", info);
    atoll_buffer_put_bytes(out, file->text, file->length);
    atoll_buffer_printf(out, "```\n");
}

/* The language's own text, which is prompts/LANGUAGE.md, may be of another version than the pack's. */
static const char *text_of(const struct atoll_prompt_input *input, const struct atoll_knowledge_file *file)
{
    char path[64];
    snprintf(path, sizeof(path), "prompts/%.32s.md", input->language);
    return input->language_text && strcmp(file->path, path) == 0 ? input->language_text : file->text;
}

/* What a judge needs of a text: how a kernel is run, which stands before the first heading of level two; the rest is for who writes. */
static void put_first_part(const char *text, struct atoll_buffer *out)
{
    const char *end = strncmp(text, "## ", 3) == 0 ? text : strstr(text, "\n## ");
    atoll_buffer_put_bytes(out, text, end ? (size_t)(end - text) : strlen(text));
}

static void put_texts(struct system *s, int is_judge)
{
    for (uint32_t i = 0; i < s->languages.count; i++) {
        const struct atoll_prompt_language_row *row = &s->languages.rows[i];
        if (!row->text || !atoll_prompt_language_holds(row, s->input->language, s->family))
            continue;
        if (is_judge)
            put_first_part(text_of(s->input, row->text), s->out);
        else
            atoll_regions_strip(text_of(s->input, row->text), s->out);
    }
}

static void put_language(struct system *s)
{
    const char *language = s->input->language;
    int is_judge = s->input->ask->kind == ATOLL_ASK_JUDGE;
    put_text(s, "plan");
    if (!is_judge)
        put_text(s, s->input->leaves_params ? "params-left" : "params");
    put_texts(s, is_judge);
    if (atoll_rules_count(language) > 0 && !is_judge) {
        atoll_buffer_printf(s->out,
                            "\n## Static rules\n\nA source that breaks one of these is refused before "
                            "it is compiled; comments and strings of your own are fine.\n\n");
    }
    for (unsigned r = 0; r < atoll_rules_count(language) && !is_judge; r++)
        atoll_buffer_printf(s->out, "- %s: %s\n", atoll_rules_id(language, r), atoll_rules_why(language, r));
    put_text(s, "honesty");
}

static void put_example(struct system *s)
{
    const struct atoll_knowledge_file *reference = find(s, "example/reference.c");
    put_text(s, "example/example");
    if (reference)
        put_code("c", reference, s->out);
    for (uint32_t i = 0; i < s->languages.count; i++) {
        const struct atoll_prompt_language_row *row = &s->languages.rows[i];
        if (!row->example || !atoll_prompt_language_holds(row, s->input->language, s->family))
            continue;
        atoll_buffer_printf(s->out, "\nA kernel for it that compiles and is correct:\n");
        put_code(row->language, row->example, s->out);
    }
    put_text(s, "answer");
}

static void put_issue_types(const char *language, struct atoll_buffer *out)
{
    uint64_t known = atoll_issues_of_language(language);
    atoll_buffer_printf(out, "\n## Types of issues, by the stage that works on them\n");
    for (unsigned s = 0; s < ATOLL_ISSUE_STAGE_COUNT; s++) {
        atoll_buffer_printf(out, "\n%s:\n\n", atoll_stage_name((enum atoll_issue_stage)s));
        for (unsigned i = 0; i < ATOLL_ISSUE_COUNT; i++) {
            const struct atoll_issue_row *row = atoll_issue_row((enum atoll_issue)i);
            if (row->stage == (enum atoll_issue_stage)s && (known >> i & 1))
                atoll_buffer_printf(out, "- %s: %s\n", row->name, row->meaning);
        }
    }
}

/* By kind, as core/experience/hint.h reads them; what is not known triggers nothing. */
static void put_triggers(struct atoll_buffer *out)
{
    static const unsigned counts[ATOLL_TRIGGER_KIND_COUNT] = {
        [ATOLL_TRIGGER_LIMITER] = ATOLL_LIMITER_COUNT,     [ATOLL_TRIGGER_ERROR] = ATOLL_ERROR_COUNT,
        [ATOLL_TRIGGER_STALL] = ATOLL_STALL_COUNT,         [ATOLL_TRIGGER_UNUSED] = ATOLL_UNUSED_COUNT,
        [ATOLL_TRIGGER_OCCUPANCY] = ATOLL_OCCUPANCY_COUNT,
    };
    atoll_buffer_printf(out, "\n## Triggers\n\n");
    for (unsigned kind = 0; kind < ATOLL_TRIGGER_KIND_COUNT; kind++) {
        for (unsigned i = kind == ATOLL_TRIGGER_UNUSED ? 0 : 1; i < counts[kind]; i++) {
            char text[ATOLL_HINT_TRIGGER_BYTES];
            struct atoll_trigger trigger = {(enum atoll_trigger_kind)kind, i};
            atoll_buffer_printf(out, "- %s\n", atoll_trigger_text(&trigger, text));
        }
    }
}

static void put_island(struct system *s)
{
    static const char *const schools[ATOLL_ISLAND_ROLE_COUNT] = {
        [ATOLL_ISLAND_FUSION] = "island/fusion",           [ATOLL_ISLAND_MEMORY] = "island/memory",
        [ATOLL_ISLAND_PARALLELISM] = "island/parallelism", [ATOLL_ISLAND_ALGORITHM] = "island/algorithm",
        [ATOLL_ISLAND_NUMERICS] = "island/numerics",
    };
    if (s->input->ask->role < ATOLL_ISLAND_ROLE_COUNT)
        put_text(s, schools[s->input->ask->role]);
}

static int write_system(struct system *s, struct atoll_err *err)
{
    const struct atoll_ask *ask = s->input->ask;
    const struct atoll_prompt_form_row *form = atoll_prompt_form_row(atoll_prompt_form_of(s->input));
    put_text(s, "role");
    if (form->has_language)
        put_language(s);
    if (form->writes)
        put_example(s);
    put_text(s, form->part);
    if (ask->kind == ATOLL_ASK_ANALYSE)
        put_issue_types(s->input->language, s->out);
    if (ask->kind == ATOLL_ASK_DISTIL)
        put_triggers(s->out);
    if (form->has_island)
        put_island(s);
    if (*s->missing) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "the folder of knowledge has no %s, which prompts are made of; install it whole "
                             "(share/atoll/knowledge)",
                             s->missing);
    }
    return atoll_buffer_check(s->out, err);
}

int atoll_prompt_write_system(const struct atoll_prompt_input *input, struct atoll_buffer *out,
                              struct atoll_err *err)
{
    const char *language = input->language ? input->language : "";
    struct system s = {
        .input = input, .family = input->device ? atoll_device_family(input->device) : "", .out = out};
    struct atoll_arena *arena = atoll_arena_create(INDEX_BYTES, err);
    int rc = arena ? atoll_prompt_languages_read(input->texts, arena, &s.languages, err) : -1;
    if (rc == 0)
        rc = atoll_prompt_languages_check(&s.languages, language, err);
    if (rc == 0)
        rc = write_system(&s, err);
    atoll_arena_destroy(arena);
    return rc;
}

/* Of entries; who checks those says what is wrong with them. */
static void pass_over(void *context, const struct atoll_err *problem)
{
    (void)context;
    (void)problem;
}

int atoll_prompt_texts_check(const struct atoll_knowledge_pack *texts, struct atoll_err *err)
{
    struct atoll_prompt_languages languages;
    struct atoll_arena *arena = atoll_arena_create(INDEX_BYTES, err);
    int rc = arena ? atoll_prompt_languages_read(texts, arena, &languages, err) : -1;
    struct atoll_knowledge_base *base =
        rc == 0 ? atoll_knowledge_base_parse(texts, pass_over, NULL, err) : NULL;
    rc = base ? atoll_prompt_languages_check_devices(&languages, &base->index, err) : -1;
    atoll_knowledge_base_destroy(base);
    atoll_arena_destroy(arena);
    return rc;
}

#define SYSTEM_LIMIT ((size_t)1 << 20)
#define USER_LIMIT   ((size_t)4 << 20)
#define USER_DEFAULT ((size_t)48 << 10)
#define USER_LEAST   ((size_t)4 << 10) /* below, what is ours alone would not fit */

/* A judge is shown less of it. */
static void write_parent(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    (input->ask->kind == ATOLL_ASK_JUDGE ? atoll_prompt_write_candidate : atoll_prompt_write_parent)(input,
                                                                                                     t);
}

struct row {
    const char *name, *title;
    atoll_prompt_writer *write;
    unsigned promise; /* of 1000 parts of the user text */
    unsigned rank;    /* who is served first with what is left: the lowest */
};

static const struct row rows[ATOLL_PROMPT_SECTION_COUNT] = {
    [ATOLL_PROMPT_TASK] = {"task", "Task", atoll_prompt_write_task, 85, 1},
    [ATOLL_PROMPT_INSTRUCTIONS] = {"instructions", "Instructions of the user",
                                   atoll_prompt_write_instructions, 40, 2},
    [ATOLL_PROMPT_REFERENCE] = {"reference", "Reference", atoll_prompt_write_reference, 55, 7},
    [ATOLL_PROMPT_DEVICE] = {"device", "Device", atoll_prompt_write_device, 30, 8},
    [ATOLL_PROMPT_SHAPES] = {"shapes", "Sizes", atoll_prompt_write_shapes, 25, 22},
    [ATOLL_PROMPT_STATE] = {"state", "State of the search", atoll_prompt_write_state, 20, 9},
    [ATOLL_PROMPT_REGIONS] = {"regions", "The regions", atoll_prompt_write_regions, 240, 3},
    [ATOLL_PROMPT_PARENT] = {"parent", "Parent kernel", write_parent, 240, 4},
    [ATOLL_PROMPT_TEMPLATE_TABLE] = {"template_table", "Measured combinations of the parent",
                                     atoll_prompt_write_table, 30, 13},
    [ATOLL_PROMPT_DIAGNOSIS] = {"diagnosis", "Diagnosis", atoll_prompt_write_diagnosis, 40, 10},
    [ATOLL_PROMPT_TRAJECTORY] = {"trajectory", "How the parent came about", atoll_prompt_write_trajectory, 60,
                                 18},
    [ATOLL_PROMPT_SIBLINGS] = {"siblings", "What was made from the parent, or from its own parent, already",
                               atoll_prompt_write_siblings, 50, 19},
    [ATOLL_PROMPT_PLANS] = {"plans", "Steps that were planned for the parent already",
                            atoll_prompt_write_plans, 30, 23},
    [ATOLL_PROMPT_DEMONSTRATIONS] = {"demonstrations", "Kernels of similar tasks",
                                     atoll_prompt_write_demonstrations, 240, 21},
    [ATOLL_PROMPT_INSPIRATION] = {"inspiration", "Other kernels", atoll_prompt_write_inspiration, 70, 20},
    [ATOLL_PROMPT_MEMORY] = {"memory", "Rewrites learnt on this task", atoll_prompt_write_memory, 40, 16},
    [ATOLL_PROMPT_HINTS] = {"hints", "Hints", atoll_prompt_write_hints, 40, 15},
    [ATOLL_PROMPT_KNOWLEDGE] = {"knowledge", "Knowledge", atoll_prompt_write_knowledge, 100, 11},
    [ATOLL_PROMPT_ADVICE] = {"advice", "Directions", atoll_prompt_write_advice, 20, 14},
    [ATOLL_PROMPT_ISSUES] = {"issues", "Issues of this stage", atoll_prompt_write_issues, 40, 5},
    [ATOLL_PROMPT_ROUNDS] = {"rounds", "Attempts of this stage", atoll_prompt_write_rounds, 50, 6},
    [ATOLL_PROMPT_FAILURES] = {"failures", "Recent failures", atoll_prompt_write_failures, 50, 17},
    [ATOLL_PROMPT_OUTCOMES] = {"outcomes", "What became of kernels written with them",
                               atoll_prompt_write_outcomes, 60, 5},
    [ATOLL_PROMPT_PLAN] = {"plan", "Step to carry out", atoll_prompt_write_plan, 30, 3},
    [ATOLL_PROMPT_TOOLS] = {"tools", "Tools", atoll_prompt_write_tools, 0, 12},
    [ATOLL_PROMPT_ANSWER] = {"answer", "Your answer", atoll_prompt_write_answer, 10, 0},
};

const char *atoll_prompt_section_name(enum atoll_prompt_section section)
{
    return (unsigned)section < ATOLL_PROMPT_SECTION_COUNT ? rows[section].name : "unknown";
}

void atoll_prompt_init(struct atoll_prompt *prompt)
{
    memset(prompt, 0, sizeof(*prompt));
    atoll_buffer_init(&prompt->system, SYSTEM_LIMIT);
    atoll_buffer_init(&prompt->user, USER_LIMIT);
}

void atoll_prompt_fini(struct atoll_prompt *prompt)
{
    atoll_buffer_fini(&prompt->system);
    atoll_buffer_fini(&prompt->user);
}

static const char *title_of(const struct atoll_prompt_form_row *form, unsigned section)
{
    return form->titles[section] ? form->titles[section] : rows[section].title;
}

static size_t title_bytes(const struct atoll_prompt_form_row *form, unsigned section)
{
    return strlen(title_of(form, section)) + 5; /* "\n# " and two ends of lines */
}

/* Up to its wish, of what is left. */
static void give(size_t wish, size_t *room, size_t *left)
{
    size_t more = wish > *room ? wish - *room : 0;
    more = more < *left ? more : *left;
    *room += more;
    *left -= more;
}

/* Room per section: what is ours, then up to the promise, then up to what it needs, each time in the order of rank.  Kernels of similar
 * tasks stand beside a limit that nobody set: who chose them kept to one (mpi-eval/operator/knowledge_briefs.h). */
static void give_room(const struct atoll_prompt_form_row *form, const struct atoll_prompt_text *texts,
                      size_t limit, int is_beside, size_t ret_room[ATOLL_PROMPT_SECTION_COUNT])
{
    size_t need[ATOLL_PROMPT_SECTION_COUNT], left = limit;
    for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++) {
        int is_there = texts[i].piece_count > 0;
        need[i] = is_there ? atoll_prompt_text_bytes(&texts[i]) + title_bytes(form, i) : 0;
        ret_room[i] = is_there ? atoll_prompt_text_fixed_bytes(&texts[i]) + title_bytes(form, i) : 0;
        if (i == ATOLL_PROMPT_DEMONSTRATIONS && is_beside)
            ret_room[i] = need[i];
        else
            left -= ret_room[i] < left ? ret_room[i] : left;
    }
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned rank = 0; rank < ATOLL_PROMPT_SECTION_COUNT; rank++) {
            for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++) {
                size_t promise = limit / 1000 * rows[i].promise;
                if (rows[i].rank == rank)
                    give(pass == 0 && promise < need[i] ? promise : need[i], &ret_room[i], &left);
            }
        }
    }
}

/* Each brief is of one section; the first line of a constraint is always there. */
static void count_cuts(const struct atoll_prompt_input *input, const struct atoll_prompt_text *texts,
                       struct atoll_prompt *prompt)
{
    for (size_t i = 0; i < input->brief_count && i < ATOLL_BRIEF_LIMIT; i++) {
        const struct atoll_brief *b = &input->briefs[i];
        uint32_t bytes = b->text ? (uint32_t)strlen(b->text) : 0, least = bytes;
        for (unsigned s = 0; s < ATOLL_PROMPT_SECTION_COUNT; s++) {
            uint32_t cut = texts[s].piece_count ? atoll_prompt_text_cut_of(&texts[s], i + 1, bytes) : bytes;
            least = cut < least ? cut : least;
        }
        if (b->kind == ATOLL_BRIEF_CONSTRAINT && bytes && texts[ATOLL_PROMPT_KNOWLEDGE].piece_count)
            least -= (uint32_t)(least == bytes) * (uint32_t)strcspn(b->text, "\n");
        prompt->brief_cut_bytes[i] = least;
    }
}

int atoll_prompt_write(const struct atoll_prompt_input *input, struct atoll_prompt *prompt,
                       struct atoll_err *err)
{
    struct atoll_prompt_text texts[ATOLL_PROMPT_SECTION_COUNT];
    size_t room[ATOLL_PROMPT_SECTION_COUNT],
        limit = input->user_limit_bytes ? input->user_limit_bytes : USER_DEFAULT;
    limit = limit < USER_LEAST ? USER_LEAST : limit > USER_LIMIT / 2 ? USER_LIMIT / 2 : limit;
    if (!input->ask || !input->task || !input->language || !input->backend || !input->texts) {
        return atoll_err_set(err, ATOLL_E_INTERNAL,
                             "a prompt needs an ask, a task, a language, a backend and texts");
    }
    const struct atoll_prompt_form_row *form = atoll_prompt_form_row(atoll_prompt_form_of(input));
    atoll_buffer_clear(&prompt->system);
    atoll_buffer_clear(&prompt->user);
    memset(prompt->cut_bytes, 0, sizeof(prompt->cut_bytes));
    memset(prompt->section_bytes, 0, sizeof(prompt->section_bytes));
    if (atoll_prompt_write_system(input, &prompt->system, err))
        return -1;
    for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++)
        atoll_prompt_text_init(&texts[i]);
    int rc = -1;
    for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++) {
        if (form->sections & (uint32_t)1 << i)
            rows[i].write(input, &texts[i]);
        if (atoll_buffer_check(&texts[i].text, err))
            goto out;
    }
    give_room(form, texts, limit, !input->user_limit_bytes, room);
    for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++) {
        size_t title = title_bytes(form, i), before = prompt->user.length;
        if (!texts[i].piece_count)
            continue;
        atoll_buffer_printf(&prompt->user, "%s# %s\n\n", before ? "\n" : "", title_of(form, i));
        size_t cut =
            atoll_prompt_text_render(&texts[i], room[i] > title ? room[i] - title : 0, &prompt->user);
        prompt->cut_bytes[i] = cut < UINT32_MAX ? (uint32_t)cut : UINT32_MAX;
        prompt->section_bytes[i] = (uint32_t)(prompt->user.length - before);
    }
    count_cuts(input, texts, prompt);
    rc = atoll_buffer_check(&prompt->user, err);
out:
    for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++)
        atoll_prompt_text_fini(&texts[i]);
    return rc;
}
