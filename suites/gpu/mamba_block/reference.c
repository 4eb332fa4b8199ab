/* One channel, position by position. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long positions = dim_M(a), states = dim_S(a);
    double *h = scratch(a), *size = h + states;
    for (long s = 0; s < states; s++)
        h[s] = size[s] = 0.0;
    for (long t = 0; t < positions; t++) {
        const double delta = get_delta(a, unit * positions + t),
                     input = delta * get_u(a, unit * positions + t);
        double sum = 0.0, magnitude = 0.0;
        for (long s = 0; s < states; s++) {
            const double keep = atoll_exp(delta * get_a(a, unit * states + s)),
                         b = get_b(a, s * positions + t);
            const double c = get_c(a, s * positions + t);
            h[s] = keep * h[s] + input * b;
            size[s] = keep * size[s] + atoll_fabs(input * b);
            sum += c * h[s];
            magnitude += atoll_fabs(c) * size[s];
        }
        put_y(a, unit * positions + t, sum);
        scale_y(a, unit * positions + t, magnitude);
    }
}
