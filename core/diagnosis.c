/* diagnosis.c - from facts to a value.  A limiter is the largest figure of its kind and nothing else: each kind (units, the
 * launch, reasons to wait) is a list of figures, and what is claimed is the first of its list when that is sorted.  What
 * was not measured is no figure, and a claim that it could overturn is not made. */
#include "core/diagnosis.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fitness.h"

#define LIMITING     60.0 /* % of a peak: below it the unit does not limit (as core/profile.c) */
#define AT_LEAST     50.0 /* the same of useful bytes and operations: at most a factor of two is left */
#define LAUNCH_SHARE (100.0 / 3)
#define IDLE         25.0      /* % of the device's time that an incomplete wave leaves idle */
#define FEW_WARPS    30.0      /* % of a multiprocessor's warps: too few to hide waiting for memory */
#define CONFLICTED   0.25      /* of the accesses to shared memory */
#define WASTED       (2.0 / 3) /* of the warps that fit are there on average */
#define MOSTLY       0.5       /* of all the waiting */
#define FILLED       0.85      /* of the issue slots that are used: the pipe that uses them is meant */
#define SPILLING     0.1       /* of a binary's instructions */
#define SCALAR       0.85      /* of a binary's floating-point arithmetic */
#define FAR          20.0      /* % of both roofs: far from them */
#define APART        1.1       /* counted over timed, or the reverse */
#define SHARED_MOST  232448.0  /* bytes of shared memory of a block: no device up to 12.0 gives more */
#define TILE_WORK                                                                                            \
    32.0 /* operations per byte that has to be moved: products of matrices and what is like them */

#define BIT(unused) ((uint32_t)1 << ATOLL_UNUSED_##unused)

/* ---- failures ---- */

