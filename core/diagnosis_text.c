/* diagnosis_text.c - a diagnosis in words.  Every text is one of these tables and numbers: nothing that a candidate or a compiler
 * wrote comes into it. */
#include "core/diagnosis.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/units.h"

#define FULL 80.0 /* % of a peak: what is above it limits, what is below is only the busiest */
#define TOLD 15.0 /* % of a warp's time that a reason to wait has, to be told */
#define NEXT 5.0  /* the same of the reason next to it */
#define UNEVEN                                                                                               \
    10.0 /* % of the device's time that a last wave leaves idle, to be told of a kernel that it does not limit */
#define THERE  0.5 /* % below which a figure is not worth a word */
#define WASTES 0.8 /* bytes that have to be moved over those that are: below it, traffic is told */

static const struct {
    const char *name, *what, *advice;
} errors[ATOLL_ERROR_COUNT] = {
    [ATOLL_ERROR_NONE] = {"none", "", ""},
    [ATOLL_ERROR_ANSWER] = {"no_kernel", "no kernel was found in the answer",
                            "Write a whole kernel in the form that is asked for."},
    [ATOLL_ERROR_PLAN_SYNTAX] =
        {"plan_syntax", "the launch plan is not valid JSON",
         "Check quotes, commas and braces of the plan's comment, and write no comments "
         "inside of it."},
    [ATOLL_ERROR_PLAN_CHOICE] = {"plan_choice",
                                 "the default combination of params breaks the plan's own require",
                                 "The first value of every param is the default combination: it has to meet "
                                 "all of require."},
    [ATOLL_ERROR_PLAN_PATH] =
        {"plan_path", "a path's condition fits next to nothing but a timed shape, so it cannot be checked",
         "Say what the path's code needs of the dims, not which shape it is for."},
    [ATOLL_ERROR_PLAN] = {"plan", "the launch plan was refused before anything was compiled",
                          "Repair the field that the message names; the form is in the plan's description."},
    [ATOLL_ERROR_INCLUDE] =
        {"include", "a header is included that is not on the list",
         "Include only the headers on the list, in angle brackets; copy what else is needed "
         "into the source."},
    [ATOLL_ERROR_PRECISION_RULE] = {"precision_rule",
                                    "the binary computes less exactly than the task's precisions allow",
                                    "Use the arithmetic that the task allows: no half, bf16 or tf32 "
                                    "instructions beyond it."},
    [ATOLL_ERROR_RULE] = {"forbidden", "a static rule refused the source",
                          "Keep the idea and write it without the construct that the message names."},
    [ATOLL_ERROR_NAME] =
        {"unknown_name", "it does not compile: a name, type or member is not known",
         "Include its header if it is on the list, define it, or pass it as an argument. Only "
         "params are macros; dims and tensors are known to the plan alone."},
    [ATOLL_ERROR_FUNCTION] = {"unknown_function", "it does not compile: a function is not declared",
                              "Include its header if it is on the list, or write it."},
    [ATOLL_ERROR_ARGUMENTS] = {"arguments",
                               "it does not compile: a function is called with other arguments than it has",
                               "The plan's args and the function's parameters must agree: same number, same "
                               "order, same types, behind unit_begin and unit_end where the language is c."},
    [ATOLL_ERROR_TYPE] = {"type", "it does not compile: types or shapes do not fit",
                          "Convert explicitly; vector types need operands of one type in every operator, ?: "
                          "included."},
    [ATOLL_ERROR_SYNTAX] = {"syntax", "it does not compile: the text breaks the language's grammar",
                            "Look at the line that the first error names and at the one before it."},
    [ATOLL_ERROR_INSTRUCTION_SET] =
        {"instruction_set", "it does not compile: it needs instructions that the target does not have",
         "Guard intrinsics by #ifdef, or use the compiler's vector types; on a GPU "
         "use what its compute capability has."},
    [ATOLL_ERROR_INTERFACE] = {"interface", "the plan's call and the source's function do not agree",
                               "The plan's function or kernel, its args and the source's signature must have "
                               "the same name, number, order and types."},
    [ATOLL_ERROR_STATE] = {"state", "it keeps state: global or static variables that can be written",
                           "Keep state in arguments, locals and the plan's scratch."},
    [ATOLL_ERROR_CONSTEXPR] =
        {"constexpr", "it does not compile: a shape or value has to be a constant, or a power of two",
         "Pass it as a param (tl.constexpr), and round shapes of tl.arange and blocks up to "
         "powers of two with a mask."},
    [ATOLL_ERROR_RESOURCES] = {"resources",
                               "it asks for more threads, registers or shared memory than there are",
                               "Smaller tiles, fewer stages, fewer threads, or __launch_bounds__."},
    [ATOLL_ERROR_ASSEMBLY] = {"assembly", "it does not compile: the assembler refuses inline assembly",
                              "Check the instruction's name, modifiers, operand types and the target that it "
                              "needs."},
    [ATOLL_ERROR_COMPILE_TIME] = {"compile_time", "the compiler did not end within its time and memory",
                                  "Unroll less, and instantiate fewer templates."},
    [ATOLL_ERROR_COMPILE] = {"compile", "it does not compile",
                             "Repair the first error first; later ones often follow from it."},
    [ATOLL_ERROR_LAUNCH] =
        {"launch", "it compiles, but could not be launched",
         "Compare grid, block, shared_bytes and arguments with the device's limits and with "
         "every listed shape, the small ones too."},
    [ATOLL_ERROR_FAULT] =
        {"memory_fault", "it accessed memory that is not its own",
         "Check every index at the smallest shapes and at the last, partial tile; check the "
         "size of scratch and the alignment that vector accesses assume."},
    [ATOLL_ERROR_TIMEOUT] =
        {"timeout", "it did not finish",
         "Look for a loop that never ends at small shapes, a barrier that not all threads "
         "reach, waiting for another block or unit, or far too much work in one place."},
    [ATOLL_ERROR_BOUNDS] = {"out_of_bounds", "it wrote beyond a tensor",
                            "Guard the stores of the last, partial tile."},
    [ATOLL_ERROR_INPUT] = {"input_changed", "it wrote to an input",
                           "Inputs are read-only; use scratch for what has to be changed."},
    [ATOLL_ERROR_UNWRITTEN] = {"unwritten", "elements of the output were never written",
                               "Check that units or grid cover every element at every shape, and the "
                               "remainder of every loop."},
    [ATOLL_ERROR_TAIL] =
        {"tail", "the end of the data is wrong",
         "Handle extents that are no multiple of the tile or vector: finish them by a scalar "
         "loop or a mask."},
    [ATOLL_ERROR_TRANSPOSED] = {"transposed", "rows and columns are exchanged",
                                "Check strides and the order of indices."},
    [ATOLL_ERROR_MISPLACED] = {"misplaced", "results stand at wrong places",
                               "Check the arithmetic of offsets."},
    [ATOLL_ERROR_SCALE] = {"scale", "all results are off by one factor", "Check scales and divisors."},
    [ATOLL_ERROR_OFFSET] = {"offset", "all results are off by one constant", "Check initial values of sums."},
    [ATOLL_ERROR_NOT_FINITE] =
        {"not_finite", "there is NaN or Inf where the reference is finite",
         "Check empty ranges, division by zero, overflow of exp (subtract the maximum), "
         "and uninitialised scratch."},
    [ATOLL_ERROR_PRECISION] =
        {"precision", "the results are nearly right, and not exact enough",
         "Accumulate in wider types or in several partial sums, use a longer polynomial, "
         "or a more exact function."},
    [ATOLL_ERROR_RACE] = {"race", "few scattered elements are wrong, which is typical of a race",
                          "Put a barrier between writing and reading shared data, let no two units write the "
                          "same element, and remember that launches alone are ordered."},
    [ATOLL_ERROR_WRONG] =
        {"wrong", "the output is wrong, in values or in indices",
         "Follow the worst element that the message names through the code, at that shape."},
    [ATOLL_ERROR_UNSTABLE] = {"unstable", "it was correct, but the device was too disturbed to time it",
                              "Nothing in the kernel needs to change for that."},
    [ATOLL_ERROR_IMPOSSIBLE] =
        {"impossible", "it was faster than the hardware can move the data, so it does not do the work",
         "Compute every output from the inputs, in every call."},
    [ATOLL_ERROR_INFRASTRUCTURE] = {"infrastructure",
                                    "the measurement failed for reasons outside of the kernel", ""},
    [ATOLL_ERROR_SEGMENT] =
        {"segmentation_fault", "it accessed memory that is not its own, or a vector that is not aligned",
         "Check every index at the smallest shapes and at the last, partial tile, the size of scratch, "
         "and that vector types which are loaded from tensors do not assume more alignment than these have."},
    [ATOLL_ERROR_MISALIGNED] =
        {"misaligned", "it accessed memory at an address that is not a multiple of the access's size",
         "Vector accesses need aligned addresses at every shape: check offsets of rows and tiles against the "
         "width, and use single elements where an extent is no multiple of it."},
    [ATOLL_ERROR_SYSTEM_CALL] = {"system_call", "it called the operating system, which is forbidden",
                                 "Compute only: no files, threads, timers, printing or allocation; memory "
                                 "comes from arguments, locals and the plan's scratch."},
    [ATOLL_ERROR_ILLEGAL] =
        {"illegal_instruction", "it ran into a trap, or an instruction that the device does not have",
         "Look for traps and __builtin_unreachable that are reached, paths without a return, and intrinsics "
         "beyond the target."},
    [ATOLL_ERROR_DIVISION] =
        {"division", "an integer division failed: by zero, or of the least number by -1",
         "Check divisors and remainders at the smallest shapes: extents smaller than a tile give 0 blocks."},
    [ATOLL_ERROR_EXIT] = {"exit", "it ended its process instead of returning",
                          "Call neither exit nor abort, and nothing that does."},
    [ATOLL_ERROR_CRASH] = {"crash", "it crashed",
                           "Check every index, alignment and the use of the stack at the smallest shapes."},
};

