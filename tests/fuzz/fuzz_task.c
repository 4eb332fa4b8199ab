/* fuzz_task.c - any text as task.yaml, with a fixed reference and seed, through the decoder that shares every
 * check with the loader; what it accepts must survive a round trip. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "core/task/init.h"
#include "core/task/reference.h"
#include "core/task/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct atoll_task *task)
{
    struct atoll_buffer out;
    atoll_buffer_init(&out, (size_t)1 << 23);
    if (atoll_task_encode(task, &out, NULL))
        abort();
    struct atoll_task *again = atoll_task_decode(out.data, out.length, NULL);
    if (!again || !atoll_id_equal(&again->id, &task->id))
        abort();
    atoll_buffer_clear(&out);
    atoll_reference_translation_unit(again, &out, NULL);
    for (size_t i = 0; i < again->tensor_count; i++) {
        double element = 0;
        if (again->tensors[i].role != ATOLL_ROLE_OUT &&
            atoll_init_fill(again, i, &again->variants[0], 1, ATOLL_DRAW_SCALED, 0, 1, &element, NULL))
            abort();
    }
    atoll_task_destroy(again);
    atoll_buffer_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, (size_t)1 << 22);
    atoll_buffer_put_u32(&b, 1);
    atoll_buffer_put_text(&b, "task.yaml");
    atoll_buffer_put_blob(&b, data, size);
    atoll_buffer_put_u32(&b, 2);
    atoll_buffer_put_text(&b, "reference.c");
    atoll_buffer_put_text(&b, "void reference(const struct atoll_reference_args *a, long unit) {}\n");
    atoll_buffer_put_text(&b, "seeds/naive.c");
    atoll_buffer_put_text(&b, "/* atoll-plan {} */\n");
    struct atoll_task *task = b.failed ? NULL : atoll_task_decode(b.data, b.length, NULL);
    if (task)
        use(task);
    atoll_task_destroy(task);
    atoll_buffer_fini(&b);
    return 0;
}
