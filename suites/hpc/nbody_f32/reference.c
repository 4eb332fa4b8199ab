/* One body: all others pull it; bodies nearer than a tenth pull more weakly. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long bodies = dim_N(a);
    double sum[3] = {0.0, 0.0, 0.0}, magnitude[3] = {0.0, 0.0, 0.0};
    for (long j = 0; j < bodies; j++) {
        double d[3], square = 0.01;
        for (int c = 0; c < 3; c++) {
            d[c] = get_pos(a, c * bodies + j) - get_pos(a, c * bodies + unit);
            square += d[c] * d[c];
        }
        const double pull = get_mass(a, j) / (square * atoll_sqrt(square));
        for (int c = 0; c < 3; c++) {
            sum[c] += pull * d[c];
            magnitude[c] += atoll_fabs(pull * d[c]);
        }
    }
    for (int c = 0; c < 3; c++) {
        put_acc(a, c * bodies + unit, sum[c]);
        scale_acc(a, c * bodies + unit, magnitude[c]);
    }
}
