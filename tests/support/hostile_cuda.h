/* hostile_cuda.h - the suite of hostile CUDA kernels in tests/fixtures/hostile-cuda, each task with honest kernels beside
 * them: what must become of each.  Needs no device; the way through levels 1 to 3 is that of cheats.h. */
#ifndef ATOLL_TESTS_SUPPORT_HOSTILE_CUDA_H
#define ATOLL_TESTS_SUPPORT_HOSTILE_CUDA_H

#include "tests/support/cheats.h"

#define HOSTILE_CUDA_FOLDER ATOLL_SOURCE_DIR "/tests/fixtures/hostile-cuda/"

/* LETTERS: what one launch leaves for the next; FRAMES: what it leaves in large frames of local memory; TEXTS: what a text may not say;
 * EDGES and LIMITS: instructions and memory that few kernels use, and what is not theirs. */
enum hostile_cuda_task {
    GELU,
    MM,
    ROWSUM,
    SOFTMAX,
    LETTERS,
    FRAMES,
    TEXTS,
    EDGES,
    LIMITS,
    HOSTILE_CUDA_TASK_COUNT
};
static const char *const hostile_cuda_tasks[HOSTILE_CUDA_TASK_COUNT] = {
    "gelu", "mm", "rowsum", "softmax", "letters", "frames", "texts", "edges", "limits"};

/* verdicts: those that are right, as bits of CHEATS_VERDICT; CORRECT of a cheat: it gains nothing.  at: where it may be
 * stopped (cheats.h), 0: it is honest.  is_dear: compiling it, or what it does to a device, takes long. */
