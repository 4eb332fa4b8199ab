/* prompt_form.c - who is told what.  A stage and an executor do one thing that somebody else chose, so they have neither the
 * voice of an island nor directions nor memories that speak of other things.  Those that write no kernels are spared the worked
 * example; an orderer, a summarizer and a distiller also the language. */
#include "evolution/prompt/prompt_form.h"

#include "evolution/prompt/prompt_text.h"

#define BIT(name) ((uint32_t)1 << ATOLL_PROMPT_##name)
#define SCENE     (BIT(TASK) | BIT(INSTRUCTIONS) | BIT(REFERENCE) | BIT(DEVICE) | BIT(STATE))
#define SIZES     BIT(SHAPES) /* for who writes kernels, or says what to write */
#define KERNEL    (BIT(PARENT) | BIT(TEMPLATE_TABLE) | BIT(DIAGNOSIS))
#define HISTORY   (BIT(TRAJECTORY) | BIT(SIBLINGS) | BIT(FAILURES))
#define LEARNT    (BIT(MEMORY) | BIT(HINTS) | BIT(KNOWLEDGE))
#define REPORT    "What was found in the parent"
#define END       (BIT(TOOLS) | BIT(ANSWER))

static const struct atoll_prompt_form_row rows[ATOLL_FORM_COUNT] = {
    [ATOLL_FORM_WRITE] = {"part/writer",
                          1,
                          1,
                          1,
                          SCENE | SIZES | KERNEL | HISTORY | BIT(DEMONSTRATIONS) | BIT(INSPIRATION) | LEARNT |
                              BIT(ADVICE) | BIT(ISSUES) | BIT(PLAN) | END,
                          {[ATOLL_PROMPT_ISSUES] = REPORT}},
    [ATOLL_FORM_EXECUTE] = {"part/executor",
                            1,
                            1,
                            0,
                            SCENE | SIZES | KERNEL | BIT(HINTS) | BIT(KNOWLEDGE) | BIT(ISSUES) |
                                BIT(FAILURES) | BIT(PLAN) | END,
                            {[ATOLL_PROMPT_FAILURES] = "Earlier attempts", [ATOLL_PROMPT_ISSUES] = REPORT}},
    [ATOLL_FORM_REFINE] = {"part/refiner",
                           1,
                           1,
                           0,
                           SCENE | SIZES | KERNEL | BIT(HINTS) | BIT(KNOWLEDGE) | BIT(ISSUES) | BIT(ROUNDS) |
                               BIT(FAILURES) | END,
                           {[ATOLL_PROMPT_PARENT] = "The stage's kernel"}},
    [ATOLL_FORM_EXTRACT] = {"part/extractor",
                            1,
                            1,
                            0,
                            SCENE | SIZES | KERNEL | BIT(KNOWLEDGE) | BIT(ISSUES) | BIT(ROUNDS) |
                                BIT(FAILURES) | END,
                            {[ATOLL_PROMPT_PARENT] = "The stage's kernel"}},
    [ATOLL_FORM_TEMPLATE] = {"part/template",
                             1,
                             1,
                             0,
                             SCENE | SIZES | KERNEL | BIT(HINTS) | BIT(KNOWLEDGE) | BIT(ISSUES) |
                                 BIT(FAILURES) | END,
                             {[ATOLL_PROMPT_ISSUES] = REPORT}},
    [ATOLL_FORM_TRANSLATE] =
        {"part/translator",
         1,
         1,
         0,
         SCENE | SIZES | BIT(PARENT) | BIT(DEMONSTRATIONS) | BIT(HINTS) | BIT(KNOWLEDGE) | BIT(FAILURES) |
             END,
         {[ATOLL_PROMPT_PARENT] = "The kernel to translate"}},
    [ATOLL_FORM_PLAN] = {"part/planner",
                         1,
                         0,
                         1,
                         SCENE | SIZES | KERNEL | HISTORY | BIT(PLANS) | BIT(INSPIRATION) | LEARNT |
                             BIT(ADVICE) | BIT(ISSUES) | END,
                         {[ATOLL_PROMPT_ISSUES] = REPORT}},
    [ATOLL_FORM_ANALYSE] =
        {"part/analyser",
         1,
         0,
         0,
         SCENE | SIZES | KERNEL | HISTORY | BIT(HINTS) | BIT(KNOWLEDGE) | BIT(ISSUES) | END,
         {[ATOLL_PROMPT_ISSUES] = "Types of issues that this campaign found"}},
    [ATOLL_FORM_ORDER] = {"part/order",
                          0,
                          0,
                          0,
                          SCENE | BIT(PARENT) | BIT(DIAGNOSIS) | BIT(ISSUES) | BIT(ANSWER),
                          {[ATOLL_PROMPT_ISSUES] = "Issues"}},
    [ATOLL_FORM_SUMMARISE] =
        {"part/summarizer",
         0,
         0,
         0,
         BIT(TASK) | BIT(DEVICE) | BIT(PARENT) | BIT(INSPIRATION) | BIT(PLAN) | BIT(ANSWER),
         {[ATOLL_PROMPT_PARENT] = "The slow kernel",
          [ATOLL_PROMPT_INSPIRATION] = "The fast kernel",
          [ATOLL_PROMPT_PLAN] = "What was tried"}},
    [ATOLL_FORM_DISTIL] =
        {"part/distiller",
         0,
         0,
         0,
         BIT(TASK) | BIT(DEVICE) | BIT(PARENT) | BIT(DIAGNOSIS) | BIT(INSPIRATION) | BIT(ANSWER),
         {[ATOLL_PROMPT_PARENT] = "The improved kernel", [ATOLL_PROMPT_INSPIRATION] = "How it came about"}},
    [ATOLL_FORM_JUDGE] = {"part/judge",
                          1,
                          0,
                          0,
                          BIT(TASK) | BIT(INSTRUCTIONS) | BIT(REFERENCE) | BIT(PARENT) | BIT(ANSWER),
                          {[ATOLL_PROMPT_PARENT] = "The candidate"}},
    [ATOLL_FORM_META] = {"part/prompter",
                         0,
                         0,
                         0,
                         BIT(TASK) | BIT(DEVICE) | BIT(REGIONS) | BIT(OUTCOMES) | BIT(PARENT) |
                             BIT(DIAGNOSIS) | BIT(INSPIRATION) | BIT(FAILURES) | BIT(ANSWER),
                         {[ATOLL_PROMPT_PARENT] = "The best kernel written with them",
                          [ATOLL_PROMPT_INSPIRATION] = "Others of them",
                          [ATOLL_PROMPT_FAILURES] = "Failures of them"}},
};

