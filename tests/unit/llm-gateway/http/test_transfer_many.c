#include "tests/unit/llm-gateway/transfer_case.h"

#include <dirent.h>
#include <malloc.h>

static unsigned fd_count(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* ---- many ---- */

#define MANY 512

static unsigned many_done, many_ok, many_left;

static void on_many(void *context, const struct atoll_transfer_end *end)
{
    many_done++;
    many_ok += end->status == ATOLL_LLM_OK && end->http_status == 200;
    if (many_left == 0)
        return;
    many_left--;
    char body[512];
    struct atoll_transfer transfer = transfer_of(NULL, context, NULL, body);
    transfer.on_header = NULL;
    transfer.on_data = NULL;
    transfer.on_done = on_many;
    transfer.context = context;
    assert_int_equal(atoll_transfers_start(transfers, &transfer, NULL, NULL), 0);
}

static void many(unsigned in_flight, unsigned count, const char *model)
{
    static const struct atoll_transfer_end none;
    many_done = many_ok = 0;
    many_left = count;
    for (unsigned i = 0; i < in_flight; i++)
        on_many((void *)(uintptr_t)model, &none);
    many_done = many_ok = 0;
    assert_int_equal(atoll_transfers_count(transfers), in_flight);
    while (many_done < count)
        assert_int_equal(atoll_loop_run(loop, 10000, NULL), 0);
    assert_int_equal(atoll_transfers_count(transfers), 0);
}

static void test_512_in_flight(void **state)
{
    long before = counted(NULL, "connections");
    many(MANY, MANY * 3, "ok-delay-20");
    assert_int_equal(many_ok, MANY * 3);
    long connections = counted(NULL, "connections") - before;
    assert_in_range(connections, 1, MANY);
    unsigned fds = fd_count();
    many(MANY, MANY, "ok-delay-20-words-2");
    assert_int_equal(many_ok, MANY);
    assert_true(fd_count() <= fds + 1);
    /* as many as there were before: reused */
    assert_true(counted(NULL, "connections") - before <= connections + 4);
}

static void test_memory_is_flat(void **state)
{
    many(64, 1000, "mix-30");
    struct mallinfo2 first = mallinfo2();
    unsigned fds = fd_count();
    many(64, 4000, "mix-30");
    struct mallinfo2 last = mallinfo2();
    assert_true(last.uordblks < first.uordblks + ((size_t)256 << 10));
    assert_true(fd_count() <= fds + 64);
}

static void test_nothing_stays_open(void **state)
{
    unsigned before = fd_count();
    struct atoll_loop *own_loop = atoll_loop_create(NULL, NULL, NULL);
    struct atoll_transfers *kept = transfers, *own = atoll_transfers_create(own_loop, 0, NULL);
    struct atoll_loop *kept_loop = loop;
    transfers = own;
    loop = own_loop;
    many(100, 300, "ok");
    assert_true(fd_count() > before + 2);
    atoll_transfers_destroy(own);
    atoll_loop_destroy(own_loop);
    transfers = kept;
    loop = kept_loop;
    assert_int_equal(fd_count(), before);
}

/* ---- keys ---- */

#define KEY_BYTES 40

/* How often bytes whose complement is given stand in memory that this process may write. */
static unsigned memory_find(const unsigned char *complement)
{
    unsigned found = 0;
    char line[512];
    static unsigned char bytes[1 << 16];
    FILE *maps = fopen("/proc/self/maps", "re");
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    assert_true(maps && memory >= 0);
    while (fgets(line, sizeof(line), maps)) {
        unsigned long from, until;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s", &from, &until, rights) != 3 || rights[1] != 'w' ||
            until - from > 1ul << 30) /* the books of a sanitizer, which hold no bytes of ours */
            continue;
        for (unsigned long at = from; at < until; at += sizeof(bytes) - KEY_BYTES) {
            size_t room = until - at < sizeof(bytes) ? until - at : sizeof(bytes);
            if (at <= (unsigned long)bytes + sizeof(bytes) && at + room >= (unsigned long)bytes)
                continue; /* this very buffer */
            ssize_t got = pread(memory, bytes, room, (off_t)at);
            const unsigned char *end = bytes + (got > KEY_BYTES ? got - KEY_BYTES + 1 : 0), *p = bytes;
            for (; p < end && (p = memchr(p, (unsigned char)~complement[0], (size_t)(end - p))) != NULL;
                 p++) {
                int k = 0;
                while (k < KEY_BYTES && (p[k] ^ complement[k]) == 0xff)
                    k++;
                found += k == KEY_BYTES;
            }
        }
    }
    memset(bytes, 0, sizeof(bytes));
    fclose(maps);
    close(memory);
    return found;
}

static void ask_with_key(const unsigned char *complement, int is_tls)
{
    char header[64] = "Authorization: Bearer ", ca[128];
    const char *headers[] = {header};
    struct result result;
    snprintf(ca, sizeof(ca), "%s/ca.pem", folder);
    struct atoll_transfer_site site = {.proxy = "", .ca_file = ca};
    for (int k = 0; k < KEY_BYTES; k++)
        header[22 + k] = (char)~complement[k];
    assert_true(memory_find(complement) >= 1); /* it can be found */
    struct atoll_transfer like = {.method = "POST",
                                  .url = url_of(is_tls ? &tls : &plain, "/v1/chat/completions"),
                                  .site = &site,
                                  .headers = headers,
                                  .header_count = 1};
    ask(&result, "ok", &like);
    expect_end(&result, ATOLL_LLM_OK, "");
    result_fini(&result);
    explicit_bzero(header, sizeof(header));
}

static void test_keys_are_wiped(void **state)
{
    unsigned char complement[KEY_BYTES];
    unsigned random = (unsigned)getpid();
    for (int is_tls = 0; is_tls < 2; is_tls++) {
        for (int k = 0; k < KEY_BYTES; k++) {
            random = random * 1664525u + 1013904223u;
            complement[k] = (unsigned char)~('a' + (random >> 24) % 26);
        }
        ask_with_key(complement, is_tls);
        assert_int_equal(memory_find(complement), 0);
    }
    unsigned char *left = malloc(KEY_BYTES);
    assert_non_null(left);
    for (int k = 0; k < KEY_BYTES; k++)
        left[k] = (unsigned char)~complement[k];
    assert_true(memory_find(complement) > 0); /* what is left behind is found */
    explicit_bzero(left, KEY_BYTES);
    free(left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_512_in_flight),
        cmocka_unit_test(test_memory_is_flat),
        cmocka_unit_test(test_nothing_stays_open),
        cmocka_unit_test(test_keys_are_wiped),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
