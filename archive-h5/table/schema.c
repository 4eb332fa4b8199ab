/* schema.c - every table and column of the archive, with schema_profile.c and schema_models.c.  A column is never renamed or given another meaning: a change of the schema
 * adds columns, raises ATOLL_ARCHIVE_SCHEMA and leaves a golden file behind.  A column's name is the field's of the row struct;
 * in the table profiles a counter's column has the counter's name (core/profile.h), a class of instructions that name after
 * "mix_"; a test compares them. */
#include "archive-h5/table/schema_columns.h"

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

#define REFERENCE_KINDS 3

static const char *floor_model_name(unsigned v)
{
    return atoll_floor_model_name((enum atoll_floor_model)v);
}

static const char *stall_name(unsigned v)
{
    return atoll_stall_name((enum atoll_stall)v);
}

static const char *arithmetic_name(unsigned v)
{
    return v ? atoll_mix_name((enum atoll_mix)(v - 1)) : "unknown";
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
    ADDED(campaign, extensions, U32, "", "how often it was extended", 7),
    ADDED(campaign, extended_evaluations, U64, "", "evaluations granted by extensions, beside the budget", 7),
    ADDED(campaign, extended_device_ns, F64, "ns", "device time granted by extensions", 7),
    ADDED(campaign, extended_wall_ns, F64, "ns", "wall time granted by extensions", 7),
    ADDED(campaign, token_budget, U64, "", "tokens granted, 0 = no limit", 7),
    ADDED(campaign, money_budget_usd, F64, "USD", "money granted, 0 = no limit", 7),
    ADDED(campaign, extended_tokens, U64, "", "tokens granted by extensions", 7),
    ADDED(campaign, extended_money_usd, F64, "USD", "money granted by extensions", 7),
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
    NEW(device, memory_bytes, F64, "B",
        "device memory; cpu: of the machine, or what limits leave of it; 0 = not known"),
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

static const struct atoll_table_schema tables[ATOLL_TABLE_HINTS] = {
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
     sizeof(struct atoll_row_profile), ATOLL_PROFILE_COLUMN_COUNT, atoll_profile_columns, 2},
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
};

const struct atoll_table_schema *atoll_table_schema(enum atoll_table table)
{
    return table < ATOLL_TABLE_HINTS ? &tables[table] : &atoll_model_tables[table - ATOLL_TABLE_HINTS];
}

int atoll_table_find(const char *name, enum atoll_table *ret_table)
{
    for (size_t i = 0; i < ATOLL_TABLE_COUNT; i++) {
        if (!strcmp(atoll_table_schema((enum atoll_table)i)->name, name)) {
            *ret_table = (enum atoll_table)i;
            return 0;
        }
    }
    return -1;
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