/* what: of a unit, as the subject of a sentence. */
static const struct {
    const char *what, *advice;
} limiters[ATOLL_LIMITER_COUNT] = {
    [ATOLL_LIMITER_UNKNOWN] =
        {"", "Work out from useful operations and bytes and the device's peaks which of the two "
             "should limit it, and what in the kernel keeps it away from there."},
    [ATOLL_LIMITER_LATENCY] = {"waiting", ""}, /* see waits */
    [ATOLL_LIMITER_LAUNCH] = {"the launch",
                              "Use fewer launches and less set-up; there is little else to gain."},
    [ATOLL_LIMITER_DRAM] = {"device memory",
                            "Only moving fewer bytes helps: fuse passes, keep what is used again "
                            "in registers or near memory, read each input once, write each "
                            "output once."},
    [ATOLL_LIMITER_L2] =
        {"the L2 cache",
         "Let each block reuse more of what it loads: larger tiles, clusters that share loads, an "
         "order of blocks in which neighbours run together, 128-bit or bulk accesses."},
    [ATOLL_LIMITER_L1] = {"the L1 cache",
                          "Ask it less often: coalesced and 128-bit accesses, values kept in registers, "
                          "tiles in shared memory where several threads use them."},
    [ATOLL_LIMITER_SHARED] =
        {"shared memory", "Load fewer bytes per operation from it: larger register tiles, ldmatrix or wgmma "
                          "that reads it itself, 128-bit accesses, shuffles."},
    [ATOLL_LIMITER_BANK_CONFLICTS] = {"shared memory with its bank conflicts",
                                      "Pad rows or swizzle addresses so that the threads of a warp fall on "
                                      "different banks."},
    [ATOLL_LIMITER_TENSOR] = {"the tensor pipes",
                              "Little is left but arithmetic of a lower precision where it is allowed, or "
                              "skipping work."},
    [ATOLL_LIMITER_FMA] = {"the FMA pipes", "Do less arithmetic per element, or use tensor units where the "
                                            "precisions allow them."},
    [ATOLL_LIMITER_ALU] =
        {"the integer pipes",
         "Less index arithmetic: hoist it, strength-reduce it, use wider accesses and unroll."},
    [ATOLL_LIMITER_FP64] = {"the fp64 pipes",
                            "Avoid double precision where the tolerance does not need it: check "
                            "that no constant lacks its f."},
    [ATOLL_LIMITER_XU] =
        {"the transcendental pipes",
         "Fewer exp, log, sqrt and divisions: exp2 with folded scales, reciprocals, polynomials."},
    [ATOLL_LIMITER_LSU] =
        {"the load and store pipes",
         "Fewer and wider accesses: 128 bits per thread, bulk copies, values kept in registers."},
    [ATOLL_LIMITER_ISSUE] = {"instruction issue",
                             "Fewer instructions for the same work: wider vectors, unrolling, less index "
                             "arithmetic, matrix instructions where the precisions allow them."},
    [ATOLL_LIMITER_OCCUPANCY] = {"occupancy",
                                 "Let more warps fit, or give each more independent work in flight."},
    [ATOLL_LIMITER_SPILLS] =
        {"spills",
         "Let a thread hold less: smaller tiles, fewer accumulators, less unrolling, no arrays with "
         "variable indices; or allow more registers by smaller blocks or __launch_bounds__."},
    [ATOLL_LIMITER_TAIL] = {"its grid",
                            "More, smaller or evener blocks, a grid that fills whole waves, split "
                            "reductions, or blocks that stay and take tiles in turn."},
};

