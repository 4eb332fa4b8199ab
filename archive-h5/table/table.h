/* table.h - the tables of an archive: one struct per row as it looks in memory, one schema for memory, HDF5, CSV and the
 * documentation, and rows in columns.  schema.c maps every field of a row to its column; a uint32_t called a text there is a
 * number in the table `texts`, 0 is "".
 * Layer: archive-h5, pure (no file, no HDF5).  Lifetime of struct atoll_tables: create/destroy; single owner.
 * docs/spec/archive.md is the contract; a test compares it with the schema. */
#ifndef ATOLL_ARCHIVE_H5_TABLE_TABLE_H
#define ATOLL_ARCHIVE_H5_TABLE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "core/device_time.h"
#include "core/diagnosis.h"
#include "core/profile.h"

struct atoll_row_campaign {
    struct atoll_id id;
    uint32_t engine_version, atoll_version;
    int64_t created_unix_ns;
    uint64_t seed;
    uint32_t islands, generation_size, migration_interval;
    double alpha, margin;
    uint64_t evaluation_budget;
    double device_budget_ns, wall_budget_ns;
    uint64_t events, noop_challenges, noop_promotions;
    int64_t campaign_ns;
    uint8_t stop_reason, timing; /* 0 cold, 1 warm */
    uint64_t tokens;
    double cost_usd;
    uint8_t strategy;
    uint32_t settings, suite, command_line, options;
    uint32_t extensions; /* how often it was extended, and by how much of each budget */
    uint64_t extended_evaluations;
    double extended_device_ns, extended_wall_ns;
    uint64_t token_budget, extended_tokens;
    double money_budget_usd, extended_money_usd;
};

struct atoll_row_task {
    uint32_t campaign, task;
    struct atoll_id id;
    uint32_t name, summary, definition, reference;
    struct atoll_id baseline, best;
    double baseline_ns, best_ns, floor_ns, best_fitness;
    double final_ratio, final_p, final_baseline_ns, final_best_ns;
    uint32_t final_pairs;
    uint8_t final_verdict;
    uint64_t evaluated, correct;
    uint32_t challenges, promotions;
    uint8_t done, reason;
    uint32_t model, model_name;
    double final_lo, final_hi, final_baseline_lo_ns, final_baseline_hi_ns, final_best_lo_ns, final_best_hi_ns;
    uint8_t floor_model; /* enum atoll_floor_model, of floor_ns; in evaluations and timings, too */
    uint32_t best_beyond_precisions; /* atoll_mix_beyond of the best candidate */
    uint32_t category, tags, instructions, origin_suite, origin_problem, origin_hash; /* texts */
    uint8_t level, reference_kind;
    uint32_t reference_device;  /* text */
    uint32_t rival, rival_mode; /* texts: names and modes of what is fastest somewhere */
    double rival_ns, rival_lo_ns, rival_hi_ns, rival_host_ns, eager_ns;
    double final_rival_ratio, final_rival_lo, final_rival_hi, final_rival_p;
    uint32_t final_rival_pairs;
    uint8_t final_rival_verdict;
    double final_rival_ns, final_rival_lo_ns, final_rival_hi_ns;
    double final_rival_best_ns, final_rival_best_lo_ns, final_rival_best_hi_ns;
};

struct atoll_row_device {
    uint32_t campaign;
    uint64_t key;
    uint32_t backend, model, uuid, node, toolchain, isolation;
    uint32_t threads;
    double bandwidth_bytes_per_s, peak_f64_flops, peak_f32_flops, peak_f16_flops, peak_bf16_flops;
    double empty_launch_ns, clock_resolution_ns, last_level_cache_bytes;
    uint32_t driver, target, counters;
    uint32_t compute_capability, multiprocessors, warp_size;
    uint32_t threads_per_block, threads_per_multiprocessor, blocks_per_multiprocessor;
    uint32_t registers_per_multiprocessor, registers_per_block;
    uint32_t shared_bytes_per_block, shared_bytes_per_multiprocessor;
    uint32_t cluster_blocks, cooperative, host_memory;
    double memory_bytes, clock_hz, memory_clock_hz;
    double tensor_f64_flops, tensor_tf32_flops, tensor_f16_flops, tensor_bf16_flops, tensor_f8_flops,
        tensor_i8_flops;
};