/* The first row of a verdict whose part is in the text; parts are words of our referee and of compilers. */
static const struct {
    enum atoll_verdict verdict;
    const char *part; /* NULL: any */
    enum atoll_error_class class;
} errors[] = {
    {ATOLL_V_BAD_PLAN, "not valid JSON", ATOLL_ERROR_PLAN_SYNTAX},
    {ATOLL_V_BAD_PLAN, "requirements", ATOLL_ERROR_PLAN_CHOICE},
    {ATOLL_V_BAD_PLAN, "widen its condition", ATOLL_ERROR_PLAN_PATH},
    {ATOLL_V_BAD_PLAN, "on this device", ATOLL_ERROR_RESOURCES},
    {ATOLL_V_BAD_PLAN, "the plan's launch has", ATOLL_ERROR_INTERFACE}, /* of Triton, and behind it */
    {ATOLL_V_BAD_PLAN, "the plan's argument", ATOLL_ERROR_INTERFACE},
    {ATOLL_V_BAD_PLAN, "that the plan launches", ATOLL_ERROR_INTERFACE},
    {ATOLL_V_BAD_PLAN, "tl.constexpr", ATOLL_ERROR_CONSTEXPR},
    {ATOLL_V_BAD_PLAN, NULL, ATOLL_ERROR_PLAN},
    {ATOLL_V_FORBIDDEN, "rule precisions-strict", ATOLL_ERROR_PRECISION_RULE},
    {ATOLL_V_FORBIDDEN, "rule include", ATOLL_ERROR_INCLUDE},
    {ATOLL_V_FORBIDDEN, "writable data", ATOLL_ERROR_STATE},
    {ATOLL_V_FORBIDDEN, NULL, ATOLL_ERROR_RULE},
    {ATOLL_V_COMPILE_ERROR, "plan.launch", ATOLL_ERROR_INTERFACE},
    {ATOLL_V_COMPILE_ERROR, "plan.paths", ATOLL_ERROR_INTERFACE},
    {ATOLL_V_COMPILE_ERROR, "writable data", ATOLL_ERROR_STATE},
    {ATOLL_V_COMPILE_ERROR, "inlining failed", ATOLL_ERROR_INSTRUCTION_SET},
    {ATOLL_V_COMPILE_ERROR, "target specific option mismatch", ATOLL_ERROR_INSTRUCTION_SET},
    {ATOLL_V_COMPILE_ERROR, "not supported on .target", ATOLL_ERROR_INSTRUCTION_SET},
    {ATOLL_V_COMPILE_ERROR, "requires .target", ATOLL_ERROR_INSTRUCTION_SET},
    {ATOLL_V_COMPILE_ERROR, "uses too much shared", ATOLL_ERROR_RESOURCES},
    {ATOLL_V_COMPILE_ERROR, "out of resource", ATOLL_ERROR_RESOURCES},
    {ATOLL_V_COMPILE_ERROR, "too many resources", ATOLL_ERROR_RESOURCES},
    {ATOLL_V_COMPILE_ERROR, "ptxas", ATOLL_ERROR_ASSEMBLY},
    {ATOLL_V_COMPILE_ERROR, "Ptx assembly", ATOLL_ERROR_ASSEMBLY},
    {ATOLL_V_COMPILE_ERROR, "impossible constraint in", ATOLL_ERROR_ASSEMBLY},
    {ATOLL_V_COMPILE_ERROR, "implicit declaration", ATOLL_ERROR_FUNCTION},
    {ATOLL_V_COMPILE_ERROR, "undefined reference", ATOLL_ERROR_FUNCTION},
    {ATOLL_V_COMPILE_ERROR, "undeclared", ATOLL_ERROR_NAME},
    {ATOLL_V_COMPILE_ERROR, "is undefined", ATOLL_ERROR_NAME},
    {ATOLL_V_COMPILE_ERROR, "is not defined", ATOLL_ERROR_NAME},
    {ATOLL_V_COMPILE_ERROR, "has no member", ATOLL_ERROR_NAME},
    {ATOLL_V_COMPILE_ERROR, "has no attribute", ATOLL_ERROR_NAME},
    {ATOLL_V_COMPILE_ERROR, "unknown type name", ATOLL_ERROR_NAME},
    {ATOLL_V_COMPILE_ERROR, "too few arguments", ATOLL_ERROR_ARGUMENTS},
    {ATOLL_V_COMPILE_ERROR, "too many arguments", ATOLL_ERROR_ARGUMENTS},
    {ATOLL_V_COMPILE_ERROR, "no instance of", ATOLL_ERROR_ARGUMENTS},
    {ATOLL_V_COMPILE_ERROR, "required positional argument", ATOLL_ERROR_ARGUMENTS},
    {ATOLL_V_COMPILE_ERROR, "unexpected keyword argument", ATOLL_ERROR_ARGUMENTS},
    {ATOLL_V_COMPILE_ERROR, "power of 2", ATOLL_ERROR_CONSTEXPR},
    {ATOLL_V_COMPILE_ERROR, "constexpr", ATOLL_ERROR_CONSTEXPR},
    {ATOLL_V_COMPILE_ERROR, "must have a constant value", ATOLL_ERROR_CONSTEXPR},
    {ATOLL_V_COMPILE_ERROR, "type mismatch", ATOLL_ERROR_TYPE},
    {ATOLL_V_COMPILE_ERROR, "equal ranks", ATOLL_ERROR_TYPE},
    {ATOLL_V_COMPILE_ERROR, "no suitable c", ATOLL_ERROR_TYPE}, /* conversion, constructor */
    {ATOLL_V_COMPILE_ERROR, "incompatible", ATOLL_ERROR_TYPE},
    {ATOLL_V_COMPILE_ERROR, "invalid operands", ATOLL_ERROR_TYPE},
    {ATOLL_V_COMPILE_ERROR, "no operator", ATOLL_ERROR_TYPE},
    {ATOLL_V_COMPILE_ERROR, "cannot be used to initialize", ATOLL_ERROR_TYPE},
    {ATOLL_V_COMPILE_ERROR, "modifiable lvalue", ATOLL_ERROR_TYPE},
    {ATOLL_V_COMPILE_ERROR, "read-only", ATOLL_ERROR_TYPE},
    {ATOLL_V_COMPILE_ERROR, "expected a", ATOLL_ERROR_SYNTAX},
    {ATOLL_V_COMPILE_ERROR, "expected", ATOLL_ERROR_SYNTAX},
    {ATOLL_V_COMPILE_ERROR, "SyntaxError", ATOLL_ERROR_SYNTAX},
    {ATOLL_V_COMPILE_ERROR, "already been declared", ATOLL_ERROR_SYNTAX},
    {ATOLL_V_COMPILE_ERROR, "redefinition", ATOLL_ERROR_SYNTAX},
    {ATOLL_V_COMPILE_ERROR, "invalid axis", ATOLL_ERROR_TYPE},
    {ATOLL_V_COMPILE_ERROR, "past the deadline", ATOLL_ERROR_COMPILE_TIME},
    {ATOLL_V_COMPILE_ERROR, "out of memory", ATOLL_ERROR_COMPILE_TIME},
    {ATOLL_V_COMPILE_ERROR, "cannot open source file", ATOLL_ERROR_INCLUDE},
    {ATOLL_V_COMPILE_ERROR, "No such file", ATOLL_ERROR_INCLUDE},
    {ATOLL_V_COMPILE_ERROR, NULL, ATOLL_ERROR_COMPILE},
    {ATOLL_V_LAUNCH_ERROR, "resources", ATOLL_ERROR_RESOURCES},
    {ATOLL_V_LAUNCH_ERROR, "has no kernel", ATOLL_ERROR_INTERFACE},
    {ATOLL_V_LAUNCH_ERROR, "the plan's launch has", ATOLL_ERROR_INTERFACE},
    {ATOLL_V_LAUNCH_ERROR, "the plan's argument", ATOLL_ERROR_INTERFACE},
    {ATOLL_V_LAUNCH_ERROR, NULL, ATOLL_ERROR_LAUNCH},
    {ATOLL_V_CRASH, "forbidden system call", ATOLL_ERROR_SYSTEM_CALL}, /* cpu/process/runner.c */
    {ATOLL_V_CRASH, "left with exit status", ATOLL_ERROR_EXIT},
    {ATOLL_V_CRASH, "SIGABRT", ATOLL_ERROR_EXIT},
    {ATOLL_V_CRASH, "SIGILL", ATOLL_ERROR_ILLEGAL},
    {ATOLL_V_CRASH, "SIGTRAP", ATOLL_ERROR_ILLEGAL},
    {ATOLL_V_CRASH, "SIGFPE", ATOLL_ERROR_DIVISION},
    {ATOLL_V_CRASH, "SIGSEGV", ATOLL_ERROR_SEGMENT},
    {ATOLL_V_CRASH, "SIGBUS", ATOLL_ERROR_SEGMENT},
    {ATOLL_V_CRASH, "MISALIGNED", ATOLL_ERROR_MISALIGNED}, /* the driver's names */
    {ATOLL_V_CRASH, "ILLEGAL_ADDRESS", ATOLL_ERROR_FAULT},
    {ATOLL_V_CRASH, "INVALID_ADDRESS_SPACE", ATOLL_ERROR_FAULT},
    {ATOLL_V_CRASH, "ILLEGAL_INSTRUCTION", ATOLL_ERROR_ILLEGAL},
    {ATOLL_V_CRASH, NULL, ATOLL_ERROR_CRASH},
    {ATOLL_V_TIMEOUT, NULL, ATOLL_ERROR_TIMEOUT},
    {ATOLL_V_WRONG, "out of bounds", ATOLL_ERROR_BOUNDS},
    {ATOLL_V_WRONG, "changed the input", ATOLL_ERROR_INPUT},
    {ATOLL_V_WRONG, "never written", ATOLL_ERROR_UNWRITTEN},
    {ATOLL_V_WRONG, "nothing was written", ATOLL_ERROR_UNWRITTEN},
    {ATOLL_V_WRONG, "only a prefix", ATOLL_ERROR_UNWRITTEN},
    {ATOLL_V_WRONG, "missing tail", ATOLL_ERROR_TAIL},
    {ATOLL_V_WRONG, "transposed", ATOLL_ERROR_TRANSPOSED},
    {ATOLL_V_WRONG, "off by", ATOLL_ERROR_MISPLACED},
    {ATOLL_V_WRONG, "constant factor", ATOLL_ERROR_SCALE},
    {ATOLL_V_WRONG, "constant offset", ATOLL_ERROR_OFFSET},
    {ATOLL_V_WRONG, "NaN or Inf", ATOLL_ERROR_NOT_FINITE},
    {ATOLL_V_WRONG, "precision", ATOLL_ERROR_PRECISION},
    {ATOLL_V_WRONG, "race", ATOLL_ERROR_RACE},
    {ATOLL_V_WRONG, NULL, ATOLL_ERROR_WRONG},
    {ATOLL_V_UNSTABLE, NULL, ATOLL_ERROR_UNSTABLE},
    {ATOLL_V_IMPOSSIBLE, NULL, ATOLL_ERROR_IMPOSSIBLE},
    {ATOLL_V_INFRASTRUCTURE, NULL, ATOLL_ERROR_INFRASTRUCTURE},
};