enum atoll_prompt_form atoll_prompt_form_of(const struct atoll_prompt_input *input)
{
    static const enum atoll_prompt_form by_kind[ATOLL_ASK_KIND_COUNT] = {
        [ATOLL_ASK_WRITE] = ATOLL_FORM_WRITE,         [ATOLL_ASK_PLAN] = ATOLL_FORM_PLAN,
        [ATOLL_ASK_ANALYSE] = ATOLL_FORM_ANALYSE,     [ATOLL_ASK_ORDER] = ATOLL_FORM_ORDER,
        [ATOLL_ASK_SUMMARISE] = ATOLL_FORM_SUMMARISE, [ATOLL_ASK_DISTIL] = ATOLL_FORM_DISTIL,
        [ATOLL_ASK_JUDGE] = ATOLL_FORM_JUDGE,         [ATOLL_ASK_META] = ATOLL_FORM_META};
    const struct atoll_ask *ask = input->ask;
    int has_step =
        (input->step && input->step->text && input->step->text[0]) || (input->plan && input->plan[0]);
    if (ask->kind != ATOLL_ASK_WRITE)
        return (unsigned)ask->kind < ATOLL_ASK_KIND_COUNT ? by_kind[ask->kind] : ATOLL_FORM_WRITE;
    return ask->op == ATOLL_OPERATOR_EXECUTE && has_step          ? ATOLL_FORM_EXECUTE
           : ask->op == ATOLL_OPERATOR_STAGED                     ? ATOLL_FORM_REFINE
           : ask->op == ATOLL_OPERATOR_EXTRACT                    ? ATOLL_FORM_EXTRACT
           : ask->op == ATOLL_OPERATOR_TEMPLATE                   ? ATOLL_FORM_TEMPLATE
           : ask->op == ATOLL_OPERATOR_TRANSLATE && input->parent ? ATOLL_FORM_TRANSLATE
                                                                  : ATOLL_FORM_WRITE;
}

const struct atoll_prompt_form_row *atoll_prompt_form_row(enum atoll_prompt_form form)
{
    return &rows[form];
}
