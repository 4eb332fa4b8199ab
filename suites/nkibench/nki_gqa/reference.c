#define COLUMNS 16 /* of the result at a time: each power is read once for them */

/* Element d of key or value j of the head that a query head shares. */
static long place(const struct atoll_reference_args *a, long batch, long head, long j, long d)
{
    const long shared = head / (dim_H(a) / dim_G(a));
    return ((batch * dim_L(a) + j) * dim_G(a) + shared) * dim_D(a) + d;
}

/* One row of one head: scores against every key, their softmax, the weighted sum of the values. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long rows = dim_L(a), depth = dim_D(a), heads = dim_H(a);
    const long row = unit % rows, head = unit / rows % heads, batch = unit / (rows * heads);
    const long query = ((batch * rows + row) * heads + head) * depth;
    const double root = atoll_sqrt((double)depth);
    double *power = scratch(a), top = -ATOLL_INFINITY, sum = 0.0;
    for (long j = 0; j < rows; j++) {
        double score = 0.0;
        for (long d = 0; d < depth; d++)
            score += get_q(a, query + d) * get_k(a, place(a, batch, head, j, d));
        power[j] = score / root;
        top = atoll_fmax(top, power[j]);
    }
    for (long j = 0; j < rows; j++) {
        power[j] = atoll_exp(power[j] - top);
        sum += power[j];
    }
    for (long first = 0; first < depth; first += COLUMNS) {
        double total[COLUMNS] = {0}, size[COLUMNS] = {0};
        for (long j = 0; j < rows; j++) {
            for (long d = 0; d < COLUMNS; d++) {
                const double term =
                    power[j] * get_v(a, place(a, batch, head, j, first + d < depth ? first + d : first));
                total[d] += term;
                size[d] += atoll_fabs(term);
            }
        }
        for (long d = 0; d < COLUMNS && first + d < depth; d++) {
            put_y(a, unit * depth + first + d, total[d] / sum);
            scale_y(a, unit * depth + first + d, size[d] / sum);
        }
    }
}