/* What was asked of an operator outside the engine, and what came of it. */
struct atoll_row_ask {
    uint32_t campaign;
    uint64_t number, event;
    int64_t campaign_ns, answered_ns;
    uint8_t kind, operator_; /* column "operator" */
    uint32_t task, model, island, generation;
    struct atoll_id parent;
    uint8_t stage, round, status; /* status: 0 open, else 1 + enum atoll_reply_status */
    uint32_t count;
    uint64_t issues, tokens;
    double cost_usd;
    uint32_t origin, sources, accepted;
    /* the dialogue, where a language model was asked: texts */
    struct atoll_id request;
    uint32_t system, prompt, answer, thought, detail;
    uint64_t input_tokens, cached_tokens, output_tokens, reasoning_tokens;
    double elapsed_s;
    uint8_t from_store;
    uint8_t role;
    uint32_t asked; /* text */
    uint32_t items, tool_calls;
    uint64_t tool_tokens;
    double tool_cost_usd;
    uint32_t improvements;
    double gain;
    uint32_t version; /* of the prompt text */
};

/* Of an ask's reply. */
struct atoll_row_item {
    uint32_t campaign;
    uint64_t ask;
    uint32_t ordinal;
    uint8_t kind;
    uint32_t issue; /* text */
    uint8_t stage, severity;
    double gain_low, gain_high;
    uint32_t title, text, why, before, after; /* texts */
};

/* Of an ask's prompt. */
struct atoll_row_section {
    uint32_t campaign;
    uint64_t ask;
    uint32_t ordinal, name /* text */, bytes, cut_bytes;
};

/* What a judge said of a source, by the candidate that it was shown. */
struct atoll_row_judgement {
    uint32_t campaign;
    uint64_t ask, event;
    uint32_t task, model;
    struct atoll_id candidate, source_id;
    uint8_t status; /* as of asks */
    double likelihood;
    uint8_t discarded;
    uint32_t reason; /* text */
};

/* A version of a language's prompt text. */
struct atoll_row_prompt {
    uint32_t campaign;
    uint32_t task, model; /* task: ATOLL_NONE of all tasks */
    uint32_t language;    /* text */
    uint32_t version, parent, uses, answers;
    double fitness, best;
    uint8_t dropped;
    uint32_t text; /* text */
};

/* A text of the campaign's knowledge. */
struct atoll_row_knowledge {
    uint32_t campaign;
    struct atoll_id id;
    uint32_t path, text; /* texts */
};

struct atoll_row_candidate {
    uint32_t campaign;
    struct atoll_id id;
    uint64_t event, evaluation;
    int64_t campaign_ns;
    uint32_t task, island, generation;
    uint8_t operator_; /* column "operator" */
    struct atoll_id parent, source_id;
    uint32_t language, source, plan, choice, origin;
    uint32_t model;
    uint64_t ask;
};

struct atoll_row_evaluation {
    uint32_t campaign;
    uint64_t event, evaluation;
    struct atoll_id candidate;
    uint32_t task;
    uint64_t device;
    uint8_t verdict, level;
    uint32_t detail;
    uint8_t memory, algorithm, coordination;
    struct atoll_id binary;
    int64_t started_unix_ns, campaign_ns;
    double time_ns, floor_ns, fitness;
    double compile_ns, check_ns, sampling_ns, occupied_ns, candidate_ns;
    uint32_t code_bytes, draw_count, fully_compared_count;
    double worst_error;
    uint32_t model;
    double time_lo_ns, time_hi_ns;
    uint8_t floor_model;
    uint32_t beyond_precisions;
    /* its diagnosis (core/diagnosis.h); atoll_row_diagnosis_get */
    uint8_t error_class, limiter;
    double limiter_percent;
    uint8_t next_limiter;
    double next_percent;
    uint8_t is_counted, stall;
    double stall_percent;
    uint8_t occupancy_limit;
    uint32_t unused;
    double traffic_efficiency, memory_percent, useful_flops_per_s;
    uint8_t arithmetic; /* 0 unknown, else 1 + enum atoll_mix */
    double arithmetic_percent;
};

struct atoll_row_timing {
    uint32_t campaign;
    uint64_t event, evaluation;
    uint32_t variant, variant_name, flags, sample_count, discarded_count;
    double min_ns, p10_ns, median_ns, p90_ns, max_ns, lo95_ns, hi95_ns, relative_half_width, floor_ns,
        resolution_ns;
    uint8_t floor_model;
    uint8_t path; /* of the plan's, from 1; 0 = the plan has one way */
};

struct atoll_row_sample {
    uint32_t campaign;
    uint64_t event, evaluation;
    uint32_t variant, number;
    double time_ns;
};

