/* prompt_kernel.h - what is said of one kernel, wherever it is shown.
 * Layer: evolution, private to prompt*.c. */
#ifndef ATOLL_EVOLUTION_PROMPT_PROMPT_KERNEL_H
#define ATOLL_EVOLUTION_PROMPT_PROMPT_KERNEL_H

#include "core/plan/plan.h"
#include "evolution/prompt/prompt_text.h"

int atoll_prompt_is_correct(const struct atoll_prompt_kernel *kernel);
/* The answer it came with could not be used (evolution/reply/reply.h). */
int atoll_prompt_is_unusable(const struct atoll_prompt_kernel *kernel);

/* A cap in bytes for a budget of 48 KiB: more where the budget is larger, up to eight times as much. */
size_t atoll_prompt_cap(const struct atoll_prompt_input *input, size_t bytes);
/* The kernel's plan, in arena; NULL: it has none that can be read.  No memory is the section's failure. */
const struct atoll_plan *atoll_prompt_plan(const struct atoll_prompt_input *input,
                                           struct atoll_prompt_text *t, const char *source,
                                           struct atoll_arena *arena);

/* The source without functions of paths that no timed shape takes, in out where something is left out of it. */
const char *atoll_prompt_timed_source(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                                      const char *source, struct atoll_buffer *out);

void atoll_prompt_put_speed(struct atoll_prompt_text *t, const struct atoll_prompt_kernel *kernel);
void atoll_prompt_put_choice(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                             const struct atoll_prompt_kernel *kernel);
void atoll_prompt_put_cell(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                           const struct atoll_prompt_kernel *kernel);
/* Counters, resources and instructions of a measured kernel, and which shape and path they are of, where there are several; for a
 * planner in an order that follows from the ask's number (papers/004 A.4). */
void atoll_prompt_put_profile(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                              const struct atoll_prompt_kernel *kernel);
/* What was reported of a kernel that is not correct; nothing of hidden variants. */
void atoll_prompt_put_detail(struct atoll_prompt_text *t, const struct atoll_prompt_kernel *kernel,
                             size_t cap);
/* Why an answer could not be used, and how it began. */
void atoll_prompt_put_unusable(struct atoll_prompt_text *t, const struct atoll_prompt_kernel *kernel);
/* In one line without its end: "812 us, 0.95 times the parent's speed; dram 88 %; TM=64", or the verdict and its class.  other: whose
 * speed it is compared with, which took other_ns; 0 nobody's. */
void atoll_prompt_put_line(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                           const struct atoll_prompt_kernel *kernel, const char *other, double other_ns);
/* Times and useful work per second at each timed shape, beside another's, a line each. */
void atoll_prompt_put_rates(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                            const struct atoll_prompt_kernel *kernel,
                            const struct atoll_prompt_kernel *other);

#endif
