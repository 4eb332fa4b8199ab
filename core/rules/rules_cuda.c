/* rules_cuda.c - the rules of language "cuda".  A kernel may use inline PTX, since the fastest instructions have no
 * other name; what its texts may not say is in rules_ptx.c. */
#include <string.h>

#include "core/rules/rules_row.h"

/* NVRTC's preprocessor shows its work to nobody, so names are plain and whole. */
static int odd_byte(const struct atoll_rule_site *s)
{
    const struct atoll_token *t = atoll_rule_token(s, 0);
    int has_high = 0;
    for (uint32_t i = 0; i < t->length && (t->kind == ATOLL_TOKEN_NAME || t->kind == ATOLL_TOKEN_NUMBER); i++)
        has_high |= t->text[i] & 0x80;
    return has_high || atoll_rule_odd_byte(s);
}

#define HEADERS                                                                                              \
    "cuda.h cuda_runtime.h cuda_fp16.h cuda_bf16.h cuda_fp8.h cuda_fp6.h cuda_fp4.h mma.h "                  \
    "cooperative_groups.h cuda_pipeline.h cuda_pipeline_primitives.h cuda_awbarrier.h "                      \
    "cuda_awbarrier_primitives.h cuComplex.h math_constants.h vector_types.h cuda/barrier cuda/pipeline "    \
    "cuda/atomic cuda/ptx cuda/semaphore cuda/latch cuda/functional cuda/cmath"

static int include_forbidden(const struct atoll_rule_site *s)
{
    static const char *const folders[] = {"cooperative_groups/", "cuda/std/", "cub/block/", "cub/warp/",
                                          "cub/thread/",         "cutlass/",  "cute/"};
    return atoll_rule_is_directive(s) && atoll_rule_is(s, 0, "include") &&
           !atoll_rule_includes(s, " " HEADERS " ", folders, ATOLL_RULE_COUNT(folders));
}

static int pragma_forbidden(const struct atoll_rule_site *s)
{
    static const char known[] = " unroll nounroll once nv_diagnostic nv_diag_suppress nv_diag_default "
                                "nv_diag_warning nv_diag_error diag_suppress diag_default ";
    return atoll_rule_is_directive(s) && atoll_rule_is(s, 0, "pragma") &&
           (atoll_rule_token(s, 1)->first || !atoll_rule_any(atoll_rule_token(s, 1), known));
}

/* ---- language ---- */

static int bracket_attribute(const struct atoll_rule_site *s)
{
    static const char known[] = " maybe_unused nodiscard likely unlikely fallthrough noreturn ";
    return atoll_rule_is(s, 0, "[") && atoll_rule_is(s, 1, "[") &&
           atoll_rule_token(s, 1)->text == atoll_rule_token(s, 0)->text + 1 &&
           !atoll_rule_any(atoll_rule_token(s, 2), known);
}

/* __host__ beside __device__ is the custom of shared headers. */
static int host_function(const struct atoll_rule_site *s)
{
    if (atoll_rule_is(s, 0, "main"))
        return atoll_rule_is(s, 1, "(");
    return atoll_rule_is(s, 0, "__host__") && !atoll_rule_is(s, 1, "__device__") &&
           !(s->at > 0 && atoll_token_is(&s->tokens[s->at - 1], "__device__"));
}

static int starts_capital(const struct atoll_token *t, const char *prefix)
{
    size_t n = strlen(prefix);
    return atoll_token_starts(t, prefix) && t->length > n && t->text[n] >= 'A' && t->text[n] <= 'Z';
}

/* cudaMalloc, cudaLaunchKernel, cuMemAlloc ...; the type CUtensorMap and names like cudaBlock of one's own stay out
 * of it only where no capital follows the prefix. */
static int runtime_name(const struct atoll_rule_site *s)
{
    static const char types[] =
        " cuComplex cuFloatComplex cuDoubleComplex cuCadd cuCaddf cuCsub cuCsubf "
        "cuCmul cuCmulf cuCdiv cuCdivf cuCabs cuCabsf cuCfma cuCfmaf cuConj cuConjf cuCreal "
        "cuCrealf cuCimag cuCimagf ";
    const struct atoll_token *t = atoll_rule_token(s, 0);
    return atoll_rule_is_name(s) && (starts_capital(t, "cuda") || starts_capital(t, "cu")) &&
           !atoll_rule_any(t, types);
}

