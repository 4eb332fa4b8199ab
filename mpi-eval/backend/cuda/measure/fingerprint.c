#include "mpi-eval/backend/cuda/measure/fingerprint.h"

#include <string.h>

#include "mpi-eval/backend/cuda/kernels/fingerprint.h"
#include "mpi-eval/referee/check.h"

int atoll_cuda_fingerprint_decides(const struct atoll_tolerance *t)
{
    return atoll_check_has_element_bound(t) && !(t->cosine > 0) && !(t->wrong_share > 0);
}

static uint64_t pairs_of(uint64_t count)
{
    return atoll_print_blocks(count) + atoll_print_samples(count);
}

uint64_t atoll_cuda_fingerprint_bytes(uint64_t count)
{
    return pairs_of(count) * sizeof(struct atoll_pair);
}

static struct atoll_print_launch launch_of(const struct atoll_task *task,
                                           const struct atoll_support_output *output, uint64_t print,
                                           const struct atoll_support_key *key, uint64_t salt,
                                           uint64_t result)
{
    return (struct atoll_print_launch){.count = output->count,
                                       .print = print,
                                       .result = result,
                                       .key = {key->words[0], key->words[1]},
                                       .salt = salt,
                                       .atol = task->tolerance.atol,
                                       .rtol = task->tolerance.rtol,
                                       .dtype = (int)task->tensors[output->tensor].dtype};
}

/* A thread for every block, and for every sample. */
static void launch_add(struct atoll_command_batch *batch, uint32_t kernel, const struct atoll_print_launch *p)
{
    uint64_t blocks = atoll_print_blocks(p->count), samples = atoll_print_samples(p->count);
    atoll_support_launch(batch, kernel, atoll_support_blocks(blocks > samples ? blocks : samples),
                         ATOLL_SUPPORT_BLOCK, 0, p, sizeof(*p));
}

void atoll_cuda_fingerprint_make(struct atoll_command_batch *batch, const struct atoll_task *task,
                                 const struct atoll_support_output *output, uint64_t print,
                                 const struct atoll_support_key *key, uint64_t salt, uint64_t result)
{
    struct atoll_print_launch p = launch_of(task, output, print, key, salt, result);
    p.expected = output->expected;
    p.scale = output->scale;
    launch_add(batch, ATOLL_KERNEL_print_make, &p);
}

void atoll_cuda_fingerprint_match(struct atoll_command_batch *batch, const struct atoll_task *task,
                                  const struct atoll_support_output *output, uint64_t print,
                                  const struct atoll_support_key *key, uint64_t salt, double bound_ratio,
                                  uint64_t result)
{
    struct atoll_print_launch p = launch_of(task, output, print, key, salt, result);
    p.address = output->address;
    p.bound_ratio = bound_ratio;
    p.output_hash = atoll_support_hashes_along(task, output) ? output->hash : 0;
    p.output_key = output->hash_key;
    launch_add(batch, ATOLL_KERNEL_print_match, &p);
}

void atoll_cuda_fingerprint_read(const void *bytes, struct atoll_cuda_fingerprint_finding *ret)
{
    struct atoll_print_area a;
    _Static_assert(sizeof(a) <= ATOLL_CUDA_FINGERPRINT_FINDING_BYTES, "a finding has room");
    memcpy(&a, bytes, sizeof(a));
    *ret = (struct atoll_cuda_fingerprint_finding){.off_count = a.off_count,
                                                   .nonfinite_count = a.nonfinite_count,
                                                   .pair_count = a.pair_count,
                                                   .hash = a.hash,
                                                   .expected2 = a.expected2,
                                                   .bound2 = a.bound2,
                                                   .error2 = a.error2};
}

int atoll_cuda_fingerprint_matches(const struct atoll_cuda_fingerprint_finding *f, uint64_t count,
                                   double error2_limit)
{
    return f->off_count == 0 && f->pair_count == pairs_of(count) && f->error2 <= error2_limit;
}
