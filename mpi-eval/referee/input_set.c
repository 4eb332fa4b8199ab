#include "mpi-eval/referee/input_set.h"

#include <string.h>

#include "core/task/init.h"
#include "base/random.h"

static uint64_t secret_number(const uint8_t secret[32], const char *purpose, const struct atoll_id *task,
                              uint32_t variant, uint64_t series, uint64_t number)
{
    struct {
        char purpose[16];
        struct atoll_id task;
        uint64_t variant, series, number;
    } key;
    memset(&key, 0, sizeof(key));
    memcpy(key.purpose, purpose, strlen(purpose));
    if (task)
        key.task = *task;
    key.variant = variant;
    key.series = series;
    key.number = number;
    struct atoll_id id = atoll_id_keyed(secret, 32, &key, sizeof(key));
    return atoll_id_u64(&id);
}

unsigned atoll_input_set_nth_distribution(const struct atoll_task *task, unsigned index)
{
    unsigned found[8], count = 0;
    for (unsigned bit = ATOLL_DRAW_BASE; bit <= ATOLL_DRAW_SIGNED; bit <<= 1)
        if (bit == ATOLL_DRAW_BASE || (task->distributions & bit))
            found[count++] = bit;
    return found[index % count];
}

struct atoll_input_set atoll_input_set_make(const uint8_t secret[32], const struct atoll_task *task,
                                            uint32_t variant, uint64_t series, uint64_t number)
{
    struct atoll_input_set d = {.variant = variant, .series = series, .number = number};
    d.seed = secret_number(secret, "draw", &task->id, variant, series, number);
    /* A pool takes those that the task names in turn. */
    unsigned named[8], count = 0;
    for (unsigned bit = ATOLL_DRAW_BASE; bit <= ATOLL_DRAW_SIGNED; bit <<= 1)
        if (task->distributions & bit)
            named[count++] = bit;
    if (series)
        d.distribution = atoll_input_set_distribution(task, d.seed);
    else
        d.distribution = count ? named[number % count] : ATOLL_DRAW_BASE;
    return d;
}

uint64_t atoll_input_set_series(uint64_t evaluation)
{
    return evaluation + 1;
}

static void shuffle(uint16_t *numbers, size_t count, struct atoll_random *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)atoll_random_below(atoll_random_next(random), i);
        uint16_t t = numbers[i - 1];
        numbers[i - 1] = numbers[j];
        numbers[j] = t;
    }
}

/* Moves up to kept_first kept numbers into the head, in exchange for numbers there that are not kept. */
static void deal_kept(uint16_t *numbers, size_t count, const unsigned char *is_kept, size_t kept_first,
                      size_t head)
{
    size_t in_head = 0, to = 0;
    for (size_t i = 0; i < head; i++)
        in_head += is_kept[numbers[i]];
    for (size_t from = head; from < count && in_head < kept_first; from++) {
        if (!is_kept[numbers[from]])
            continue;
        while (to < head && is_kept[numbers[to]])
            to++;
        if (to == head)
            return;
        uint16_t t = numbers[to];
        numbers[to] = numbers[from];
        numbers[from] = t;
        in_head++;
    }
}

void atoll_input_set_order_init(struct atoll_input_set_order *order, const uint8_t secret[32],
                                uint64_t evaluation, uint32_t variant, size_t pool_size, const uint16_t *kept,
                                size_t kept_count, size_t kept_first, size_t head)
{
    unsigned char is_kept[ATOLL_INPUT_SET_POOL_LIMIT] = {0};
    struct atoll_random random = {secret_number(secret, "order", NULL, variant, evaluation, 0), 0};
    if (pool_size > ATOLL_INPUT_SET_POOL_LIMIT)
        pool_size = ATOLL_INPUT_SET_POOL_LIMIT;
    order->count = pool_size;
    order->next = 0;
    for (size_t i = 0; i < pool_size; i++)
        order->numbers[i] = (uint16_t)i;
    for (size_t i = 0; i < kept_count; i++)
        if (kept[i] < pool_size)
            is_kept[kept[i]] = 1;
    shuffle(order->numbers, pool_size, &random);
    head = head < pool_size ? head : pool_size;
    deal_kept(order->numbers, pool_size, is_kept, kept_first, head);
    shuffle(order->numbers, head, &random);
}

long atoll_input_set_order_next(struct atoll_input_set_order *order)
{
    if (order->next >= ATOLL_INPUT_SET_POOL_LIMIT)
        return -1;
    size_t i = order->next++;
    return i < order->count ? (long)order->numbers[i] : (long)i;
}
