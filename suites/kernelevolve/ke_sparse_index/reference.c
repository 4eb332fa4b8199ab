/* One query: the postings of its terms, one after the other. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long terms = dim_T(a), documents = dim_D(a);
    double *score = scratch(a), *size = score + documents;
    for (long d = 0; d < documents; d++)
        score[d] = size[d] = 0.0;
    for (long t = 0; t < terms; t++) {
        const long term = (long)get_term(a, unit * terms + t), last = (long)get_offset(a, term + 1);
        const double impact = get_impact(a, unit * terms + t);
        for (long p = (long)get_offset(a, term); p < last; p++) {
            const long d = (long)get_doc(a, p);
            score[d] += impact * get_value(a, p);
            size[d] += atoll_fabs(impact * get_value(a, p));
        }
    }
    for (long d = 0; d < documents; d++) {
        put_y(a, unit * documents + d, score[d]);
        scale_y(a, unit * documents + d, size[d]);
    }
}