/* Whether a line of the text that tells an error has the part; a text without such a line is one as a whole.  Sources that a
 * compiler quotes stand in other lines, so that what a candidate calls its variables does not decide. */
static int tells(const char *text, const char *part, int has_lines)
{
    size_t part_length = strlen(part);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        int is_error = !has_lines || memmem(line, length, "error", 5) || memmem(line, length, "Error", 5);
        if (is_error && memmem(line, length, part, part_length))
            return 1;
    }
    return 0;
}

/* The text up to the end of its first line that tells an error; what follows often follows from it. */
static size_t first_error(const char *text, char *ret_line, size_t bytes)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        if (memmem(line, length, "error", 5) || memmem(line, length, "Error", 5)) {
            length = length < bytes ? length : bytes - 1;
            memcpy(ret_line, line, length);
            ret_line[length] = '\0';
            return length;
        }
    }
    return 0;
}

static enum atoll_error_class find_class(enum atoll_verdict verdict, const char *text, int has_lines)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (errors[i].verdict == verdict && (!errors[i].part || tells(text, errors[i].part, has_lines)))
            return errors[i].class;
    return ATOLL_ERROR_NONE;
}

/* Triton quotes the source first, each time up to a line that only points, and says behind it what is wrong. */
static const char *behind_quotation(const char *text)
{
    const char *found = text;
    if (strncmp(text, "at ", 3) != 0 && !strstr(text, "CompilationError: at "))
        return text;
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n"), blank = strspn(line, " ");
        const char *next = line + length + (line[length] == '\n');
        if (blank + 1 == length && line[blank] == '^' && *next)
            found = next;
        line = next;
    }
    return found;
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether the name that a line calls unknown is that of a function: the source that is quoted beside it calls it.  gcc alone
 * says so itself. */
static int calls_unknown(const char *text, const char *line)
{
    static const char *const parts[] = {"\" is undefined", " is not defined", "has no attribute '"};
    const char *at = NULL;
    size_t length = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !at; i++)
        at = strstr(line, parts[i]);
    if (!at)
        return 0;
    if (*at == 'h')
        at += strlen(parts[2]);
    else
        while (at > line && is_word(at[-1]))
            at--;
    while (is_word(at[length]))
        length++;
    for (const char *found = text; length && (found = memmem(found, strlen(found), at, length)); found++)
        if (found[length] == '(' && (found == text || !is_word(found[-1])))
            return 1;
    return 0;
}

/* No device gives a block as much shared memory as the launch asked for. */
static int asks_too_much(const char *text)
{
    const char *at = strstr(text, " bytes of dynamic shared memory");
    while (at && at > text && isdigit((unsigned char)at[-1]))
        at--;
    return at && strtod(at, NULL) > SHARED_MOST;
}

enum atoll_error_class atoll_error_class_of(enum atoll_verdict verdict, const char *detail)
{
    char line[ATOLL_DETAIL_BYTES];
    const char *text = behind_quotation(detail ? detail : "");
    if (verdict != ATOLL_V_COMPILE_ERROR) {
        enum atoll_error_class class = find_class(verdict, text, 0);
        return class == ATOLL_ERROR_LAUNCH && asks_too_much(text) ? ATOLL_ERROR_RESOURCES : class;
    }
    size_t length = first_error(text, line, sizeof(line));
    enum atoll_error_class class = length ? find_class(verdict, line, 0) : ATOLL_ERROR_COMPILE;
    if (class == ATOLL_ERROR_COMPILE)
        class = find_class(verdict, text, length > 0);
    else if (class == ATOLL_ERROR_NAME && calls_unknown(detail, line))
        class = ATOLL_ERROR_FUNCTION;
    return class;
}

/* ---- figures ---- */

struct figure {
    enum atoll_limiter limiter;
    double share; /* % */
};

struct figures {
    struct figure of[16];
    size_t count;
};

static void add(struct figures *f, enum atoll_limiter limiter, double share)
{
    size_t at = f->count;
    if (!(share >= 0))
        return;
    for (; at > 0 && f->of[at - 1].share < share; at--)
        f->of[at] = f->of[at - 1];
    f->of[at] = (struct figure){limiter, share};
    f->count++;
}

static double counter(const struct atoll_diagnosis_facts *facts, enum atoll_counter which)
{
    return facts->profile ? facts->profile->counters[which] : (double)NAN;
}

/* Percent of the time in which multiprocessors moved data of shared memory; NaN unknown. */
static double shared_share(const struct atoll_diagnosis_facts *facts)
{
    if (!facts->device || !facts->profile)
        return NAN;
    const struct atoll_device_limits *l = &facts->device->limits;
    double clock = facts->profile->clock_hz > 0 ? facts->profile->clock_hz : l->clock_hz;
    double cycles = counter(facts, ATOLL_COUNTER_TIME_NS) * 1e-9 * clock * l->multiprocessors;
    return cycles > 0 ? 100 * counter(facts, ATOLL_COUNTER_SHARED_ACCESSES) / cycles : (double)NAN;
}

