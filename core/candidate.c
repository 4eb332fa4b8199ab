/* candidate.c - identities from canonical bytes: every text with its length, so that no two fields can run
 * together. */
#include "core/candidate.h"

#include <string.h>

#include "base/buffer.h"

#define BYTES_LIMIT ((size_t)4 << 20)

static void put_expression(struct atoll_buffer *b, const struct atoll_expression *e)
{
    atoll_buffer_put_text(b, e ? atoll_expression_text(e) : NULL);
}

static void put_launch(struct atoll_buffer *b, const struct atoll_launch *l, int is_triton)
{
    atoll_buffer_put_text(b, l->symbol);
    for (size_t i = 0; i < 3; i++) {
        put_expression(b, l->grid[i]);
        put_expression(b, l->block[i]);
        put_expression(b, l->cluster[i]);
    }
    put_expression(b, l->shared_bytes);
    put_expression(b, l->units);
    atoll_buffer_put_u8(b, (uint8_t)l->cooperative);
    atoll_buffer_put_u32(b, (uint32_t)l->arg_count);
    for (size_t i = 0; i < l->arg_count; i++)
        atoll_buffer_put_text(b, l->args[i].text);
    if (!is_triton)
        return;
    put_expression(b, l->num_warps);
    put_expression(b, l->num_stages);
    atoll_buffer_put_u32(b, (uint32_t)l->constexpr_count);
    for (size_t i = 0; i < l->constexpr_count; i++) {
        atoll_buffer_put_text(b, l->constexprs[i].name);
        put_expression(b, l->constexprs[i].value);
    }
}

static void put_plan(struct atoll_buffer *b, const struct atoll_plan *plan, int is_triton)
{
    atoll_buffer_put_u32(b, (uint32_t)plan->scratch_count);
    for (size_t i = 0; i < plan->scratch_count; i++) {
        atoll_buffer_put_text(b, plan->scratch[i].name);
        put_expression(b, plan->scratch[i].bytes);
    }
    atoll_buffer_put_u32(b, (uint32_t)plan->launch_count);
    for (size_t i = 0; i < plan->launch_count; i++)
        put_launch(b, &plan->launches[i], is_triton);
    /* A plan with one way through it has the bytes that it had before there were others. */
    for (size_t i = 0; plan->path_count > 1 && i < plan->path_count; i++) {
        put_expression(b, plan->paths[i].when);
        atoll_buffer_put_u32(b, (uint32_t)plan->paths[i].count);
    }
}

/* By name, so that the order in which a template lists its params says nothing. */
static void put_choice(struct atoll_buffer *b, const struct atoll_plan *plan,
                       const struct atoll_choice *choice)
{
    size_t count = plan->param_count < choice->count ? plan->param_count : choice->count;
    size_t order[ATOLL_PLAN_PARAM_LIMIT];
    for (size_t i = 0; i < count; i++) {
        size_t k = i;
        for (; k > 0 && strcmp(plan->params[order[k - 1]].name, plan->params[i].name) > 0; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    atoll_buffer_put_u32(b, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        atoll_buffer_put_text(b, plan->params[order[i]].name);
        atoll_buffer_put_i64(b, choice->values[order[i]]);
    }
}

/* Zero when the bytes could not be made: no identity rather than a wrong one. */
static struct atoll_id finish(struct atoll_buffer *b)
{
    struct atoll_id id = {{0}};
    if (!b->failed)
        id = atoll_id_of(b->data, b->length);
    atoll_buffer_fini(b);
    return id;
}

struct atoll_id atoll_candidate_id(const struct atoll_task *task, const char *language,
                                   const struct atoll_plan *plan, const char *body,
                                   const struct atoll_choice *choice)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, BYTES_LIMIT);
    atoll_buffer_put_text(&b, "candidate");
    atoll_buffer_put_bytes(&b, task->id.bytes, ATOLL_ID_BYTES);
    atoll_buffer_put_text(&b, language);
    put_plan(&b, plan, strcmp(language, "triton") == 0);
    put_choice(&b, plan, choice);
    atoll_buffer_put_text(&b, body);
    return finish(&b);
}

struct atoll_id atoll_source_id(const char *language, const char *source)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, BYTES_LIMIT);
    atoll_buffer_put_text(&b, "source");
    atoll_buffer_put_text(&b, language);
    atoll_buffer_put_text(&b, source);
    return finish(&b);
}

/* The comment begins a line, for the last one may end within a comment of its own. */
void atoll_null_control_source(const char *language, const char *source, const struct atoll_id *original,
                               struct atoll_buffer *out)
{
    char hex[ATOLL_ID_HEX];
    int is_python = strcmp(language, "triton") == 0;
    atoll_id_hex(original, hex);
    atoll_buffer_printf(out, is_python ? "%s\n# no-op mutant of %s\n" : "%s\n/* no-op mutant of %s */\n",
                        source, hex);
    atoll_buffer_put_u8(out, 0);
}
