/* prompt_region.c - what who edits guidance is shown: the regions as they stand, and what became of kernels written with them. */
#include <string.h>

#include "evolution/prompt/prompt_text.h"
#include "core/knowledge/region.h"

void atoll_prompt_write_regions(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    char region[ATOLL_REGION_LIMIT + 1];
    if (!input->language_text)
        return;
    atoll_prompt_put(t, "Of the text about the language %s; each region between its fences, word for word.\n",
                     input->language);
    for (unsigned i = 0; i < ATOLL_REGION_COUNT; i++) {
        const char *text;
        size_t length;
        if (atoll_region_find(input->language_text, (enum atoll_region)i, &text, &length) != 0 ||
            length >= sizeof(region))
            continue;
        memcpy(region, text, length);
        region[length] = 0;
        atoll_prompt_put(t, "\nRegion `%s`:\n\n", atoll_region_name((enum atoll_region)i));
        atoll_prompt_put_code(t, "markdown", region, 0);
    }
}

void atoll_prompt_write_outcomes(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    for (size_t i = 0; i < input->brief_count; i++)
        if (input->briefs[i].kind == ATOLL_BRIEF_PROMPT)
            atoll_prompt_put_brief(t, input, i, 0);
}
