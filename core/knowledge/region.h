/* region.h - the parts of a prompt text that may change (papers/000 3.5): what stands between a line "<!-- region NAME -->" and the next
 * line "<!-- end -->".  What is outside, rules and interfaces, no edit reaches.
 * Layer: core, pure. */
#ifndef ATOLL_CORE_KNOWLEDGE_REGION_H
#define ATOLL_CORE_KNOWLEDGE_REGION_H

#include "base/buffer.h"
#include "core/ask.h"

#define ATOLL_REGION_LIMIT      3072u /* bytes of a region behind an edit */
#define ATOLL_REGION_EDIT_LIMIT 3u    /* of one answer that are applied, the first that fit */

enum atoll_region {
    ATOLL_REGION_PHILOSOPHY, /* what comes first */
    ATOLL_REGION_STRATEGIES, /* techniques, with patterns of code */
    ATOLL_REGION_PITFALLS,   /* what is easily got wrong */
    ATOLL_REGION_ANALYSIS,   /* how to think before writing */
    ATOLL_REGION_COUNT
};
const char *atoll_region_name(enum atoll_region region); /* "philosophy" ... */

/* Every region once, closed, none inside of another, no other marker, none too long.  0, or -1 with ATOLL_E_INPUT, which names the line. */
int atoll_regions_check(const char *text, struct atoll_err *err);
/* What stands in it, whole lines, borrowed from text; -1: it is not there, or not closed. */
int atoll_region_find(const char *text, enum atoll_region region, const char **ret_text, size_t *ret_length);
/* The text without markers, as prompts show it. */
void atoll_regions_strip(const char *text, struct atoll_buffer *out);

/* Applies items of kind EDIT in their order: title is the region's name, `before` stands in it exactly once and gives way to `after`;
 * an empty one appends.  What fits in no region as a plain text (a marker, a heading, a fence that is not closed, a character that is not
 * ASCII, a region that would be too long), or changes nothing, is left out.  out: the new text, NUL-terminated, also without any.  Returns
 * how many were applied, -1 with ATOLL_E_MEMORY or LIMIT.  fits: NULL, or item_count marks of those that were. */
int atoll_regions_apply(const char *text, const struct atoll_reply_item *items, uint32_t item_count,
                        struct atoll_buffer *out, uint8_t *fits, struct atoll_err *err);

#endif
