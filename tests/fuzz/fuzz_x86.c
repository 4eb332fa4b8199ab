/* Shared objects as a decoder of lengths reads them: it counts, twice the same, and stays inside. */
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cpu/compile/instructions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t one[ATOLL_MIX_COUNT] = {0}, other[ATOLL_MIX_COUNT] = {0};
    atoll_instructions_count(data, size, one);
    atoll_instructions_count(data, size, other);
    if (memcmp(one, other, sizeof(one)) != 0)
        abort();
    return 0;
}
