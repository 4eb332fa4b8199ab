#include "base/id.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include <sodium.h>

static pthread_once_t sodium_once = PTHREAD_ONCE_INIT;

/* Only picks the fastest implementation; hashing needs no entropy, so a failure would be libsodium's own bug.
 */
static void start_sodium(void)
{
    int failed = sodium_init() < 0;
    assert(!failed);
    (void)failed;
}

static struct atoll_id hash(const void *key, size_t key_length, const void *bytes, size_t length)
{
    struct atoll_id id = {{0}};
    pthread_once(&sodium_once, start_sodium);
    int failed = crypto_generichash(id.bytes, sizeof(id.bytes), bytes, length, key, key_length);
    assert(!failed);
    (void)failed;
    return id;
}

struct atoll_id atoll_id_of(const void *bytes, size_t length)
{
    return hash(NULL, 0, bytes, length);
}

struct atoll_id atoll_id_keyed(const void *key, size_t key_length, const void *bytes, size_t length)
{
    assert(key_length >= crypto_generichash_KEYBYTES_MIN && key_length <= crypto_generichash_KEYBYTES_MAX);
    return hash(key, key_length, bytes, length);
}

int atoll_id_equal(const struct atoll_id *a, const struct atoll_id *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

int atoll_id_is_zero(const struct atoll_id *id)
{
    static const struct atoll_id zero;
    return atoll_id_equal(id, &zero);
}

void atoll_id_hex(const struct atoll_id *id, char ret_hex[ATOLL_ID_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < ATOLL_ID_BYTES; i++) {
        ret_hex[2 * i] = digits[id->bytes[i] >> 4];
        ret_hex[2 * i + 1] = digits[id->bytes[i] & 15];
    }
    ret_hex[ATOLL_ID_HEX - 1] = '\0';
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int atoll_id_parse(const char *hex, struct atoll_id *ret_id, struct atoll_err *err)
{
    struct atoll_id id;
    if (strnlen(hex, ATOLL_ID_HEX) != ATOLL_ID_HEX - 1)
        return atoll_err_set(err, ATOLL_E_INPUT, "id '%.80s': 64 hex digits are expected", hex);
    for (size_t i = 0; i < ATOLL_ID_BYTES; i++) {
        int high = digit_value(hex[2 * i]), low = digit_value(hex[2 * i + 1]);
        if (high < 0 || low < 0) {
            return atoll_err_set(err, ATOLL_E_INPUT, "id '%.80s': character %zu is no hex digit", hex,
                                 2 * i + (high < 0 ? 1 : 2));
        }
        id.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *ret_id = id;
    return 0;
}

uint64_t atoll_id_u64(const struct atoll_id *id)
{
    uint64_t v = 0;
    for (size_t i = 0; i < 8; i++)
        v |= (uint64_t)id->bytes[i] << (8 * i);
    return v;
}
