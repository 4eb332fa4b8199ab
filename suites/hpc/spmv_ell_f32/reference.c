/* One row of the matrix. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long rows = dim_M(a), width = dim_K(a);
    double sum = 0.0, magnitude = 0.0;
    for (long k = 0; k < width; k++) {
        const double term = get_val(a, k * rows + unit) * get_x(a, (long)get_col(a, k * rows + unit));
        sum += term;
        magnitude += atoll_fabs(term);
    }
    put_y(a, unit, sum);
    scale_y(a, unit, magnitude);
}
