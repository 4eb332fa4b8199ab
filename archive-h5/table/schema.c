/* schema.c - every table and column of the archive.  A column is never renamed or given another meaning: a change of the schema
 * adds columns, raises ATOLL_ARCHIVE_SCHEMA and leaves a golden file behind.  A column's name is the field's of the row struct;
 * in the table profiles a counter's column has the counter's name (core/profile.h), a class of instructions that name after
 * "mix_"; a test compares them. */
#include "archive-h5/table/table.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/briefing.h"
#include "core/issue.h"
#include "core/model_role.h"
#include "core/decision.h"
#include "core/evaluation.h"
#include "core/experience/hint.h"
#include "core/search.h"
#include "core/tool_turn.h"
#include "core/verdict.h"

#define FIELD(row, field) offsetof(struct atoll_row_##row, field)
#define COLUMN(row, field, kind, in, text)                                                                   \
    .name = #field, .type = ATOLL_COLUMN_##kind, .offset = FIELD(row, field), .unit = in, .description = text
#define COL(row, field, kind, in, text)                                                                      \
    {                                                                                                        \
        COLUMN(row, field, kind, in, text)                                                                   \
    }
#define KEY(row, field, kind, in, text)                                                                      \
    {                                                                                                        \
        COLUMN(row, field, kind, in, text), .is_key = 1                                                      \
    }
#define NEW(row, field, kind, in, text)                                                                      \
    {                                                                                                        \
        COLUMN(row, field, kind, in, text), .since = 2                                                       \
    }
#define ADDED(row, field, kind, in, text, schema)                                                            \
    {                                                                                                        \
        COLUMN(row, field, kind, in, text), .since = schema                                                  \
    }
#define ENUM(row, field, names, count, text)                                                                 \
    {                                                                                                        \
        COLUMN(row, field, U8, "", text), .value_name = names, .value_count = count                          \
    }
#define ADDED_ENUM(row, field, names, count, text)                                                           \
    {                                                                                                        \
        COLUMN(row, field, U8, "", text), .value_name = names, .value_count = count, .since = 6              \
    }
#define OWNER(row) KEY(row, campaign, CAMPAIGN, "", "row of the table campaign it belongs to")
#define EVENT(row) KEY(row, event, U64, "", "number of the journaled event it comes from")

#define REFERENCE_KINDS      3
#define PROFILE_FACTS        21 /* columns before the counters */
#define PROFILE_LAUNCH       5  /* and behind the mix */
#define PROFILE_COLUMN_COUNT (PROFILE_FACTS + ATOLL_COUNTER_COUNT + ATOLL_MIX_COUNT + PROFILE_LAUNCH)

static const char *tier_name(unsigned v)
{
    return atoll_tier_name((enum atoll_tier)v);
}

static const char *floor_model_name(unsigned v)
{
    return atoll_floor_model_name((enum atoll_floor_model)v);
}

static const char *limiter_name(unsigned v)
{
    return atoll_limiter_name((enum atoll_limiter)v);
}

static const char *error_class_name(unsigned v)
{
    return atoll_error_class_name((enum atoll_error_class)v);
}

static const char *stall_name(unsigned v)
{
    return atoll_stall_name((enum atoll_stall)v);
}

static const char *occupancy_limit_name(unsigned v)
{
    return atoll_occupancy_limit_name((enum atoll_occupancy_limit)v);
}

static const char *arithmetic_name(unsigned v)
{
    return v ? atoll_mix_name((enum atoll_mix)(v - 1)) : "unknown";
}

