/* briefing.h - what an ask was given beside what it names: what a memory or a library held when its prompt was worded.
 * Layer: core.  Plain value, texts borrowed; encode/decode for the journal (docs/spec/events.md). */
#ifndef ATOLL_CORE_BRIEFING_H
#define ATOLL_CORE_BRIEFING_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/id.h"

#define ATOLL_BRIEF_LIMIT 128 /* of one ask */
#define ATOLL_BRIEF_TEXT_LIMIT                                                                               \
    (4u << 10) /* bytes of a brief's text; what is longer is cut when it is encoded */
#define ATOLL_BRIEF_SOURCE_LIMIT                                                                             \
    (68u << 10) /* the same of a DEMONSTRATION: a source of 64 KiB, and what is said of it */
#define ATOLL_BRIEF_TITLE_LIMIT 256u

/* The order is the order in journals and archives: new ones go before COUNT. */
enum atoll_brief_kind {
    ATOLL_BRIEF_HINT,      /* of the experience library */
    ATOLL_BRIEF_MEMORY,    /* a rewrite of the optimization memory */
    ATOLL_BRIEF_KNOWLEDGE, /* an entry of the knowledge base */
    ATOLL_BRIEF_PROMPT,    /* a passage of the prompt itself, in the place of the one that is built in */
    /* results that were chosen among many: id is the candidate, score its time in ns, without texts */
    ATOLL_BRIEF_SIBLING, /* another child of the parent */
    ATOLL_BRIEF_SLOWER,  /* a child that is slower than the parent */
    ATOLL_BRIEF_BEST,    /* the best of the task */
    ATOLL_BRIEF_COMBINATION, /* of the parameters of the parent's template; the first has no candidate: its text is "TRIED CORRECT", how
                                many there are of which the others were chosen */
    /* of the knowledge base, too; the first line of a constraint's text is never cut */
    ATOLL_BRIEF_CONSTRAINT, /* a critical one, for its language and device: told whatever else is */
    ATOLL_BRIEF_DEMONSTRATION, /* a kernel of a similar task: its text is what is said of it, an empty line, the source */
    ATOLL_BRIEF_ISSUE_TYPE, /* a type of issues that an analyser of the campaign made up, and that was worth something */
    ATOLL_BRIEF_FAILURE, /* a candidate that failed, older than those which the ask names; a result as above, without a time */
    ATOLL_BRIEF_PLAN, /* a step that was planned for the parent already, and what came of it */
    ATOLL_BRIEF_KIND_COUNT
};
const char *atoll_brief_kind_name(enum atoll_brief_kind kind); /* "hint" ... */
#define ATOLL_BRIEFS_OF_KNOWLEDGE                                                                            \
    (1u << ATOLL_BRIEF_KNOWLEDGE | 1u << ATOLL_BRIEF_CONSTRAINT | 1u << ATOLL_BRIEF_DEMONSTRATION)

struct atoll_brief {
    enum atoll_brief_kind kind;
    struct atoll_id id;       /* of what was given, zero: it has none */
    const char *title, *text; /* NULL reads back as "" */
    double score;             /* how well it fitted, 0 unsaid */
    uint32_t cut_bytes;       /* of the text, that the prompt had no room for; all of them: it was not told */
};
/* Something of its text was told. */
int atoll_brief_is_told(const struct atoll_brief *brief);

struct atoll_briefing {
    uint64_t ask;
    uint32_t count;
    struct atoll_brief briefs[ATOLL_BRIEF_LIMIT]; /* in the order in which they are told */
};

void atoll_briefing_encode(const struct atoll_briefing *briefing, struct atoll_buffer *out);
/* Hostile input; texts are copied into arena.  Journals of before say nothing of what was cut: then nothing was. */
void atoll_briefing_decode(struct atoll_reader *reader, struct atoll_arena *arena,
                           struct atoll_briefing *ret_briefing);

#endif
