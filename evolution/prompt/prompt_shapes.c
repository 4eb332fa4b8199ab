/* prompt_shapes.c - the section of sizes that fit the timed shapes and the device (papers/002 IV-E): what a few tiles mean in
 * blocks, waves, shared memory and registers; of C what the caches hold. */
#include <math.h>
#include <string.h>

#include "evolution/prompt/prompt_text.h"
#include "evolution/tuner/shape.h"

#define VARIANTS 3
#define SHAPES   4
#define L1_BYTES 32768.0 /* of a core, where nobody says */
#define L2_BYTES 1048576.0

static int is_told(const struct atoll_prompt_input *input, const struct atoll_variant *v)
{
    return v->kind == ATOLL_VARIANT_BENCH &&
           (!v->backend || (input->backend && strcmp(v->backend, input->backend) == 0));
}

/* Values in one element of a factor, where the work says that a sum is so many times as deep as its extent (4-bit weights, two in a
 * byte); 1: they are not packed. */
static double packed_values(const struct atoll_task *task, const struct atoll_variant *v,
                            const struct atoll_shape_problem *p)
{
    struct atoll_work work;
    int has_bytes = 0;
    for (size_t i = 0; i < task->tensor_count; i++)
        has_bytes |= task->tensors[i].role != ATOLL_ROLE_OUT && task->tensors[i].rank > 1 &&
                     !atoll_dtype_is_float(task->tensors[i].dtype) &&
                     atoll_dtype_bytes(task->tensors[i].dtype) == 1;
    if (p->family != ATOLL_SHAPE_MATRIX || !has_bytes || atoll_task_work(task, v, &work, NULL) != 0)
        return 1;
    double operations = work.matrix_flops > 0 ? work.matrix_flops : work.flops,
           values = round(operations / (2 * p->m * p->n * p->k * p->batch));
    return values >= 2 && values <= 8 ? values : 1;
}

static void put_problem(const struct atoll_shape_problem *p, const char *variant, struct atoll_buffer *out)
{
    atoll_buffer_printf(out, "%s: ", variant);
    switch (p->family) {
    case ATOLL_SHAPE_MATRIX:
        if (p->batch > 1)
            atoll_buffer_printf(out, "%.0f times ", p->batch);
        atoll_buffer_printf(out, "%.0f x %.0f results, each a sum of %.0f", p->m, p->n, p->k);
        break;
    case ATOLL_SHAPE_ATTENTION:
        atoll_buffer_printf(out, "%.0f queries of all heads, about %.0f keys each, depth %.0f", p->m, p->n,
                            p->k);
        break;
    case ATOLL_SHAPE_ROWS: atoll_buffer_printf(out, "%.0f rows of %.0f", p->m, p->n); break;
    case ATOLL_SHAPE_GRID: atoll_buffer_printf(out, "%.0f x %.0f x %.0f cells", p->k, p->m, p->n); break;
    default: atoll_buffer_printf(out, "%.0f elements", p->n);
    }
    atoll_buffer_printf(out, "\n");
}

/* ---- devices ---- */

static void put_sizes(const struct atoll_shape *s, struct atoll_buffer *out)
{
    static const struct {
        enum atoll_shape_role role;
        const char *before, *after;
    } said[] = {
        {ATOLL_SHAPE_TILE_M, "tile of ", " rows"},  {ATOLL_SHAPE_TILE_N, "", " columns"},
        {ATOLL_SHAPE_TILE_K, "", " deep"},          {ATOLL_SHAPE_STAGES, "", " stages"},
        {ATOLL_SHAPE_WARPS, "", " warps"},          {ATOLL_SHAPE_SPLIT, "sum split in ", ""},
        {ATOLL_SHAPE_THREADS, "", " threads"},      {ATOLL_SHAPE_THREADS_X, "", " threads across"},
        {ATOLL_SHAPE_THREADS_Y, "", " down"},       {ATOLL_SHAPE_ROWS_OF_BLOCK, "", " rows a block"},
        {ATOLL_SHAPE_VECTOR, "accesses of ", ""},   {ATOLL_SHAPE_WORK, "", " of them a thread"},
        {ATOLL_SHAPE_WORK_Y, "", " rows a thread"}, {ATOLL_SHAPE_WORK_Z, "", " planes a thread"},
    };
    const char *between = "  ";
    for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
        int64_t value = s->values[said[i].role];
        if (!value || (said[i].role == ATOLL_SHAPE_SPLIT && value == 1))
            continue;
        atoll_buffer_printf(out, "%s%s%lld%s", between, said[i].before, (long long)value, said[i].after);
        between = ", ";
    }
}

static void put_figures(const struct atoll_shape *s, struct atoll_buffer *out)
{
    atoll_buffer_printf(out, ": %.0f blocks of %.0f threads", s->blocks, s->threads);
    if (s->shared_bytes >= 1024)
        atoll_buffer_printf(out, ", %.0f KiB of shared memory", ceil(s->shared_bytes / 1024));
    atoll_buffer_printf(out, ", about %.0f registers a thread, %.0f resident, %.2f waves\n", s->registers,
                        s->resident, s->waves);
}

