#define COLUMNS 16 /* of a product at a time: each factor of the row is read once for them */

/* One row of one head into out: scores against every key, their softmax, the weighted sum of the values. */
static void attend(const struct atoll_reference_args *a, long query, long head, double *power, double *out)
{
    const long keys = dim_L(a), depth = dim_D(a);
    const double root = atoll_sqrt((double)depth);
    double top = -ATOLL_INFINITY, sum = 0.0;
    for (long j = 0; j < keys; j++) {
        double score = 0.0;
        for (long d = 0; d < depth; d++)
            score += get_q(a, query * depth + d) * get_k(a, (head + j) * depth + d);
        power[j] = score / root;
        top = atoll_fmax(top, power[j]);
    }
    for (long j = 0; j < keys; j++) {
        power[j] = atoll_exp(power[j] - top);
        sum += power[j];
    }
    for (long first = 0; first < depth; first += COLUMNS) {
        double total[COLUMNS] = {0};
        for (long j = 0; j < keys; j++)
            for (long d = 0; d < COLUMNS; d++)
                total[d] += power[j] * get_v(a, (head + j) * depth + (first + d < depth ? first + d : first));
        for (long d = 0; d < COLUMNS && first + d < depth; d++)
            out[first + d] = total[d] / sum;
    }
}

/* The hidden row, gate times value. */
static void hide(const struct atoll_reference_args *a, const double *row, double *hidden)
{
    const long width = dim_F(a), depth = dim_H(a) * dim_D(a);
    for (long first = 0; first < width; first += COLUMNS) {
        double gate[COLUMNS] = {0}, value[COLUMNS] = {0};
        for (long k = 0; k < depth; k++) {
            for (long j = 0; j < COLUMNS; j++) {
                const long at = k * width + (first + j < width ? first + j : first);
                gate[j] += row[k] * get_g(a, at);
                value[j] += row[k] * get_u(a, at);
            }
        }
        for (long j = 0; j < COLUMNS && first + j < width; j++)
            hidden[first + j] = gate[j] / (1.0 + atoll_exp(-gate[j])) * value[j];
    }
}

/* One row: all heads, then the layer. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long rows = dim_L(a), heads = dim_H(a), groups = dim_G(a), depth = heads * dim_D(a),
               width = dim_F(a);
    const long batch = unit / rows, row = unit % rows;
    double *power = scratch(a), *attended = power + rows, *hidden = attended + depth;
    for (long h = 0; h < heads; h++)
        attend(a, (batch * heads + h) * rows + row, (batch * groups + h / (heads / groups)) * rows, power,
               attended + h * dim_D(a));
    hide(a, attended, hidden);
    for (long first = 0; first < depth; first += COLUMNS) {
        double total[COLUMNS] = {0}, squares[COLUMNS] = {0};
        for (long k = 0; k < width; k++) {
            for (long j = 0; j < COLUMNS; j++) {
                const double term = hidden[k] * get_w(a, k * depth + (first + j < depth ? first + j : first));
                total[j] += term;
                squares[j] += term * term;
            }
        }
        for (long j = 0; j < COLUMNS && first + j < depth; j++) {
            put_y(a, unit * depth + first + j, total[j]);
            scale_y(a, unit * depth + first + j, atoll_fabs(total[j]) + atoll_sqrt(squares[j]));
        }
    }
}
