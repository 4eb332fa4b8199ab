#include "base/array.h"

#include <stdlib.h>
#include <string.h>

int atoll_array_reserve(void *items, uint32_t *capacity, uint32_t count, size_t element_bytes,
                        struct atoll_err *err)
{
    if (count <= *capacity)
        return 0;
    if (count > ATOLL_ARRAY_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "an array would hold more than %u elements",
                             ATOLL_ARRAY_LIMIT);
    }
    uint32_t wanted = *capacity ? *capacity : 8;
    while (wanted < count)
        wanted *= 2;
    void *old;
    memcpy(&old, items, sizeof(old));
    char *grown = realloc(old, wanted * element_bytes);
    if (!grown)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %u elements", wanted);
    memset(grown + *capacity * element_bytes, 0, (wanted - *capacity) * element_bytes);
    memcpy(items, &grown, sizeof(grown));
    *capacity = wanted;
    return 0;
}