/* Tiles in groups of so many rows: the blocks that run together read about as many rows as columns, so few of both, from L2. */
static void put_group(const struct atoll_shape_problem *p, const struct atoll_device_shape *device,
                      const struct atoll_shape *s, struct atoll_buffer *out)
{
    double bm = (double)s->values[ATOLL_SHAPE_TILE_M], bn = (double)s->values[ATOLL_SHAPE_TILE_N],
           together = s->resident * device->multiprocessors;
    if (p->family != ATOLL_SHAPE_MATRIX || !(bm > 0 && bn > 0 && s->waves > 1) || s->blocks < 16)
        return;
    double rows = exp2(round(log2(sqrt(together * bn / bm)))), most = ceil(p->m / bm);
    rows = fmin(fmin(fmax(rows, 2), 16), most);
    if (rows > 1)
        atoll_buffer_printf(out,
                            "    in groups of %.0f rows of tiles, column after column inside of a group: "
                            "%.0f blocks run together\n",
                            rows, together);
}

static size_t put_shapes(const struct atoll_shape_problem *p, const struct atoll_device_shape *device,
                         const char *variant, struct atoll_buffer *out)
{
    struct atoll_shape shapes[ATOLL_SHAPE_LIMIT];
    size_t count = atoll_shape_suggest(p, device, shapes);
    if (count)
        put_problem(p, variant, out);
    for (size_t i = 0; i < count && i < SHAPES; i++) {
        put_sizes(&shapes[i], out);
        put_figures(&shapes[i], out);
        put_group(p, device, &shapes[i], out);
    }
    return count;
}

/* ---- C ---- */

static double power_below(double x)
{
    return x < 1 ? 1 : exp2(floor(log2(x)));
}

static size_t put_caches(const struct atoll_shape_problem *p, uint32_t threads, const char *variant,
                         struct atoll_buffer *out)
{
    double row = p->n * p->element_bytes, lanes = 64 / p->element_bytes;
    double depth = fmin(power_below(p->k), L1_BYTES / 2 / (2 * lanes * p->element_bytes));
    put_problem(p, variant, out);
    switch (p->family) {
    case ATOLL_SHAPE_MATRIX:
        atoll_buffer_printf(out,
                            "  sums in registers: 12 rows of 2 vectors with 32 registers (AVX-512: %.0f "
                            "columns), 6 rows of 2 "
                            "with 16 (half of the columns); %.0f deep keeps a panel of columns in half of "
                            "L1, %.0f rows of that depth half of L2\n",
                            2 * lanes, depth, power_below(L2_BYTES / 2 / (depth * p->element_bytes)));
        break;
    case ATOLL_SHAPE_ATTENTION:
        atoll_buffer_printf(out, "  keys and values of %.0f rows fill half of L2\n",
                            power_below(L2_BYTES / 2 / (2 * p->k * p->element_bytes)));
        break;
    case ATOLL_SHAPE_GRID:
        atoll_buffer_printf(out,
                            "  a row has %.0f KiB: bands of %.0f rows of three planes stay in half of L2\n",
                            ceil(row / 1024), fmax(1, floor(L2_BYTES / 2 / (3 * row))));
        break;
    case ATOLL_SHAPE_ROWS:
        atoll_buffer_printf(out, "  a row has %.0f KiB: a second pass over it reads %s\n", ceil(row / 1024),
                            row <= L1_BYTES   ? "L1"
                            : row <= L2_BYTES ? "L2"
                                              : "memory");
        break;
    default: break;
    }
    double units = p->family == ATOLL_SHAPE_STREAM ? p->n : p->m * p->batch;
    if (threads)
        atoll_buffer_printf(
            out, "  %.0f %s for each of %u threads; blocks whose count is a multiple of it leave none idle\n",
            floor(units / threads), p->family == ATOLL_SHAPE_STREAM ? "elements" : "rows", threads);
    return 1;
}

static const char of_devices[] =
    "Computed from the timed shapes and this device, not measured; the most promising first "
    "(resident: blocks of a multiprocessor at a time; waves: how often all of them are filled).";
static const char of_caches[] =
    "Computed from the timed shapes for caches of 32 KiB and 1 MiB a core, which nobody measured: this "
    "processor's may be larger.";

/* All of it is quoted, so that it gives way where a prompt is short. */
void atoll_prompt_write_shapes(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    struct atoll_buffer lines;
    size_t told = 0, variants = 0;
    const char *category = input->task->category;
    if (!input->device || !input->language)
        return;
    if (category &&
        (strcmp(category, "convolution") == 0 || /* whose window makes the sizes of a product wrong */
         strcmp(category, "scan") == 0))         /* whose rows are not worked on as a whole */
        return;
    struct atoll_device_shape device = atoll_device_shape_of(input->device);
    atoll_buffer_init(&lines, (size_t)16 << 10);
    atoll_buffer_printf(&lines, "%s\n", device.multiprocessors ? of_devices : of_caches);
    for (size_t i = 0; i < input->task->variant_count && variants < VARIANTS; i++) {
        const struct atoll_variant *v = &input->task->variants[i];
        struct atoll_shape_problem p;
        if (!is_told(input, v) || atoll_shape_problem_of(input->task, v, input->language, &p, NULL))
            continue;
        variants++;
        double values = packed_values(input->task, v, &p);
        if (values > 1) { /* tiles, stages and splits would be those of the packed extent */
            p.k *= values;
            put_problem(&p, v->name, &lines);
            atoll_buffer_printf(&lines, "  %.0f values of the sum lie in one element\n", values);
            told++;
            continue;
        }
        told += p.is_device ? put_shapes(&p, &device, v->name, &lines)
                            : put_caches(&p, input->threads, v->name, &lines);
    }
    atoll_buffer_put_u8(&lines, 0);
    if (told && !lines.failed)
        atoll_prompt_put_quote(t, (const char *)lines.data, 0);
    atoll_buffer_fini(&lines);
}