static int device_launch(const struct atoll_rule_site *s)
{
    const struct atoll_token *a = atoll_rule_token(s, 0), *b = atoll_rule_token(s, 1);
    return atoll_token_is(a, "<<") && b->length && *b->text == '<' && b->text == a->text + 2;
}

/* "= delete" of a function is none. */
static int deletes(const struct atoll_rule_site *s)
{
    return atoll_rule_is(s, 0, "delete") && !(s->at > 0 && atoll_token_is(&s->tokens[s->at - 1], "="));
}

/* EVICT_LAST of CUTLASS is this number. */
static int persisting_name(const struct atoll_rule_site *s)
{
    static const char names[] = " EVICT_LAST persisting access_property annotated_ptr apply_access_property "
                                "associate_access_property discard_memory createpolicy_range "
                                "evict_last __createpolicy ";
    static const char prefixes[] = " 0x14F00000000000 0x14f00000000000 0X14F00000000000 0X14f00000000000 ";
    const struct atoll_token *t = atoll_rule_token(s, 0);
    return t->kind == ATOLL_TOKEN_NUMBER ? atoll_rule_starts(t, prefixes)
                                         : atoll_rule_is_name(s) && atoll_rule_any(t, names);
}

static int internal_name(const struct atoll_rule_site *s)
{
    static const char allowed[] = " __nv_bfloat __nv_fp __nv_half __nv_cvt __nv_saturation __nv_is_ ";
    static const char prefixes[] = " __nvvm_ __nv_ __cudart __cudaRegister __cudaPush __cudaPop ";
    const struct atoll_token *t = atoll_rule_token(s, 0);
    return atoll_rule_is_name(s) && atoll_rule_starts(t, prefixes) && !atoll_rule_starts(t, allowed);
}

