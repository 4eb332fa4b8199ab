#include "tests/support/allocation.h"

#include <stdio.h>

#ifdef ALLOCATION_SKIP_REASON
int main(void)
{
    puts("skipped: " ALLOCATION_SKIP_REASON);
    return 77;
}
#else

#include "base/arena.h"
#include "base/buffer.h"
#include "core/evaluation.h"
#include "core/task/expression.h"
#include "base/frame.h"
#include "core/message.h"
#include "tests/support/evaluation.h"

/* Valid encodings, made before any allocation is refused. */
static struct atoll_buffer evaluation_bytes, order_bytes;

static int run_arena(struct atoll_err *err)
{
    static const size_t sizes[] = {10, 5000, 100, 300000, 20000, 16};
    struct atoll_arena *arena = atoll_arena_create(1u << 20, err);
    int status = arena ? 0 : -1;
    for (size_t i = 0; !status && i < sizeof(sizes) / sizeof(*sizes); i++)
        status = atoll_arena_alloc(arena, sizes[i], err) ? 0 : -1;
    atoll_arena_destroy(arena);
    return status;
}

static int run_buffer(struct atoll_err *err)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, 1u << 20);
    for (uint64_t i = 0; i < 5000; i++)
        atoll_buffer_put_u64(&b, i);
    atoll_buffer_printf(&b, "%d", 5);
    int status = atoll_buffer_check(&b, err);
    atoll_buffer_fini(&b);
    return status;
}

static int run_frame(struct atoll_err *err)
{
    static const char payload[1000] = "x";
    struct atoll_buffer b;
    atoll_buffer_init(&b, 1u << 20);
    int status = atoll_frame_encode(&b, 3, payload, sizeof(payload), err);
    atoll_buffer_fini(&b);
    return status;
}

static int run_expression(struct atoll_err *err)
{
    static const struct atoll_binding bindings[] = {{"M", 5}, {"N", 6}};
    struct atoll_arena *arena = atoll_arena_create(1u << 20, err);
    if (!arena)
        return -1;
    int64_t value;
    const struct atoll_expression *e =
        atoll_expression_parse(arena, "cdiv(M * N, 4) + min(M, N) % 3 && M < N", err);
    int status = e ? atoll_expression_eval(e, bindings, 2, &value, err) : -1;
    atoll_arena_destroy(arena);
    return status;
}

static int run_evaluation(struct atoll_err *err)
{
    struct atoll_evaluation e;
    struct atoll_buffer b;
    atoll_evaluation_init(&e);
    atoll_buffer_init(&b, 1u << 20);
    int status = atoll_evaluation_decode(evaluation_bytes.data, evaluation_bytes.length, &e, err);
    if (!status) {
        atoll_evaluation_encode(&e, &b);
        status = atoll_buffer_check(&b, err);
    }
    atoll_buffer_fini(&b);
    atoll_evaluation_fini(&e);
    return status;
}

static int run_order(struct atoll_err *err)
{
    struct atoll_order order;
    struct atoll_arena *arena = atoll_arena_create(1u << 20, err);
    int status = arena ? atoll_order_decode(order_bytes.data, order_bytes.length, arena, &order, err) : -1;
    atoll_arena_destroy(arena);
    return status;
}

static const struct {
    const char *name;
    int (*run)(struct atoll_err *err);
    long least; /* allocations it makes at least */
} operations[] = {{"arena", run_arena, 4},           {"buffer", run_buffer, 5},
                  {"frame", run_frame, 2},           {"expression", run_expression, 2},
                  {"evaluation", run_evaluation, 3}, {"order", run_order, 3}};

static void test_every_allocation_fails_once(void **state)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
        assert_true(allocation_each_fails(operations[i].name, operations[i].run) >= operations[i].least);
}

static int encode_samples(void **state)
{
    struct atoll_evaluation e;
    char *source = calloc(1, 20001);
    if (!source)
        return -1;
    memset(source, 'x', 20000);
    sample_evaluation(&e);
    atoll_buffer_init(&evaluation_bytes, 1u << 20);
    atoll_evaluation_encode(&e, &evaluation_bytes);
    atoll_evaluation_fini(&e);
    struct atoll_order order = {.kind = ATOLL_ORDER_DUEL,
                                .candidate = {.language = "c", .source = source},
                                .elite = {.language = "c", .source = source}};
    atoll_buffer_init(&order_bytes, 1u << 20);
    atoll_order_encode(&order, &order_bytes);
    free(source);
    return 0;
}

static int free_samples(void **state)
{
    atoll_buffer_fini(&evaluation_bytes);
    atoll_buffer_fini(&order_bytes);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_fails_once)};
    return cmocka_run_group_tests(tests, encode_samples, free_samples);
}
#endif
