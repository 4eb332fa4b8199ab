/* test_cuda_window.c - results of another process taken stretch by stretch, with the real way to the device process and its executor;
 * its driver's device memory is the host's, and a handle names a file. */
#include "tests/support/expect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi-eval/backend/cuda/measure/window.h"
#include "tests/unit/mpi-eval/fixture_cuda_driver.h"

#define LARGE   ATOLL_TORCH_WINDOW_LEAST
#define STRETCH 4096u

/* ---- as the device process: argv[0] says so ---- */

union address {
    atoll_cuda_address number;
    void *pointer;
};

static struct {
    char *base;
    size_t bytes;
    int is_stuck;
} mapped;

static unsigned memory_alloc(atoll_cuda_address *ret, size_t bytes)
{
    union address a = {.pointer = calloc(1, bytes)};
    *ret = a.number;
    return ATOLL_CUDA_SUCCESS;
}
static unsigned copy(atoll_cuda_address to, atoll_cuda_address from, size_t bytes, struct CUstream_st *stream)
{
    union address t, f;
    t.number = to;
    f.number = from;
    memcpy(t.pointer, f.pointer, bytes);
    return driver_stream_wait(stream);
}
static unsigned copy_out(void *to, atoll_cuda_address from, size_t bytes, struct CUstream_st *stream)
{
    union address f = {.number = from};
    memcpy(to, f.pointer, bytes);
    return driver_stream_wait(stream);
}
static unsigned copy_out_now(void *to, atoll_cuda_address from, size_t bytes)
{
    return copy_out(to, from, bytes, NULL);
}
static unsigned ipc_open(atoll_cuda_address *ret, struct atoll_cuda_ipc handle, unsigned flags)
{
    struct stat file;
    int fd = open(handle.reserved, O_RDONLY | O_CLOEXEC);
    union address a;
    (void)flags;
    if (fd < 0 || fstat(fd, &file) != 0)
        return ATOLL_CUDA_ERROR_INVALID_VALUE;
    mapped.bytes = (size_t)file.st_size;
    mapped.base = mmap(NULL, mapped.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    mapped.is_stuck = strstr(handle.reserved, "stuck") != NULL;
    close(fd);
    a.pointer = mapped.base;
    *ret = a.number;
    return ATOLL_CUDA_SUCCESS;
}
static unsigned ipc_close(atoll_cuda_address address)
{
    (void)address;
    if (mapped.is_stuck)
        return ATOLL_CUDA_ERROR_UNKNOWN;
    munmap(mapped.base, mapped.bytes);
    return ATOLL_CUDA_SUCCESS;
}
static unsigned range(atoll_cuda_address *ret_base, size_t *ret_bytes, atoll_cuda_address address)
{
    *ret_base = address;
    *ret_bytes = mapped.bytes;
    return ATOLL_CUDA_SUCCESS;
}

static int device_main(void)
{
    static const struct atoll_cuda table = {DRIVER_BASICS,
                                            .cuMemAlloc = memory_alloc,
                                            .cuMemGetAddressRange = range,
                                            .cuMemcpyDtoDAsync = copy,
                                            .cuMemcpyDtoHAsync = copy_out,
                                            .cuMemcpyDtoH = copy_out_now,
                                            .cuIpcOpenMemHandle = ipc_open,
                                            .cuIpcCloseMemHandle = ipc_close};
    static const struct atoll_cuda_hello hello = {.version = ATOLL_CUDA_LINK_VERSION};
    return driver_serve(&table, &hello);
}

/* ---- who shows: STRETCH bytes in a file ---- */

static char folder[] = "/tmp/atoll-window-XXXXXX";

static struct shower {
    const char *name; /* of the file; NULL: the process fails */
    const char *text; /* of all results, ... */
    uint64_t bytes;   /* so many */
    size_t file_bytes;
    unsigned shows, closes;
} shower;

static int show(void *context, uint64_t begin, unsigned char *ret_handle, struct atoll_err *err)
{
    struct shower *s = context;
    char path[ATOLL_TORCH_HANDLE_BYTES] = "";
    assert_int_equal(s->closes, 0);
    s->shows++;
    if (!s->name)
        return atoll_err_set(err, ATOLL_E_LIMIT, "no memory is left");
    snprintf(path, sizeof(path), "%s/%s", folder, s->name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (uint64_t i = 0; i < s->file_bytes; i++)
        fputc(begin + i < s->bytes ? s->text[begin + i] : '!', f);
    fclose(f);
    if (strcmp(s->name, "gone") == 0)
        unlink(path);
    memcpy(ret_handle, path, sizeof(path));
    return 0;
}

static int close_shown(void *context)
{
    struct shower *s = context;
    char path[ATOLL_TORCH_HANDLE_BYTES];
    s->closes++;
    snprintf(path, sizeof(path), "%s/%s", folder, s->name ? s->name : "none");
    unlink(path);
    return 0;
}

/* ---- the tests ---- */

static struct atoll_cuda_device *device_open(void)
{
    struct atoll_cuda_device *d = calloc(1, sizeof(*d));
    struct atoll_err err = ATOLL_ERR_INIT;
    char own[4096];
    const struct atoll_cuda_worker_settings settings = {.program = own};
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    assert_non_null(d);
    assert_true(length > 0);
    own[length] = '\0';
    atoll_command_batch_init(&d->batch);
    atoll_command_batch_reply_init(&d->reply);
    d->worker = atoll_cuda_worker_create(&settings, &err);
    if (!d->worker)
        fail_msg("%s", err.text);
    return d;
}

static void device_close(struct atoll_cuda_device *d)
{
    atoll_cuda_device_drop(d);
    atoll_command_batch_fini(&d->batch);
    atoll_command_batch_reply_fini(&d->reply);
    free(d);
}

static uint64_t memory_make(struct atoll_cuda_device *d, uint32_t slot, uint64_t bytes)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_alloc(&d->batch, slot, bytes);
    if (atoll_cuda_device_run_own(d, "memory", &err) != 0)
        fail_msg("%s", err.text);
    return atoll_command_batch_take_u64(&d->reply);
}

static void test_takes(void **state)
{
    struct atoll_cuda_device *d = device_open();
    struct atoll_torch_window w = {.offsets = {[1] = 0, [2] = 6144, [5] = 16384},
                                   .sizes = {[1] = 6000, [2] = 10001, [5] = 8},
                                   .bytes = 16640,
                                   .stretch = STRETCH,
                                   .context = &shower,
                                   .show = show,
                                   .close = close_shown};
    uint64_t addresses[ATOLL_TASK_TENSOR_LIMIT] = {0};
    struct atoll_err err = ATOLL_ERR_INIT;
    char *text = malloc(w.bytes);
    (void)state;
    for (uint64_t i = 0; i < w.bytes; i++)
        text[i] = (char)(i * 7 + i / 251);
    for (size_t i = 0; i < 6; i++)
        if (w.sizes[i])
            addresses[i] = memory_make(d, (uint32_t)i, w.sizes[i] + 8);
    shower = (struct shower){.name = "shown", .text = text, .bytes = w.bytes, .file_bytes = STRETCH};
    if (atoll_cuda_window_take(d, &w, addresses, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(shower.shows, 5);
    assert_int_equal(shower.closes, 1);
    assert_int_equal(d->window, 1);
    for (size_t i = 0; i < 6; i++) {
        size_t length = 0;
        if (!w.sizes[i])
            continue;
        atoll_command_batch_clear(&d->batch);
        atoll_command_batch_read(&d->batch, addresses[i], w.sizes[i] + 8);
        assert_int_equal(atoll_cuda_device_run_own(d, "reading", &err), 0);
        const char *bytes = atoll_command_batch_take_bytes(&d->reply, &length);
        assert_int_equal(length, w.sizes[i] + 8);
        assert_memory_equal(bytes, text + w.offsets[i], w.sizes[i]);
        assert_memory_equal(bytes + w.sizes[i], "\0\0\0\0\0\0\0\0", 8); /* and nothing beyond its end */
    }
    free(text);
    device_close(d);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *name;
        size_t file_bytes;
        int rc, window, is_alive;
        enum atoll_code code;
        unsigned shows;
    } rows[] = {
        {"gone", STRETCH, ATOLL_CUDA_WINDOW_SHUT, -1, 1, ATOLL_OK, 1},      /* a handle that does not open */
        {"short", STRETCH - 1, ATOLL_CUDA_WINDOW_SHUT, -1, 1, ATOLL_OK, 1}, /* less than was said */
        {"stuck", STRETCH, ATOLL_CUDA_WINDOW_LOST, -1, 0, ATOLL_OK, 1},     /* a mapping that stays */
        {NULL, 0, -1, 0, 1, ATOLL_E_LIMIT, 1},                              /* the other process fails */
    };
    static char text[2 * STRETCH];
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_cuda_device *d = device_open();
        struct atoll_torch_window w = {.sizes = {2 * STRETCH},
                                       .bytes = 2 * STRETCH,
                                       .stretch = STRETCH,
                                       .context = &shower,
                                       .show = show,
                                       .close = close_shown};
        const uint64_t addresses[ATOLL_TASK_TENSOR_LIMIT] = {memory_make(d, 0, 2 * STRETCH)};
        struct atoll_err err = ATOLL_ERR_INIT;
        shower = (struct shower){
            .name = rows[i].name, .text = text, .bytes = w.bytes, .file_bytes = rows[i].file_bytes};
        int rc = atoll_cuda_window_take(d, &w, addresses, &err);
        if (rc != rows[i].rc || d->window != rows[i].window || err.code != rows[i].code)
            fail_msg("row %zu: %d, window %d, %s", i, rc, d->window, err.text);
        assert_int_equal(d->worker != NULL, rows[i].is_alive);
        assert_int_equal(shower.shows, rows[i].shows);
        assert_int_equal(shower.closes, 1);
        if (d->worker)
            memory_make(d, 1, 64);
        device_close(d);
    }
}

static void test_open(void **state)
{
    struct atoll_cuda_device *d = calloc(1, sizeof(*d));
    struct atoll_torch_window w = {.bytes = LARGE};
    (void)state;
    assert_non_null(d);
    assert_int_equal(atoll_cuda_window_is_open(d, &w), 1);
    w.bytes = LARGE - 1;
    assert_int_equal(atoll_cuda_window_is_open(d, &w), 0);
    w.bytes = LARGE;
    d->facts.compute_mode = 3;
    assert_int_equal(atoll_cuda_window_is_open(d, &w), 0);
    d->facts.compute_mode = 0;
    atoll_cuda_window_shut(d, "a test");
    assert_int_equal(atoll_cuda_window_is_open(d, &w), 0);
    free(d);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_takes), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_open)};
    if (argc == 2 && strcmp(argv[0], "atoll-worker-cuda") == 0)
        return device_main();
    unsetenv("ATOLL_TORCH_WINDOW");
    if (!mkdtemp(folder)) {
        printf("%s: %s\n", folder, strerror(errno));
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
