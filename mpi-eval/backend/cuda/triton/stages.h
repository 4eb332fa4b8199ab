/* stages.h - where compilations of Triton sources spend their time, in sums: for whoever wonders why a device waits for them.
 * Layer: mpi-eval, backend/cuda.  Plain values. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_TRITON_STAGES_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_TRITON_STAGES_H

enum atoll_triton_stage {
    ATOLL_TRITON_STAGE_QUEUE,    /* of a job, until a slot takes it */
    ATOLL_TRITON_STAGE_SEND,     /* of a part, until the zygote has its request */
    ATOLL_TRITON_STAGE_CHILD,    /* of a part, until its child's answer is there */
    ATOLL_TRITON_STAGE_CHILDREN, /* of a job: from its slot to the last answer */
    ATOLL_TRITON_STAGE_RULES,    /* of a job: its answers are read and its PTX is judged */
    ATOLL_TRITON_STAGE_PTXAS,    /* of a job: until its cubin is there */
    ATOLL_TRITON_STAGE_COUNT
};

struct atoll_triton_stages {
    unsigned long count[ATOLL_TRITON_STAGE_COUNT];
    double ns[ATOLL_TRITON_STAGE_COUNT], most_ns[ATOLL_TRITON_STAGE_COUNT];
    double processor_ns; /* of all children */
};

void atoll_triton_stages_add(struct atoll_triton_stages *stages, enum atoll_triton_stage stage, double ns);
/* The line eval.triton.account; nothing without a compilation. */
void atoll_triton_stages_log(const struct atoll_triton_stages *stages);

#endif
