/* One element of C = A B.  The scale is what roundings of single terms add up to: |c| and the root of the sum of
 * squares. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), depth = dim_K(a);
    const long row = unit / n, column = unit % n;
    double sum = 0.0, squares = 0.0;
    for (long k = 0; k < depth; k++) {
        const double term = get_a(a, row * depth + k) * get_b(a, k * n + column);
        sum += term;
        squares += term * term;
    }
    put_c(a, unit, sum);
    scale_c(a, unit, atoll_fabs(sum) + atoll_sqrt(squares));
}
