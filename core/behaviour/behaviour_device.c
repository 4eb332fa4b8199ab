/* behaviour_device.c - what indices and declarations of a device source say: which names follow the thread's number,
 * which arrays lie in shared memory, how blocks walk over the work. */
#include "core/behaviour/behaviour_sign.h"

#define INDEX_LIMIT 256 /* tokens of one index */

int atoll_sign_has_name(const struct atoll_sign_names *n, const struct atoll_token *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (atoll_token_same(n->items[i], name))
            return 1;
    return 0;
}

static int add(struct atoll_sign_names *n, const struct atoll_token *name)
{
    if (n->count == ATOLL_SIGN_NAME_LIMIT || atoll_sign_has_name(n, name))
        return 0;
    n->items[n->count++] = name;
    return 1;
}

static int is_name(const struct atoll_loop_list *l, size_t at)
{
    return at < l->token_count && l->tokens[at].kind == ATOLL_TOKEN_NAME;
}

static int is_thread_x(const struct atoll_loop_list *l, size_t at)
{
    return atoll_sign_is(l, at, "threadIdx") && atoll_sign_is(l, at + 1, ".") &&
           atoll_sign_is(l, at + 2, "x");
}

/* End of an initialiser or index that begins at `at`: a ";", a "," or a bracket that closes what is around it. */
static size_t value_end(const struct atoll_loop_list *l, size_t at)
{
    int depth = 0;
    size_t stop = at + INDEX_LIMIT < l->token_count ? at + INDEX_LIMIT : l->token_count;
    for (; at < stop; at++) {
        int opens = atoll_sign_is(l, at, "(") || atoll_sign_is(l, at, "[") || atoll_sign_is(l, at, "{");
        int closes = atoll_sign_is(l, at, ")") || atoll_sign_is(l, at, "]") || atoll_sign_is(l, at, "}");
        if (closes && depth-- == 0)
            break;
        depth += opens;
        if (depth == 0 && (atoll_sign_is(l, at, ";") || atoll_sign_is(l, at, ",")))
            break;
    }
    return at;
}

enum follow { NO, NEXT, FAR };

static int scales(const struct atoll_loop_list *l, size_t at)
{
    return atoll_sign_is(l, at, "*") || atoll_sign_is(l, at, "<<");
}

/* How a value changes from one thread to the next: by one element (NEXT), by more (FAR), not (NO).  A division or
 * shift to the right gives the same to neighbours; a remainder or mask the next. */
static enum follow follows(const struct atoll_loop_list *l, size_t begin, size_t end,
                           const struct atoll_sign_names *lanes, const struct atoll_sign_names *strided)
{
    enum follow found = NO;
    for (size_t i = begin; i < end; i++) {
        int thread = is_thread_x(l, i);
        int member = i > 0 && atoll_sign_is(l, i - 1, ".");
        if (!thread && (member || !is_name(l, i)))
            continue;
        if (!thread && atoll_sign_has_name(strided, &l->tokens[i]))
            return FAR;
        if (!thread && !atoll_sign_has_name(lanes, &l->tokens[i]))
            continue;
        size_t after = thread ? i + 3 : i + 1, before = i;
        while (before > begin && atoll_sign_is(l, before - 1, "(") && after < end &&
               atoll_sign_is(l, after, ")")) {
            before--;
            after++;
        }
        if (atoll_sign_is(l, after, "/") || atoll_sign_is(l, after, ">>"))
            continue;
        if (scales(l, after) || (before > begin && atoll_sign_is(l, before - 1, "*")))
            return FAR;
        found = NEXT;
    }
    return found;
}