const struct atoll_rule atoll_rules_cuda[] = {
    ATOLL_RULES_OF_TEXTS,
    {"odd-byte",
     "outside of comments and texts only plain C characters are allowed: no letters beyond ASCII, backslash "
     "names, '$', '@', digit separators or open quote",
     .broken = odd_byte},
    {"pasting", "## makes names that no reader sees; write the name, or use a template",
     .broken = atoll_rule_pasting},
    {"include",
     "only these may be included, by name in <>: " HEADERS
     "; and what lies in cooperative_groups/ cuda/std/ cub/block/ cub/warp/ cub/thread/ cutlass/ cute/",
     .broken = include_forbidden},
    {"pragma", "only unroll, nounroll, once and nv_diag pragmas are allowed", .broken = pragma_forbidden},
    {"probe", "a candidate may not look for files", .names = ATOLL_RULE_PROBES},
    {"stamp", "date, time and file macros make equal sources differ", .names = ATOLL_RULE_STAMPS},
    {"pragma-operator", "_Pragma is not allowed; write #pragma on a line of its own",
     .names = ATOLL_RULE_OPERATORS},
    {"attribute",
     "this attribute is not allowed: none that places, aliases, exports or runs code outside of a call",
     .broken = atoll_rule_attribute_forbidden},
    {"bracket-attribute",
     "only [[maybe_unused]], [[nodiscard]], [[likely]], [[unlikely]], [[fallthrough]] and [[noreturn]] are "
     "allowed",
     .names = " __declspec ", .broken = bracket_attribute},
    {"label-address", "addresses of labels and computed goto are not allowed",
     .broken = atoll_rule_label_address},
    {"builtin", "this __builtin_ function is not on the list of pure ones; use CUDA's own name",
     .broken = atoll_rule_builtin_forbidden},
    {"managed", "managed memory is not allowed; data come as arguments, room of one's own as scratch",
     .names = " __managed__ "},
    {"host", "host functions are never called: the plan launches the kernels; write __device__",
     .broken = host_function},
    {"dependent-launch",
     "dependent launches are the plan's business: kernels of a plan run in order; leave the call out",
     .names = " cudaTriggerProgrammaticLaunchCompletion cudaGridDependencySynchronize launch_dependent_grids "
              "wait_on_dependent_grids griddepcontrol_launch_dependents griddepcontrol_wait "
              "arch_launch_dependent_grids "},
    {"runtime", "the CUDA runtime and driver are the host's; the plan says what is launched on what data",
     .broken = runtime_name},
    {"device-launch", "a kernel may not launch kernels; give the plan another launch",
     .broken = device_launch},
    {"memory", "memory comes from the plan's scratch and shared_bytes, not from an allocator",
     .names = " malloc calloc realloc alloca __builtin_alloca memalign aligned_alloc "
              "__nv_aligned_device_malloc new ",
     .calls = " free ", .broken = deletes},
    {"print", "printing from a kernel is not allowed; leave it out",
     .names = " printf vprintf fprintf sprintf snprintf puts putchar fputs fwrite cout cerr "},
    {"abort", "traps and assertions end the run; return from the kernel instead",
     .names = " __trap __brkpt __assert_fail __assertfail _assert __builtin_trap ",
     .calls = " assert abort exit terminate "},
    {"clock", "clocks, timers and timed waits are not allowed: a kernel's work may not depend on time",
     .names = " clock64 __clock __clock64 __clockhi globaltimer __globaltimer chrono system_clock "
              "steady_clock high_resolution_clock __prof_trigger __pm0 __pm1 __pm2 __pm3 "
              "get_sreg_pm __DATE__ try_wait_for ",
     .prefixes = " get_sreg_clock get_sreg_globaltimer get_sreg_pm __nvvm_read_ptx_sreg_clock "
                 "__nvvm_read_ptx_sreg_globaltimer ",
     .calls = " clock "},
    {"launch-number",
     "a kernel may not know which launch it is, nor the memory that the system keeps for launches",
     .names = " get_sreg_gridid get_grid_workspace grid_workspace reserved_shared_ptr multi_warp_scratch ",
     .prefixes = " get_sreg_envreg get_sreg_reserved_smem get_sreg_current_graph_exec load_env_reg "},
    {"persisting",
     "nothing may stay in the cache beyond the launch: no evict_last of the L2, no persisting lines",
     .broken = persisting_name},
    {"internal", "internal functions of the compiler are not allowed; use CUDA's documented name",
     .broken = internal_name},
    {"harness", "names that start with atoll_ belong to the harness", .prefixes = ATOLL_RULE_HARNESS},
    {"global",
     "variables of file scope must be const, constexpr, __shared__, or __constant__ with a value; state "
     "between "
     "launches belongs into the plan's scratch",
     .find = atoll_scope_mutable_global},
    {"static", "static variables keep state between launches; make it const, __shared__ or scratch",
     .find = atoll_scope_mutable_static},
    {"linkage", "kernels are found by their plain name; write extern \"C\" __global__",
     .find = atoll_scope_unlinked_kernel},
    {"assembly-text",
     "texts of asm are plain: no macros in or beside them, no # of macros, no octal or hexadecimal escapes",
     .find = atoll_ptx_hidden},
    {"assembly-clock", "clocks, timers and performance counters are not allowed, not in asm either",
     .find = atoll_ptx_clock},
    {"assembly-system",
     "%gridid, %current_graph_exec, %envreg and %reserved_smem registers are not allowed in asm: they tell a "
     "launch "
     "from another one, or where the system keeps its own memory",
     .find = atoll_ptx_system},
    {"assembly-persisting",
     "nothing may stay in the cache beyond the launch: no L2::evict_last, discard or applypriority in asm",
     .find = atoll_ptx_persisting},
    {"assembly",
     "asm may not hold directives, calls, trap, brkpt or griddepcontrol; only instructions on registers and "
     "memory",
     .find = atoll_ptx_forbidden},
};

const size_t atoll_rules_cuda_count = ATOLL_RULE_COUNT(atoll_rules_cuda);
