#define COLUMNS 16 /* of the result at a time: each power is read once for them */

/* Columns first ... of one row: the weighted sum of the values of `keys` keys from row `head` on. */
static void weigh(const struct atoll_reference_args *a, long unit, long first, long head, long keys,
                  const double *power, double sum)
{
    const long depth = dim_D(a), count = depth - first < COLUMNS ? depth - first : COLUMNS;
    double total[COLUMNS] = {0}, squares[COLUMNS] = {0};
    for (long j = 0; j < keys; j++) {
        for (long d = 0; d < COLUMNS; d++) {
            const long column = d < count ? first + d : first;
            const double term = power[j] * get_v(a, (head + j) * depth + column);
            total[d] += term;
            squares[d] += term * term;
        }
    }
    for (long d = 0; d < count; d++) {
        put_y(a, unit * depth + first + d, total[d] / sum);
        scale_y(a, unit * depth + first + d, (atoll_fabs(total[d]) + atoll_sqrt(squares[d])) / sum);
    }
}

/* Row of the keys where those of a head begin; heads are counted over all batches. */
static long first_key(const struct atoll_reference_args *a, long head)
{
    return head * dim_L(a);
}

/* How many of them a row of the head sees. */
static long key_count(const struct atoll_reference_args *a, long row)
{
    (void)row;
    return dim_L(a);
}

/* One row of one head: scores against every key, their softmax, the weighted sum of the values. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long rows = dim_L(a), depth = dim_D(a);
    const long head = first_key(a, unit / rows), keys = key_count(a, unit % rows);
    const double root = atoll_sqrt((double)depth);
    double *power = scratch(a);
    double top = -ATOLL_INFINITY, sum = 0.0;
    for (long j = 0; j < keys; j++) {
        double score = 0.0;
        for (long d = 0; d < depth; d++)
            score += get_q(a, unit * depth + d) * get_k(a, (head + j) * depth + d);
        power[j] = score / root;
        top = atoll_fmax(top, power[j]);
    }
    for (long j = 0; j < keys; j++) {
        power[j] = atoll_exp(power[j] - top);
        sum += power[j];
    }
    for (long first = 0; first < depth; first += COLUMNS)
        weigh(a, unit, first, head, keys, power, sum);
}
