/* advice.c - a sentence for each step up and down a dimension, per language. */
#include "evolution/population/advice.h"

#include <math.h>
#include <string.h>

#define STEPS     (ATOLL_BEHAVIOUR_LEVELS - 1)
#define LANGUAGES (sizeof(languages) / sizeof(*languages))

/* up[d][l]: from level l to l + 1; down[d][l]: from level l + 1 to l. */
struct sentences {
    const char *language;
    const char *up[ATOLL_DIMENSIONS][STEPS], *down[ATOLL_DIMENSIONS][STEPS];
};

static const struct sentences languages[] = {
    {"c",
     {{"Walk memory in the order in which it is stored and let the inner loop handle contiguous elements, so "
       "that it becomes aligned vector loads and stores: hoist the stride out of it, or use vector types.",
       "Block for the caches: cut the loops so that a tile of each input stays in L1 or L2 while everything "
       "that needs it is computed, instead of streaming whole rows again.",
       "Block for registers inside the cache tiles: keep several accumulator vectors per step of the inner "
       "loop, pack the tile so that it is read contiguously, and prefetch the next one."},
      {"Fuse the passes: compute everything that one element or row needs in one loop, keep intermediate "
       "values in registers, and write each result once.",
       "Reformulate to a running form: an online softmax, Welford's variance or a rescaled accumulator reads "
       "each input once where separate passes over a row read it several times; approximate elementary "
       "functions by short polynomials as far as the tolerance allows.",
       "Change the algorithm: look for one with fewer operations or bytes, such as a recursive or blocked "
       "decomposition, a prefix scan, or an identity that makes a whole operand unnecessary."},
      {"Break the chain of the reduction: accumulate into several independent vectors and add them up at the "
       "end, so that the latency of one addition does not bound the loop.",
       "Split into phases: a first launch writes one partial result per unit to scratch, a second one "
       "combines them, so that units can be smaller and all workers have some.",
       "Let units cooperate: combine partial results with atomic operations or a shared counter, at most one "
       "per unit and each on a cache line of its own, where a phase that only waits costs more."}},
     {{"Take the explicit vectors out: plain scalar loops with restrict pointers and simple bounds let the "
       "compiler choose, and odd sizes no longer need tails of their own.",
       "Take the cache blocking out: stream the data in one long vectorised loop and leave the rest to the "
       "hardware prefetcher, which short tiles interrupt.",
       "Keep the cache tiles but drop packing and explicit prefetch, and use fewer accumulators, so that "
       "nothing spills and small problems do not pay for copies."},
      {"Split the fused loop in two where it needs more registers than there are, or where one half would "
       "vectorise alone.",
       "Go back from the running form to plain passes over a row that stays in cache: rescaling in the inner "
       "loop costs more than reading L1 again.",
       "Return to the standard algorithm with its regular loops: at these sizes constant factors weigh more "
       "than the number of operations."},
      {"Use a single accumulator and leave the order of summation to one simple loop: the loop is bound by "
       "memory, and more accumulators only cost registers.",
       "Do everything in one launch: let each unit finish its own results, with several accumulators in the "
       "loop, instead of writing partial results for a second phase.",
       "Remove the atomic operations: give each unit a place of its own for partial results and combine them "
       "in a phase afterwards, so that cores stop sending cache lines to each other."}}},
    {"cuda",
     {{"Let neighbouring threads access neighbouring addresses: make threadIdx.x walk the contiguous "
       "dimension, and load aligned float4 (or half2) vectors where the extent allows.",
       "Stage tiles of the inputs in shared memory: a block loads each tile once with coalesced loads, calls "
       "__syncthreads(), and all of its threads reuse it; pad the rows so that columns fall on different "
       "banks.",
       "Block for registers on top of the shared tiles: each thread computes several outputs from operands "
       "in registers (or fragments for the tensor cores) while cp.async or bulk tensor copies fill the next "
       "tile."},
      {"Fuse the kernels: compute everything an element or row needs in one kernel, keep intermediate values "
       "in registers or shared memory, and write the result once.",
       "Reformulate to a running form: an online softmax, Welford's variance or a rescaled accumulator lets "
       "a block read each input from global memory once instead of once per pass.",
       "Change the algorithm: look for one with fewer operations or bytes, such as split-k, a single-pass "
       "scan with decoupled look-back, a Winograd-like transform, or an identity that removes an operand."},
      {"Let the threads of a block work together: several threads per output, partial results in shared "
       "memory, combined in a tree with __syncthreads() between its levels.",
       "Exchange inside warps: reduce with __shfl_down_sync or __reduce_add_sync and decide with votes, so "
       "that only one value per warp goes through shared memory and one barrier is left.",
       "Coordinate across blocks: a persistent grid of as many blocks as fit takes tiles from an atomic "
       "counter, or blocks combine partial results by atomicAdd, through a last block, or inside a "
       "cluster."}},
     {{"Take the vector accesses out: one element per thread and one simple guard, so that alignment and "
       "tails need no code of their own and more threads hide the latency.",
       "Take the shared tiles out: read the inputs with coalesced or vector loads through L1 and L2; the "
       "copies and the barriers around them cost more than the reuse saves.",
       "Keep the shared tiles but drop the second buffer, the asynchronous copies or some outputs per "
       "thread, so that more blocks are resident on each multiprocessor."},
      {"Split the fused kernel at its narrowest intermediate: two launches with fewer registers each can "
       "have higher occupancy and better shapes than one that spills.",
       "Go back from the running form to separate passes over a tile that is already in shared memory or "
       "registers: rescaling at every step costs more than reading on-chip data twice.",
       "Return to the standard algorithm with its regular tiles: at these shapes transforms, extra traffic "
       "and partial results cost more than the saved operations."},
      {"Remove the barriers: give every thread outputs of its own, so that no warp waits for another one.",
       "Replace the warp-level exchange by one block-level step: threads write partial results to shared "
       "memory once and a few of them add up, where shuffles and special roles of warps leave lanes idle.",
       "Finish every result inside one block: no atomics on shared addresses, no grid-wide barrier and no "
       "second kernel, and choose the grid so that the blocks alone fill the device."}}},
    {"triton",
     {{"Work on blocks: load tl.arange of a contiguous dimension, wide enough that each thread has at least "
       "16 bytes, with "
       "a mask for the tail.",
       "Go through tiles in a loop: two-dimensional blocks of offsets that each row and column of operands "
       "is read once "
       "for, in an order of programs that shares what they read.",
       "Run loads ahead of the arithmetic: num_stages of two to five for a loop over tiles of tl.dot, or "
       "tl.make_tensor_descriptor for tiles whose rows are multiples of 16 bytes."},
      {"Fuse the kernels: compute everything an element or row needs in one program, keep intermediate "
       "blocks in "
       "variables, and write the result once.",
       "Reformulate to a running form: an online softmax, Welford's variance or a rescaled accumulator in "
       "the loop over "
       "blocks reads each input once instead of once per pass.",
       "Change the algorithm: look for one with fewer operations or bytes, such as split-k, "
       "tl.associative_scan over "
       "partial results, or an identity that removes an operand."},
      {"Let one program own a whole row or tile and reduce it by tl.sum or tl.max once, after the loop over "
       "its blocks, "
       "instead of in each step.",
       "Use what works within a program: tl.associative_scan, tl.cumsum or tl.sort instead of several "
       "passes, and "
       "reductions along the axis that stays within a warp.",
       "Coordinate across programs: a persistent grid of as many programs as fit goes through tiles with "
       "tl.num_programs, or programs combine partial results by tl.atomic_add or in a second small launch."}},
     {{"Take the masks and wide blocks out where rows are short: one small block per program leaves more "
       "programs to hide the "
       "latency.",
       "Take the loop over tiles out: one block per program, loaded once; the loop costs more than the reuse "
       "saves.",
       "Keep the tiles but use fewer stages or plain pointers instead of descriptors, so that more programs "
       "are resident."},
      {"Split the fused kernel at its narrowest intermediate: two launches with fewer live blocks can have "
       "higher "
       "occupancy than one that spills.",
       "Go back from the running form to separate passes over the blocks: rescaling at every step costs more "
       "than reading "
       "them again from the cache.",
       "Return to the standard algorithm with its regular tiles: at these shapes extra traffic and partial "
       "results cost "
       "more than the saved operations."},
      {"Remove the reductions: give every element of a block a result of its own, so that no warp waits for "
       "another one.",
       "Replace scans and sorts by one reduction per block: each of their steps moves a block through shared "
       "memory.",
       "Finish every result inside one program: no atomics and no second launch, and choose the grid so that "
       "programs alone "
       "fill the device."}}},
    {"opencl",
     {{"Let neighbouring work-items access neighbouring addresses: make get_global_id(0) walk the contiguous "
       "dimension, and use vload4 and vstore4 on aligned data where the extent allows.",
       "Stage tiles of the inputs in __local memory: the work-group loads each tile once with coalesced "
       "loads, calls barrier(CLK_LOCAL_MEM_FENCE), and all of its work-items reuse it; pad the rows against "
       "bank conflicts.",
       "Block for registers on top of the local tiles: each work-item computes several outputs from "
       "__private operands while async_work_group_copy or early loads fill the next tile in a second "
       "buffer."},
      {"Fuse the kernels: compute everything an element or row needs in one kernel, keep intermediate values "
       "in __private or __local memory, and write the result once.",
       "Reformulate to a running form: an online softmax, Welford's variance or a rescaled accumulator lets "
       "a work-group read each input from __global memory once instead of once per pass.",
       "Change the algorithm: look for one with fewer operations or bytes, such as a split of the inner "
       "dimension over work-groups, a single-pass scan, or an identity that removes an operand."},
      {"Let the work-items of a group work together: several of them per output, partial results in __local "
       "memory, combined in a tree with barriers between its levels.",
       "Exchange inside sub-groups: sub_group_reduce_add, sub_group_broadcast and shuffles, so that only one "
       "value per sub-group goes through __local memory and one barrier is left.",
       "Coordinate across work-groups: as many groups as the device holds take tiles from a global atomic "
       "counter, or combine partial results by atomics or in a second small kernel."}},
     {{"Take the vector types out: one element per work-item and one simple guard, so that the compiler "
       "vectorises across work-items and tails need no code of their own.",
       "Take the local tiles out: read the inputs directly with coalesced loads; the caches hold them, and "
       "the copies and barriers cost more than the reuse saves.",
       "Keep the local tiles but drop the second buffer, the asynchronous copies or some outputs per "
       "work-item, so that more work-groups are resident on each compute unit."},
      {"Split the fused kernel at its narrowest intermediate: two kernels with fewer private variables each "
       "can have higher occupancy than one that spills.",
       "Go back from the running form to separate passes over a tile that is already in __local or __private "
       "memory: rescaling at every step costs more than reading it twice.",
       "Return to the standard algorithm with its regular tiles: at these shapes the extra kernels and "
       "traffic cost more than the saved operations."},
      {"Remove the barriers: give every work-item outputs of its own, so that none waits for the rest of its "
       "group.",
       "Replace the sub-group functions by one exchange through __local memory: it does not depend on the "
       "width of a sub-group, and few values are exchanged.",
       "Finish every result inside one work-group: no global atomics and no second kernel, and choose the "
       "size of groups so that they alone fill the device."}}},
};

