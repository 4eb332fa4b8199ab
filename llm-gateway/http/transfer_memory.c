/* transfer_memory.c - memory for libcurl that is wiped when it is freed.
 * curl copies every request header into buffers of its own and frees them as they are; a key would stay in the heap.  Each
 * block has its size in front of it, so that all of it can be wiped. */
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/http/transfer_state.h"

#define FRONT_BYTES 16 /* keeps the alignment of malloc */

static void *block_make(size_t size)
{
    if (size > SIZE_MAX - FRONT_BYTES)
        return NULL;
    unsigned char *front = malloc(size + FRONT_BYTES);
    if (!front)
        return NULL;
    memcpy(front, &size, sizeof size);
    return front + FRONT_BYTES;
}

static size_t block_size(const void *block)
{
    size_t size;
    memcpy(&size, (const unsigned char *)block - FRONT_BYTES, sizeof size);
    return size;
}

static void block_free(void *block)
{
    if (!block)
        return;
    sodium_memzero(block, block_size(block));
    free((unsigned char *)block - FRONT_BYTES);
}

static void *block_resize(void *block, size_t size)
{
    if (!block)
        return block_make(size);
    size_t old = block_size(block);
    void *fresh = block_make(size);
    if (!fresh)
        return NULL;
    memcpy(fresh, block, old < size ? old : size);
    block_free(block);
    return fresh;
}

static char *block_text(const char *text)
{
    size_t length = strlen(text) + 1;
    char *copy = block_make(length);
    return copy ? memcpy(copy, text, length) : NULL;
}

static void *block_zero(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    void *block = block_make(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}

CURLcode atoll_transfer_memory_init(void)
{
    return curl_global_init_mem(CURL_GLOBAL_DEFAULT, block_make, block_free, block_resize, block_text,
                                block_zero);
}
