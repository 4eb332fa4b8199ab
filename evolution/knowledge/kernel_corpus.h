/* kernel_corpus.h - kernels that are known to be correct, of other tasks: what a first draft is shown (papers/003 3.2.1).  In a frozen pack
 * each is a text "kernels/ORIGIN/TASK/NAME.SUFFIX": lines "key: value", an empty line, the source; proven examples of the knowledge
 * base are kernels, too.
 * Layer: evolution, pure.  Texts are borrowed. */
#ifndef ATOLL_EVOLUTION_KNOWLEDGE_KERNEL_CORPUS_H
#define ATOLL_EVOLUTION_KNOWLEDGE_KERNEL_CORPUS_H

#include "base/arena.h"
#include "base/buffer.h"
#include "core/knowledge/index.h"
#include "core/knowledge/pack.h"
#include "core/task/task.h"

#define ATOLL_KERNELS_FOLDER      "kernels/"
#define ATOLL_KERNEL_FAMILY_LIMIT 8

/* Texts are never NULL. */
struct atoll_kernel_text {
    const char *name;                      /* "gpu/gemm_bf16/mma.cu": unique */
    const char *language;                  /* by its suffix */
    const char *task, *category, *summary; /* of the task it was made for; task: its name */
    const char *task_id;                   /* of that task, hexadecimal; "" unknown */
    const char *types;                     /* of its tensors: "bf16 bf16 f32" */
    const char *form;                      /* what it reads and writes: "in[a,b] in[b,c] out[a,c]" */
    const char *device;                    /* what it ran on; "" not measured here */
    const char *family;                    /* of devices that it is for; "" any that runs its language */
    const char *shape;                     /* where it was timed: "M=4096 N=4096" */
    double time_us, gain;                  /* there, and how many times the baseline's speed; 0 unknown */
    const char *note;                      /* what is to be learnt from it */
    const char *source;
    size_t family_count; /* of operators, that its task is of */
    const char *families[ATOLL_KERNEL_FAMILY_LIMIT];
};

/* Of a source of a task; texts that the task has are borrowed, others go into arena.  index: NULL, then it has no families. */
int atoll_kernel_text_of(const struct atoll_task *task, const char *name, const char *language,
                         const char *source, const struct atoll_knowledge_index *index,
                         struct atoll_arena *arena, struct atoll_kernel_text *ret_kernel,
                         struct atoll_err *err);
/* ".cu" of "cuda"; "" of a language that is none. */
const char *atoll_kernel_suffix(const char *language);
/* At its place in a pack. */
int atoll_kernel_text_put(const struct atoll_kernel_text *kernel, struct atoll_knowledge_pack *pack,
                          struct atoll_err *err);
/* 1; 0: the file is none.  What others wrote: keys that are not known are passed over. */
int atoll_kernel_text_read(const struct atoll_knowledge_file *file, const struct atoll_knowledge_index *index,
                           struct atoll_arena *arena, struct atoll_kernel_text *ret_kernel,
                           struct atoll_err *err);
/* Of a task's tensors, in their order: "bf16 bf16 f32", and "in[a,b] in[b,c] out[a,c]", dims by their first appearance. */
const char *atoll_kernel_types(const struct atoll_task *task, struct atoll_arena *arena,
                               struct atoll_err *err);
const char *atoll_kernel_form(const struct atoll_task *task, struct atoll_arena *arena,
                              struct atoll_err *err);

#endif