/* What the first level is busy with: caches and shared memory are one memory with one path. */
static enum atoll_limiter first_level(const struct atoll_diagnosis_facts *facts)
{
    double share = shared_share(facts), conflicts = counter(facts, ATOLL_COUNTER_BANK_CONFLICTS);
    double accesses = counter(facts, ATOLL_COUNTER_SHARED_ACCESSES);
    int is_shared = share > MOSTLY * counter(facts, ATOLL_COUNTER_L1_THROUGHPUT);
    if (isnan(share) && !isnan(accesses))
        is_shared = accesses > 0 && counter(facts, ATOLL_COUNTER_L1_HIT) < 20;
    else if (isnan(share) && facts->profile) /* a small set of counters: what the binary has more of */
        is_shared = facts->profile->resources.mix[ATOLL_MIX_SHARED] >
                    facts->profile->resources.mix[ATOLL_MIX_GLOBAL_LOAD];
    if (!is_shared)
        return ATOLL_LIMITER_L1;
    return conflicts > CONFLICTED * accesses ? ATOLL_LIMITER_BANK_CONFLICTS : ATOLL_LIMITER_SHARED;
}

/* Units that were counted; 0 when no memory or no pipe was, so that nothing can be said of the rest. */
static int count_units(const struct atoll_diagnosis_facts *facts, struct figures *f)
{
    static const struct {
        enum atoll_counter counter;
        enum atoll_limiter limiter;
    } pipes[] = {{ATOLL_COUNTER_TENSOR, ATOLL_LIMITER_TENSOR},
                 {ATOLL_COUNTER_FMA, ATOLL_LIMITER_FMA},
                 {ATOLL_COUNTER_ALU, ATOLL_LIMITER_ALU},
                 {ATOLL_COUNTER_FP64, ATOLL_LIMITER_FP64},
                 {ATOLL_COUNTER_XU, ATOLL_LIMITER_XU},
                 {ATOLL_COUNTER_LSU, ATOLL_LIMITER_LSU},
                 {ATOLL_COUNTER_ISSUE_ACTIVE, ATOLL_LIMITER_ISSUE}};
    f->count = 0;
    add(f, ATOLL_LIMITER_DRAM, counter(facts, ATOLL_COUNTER_DRAM_THROUGHPUT));
    add(f, ATOLL_LIMITER_L2, counter(facts, ATOLL_COUNTER_L2_THROUGHPUT));
    add(f, first_level(facts), counter(facts, ATOLL_COUNTER_L1_THROUGHPUT));
    size_t memories = f->count;
    for (size_t i = 0; i < sizeof(pipes) / sizeof(*pipes); i++)
        add(f, pipes[i].limiter, counter(facts, pipes[i].counter));
    return memories > 0 && f->count > memories;
}

/* 1 when no unit that was not counted can be the busiest: every level of memory and the issue slots were, and the pipes that
 * may be busier than these where the binary has instructions for them. */