static const struct {
    const char *name, *what, *advice;
} waits[ATOLL_STALL_COUNT] = {
    [ATOLL_STALL_UNKNOWN] = {"unknown", "something that was not counted",
                             "Keep more work in flight: several independent accumulators, more outputs per "
                             "thread, prefetching, fewer barriers."},
    [ATOLL_STALL_LONG_SCOREBOARD] =
        {"long_scoreboard", "device memory or L2",
         "Load earlier: asynchronous copies with more stages, prefetching, several "
         "independent loads per thread."},
    [ATOLL_STALL_SHORT_SCOREBOARD] =
        {"short_scoreboard", "shared memory or special functions",
         "Load from shared memory earlier and wider, with double-buffered registers; "
         "fewer special functions and shuffles in a chain."},
    [ATOLL_STALL_BARRIER] = {"barrier", "barriers",
                             "Fewer barriers, more stages between them, or blocks that wait for each other's "
                             "work alone (mbarrier, warp-specialised roles)."},
    [ATOLL_STALL_MIO] = {"mio", "shared memory or special functions, most of it in the queue before them",
                         "Fewer and wider instructions on shared memory; more arithmetic per load."},
    [ATOLL_STALL_LG] =
        {"lg", "global or local memory, most of it in the queue before it",
         "Fewer, coalesced and wider accesses, and no spills: each thread asks too often for too "
         "little."},
    [ATOLL_STALL_MATH] = {"math", "an arithmetic pipe",
                          "Balance the mix of instructions: the same pipe is wanted by all warps at once."},
    [ATOLL_STALL_WAIT] = {"wait", "results of their own last instructions",
                          "More independent instructions per thread: unroll, several accumulators."},
    [ATOLL_STALL_TENSOR] =
        {"tensor", "the tensor pipes",
         "Keep several wgmma in flight, and let loads and epilogues of other warps overlap "
         "them."},
};

