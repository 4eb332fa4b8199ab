/* images.c - lines of a report:
 *   triton image SYMBOL THREADS SHARED_BYTES SCRATCH_BYTES PASSED(hex)
 *   triton class LAUNCH LETTERS IMAGE */
#include "mpi-eval/backend/cuda/triton/images.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int letter_of(const struct atoll_arg *a, const struct atoll_binding *bindings, size_t count, char *ret,
                     struct atoll_err *err)
{
    int64_t value = 0;
    *ret = a->kind == ATOLL_ARG_TENSOR || a->kind == ATOLL_ARG_SCRATCH ? 'D' : '-';
    if (a->kind != ATOLL_ARG_INTEGER)
        return 0;
    if (atoll_expression_eval(a->value, bindings, count, &value, err) != 0)
        return atoll_err_add(err, "in argument \"%s\"", a->text);
    *ret = value == 1 ? '1' : value % 16 == 0 ? 'D' : '-';
    return 0;
}

int atoll_triton_letters(const struct atoll_prepared *p, const struct atoll_variant *v, size_t launch,
                         char ret_letters[ATOLL_PLAN_ARG_LIMIT + 1], struct atoll_err *err)
{
    const struct atoll_launch *l = &p->plan->launches[launch];
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT];
    size_t count = atoll_plan_bindings(p->task, v, p->plan, &p->choice, bindings);
    for (size_t i = 0; i < l->arg_count; i++)
        if (letter_of(&l->args[i], bindings, count, &ret_letters[i], err) != 0)
            return -1;
    ret_letters[l->arg_count] = '\0';
    return 0;
}

void atoll_triton_images_print(const struct atoll_triton_images *images, struct atoll_buffer *out)
{
    for (size_t i = 0; i < images->image_count; i++) {
        const struct atoll_triton_image *m = &images->images[i];
        atoll_buffer_printf(out, "triton image %s %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIx64 "\n",
                            m->symbol, m->threads, m->shared_bytes, m->scratch_bytes, m->passed);
    }
    for (size_t i = 0; i < images->class_count; i++)
        atoll_buffer_printf(out, "triton class %" PRIu32 " %s %" PRIu32 "\n", images->classes[i].launch,
                            images->classes[i].letters[0] ? images->classes[i].letters : ".",
                            images->classes[i].image);
}

static int read_image(const char *line, struct atoll_triton_images *ret)
{
    struct atoll_triton_image *m = &ret->images[ret->image_count];
    if (ret->image_count == ATOLL_TRITON_IMAGE_LIMIT ||
        sscanf(line, "triton image %127s %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNx64, m->symbol,
               &m->threads, &m->shared_bytes, &m->scratch_bytes, &m->passed) != 5)
        return -1;
    ret->image_count++;
    return 0;
}

static int read_class(const char *line, struct atoll_triton_images *ret)
{
    if (ret->class_count == ATOLL_TRITON_CLASS_LIMIT ||
        sscanf(line, "triton class %" SCNu32 " %64s %" SCNu32, &ret->classes[ret->class_count].launch,
               ret->classes[ret->class_count].letters, &ret->classes[ret->class_count].image) != 3 ||
        ret->classes[ret->class_count].image >= ret->image_count)
        return -1;
    if (strcmp(ret->classes[ret->class_count].letters, ".") == 0) /* a kernel without arguments */
        ret->classes[ret->class_count].letters[0] = '\0';
    ret->class_count++;
    return 0;
}

int atoll_triton_images_read(const char *report, struct atoll_triton_images *ret)
{
    ret->image_count = ret->class_count = 0;
    for (const char *line = report; line && strncmp(line, "triton ", 7) == 0;) {
        int failed = strncmp(line, "triton image ", 13) == 0 ? read_image(line, ret) : read_class(line, ret);
        if (failed)
            return -1;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return ret->image_count && ret->class_count ? 0 : -1;
}

/* What is known to hold for anything holds for these arguments. */
static int assumes_less(const char *image, const char *letters)
{
    size_t i = 0;
    while (image[i] && (image[i] == letters[i] || (image[i] == '-' && letters[i])))
        i++;
    return !image[i] && !letters[i];
}

int atoll_triton_images_find(const struct atoll_triton_images *images, size_t launch, const char *letters)
{
    for (size_t i = 0; i < images->class_count; i++)
        if (images->classes[i].launch == launch && strcmp(images->classes[i].letters, letters) == 0)
            return (int)images->classes[i].image;
    for (size_t i = 0; i < images->class_count; i++)
        if (images->classes[i].launch == launch && assumes_less(images->classes[i].letters, letters))
            return (int)images->classes[i].image;
    return -1;
}
