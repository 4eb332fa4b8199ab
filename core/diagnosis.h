/* diagnosis.h - what is wrong with a kernel, or what keeps it from being faster, as one value (papers/001 3.3.2; A15 of
 * papers/004 4.3).  Everything that says so is made from it: prompts, show, list, report, the columns of the archive, and
 * the issues that staged optimisation works on.
 * Layer: core, pure: the same facts give the same value, and the same value the same words.
 *
 * Rule: what is named has the largest figure of its kind.  A unit (memory level, pipe, issue slots) is named when none is busier
 * and it is above 60 % of its peak; issue slots that hold little but FMA are named by that pipe; waiting is named when no
 * unit is above that and all that matter were counted, and then its largest reason; a launch when an empty one takes a third
 * of the time and no unit more.  Without counters the same is estimated from below: useful bytes and operations over time and
 * the device's measured rates, which name a unit from half of its peak on.
 * The order of the enums is the order in archives: new ones go before COUNT. */
#ifndef ATOLL_CORE_DIAGNOSIS_H
#define ATOLL_CORE_DIAGNOSIS_H

#include "core/evaluation.h"
#include "core/message.h"
#include "core/profile.h"
#include "core/task/task.h"
#include "core/verdict.h"

#define ATOLL_DIAGNOSIS_BYTES 1536 /* room for every text */

/* Kinds of failures: what has to be done next differs between them. */
enum atoll_error_class {
    ATOLL_ERROR_NONE,   /* correct; or nothing is known */
    ATOLL_ERROR_ANSWER, /* of a model: no kernel was found in it (told by who has the source) */
    ATOLL_ERROR_PLAN_SYNTAX,
    ATOLL_ERROR_PLAN_CHOICE, /* the default combination */
    ATOLL_ERROR_PLAN_PATH,   /* the condition of a path fits one shape */
    ATOLL_ERROR_PLAN,
    ATOLL_ERROR_INCLUDE,
    ATOLL_ERROR_PRECISION_RULE, /* arithmetic less exact than a strict task allows */
    ATOLL_ERROR_RULE,
    ATOLL_ERROR_NAME, /* from here on of the compiler */
    ATOLL_ERROR_FUNCTION,
    ATOLL_ERROR_ARGUMENTS,
    ATOLL_ERROR_TYPE,
    ATOLL_ERROR_SYNTAX,
    ATOLL_ERROR_INSTRUCTION_SET,
    ATOLL_ERROR_INTERFACE, /* plan and source do not agree */
    ATOLL_ERROR_STATE,
    ATOLL_ERROR_CONSTEXPR, /* what has to be known to the compiler is not, or is no power of two */
    ATOLL_ERROR_RESOURCES, /* more threads, registers or shared memory than there are */
    ATOLL_ERROR_ASSEMBLY,
    ATOLL_ERROR_COMPILE_TIME,
    ATOLL_ERROR_COMPILE,
    ATOLL_ERROR_LAUNCH,
    ATOLL_ERROR_FAULT, /* memory that is not its own: told by a device */
    ATOLL_ERROR_TIMEOUT,
    ATOLL_ERROR_BOUNDS, /* from here on of the output */
    ATOLL_ERROR_INPUT,
    ATOLL_ERROR_UNWRITTEN,
    ATOLL_ERROR_TAIL,
    ATOLL_ERROR_TRANSPOSED,
    ATOLL_ERROR_MISPLACED,
    ATOLL_ERROR_SCALE,
    ATOLL_ERROR_OFFSET,
    ATOLL_ERROR_NOT_FINITE,
    ATOLL_ERROR_PRECISION,
    ATOLL_ERROR_RACE,
    ATOLL_ERROR_WRONG, /* none of these: values or indices */
    ATOLL_ERROR_UNSTABLE,
    ATOLL_ERROR_IMPOSSIBLE,
    ATOLL_ERROR_INFRASTRUCTURE,
    ATOLL_ERROR_SEGMENT, /* from here on crashes beside FAULT.  Memory that is not its own, or not aligned */
    ATOLL_ERROR_MISALIGNED,
    ATOLL_ERROR_SYSTEM_CALL,
    ATOLL_ERROR_ILLEGAL, /* instruction; a trap, too */
    ATOLL_ERROR_DIVISION,
    ATOLL_ERROR_EXIT, /* ended its process by itself */
    ATOLL_ERROR_CRASH,
    ATOLL_ERROR_COUNT
};

/* What warps wait for.  LONG_SCOREBOARD and LG, and SHORT_SCOREBOARD and MIO, are one family each: the wait for a memory's data
 * and the wait for the queue in front of it. */
enum atoll_stall {
    ATOLL_STALL_UNKNOWN,
    ATOLL_STALL_LONG_SCOREBOARD,
    ATOLL_STALL_SHORT_SCOREBOARD,
    ATOLL_STALL_BARRIER,
    ATOLL_STALL_MIO,
    ATOLL_STALL_LG,
    ATOLL_STALL_MATH,
    ATOLL_STALL_WAIT,
    ATOLL_STALL_TENSOR,
    ATOLL_STALL_COUNT
};