static const struct {
    const char *name, *what;
} offers[ATOLL_UNUSED_COUNT] = {
    [ATOLL_UNUSED_TENSOR] = {"tensor", "tensor units at a precision that is allowed"},
    [ATOLL_UNUSED_WARPGROUP] = {"wgmma", "wgmma (it uses mma.sync)"},
    [ATOLL_UNUSED_BULK_COPY] = {"bulk_copy", "bulk copies (TMA)"},
    [ATOLL_UNUSED_ASYNC_COPY] = {"async_copy", "asynchronous copies"},
    [ATOLL_UNUSED_CLUSTER] = {"cluster", "clusters that share loads"},
    [ATOLL_UNUSED_F8] = {"f8", "f8 tensor instructions"},
    [ATOLL_UNUSED_WIDE_ACCESS] = {"wide_access", "128-bit accesses"},
    [ATOLL_UNUSED_AVX512] = {"avx512", "AVX-512"},
    [ATOLL_UNUSED_AVX2] = {"avx2", "vectors of 256 bits"},
    [ATOLL_UNUSED_FUSED] = {"fma", "fused multiply-add"},
    [ATOLL_UNUSED_VECTORS] = {"vectors", "vectors for most of its arithmetic, which is scalar"},
};

const char *atoll_error_class_name(enum atoll_error_class error)
{
    return (unsigned)error < ATOLL_ERROR_COUNT ? errors[error].name : "unknown";
}

