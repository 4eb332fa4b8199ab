/* prompt_system.c - the part of a prompt that is the same for every ask of a language: texts of knowledge/prompts in a
 * fixed order, and the static rules as the library itself states them. */
#include <string.h>

#include "core/rules/rules.h"
#include "evolution/prompt/prompt_section.h"

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

static void put_rules(const char *language, struct atoll_buffer *out)
{
    unsigned count = atoll_rules_count(language);
    if (count == 0)
        return;
    atoll_buffer_printf(out, "\n## Static rules\n\nA source that breaks one of these is refused before it is "
                             "compiled; comments and strings of your own are fine.\n\n");
    for (unsigned i = 0; i < count; i++)
        atoll_buffer_printf(out, "- %s: %s\n", atoll_rules_id(language, i), atoll_rules_why(language, i));
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
    } known[] = {{"c", "example.c"}, {"cuda", "example.cu"}, {"opencl", "example.cl"}};
    size_t i = 0, count = sizeof known / sizeof *known;
    while (i < count && (!language || strcmp(known[i].language, language) != 0))
        i++;
    if (i == count)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "no prompt texts for language '%.32s'; there are texts for c, cuda and opencl",
                             language ? language : "");
    put_file("role", out);
    put_file("plan", out);
    put_file(language, out);
    put_rules(language, out);
    put_file("honesty", out);
    put_file("example.md", out);
    put_code("c", "reference.c", out);
    atoll_buffer_printf(out, "\nA kernel for it that compiles and is correct:\n");
    put_code(language, known[i].example, out);
    put_file("answer", out);
    return atoll_buffer_check(out, err);
}
