#include "mpi-eval/torch/torch_window.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "mpi-eval/torch/shared_memory.h"

#define VARIABLE "ATOLL_TORCH_WINDOW"

int atoll_torch_window_lay(const struct atoll_task *task, const struct atoll_variant *variant,
                           uint64_t element_bytes, struct atoll_torch_window *ret_window,
                           struct atoll_err *err)
{
    struct atoll_torch_window w = {.bytes = 0};
    size_t at = 0, count;
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        if (t->role != ATOLL_ROLE_OUT && t->role != ATOLL_ROLE_INOUT)
            continue;
        if (atoll_task_element_count(task, i, variant, &count, err) != 0)
            return -1;
        w.sizes[i] = count * (element_bytes ? element_bytes : atoll_dtype_bytes(t->dtype));
        w.offsets[i] = atoll_shared_memory_take(&at, (size_t)w.sizes[i]);
    }
    w.bytes = at;
    w.stretch = w.bytes < ATOLL_TORCH_WINDOW_BYTES ? w.bytes : ATOLL_TORCH_WINDOW_BYTES;
    *ret_window = w;
    return 0;
}

int atoll_torch_window_is_wanted(const struct atoll_torch_window *window)
{
    const char *said = getenv(VARIABLE);
    return window->bytes >= ATOLL_TORCH_WINDOW_LEAST && !(said && strcmp(said, "none") == 0);
}

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

int atoll_torch_window_handle(const json_t *reply, const char *name, unsigned char *ret_handle,
                              struct atoll_err *err)
{
    const char *text = atoll_json_member(reply, name);
    unsigned char handle[ATOLL_TORCH_HANDLE_BYTES];
    int is_good = strlen(text) == 2 * sizeof(handle);
    for (size_t i = 0; is_good && i < sizeof(handle); i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        is_good = high >= 0 && low >= 0;
        handle[i] = (unsigned char)((unsigned)high << 4 | (unsigned)low);
    }
    if (!is_good)
        return atoll_err_set(err, ATOLL_E_PROTOCOL,
                             "the torch process shows memory without a handle that could be one");
    memcpy(ret_handle, handle, sizeof(handle));
    return 0;
}