const char *atoll_stall_name(enum atoll_stall stall)
{
    return (unsigned)stall < ATOLL_STALL_COUNT ? waits[stall].name : "unknown";
}

const char *atoll_unused_name(enum atoll_unused unused)
{
    return (unsigned)unused < ATOLL_UNUSED_COUNT ? offers[unused].name : "unknown";
}

/* ---- sentences ---- */

struct writer {
    char *text;
    size_t bytes, used;
};

static void put(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *w, const char *format, ...)
{
    va_list list;
    if (w->used + 1 >= w->bytes)
        return;
    va_start(list, format);
    int n = vsnprintf(w->text + w->used, w->bytes - w->used, format, list);
    va_end(list);
    if (n > 0)
        w->used += (size_t)n < w->bytes - w->used ? (size_t)n : w->bytes - w->used - 1;
}

static int is_unit(enum atoll_limiter limiter)
{
    return limiter >= ATOLL_LIMITER_DRAM && limiter <= ATOLL_LIMITER_ISSUE;
}

static void put_wait(struct writer *w, const struct atoll_diagnosis *d, char before)
{
    if (d->stall != ATOLL_STALL_UNKNOWN && d->stall_share >= TOLD)
        put(w, "%c warps wait most for %s (%.0f %% of their time)", before, waits[d->stall].what,
            d->stall_share);
    if (d->stall != ATOLL_STALL_UNKNOWN && d->stall_share >= TOLD && d->next_stall != ATOLL_STALL_UNKNOWN &&
        d->next_stall_share >= NEXT)
        put(w, ", next for %s (%.0f %%)", waits[d->next_stall].what, d->next_stall_share);
}

/* How many times the device is filled by its blocks, and how far the last time; nothing where that is not known, or the last is
 * as good as full. */
static void put_waves(struct writer *w, const struct atoll_diagnosis *d)
{
    uint32_t rest = d->wave_blocks ? d->blocks % d->wave_blocks : 0;
    double waves = d->wave_blocks ? (double)d->blocks / d->wave_blocks : 0;
    int is_grid = d->limiter == ATOLL_LIMITER_TAIL;
    if (!d->wave_blocks || (!is_grid && (waves < 1 || 100 * (1 - waves / ceil(waves)) < UNEVEN)))
        return;
    put(w, " Its %u blocks are %.3g waves of the %u that the device holds at once", d->blocks, waves,
        d->wave_blocks);
    if (waves > 1 && rest)
        put(w, "; the last is %.0f %% full", 100.0 * rest / d->wave_blocks);
    put(w, ".");
}

/* "no unit is above 41 % of its peak (the FMA pipes)" */
static void put_busiest(struct writer *w, const struct atoll_diagnosis *d)
{
    /* of a grid the shape of the launch tells, whatever was counted */
    if (d->next != ATOLL_LIMITER_UNKNOWN && d->is_counted)
        put(w, "; no %sunit is above %.0f %% of its peak (%s)",
            d->limiter == ATOLL_LIMITER_TAIL ? "counted " : "", d->next_figure, limiters[d->next].what);
}

/* As printed: what reads 80 % is treated alike. */
static int is_full(double figure)
{
    return round(figure) >= FULL;
}

static const char *its(enum atoll_limiter pipes)
{
    return pipes >= ATOLL_LIMITER_TENSOR && pipes <= ATOLL_LIMITER_LSU ? "their" : "its";
}

