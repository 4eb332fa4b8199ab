/* One row of the matrix. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long end = (long)get_ptr(a, unit + 1);
    double sum = 0.0, magnitude = 0.0;
    for (long k = (long)get_ptr(a, unit); k < end; k++) {
        const double term = get_val(a, k) * get_x(a, (long)get_col(a, k));
        sum += term;
        magnitude += atoll_fabs(term);
    }
    put_y(a, unit, sum);
    scale_y(a, unit, magnitude);
}