#define COUNTER(index, column, of, text)                                                                     \
    {                                                                                                        \
        .name = column, .type = ATOLL_COLUMN_F64, .offset = FIELD(profile, counters[ATOLL_COUNTER_##index]), \
        .unit = of, .description = text, .may_be_nan = 1                                                     \
    }
#define MIX(index, column, text)                                                                             \
    {                                                                                                        \
        .name = "mix_" column, .type = ATOLL_COLUMN_U32, .offset = FIELD(profile, mix[ATOLL_MIX_##index]),   \
        .unit = "", .description = "instructions of the binary: " text                                       \
    }

#define ADDED_MIX(index, column, text)                                                                       \
    {                                                                                                        \
        .name = "mix_" column, .type = ATOLL_COLUMN_U32, .offset = FIELD(profile, mix[ATOLL_MIX_##index]),   \
        .unit = "", .description = "instructions of the binary: " text, .since = 6                           \
    }

static const struct atoll_column profile_columns[PROFILE_COLUMN_COUNT] = {
    OWNER(profile),
    EVENT(profile),
    COL(profile, evaluation, U64, "", "number of the dispatch"),
    COL(profile, candidate, ID, "", "candidate"),
    COL(profile, task, U32, "", "task"),
    COL(profile, device, U64, "", "key of the device"),
    ENUM(profile, tier, tier_name, ATOLL_TIER_COUNT, "what was measured"),
    ENUM(profile, limiter, limiter_name, ATOLL_LIMITER_COUNT,
         "what the kernel is limited by, coarsely; the level or pipe is in evaluations"),
    COL(profile, reason, TEXT, "", "why no higher tier"),
    COL(profile, clock_hz, F64, "Hz", "median clock of the timed samples, 0 = not known"),
    COL(profile, throttle_reasons, U64, "", "of the device's monitor, all timing windows together"),
    COL(profile, intensity_flops_per_byte, F64, "1/B",
        "useful operations per byte of device memory, 0 = not known"),
    COL(profile, wall_ns, F64, "ns", "what counting cost"),
    COL(profile, kernel_count, U32, "", "kernels of the plan, 0 = nothing is known of the binary"),
    COL(profile, registers, U32, "", "registers per thread, the most of its kernels"),
    COL(profile, static_shared_bytes, U32, "B", "static shared memory of a block"),
    COL(profile, dynamic_shared_bytes, U32, "B", "dynamic shared memory of a block"),
    COL(profile, stack_bytes, U32, "B", "stack of a thread"),
    COL(profile, spill_store_bytes, U32, "B", "stored by spills, per thread"),
    COL(profile, spill_load_bytes, U32, "B", "loaded by spills, per thread"),
    COL(profile, theoretical_occupancy, F64, "", "0..1, the least of its kernels at the first bench variant"),
    COUNTER(SM_THROUGHPUT, "sm_throughput", "%", "throughput of the multiprocessors, share of their peak"),
    COUNTER(DRAM_THROUGHPUT, "dram_throughput", "%", "throughput of device memory, share of its peak"),
    COUNTER(L1_THROUGHPUT, "l1_throughput", "%", "throughput of the first-level caches, share of their peak"),
    COUNTER(L2_THROUGHPUT, "l2_throughput", "%", "throughput of the second-level cache, share of its peak"),
    COUNTER(DRAM_READ_BYTES, "dram_read_bytes", "B", "read from device memory"),
    COUNTER(DRAM_WRITE_BYTES, "dram_write_bytes", "B", "written to device memory"),
    COUNTER(L1_HIT, "l1_hit", "%", "sectors found in the first-level cache"),
    COUNTER(L2_HIT, "l2_hit", "%", "sectors found in the second-level cache"),
    COUNTER(OCCUPANCY, "occupancy", "%", "achieved, share of the warps a multiprocessor holds"),
    COUNTER(ISSUE_ACTIVE, "issue_active", "%", "cycles in which a scheduler issued"),
    COUNTER(INSTRUCTIONS, "instructions", "1", "executed, of warps"),
    COUNTER(TENSOR, "tensor", "%", "tensor pipes, share of their peak"),
    COUNTER(FMA, "fma", "%", "fp32 pipes, share of their peak"),
    COUNTER(ALU, "alu", "%", "integer and logic pipes, share of their peak"),
    COUNTER(FP64, "fp64", "%", "fp64 pipes, share of their peak"),
    COUNTER(XU, "xu", "%", "transcendental pipes, share of their peak"),
    COUNTER(LSU, "lsu", "%", "load and store pipes, share of their peak"),
    COUNTER(BANK_CONFLICTS, "bank_conflicts", "1", "extra wavefronts of shared memory"),
    COUNTER(SHARED_ACCESSES, "shared_accesses", "1", "accesses to shared memory"),
    COUNTER(STALL_LONG_SCOREBOARD, "stall_long_scoreboard", "1",
            "warps that waited per issue, for device memory"),
    COUNTER(STALL_SHORT_SCOREBOARD, "stall_short_scoreboard", "1",
            "the same, for shared memory or the transcendental pipe"),
    COUNTER(STALL_BARRIER, "stall_barrier", "1", "the same, at a barrier"),
    COUNTER(STALL_MIO, "stall_mio", "1", "the same, for the queue of memory instructions"),
    COUNTER(STALL_LG, "stall_lg", "1", "the same, for the queue of local and global memory"),
    COUNTER(STALL_MATH, "stall_math", "1", "the same, for an arithmetic pipe"),
    COUNTER(STALL_WAIT, "stall_wait", "1", "the same, for a fixed latency"),
    COUNTER(STALL_NOT_SELECTED, "stall_not_selected", "1", "ready, but another warp issued"),
    COUNTER(STALL_TENSOR, "stall_tensor", "1", "waited for the tensor pipe"),
    COUNTER(TIME_NS, "counted_time_ns", "ns", "of the counted run: never a measurement"),
    MIX(FP32, "fp32", "fp32 arithmetic"),
    MIX(FP64, "fp64", "fp64 arithmetic"),
    MIX(FP16, "fp16", "packed f16 and bf16 arithmetic"),
    MIX(INTEGER, "integer", "integer and logic"),
    MIX(TRANSCENDENTAL, "transcendental", "transcendental functions"),
    MIX(TENSOR_F16, "tensor_f16", "tensor instructions on f16 and bf16"),
    MIX(TENSOR_TF32, "tensor_tf32", "tensor instructions on tf32"),
    MIX(TENSOR_F8, "tensor_f8", "tensor instructions on f8"),
    MIX(TENSOR_OTHER, "tensor_other", "tensor instructions on f64 and integers"),
    MIX(GLOBAL_LOAD, "global_load", "loads from global memory"),
    MIX(GLOBAL_STORE, "global_store", "stores to global memory"),
    MIX(SHARED, "shared", "shared-memory accesses"),
    MIX(LOCAL, "local", "local memory: spills and stack"),
    MIX(ASYNC_COPY, "async_copy", "asynchronous and bulk copies"),
    MIX(ATOMIC, "atomic", "atomics and reductions"),
    MIX(BARRIER, "barrier", "barriers"),
    MIX(BRANCH, "branch", "branches"),
    MIX(OTHER, "other", "everything else"),
    ADDED_MIX(WARPGROUP, "wgmma", "of the tensor ones, those of a warp group"),
    ADDED_MIX(BULK_COPY, "bulk_copy", "of the asynchronous copies, those of whole blocks"),
    ADDED_MIX(WIDE_ACCESS, "wide_access", "of loads from and stores to global memory, those of 128 bits"),
    ADDED_MIX(VECTOR_128, "vector_128", "of an x86-64 binary, packed arithmetic on 128 bits"),
    ADDED_MIX(VECTOR_256, "vector_256", "the same on 256 bits"),
    ADDED_MIX(VECTOR_512, "vector_512", "the same on 512 bits"),
    ADDED_MIX(FUSED, "fused", "of an x86-64 binary, fused multiply-adds, packed and scalar"),
    ADDED_MIX(SCALAR, "scalar", "of an x86-64 binary, arithmetic on one float"),
    ADDED_MIX(GATHER, "gather", "of an x86-64 binary, gathers"),
    ADDED(profile, blocks, U32, "", "of the launch with the most, at the first bench variant, 0 = not known",
          6),
    ADDED(profile, threads_per_block, U32, "", "of that launch", 6),
    ADDED(profile, resident_blocks, U32, "", "of that launch that a multiprocessor holds at a time", 6),
    ADDED(profile, cluster_blocks, U32, "", "blocks of the largest cluster", 6),
    ADDED_ENUM(profile, occupancy_by, occupancy_limit_name, ATOLL_OCCUPANCY_COUNT,
               "what theoretical_occupancy is limited by"),
};

static const char *verdict_name(unsigned v)
{
    return atoll_verdict_name((enum atoll_verdict)v);
}

static const char *operator_name(unsigned v)
{
    return atoll_operator_name((enum atoll_operator)v);
}

static const char *reason_name(unsigned v)
{
    return atoll_reason_name((enum atoll_reason)v);
}

static const char *purpose_name(unsigned v)
{
    static const char *const names[] = {"promotion", "noop", "final", "rival"};
    return v < ATOLL_DUEL_PURPOSE_COUNT ? names[v] : "unknown";
}

static const char *decision_name(unsigned v)
{
    static const char *const names[] = {"none",      "evaluate", "duel", "elite",      "not_confirmed",
                                        "migrate",   "baseline", "best", "redispatch", "abandon",
                                        "task_done", "stop",     "ask",  "rival",      "discard"};
    return v < sizeof(names) / sizeof(*names) ? names[v] : "unknown";
}

static const char *role_name(unsigned v)
{
    return atoll_model_role_name((enum atoll_model_role)v);
}

static const char *ask_kind_name(unsigned v)
{
    return atoll_ask_kind_name((enum atoll_ask_kind)v);
}

static const char *reply_name(unsigned v)
{
    return v ? atoll_reply_status_name((enum atoll_reply_status)(v - 1)) : "open";
}

static const char *mode_name(unsigned v)
{
    return atoll_torch_mode_name((enum atoll_torch_mode)v);
}

static const char *reference_name(unsigned v)
{
    static const char *const names[REFERENCE_KINDS] = {"c", "torch_module", "torch_function"};
    return v < REFERENCE_KINDS ? names[v] : "unknown";
}

static const char *timing_name(unsigned v)
{
    return v ? "warm" : "cold";
}

#define OPERATOR(row, text)                                                                                  \
    {                                                                                                        \
        .name = "operator", .type = ATOLL_COLUMN_U8, .offset = FIELD(row, operator_), .unit = "",            \
        .description = text, .value_name = operator_name, .value_count = ATOLL_OPERATOR_COUNT                \
    }

static const struct atoll_column campaign_columns[] = {
    KEY(campaign, id, ID, "", "identity of the campaign"),
    COL(campaign, engine_version, U32, "", "version of the search engine"),
    COL(campaign, atoll_version, TEXT, "", "version of Atoll that started it"),
    COL(campaign, created_unix_ns, I64, "ns", "start, Unix time"),
    COL(campaign, seed, U64, "", "seed of the search"),
    COL(campaign, islands, U32, "", "islands per task"),
    COL(campaign, generation_size, U32, "", "evaluated candidates of an island that make a generation"),
    COL(campaign, migration_interval, U32, "", "generations between migrations, 0 = never"),
    COL(campaign, alpha, F64, "", "error rate of all promotions together"),
    COL(campaign, margin, F64, "", "improvement a promotion has to prove"),
    COL(campaign, evaluation_budget, U64, "", "evaluations granted, 0 = no limit"),
    COL(campaign, device_budget_ns, F64, "ns", "device time granted, 0 = no limit"),
    COL(campaign, wall_budget_ns, F64, "ns", "wall time granted, 0 = no limit"),
    COL(campaign, events, U64, "", "journaled events up to here"),
    COL(campaign, noop_challenges, U64, "", "elites compared with no-op mutants of theirs"),
    COL(campaign, noop_promotions, U64, "", "of those, how many were called better: false promotions"),
    COL(campaign, campaign_ns, I64, "ns", "time run so far, without gaps between attempts"),
    ENUM(campaign, stop_reason, reason_name, ATOLL_REASON_COUNT, "why it stopped, none while it runs"),
    {COLUMN(campaign, timing, U8, "", "caches before each sample: cold or warm"), .value_name = timing_name,
     .value_count = 2, .since = 3},
    ADDED(campaign, tokens, U64, "", "tokens spent by operators outside", 4),
    ADDED(campaign, cost_usd, F64, "USD", "what they cost", 4),
    {COLUMN(campaign, strategy, U8, "", "strategy of the search"), .value_name = atoll_strategy_name,
     .value_count = ATOLL_STRATEGY_COUNT, .since = 6},
    ADDED(campaign, settings, TEXT, "", "all settings of the search, a line `name: value` each", 6),
    ADDED(campaign, suite, TEXT, "", "suites it was started with, as they were named", 6),
    ADDED(campaign, command_line, TEXT, "", "command that made it, for a shell", 6),
    ADDED(campaign, options, TEXT, "",
          "options of the run, a line `name: value` each: backend, compiler, its flags ...", 6),
};

static const struct atoll_column task_columns[] = {
    OWNER(task),
    KEY(task, task, U32, "", "number of the task in the campaign"),
    COL(task, id, ID, "", "hash of task.yaml, reference.c and reference.cu"),
    COL(task, name, TEXT, "", "name"),
    COL(task, summary, TEXT, "", "what it computes, one line"),
    COL(task, definition, TEXT, "", "task.yaml where it was at hand"),
    COL(task, reference, TEXT, "", "reference.c"),
    COL(task, baseline, ID, "", "candidate that is the baseline"),
    COL(task, best, ID, "", "best candidate"),
    COL(task, baseline_ns, F64, "ns", "time of the baseline"),
    COL(task, best_ns, F64, "ns", "time of the best candidate"),
    COL(task, floor_ns, F64, "ns", "roofline floor on the device of the best candidate"),
    COL(task, best_fitness, F64, "", "fitness of the best candidate"),
    COL(task, final_ratio, F64, "",
        "baseline time over best time from the final interleaved comparison, 0 = none"),
    COL(task, final_p, F64, "", "its one-sided p-value"),
    COL(task, final_baseline_ns, F64, "ns", "baseline time in it"),
    COL(task, final_best_ns, F64, "ns", "best time in it"),
    COL(task, final_pairs, U32, "", "pairs in it"),
    ENUM(task, final_verdict, verdict_name, ATOLL_VERDICT_COUNT, "its verdict, hidden variants included"),
    COL(task, evaluated, U64, "", "candidates evaluated"),
    COL(task, correct, U64, "", "of those, correct"),
    COL(task, challenges, U32, "", "promotion comparisons"),
    COL(task, promotions, U32, "", "of those, won"),
    COL(task, done, U8, "", "1 = no more proposals"),
    ENUM(task, reason, reason_name, ATOLL_REASON_COUNT, "why it is done"),
    {COLUMN(task, model, U32, "", "device model, from 0 in the order of their appearance in the campaign"),
     .is_key = 1, .since = 4},
    ADDED(task, model_name, TEXT, "", "name of that model, empty where none was told", 4),
    ADDED(task, final_lo, F64, "", "lower end of the final ratio's 95 % interval, 0 = not known", 6),
    ADDED(task, final_hi, F64, "", "upper end of it", 6),
    ADDED(task, final_baseline_lo_ns, F64, "ns",
          "lower end of the 95 % interval of the baseline's time in it", 6),
    ADDED(task, final_baseline_hi_ns, F64, "ns", "upper end of it", 6),
    ADDED(task, final_best_lo_ns, F64, "ns", "lower end of the 95 % interval of the best time in it", 6),
    ADDED(task, final_best_hi_ns, F64, "ns", "upper end of it", 6),
    {COLUMN(task, floor_model, U8, "", "how floor_ns was made; floors of different models are not compared"),
     .value_name = floor_model_name, .value_count = ATOLL_FLOOR_MODEL_COUNT, .since = 6},
    ADDED(task, best_beyond_precisions, U32, "",
          "the same of the best candidate as beyond_precisions of evaluations", 6),
    ADDED(task, category, TEXT, "", "kind of the task, one word, empty where it has none", 6),
    ADDED(task, tags, TEXT, "", "its tags, with blanks between them", 6),
    ADDED(task, instructions, TEXT, "", "words of its author for prompts", 6),
    ADDED(task, origin_suite, TEXT, "", "public suite that it was imported from", 6),
    ADDED(task, origin_problem, TEXT, "", "its problem there", 6),
    ADDED(task, origin_hash, TEXT, "", "BLAKE2b of the source text it was imported from", 6),
    ADDED(task, level, U8, "", "level in its suite, 0 = none", 6),
    {COLUMN(task, reference_kind, U8, "", "what defines correct"), .value_name = reference_name,
     .value_count = REFERENCE_KINDS, .since = 6},
    ADDED(task, reference_device, TEXT, "",
          "reference.cu, which answers for reference.c where it was seen to agree; empty where it has none",
          6),
    ADDED(task, rival, TEXT, "",
          "the rival: name of the fastest one, of several where they share the variants", 6),
    ADDED(task, rival_mode, TEXT, "", "its mode, or theirs", 6),
    ADDED(task, rival_ns, F64, "ns",
          "its time: the fastest rival at every bench variant, combined by weight; 0 = none was measured", 6),
    ADDED(task, rival_lo_ns, F64, "ns", "the same of the lower ends of the timings' 95 % intervals", 6),
    ADDED(task, rival_hi_ns, F64, "ns", "the same of the upper ends", 6),
    ADDED(task, rival_host_ns, F64, "ns",
          "the same of one call that nothing queues ahead, as a program in Python sees it; 0 = not known", 6),
    ADDED(task, eager_ns, F64, "ns", "time of the fastest rival of mode eager, 0 = none was measured", 6),
    ADDED(task, final_rival_ratio, F64, "",
          "the rival's time over the best's from the final comparison of the two, 0 = none", 6),
    ADDED(task, final_rival_lo, F64, "", "lower end of that ratio's 95 % interval, 0 = not known", 6),
    ADDED(task, final_rival_hi, F64, "", "upper end of it", 6),
    ADDED(task, final_rival_p, F64, "", "its one-sided p-value", 6),
    ADDED(task, final_rival_pairs, U32, "", "pairs in it", 6),
    {COLUMN(task, final_rival_verdict, U8, "", "its verdict"), .value_name = verdict_name,
     .value_count = ATOLL_VERDICT_COUNT, .since = 6},
    ADDED(task, final_rival_ns, F64, "ns", "the rival's time in it", 6),
    ADDED(task, final_rival_lo_ns, F64, "ns", "lower end of that time's 95 % interval", 6),
    ADDED(task, final_rival_hi_ns, F64, "ns", "upper end of it", 6),
    ADDED(task, final_rival_best_ns, F64, "ns", "the best's time in it", 6),
    ADDED(task, final_rival_best_lo_ns, F64, "ns", "lower end of that time's 95 % interval", 6),
    ADDED(task, final_rival_best_hi_ns, F64, "ns", "upper end of it", 6),
};

static const struct atoll_column ask_columns[] = {
    OWNER(ask),
    KEY(ask, number, U64, "", "number of the ask, from 1"),
    COL(ask, event, U64, "", "number of the event whose decisions asked first"),
    COL(ask, campaign_ns, I64, "ns", "campaign time of the ask"),
    COL(ask, answered_ns, I64, "ns", "campaign time of the reply, 0 = none yet"),
    ENUM(ask, kind, ask_kind_name, ATOLL_ASK_KIND_COUNT, "what was wanted"),
    OPERATOR(ask, "which operator was asked"),
    COL(ask, task, U32, "", "task"),
    COL(ask, model, U32, "", "device model"),
    COL(ask, island, U32, "", "island"),
    COL(ask, generation, U32, "", "generation of the island"),
    COL(ask, parent, ID, "", "candidate it is about, zero = none"),
    COL(ask, stage, U8, "", "staged: stage"),
    COL(ask, round, U8, "", "staged: round of the stage, from 0"),
    ENUM(ask, status, reply_name, ATOLL_REPLY_STATUS_COUNT + 1, "how it was answered"),
    COL(ask, count, U32, "", "candidates or plans wanted"),
    COL(ask, issues, U64, "", "staged: bit per issue that was told"),
    COL(ask, tokens, U64, "", "tokens spent, in and out together"),
    COL(ask, cost_usd, F64, "USD", "what it cost"),
    COL(ask, origin, TEXT, "", "who answered"),
    COL(ask, sources, U32, "", "sources in the reply"),
    COL(ask, accepted, U32, "", "candidates sent for evaluation as answers to it"),
    ADDED(ask, request, ID, "", "identity of the request at the gateway, zero = no model was asked", 5),
    ADDED(ask, system, TEXT, "", "system text of the prompt", 5),
    ADDED(ask, prompt, TEXT, "", "user text of the prompt", 5),
    ADDED(ask, answer, TEXT, "", "what the model answered, as it came", 5),
    ADDED(ask, thought, TEXT, "", "what came in its reasoning channel", 5),
    ADDED(ask, detail, TEXT, "", "why the answer is not ok", 5),
    ADDED(ask, input_tokens, U64, "", "tokens of the prompt, cached ones included", 5),
    ADDED(ask, cached_tokens, U64, "", "of those, read from the provider's cache", 5),
    ADDED(ask, output_tokens, U64, "", "tokens of the answer, reasoning included", 5),
    ADDED(ask, reasoning_tokens, U64, "", "of those, reasoning", 5),
    ADDED(ask, elapsed_s, F64, "s", "from the first try to the answer", 5),
    ADDED(ask, from_store, U8, "", "1 = a recording answered, the model was not asked again", 5),
    ADDED_ENUM(ask, role, role_name, ATOLL_MODEL_ROLE_COUNT, "as what a model is asked for it"),
    ADDED(ask, asked, TEXT, "", "model that was asked, as the gateway calls it", 6),
    ADDED(ask, items, U32, "", "items in the reply", 6),
    ADDED(ask, tool_calls, U32, "", "calls of tools before it was answered", 6),
    ADDED(ask, tool_tokens, U64, "", "tokens of the turns with these, in and out together, beside tokens", 6),
    ADDED(ask, tool_cost_usd, F64, "USD", "what those turns cost, beside cost_usd", 6),
    ADDED(ask, improvements, U32, "",
          "times that one of its kernels, or an instance of it, became the best of the task", 6),
    ADDED(ask, gain, F64, "", "product of what these made the best faster by, 0 = none", 6),
    ADDED(ask, version, U32, "",
          "version of the prompt text that it was worded with: the ask whose answer made it, 0 = as it came",
          6),
};

static const struct atoll_column device_columns[] = {
    OWNER(device),
    KEY(device, key, U64, "", "stable number of the device"),
    COL(device, backend, TEXT, "", "cpu, cuda ..."),
    COL(device, model, TEXT, "", "model"),
    COL(device, uuid, TEXT, "", "identity given by the driver or made from host and cores"),
    COL(device, node, TEXT, "", "host"),
    COL(device, toolchain, TEXT, "", "compiler, version and flags"),
    COL(device, isolation, TEXT, "", "containment of candidates on this node"),
    COL(device, threads, U32, "", "threads a candidate runs on (cpu)"),
    COL(device, bandwidth_bytes_per_s, F64, "B/s", "measured memory bandwidth, 0 = not measured"),
    COL(device, peak_f64_flops, F64, "1/s", "measured peak, f64"),
    COL(device, peak_f32_flops, F64, "1/s", "measured peak, f32"),
    COL(device, peak_f16_flops, F64, "1/s", "measured peak, f16"),
    COL(device, peak_bf16_flops, F64, "1/s", "measured peak, bf16"),
    COL(device, empty_launch_ns, F64, "ns", "time of an empty launch"),
    COL(device, clock_resolution_ns, F64, "ns", "resolution of the clock"),
    COL(device, last_level_cache_bytes, F64, "B", "size of the last-level cache"),
    NEW(device, driver, TEXT, "", "driver and what it supports, empty where there is none"),
    NEW(device, target, TEXT, "", "target of its compiler, sm_90a ..."),
    NEW(device, counters, TEXT, "", "open, or why hardware counters are not"),
    NEW(device, compute_capability, U32, "", "10 times major plus minor, 0 = not such a device"),
    NEW(device, multiprocessors, U32, "", "multiprocessors"),
    NEW(device, warp_size, U32, "", "threads of a warp"),
    NEW(device, threads_per_block, U32, "", "most threads of a block"),
    NEW(device, threads_per_multiprocessor, U32, "", "most threads on a multiprocessor"),
    NEW(device, blocks_per_multiprocessor, U32, "", "most blocks on a multiprocessor"),
    NEW(device, registers_per_multiprocessor, U32, "", "32-bit registers of a multiprocessor"),
    NEW(device, registers_per_block, U32, "", "most 32-bit registers of a block"),
    NEW(device, shared_bytes_per_block, U32, "B", "most shared memory of a block, with opt-in"),
    NEW(device, shared_bytes_per_multiprocessor, U32, "B", "shared memory of a multiprocessor"),
    NEW(device, cluster_blocks, U32, "", "most blocks of a cluster, 0 = no clusters"),
    NEW(device, cooperative, U32, "", "1 = cooperative launches"),
    NEW(device, host_memory, U32, "", "1 = it can address pageable host memory"),
    NEW(device, memory_bytes, F64, "B", "device memory"),
    NEW(device, clock_hz, F64, "Hz", "highest clock"),
    NEW(device, memory_clock_hz, F64, "Hz", "highest clock of the memory"),
    NEW(device, tensor_f64_flops, F64, "1/s", "measured peak of the tensor units, f64; 0 = not measured"),
    NEW(device, tensor_tf32_flops, F64, "1/s", "the same, tf32"),
    NEW(device, tensor_f16_flops, F64, "1/s", "the same, f16"),
    NEW(device, tensor_bf16_flops, F64, "1/s", "the same, bf16"),
    NEW(device, tensor_f8_flops, F64, "1/s", "the same, f8e4m3"),
    NEW(device, tensor_i8_flops, F64, "1/s", "the same, i8"),
};

static const struct atoll_column candidate_columns[] = {
    OWNER(candidate),
    KEY(candidate, id, ID, "", "hash of task, language, plan, source and chosen parameters"),
    COL(candidate, event, U64, "", "number of the event whose decisions proposed it first"),
    COL(candidate, evaluation, U64, "", "number of its first evaluation"),
    COL(candidate, campaign_ns, I64, "ns", "campaign time of the proposal"),
    COL(candidate, task, U32, "", "task"),
    COL(candidate, island, U32, "", "island"),
    COL(candidate, generation, U32, "", "generation of the island"),
    OPERATOR(candidate, "how it was made"),
    COL(candidate, parent, ID, "", "candidate it was derived from, zero = none"),
    COL(candidate, source_id, ID, "", "hash of language and source text"),
    COL(candidate, language, TEXT, "", "language of the source"),
    COL(candidate, source, TEXT, "", "source text with its launch plan"),
    COL(candidate, plan, TEXT, "", "launch plan as canonical JSON"),
    COL(candidate, choice, TEXT, "", "chosen parameters, NAME=VALUE ..."),
    COL(candidate, origin, TEXT, "", "who gave the source: a seed's name, import, a model"),
    ADDED(candidate, model, U32, "", "device model it was proposed for first", 4),
    ADDED(candidate, ask, U64, "", "ask it answers, 0 = none", 4),
};

static const struct atoll_column evaluation_columns[] = {
    OWNER(evaluation),
    EVENT(evaluation),
    COL(evaluation, evaluation, U64, "", "number of the dispatch; a retry has its own"),
    COL(evaluation, candidate, ID, "", "candidate"),
    COL(evaluation, task, U32, "", "task"),
    COL(evaluation, device, U64, "", "key of the device"),
    ENUM(evaluation, verdict, verdict_name, ATOLL_VERDICT_COUNT, "verdict"),
    COL(evaluation, level, U8, "", "level of the cascade that decided, 0 = infrastructure"),
    COL(evaluation, detail, TEXT, "", "evidence in sentences"),
    COL(evaluation, memory, U8, "", "behaviour cell, memory level 0..3"),
    COL(evaluation, algorithm, U8, "", "behaviour cell, algorithm level 0..3"),
    COL(evaluation, coordination, U8, "", "behaviour cell, coordination level 0..3"),
    COL(evaluation, binary, ID, "", "hash of the compiled object and plan, zero = not compiled"),
    COL(evaluation, started_unix_ns, I64, "ns", "start, Unix time of the evaluator"),
    COL(evaluation, campaign_ns, I64, "ns", "campaign time at which the result was journaled"),
    COL(evaluation, time_ns, F64, "ns", "weighted geometric mean of the variants' medians, 0 = not timed"),
    COL(evaluation, floor_ns, F64, "ns", "the same of the roofline floors"),
    COL(evaluation, fitness, F64, "", "fitness against the task's baseline, 0..1"),
    COL(evaluation, compile_ns, F64, "ns", "compile time"),
    COL(evaluation, check_ns, F64, "ns", "time of the correctness checks"),
    COL(evaluation, sampling_ns, F64, "ns", "time of the timing samples"),
    COL(evaluation, occupied_ns, F64, "ns", "device time of everything of ours"),
    COL(evaluation, candidate_ns, F64, "ns", "device time of the candidate itself"),
    COL(evaluation, code_bytes, U32, "B", "size of the compiled code"),
    COL(evaluation, draw_count, U32, "", "draws used"),
    COL(evaluation, fully_compared_count, U32, "", "draws compared element by element"),
    COL(evaluation, worst_error, F64, "", "largest error in units of the tolerance, below 1 is right"),
    ADDED(evaluation, model, U32, "", "device model whose population it belongs to", 4),
    ADDED(evaluation, time_lo_ns, F64, "ns",
          "weighted geometric mean of the lower ends of the timings' 95 % intervals", 6),
    ADDED(evaluation, time_hi_ns, F64, "ns", "the same of the upper ends", 6),
    {COLUMN(evaluation, floor_model, U8, "", "how floor_ns was made"), .value_name = floor_model_name,
     .value_count = ATOLL_FLOOR_MODEL_COUNT, .since = 6},
    ADDED(evaluation, beyond_precisions, U32, "",
          "bits of classes of instructions in the image, in the order of the columns mix_, that compute less "
          "exactly than the task's precisions",
          6),
    ADDED_ENUM(evaluation, error_class, error_class_name, ATOLL_ERROR_COUNT, "kind of its failure"),
    ADDED_ENUM(evaluation, limiter, limiter_name, ATOLL_LIMITER_COUNT,
               "what a correct one is limited by: the busiest unit, or why none is busy"),
    ADDED(
        evaluation, limiter_percent, F64, "%",
        "of the unit's peak; latency: share of the waiting that stall has; occupancy: warps that fit; tail: "
        "idle time of the device, or warps that fit and are missing; launch: share of the time that an empty "
        "one takes; spills: share of the binary's instructions",
        6),
    ADDED_ENUM(evaluation, next_limiter, limiter_name, ATOLL_LIMITER_COUNT, "the busiest unit beside it"),
    ADDED(evaluation, next_percent, F64, "%", "of its peak", 6),
    ADDED(evaluation, is_counted, U8, "",
          "1 = these were read by counters, 2 = in a run a tenth shorter than the timed ones, 3 = a tenth "
          "longer, 0 = estimated from time",
          6),
    ADDED_ENUM(evaluation, stall, stall_name, ATOLL_STALL_COUNT, "what its warps wait for most, by families"),
    ADDED(evaluation, stall_percent, F64, "%", "of a warp's time", 6),
    ADDED_ENUM(
        evaluation, occupancy_limit, occupancy_limit_name, ATOLL_OCCUPANCY_COUNT,
        "where few warps are among the reasons: what keeps more out; blocks: there are too few of them"),
    ADDED(evaluation, unused, U32, "",
          "bits of what the device offers and the binary does not use: 1 tensor units, 2 wgmma, 4 bulk "
          "copies, 8 "
          "asynchronous copies, 16 clusters, 32 f8, 64 128-bit accesses, 128 AVX-512, 256 AVX2, 512 fused "
          "multiply-add, 1024 vectors for most of its arithmetic",
          6),
    ADDED(evaluation, traffic_efficiency, F64, "",
          "bytes that have to be moved over bytes that device memory moved, 0 = not counted", 6),
    ADDED(evaluation, memory_percent, F64, "%",
          "bytes that have to be moved over time, of the measured bandwidth, 0 = not known", 6),
    ADDED(evaluation, useful_flops_per_s, F64, "1/s", "useful operations over time, 0 = not known", 6),
    ADDED_ENUM(evaluation, arithmetic, arithmetic_name, ATOLL_MIX_COUNT + 1,
               "class of instructions that does most of them"),
    ADDED(evaluation, arithmetic_percent, F64, "%", "useful operations of its measured peak, 0 = not known",
          6),
};

static const struct atoll_column timing_columns[] = {
    OWNER(timing),
    EVENT(timing),
    COL(timing, evaluation, U64, "", "evaluation"),
    KEY(timing, variant, U32, "", "number of the variant in the task"),
    COL(timing, variant_name, TEXT, "", "its name"),
    COL(timing, flags, U32, "",
        "1 dropped early, 2 time limit reached, 4 below the audit floor, 8 and 16 see floor_model, 32 "
        "reference.cu said "
        "what is right"),
    COL(timing, sample_count, U32, "", "samples kept"),
    COL(timing, discarded_count, U32, "", "samples thrown away for clocks or slowdown"),
    COL(timing, min_ns, F64, "ns", "smallest sample"),
    COL(timing, p10_ns, F64, "ns", "10th percentile"),
    COL(timing, median_ns, F64, "ns", "median"),
    COL(timing, p90_ns, F64, "ns", "90th percentile"),
    COL(timing, max_ns, F64, "ns", "largest sample"),
    COL(timing, lo95_ns, F64, "ns", "lower end of the median's 95 % interval"),
    COL(timing, hi95_ns, F64, "ns", "upper end of it"),
    COL(timing, relative_half_width, F64, "", "half its width over the median"),
    COL(timing, floor_ns, F64, "ns", "roofline floor of the variant on the device"),
    COL(timing, resolution_ns, F64, "ns", "resolution of clock and launch"),
    {COLUMN(timing, floor_model, U8, "", "how floor_ns was made"), .value_name = floor_model_name,
     .value_count = ATOLL_FLOOR_MODEL_COUNT, .since = 6},
    ADDED(timing, path, U8, "", "which of the plan's paths ran, from 1; 0 = the plan has one way", 6),
};

static const struct atoll_column sample_columns[] = {
    OWNER(sample),
    EVENT(sample),
    COL(sample, evaluation, U64, "", "evaluation"),
    KEY(sample, variant, U32, "", "number of the variant in the task"),
    KEY(sample, number, U32, "", "number of the sample, in the order taken"),
    COL(sample, time_ns, F64, "ns", "time"),
};

static const struct atoll_column duel_columns[] = {
    OWNER(duel),
    EVENT(duel),
    COL(duel, evaluation, U64, "", "number of the dispatch"),
    COL(duel, task, U32, "", "task"),
    COL(duel, island, U32, "", "island"),
    ENUM(duel, purpose, purpose_name, ATOLL_DUEL_PURPOSE_COUNT, "why they were compared"),
    ENUM(duel, verdict, verdict_name, ATOLL_VERDICT_COUNT, "correct when the comparison was carried out"),
    COL(duel, better, U8, "", "1 = the challenger is better by the margin"),
    COL(duel, challenger, ID, "", "challenging candidate"),
    COL(duel, elite, ID, "", "defending candidate"),
    COL(duel, ratio, F64, "", "elite time over challenger time"),
    COL(duel, p_value, F64, "", "one-sided p-value of the last look"),
    COL(duel, pair_count, U32, "", "interleaved pairs"),
    COL(duel, elite_ns, F64, "ns", "time of the elite"),
    COL(duel, challenger_ns, F64, "ns", "time of the challenger"),
    COL(duel, occupied_ns, F64, "ns", "device time of everything of ours"),
    COL(duel, candidate_ns, F64, "ns", "device time of the two candidates"),
    COL(duel, device, U64, "", "key of the device"),
    COL(duel, campaign_ns, I64, "ns", "campaign time at which the result was journaled"),
    COL(duel, detail, TEXT, "", "evidence in sentences"),
    ADDED(duel, model, U32, "", "device model whose population it belongs to", 4),
    ADDED(duel, ratio_lo, F64, "", "lower end of the ratio's 95 % interval, 0 = not known", 6),
    ADDED(duel, ratio_hi, F64, "", "upper end of it", 6),
    ADDED(duel, elite_lo_ns, F64, "ns", "lower end of the 95 % interval of the elite's time", 6),
    ADDED(duel, elite_hi_ns, F64, "ns", "upper end of it", 6),
    ADDED(duel, challenger_lo_ns, F64, "ns", "lower end of the 95 % interval of the challenger's time", 6),
    ADDED(duel, challenger_hi_ns, F64, "ns", "upper end of it", 6),
    ADDED(duel, rival, TEXT, "",
          "name of the rival that stands in the elite's place, empty where a candidate does", 6),
};

static const struct atoll_column elite_columns[] = {
    OWNER(elite),
    EVENT(elite),
    KEY(elite, ordinal, U32, "", "number of the decision among those of its event"),
    COL(elite, task, U32, "", "task"),
    COL(elite, island, U32, "", "island"),
    COL(elite, memory, U8, "", "cell, memory level 0..3"),
    COL(elite, algorithm, U8, "", "cell, algorithm level 0..3"),
    COL(elite, coordination, U8, "", "cell, coordination level 0..3"),
    COL(elite, candidate, ID, "", "candidate that took the cell"),
    COL(elite, replaced, ID, "", "candidate it replaced, zero = the cell was empty"),
    COL(elite, time_ns, F64, "ns", "its time"),
    COL(elite, fitness, F64, "", "its fitness"),
    COL(elite, campaign_ns, I64, "ns", "campaign time"),
    ADDED(elite, model, U32, "", "device model", 4),
};

static const struct atoll_column migration_columns[] = {
    OWNER(migration),
    EVENT(migration),
    KEY(migration, ordinal, U32, "", "number of the decision among those of its event"),
    COL(migration, task, U32, "", "task"),
    COL(migration, from_island, U32, "", "island it comes from"),
    COL(migration, to_island, U32, "", "island it goes to"),
    COL(migration, candidate, ID, "", "candidate"),
    COL(migration, campaign_ns, I64, "ns", "campaign time"),
    ADDED(migration, model, U32, "", "device model", 4),
};

static const struct atoll_column decision_columns[] = {
    OWNER(decision),
    EVENT(decision),
    KEY(decision, ordinal, U32, "", "number of the decision among those of its event"),
    ENUM(decision, type, decision_name, ATOLL_DECISION_TYPE_COUNT, "what was decided"),
    COL(decision, task, U32, "", "task"),
    COL(decision, evaluation, U64, "", "evaluation it orders, where it orders one"),
    COL(decision, candidate, ID, "", "candidate it is about"),
    COL(decision, time_ns, F64, "ns", "time of the candidate where the decision has one"),
    ENUM(decision, reason, reason_name, ATOLL_REASON_COUNT, "reason of task_done and stop"),
    COL(decision, campaign_ns, I64, "ns", "campaign time"),
    ADDED(decision, model, U32, "", "device model", 4),
};

static const struct atoll_column rival_columns[] = {
    OWNER(rival),
    EVENT(rival),
    COL(rival, evaluation, U64, "", "number of the dispatch"),
    COL(rival, task, U32, "", "task"),
    COL(rival, number, U32, "", "number of the rival in the task"),
    COL(rival, model, U32, "", "device model it was measured on"),
    COL(rival, name, TEXT, "", "its name"),
    COL(rival, expression, TEXT, "", "what it computes, Python; empty: the module that is the reference"),
    COL(rival, versions, TEXT, "", "of torch and what it uses"),
    ENUM(rival, mode, mode_name, ATOLL_TORCH_MODE_COUNT, "how PyTorch runs it"),
    ENUM(rival, verdict, verdict_name, ATOLL_VERDICT_COUNT,
         "correct; wrong: its outputs miss the reference; compile_error: it raises or is not supported"),
    COL(rival, detail, TEXT, "", "evidence in sentences"),
    COL(rival, device, U64, "", "key of the device"),
    COL(rival, started_unix_ns, I64, "ns", "start, Unix time of the evaluator"),
    COL(rival, campaign_ns, I64, "ns", "campaign time at which the result was journaled"),
    COL(rival, time_ns, F64, "ns", "weighted geometric mean of the variants' medians, 0 = not timed"),
    COL(rival, time_lo_ns, F64, "ns", "the same of the lower ends of the timings' 95 % intervals"),
    COL(rival, time_hi_ns, F64, "ns", "the same of the upper ends"),
    COL(rival, host_ns, F64, "ns", "the same of one call that nothing queues ahead; 0 = not known"),
    COL(rival, worst_error, F64, "", "largest error in units of the tolerance, below 1 is right"),
    COL(rival, compile_ns, F64, "ns", "time of compiling and autotuning"),
    COL(rival, occupied_ns, F64, "ns", "device time of all of it"),
};

static const struct atoll_column rival_timing_columns[] = {
    OWNER(rival_timing),
    EVENT(rival_timing),
    COL(rival_timing, evaluation, U64, "", "number of the dispatch"),
    KEY(rival_timing, variant, U32, "", "number of the variant in the task"),
    COL(rival_timing, variant_name, TEXT, "", "its name"),
    COL(rival_timing, flags, U32, "", "as in timings"),
    COL(rival_timing, sample_count, U32, "", "samples kept"),
    COL(rival_timing, discarded_count, U32, "", "samples thrown away for clocks or slowdown"),
    COL(rival_timing, min_ns, F64, "ns", "smallest sample"),
    COL(rival_timing, p10_ns, F64, "ns", "10th percentile"),
    COL(rival_timing, median_ns, F64, "ns", "median"),
    COL(rival_timing, p90_ns, F64, "ns", "90th percentile"),
    COL(rival_timing, max_ns, F64, "ns", "largest sample"),
    COL(rival_timing, lo95_ns, F64, "ns", "lower end of the median's 95 % interval"),
    COL(rival_timing, hi95_ns, F64, "ns", "upper end of it"),
    COL(rival_timing, relative_half_width, F64, "", "half its width over the median"),
    COL(rival_timing, resolution_ns, F64, "ns", "resolution of clock and launch"),
    COL(rival_timing, host_ns, F64, "ns", "one call that nothing queues ahead, 0 = not known"),
};

static const struct atoll_column rival_sample_columns[] = {
    OWNER(sample),
    EVENT(sample),
    COL(sample, evaluation, U64, "", "number of the dispatch"),
    KEY(sample, variant, U32, "", "number of the variant in the task"),
    KEY(sample, number, U32, "", "number of the sample, in the order taken"),
    COL(sample, time_ns, F64, "ns", "time"),
};

#define PART(index, part, text)                                                                              \
    {                                                                                                        \
        .name = part "_ns", .type = ATOLL_COLUMN_F64,                                                        \
        .offset = FIELD(device_time, time.ns[ATOLL_TIME_##index]), .unit = "ns", .description = text         \
    }

static const struct atoll_column device_time_columns[] = {
    OWNER(device_time),
    KEY(device_time, attempt, U32, "", "number of the attempt: a job's part of the campaign"),
    KEY(device_time, device, U64, "", "key of the device"),
    KEY(device_time, task, U32, "", "task that it worked on, 4294967295 = none"),
    COL(device_time, job, TEXT, "", "the attempt's folder below jobs: job and number"),
    COL(device_time, began_unix_ns, I64, "ns", "beginning of the attempt, Unix time"),
    COL(device_time, told_unix_ns, I64, "ns", "when it was told last, Unix time"),
    PART(CANDIDATES, "candidates", "a candidate ran; one that hung, up to its deadline"),
    PART(INPUTS, "inputs", "buffers, guards, inputs and fills were made"),
    PART(FLUSH, "flush", "caches were emptied"),
    PART(ANSWERS, "answers", "the reference said what is right, or it was looked up"),
    PART(CHECKS, "checks", "guards, inputs and outputs were looked at, accesses watched"),
    PART(PROCESSES, "processes",
         "processes of samples were begun and ended; of a device, the way there and back"),
    PART(COUNTERS, "counters", "hardware counters were read"),
    PART(RIVALS, "rivals", "rivals were built and timed"),
    PART(OTHER, "other", "what else orders took"),
    PART(COMPILING, "compiling", "orders waited for compilers, or to be loaded"),
    PART(TASKS, "tasks", "tasks were made known"),
    PART(START, "start", "the device was opened, calibrated, qualified; or had no evaluator"),
    PART(IDLE, "idle", "no order was in hand"),
};

static const char *hint_origin_name(unsigned v)
{
    return atoll_hint_origin_name((enum atoll_hint_origin)v);
}

static const char *brief_kind_name(unsigned v)
{
    return atoll_brief_kind_name((enum atoll_brief_kind)v);
}

static const char *tool_status_name(unsigned v)
{
    return atoll_tool_status_name((enum atoll_tool_status)v);
}

static const char *outcome_name(unsigned v)
{
    static const char *const names[] = {"open", "no_gain", "gain"};
    return v < sizeof(names) / sizeof(*names) ? names[v] : "unknown";
}

static const char *item_kind_name(unsigned v)
{
    return atoll_item_kind_name((enum atoll_item_kind)v);
}

static const char *stage_name(unsigned v)
{
    return atoll_stage_name((enum atoll_issue_stage)v);
}

static const struct atoll_column hint_columns[] = {
    OWNER(hint),
    KEY(hint, id, ID, "", "hash of trigger, texts and where it holds"),
    COL(hint, name, TEXT, "", "name, for people"),
    COL(hint, trigger, TEXT, "", "what of a diagnosis it answers to"),
    COL(hint, language, TEXT, "", "language it is for, empty: any"),
    COL(hint, device, TEXT, "", "family of devices it is for, empty: any"),
    COL(hint, category, TEXT, "", "category of tasks it is for, empty: any"),
    COL(hint, role, TEXT, "", "role of the islands it is for, empty: all"),
    COL(hint, context, TEXT, "", "where it holds"),
    COL(hint, advice, TEXT, "", "what to do"),
    COL(hint, source, TEXT, "", "who says so"),
    ENUM(hint, origin, hint_origin_name, ATOLL_HINT_ORIGIN_COUNT, "where it comes from"),
    COL(hint, uses, F64, "", "asks of this campaign that were told it"),
    COL(hint, outcomes, F64, "", "of these, with a kernel that was measured"),
    COL(hint, wins, F64, "", "of these, followed by a gain"),
    COL(hint, expected, F64, "", "wins that asks of the same kinds had, with whatever they were told"),
    COL(hint, gains, F64, "", "outcomes with a time of parent and kernel"),
    COL(hint, mean_gain, F64, "", "their time of the parent over the kernel's, geometric mean, 0 = none"),
    COL(hint, confidence, F64, "", "wins per outcome, with its prior"),
    COL(hint, lift, F64, "", "wins over expected ones, with its prior"),
    COL(hint, dropped, U8, "", "1 = it loses, and is told no more"),
    COL(hint, prior_uses, F64, "", "uses of earlier campaigns, as far as they count"),
    COL(hint, prior_outcomes, F64, "", "their outcomes"),
    COL(hint, prior_wins, F64, "", "their wins"),
    COL(hint, prior_expected, F64, "", "their expected wins"),
    COL(hint, prior_gains, F64, "", "their outcomes with times"),
    COL(hint, prior_mean_gain, F64, "", "their mean gain, 0 = none"),
};

#define ORDINAL(row) KEY(row, ordinal, U32, "", "number of it in the event")
#define ASK(row)     COL(row, ask, U64, "", "number of the ask")

static const struct atoll_column hint_use_columns[] = {
    OWNER(hint_use),
    EVENT(hint_use),
    ORDINAL(hint_use),
    ASK(hint_use),
    COL(hint_use, hint, ID, "", "hint that it was told"),
    COL(hint_use, name, TEXT, "", "its name"),
    COL(hint_use, score, F64, "", "how well it fitted"),
    COL(hint_use, task, U32, "", "task"),
    COL(hint_use, model, U32, "", "device model"),
    ENUM(hint_use, error_class, error_class_name, ATOLL_ERROR_COUNT, "of the parent"),
    ENUM(hint_use, limiter, limiter_name, ATOLL_LIMITER_COUNT, "of the parent"),
    COL(hint_use, parent_ns, F64, "ns", "time of the parent, 0 = it is wrong, or there is none"),
    ENUM(hint_use, outcome, outcome_name, 3, "what followed"),
    COL(hint_use, candidate, ID, "", "the best candidate that answered so far"),
    ENUM(hint_use, verdict, verdict_name, ATOLL_VERDICT_COUNT, "its verdict"),
    COL(hint_use, time_ns, F64, "ns", "its time, 0 = not timed"),
};

static const struct atoll_column memory_columns[] = {
    OWNER(memory),
    EVENT(memory),
    ORDINAL(memory),
    ASK(memory),
    COL(memory, task, U32, "", "task"),
    COL(memory, model, U32, "", "device model"),
    COL(memory, slow, ID, "", "slower candidate of the pair"),
    COL(memory, fast, ID, "", "faster one"),
    COL(memory, slow_ns, F64, "ns", "time of the slower one, 0 = not known"),
    COL(memory, fast_ns, F64, "ns", "time of the faster one"),
    COL(memory, title, TEXT, "", "title of the rewrite"),
    COL(memory, text, TEXT, "", "what makes the difference"),
    COL(memory, before, TEXT, "", "sketch of the slower one"),
    COL(memory, after, TEXT, "", "sketch of the faster one"),
};

static const struct atoll_column brief_columns[] = {
    OWNER(brief),
    EVENT(brief),
    ORDINAL(brief),
    ASK(brief),
    ENUM(brief, kind, brief_kind_name, ATOLL_BRIEF_KIND_COUNT, "what was given"),
    COL(brief, id, ID, "", "of what was given, zero: it has none"),
    COL(brief, title, TEXT, "", "its title"),
    COL(brief, text, TEXT, "", "its text, as the prompt had it"),
    COL(brief, score, F64, "", "how well it fitted; of a candidate its time in ns"),
};

static const struct atoll_column tool_call_columns[] = {
    OWNER(tool_call),
    EVENT(tool_call),
    ORDINAL(tool_call),
    ASK(tool_call),
    COL(tool_call, turn, U32, "", "turn of the ask, from 0"),
    COL(tool_call, call, TEXT, "", "its identity, as the model said it"),
    COL(tool_call, name, TEXT, "", "what was called"),
    COL(tool_call, arguments, TEXT, "", "with what, JSON"),
    COL(tool_call, result, TEXT, "", "what it gave"),
    ENUM(tool_call, status, tool_status_name, ATOLL_TOOL_STATUS_COUNT, "how it went"),
    COL(tool_call, elapsed_s, F64, "s", "how long it took"),
    COL(tool_call, request, ID, "", "identity of the turn's request at the gateway"),
    COL(tool_call, said, TEXT, "",
        "what the model said in the turn; here and behind with its first call alone"),
    COL(tool_call, thought, TEXT, "", "what came in the reasoning channel"),
    COL(tool_call, input_tokens, U64, "", "tokens of the turn, in"),
    COL(tool_call, output_tokens, U64, "", "tokens of the turn, out"),
    COL(tool_call, cost_usd, F64, "USD", "what the turn cost"),
};

static const struct atoll_column item_columns[] = {
    OWNER(item),
    KEY(item, ask, U64, "", "number of the ask"),
    KEY(item, ordinal, U32, "", "number of it in the reply"),
    ENUM(item, kind, item_kind_name, ATOLL_ITEM_KIND_COUNT, "what it is"),
    COL(item, issue, TEXT, "", "of an issue its type; one of the model's own is named by the title"),
    ENUM(item, stage, stage_name, ATOLL_ISSUE_STAGE_COUNT, "of an issue or proposal: stage that works on it"),
    COL(item, severity, U8, "", "of an issue: 1 to 5, 0 = unsaid"),
    COL(item, gain_low, F64, "", "expected speedup, from; 0 = unsaid"),
    COL(item, gain_high, F64, "", "to"),
    COL(item, title, TEXT, "", "title; of a hint its trigger"),
    COL(item, text, TEXT, "", "what is to be done, or what is wrong"),
    COL(item, why, TEXT, "", "why"),
    COL(item, before, TEXT, "", "the code it is about, or a sketch of it"),
    COL(item, after, TEXT, "", "the same afterwards; of an issue the fix"),
};

static const struct atoll_column section_columns[] = {
    OWNER(section),
    KEY(section, ask, U64, "", "number of the ask"),
    KEY(section, ordinal, U32, "", "number of it in the prompt"),
    COL(section, name, TEXT, "", "what it tells"),
    COL(section, bytes, U32, "B", "of the user text"),
    COL(section, cut_bytes, U32, "B", "what did not fit"),
};

static const struct atoll_column judgement_columns[] = {
    OWNER(judgement),
    KEY(judgement, ask, U64, "", "number of the ask"),
    COL(judgement, event, U64, "", "number of the journaled event that answered it"),
    COL(judgement, task, U32, "", "task"),
    COL(judgement, model, U32, "", "device model"),
    COL(judgement, candidate, ID, "", "candidate that was shown"),
    COL(judgement, source_id, ID, "",
        "hash of its language and source text: all candidates of it are judged"),
    ENUM(judgement, status, reply_name, ATOLL_REPLY_STATUS_COUNT + 1, "how it was answered"),
    COL(judgement, likelihood, F64, "",
        "that it cheats, 0 to 1; counts where the status is ok, else it stays"),
    COL(judgement, discarded, U8, "", "1 = above the limit: its candidates are correct no more"),
    COL(judgement, reason, TEXT, "", "why, in the judge's words"),
};

static const struct atoll_column knowledge_entry_columns[] = {
    OWNER(hint),
    KEY(hint, id, ID, "", "hash of the entry's identity"),
    COL(hint, name, TEXT, "", "its name"),
    {"kind", ATOLL_COLUMN_TEXT, 0, offsetof(struct atoll_row_hint, trigger), "",
     "constraint, pattern, example, hardware or kernel", NULL, 0, 0, 0},
    {"text", ATOLL_COLUMN_TEXT, 0, offsetof(struct atoll_row_hint, advice), "", "as it was told first", NULL,
     0, 0, 0},
    COL(hint, uses, F64, "", "asks of this campaign that were told it"),
    COL(hint, outcomes, F64, "", "of these, with a kernel that was measured"),
    COL(hint, wins, F64, "", "of these, followed by a gain"),
    COL(hint, expected, F64, "", "wins that asks of the same kinds had, with whatever they were told"),
    COL(hint, gains, F64, "", "outcomes with a time of parent and kernel"),
    COL(hint, mean_gain, F64, "", "their time of the parent over the kernel's, geometric mean, 0 = none"),
    COL(hint, confidence, F64, "", "wins per outcome, with its prior"),
    COL(hint, lift, F64, "", "wins over expected ones, with its prior"),
    COL(hint, dropped, U8, "", "1 = it loses, and is told no more unless it is critical"),
};

static const struct atoll_column knowledge_use_columns[] = {
    OWNER(hint_use),
    EVENT(hint_use),
    ORDINAL(hint_use),
    ASK(hint_use),
    {"entry", ATOLL_COLUMN_ID, 0, offsetof(struct atoll_row_hint_use, hint), "", "entry that it was told",
     NULL, 0, 0, 0},
    COL(hint_use, name, TEXT, "", "its name"),
    COL(hint_use, score, F64, "", "how well it fitted"),
    COL(hint_use, task, U32, "", "task"),
    COL(hint_use, model, U32, "", "device model"),
    ENUM(hint_use, error_class, error_class_name, ATOLL_ERROR_COUNT, "of the parent"),
    ENUM(hint_use, limiter, limiter_name, ATOLL_LIMITER_COUNT, "of the parent"),
    COL(hint_use, parent_ns, F64, "ns", "time of the parent, 0 = it is wrong, or there is none"),
    ENUM(hint_use, outcome, outcome_name, 3, "what followed"),
    COL(hint_use, candidate, ID, "", "the best candidate that answered so far"),
    ENUM(hint_use, verdict, verdict_name, ATOLL_VERDICT_COUNT, "its verdict"),
    COL(hint_use, time_ns, F64, "ns", "its time, 0 = not timed"),
};

static const struct atoll_column knowledge_columns[] = {
    OWNER(knowledge),
    KEY(knowledge, id, ID, "", "hash of its path"),
    COL(knowledge, path, TEXT, "", "below the folder of knowledge"),
    COL(knowledge, text, TEXT, "", "all of it"),
};

static const struct atoll_column prompt_columns[] = {
    OWNER(prompt),
    KEY(prompt, task, U32, "", "task whose asks draw from it, 4294967295 = all of the device model"),
    KEY(prompt, model, U32, "", "device model"),
    KEY(prompt, language, TEXT, "", "whose text it is"),
    KEY(prompt, version, U32, "", "the ask whose answer made it, 0 = the text as it came"),
    COL(prompt, parent, U32, "", "version that was edited"),
    COL(prompt, uses, U32, "", "asks that were worded with it"),
    COL(prompt, answers, U32, "", "candidates of theirs that were evaluated"),
    COL(prompt, fitness, F64, "",
        "factor of the speed over the parent, beside what the task gives; 1 = nothing"),
    COL(prompt, best, F64, "", "largest speedup of one of them over its parent; 1 = none"),
    COL(prompt, dropped, U8, "", "1 = it lost, or gave way to others; its figures are those of that time"),
    COL(prompt, text, TEXT, "", "all of it"),
};

#define TABLE6(noun, name, text)                                                                             \
    {                                                                                                        \
        name, text, sizeof(struct atoll_row_##noun), sizeof(noun##_columns) / sizeof(*noun##_columns),       \
            noun##_columns, 6                                                                                \
    }
#define TABLE(noun, name, text)                                                                              \
    {                                                                                                        \
        name, text, sizeof(struct atoll_row_##noun), sizeof(noun##_columns) / sizeof(*noun##_columns),       \
            noun##_columns, 0                                                                                \
    }

static const struct atoll_table_schema tables[ATOLL_TABLE_COUNT] = {
    TABLE(campaign, "campaign", "one row per campaign"),
    TABLE(task, "tasks", "one row per task and device model, as it stood last"),
    TABLE(device, "devices", "one row per device that evaluated"),
    {"asks", "one row per ask of an operator outside the engine, as it stood last",
     sizeof(struct atoll_row_ask), sizeof(ask_columns) / sizeof(*ask_columns), ask_columns, 4},
    TABLE(candidate, "candidates", "one row per proposed candidate"),
    TABLE(evaluation, "evaluations", "one row per journaled result of a candidate"),
    TABLE(timing, "timings", "one row per timed variant of an evaluation"),
    TABLE(sample, "samples", "one row per raw timing sample"),
    {"profiles", "one row per evaluation of whose binary or counters something is known",
     sizeof(struct atoll_row_profile), PROFILE_COLUMN_COUNT, profile_columns, 2},
    TABLE(duel, "duels", "one row per interleaved comparison of two candidates"),
    TABLE(elite, "elites", "one row per change of an elite, in order"),
    TABLE(migration, "migrations", "one row per migration between islands"),
    TABLE(decision, "decisions", "one row per decision of the search, in order"),
    {"rivals", "one row per measurement of a rival", sizeof(struct atoll_row_rival),
     sizeof(rival_columns) / sizeof(*rival_columns), rival_columns, 6},
    {"rival_timings", "one row per timed variant of a rival's measurement",
     sizeof(struct atoll_row_rival_timing), sizeof(rival_timing_columns) / sizeof(*rival_timing_columns),
     rival_timing_columns, 6},
    {"rival_samples", "one row per raw timing sample of a rival", sizeof(struct atoll_row_sample),
     sizeof(rival_sample_columns) / sizeof(*rival_sample_columns), rival_sample_columns, 6},
    {"device_time", "one row per attempt, device and task that it took time for, as it stood last",
     sizeof(struct atoll_row_device_time), sizeof(device_time_columns) / sizeof(*device_time_columns),
     device_time_columns, 6},
    TABLE6(hint, "hints", "one row per hint that the campaign has, as it stood last"),
    TABLE6(hint_use, "hint_uses", "one row per ask and hint that it was told, as it stood last"),
    TABLE6(memory, "memory", "one row per rewrite that a model made of a slow and a fast kernel"),
    TABLE6(brief, "briefs", "one row per thing that an ask was given beside what it names"),
    TABLE6(tool_call, "tool_calls", "one row per call of a tool by a model"),
    TABLE6(item, "items", "one row per plan, issue, proposal, rewrite or hint in a reply"),
    TABLE6(section, "sections", "one row per section of a prompt"),
    {"knowledge_entries", "one row per entry of the knowledge base that was told, as it stood last",
     sizeof(struct atoll_row_hint), sizeof(knowledge_entry_columns) / sizeof(*knowledge_entry_columns),
     knowledge_entry_columns, 6},
    {"knowledge_uses", "one row per ask and entry of the knowledge base that it was told, as it stood last",
     sizeof(struct atoll_row_hint_use), sizeof(knowledge_use_columns) / sizeof(*knowledge_use_columns),
     knowledge_use_columns, 6},
    TABLE6(knowledge, "knowledge", "one row per text of what models were told of (knowledge.json)"),
    TABLE6(judgement, "judgements", "one row per answer of a judge, who says how likely a candidate cheats"),
    TABLE6(prompt, "prompts", "one row per version of a language's prompt text, as it stood last"),
};

const struct atoll_table_schema *atoll_table_schema(enum atoll_table table)
{
    return &tables[table];
}

int atoll_table_find(const char *name, enum atoll_table *ret_table)
{
    for (size_t i = 0; i < ATOLL_TABLE_COUNT; i++) {
        if (!strcmp(tables[i].name, name)) {
            *ret_table = (enum atoll_table)i;
            return 0;
        }
    }
    return -1;
}

const char *atoll_table_names(void)
{
    return "campaign, tasks, devices, asks, candidates, evaluations, timings, samples, profiles, duels, "
           "elites, migrations, decisions, rivals, rival_timings, rival_samples, device_time, hints, "
           "hint_uses, memory, briefs, tool_calls, items, sections, knowledge_entries, knowledge_uses, "
           "knowledge, judgements, prompts";
}

static const struct {
    const char *name;
    size_t bytes;
} types[ATOLL_COLUMN_TYPE_COUNT] = {{"u8", 1},   {"u32", 4},     {"u64", 8},
                                    {"i64", 8},  {"f64", 8},     {"id", ATOLL_ID_BYTES},
                                    {"text", 4}, {"campaign", 4}};

size_t atoll_column_bytes(enum atoll_column_type type)
{
    return types[type].bytes;
}

const char *atoll_column_type_name(enum atoll_column_type type)
{
    return types[type].name;
}