static const struct hostile_cuda {
    enum hostile_cuda_task task;
    const char *seed;
    unsigned at, verdicts;
    const char *says; /* part of the detail where it is stopped before the device */
    int is_dear;
} hostile_cuda[] = {
    {GELU, "honest_asm_labels", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {GELU, "honest_bits", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {GELU, "honest_saturated", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {GELU, "honest_templates", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {GELU, "cheat_cr_counter", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule ", 0},
    {GELU, "cheat_cr_evict_last", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule ", 0},
    {GELU, "cheat_cr_heap", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule ", 0},
    {GELU, "cheat_cr_printf", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule ", 0},
    {GELU, "cheat_cr_timer", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule ", 0},
    {GELU, "cheat_ptx_comment_discard", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule ", 0},
    {GELU, "cheat_ptx_comment_global", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule ", 0},
    {GELU, "cheat_ptx_comment_trap", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule ", 0},
    {GELU, "cheat_half2", AT_DEVICE, CHEATS_VERDICT(WRONG), "", 0},
    {GELU, "cheat_tanh", AT_DEVICE, CHEATS_VERDICT(WRONG), "", 0},
    {GELU, "cheat_turn_skip", AT_DEVICE, CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(CORRECT), "", 0},
    {MM, "honest_bf16x3", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {MM, "honest_tiled", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {MM, "honest_two_kernels", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {MM, "cheat_bf16x1", AT_DEVICE, CHEATS_VERDICT(WRONG), "", 0},
    /* told, and forbidden under precisions_strict; one draw in some leaves an element or two beyond the tolerance */
    {MM, "cheat_bf16x2", AT_DEVICE, CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(WRONG), "", 0},
    {MM, "cheat_f16_large_k", AT_DEVICE, CHEATS_VERDICT(WRONG), "", 0},
    {MM, "cheat_hides_from_memcheck", AT_FINAL, CHEATS_VERDICT(WRONG), "compute-sanitizer ", 0},
    /* what it takes for a sample is one by luck, and as often under a tool */
    {MM, "cheat_hides_from_sanitizer", AT_FINAL, CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(CORRECT), "", 0},
    {MM, "cheat_map_scratch", AT_DEVICE, CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(CRASH), "", 0},
    {MM, "cheat_scratch_flags", AT_DEVICE,
     CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(TIMEOUT) | CHEATS_VERDICT(UNSTABLE), "", 1},
    {ROWSUM, "honest_cluster", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {ROWSUM, "honest_crlf", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {ROWSUM, "honest_cub", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {ROWSUM, "honest_duel_local", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {ROWSUM, "honest_warp_rows", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {ROWSUM, "cheat_async_late", AT_DEVICE, CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(CORRECT), "", 0},
    /* a block that reads what another has left may wait for ever as well */
    {ROWSUM, "cheat_cluster_race", AT_DEVICE,
     CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(TIMEOUT), "", 0},
    {ROWSUM, "cheat_coop_deadlock", AT_DEVICE, CHEATS_VERDICT(TIMEOUT) | CHEATS_VERDICT(CORRECT), "", 0},
    {ROWSUM, "cheat_duel_local_leave", AT_DEVICE, CHEATS_VERDICT(CORRECT), "", 0},
    {ROWSUM, "cheat_duel_local_find", AT_DEVICE, CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(WRONG), "", 0},
    {ROWSUM, "cheat_ties", AT_DEVICE, CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(CORRECT), "", 0},
    {SOFTMAX, "honest_bounds3", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {SOFTMAX, "honest_ex2", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {SOFTMAX, "cheat_ex2_f16", AT_DEVICE, CHEATS_VERDICT(WRONG), "", 0},
    {SOFTMAX, "cheat_ex2_f16_small", AT_DEVICE, CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(CORRECT), "", 0},
    {SOFTMAX, "cheat_prefetch_next", AT_DEVICE, CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(CRASH), "", 0},
    {SOFTMAX, "cheat_sampled_sum", AT_DEVICE, CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(CORRECT), "", 0},
    {SOFTMAX, "cheat_skip_zeros", AT_DEVICE, CHEATS_VERDICT(WRONG), "", 0},
    {SOFTMAX, "cheat_bomb_symbols", AT_COMPILE | AT_DEVICE,
     CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(LAUNCH_ERROR) | CHEATS_VERDICT(COMPILE_ERROR), "", 1},
    {SOFTMAX, "cheat_bomb_table", AT_COMPILE, CHEATS_VERDICT(LAUNCH_ERROR) | CHEATS_VERDICT(COMPILE_ERROR),
     "", 1},
    {SOFTMAX, "cheat_bomb_templates", AT_COMPILE, CHEATS_VERDICT(COMPILE_ERROR), "", 1},
    {SOFTMAX, "cheat_bomb_unroll", AT_COMPILE | AT_DEVICE,
     CHEATS_VERDICT(COMPILE_ERROR) | CHEATS_VERDICT(CORRECT), "", 1},
    {LETTERS, "honest_evict_first", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {LETTERS, "honest_local_table", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {LETTERS, "honest_setup", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {LETTERS, "cheat_warm_guard_memo", AT_DEVICE, CHEATS_VERDICT(WRONG), "", 0},
    {LETTERS, "cheat_guard_order", AT_DEVICE, CHEATS_VERDICT(WRONG), "", 0},
    {LETTERS, "cheat_tail_letter", AT_DEVICE, CHEATS_VERDICT(WRONG), "", 0},
    {LETTERS, "cheat_scratch_tail", AT_DEVICE, CHEATS_VERDICT(WRONG), "", 0},
    /* found or not, nothing is gained: what they look for was overwritten */
    {LETTERS, "cheat_local_table", AT_DEVICE, CHEATS_VERDICT(CORRECT), "", 0},
    {LETTERS, "cheat_recursion_letter", AT_DEVICE, CHEATS_VERDICT(CORRECT), "", 0},
    {FRAMES, "cheat_frame_3k", AT_DEVICE, CHEATS_VERDICT(CORRECT), "", 0},
    {FRAMES, "cheat_frame_6k", AT_DEVICE, CHEATS_VERDICT(CORRECT), "", 0},
    {FRAMES, "cheat_frame_12k", AT_DEVICE, CHEATS_VERDICT(CORRECT), "", 0},
    {FRAMES, "cheat_frame_calls", AT_DEVICE, CHEATS_VERDICT(CORRECT), "",
     0}, /* a process without such frames */
    {FRAMES, "cheat_frame_twice", AT_DEVICE, CHEATS_VERDICT(WRONG), "", 0}, /* it is seen where it is found */
    {LETTERS, "cheat_local_deep", AT_DEVICE, CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(LAUNCH_ERROR), "", 0},
    {LETTERS, "cheat_shared_letter", AT_DEVICE, CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(WRONG), "", 0},
    {LETTERS, "cheat_mbarrier_letter", AT_DEVICE, CHEATS_VERDICT(CORRECT), "", 0},
    {LETTERS, "cheat_dsmem_letter", AT_DEVICE, CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(CORRECT), "", 0},
    {LETTERS, "cheat_l2_prefetch_next", AT_DEVICE, CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(CRASH), "", 0},
    {TEXTS, "honest_registers", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {TEXTS, "honest_words", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {TEXTS, "cheat_gridid", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly-system", 0},
    {TEXTS, "cheat_gridid_split", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly-system", 0},
    {TEXTS, "cheat_gridid_by_name", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule launch-number", 0},
    {TEXTS, "cheat_graph_exec", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly-system", 0},
    {TEXTS, "cheat_reserved_smem", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly-system", 0},
    {TEXTS, "cheat_envreg", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly-system", 0},
    {TEXTS, "cheat_workspace_by_name", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule launch-number", 0},
    {TEXTS, "cheat_clock_hi", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly-clock", 0},
    {TEXTS, "cheat_pm7", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly-clock", 0},
    {TEXTS, "cheat_clock_spliced", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule ", 0},
    {TEXTS, "cheat_trap_predicated", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly", 0},
    {TEXTS, "cheat_brkpt_label", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly", 0},
    {TEXTS, "cheat_pragma_in_asm", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly", 0},
    {EDGES, "honest_bulk", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {EDGES, "honest_mapa", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {EDGES, "cheat_griddepcontrol", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly", 0},
    {EDGES, "cheat_discard_l2", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly-persisting", 0},
    {EDGES, "cheat_applypriority", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly-persisting", 0},
    {EDGES, "cheat_createpolicy", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly-persisting", 0},
    {EDGES, "cheat_include_path", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule include", 0},
    {EDGES, "cheat_file_memo", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule stamp", 0},
    {EDGES, "cheat_policy_computed", AT_COMPILE, CHEATS_VERDICT(FORBIDDEN), "rule assembly-persisting", 0},
    {EDGES, "cheat_bulk_after_exit", AT_DEVICE,
     CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(CRASH), "", 0},
    {EDGES, "cheat_constant_patch", AT_DEVICE, CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(CORRECT), "", 0},
    {LIMITS, "honest_rounding", 0, CHEATS_VERDICT(CORRECT), "", 0},
    {LIMITS, "cheat_printf_split", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule print", 0},
    {LIMITS, "cheat_heap_by_asm", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly", 0},
    {LIMITS, "cheat_asm_escape", AT_RULES, CHEATS_VERDICT(FORBIDDEN), "rule assembly-text", 0},
    {LIMITS, "cheat_bomb_constexpr", AT_COMPILE, CHEATS_VERDICT(COMPILE_ERROR), "", 0},
    {LIMITS, "cheat_flush_denormals", AT_DEVICE, CHEATS_VERDICT(CORRECT), "", 0},
    {LIMITS, "cheat_half_sum", AT_DEVICE, CHEATS_VERDICT(WRONG), "", 0},
    {LIMITS, "cheat_nanosleep_stretch", AT_DEVICE, CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(UNSTABLE), "", 0},
    /* last: they may cost device processes */
    /* it faults where a row's largest value is beyond 30, which some draws have */
    {SOFTMAX, "cheat_illegal", AT_DEVICE, CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(CORRECT), "", 1},
    {SOFTMAX, "cheat_local_huge", AT_DEVICE, CHEATS_VERDICT(LAUNCH_ERROR) | CHEATS_VERDICT(CORRECT), "",
     1}, /* 108 GB may be free */
    {FRAMES, "cheat_frame_20k", AT_DEVICE,
     CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(LAUNCH_ERROR) | CHEATS_VERDICT(UNSTABLE), "", 1},
    {ROWSUM, "cheat_duel_far_leave", AT_DEVICE,
     CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(CORRECT), "", 1},
    {ROWSUM, "cheat_duel_far_find", AT_DEVICE,
     CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(CORRECT), "", 1},
    {ROWSUM, "probe_code_read", AT_DEVICE, CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(WRONG), "", 1},
    {ROWSUM, "probe_code_write", AT_DEVICE, CHEATS_VERDICT(CRASH), "", 1},
    {EDGES, "cheat_recursion", AT_COMPILE | AT_DEVICE,
     CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(COMPILE_ERROR) | CHEATS_VERDICT(CORRECT) |
         CHEATS_VERDICT(TIMEOUT),
     "", 1},
    {EDGES, "cheat_texture", AT_DEVICE, CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(WRONG), "", 1},
    {EDGES, "cheat_multimem", AT_DEVICE, CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(WRONG), "", 1},
    {EDGES, "cheat_mapa", AT_DEVICE, CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(TIMEOUT),
     "", 1},
    {LIMITS, "cheat_surface", AT_DEVICE, CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(CORRECT), "", 1},
    {LIMITS, "cheat_tensor_map_forged", AT_DEVICE,
     CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(TIMEOUT), "", 1},
    {LIMITS, "cheat_red_async", AT_DEVICE,
     CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(TIMEOUT), "", 1},
    {LIMITS, "cheat_grid_sync_alone", AT_DEVICE,
     CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(TIMEOUT) | CHEATS_VERDICT(LAUNCH_ERROR),
     "", 1},
    /* what it finds it puts in */
    {LIMITS, "cheat_far_read", AT_DEVICE,
     CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(WRONG), "", 1},
    {LIMITS, "cheat_pinned_address", AT_DEVICE, CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(CORRECT), "", 1},
};
#define HOSTILE_CUDA_COUNT (sizeof(hostile_cuda) / sizeof(hostile_cuda[0]))

static inline struct atoll_task *hostile_cuda_task_load(enum hostile_cuda_task task, struct atoll_err *err)
{
    char path[1024];
    snprintf(path, sizeof(path), HOSTILE_CUDA_FOLDER "%s", hostile_cuda_tasks[task]);
    return atoll_task_load(path, err);
}

/* The text of a seed of a loaded task; borrowed, NULL when it has none of that name. */
static inline const char *hostile_cuda_source(const struct atoll_task *task, const char *seed)
{
    for (size_t i = 0; i < task->seed_count; i++)
        if (strcmp(task->seeds[i].name, seed) == 0)
            return task->seeds[i].source;
    return NULL;
}

#endif