static void put_unit(struct writer *w, const struct atoll_diagnosis *d)
{
    const char *what = limiters[d->limiter].what;
    int fills =
        d->limiter == ATOLL_LIMITER_FMA && d->next == ATOLL_LIMITER_ISSUE && d->next_figure > d->figure;
    int full = is_full(d->figure) || (fills && is_full(d->next_figure));
    if (full)
        put(w, "Limited by %s, at %.0f %% of %s peak", what, d->figure, its(d->limiter));
    else
        put(w, "The busiest %sunit is %s, at %.0f %% of %s peak%s",
            d->is_counted && d->next == ATOLL_LIMITER_UNKNOWN ? "counted " : "", what, d->figure,
            its(d->limiter), d->is_counted ? " and not full" : " at least");
    if (fills)
        put(w, "; %.0f %% of what is issued is for them, and instruction issue is at %.0f %%",
            100 * d->figure / d->next_figure, d->next_figure);
    else if (d->next != ATOLL_LIMITER_UNKNOWN)
        put(w, "; next is %s at %.0f %%", limiters[d->next].what, d->next_figure);
    if (!full || d->limiter == ATOLL_LIMITER_L1 || d->limiter == ATOLL_LIMITER_L2)
        put_wait(w, d, ';');
}

/* What is known of a kernel of which neither counters nor estimates name a limiter. */
static void put_roofs(struct writer *w, const struct atoll_diagnosis *d)
{
    put(w,
        ": bytes that have to be moved take %.2g %% of the measured bandwidth, useful operations %.2g %% of "
        "the peak",
        d->memory_share, d->unit_share);
    if (d->next == ATOLL_LIMITER_ISSUE)
        put(w, " and %.0f %% of what instructions as narrow as its own reach", d->next_figure);
    put(w, "; the rest is waste or waiting");
}

/* 1 when it wrote who leaves no more room. */
static int put_room(struct writer *w, enum atoll_occupancy_limit by)
{
    if (by == ATOLL_OCCUPANCY_REGISTERS)
        put(w, "registers leave room for ");
    else if (by == ATOLL_OCCUPANCY_SHARED)
        put(w, "shared memory leaves room for ");
    return by == ATOLL_OCCUPANCY_REGISTERS || by == ATOLL_OCCUPANCY_SHARED;
}

static void put_limiter(struct writer *w, const struct atoll_diagnosis *d)
{
    if (is_unit(d->limiter)) {
        put_unit(w, d);
    } else if (d->limiter == ATOLL_LIMITER_LATENCY) {
        put(w, "Limited by latency");
        put_wait(w, d, ':');
        if (d->occupancy_by != ATOLL_OCCUPANCY_UNKNOWN) {
            put(w, "; nothing is copied asynchronously, and ");
            put(w, put_room(w, d->occupancy_by) ? "few warps" : "few warps fit");
            put(w, ", which cannot hide it");
        }
        put_busiest(w, d);
    } else if (d->limiter == ATOLL_LIMITER_LAUNCH) {
        put(w, "Limited by the launch: an empty one alone takes %.0f %% of its time", d->figure);
        if (d->next != ATOLL_LIMITER_UNKNOWN && d->next_figure >= 1)
            put(w, "; behind it %s is the busiest, at %.0f %% of %s peak", limiters[d->next].what,
                d->next_figure, its(d->next));
    } else if (d->limiter == ATOLL_LIMITER_OCCUPANCY) {
        put(w, "Limited by occupancy: ");
        put_room(w, d->occupancy_by);
        put(w, "%.0f %% of a multiprocessor's warps, too few to hide waiting for memory", d->figure);
        put_busiest(w, d);
    } else if (d->limiter == ATOLL_LIMITER_TAIL) {
        if (d->occupancy_by == ATOLL_OCCUPANCY_BLOCKS)
            put(w, "Limited by its grid: too few or uneven blocks; of the warps that fit %.0f %% are missing",
                d->figure);
        else
            put(w, "Limited by its grid: too few or uneven blocks leave the device idle %.0f %% of the time",
                d->figure);
        put_busiest(w, d);
    } else if (d->limiter == ATOLL_LIMITER_SPILLS) {
        put(w,
            "Limited by spills: %.0f %% of its instructions access local memory, which holds registers that "
            "did not fit and arrays with variable indices",
            d->figure);
        put_busiest(w, d);
    } else {
        put(w, "What limits it is not known");
        if (d->next != ATOLL_LIMITER_UNKNOWN && d->is_counted)
            put(w, ": of what was counted %s is the busiest, at %.0f %% of its peak", limiters[d->next].what,
                d->next_figure);
    }
    if (!d->is_counted) {
        put(w, d->limiter == ATOLL_LIMITER_SPILLS ? " (read from the binary, without counters"
                                                  : " (estimated from time, without counters");
        if (d->limiter == ATOLL_LIMITER_UNKNOWN && (d->memory_share > 0 || d->unit_share > 0))
            put_roofs(w, d);
        put(w, ")");
    } else if (d->is_counted == ATOLL_COUNTED_SHORTER) {
        put(w, "; counted in a run that took over 10 %% less time than the timed ones, in which these "
               "figures are lower");
    } else if (d->is_counted == ATOLL_COUNTED_LONGER) {
        put(w, "; counted in a run that took over 10 %% more time than the timed ones, in which these "
               "figures are higher");
    }
    put(w, ".");
}

