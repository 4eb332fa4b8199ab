/* ask_summary.h - what asks of language models cost and brought, by role, and what their prompts were made of.
 * Layer: archive-h5, pure. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_ASK_SUMMARY_H
#define ATOLL_ARCHIVE_H5_REPORT_ASK_SUMMARY_H

#include "archive-h5/report/query.h"
#include "core/model_role.h"

#define ATOLL_SECTION_SUM_LIMIT 512

struct atoll_role_sum {
    uint64_t asks, answered; /* that a model was asked; of these, with an answer that could be used */
    uint64_t input_tokens, cached_tokens, output_tokens, reasoning_tokens; /* of last turns */
    uint64_t tokens; /* of all turns, in and out together */
    uint64_t tool_calls;
    double cost_usd;       /* of all turns */
    uint64_t improvements; /* of the best of a task */
    double gain;           /* product of what these made it faster by; 1: none */
    /* kernels of its asks with a result that is neither unstable nor a failure of infrastructure; of these, with a first such that is
     * correct.  Instances of the tuner are of nobody. */
    uint64_t first_tries, first_correct;
};
/* By role, ATOLL_MODEL_ROLE_COUNT of them; ret_whole: of all together. */
void atoll_query_role_sums(const struct atoll_query *query, struct atoll_role_sum *ret_roles,
                           struct atoll_role_sum *ret_whole);

struct atoll_section_sum {
    enum atoll_model_role role;
    char name[64]; /* of the prompt's; of a system text "system: ", with the heading that the part has */
    uint64_t prompts, bytes, cut_bytes;
    uint64_t tokens; /* estimated from the bytes as budgets do (ATOLL_BYTES_PER_TOKEN) */
};
/* Of the prompts of each role, in the order of their first appearance, then of their system texts, whose parts begin with a line
 * "# HEADING" outside of code; how many, at most limit. */
size_t atoll_query_section_sums(const struct atoll_query *query, struct atoll_section_sum *ret_sections,
                                size_t limit);

#endif