/* What the device offers and the binary does not use: bit 1 << enum. */
enum atoll_unused {
    ATOLL_UNUSED_TENSOR,     /* no matrix instruction at all */
    ATOLL_UNUSED_WARPGROUP,  /* mma.sync where wgmma is */
    ATOLL_UNUSED_BULK_COPY,  /* TMA */
    ATOLL_UNUSED_ASYNC_COPY, /* cp.async */
    ATOLL_UNUSED_CLUSTER,
    ATOLL_UNUSED_F8,
    ATOLL_UNUSED_WIDE_ACCESS, /* 128 bits */
    ATOLL_UNUSED_AVX512,
    ATOLL_UNUSED_AVX2, /* or anything wider than 128 bits */
    ATOLL_UNUSED_FUSED /* multiply-add */,
    ATOLL_UNUSED_VECTORS, /* for most of its arithmetic; some has them */
    ATOLL_UNUSED_COUNT
};

enum atoll_counted {
    ATOLL_COUNTED_NOT,     /* estimated from time */
    ATOLL_COUNTED_TIMED,   /* in a run as long as the timed ones */
    ATOLL_COUNTED_SHORTER, /* in one that took a tenth less: timed ones do as much in more time */
    ATOLL_COUNTED_LONGER,
};

/* Figures are percent, 0: not known. */
struct atoll_diagnosis {
    enum atoll_error_class error; /* NONE: all below holds; else all below is 0 */
    enum atoll_limiter
        limiter; /* never one of the coarse kinds of enum atoll_limiter but LATENCY and LAUNCH */
    /* the busiest unit beside it; UNKNOWN: none is known, or beside a unit one that was not counted may be busier.  ISSUE
     * above FMA: the slots that the FMA pipes fill */
    enum atoll_limiter next;
    /* a unit: of its peak; LATENCY: the family's share of what warps wait; OCCUPANCY: warps that fit; TAIL: time of the
     * device that is idle, or, of occupancy_by BLOCKS, of the warps that fit those that are missing; LAUNCH: share of the
     * time that an empty one takes; SPILLS: of the binary's instructions those on local memory */
    double figure, next_figure;
    enum atoll_counted is_counted;
    enum atoll_stall stall; /* the larger reason of the largest family, whatever limits it */
    double stall_share;     /* of the family */
    /* the same of the family that is next to it; UNKNOWN: it has none, or not all reasons were counted */
    enum atoll_stall next_stall;
    double next_stall_share;
    /* of a plan's only kernel: blocks of its launch, and those that the device holds at once, a wave; 0: not known */
    uint32_t blocks, wave_blocks;
    enum atoll_occupancy_limit
        occupancy_by; /* of OCCUPANCY; of LATENCY where few warps fit, too; of TAIL: see figure */
    uint32_t unused;
    double traffic;      /* bytes that have to be moved over those that device memory moved, 0..; counted */
    double memory_share; /* bytes that have to be moved over time, of the measured bandwidth */
    double flops_per_s;  /* useful */
    enum atoll_mix unit; /* that does most of them: FP32, FP64, FP16 or TENSOR_...; COUNT: not known */
    double unit_share;   /* flops_per_s of the unit's measured peak */
};

/* What a diagnosis is made of; NULL and 0 where something is not known. */
struct atoll_diagnosis_facts {
    enum atoll_verdict verdict;
    const char *detail;                  /* of the verdict; hostile */
    const struct atoll_profile *profile; /* NULL: nothing was measured */
    const struct atoll_device_info *device;
    double time_ns; /* of one launch of the plan at the variant of work and counters */
    struct atoll_work work;
    unsigned precisions; /* of the task */
};

void atoll_diagnose(const struct atoll_diagnosis_facts *facts, struct atoll_diagnosis *ret);
/* Of an evaluation at its first timed variant; task, device: NULL unknown. */
void atoll_diagnose_evaluation(const struct atoll_evaluation *evaluation, const struct atoll_task *task,
                               const struct atoll_device_info *device, struct atoll_diagnosis *ret);

/* What follows from archived counters and the launch alone, so that it has no columns: next_stall, next_stall_share, blocks and
 * wave_blocks; of a diagnosis with its stall, which may be none that there is (files of others).  device: NULL unknown.  The
 * others do it by themselves. */
void atoll_diagnosis_add_launch(struct atoll_diagnosis *diagnosis, const struct atoll_profile *profile,
                                const struct atoll_device_info *device);

/* The class alone. */
enum atoll_error_class atoll_error_class_of(enum atoll_verdict verdict, const char *detail);

/* In sentences of plain English, nothing of which was written by anybody else; "" where nothing is known.  Returns text. */
const char *atoll_diagnosis_text(const struct atoll_diagnosis *diagnosis, char *ret_text, size_t bytes);
/* In at most 40 characters, for tables: "l2 61 %", "unknown name"; "" where nothing is known. */
const char *atoll_diagnosis_label(const struct atoll_diagnosis *diagnosis, char *ret_text, size_t bytes);
/* What to do about it; "" where nothing is known.  Static storage. */
const char *atoll_diagnosis_advice(const struct atoll_diagnosis *diagnosis);

/* Names for columns and JSON: "unknown_name", "long_scoreboard", "wgmma"; "unknown" beyond. */
const char *atoll_error_class_name(enum atoll_error_class error);
const char *atoll_stall_name(enum atoll_stall stall);
const char *atoll_unused_name(enum atoll_unused unused);

#endif
