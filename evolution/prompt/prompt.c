/* prompt.c - the system text is the same for every ask of a language: texts of knowledge/prompts in a fixed order, and the
 * static rules as the library states them.  The sections of the user text are written in full, measured, and given room:
 * each first what its row promises, then what is left in the order of rank, so that a short section's room goes to the
 * long ones. */
#include "evolution/prompt/prompt.h"

#include <string.h>

#include "core/rules/rules.h"
#include "evolution/prompt/prompt_text.h"

const char *atoll_prompt_file(const char *name)
{
    for (size_t i = 0; i < atoll_prompt_file_count; i++)
        if (strcmp(atoll_prompt_files[i].name, name) == 0)
            return atoll_prompt_files[i].text;
    return NULL;
}

static void put_file(const char *name, struct atoll_buffer *out)
{
    const char *text = atoll_prompt_file(name);
    atoll_buffer_put_bytes(out, text ? text : "", text ? strlen(text) : 0);
}

static void put_code(const char *info, const char *name, struct atoll_buffer *out)
{
    atoll_buffer_printf(out, "\n```%s\n", info);
    put_file(name, out);
    atoll_buffer_printf(out, "```\n");
}

int atoll_prompt_write_system(const char *language, struct atoll_buffer *out, struct atoll_err *err)
{
    static const struct {
        const char *language, *example;
    } known[] = {
        {"c", "example.c"}, {"cuda", "example.cu"}, {"triton", "example.py"}, {"opencl", "example.cl"}};
    size_t i = 0, count = sizeof(known) / sizeof(*known);
    while (i < count && (!language || strcmp(known[i].language, language) != 0))
        i++;
    if (i == count) {
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "no prompt texts for language '%.32s'; there are texts for c, cuda, triton and opencl",
            language ? language : "");
    }
    put_file("role", out);
    put_file("plan", out);
    put_file(language, out);
    if (atoll_rules_count(language) > 0) {
        atoll_buffer_printf(out, "\n## Static rules\n\nA source that breaks one of these is refused before "
                                 "it is compiled; comments and strings of your own are fine.\n\n");
    }
    for (unsigned r = 0; r < atoll_rules_count(language); r++)
        atoll_buffer_printf(out, "- %s: %s\n", atoll_rules_id(language, r), atoll_rules_why(language, r));
    put_file("honesty", out);
    put_file("example.md", out);
    put_code("c", "reference.c", out);
    atoll_buffer_printf(out, "\nA kernel for it that compiles and is correct:\n");
    put_code(language, known[i].example, out);
    put_file("answer", out);
    return atoll_buffer_check(out, err);
}

#define SYSTEM_LIMIT ((size_t)1 << 20)
#define USER_LIMIT   ((size_t)4 << 20)
#define USER_DEFAULT ((size_t)48 << 10)
#define USER_LEAST   ((size_t)4 << 10) /* below, what is ours alone would not fit */

struct row {
    const char *title;
    atoll_prompt_writer *write;
    unsigned promise; /* of 1000 parts of the user text */
    unsigned rank;    /* who is served first with what is left: the lowest */
};

static const struct row rows[ATOLL_PROMPT_SECTION_COUNT] = {
    [ATOLL_PROMPT_TASK] = {"Task", atoll_prompt_write_task, 110, 1},
    [ATOLL_PROMPT_INSTRUCTIONS] = {"Instructions of the user", atoll_prompt_write_instructions, 60, 2},
    [ATOLL_PROMPT_REFERENCE] = {"Reference", atoll_prompt_write_reference, 90, 4},
    [ATOLL_PROMPT_DEVICE] = {"Device", atoll_prompt_write_device, 40, 5},
    [ATOLL_PROMPT_STATE] = {"State of the search", atoll_prompt_write_state, 30, 6},
    [ATOLL_PROMPT_PARENT] = {"Parent kernel", atoll_prompt_write_parent, 300, 3},
    [ATOLL_PROMPT_DIAGNOSIS] = {"Diagnosis", atoll_prompt_write_diagnosis, 70, 7},
    [ATOLL_PROMPT_INSPIRATION] = {"Kernels from other cells", atoll_prompt_write_inspiration, 120, 11},
    [ATOLL_PROMPT_ADVICE] = {"Directions", atoll_prompt_write_advice, 40, 8},
    [ATOLL_PROMPT_FAILURES] = {"Recent failures", atoll_prompt_write_failures, 80, 10},
    [ATOLL_PROMPT_PLAN] = {"Step to carry out", atoll_prompt_write_plan, 40, 9},
    [ATOLL_PROMPT_ANSWER] = {"Your answer", atoll_prompt_write_answer, 20, 0},
};

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