static int leads_somewhere(unsigned level, int sign)
{
    return sign > 0 ? level < ATOLL_BEHAVIOUR_LEVELS - 1 : level > 0;
}

size_t atoll_advice_of(const struct atoll_gradient *g, unsigned cell, size_t limit,
                       struct atoll_advice *ret_advice)
{
    struct atoll_behaviour b = atoll_cell_behaviour(cell);
    const uint8_t levels[ATOLL_DIMENSIONS] = {b.memory, b.algorithm, b.coordination};
    struct atoll_advice sorted[ATOLL_DIMENSIONS];
    size_t count = 0;
    for (uint8_t d = 0; d < ATOLL_DIMENSIONS; d++) {
        struct atoll_advice one = {.dimension = d,
                                   .level = levels[d],
                                   .sign = g->combined[d] > 0 ? 1 : -1,
                                   .weight = fabs(g->combined[d])};
        if (!isfinite(one.weight) || one.weight < ATOLL_ADVICE_LEAST || !leads_somewhere(one.level, one.sign))
            continue;
        size_t at = count++; /* after every one that is at least as strong */
        for (; at > 0 && sorted[at - 1].weight < one.weight; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = one;
    }
    count = count < limit ? count : limit;
    for (size_t i = 0; i < count; i++)
        ret_advice[i] = sorted[i];
    return count;
}

const char *atoll_advice_text(const char *language, const struct atoll_advice *advice)
{
    if (advice->dimension >= ATOLL_DIMENSIONS || advice->level >= ATOLL_BEHAVIOUR_LEVELS ||
        !leads_somewhere(advice->level, advice->sign)) {
        return NULL;
    }
    for (size_t i = 0; i < LANGUAGES; i++) {
        if (strcmp(languages[i].language, language) == 0) {
            return advice->sign > 0 ? languages[i].up[advice->dimension][advice->level]
                                    : languages[i].down[advice->dimension][advice->level - 1];
        }
    }
    return NULL;
}