/* A sum in parentheses that is multiplied, like (blockIdx.x * 32 + lane) * N, moves its names apart. */
static int is_scaled_group(const struct atoll_loop_list *l, size_t begin, size_t end,
                           const struct atoll_sign_names *lanes, const struct atoll_sign_names *strided)
{
    for (size_t i = begin; i < end; i++) {
        if (!atoll_sign_is(l, i, "("))
            continue;
        size_t close = value_end(l, i + 1);
        if (close < end && atoll_sign_is(l, close, ")") &&
            (scales(l, close + 1) || (i > begin && atoll_sign_is(l, i - 1, "*"))) &&
            follows(l, i + 1, close, lanes, strided) != NO) {
            return 1;
        }
    }
    return 0;
}

static enum follow change_of(const struct atoll_loop_list *l, size_t begin, size_t end,
                             const struct atoll_sign_names *lanes, const struct atoll_sign_names *strided)
{
    return is_scaled_group(l, begin, end, lanes, strided) ? FAR : follows(l, begin, end, lanes, strided);
}

/* Names that get their value from the thread's number, in the order of the text. */
static void find_lanes(const struct atoll_loop_list *l, struct atoll_sign_names *lanes,
                       struct atoll_sign_names *strided)
{
    for (size_t i = 1; i + 1 < l->token_count; i++) {
        if (!atoll_sign_is(l, i, "=") || !is_name(l, i - 1))
            continue;
        size_t end = value_end(l, i + 1);
        int loads = 0;
        for (size_t k = i + 1; k < end; k++)
            loads |= atoll_sign_is(l, k, "[");
        enum follow f = loads ? NO : change_of(l, i + 1, end, lanes, strided);
        if (f == NEXT)
            add(lanes, &l->tokens[i - 1]);
        else if (f == FAR)
            add(strided, &l->tokens[i - 1]);
    }
}

/* An index like [2] or [STAGES]: buffers used in turn. */
static int counts_stages(const struct atoll_loop_list *l, size_t at)
{
    return atoll_sign_is(l, at, "2") || (is_name(l, at) && atoll_token_starts(&l->tokens[at], "STAGE"));
}

static size_t declaration_end(const struct atoll_loop_list *l, size_t at)
{
    size_t end = at;
    while (end < l->token_count && end < at + INDEX_LIMIT && !atoll_sign_is(l, end, ";"))
        end++;
    return end;
}

void atoll_sign_find_shared(const struct atoll_loop_list *l, struct atoll_sign_names *ret_names)
{
    ret_names->count = 0;
    for (size_t i = 0; i < l->token_count; i++) {
        if (!atoll_sign_is(l, i, "__shared__"))
            continue;
        for (size_t k = i + 1, end = declaration_end(l, k); k < end; k++)
            if (is_name(l, k) && atoll_sign_is(l, k + 1, "["))
                add(ret_names, &l->tokens[k]);
    }
    for (size_t i = 2; ret_names->count && i + 1 < l->token_count; i++) {
        if (!atoll_sign_is(l, i, "=") || !is_name(l, i - 1) || !atoll_sign_is(l, i - 2, "*"))
            continue;
        for (size_t k = i + 1, end = value_end(l, k); k < end; k++)
            if (is_name(l, k) && atoll_sign_has_name(ret_names, &l->tokens[k]))
                add(ret_names, &l->tokens[i - 1]);
    }
}

/* A structure, or shared memory whose size the plan says, is no scratch of a reduction. */
static void see_structures(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->token_count; i++) {
        if (!atoll_sign_is(l, i, "__shared__"))
            continue;
        if (i > 0 && atoll_sign_is(l, i - 1, "extern"))
            atoll_sign_mark(b, ATOLL_SIGN_SHARED_TILE);
        for (size_t k = i + 1, end = declaration_end(l, k); k < end; k++)
            if (atoll_sign_is(l, k, "struct"))
                atoll_sign_mark(b, ATOLL_SIGN_SHARED_TILE);
    }
}

static void see_stages(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->token_count; i++) {
        if (!atoll_sign_is(l, i, "__shared__"))
            continue;
        for (size_t k = i + 1, end = declaration_end(l, k); k < end; k++)
            if (atoll_sign_is(l, k, "[") && is_name(l, k - 1) && counts_stages(l, k + 1))
                atoll_sign_mark(b, ATOLL_SIGN_STAGES);
    }
}