static void put_work(struct writer *w, const struct atoll_diagnosis *d)
{
    char rate[32];
    if (d->traffic > 0 && d->traffic < WASTES)
        put(w, " Device memory moves %.3g times the bytes that have to be moved.", 1 / d->traffic);
    if (d->limiter == ATOLL_LIMITER_DRAM && d->is_counted && d->memory_share >= THERE)
        put(w, " Bytes that have to be moved take %.0f %% of the measured bandwidth.", d->memory_share);
    if (!(d->flops_per_s > 0) || d->unit_share < THERE)
        return;
    put(w, " It does %sFLOP/s of useful work", atoll_count_text(d->flops_per_s, rate, sizeof(rate)));
    if (d->unit != ATOLL_MIX_COUNT)
        put(w, ", %.0f %% of the measured peak of %s arithmetic", d->unit_share, atoll_mix_name(d->unit));
    put(w, ".");
}

static void put_unused(struct writer *w, const struct atoll_diagnosis *d)
{
    int any = 0;
    for (unsigned i = 0; i < ATOLL_UNUSED_COUNT; i++) {
        if (d->unused >> i & 1) {
            put(w, "%s%s", any ? ", " : " Offered by the device and not used: ", offers[i].what);
            any = 1;
        }
    }
    put(w, any ? "." : "");
}

static int is_sound(const struct atoll_diagnosis *d)
{
    return (unsigned)d->error < ATOLL_ERROR_COUNT && (unsigned)d->limiter < ATOLL_LIMITER_COUNT &&
           (unsigned)d->next < ATOLL_LIMITER_COUNT && (unsigned)d->stall < ATOLL_STALL_COUNT &&
           (unsigned)d->next_stall < ATOLL_STALL_COUNT;
}

const char *atoll_diagnosis_text(const struct atoll_diagnosis *d, char *ret_text, size_t bytes)
{
    struct writer w = {ret_text, bytes, 0};
    if (bytes)
        ret_text[0] = '\0';
    if (!is_sound(d))
        return ret_text;
    if (d->error != ATOLL_ERROR_NONE) {
        put(&w, "Not usable: %s.", errors[d->error].what);
    } else {
        put_limiter(&w, d);
        put_waves(&w, d);
        put_work(&w, d);
        put_unused(&w, d);
    }
    return ret_text;
}

const char *atoll_diagnosis_label(const struct atoll_diagnosis *d, char *ret_text, size_t bytes)
{
    struct writer w = {ret_text, bytes, 0};
    if (bytes)
        ret_text[0] = '\0';
    if (!is_sound(d))
        return ret_text;
    if (d->error != ATOLL_ERROR_NONE)
        put(&w, "%s", errors[d->error].name);
    else if (d->limiter != ATOLL_LIMITER_UNKNOWN)
        put(&w, d->figure > 0 ? "%s%s %.0f %%" : "%s%s", d->is_counted ? "" : "~",
            atoll_limiter_name(d->limiter), d->figure);
    return ret_text;
}

const char *atoll_diagnosis_advice(const struct atoll_diagnosis *d)
{
    const char *advice = "";
    if (!is_sound(d))
        return "";
    if (d->error != ATOLL_ERROR_NONE)
        advice = errors[d->error].advice;
    else if (d->limiter == ATOLL_LIMITER_LATENCY)
        advice = waits[d->stall].advice;
    else
        advice = limiters[d->limiter].advice;
    return advice ? advice : "";
}