/* What is known of a binary and its counters; evaluations of which nothing is known have none. */
struct atoll_row_profile {
    uint32_t campaign;
    uint64_t event, evaluation;
    struct atoll_id candidate;
    uint32_t task;
    uint64_t device;
    uint8_t tier, limiter;
    uint32_t reason;
    double clock_hz;
    uint64_t throttle_reasons;
    double intensity_flops_per_byte, wall_ns;
    uint32_t kernel_count, registers, static_shared_bytes, dynamic_shared_bytes, stack_bytes,
        spill_store_bytes, spill_load_bytes;
    double theoretical_occupancy;
    double counters[ATOLL_COUNTER_COUNT]; /* a column each; NaN = not measured */
    uint32_t mix[ATOLL_MIX_COUNT];        /* a column each */
    uint32_t blocks, threads_per_block, resident_blocks, cluster_blocks;
    uint8_t occupancy_by;
};

struct atoll_row_duel {
    uint32_t campaign;
    uint64_t event, evaluation;
    uint32_t task, island;
    uint8_t purpose, verdict, better;
    struct atoll_id challenger, elite;
    double ratio, p_value;
    uint32_t pair_count;
    double elite_ns, challenger_ns, occupied_ns, candidate_ns;
    uint64_t device;
    int64_t campaign_ns;
    uint32_t detail, model;
    double ratio_lo, ratio_hi, elite_lo_ns, elite_hi_ns, challenger_lo_ns, challenger_hi_ns;
    uint32_t rival; /* text */
};

/* What PyTorch makes of a task, as measured once. */
struct atoll_row_rival {
    uint32_t campaign;
    uint64_t event, evaluation;
    uint32_t task, number, model, name, expression, versions;
    uint8_t mode, verdict;
    uint32_t detail;
    uint64_t device;
    int64_t started_unix_ns, campaign_ns;
    double time_ns, time_lo_ns, time_hi_ns, host_ns;
    double worst_error, compile_ns, occupied_ns;
};

struct atoll_row_rival_timing {
    uint32_t campaign;
    uint64_t event, evaluation;
    uint32_t variant, variant_name, flags, sample_count, discarded_count;
    double min_ns, p10_ns, median_ns, p90_ns, max_ns, lo95_ns, hi95_ns, relative_half_width, resolution_ns,
        host_ns;
};

struct atoll_row_elite {
    uint32_t campaign;
    uint64_t event;
    uint32_t ordinal, task, island;
    uint8_t memory, algorithm, coordination;
    struct atoll_id candidate, replaced;
    double time_ns, fitness;
    int64_t campaign_ns;
    uint32_t model;
};

struct atoll_row_migration {
    uint32_t campaign;
    uint64_t event;
    uint32_t ordinal, task, from_island, to_island;
    struct atoll_id candidate;
    int64_t campaign_ns;
    uint32_t model;
};

struct atoll_row_decision {
    uint32_t campaign;
    uint64_t event;
    uint32_t ordinal;
    uint8_t type;
    uint32_t task;
    uint64_t evaluation;
    struct atoll_id candidate;
    double time_ns;
    uint8_t reason;
    int64_t campaign_ns;
    uint32_t model;
};

/* Where the time of a device went in one attempt, of one task: ATOLL_TIME_OF_NO_TASK where it is of none. */
struct atoll_row_device_time {
    uint32_t campaign, attempt;
    uint64_t device;
    uint32_t task;
    uint32_t job; /* text */
    int64_t began_unix_ns, told_unix_ns;
    struct atoll_device_time time; /* a column for each part */
};

#define ATOLL_ARCHIVE_SCHEMA 7
#define ATOLL_COLUMN_LIMIT   96

/* A hint and what came of it; prior_: of earlier campaigns.  Also of the table knowledge_entries: trigger is the kind of the entry
 * then, advice what of it was told first. */
struct atoll_row_hint {
    uint32_t campaign;
    struct atoll_id id;
    uint32_t name, trigger, language, device, category, role, context, advice, source; /* texts */
    uint8_t origin, dropped;
    double uses, outcomes, wins, expected, gains, mean_gain, confidence, lift;
    double prior_uses, prior_outcomes, prior_wins, prior_expected, prior_gains, prior_mean_gain;
};

