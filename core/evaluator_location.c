#include "core/evaluator_location.h"

#define CORE_LIMIT 65536u

void atoll_evaluator_location_encode(const struct atoll_evaluator_location *p, struct atoll_buffer *out)
{
    atoll_buffer_put_u32(out, (uint32_t)p->surplus);
    atoll_buffer_put_u32(out, p->core_count);
    atoll_buffer_put_u32(out, p->slots);
    atoll_buffer_put_text(out, p->node);
    atoll_buffer_put_text(out, p->cores);
    atoll_buffer_put_text(out, p->numa);
    atoll_buffer_put_text(out, p->note);
}

int atoll_evaluator_location_decode(const void *bytes, size_t length,
                                    struct atoll_evaluator_location *ret_location, struct atoll_err *err)
{
    struct atoll_evaluator_location p = {.surplus = ATOLL_SURPLUS_NONE};
    struct atoll_reader r;
    atoll_reader_init(&r, bytes, length);
    p.surplus = (enum atoll_surplus)atoll_reader_u32_in(&r, 0, ATOLL_SURPLUS_BUSY);
    p.core_count = atoll_reader_u32_in(&r, 0, CORE_LIMIT);
    p.slots = atoll_reader_u32_in(&r, 0, CORE_LIMIT);
    atoll_reader_fixed_text(&r, p.node, sizeof(p.node));
    atoll_reader_fixed_text(&r, p.cores, sizeof(p.cores));
    atoll_reader_fixed_text(&r, p.numa, sizeof(p.numa));
    atoll_reader_fixed_text(&r, p.note, sizeof(p.note));
    if (atoll_reader_finish(&r, "PLACE", err) != 0)
        return -1;
    *ret_location = p;
    return 0;
}
