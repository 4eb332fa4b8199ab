#define COLUMNS 8 /* of the result at a time: each power is read once for them */

/* Columns first ... of one row: the weighted sum of the values. */
static void weigh(const struct atoll_reference_args *a, long unit, long first, const double *power,
                  double sum, double share)
{
    const long keys = dim_L(a), depth = dim_D(a), head = unit / keys * keys;
    const long count = depth - first < COLUMNS ? depth - first : COLUMNS;
    double total[COLUMNS] = {0}, magnitude[COLUMNS] = {0};
    for (long j = 0; j < keys; j++) {
        for (long d = 0; d < COLUMNS; d++) {
            const long column = d < count ? first + d : first;
            const double term = power[j] * get_v(a, (head + j) * depth + column);
            total[d] += term;
            magnitude[d] += atoll_fabs(term);
        }
    }
    for (long d = 0; d < count; d++) {
        put_y(a, unit * depth + first + d, total[d] / sum);
        scale_y(a, unit * depth + first + d, magnitude[d] / sum * share);
    }
}

/* One row of one head: scores against every key, their softmax, the weighted sum of the values. An error of a
 * score counts as often as the score is large, so the scale grows with the largest sum of |q||k|. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long keys = dim_L(a), depth = dim_D(a), head = unit / keys * keys;
    const double root = atoll_sqrt((double)depth);
    double *power = scratch(a);
    double top = -ATOLL_INFINITY, largest = 0.0, sum = 0.0;
    for (long j = 0; j < keys; j++) {
        double score = 0.0, magnitude = 0.0;
        for (long d = 0; d < depth; d++) {
            const double term = get_q(a, unit * depth + d) * get_k(a, (head + j) * depth + d);
            score += term;
            magnitude += atoll_fabs(term);
        }
        power[j] = score / root;
        top = atoll_fmax(top, power[j]);
        largest = atoll_fmax(largest, magnitude / root);
    }
    for (long j = 0; j < keys; j++) {
        power[j] = atoll_exp(power[j] - top);
        sum += power[j];
    }
    for (long first = 0; first < depth; first += COLUMNS)
        weigh(a, unit, first, power, sum, 1.0 + largest);
}
