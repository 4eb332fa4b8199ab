/* hint.h - one piece of advice that a model may be told, when it is told, and what came of it (papers/001 3.4).
 * Layer: core, pure.  Plain values; texts are borrowed.
 *
 * A hint is what its trigger and texts say: its identity is their hash, so that the same advice of two campaigns is one, and a
 * changed advice begins its statistics anew.  Names are for people. */
#ifndef ATOLL_CORE_EXPERIENCE_HINT_H
#define ATOLL_CORE_EXPERIENCE_HINT_H

#include "base/id.h"
#include "core/ask.h"
#include "core/diagnosis.h"
#include "core/search.h"

#define ATOLL_HINT_NAME_BYTES     64 /* all of these without the NUL */
#define ATOLL_HINT_CATEGORY_BYTES 128
#define ATOLL_HINT_CONTEXT_BYTES  400
#define ATOLL_HINT_ADVICE_BYTES   800
#define ATOLL_HINT_SOURCE_BYTES   200
#define ATOLL_HINT_TRIGGER_BYTES  64 /* with the NUL */

/* What of a diagnosis it answers to. */
enum atoll_trigger_kind {
    /* enum atoll_limiter; UNKNOWN: nothing is known of the kernel, or there is none yet; the coarse MEMORY and INSTRUCTION: all
     * of that kind */
    ATOLL_TRIGGER_LIMITER,
    ATOLL_TRIGGER_ERROR,     /* enum atoll_error_class */
    ATOLL_TRIGGER_STALL,     /* enum atoll_stall */
    ATOLL_TRIGGER_UNUSED,    /* enum atoll_unused */
    ATOLL_TRIGGER_OCCUPANCY, /* enum atoll_occupancy_limit, where occupancy limits */
    ATOLL_TRIGGER_KIND_COUNT
};
struct atoll_trigger {
    enum atoll_trigger_kind kind;
    uint32_t value; /* of the kind's enum */
};

enum atoll_hint_origin {
    ATOLL_HINT_CURATED,   /* written by an expert */
    ATOLL_HINT_IMPORTED,  /* from outside */
    ATOLL_HINT_DISTILLED, /* by a model, from what improved */
    ATOLL_HINT_ORIGIN_COUNT
};

/* What came of it.  A use is an ask that was told it; its outcome is the best of the kernels that answered the ask. */
struct atoll_hint_statistics {
    double uses, outcomes, wins; /* outcomes: uses of which one is known */
    double expected;        /* wins that its asks would have had if it did nothing: their yardstick, summed */
    double gains, log_gain; /* outcomes with both times, and the sum of ln(parent's time over its own) */
};

struct atoll_experience_hint {
    const char *name; /* small letters, digits and '-' */
    struct atoll_trigger trigger;
    const char *language;        /* as sources say it; "" any */
    const char *device;          /* a family; "" any */
    const char *category;        /* of tasks (task.yaml), or several with blanks between them; "" any */
    uint8_t role;                /* enum atoll_island_role that it belongs to; COUNT: to all */
    const char *context;         /* when it holds; "" always */
    const char *advice, *source; /* source: who says so; "" */
    enum atoll_hint_origin origin;
    struct atoll_hint_statistics prior; /* of earlier campaigns */
};

/* "limiter dram", "error race", "stall barrier", "unused wgmma", "occupancy registers"; returns text. */
const char *atoll_trigger_text(const struct atoll_trigger *trigger, char ret_text[ATOLL_HINT_TRIGGER_BYTES]);
/* The same back; the kind may be missing: then limiters come first, errors next.  INPUT, with the nearest that there is. */
int atoll_trigger_parse(const char *text, struct atoll_trigger *ret_trigger, struct atoll_err *err);
/* Whether a kernel of this diagnosis (NULL: there is none yet) is one that it answers to. */
int atoll_trigger_holds(const struct atoll_trigger *trigger, const struct atoll_diagnosis *diagnosis);
/* What a diagnosis is about before all else: its error, or its limiter. */
struct atoll_trigger atoll_trigger_of(const struct atoll_diagnosis *diagnosis);

/* Bounds, printable characters, words of languages and families.  INPUT. */
int atoll_experience_hint_check(const struct atoll_experience_hint *hint, struct atoll_err *err);
/* Zero of one whose texts are longer than they may be. */
struct atoll_id atoll_experience_hint_id(const struct atoll_experience_hint *hint);

/* Room for the texts of a hint that a reply holds. */
struct atoll_hint_words {
    char name[ATOLL_HINT_NAME_BYTES + 1], context[ATOLL_HINT_CONTEXT_BYTES + 1],
        advice[ATOLL_HINT_ADVICE_BYTES + 1];
};
/* What a model distilled: hostile text, made to fit. language: of the kernel; device: its family.  1, with texts in ret_words; 0:
 * it is no hint, or nothing that a diagnosis could call for. */
int atoll_experience_hint_of_item(const struct atoll_reply_item *item, const char *language,
                                  const char *device, struct atoll_hint_words *ret_words,
                                  struct atoll_experience_hint *ret_hint);

/* "hopper" of a GPU by its compute capability, "cpu" of anything else; "cuda" of a GPU that is none of those known. */
const char *atoll_device_family(const struct atoll_device_info *device);
/* Whether advice for `wanted` ("": any, "cuda": every GPU) holds for a family. */
int atoll_device_family_holds(const char *wanted, const char *family);

const char *atoll_hint_role_name(uint8_t role); /* "fusion" ...; "" beyond: of all islands */
const char *atoll_hint_origin_name(enum atoll_hint_origin origin);

/* ---- what it is worth ---- */

/* Of a try that answers an ask: it won when it is correct and the parent was not (parent_ns 0), or faster than the parent by
 * 2 %: less than that two medians differ by on their own. */
int atoll_hint_is_win(double parent_ns, enum atoll_verdict verdict, double child_ns);
/* Wins per outcome, 0..1, as a Beta prior sees them that is worth eight outcomes and lies around what was expected; a quarter
 * where nothing is known. */
double atoll_hint_confidence(const struct atoll_hint_statistics *statistics);
/* How many times as many wins as without it: of a Gamma prior of two around 1. */
double atoll_hint_lift(const struct atoll_hint_statistics *statistics);
/* Mean of times over the parent's, 1: nothing is known. */
double atoll_hint_gain(const struct atoll_hint_statistics *statistics);
/* Eight outcomes or more, and fewer wins than expected by 2.5 standard deviations of that count: it is told no more. */
int atoll_hint_is_losing(const struct atoll_hint_statistics *statistics);
void atoll_hint_statistics_add(struct atoll_hint_statistics *sum, const struct atoll_hint_statistics *more);

#endif
