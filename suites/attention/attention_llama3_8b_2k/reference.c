#define COLUMNS 16 /* of the result at a time: each power is read once for them */
#define STRETCH 64 /* keys at a time */

/* Adds the values of `count` keys from row `key` on to columns first ... of the sums, which shrink first. */
static void weigh(const struct atoll_reference_args *a, long key, long count, long first, const double *power,
                  double shrink, double *totals, double *squares)
{
    const long depth = dim_D(a), width = depth - first < COLUMNS ? depth - first : COLUMNS;
    double total[COLUMNS] = {0}, square[COLUMNS] = {0};
    for (long j = 0; j < count; j++) {
        for (long d = 0; d < COLUMNS; d++) {
            const double term = power[j] * get_v(a, (key + j) * depth + first + (d < width ? d : 0));
            total[d] += term;
            square[d] += term * term;
        }
    }
    for (long d = 0; d < width; d++) {
        totals[first + d] = totals[first + d] * shrink + total[d];
        squares[first + d] = squares[first + d] * shrink * shrink + square[d];
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

/* One row of one head, a stretch of keys after the other: all sums are relative to the largest score so far, and no row of scores
 * is kept, however long it is. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long rows = dim_L(a), depth = dim_D(a), head = first_key(a, unit / rows);
    const long keys = key_count(a, unit % rows);
    const double root = atoll_sqrt((double)depth);
    double power[STRETCH], *totals = scratch(a), *squares = totals + depth, top = -ATOLL_INFINITY, sum = 0.0;
    for (long d = 0; d < depth; d++)
        totals[d] = squares[d] = 0.0;
    for (long key = 0; key < keys; key += STRETCH) {
        const long count = keys - key < STRETCH ? keys - key : STRETCH;
        double high = top;
        for (long j = 0; j < count; j++) {
            double score = 0.0;
            for (long d = 0; d < depth; d++)
                score += get_q(a, unit * depth + d) * get_k(a, (head + key + j) * depth + d);
            power[j] = score / root;
            high = atoll_fmax(high, power[j]);
        }
        const double shrink = atoll_exp(top - high);
        sum *= shrink;
        for (long j = 0; j < count; j++) {
            power[j] = atoll_exp(power[j] - high);
            sum += power[j];
        }
        for (long first = 0; first < depth; first += COLUMNS)
            weigh(a, head + key, count, first, power, shrink, totals, squares);
        top = high;
    }
    for (long d = 0; d < depth; d++) {
        put_y(a, unit * depth + d, totals[d] / sum);
        scale_y(a, unit * depth + d, (atoll_fabs(totals[d]) + atoll_sqrt(squares[d])) / sum);
    }
}