/* Whether a value comes from an array outside of shared memory. */
static int loads_array(const struct atoll_loop_list *l, size_t begin, size_t end,
                       const struct atoll_sign_names *shared)
{
    for (size_t i = begin; i < end; i++) {
        if (is_name(l, i) && atoll_sign_is(l, i + 1, "[") && !atoll_sign_has_name(shared, &l->tokens[i]))
            return 1;
        if (atoll_sign_is(l, i, "__ldg") || atoll_sign_is(l, i, "__ldcs"))
            return 1;
    }
    return 0;
}

static int is_own_array(const struct atoll_loop_list *l, const struct atoll_token *name)
{
    for (size_t i = 1; i + 1 < l->token_count; i++) {
        if (atoll_token_same(&l->tokens[i], name) && atoll_sign_is(l, i + 1, "[") && is_name(l, i - 1) &&
            !atoll_sign_is(l, i - 1, "return") && !atoll_sign_is(l, i - 1, "else")) {
            return 1;
        }
    }
    return 0;
}

static void see_fills(const struct atoll_loop_list *l, const struct atoll_sign_names *shared,
                      struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        if (!a->is_element || !atoll_sign_is(l, a->op, "=") || !loads_array(l, a->op + 1, a->end, shared))
            continue;
        if (atoll_sign_has_name(shared, a->base)) {
            atoll_sign_mark(b, ATOLL_SIGN_SHARED_TILE);
        } else if (a->loop >= 0 && is_own_array(l, a->base) &&
                   !atoll_loop_mentions(l, a->op + 1, a->end, a->base)) {
            atoll_sign_mark(b, ATOLL_SIGN_ROW_CACHE);
        }
    }
    if (shared->count && b->seen[ATOLL_SIGN_ASYNC_COPY])
        atoll_sign_mark(b, ATOLL_SIGN_SHARED_TILE);
}

/* Arrays outside of shared memory, one index: all by neighbours, none apart. */
static void see_coalesced(const struct atoll_loop_list *l, const struct atoll_sign_names *shared,
                          struct atoll_sign_board *b)
{
    struct atoll_sign_names lanes = {.count = 0}, strided = {.count = 0};
    unsigned next = 0, far = 0;
    find_lanes(l, &lanes, &strided);
    for (size_t i = 0; i + 1 < l->token_count; i++) {
        if (!is_name(l, i) || !atoll_sign_is(l, i + 1, "[") || atoll_sign_has_name(shared, &l->tokens[i]))
            continue;
        enum follow f = change_of(l, i + 2, value_end(l, i + 2), &lanes, &strided);
        next += f == NEXT;
        far += f == FAR;
    }
    if (next && !far)
        atoll_sign_mark(b, ATOLL_SIGN_COALESCED);
}

/* for (t = blockIdx.x; ...; t += gridDim.x): blocks stay and take one piece of work after the other.  A loop by
 * blockDim * gridDim is only a long vector. */
static void see_persistent(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->loop_count; i++) {
        int block = 0, grid = 0, thread = 0;
        for (size_t k = l->loops[i].header_begin; k < l->loops[i].header_end; k++) {
            block |= atoll_sign_is(l, k, "blockIdx");
            grid |= atoll_sign_is(l, k, "gridDim");
            thread |= atoll_sign_is(l, k, "threadIdx") || atoll_sign_is(l, k, "blockDim");
        }
        if (block && grid && !thread)
            atoll_sign_mark(b, ATOLL_SIGN_PERSISTENT);
    }
}

void atoll_sign_see_device(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    struct atoll_sign_names shared;
    atoll_sign_find_shared(l, &shared);
    see_stages(l, b);
    see_structures(l, b);
    see_fills(l, &shared, b);
    see_coalesced(l, &shared, b);
    see_persistent(l, b);
}
