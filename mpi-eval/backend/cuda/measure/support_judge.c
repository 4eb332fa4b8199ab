/* support_judge.c - what a finding means: the same sentences as those of the host's comparison (referee/check.c). */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mpi-eval/backend/cuda/measure/support.h"
#include "mpi-eval/referee/check.h"
#include "mpi-eval/referee/shape.h"

struct text {
    char *at;
    size_t room;
};

static void append(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->room, format, args);
    va_end(args);
    size_t used = n < 0 || t->room == 0 ? 0 : (size_t)n < t->room ? (size_t)n : t->room - 1;
    t->at += used;
    t->room -= used;
}

static void describe(const struct atoll_support_finding *f, const char *name, const struct atoll_shape *shape,
                     struct text *t)
{
    char worst[160], first[160], last[160];
    append(t, "%s: %llu of %llu elements wrong (%.3g %%); worst %s: expected %.9g, got %.9g", name,
           (unsigned long long)f->wrong_count, (unsigned long long)f->count,
           100.0 * (double)f->wrong_count / (double)f->count,
           atoll_shape_index_text(shape, name, f->worst_index, worst, sizeof worst), f->worst_expected,
           f->worst_got);
    if (f->worst_error < ATOLL_WORST_ERROR_MAX)
        append(t, ", error %.3g times the tolerance", f->worst_error);
    if (f->nonfinite_count)
        append(t, "; %llu are NaN or Inf where the reference is finite",
               (unsigned long long)f->nonfinite_count);
    if (f->unwritten_count)
        append(t, "; %llu were never written", (unsigned long long)f->unwritten_count);
    if (f->wrong_count > 1 && f->first_wrong < f->last_wrong && f->last_wrong < f->count)
        append(t, "; wrong ones lie between %s and %s",
               atoll_shape_index_text(shape, name, f->first_wrong, first, sizeof first),
               atoll_shape_index_text(shape, name, f->last_wrong, last, sizeof last));
}

/* Criteria over the whole tensor; written so that NaN fails. */
static int judge_norms(const struct atoll_support_finding *f, const struct atoll_tolerance *tolerance,
                       const char *name, int is_right, struct text *t)
{
    if (tolerance->norm > 0) {
        double error = sqrt(f->difference2), limit = tolerance->norm * sqrt(f->expected2);
        if (!(error <= limit)) {
            append(t, "%s%s: norm of the error %.6g is above %.6g", is_right ? "" : "; ", name, error, limit);
            is_right = 0;
        }
    }
    if (tolerance->cosine > 0 && f->expected2 > 0) {
        double cosine = f->product / sqrt(f->expected2 * f->got2);
        if (!(cosine >= tolerance->cosine)) {
            append(t, "%s%s: cosine %.9g is below %.9g", is_right ? "" : "; ", name, cosine,
                   tolerance->cosine);
            is_right = 0;
        }
    }
    return is_right;
}

int atoll_support_finding_judge(const struct atoll_support_finding *f, const struct atoll_task *task,
                                size_t tensor, const struct atoll_variant *variant, char *ret_detail,
                                size_t detail_bytes)
{
    const char *name = task->tensors[tensor].name;
    struct text t = {ret_detail, detail_bytes};
    struct atoll_shape shape;
    int is_right = 1;
    if (detail_bytes)
        ret_detail[0] = '\0';
    if (atoll_shape_of(task, tensor, variant, &shape, NULL) || f->count != shape.count ||
        f->wrong_count > f->count || f->worst_index >= f->count) {
        append(&t, "%s: the comparison saw %llu elements, which is not what there is", name,
               (unsigned long long)f->count);
        return 0;
    }
    if (f->wrong_count && (f->unwritten_count || f->nonfinite_count ||
                           (double)f->wrong_count > task->tolerance.wrong_share * (double)f->count)) {
        is_right = 0;
        describe(f, name, &shape, &t);
    }
    return judge_norms(f, &task->tolerance, name, is_right, &t);
}
