/* Frames and the payloads of every message: what a compromised evaluator or a torn pipe may send. */
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "core/decision.h"
#include "core/event.h"
#include "base/frame.h"
#include "core/message.h"
#include "core/device_time.h"
#include "core/evaluator_location.h"
#include "core/rival.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode_payload(unsigned kind, const uint8_t *data, size_t size, struct atoll_arena *arena)
{
    struct atoll_evaluation evaluation;
    struct atoll_event event;
    struct atoll_device_info device;
    struct atoll_pulse pulse;
    struct atoll_setup setup;
    struct atoll_order order;
    struct atoll_duel duel;
    struct atoll_decision decision;
    struct atoll_evaluator_location place;
    struct atoll_rival rival;
    struct atoll_time_report times;

    switch (kind % 11) {
    case 0:
        atoll_evaluation_init(&evaluation);
        atoll_evaluation_decode(data, size, &evaluation, NULL);
        atoll_evaluation_fini(&evaluation);
        break;
    case 1:
        if (atoll_event_decode(data, size, arena, &event, NULL) == 0)
            atoll_event_fini(&event);
        break;
    case 2: atoll_device_info_decode(data, size, &device, NULL); break;
    case 3: atoll_pulse_decode(data, size, &pulse, NULL); break;
    case 4: atoll_setup_decode(data, size, &setup, NULL); break;
    case 5: atoll_order_decode(data, size, arena, &order, NULL); break;
    case 6: atoll_duel_decode(data, size, &duel, NULL); break;
    case 7: atoll_evaluator_location_decode(data, size, &place, NULL); break;
    case 8:
        atoll_rival_init(&rival);
        atoll_rival_decode(data, size, &rival, NULL);
        atoll_rival_fini(&rival);
        break;
    case 10:
        if (atoll_time_report_decode(data, size, &times, NULL) == 0)
            free(times.times);
        break;
    default: atoll_decision_decode(data, size, &decision, NULL); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct atoll_arena *arena = atoll_arena_create(1 << 20, NULL);
    struct atoll_frame frame;
    size_t consumed;

    if (arena && size > 1) {
        atoll_frame_decode(data + 1, size - 1, &frame, &consumed, NULL);
        decode_payload(data[0], data + 1, size - 1, arena);
    }
    atoll_arena_destroy(arena);
    return 0;
}
