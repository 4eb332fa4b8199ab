/* prompt_form.h - what the prompts of each kind of ask are made of, as one table.
 * Layer: evolution, private to prompt*.c. */
#ifndef ATOLL_EVOLUTION_PROMPT_PROMPT_FORM_H
#define ATOLL_EVOLUTION_PROMPT_PROMPT_FORM_H

#include "evolution/prompt/prompt.h"

enum atoll_prompt_form {
    ATOLL_FORM_WRITE, /* whatever writes kernels and is none of the next four */
    ATOLL_FORM_EXECUTE,
    ATOLL_FORM_REFINE,
    ATOLL_FORM_EXTRACT,
    ATOLL_FORM_TEMPLATE,
    ATOLL_FORM_TRANSLATE,
    ATOLL_FORM_PLAN,
    ATOLL_FORM_ANALYSE,
    ATOLL_FORM_ORDER,
    ATOLL_FORM_SUMMARISE,
    ATOLL_FORM_DISTIL,
    ATOLL_FORM_JUDGE,
    ATOLL_FORM_META,
    ATOLL_FORM_COUNT
};

struct atoll_prompt_form_row {
    const char *part;  /* of prompts/ in the pack: whom the model plays */
    int has_language;  /* told: the plan's form, the language, its rules, honesty */
    int writes;        /* kernels: told the worked example and how kernels are handed in */
    int has_island;    /* speaks with the voice of its island's role */
    uint32_t sections; /* bit per section that it may have */
    const char *titles[ATOLL_PROMPT_SECTION_COUNT]; /* in the place of the usual ones */
};

/* An executor without a step (nobody outside plans) writes like everybody else. */
enum atoll_prompt_form atoll_prompt_form_of(const struct atoll_prompt_input *input);
const struct atoll_prompt_form_row *atoll_prompt_form_row(enum atoll_prompt_form form);

#endif