static int counted_all(const struct atoll_diagnosis_facts *facts)
{
    static const enum atoll_counter all[] = {ATOLL_COUNTER_DRAM_THROUGHPUT, ATOLL_COUNTER_L2_THROUGHPUT,
                                             ATOLL_COUNTER_L1_THROUGHPUT, ATOLL_COUNTER_ISSUE_ACTIVE};
    static const struct {
        enum atoll_counter counter;
        enum atoll_mix mix;
    } pipes[] = {
        {ATOLL_COUNTER_FP64, ATOLL_MIX_FP64},         {ATOLL_COUNTER_XU, ATOLL_MIX_TRANSCENDENTAL},
        {ATOLL_COUNTER_TENSOR, ATOLL_MIX_TENSOR_F16}, {ATOLL_COUNTER_TENSOR, ATOLL_MIX_TENSOR_TF32},
        {ATOLL_COUNTER_TENSOR, ATOLL_MIX_TENSOR_F8},  {ATOLL_COUNTER_TENSOR, ATOLL_MIX_TENSOR_OTHER}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (isnan(counter(facts, all[i])))
            return 0;
    for (size_t i = 0; i < sizeof(pipes) / sizeof(*pipes); i++)
        if (isnan(counter(facts, pipes[i].counter)) && facts->profile->resources.mix[pipes[i].mix] > 0)
            return 0;
    return 1;
}

/* Whether the counted run was as long as the timed ones, which may have an empty launch around each kernel. */
static enum atoll_counted how_counted(const struct atoll_diagnosis_facts *facts)
{
    double counted = counter(facts, ATOLL_COUNTER_TIME_NS), timed = facts->time_ns, launches = 0;
    if (facts->device)
        launches = facts->device->empty_launch_ns * fmax(1, facts->profile->resources.kernel_count);
    if (!(timed > 0) || !(counted > 0))
        return ATOLL_COUNTED_TIMED;
    return counted > APART * timed              ? ATOLL_COUNTED_LONGER
           : timed - launches > APART * counted ? ATOLL_COUNTED_SHORTER
                                                : ATOLL_COUNTED_TIMED;
}

/* The other reason of a family, see enum atoll_stall; UNKNOWN, which waits for nothing: it has one. */
static const enum atoll_stall other_of_family[ATOLL_STALL_COUNT] = {
    [ATOLL_STALL_LONG_SCOREBOARD] = ATOLL_STALL_LG,
    [ATOLL_STALL_LG] = ATOLL_STALL_LONG_SCOREBOARD,
    [ATOLL_STALL_SHORT_SCOREBOARD] = ATOLL_STALL_MIO,
    [ATOLL_STALL_MIO] = ATOLL_STALL_SHORT_SCOREBOARD,
};

static double family_share(const double waits[ATOLL_STALL_COUNT], enum atoll_stall reason)
{
    return waits[reason] + waits[other_of_family[reason]];
}

/* The larger reason of the largest family beside one; UNKNOWN: all others are 0. */
static enum atoll_stall largest_family(const double waits[ATOLL_STALL_COUNT], enum atoll_stall beside)
{
    enum atoll_stall found = ATOLL_STALL_UNKNOWN;
    double most = 0;
    for (unsigned i = ATOLL_STALL_UNKNOWN + 1; i < ATOLL_STALL_COUNT; i++) {
        enum atoll_stall reason = (enum atoll_stall)i;
        double family = family_share(waits, reason);
        if (beside != ATOLL_STALL_UNKNOWN && (reason == beside || reason == other_of_family[beside]))
            continue;
        if (family > most || (family > 0 && family >= most && waits[i] > waits[found])) {
            most = family;
            found = reason;
        }
    }
    return found;
}

static const enum atoll_counter reasons[ATOLL_STALL_COUNT] = {
    [ATOLL_STALL_LONG_SCOREBOARD] = ATOLL_COUNTER_STALL_LONG_SCOREBOARD,
    [ATOLL_STALL_SHORT_SCOREBOARD] = ATOLL_COUNTER_STALL_SHORT_SCOREBOARD,
    [ATOLL_STALL_BARRIER] = ATOLL_COUNTER_STALL_BARRIER,
    [ATOLL_STALL_MIO] = ATOLL_COUNTER_STALL_MIO,
    [ATOLL_STALL_LG] = ATOLL_COUNTER_STALL_LG,
    [ATOLL_STALL_MATH] = ATOLL_COUNTER_STALL_MATH,
    [ATOLL_STALL_WAIT] = ATOLL_COUNTER_STALL_WAIT,
    [ATOLL_STALL_TENSOR] = ATOLL_COUNTER_STALL_TENSOR,
};

/* What was not counted waits for nothing.  0: that may be too little, for devices without wgmma alone lack a reason. */
static int read_waits(const struct atoll_profile *profile, double ret_waits[ATOLL_STALL_COUNT])
{
    int is_complete = 1;
    ret_waits[ATOLL_STALL_UNKNOWN] = 0;
    for (unsigned i = ATOLL_STALL_UNKNOWN + 1; i < ATOLL_STALL_COUNT; i++) {
        double value = profile ? profile->counters[reasons[i]] : (double)NAN;
        ret_waits[i] = isnan(value) ? 0 : value;
        is_complete &= !isnan(value) || i == ATOLL_STALL_TENSOR;
    }
    return is_complete;
}

/* Share of what a warp waits between two issues; the largest reason, where it is known to be that. */
static void find_stall(const struct atoll_diagnosis_facts *facts, struct atoll_diagnosis *d)
{
    double sum = 1, waits[ATOLL_STALL_COUNT]; /* 1: the warp that issues */
    int is_complete = read_waits(facts->profile, waits);
    double ready = counter(facts, ATOLL_COUNTER_STALL_NOT_SELECTED);
    for (unsigned i = ATOLL_STALL_UNKNOWN + 1; i < ATOLL_STALL_COUNT; i++)
        sum += waits[i];
    enum atoll_stall found = largest_family(waits, ATOLL_STALL_UNKNOWN);
    double most = family_share(waits, found);
    sum += ready > 0 ? ready : 0;
    /* With some of the reasons only: warps that there are for each that issues tell the sum. */
    double warps = 0;
    if (facts->device && facts->device->limits.warp_size)
        warps =
            (double)facts->device->limits.threads_per_multiprocessor / facts->device->limits.warp_size / 4;
    double all = warps * counter(facts, ATOLL_COUNTER_OCCUPANCY) / counter(facts, ATOLL_COUNTER_ISSUE_ACTIVE);
    if (!is_complete)
        sum = isfinite(all) && all > sum ? all : 0;
    if (found == ATOLL_STALL_UNKNOWN || !(sum > 0) || (!is_complete && most < MOSTLY * sum))
        return;
    d->stall = found;
    d->stall_share = 100 * most / sum;
}

void atoll_diagnosis_add_launch(struct atoll_diagnosis *d, const struct atoll_profile *profile,
                                const struct atoll_device_info *device)
{
    double waits[ATOLL_STALL_COUNT];
    int is_known = d->stall != ATOLL_STALL_UNKNOWN && (unsigned)d->stall < ATOLL_STALL_COUNT;
    if (is_known && read_waits(profile, waits) && family_share(waits, d->stall) > 0) {
        d->next_stall = largest_family(waits, d->stall);
        d->next_stall_share =
            d->stall_share * family_share(waits, d->next_stall) / family_share(waits, d->stall);
    }
    const struct atoll_resources *r = profile ? &profile->resources : NULL;
    uint64_t places = r && device ? (uint64_t)device->limits.multiprocessors * r->resident_blocks : 0;
    if (!places || places > UINT32_MAX || !r->blocks || r->kernel_count > 1)
        return;
    d->blocks = r->blocks;
    d->wave_blocks = (uint32_t)places;
}

/* Percent of the device's time in which an incomplete wave leaves multiprocessors idle; 0 none or unknown. */
static double idle_share(const struct atoll_diagnosis_facts *facts, const struct atoll_diagnosis *d)
{
    if (!d->wave_blocks)
        return 0;
    double waves = (double)d->blocks / d->wave_blocks;
    if (waves < 1) /* what a multiprocessor could hold beside its only block is occupancy, not a tail */
        waves = fmin(1, (double)d->blocks / facts->device->limits.multiprocessors);
    return 100 * (1 - waves / ceil(waves));
}

static double launch_share(const struct atoll_diagnosis_facts *facts)
{
    double empty = facts->device ? facts->device->empty_launch_ns : 0;
    return empty > 0 && facts->time_ns > 0 ? 100 * fmin(1, empty / facts->time_ns) : 0;
}

/* ---- work ---- */

/* The class of arithmetic that does most of the work: a tensor one when there is any. */
static enum atoll_mix unit_of(const struct atoll_diagnosis_facts *facts)
{
    static const enum atoll_mix tensors[] = {ATOLL_MIX_TENSOR_F16, ATOLL_MIX_TENSOR_TF32, ATOLL_MIX_TENSOR_F8,
                                             ATOLL_MIX_TENSOR_OTHER},
                                plain[] = {ATOLL_MIX_FP32, ATOLL_MIX_FP64, ATOLL_MIX_FP16};
    const uint32_t *mix = facts->profile ? facts->profile->resources.mix : NULL;
    enum atoll_mix unit = ATOLL_MIX_COUNT;
    uint32_t most = 0;
    for (size_t i = 0; mix && i < sizeof(tensors) / sizeof(*tensors); i++)
        if (mix[tensors[i]] > most)
            most = mix[unit = tensors[i]];
    for (size_t i = 0; mix && unit == ATOLL_MIX_COUNT && i < sizeof(plain) / sizeof(*plain); i++)
        if (mix[plain[i]] > most)
            most = mix[plain[i]], unit = plain[i];
    if (unit == ATOLL_MIX_COUNT && facts->device && !facts->device->limits.compute_capability)
        unit = facts->precisions >> ATOLL_F32 & 1   ? ATOLL_MIX_FP32
               : facts->precisions >> ATOLL_F64 & 1 ? ATOLL_MIX_FP64
                                                    : ATOLL_MIX_COUNT;
    return unit;
}

static double unit_peak(const struct atoll_device_info *device, enum atoll_mix unit)
{
    const double *plain = device->peak_flops, *tensor = device->limits.tensor_flops;
    switch (unit) {
    case ATOLL_MIX_FP32: return plain[ATOLL_F32];
    case ATOLL_MIX_FP64: return plain[ATOLL_F64];
    case ATOLL_MIX_FP16: return fmax(plain[ATOLL_F16], plain[ATOLL_BF16]);
    case ATOLL_MIX_TENSOR_F16: return fmax(tensor[ATOLL_F16], tensor[ATOLL_BF16]);
    case ATOLL_MIX_TENSOR_TF32: return tensor[ATOLL_DTYPE_COUNT];
    case ATOLL_MIX_TENSOR_F8: return fmax(tensor[ATOLL_F8E4M3], tensor[ATOLL_F8E5M2]);
    case ATOLL_MIX_TENSOR_OTHER: return fmax(tensor[ATOLL_F64], tensor[ATOLL_I8]);
    default: return 0;
    }
}

static enum atoll_limiter limiter_of_unit(enum atoll_mix unit)
{
    switch (unit) {
    case ATOLL_MIX_TENSOR_F16:
    case ATOLL_MIX_TENSOR_TF32:
    case ATOLL_MIX_TENSOR_F8:
    case ATOLL_MIX_TENSOR_OTHER: return ATOLL_LIMITER_TENSOR;
    case ATOLL_MIX_FP64: return ATOLL_LIMITER_FP64;
    default: return ATOLL_LIMITER_FMA;
    }
}

static int is_tensor(enum atoll_mix unit)
{
    return limiter_of_unit(unit) == ATOLL_LIMITER_TENSOR;
}

/* Percent; 0 where the rate is not known, or was beaten by more than a measurement is off by. */
static double share_of(double amount, double time_ns, double rate)
{
    double share = rate > 0 ? 100 * amount / (time_ns * 1e-9) / rate : 0;
    return share <= 100 * ATOLL_FLOOR_BEATEN_RATIO ? fmin(share, 100) : 0;
}

static void measure_work(const struct atoll_diagnosis_facts *facts, struct atoll_diagnosis *d)
{
    const struct atoll_work *w = &facts->work;
    double bytes = w->read_bytes + w->write_bytes, flops = w->flops + w->matrix_flops;
    double moved =
        counter(facts, ATOLL_COUNTER_DRAM_READ_BYTES) + counter(facts, ATOLL_COUNTER_DRAM_WRITE_BYTES);
    d->unit = unit_of(facts);
    if (moved > 0 && bytes > 0)
        d->traffic = bytes / moved;
    if (!(facts->time_ns > 0))
        return;
    d->flops_per_s = flops / (facts->time_ns * 1e-9);
    if (!facts->device)
        return;
    /* As of a floor (MEASUREMENT.md 4): writes may stay in the last-level cache, and a rate that is beaten is wrong. */
    double must_move = w->read_bytes + fmax(0, w->write_bytes - facts->device->last_level_cache_bytes);
    if (moved > must_move) /* counted: so much of them did not stay there */
        must_move = fmin(bytes, moved);
    d->memory_share = share_of(must_move, facts->time_ns, facts->device->bandwidth_bytes_per_s);
    d->unit_share = share_of(w->is_split && is_tensor(d->unit) ? w->matrix_flops : flops, facts->time_ns,
                             unit_peak(facts->device, d->unit));
}

/* Of a binary for a cpu: vectors are the exception in it. */
static int is_scalar(const uint32_t mix[ATOLL_MIX_COUNT])
{
    double arithmetic = (double)mix[ATOLL_MIX_FP32] + mix[ATOLL_MIX_FP64];
    return arithmetic > 0 && mix[ATOLL_MIX_SCALAR] >= SCALAR * arithmetic;
}

/* On cpu: of what arithmetic as wide as the binary's widest could do in the time; NaN unknown.  A binary of scalars without
 * fused multiply-adds issues as fast as it can when it does a small part of the peak. */
static double issue_share(const struct atoll_diagnosis_facts *facts, const struct atoll_diagnosis *d)
{
    const uint32_t *mix = facts->profile ? facts->profile->resources.mix : NULL;
    double element = d->unit == ATOLL_MIX_FP64 ? 8 : 4, offered, used;
    if (!mix || !facts->device || !(d->unit_share > 0) || !(mix[ATOLL_MIX_FP32] + mix[ATOLL_MIX_FP64]))
        return NAN;
    const char *target = facts->device->limits.target;
    offered = strcmp(target, "x86-64-v4") == 0 ? 64 : strcmp(target, "x86-64-v3") == 0 ? 32 : 0;
    used = is_scalar(mix)              ? element
           : mix[ATOLL_MIX_VECTOR_512] ? 64
           : mix[ATOLL_MIX_VECTOR_256] ? 32
           : mix[ATOLL_MIX_VECTOR_128] ? 16
                                       : element;
    double share = d->unit_share * offered / used * (mix[ATOLL_MIX_FUSED] ? 1 : 2);
    return share > 0 && share <= 100 * ATOLL_FLOOR_BEATEN_RATIO ? fmin(share, 100) : (double)NAN;
}

/* ---- limiters ---- */

static int is_unit(enum atoll_limiter limiter)
{
    return limiter >= ATOLL_LIMITER_DRAM && limiter <= ATOLL_LIMITER_ISSUE;
}

/* Beside a unit, only when no other can be between the two, or it is the busier one that the named one fills. */
static void name_next(struct atoll_diagnosis *d, const struct figures *f, int has_all)
{
    for (size_t i = 0; i < f->count && d->next == ATOLL_LIMITER_UNKNOWN; i++) {
        if (f->of[i].limiter != d->limiter &&
            (has_all || !is_unit(d->limiter) || f->of[i].share > d->figure)) {
            d->next = f->of[i].limiter;
            d->next_figure = f->of[i].share;
        }
    }
}

/* Which of the two that are busiest is meant where issue slots are: the FMA pipes, when these fill the slots.  A warp's
 * instruction takes a slot and a cycle of these pipes where a scheduler has 32 lanes, so that they are never busier. */
static size_t named_unit(const struct atoll_diagnosis_facts *facts, const struct figures *f)
{
    unsigned capability = facts->device ? facts->device->limits.compute_capability : 0;
    return capability >= 86 && f->count > 1 && f->of[0].limiter == ATOLL_LIMITER_ISSUE &&
           f->of[1].limiter == ATOLL_LIMITER_FMA && f->of[1].share > LIMITING &&
           f->of[1].share >= FILLED * f->of[0].share;
}

/* Percent of the binary's instructions that are on local memory. */
static double spill_share(const struct atoll_resources *r)
{
    double all = 0;
    for (unsigned i = 0; i <= ATOLL_MIX_OTHER; i++)
        all += r->mix[i];
    return all > 0 ? 100 * r->mix[ATOLL_MIX_LOCAL] / all : 0;
}

/* No unit is busy: what keeps them waiting.  has_all: no unit can be that was not counted; else only the shape of the launch
 * tells, which leaves all of them idle. */
static void find_waiting(const struct atoll_diagnosis_facts *facts, struct atoll_diagnosis *d, int has_all)
{
    const struct atoll_resources *r = &facts->profile->resources;
    double fits = 100 * r->occupancy, there = counter(facts, ATOLL_COUNTER_OCCUPANCY),
           idle = idle_share(facts, d), spills = spill_share(r);
    int is_global = d->stall == ATOLL_STALL_LONG_SCOREBOARD || d->stall == ATOLL_STALL_LG;
    int is_memory = d->stall == ATOLL_STALL_LONG_SCOREBOARD || d->stall == ATOLL_STALL_UNKNOWN;
    /* Products on tensor units live from few warps with deep pipelines. */
    int wants_warps = is_memory && (d->unit == ATOLL_MIX_COUNT || !is_tensor(d->unit));
    int has_few = fits > 0 && fits <= FEW_WARPS && wants_warps;
    if (idle >= IDLE) {
        d->limiter = ATOLL_LIMITER_TAIL;
        d->figure = idle;
    } else if (!has_all) {
        return;
    } else if (fits > 0 && there < WASTED * fits) { /* blocks are missing, or end unevenly */
        d->limiter = ATOLL_LIMITER_TAIL;
        d->figure = 100 * (1 - there / fits);
        d->occupancy_by = ATOLL_OCCUPANCY_BLOCKS;
    } else if (spills >= 100 * SPILLING && (is_global || d->stall == ATOLL_STALL_UNKNOWN)) {
        d->limiter = ATOLL_LIMITER_SPILLS;
        d->figure = spills;
    } else if (has_few && (d->stall == ATOLL_STALL_UNKNOWN || r->mix[ATOLL_MIX_ASYNC_COPY])) {
        d->limiter = ATOLL_LIMITER_OCCUPANCY;
        d->figure = fits;
        d->occupancy_by = r->occupancy_by;
    } else if (d->is_counted) { /* few warps hide waiting for loads, too, when these run ahead */
        d->limiter = ATOLL_LIMITER_LATENCY;
        d->figure = d->stall_share;
        d->occupancy_by = has_few ? r->occupancy_by : ATOLL_OCCUPANCY_UNKNOWN;
    }
}

/* ---- what is not used ---- */

static int allows(const struct atoll_diagnosis_facts *facts, enum atoll_dtype type)
{
    return facts->precisions >> type & 1;
}

static int allows_tensor(const struct atoll_diagnosis_facts *facts)
{
    static const unsigned char types[] = {ATOLL_F16, ATOLL_BF16, ATOLL_F8E4M3, ATOLL_F8E5M2,
                                          ATOLL_DTYPE_COUNT};
    for (size_t i = 0; i < sizeof(types); i++)
        if ((facts->precisions >> types[i] & 1) && facts->device->limits.tensor_flops[types[i]] > 0)
            return 1;
    return 0;
}

static uint32_t unused_by_device(const struct atoll_diagnosis_facts *facts, enum atoll_mix unit)
{
    const struct atoll_resources *r = &facts->profile->resources;
    const uint32_t *mix = r->mix;
    unsigned capability = facts->device->limits.compute_capability;
    double bytes = facts->work.read_bytes + facts->work.write_bytes;
    double per_byte = bytes > 0 ? (facts->work.flops + facts->work.matrix_flops) / bytes : 0;
    int has_tensor = unit != ATOLL_MIX_COUNT && is_tensor(unit),
        has_tiles = has_tensor || per_byte >= TILE_WORK;
    int is_hopper = capability >= 90 && capability < 100;
    uint32_t unused = 0;
    if (!has_tensor && per_byte >= TILE_WORK && allows_tensor(facts))
        unused |= BIT(TENSOR);
    if (has_tensor && (allows(facts, ATOLL_F8E4M3) || allows(facts, ATOLL_F8E5M2)) &&
        facts->device->limits.tensor_flops[ATOLL_F8E4M3] > 0 && !mix[ATOLL_MIX_TENSOR_F8]) {
        unused |= BIT(F8);
    }
    if (capability >= 80 && has_tiles && !mix[ATOLL_MIX_ASYNC_COPY])
        unused |= BIT(ASYNC_COPY);
    /* A record from before these were counted apart has no blocks; that no warp waited for wgmma says it, too. */
    int has_no_wgmma = r->blocks ? !mix[ATOLL_MIX_WARPGROUP]
                                 : !(counter(facts, ATOLL_COUNTER_STALL_TENSOR) > 0) &&
                                       !isnan(counter(facts, ATOLL_COUNTER_STALL_TENSOR));
    if (is_hopper && has_tensor && unit != ATOLL_MIX_TENSOR_OTHER && has_no_wgmma)
        unused |= BIT(WARPGROUP);
    if (!r->blocks)
        return unused;
    if (capability >= 90 && has_tiles && !mix[ATOLL_MIX_BULK_COPY])
        unused |= BIT(BULK_COPY);
    if (facts->device->limits.cluster_blocks > 1 && mix[ATOLL_MIX_BULK_COPY] && has_tensor &&
        r->cluster_blocks < 2)
        unused |= BIT(CLUSTER);
    if (mix[ATOLL_MIX_GLOBAL_LOAD] && !mix[ATOLL_MIX_WIDE_ACCESS] && !mix[ATOLL_MIX_ASYNC_COPY])
        unused |= BIT(WIDE_ACCESS);
    return unused;
}

/* On cpu the target is the processor's level of x86-64. */
static uint32_t unused_by_processor(const struct atoll_diagnosis_facts *facts,
                                    const struct atoll_diagnosis *d)
{
    const uint32_t *mix = facts->profile->resources.mix;
    const char *target = facts->device->limits.target;
    int has_512 = strcmp(target, "x86-64-v4") == 0, has_256 = has_512 || strcmp(target, "x86-64-v3") == 0;
    double bytes = facts->work.read_bytes + facts->work.write_bytes,
           flops = facts->work.flops + facts->work.matrix_flops;
    uint32_t unused = 0;
    if (has_256 && !mix[ATOLL_MIX_VECTOR_256] && !mix[ATOLL_MIX_VECTOR_512])
        unused |= BIT(AVX2);
    if (has_512 && !mix[ATOLL_MIX_VECTOR_512])
        unused |= BIT(AVX512);
    if (has_256 && !mix[ATOLL_MIX_FUSED] && flops > bytes) /* sums alone multiply nothing */
        unused |= BIT(FUSED);
    if (has_256 && !unused && is_scalar(mix) && d->unit_share < FAR && d->memory_share < FAR)
        unused |= BIT(VECTORS);
    return unused;
}

/* ---- together ---- */

static void find_limiter(const struct atoll_diagnosis_facts *facts, struct atoll_diagnosis *d)
{
    struct figures f;
    double launch = launch_share(facts);
    int is_whole = count_units(facts, &f), has_all = facts->profile && counted_all(facts);
    if (f.count) {
        d->is_counted = how_counted(facts);
    } else {
        is_whole = has_all = 1; /* as far as an estimate goes */
        add(&f, ATOLL_LIMITER_DRAM, d->memory_share > 0 ? d->memory_share : (double)NAN);
        add(&f, limiter_of_unit(d->unit), d->unit_share > 0 ? d->unit_share : (double)NAN);
        add(&f, ATOLL_LIMITER_ISSUE,
            issue_share(facts, d) > d->unit_share ? issue_share(facts, d) : (double)NAN);
    }
    double most = f.count ? f.of[0].share : 0;
    if (launch >= LAUNCH_SHARE && launch >= most) {
        d->limiter = ATOLL_LIMITER_LAUNCH;
        d->figure = launch;
    } else if (most > LIMITING ||
               (most > AT_LEAST && !d->is_counted && f.of[0].limiter != ATOLL_LIMITER_ISSUE)) {
        size_t named = named_unit(facts, &f);
        d->limiter = f.of[named].limiter;
        d->figure = f.of[named].share;
    } else if (facts->profile && is_whole) {
        find_waiting(facts, d, has_all);
    }
    name_next(d, &f, has_all);
}

void atoll_diagnose(const struct atoll_diagnosis_facts *facts, struct atoll_diagnosis *ret)
{
    struct atoll_diagnosis d = {.unit = ATOLL_MIX_COUNT};
    d.error = atoll_error_class_of(facts->verdict, facts->detail);
    if (facts->verdict == ATOLL_V_CORRECT) {
        int has_binary = facts->profile && facts->profile->resources.kernel_count && facts->device;
        measure_work(facts, &d);
        find_stall(facts, &d);
        atoll_diagnosis_add_launch(&d, facts->profile, facts->device);
        find_limiter(facts, &d);
        if (has_binary)
            d.unused = facts->device->limits.compute_capability ? unused_by_device(facts, d.unit)
                                                                : unused_by_processor(facts, &d);
    }
    *ret = d;
}

void atoll_diagnose_evaluation(const struct atoll_evaluation *e, const struct atoll_task *task,
                               const struct atoll_device_info *device, struct atoll_diagnosis *ret)
{
    struct atoll_diagnosis_facts facts = {
        .verdict = e->verdict, .detail = e->detail, .profile = &e->profile, .device = device};
    if (e->timing_count) {
        const struct atoll_timing *first = &e->timings[0];
        facts.time_ns = first->summary.median;
        if (task && first->variant < task->variant_count &&
            atoll_task_work(task, &task->variants[first->variant], &facts.work, NULL) != 0) {
            memset(&facts.work, 0, sizeof(facts.work));
        }
    }
    facts.precisions = task ? task->precisions : 0;
    atoll_diagnose(&facts, ret);
}
