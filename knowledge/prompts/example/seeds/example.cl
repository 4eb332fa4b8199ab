/* atoll-plan {
  "version": 1,
  "params": {"ITEMS": [128, 64, 256]},
  "launch": [{"kernel": "norms", "grid": ["B"], "block": ["ITEMS"], "args": ["x", "w", "y", "i64:N"]}]
} */
/* A work-group sums one row: neighbouring work-items load neighbouring elements, partial sums meet in local memory. */
__kernel void norms(__global const float *restrict x, __global const float *restrict w, __global float *restrict y, long n)
{
    __local float sums[ITEMS];
    const size_t item = get_local_id(0);
    __global const float *row = x + get_group_id(0) * n;
    float sum = 0.0f;
    for (long j = item; j < n; j += ITEMS)
        sum += w[j] * row[j] * row[j];
    sums[item] = sum;
    for (size_t width = ITEMS / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < width)
            sums[item] += sums[item + width];
    }
    if (item == 0)
        y[get_group_id(0)] = sqrt(sums[0]);
}