/* Of the table hint_uses, and of knowledge_uses. */
struct atoll_row_hint_use {
    uint32_t campaign;
    uint64_t event;
    uint32_t ordinal;
    uint64_t ask;
    struct atoll_id hint;
    uint32_t name; /* text */
    double score;
    uint32_t task, model;
    uint8_t error_class, limiter; /* of the parent */
    double parent_ns;
    uint8_t outcome; /* 0 none yet, 1 no gain, 2 gain */
    struct atoll_id candidate;
    uint8_t verdict;
    double time_ns;
};

struct atoll_row_memory {
    uint32_t campaign;
    uint64_t event;
    uint32_t ordinal;
    uint64_t ask;
    uint32_t task, model;
    struct atoll_id slow, fast;
    double slow_ns, fast_ns;
    uint32_t title, text, before, after; /* texts */
};

struct atoll_row_brief {
    uint32_t campaign;
    uint64_t event;
    uint32_t ordinal;
    uint64_t ask;
    uint8_t kind;
    struct atoll_id id;
    uint32_t title, text; /* texts */
    double score;
    uint32_t cut_bytes;
};

/* What is of the turn stands with its first call. */
struct atoll_row_tool_call {
    uint32_t campaign;
    uint64_t event;
    uint32_t ordinal;
    uint64_t ask;
    uint32_t turn;
    uint32_t call, name, arguments, result; /* texts; call: as the model named it */
    uint8_t status;
    double elapsed_s;
    struct atoll_id request;
    uint32_t said, thought; /* texts */
    uint64_t input_tokens, output_tokens;
    double cost_usd;
};

enum atoll_table {
    ATOLL_TABLE_CAMPAIGN,
    ATOLL_TABLE_TASKS,
    ATOLL_TABLE_DEVICES,
    ATOLL_TABLE_ASKS,
    ATOLL_TABLE_CANDIDATES,
    ATOLL_TABLE_EVALUATIONS,
    ATOLL_TABLE_TIMINGS,
    ATOLL_TABLE_SAMPLES,
    ATOLL_TABLE_PROFILES,
    ATOLL_TABLE_DUELS,
    ATOLL_TABLE_ELITES,
    ATOLL_TABLE_MIGRATIONS,
    ATOLL_TABLE_DECISIONS,
    ATOLL_TABLE_RIVALS,
    ATOLL_TABLE_RIVAL_TIMINGS,
    ATOLL_TABLE_RIVAL_SAMPLES, /* struct atoll_row_sample */
    ATOLL_TABLE_DEVICE_TIME,
    ATOLL_TABLE_HINTS,
    ATOLL_TABLE_HINT_USES,
    ATOLL_TABLE_MEMORY,
    ATOLL_TABLE_BRIEFS,
    ATOLL_TABLE_TOOL_CALLS,
    ATOLL_TABLE_ITEMS,
    ATOLL_TABLE_SECTIONS,
    ATOLL_TABLE_KNOWLEDGE_ENTRIES, /* struct atoll_row_hint */
    ATOLL_TABLE_KNOWLEDGE_USES,    /* struct atoll_row_hint_use */
    ATOLL_TABLE_KNOWLEDGE,
    ATOLL_TABLE_JUDGEMENTS,
    ATOLL_TABLE_PROMPTS,
    ATOLL_TABLE_COUNT
};

enum atoll_column_type {
    ATOLL_COLUMN_U8,
    ATOLL_COLUMN_U32,
    ATOLL_COLUMN_U64,
    ATOLL_COLUMN_I64,
    ATOLL_COLUMN_F64,
    ATOLL_COLUMN_ID,       /* 32 bytes */
    ATOLL_COLUMN_TEXT,     /* u32: row of the table texts */
    ATOLL_COLUMN_CAMPAIGN, /* u32: row of the table campaign */
    ATOLL_COLUMN_TYPE_COUNT
};
size_t atoll_column_bytes(enum atoll_column_type type);
const char *atoll_column_type_name(enum atoll_column_type type); /* "u8" ... */

/* When a cell says something; else text formats have nothing there, and the file, whose numbers have no "none", 0. */
enum atoll_cell_known {
    ATOLL_KNOWN_ALWAYS,
    ATOLL_KNOWN_UNLESS_ZERO,
    /* of profiles: where the binary is a GPU's, which has registers; where it is an x86-64 processor's whose instructions were counted */
    ATOLL_KNOWN_OF_GPU,
    ATOLL_KNOWN_OF_X86
};

