/* clocks.h - what a sample took, from two clocks: the device's events, whose records lie where a kernel might write, and
 * the host, which watched them.
 * Layer: mpi-eval, backend/cuda.  Pure.
 *
 * A forged record gains by being short only, so the larger of the two is believed: a false alarm costs one slow sample
 * (medians bear it), and no verdict or repetition hangs on it, which a candidate could bring about.  The host saw the
 * start late when it was still at work as the device passed it (the gate had given up); its bracket is then too short to
 * say anything, and the device's own phases bound the sample: from the end of the contents to the stop there is a flush,
 * whose length is known, and the candidate. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_CLOCKS_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_CLOCKS_H

struct atoll_clocks {
    double span_ns;                     /* start to stop, by the device; NaN: no such record */
    double flush_ns;                    /* end of the contents to start, by the device */
    double flush_usual_ns;              /* the least that was seen in samples not late; 0 unknown */
    double start_seen_ns, stop_seen_ns; /* by the host, since the batch began */
    double opened_ns;                   /* when it had queued everything and only watched; NaN: no gate */
};

/* 1 when the start had passed before the host watched. */
int atoll_clocks_late(const struct atoll_clocks *clocks);
/* The time to be believed, > 0; NaN when neither clock says anything.  *ret_doubted: 1 when it is not the device's. */
double atoll_clocks_span(const struct atoll_clocks *clocks, int *ret_doubted);

#endif
