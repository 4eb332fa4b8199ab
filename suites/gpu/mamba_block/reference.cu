/* A block has a channel, each thread a stretch of positions, one state after the other.  What a stretch does to a state is
 * h -> keep h + end, so stretches are put together by a scan over the threads, and each is then walked again from where it
 * really begins. */
struct stretch {
    double keep, end, size;
};

static __device__ stretch stretches_before(const stretch &mine)
{
    __shared__ stretch part[ATOLL_TILE_THREADS];
    const int me = atoll_thread();
    __syncthreads();
    part[me] = mine;
    __syncthreads();
    for (int reach = 1; reach < ATOLL_TILE_THREADS; reach *= 2) {
        const stretch first = me >= reach ? part[me - reach] : stretch{1.0, 0.0, 0.0}, then = part[me];
        __syncthreads();
        part[me] = stretch{first.keep * then.keep, then.keep * first.end + then.end,
                           then.keep * first.size + then.size};
        __syncthreads();
    }
    return me > 0 ? part[me - 1] : stretch{1.0, 0.0, 0.0};
}

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? dim_C(a) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long channel)
{
    const long positions = dim_M(a), states = dim_S(a),
               length = (positions + ATOLL_TILE_THREADS - 1) / ATOLL_TILE_THREADS;
    const long begin = atoll_thread() * length, end = begin + length < positions ? begin + length : positions;
    for (long s = 0; s < states; s++) {
        const double rate = get_a(a, channel * states + s);
        stretch mine = {1.0, 0.0, 0.0};
        for (long t = begin; t < end; t++) {
            const double delta = get_delta(a, channel * positions + t), keep = atoll_exp(delta * rate);
            const double term = delta * get_u(a, channel * positions + t) * get_b(a, s * positions + t);
            mine = stretch{mine.keep * keep, keep * mine.end + term, keep * mine.size + atoll_fabs(term)};
        }
        const stretch before = stretches_before(mine);
        double h = before.end, size = before.size;
        for (long t = begin; t < end; t++) {
            const long at = channel * positions + t;
            const double delta = get_delta(a, at), keep = atoll_exp(delta * rate),
                         c = get_c(a, s * positions + t);
            const double term = delta * get_u(a, at) * get_b(a, s * positions + t);
            h = keep * h + term;
            size = keep * size + atoll_fabs(term);
            put_y(a, at, (s > 0 ? expected_y(a, at) : 0.0) + c * h);
            scale_y(a, at, (s > 0 ? expected_scale_y(a, at) : 0.0) + atoll_fabs(c) * size);
        }
    }
}
