/* The known answer: wrong arithmetic, shared memory, device memory or atomics anywhere change the sum. */
ATOLL_KERNEL __launch_bounds__(ATOLL_KNOWN_ANSWER_THREADS) atoll_known_answer_kernel(atoll_probe_launch p)
{
    __shared__ atoll_u64 met[ATOLL_KNOWN_ANSWER_THREADS];
    volatile atoll_u64 *area = (atoll_u64 *)p.area + (atoll_u64)blockIdx.x * ATOLL_KNOWN_ANSWER_THREADS;
    atoll_u64 value = atoll_known_answer_value(p.key, thread_index());
    met[threadIdx.x] = value;
    __syncthreads();
    value = atoll_known_answer_meet(value, met[atoll_known_answer_partner(threadIdx.x, 0)]);
    area[threadIdx.x] = value;
    __threadfence();
    __syncthreads();
    value = atoll_known_answer_meet(value, area[atoll_known_answer_partner(threadIdx.x, 1)]);
    atomicAdd((atoll_u64 *)p.result, value);
}