static size_t title_bytes(unsigned section)
{
    return strlen(rows[section].title) + 5; /* "\n# " and two ends of lines */
}

/* Room per section: at most what it needs. */
static void give_room(const struct atoll_prompt_text *texts, size_t limit,
                      size_t ret_room[ATOLL_PROMPT_SECTION_COUNT])
{
    size_t need[ATOLL_PROMPT_SECTION_COUNT], left = limit;
    for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++) {
        size_t promise = limit / 1000 * rows[i].promise;
        need[i] = texts[i].piece_count ? atoll_prompt_text_bytes(&texts[i]) + title_bytes(i) : 0;
        ret_room[i] = need[i] < promise ? need[i] : promise;
        left -= ret_room[i] < left ? ret_room[i] : left;
    }
    for (unsigned rank = 0; rank < ATOLL_PROMPT_SECTION_COUNT; rank++) {
        for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++) {
            size_t more = need[i] - ret_room[i] < left ? need[i] - ret_room[i] : left;
            if (rows[i].rank != rank)
                continue;
            ret_room[i] += more;
            left -= more;
        }
    }
}

int atoll_prompt_write(const struct atoll_prompt_input *input, struct atoll_prompt *prompt,
                       struct atoll_err *err)
{
    struct atoll_prompt_text texts[ATOLL_PROMPT_SECTION_COUNT];
    size_t room[ATOLL_PROMPT_SECTION_COUNT],
        limit = input->user_limit_bytes ? input->user_limit_bytes : USER_DEFAULT;
    limit = limit < USER_LEAST ? USER_LEAST : limit > USER_LIMIT / 2 ? USER_LIMIT / 2 : limit;
    if (!input->ask || !input->task || !input->language || !input->backend) {
        return atoll_err_set(err, ATOLL_E_INTERNAL,
                             "a prompt needs an ask, a task, a language and a backend");
    }
    if (input->ask->kind != ATOLL_ASK_WRITE) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "no prompt is written for asks of kind '%s'; only 'write' has one",
                             atoll_ask_kind_name(input->ask->kind));
    }
    atoll_buffer_clear(&prompt->system);
    atoll_buffer_clear(&prompt->user);
    memset(prompt->cut_bytes, 0, sizeof(prompt->cut_bytes));
    if (atoll_prompt_write_system(input->language, &prompt->system, err))
        return -1;
    for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++)
        atoll_prompt_text_init(&texts[i]);
    int rc = -1;
    for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++) {
        rows[i].write(input, &texts[i]);
        if (atoll_buffer_check(&texts[i].text, err))
            goto out;
    }
    give_room(texts, limit, room);
    for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++) {
        size_t title = title_bytes(i);
        if (!texts[i].piece_count)
            continue;
        atoll_buffer_printf(&prompt->user, "%s# %s\n\n", prompt->user.length ? "\n" : "", rows[i].title);
        size_t cut =
            atoll_prompt_text_render(&texts[i], room[i] > title ? room[i] - title : 0, &prompt->user);
        prompt->cut_bytes[i] = cut < UINT32_MAX ? (uint32_t)cut : UINT32_MAX;
    }
    rc = atoll_buffer_check(&prompt->user, err);
out:
    for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++)
        atoll_prompt_text_fini(&texts[i]);
    return rc;
}
