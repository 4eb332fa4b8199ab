/* oracle.h - the reference of one task, compiled or PyTorch's: inputs of an input set in, expected values in double precision
 * out. Layer: mpi-eval, backend/cpu.  Lifetime: create/destroy.  It runs in a worker of its own; its buffers
 * never become a candidate's. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_ORACLE_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_ORACLE_H

#include "core/task/task.h"
#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/backend/cpu/process/runner.h"
#include "mpi-eval/referee/input_set.h"
#include "mpi-eval/backend/cpu/measure/memory.h"
#include "mpi-eval/torch/torch_oracle.h"

struct atoll_oracle;

/* Compiles the reference; the worker starts with the first question.  A task that PyTorch defines is asked of torch.  task,
 * memory, torch: borrowed.  runner: copied; its cores are borrowed.  hash_key: of the input hashes below.  ATOLL_E_INPUT with the diagnostics
 * when the reference does not compile. */
struct atoll_oracle *atoll_oracle_create(const struct atoll_task *task, struct atoll_compiler *compiler,
                                         const struct atoll_runner_settings *runner,
                                         struct atoll_memory *memory, struct atoll_torch_oracle *torch,
                                         uint64_t hash_key, struct atoll_err *err);
/* The unit that the reference is compiled from, and what it is called; out: empty, with a limit of its own.  ATOLL_E_INPUT
 * for a task that has none. */
int atoll_oracle_unit(const struct atoll_task *task, const char **ret_name, struct atoll_buffer *out,
                      struct atoll_err *err);
/* The same with the unit compiled by the caller; object: copied. */
struct atoll_oracle *atoll_oracle_create_compiled(const struct atoll_task *task, const void *object,
                                                  size_t length, const struct atoll_runner_settings *runner,
                                                  struct atoll_memory *memory, uint64_t hash_key,
                                                  struct atoll_err *err);
/* What it runs, for others of the same task; borrowed, NULL where PyTorch is asked. */
const void *atoll_oracle_object(const struct atoll_oracle *oracle, size_t *ret_length);
/* From now on it works with this team; borrowed, NULL none. */
void atoll_oracle_set_team(struct atoll_oracle *oracle, struct atoll_team *team);
void atoll_oracle_destroy(struct atoll_oracle *oracle);

/* Expected values of one input set, by tensor number. */
struct atoll_truth {
    size_t counts[ATOLL_TASK_TENSOR_LIMIT];
    double *values[ATOLL_TASK_TENSOR_LIMIT];     /* owned; NULL where nothing is expected */
    double *scale[ATOLL_TASK_TENSOR_LIMIT];      /* owned; NULL where the reference gives none */
    void *inputs[ATOLL_TASK_TENSOR_LIMIT];       /* owned; raw, as a candidate gets them; NULL for role out */
    size_t input_bytes[ATOLL_TASK_TENSOR_LIMIT]; /* of inputs */
    uint64_t input_hash[ATOLL_TASK_TENSOR_LIMIT]; /* of the raw inputs of role in and constant */
    char precision
        [8]; /* what PyTorch computed it in: "f64", "f32" ...; "" the compiled reference, in double precision */
    double ns;
};
void atoll_truth_fini(struct atoll_truth *truth);

/* inputs and, when asked for, values and scale as copies of the caller's own, in arrays of `arrays` where that has some (NULL:
 * in new ones). */
int atoll_truth_copy(const struct atoll_truth *from, int with_values, struct atoll_arrays *arrays,
                     struct atoll_team *team, struct atoll_truth *ret_truth, struct atoll_err *err);
/* The values of one input, which the seed decides: that of the input set, or another one. */
int atoll_oracle_make_input(const struct atoll_task *task, size_t tensor,
                            const struct atoll_input_set *input_set, uint64_t seed, size_t count,
                            struct atoll_team *team, void *ret_data, struct atoll_err *err);

/* Asks and shows: the truth and its arrays are borrowed until see returns, which may fail with err. */
typedef int atoll_oracle_visitor(void *context, const struct atoll_truth *truth, struct atoll_err *err);
int atoll_oracle_visit(struct atoll_oracle *oracle, const struct atoll_input_set *input_set,
                       long changed_tensor, atoll_oracle_visitor *visitor, void *context,
                       struct atoll_err *err);
/* Asks and lends: the arrays of ret_truth lie where they were made until the loan is taken back, while the oracle lives.
 * NULL with err. */
void *atoll_oracle_lend(struct atoll_oracle *oracle, const struct atoll_input_set *input_set,
                        struct atoll_truth *ret_truth, struct atoll_err *err);
void atoll_oracle_take_back(void *loan); /* NULL is fine */
/* Waits until nothing of it moves (atoll_runner_settle). */
void atoll_oracle_settle(const struct atoll_oracle *oracle);
/* changed_tensor >= 0: this one input comes from another seed (impact test); -1 otherwise. */
int atoll_oracle_ask(struct atoll_oracle *oracle, const struct atoll_input_set *input_set,
                     long changed_tensor, struct atoll_truth *ret_truth, struct atoll_err *err);

#endif