struct atoll_column {
    const char *name;
    enum atoll_column_type type;
    int is_key;       /* rows equal in all keys are the same row; on merge the later one wins */
    size_t offset;    /* in the row struct */
    const char *unit; /* "" for none */
    const char *description;
    const char *(*value_name)(unsigned value); /* U8 that counts an enum; else NULL */
    unsigned value_count;
    uint32_t since; /* schema that added it; files of an earlier one have zeros there; 0 = the first */
    int may_be_nan; /* F64: NaN where it was not measured */
    enum atoll_cell_known known;
};

struct atoll_table_schema {
    const char *name, *description;
    size_t row_bytes; /* of the row struct */
    size_t column_count;
    const struct atoll_column *columns;
    uint32_t since; /* schema that added it; files of an earlier one have no rows of it; 0 = the first */
};
const struct atoll_table_schema *atoll_table_schema(enum atoll_table table); /* static storage */
int atoll_table_find(const char *name, enum atoll_table *ret_table);         /* -1 when unknown */

/* All tables, for helps and error texts. */
#define ATOLL_TABLE_NAMES                                                                                    \
    "campaign, tasks, devices, asks, candidates, evaluations, timings, samples, profiles, duels, elites, "   \
    "migrations, decisions, rivals, rival_timings, rival_samples, device_time, hints, hint_uses, memory, "   \
    "briefs, tool_calls, items, sections, knowledge_entries, knowledge_uses, knowledge, judgements, prompts"

struct atoll_tables;

/* limit_bytes: the most that rows and texts together may take. */
struct atoll_tables *atoll_tables_create(size_t limit_bytes, struct atoll_err *err);
void atoll_tables_destroy(struct atoll_tables *tables); /* NULL is fine */

uint64_t atoll_tables_count(const struct atoll_tables *tables, enum atoll_table table);
/* row: the table's struct of rows.h, copied column by column. */
int atoll_tables_append(struct atoll_tables *tables, enum atoll_table table, const void *row,
                        struct atoll_err *err);
void atoll_tables_get(const struct atoll_tables *tables, enum atoll_table table, uint64_t index,
                      void *ret_row);
void atoll_tables_set(struct atoll_tables *tables, enum atoll_table table, uint64_t index, const void *row);
/* The cells of a column, contiguous; borrowed until the next append to the table. */
const void *atoll_tables_column(const struct atoll_tables *tables, enum atoll_table table, size_t column);
/* The same by the column's name; NULL where the table has none of it. */
const void *atoll_tables_column_named(const struct atoll_tables *tables, enum atoll_table table,
                                      const char *name);
/* 0: the cell says nothing, whatever stands in it (atoll_cell_known). */
int atoll_tables_is_known(const struct atoll_tables *tables, enum atoll_table table, size_t column,
                          uint64_t row);
/* Adds count rows and gives the columns to fill (room for ATOLL_COLUMN_LIMIT pointers). */
int atoll_tables_extend(struct atoll_tables *tables, enum atoll_table table, uint64_t count,
                        void **ret_columns, struct atoll_err *err);

/* Texts, each stored once.  Text 0 is "".  A text holds no NUL; one is kept behind it. */
int atoll_tables_add_text(struct atoll_tables *tables, const char *text, size_t length, uint32_t *ret_text,
                          struct atoll_err *err);
uint64_t atoll_tables_text_count(const struct atoll_tables *tables);
/* Borrowed until the next text is added; a number beyond the table gives "". */
const char *atoll_tables_text(const struct atoll_tables *tables, uint32_t text);
size_t atoll_tables_text_length(const struct atoll_tables *tables, uint32_t text);
/* For writers: the heap (every text followed by a NUL) and the three columns. */
struct atoll_text_columns {
    const char *heap;
    uint64_t heap_bytes, count;
    const uint64_t *offset, *length;
    const struct atoll_id *hash;
};
void atoll_tables_texts(const struct atoll_tables *tables, struct atoll_text_columns *ret_columns);

/* The diagnosis of an evaluation as its row holds it. */
void atoll_row_diagnosis_put(struct atoll_row_evaluation *row, const struct atoll_diagnosis *diagnosis);
void atoll_row_diagnosis_get(const struct atoll_row_evaluation *row, struct atoll_diagnosis *ret_diagnosis);
/* Whether it says anything: of an archive before there were diagnoses, or where nothing was measured, it does not. */
int atoll_row_is_diagnosed(const struct atoll_row_evaluation *row);
/* What limits it, in the one word that is shown everywhere: the diagnosis', and where there is none the coarse one of the profile, which may
 * be NULL. */
enum atoll_limiter atoll_row_limiter(const struct atoll_row_evaluation *row,
                                     const struct atoll_row_profile *profile);

#endif
