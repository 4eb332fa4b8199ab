/* test_cuda_executor.c - batches with memory of another process, on a driver without a device: what is refused, and that no mapping
 * outlives its batch. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/process/executor.h"
#include "tests/unit/mpi-eval/fixture_cuda_driver.h"

#define WINDOW 0x7000000ull
#define BYTES  4096u
#define OWN    0x9000000ull /* memory of this process */

/* What the driver was asked to do, and what it shall say. */
static struct {
    char calls[256];
    int is_open;
    unsigned open_result, range_result, copy_result, close_result;
    unsigned close_failures; /* how often close_result is said; then 0 */
    unsigned create_result, map_result, access_result, unmap_result;
    unsigned alloc_failures; /* how often there is no memory; then there is */
    size_t left;             /* of 100 bytes of the device */
} driver;

static void note(const char *what)
{
    size_t at = strlen(driver.calls);
    snprintf(driver.calls + at, sizeof(driver.calls) - at, "%s%s", at ? " " : "", what);
}
static unsigned launch(const struct atoll_cuda_launch *l, struct CUfunc_st *f, void **params, void **extra)
{
    (void)l;
    (void)f;
    (void)params;
    (void)extra;
    note(driver.is_open ? "LAUNCH-WHILE-OPEN" : "launch");
    return ATOLL_CUDA_SUCCESS;
}
static unsigned ipc_open(atoll_cuda_address *ret, struct atoll_cuda_ipc handle, unsigned flags)
{
    assert_int_equal(flags, ATOLL_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    assert_int_equal(handle.reserved[0], 'h');
    note("open");
    if (driver.open_result)
        return driver.open_result;
    driver.is_open = 1;
    *ret = WINDOW + 256;
    return ATOLL_CUDA_SUCCESS;
}
static unsigned ipc_close(atoll_cuda_address address)
{
    assert_int_equal(address, WINDOW + 256);
    note("close");
    if (driver.close_result && driver.close_failures && driver.close_failures--)
        return driver.close_result;
    driver.is_open = 0;
    return ATOLL_CUDA_SUCCESS;
}
static unsigned range(atoll_cuda_address *ret_base, size_t *ret_bytes, atoll_cuda_address address)
{
    assert_true(address == WINDOW + 256 || address == OWN);
    *ret_base = address == OWN ? OWN : WINDOW;
    *ret_bytes = address == OWN ? BYTES : 256 + BYTES;
    return driver.range_result;
}
static unsigned copy(atoll_cuda_address to, atoll_cuda_address from, size_t bytes, struct CUstream_st *stream)
{
    char text[64];
    (void)stream;
    snprintf(text, sizeof(text), "copy(%llu,%llu,%zu)", to, from - WINDOW - 256, bytes);
    note(text);
    return driver.copy_result;
}

static unsigned memory_alloc(atoll_cuda_address *ret, size_t bytes)
{
    (void)bytes;
    if (driver.alloc_failures && driver.alloc_failures--)
        return ATOLL_CUDA_ERROR_OUT_OF_MEMORY;
    *ret = OWN;
    return ATOLL_CUDA_SUCCESS;
}
static unsigned memory_free(atoll_cuda_address address)
{
    assert_int_equal(address, OWN);
    note("free");
    return ATOLL_CUDA_SUCCESS;
}
static unsigned ipc_handle(struct atoll_cuda_ipc *ret, atoll_cuda_address address)
{
    assert_int_equal(address, OWN);
    note("share");
    *ret = (struct atoll_cuda_ipc){.reserved = {'h'}};
    return driver.copy_result;
}

/* ---- memory that is mapped ---- */

#define LENT_PAGE ((size_t)2 << 20)

static unsigned address_reserve(atoll_cuda_address *ret, size_t bytes, size_t alignment,
                                atoll_cuda_address wanted, unsigned long long flags)
{
    assert_true(bytes % LENT_PAGE == 0 && alignment == LENT_PAGE && wanted == 0 && flags == 0);
    *ret = OWN;
    return ATOLL_CUDA_SUCCESS;
}
static unsigned address_free(atoll_cuda_address address, size_t bytes)
{
    assert_true(address == OWN && bytes % LENT_PAGE == 0);
    return ATOLL_CUDA_SUCCESS;
}
static unsigned memory_create(unsigned long long *ret, size_t bytes,
                              const struct atoll_cuda_memory_kind *kind, unsigned long long flags)
{
    assert_true(kind->type == 1 && kind->location.type == 1 && kind->location.id == 0 && flags == 0);
    note(bytes == LENT_PAGE ? "create" : "create-2");
    *ret = 5;
    return driver.create_result;
}
static unsigned memory_release(unsigned long long memory)
{
    assert_true(memory == 5);
    note("release");
    return ATOLL_CUDA_SUCCESS;
}
static unsigned memory_map(atoll_cuda_address address, size_t bytes, size_t offset, unsigned long long memory,
                           unsigned long long flags)
{
    assert_true(address == OWN && bytes % LENT_PAGE == 0 && offset == 0 && memory == 5 && flags == 0);
    note("map");
    return driver.map_result;
}
static unsigned memory_unmap(atoll_cuda_address address, size_t bytes)
{
    assert_true(address == OWN && bytes % LENT_PAGE == 0);
    note("unmap");
    return driver.unmap_result;
}
static unsigned memory_access(atoll_cuda_address address, size_t bytes,
                              const struct atoll_cuda_memory_access *access, size_t count)
{
    assert_true(address == OWN && bytes % LENT_PAGE == 0 && access->flags == 3 && count == 1);
    return driver.access_result;
}
static unsigned memory_info(size_t *ret_left, size_t *ret_all)
{
    *ret_left = driver.left;
    *ret_all = 100;
    return ATOLL_CUDA_SUCCESS;
}

static const struct atoll_cuda table = {DRIVER_BASICS,
                                        .cuMemAddressReserve = address_reserve,
                                        .cuMemAddressFree = address_free,
                                        .cuMemCreate = memory_create,
                                        .cuMemRelease = memory_release,
                                        .cuMemMap = memory_map,
                                        .cuMemUnmap = memory_unmap,
                                        .cuMemSetAccess = memory_access,
                                        .cuMemGetInfo = memory_info,
                                        .cuLaunchKernelEx = launch,
                                        .cuMemGetAddressRange = range,
                                        .cuMemcpyDtoDAsync = copy,
                                        .cuMemAlloc = memory_alloc,
                                        .cuMemFree = memory_free,
                                        .cuIpcGetMemHandle = ipc_handle,
                                        .cuIpcOpenMemHandle = ipc_open,
                                        .cuIpcCloseMemHandle = ipc_close};

static const unsigned char handle[ATOLL_DEVICE_COMMAND_HANDLE_BYTES] = {'h'};
static struct atoll_cuda_executor *executor;

/* A letter a command: o open, b open of more than there is, c copy, e copy beyond the end, s a set, x close, l launch, g gate,
 * n counters; of slot 3: m alloc, M free, S share, a attach, A attach of more than there is, L alloc lent, K of more pages; B
 * alloc in slot 4, Y copy there, Z more than there is, W to a slot that is none. */
static void batch_make(struct atoll_command_batch *batch, const char *commands)
{
    struct atoll_device_command_launch l = {.function = 0, .grid = {1, 1, 1}, .block = {1, 1, 1}};
    atoll_command_batch_init(batch);
    for (; *commands; commands++)
        switch (*commands) {
        case 'o': atoll_command_batch_foreign_open(batch, handle, BYTES); break;
        case 'b': atoll_command_batch_foreign_open(batch, handle, BYTES + 1); break;
        case 'c': atoll_command_batch_foreign_copy(batch, 77, 8, BYTES - 8); break;
        case 'e': atoll_command_batch_foreign_copy(batch, 77, 8, BYTES - 7); break;
        case 'f': atoll_command_batch_foreign_copy(batch, 77, ~(uint64_t)0, 2); break;
        case 's': atoll_command_batch_set(batch, 1, 2, 3); break;
        case 'x': atoll_command_batch_foreign_close(batch); break;
        case 'l': atoll_command_batch_launch(batch, &l); break;
        case 'g': atoll_command_batch_gate(batch, 0); break;
        case 'm': atoll_command_batch_alloc(batch, 3, BYTES); break;
        case 'M': atoll_command_batch_free(batch, 3); break;
        case 'S': atoll_command_batch_share(batch, 3); break;
        case 'L': atoll_command_batch_alloc_lent(batch, 3, BYTES); break;
        case 'K': atoll_command_batch_alloc_lent(batch, 3, LENT_PAGE + 1); break;
        case 'B': atoll_command_batch_alloc(batch, 4, BYTES); break;
        case 'Y': atoll_command_batch_copy(batch, 4, 3, BYTES); break;
        case 'Z': atoll_command_batch_copy(batch, 4, 3, BYTES + 1); break;
        case 'W': atoll_command_batch_copy(batch, ATOLL_DEVICE_COMMAND_MEMORY_LIMIT, 3, BYTES); break;
        case 'a': atoll_command_batch_attach(batch, 3, handle, BYTES); break;
        case 'A': atoll_command_batch_attach(batch, 3, handle, BYTES + 1); break;
        case 'n': atoll_command_batch_counters_begin(batch, 0); break;
        default: fail_msg("no command %c", *commands);
        }
}

static void test_batches(void **state)
{
    static const struct {
        const char *commands;
        enum atoll_command_batch_status status;
        uint32_t command; /* that failed */
        const char *text, *calls;
        unsigned open_result, range_result, copy_result, close_result, close_failures;
    } rows[] = {
        {"ocx", ATOLL_COMMAND_BATCH_DONE, 3, "", "open copy(77,8,4088) close", 0, 0, 0, 0, 0},
        {"socsxs", ATOLL_COMMAND_BATCH_DONE, 6, "", "open copy(77,8,4088) close", 0, 0, 0, 0, 0},
        {"ocxocx", ATOLL_COMMAND_BATCH_DONE, 6, "", "open copy(77,8,4088) close open copy(77,8,4088) close",
         0, 0, 0, 0, 0},
        /* no kernel in a batch that opens memory of another process */
        {"ol", ATOLL_COMMAND_BATCH_REFUSED, 1, "nothing is launched", "open close", 0, 0, 0, 0, 0},
        {"ocxl", ATOLL_COMMAND_BATCH_REFUSED, 3, "nothing is launched", "open copy(77,8,4088) close", 0, 0, 0,
         0, 0},
        {"og", ATOLL_COMMAND_BATCH_REFUSED, 1, "nothing is launched", "open close", 0, 0, 0, 0, 0},
        {"on", ATOLL_COMMAND_BATCH_REFUSED, 1, "nothing is counted", "open close", 0, 0, 0, 0, 0},
        {"lo", ATOLL_COMMAND_BATCH_REFUSED, 1, "opened alone in its batch", "launch", 0, 0, 0, 0, 0},
        {"oo", ATOLL_COMMAND_BATCH_REFUSED, 1, "opened alone in its batch", "open close", 0, 0, 0, 0, 0},
        /* nothing is read beyond what there is, or where nothing is open */
        {"b", ATOLL_COMMAND_BATCH_REFUSED, 0, "smaller than was said", "open close", 0, 0, 0, 0, 0},
        {"oe", ATOLL_COMMAND_BATCH_REFUSED, 1, "ends before what is copied", "open close", 0, 0, 0, 0, 0},
        {"of", ATOLL_COMMAND_BATCH_REFUSED, 1, "ends before what is copied", "open close", 0, 0, 0, 0, 0},
        {"c", ATOLL_COMMAND_BATCH_REFUSED, 0, "no memory of another process is open", "", 0, 0, 0, 0, 0},
        {"x", ATOLL_COMMAND_BATCH_REFUSED, 0, "no memory of another process is open", "", 0, 0, 0, 0, 0},
        {"oxc", ATOLL_COMMAND_BATCH_REFUSED, 2, "no memory of another process is open", "open close", 0, 0, 0,
         0, 0},
        /* what the driver refuses */
        {"ocx", ATOLL_COMMAND_BATCH_REFUSED, 0, "ERROR_801", "open", 801, 0, 0, 0, 0},
        {"ocx", ATOLL_COMMAND_BATCH_REFUSED, 0, "ERROR_1", "open close", 0, 1, 0, 0, 0},
        {"ocx", ATOLL_COMMAND_BATCH_REFUSED, 1, "ERROR_1", "open copy(77,8,4088) close", 0, 0, 1, 0, 0},
        /* no mapping outlives its batch: it is closed, or the process has to go */
        {"oc", ATOLL_COMMAND_BATCH_REFUSED, 2, "left memory of another process open",
         "open copy(77,8,4088) close", 0, 0, 0, 0, 0},
        {"ocx", ATOLL_COMMAND_BATCH_REFUSED, 2, "ERROR_9", "open copy(77,8,4088) close close", 0, 0, 0, 9, 1},
        {"ocx", ATOLL_COMMAND_BATCH_FAULT, 2, "stays mapped: ERROR_9", "open copy(77,8,4088) close close", 0,
         0, 0, 9, 2},
        {"oc", ATOLL_COMMAND_BATCH_FAULT, 2, "stays mapped: ERROR_9", "open copy(77,8,4088) close", 0, 0, 0,
         9, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_command_batch batch;
        struct atoll_command_batch_reply reply;
        struct atoll_err err = ATOLL_ERR_INIT;
        executor = atoll_cuda_executor_create_on(&table, "0", &err);
        if (!executor)
            fail_msg("%s", err.text);
        atoll_command_batch_init(&batch);
        atoll_command_batch_module_load(&batch, 0, "image", 5);
        atoll_command_batch_function(&batch, 0, 0, "kernel");
        atoll_command_batch_reply_init(&reply);
        atoll_cuda_executor_run(executor, batch.bytes.data, batch.bytes.length, &reply);
        assert_int_equal(reply.status, ATOLL_COMMAND_BATCH_DONE);
        atoll_command_batch_reply_fini(&reply);
        atoll_command_batch_fini(&batch);

        memset(&driver, 0, sizeof(driver));
        driver.open_result = rows[i].open_result;
        driver.range_result = rows[i].range_result;
        driver.copy_result = rows[i].copy_result;
        driver.close_result = rows[i].close_result;
        driver.close_failures = rows[i].close_failures;
        batch_make(&batch, rows[i].commands);
        atoll_command_batch_reply_init(&reply);
        atoll_cuda_executor_run(executor, batch.bytes.data, batch.bytes.length, &reply);
        if (reply.status != rows[i].status || reply.command != rows[i].command ||
            !strstr(reply.text, rows[i].text) || strcmp(driver.calls, rows[i].calls) != 0)
            fail_msg("row %zu, %s: status %d at command %u, '%s', calls '%s'", i, rows[i].commands,
                     (int)reply.status, reply.command, reply.text, driver.calls);
        if (driver.is_open != (reply.status == ATOLL_COMMAND_BATCH_FAULT))
            fail_msg("row %zu, %s: a mapping is left", i, rows[i].commands);
        atoll_command_batch_reply_fini(&reply);
        atoll_command_batch_fini(&batch);
        atoll_cuda_executor_destroy(executor);
    }
}

/* A batch afterwards may launch again. */
static void test_after(void **state)
{
    static const char *const batches[] = {"ocx", "l", "ol", "l", "ocx"};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_command_batch batch;
    struct atoll_command_batch_reply reply;
    (void)state;
    memset(&driver, 0, sizeof(driver));
    executor = atoll_cuda_executor_create_on(&table, "0", &err);
    assert_non_null(executor);
    for (size_t i = 0; i <= sizeof(batches) / sizeof(*batches); i++) {
        batch_make(&batch, i ? batches[i - 1] : "");
        if (i == 0) {
            atoll_command_batch_module_load(&batch, 0, "image", 5);
            atoll_command_batch_function(&batch, 0, 0, "kernel");
        }
        atoll_command_batch_reply_init(&reply);
        atoll_cuda_executor_run(executor, batch.bytes.data, batch.bytes.length, &reply);
        assert_int_equal(reply.status, i == 3 ? ATOLL_COMMAND_BATCH_REFUSED : ATOLL_COMMAND_BATCH_DONE);
        atoll_command_batch_reply_fini(&reply);
        atoll_command_batch_fini(&batch);
    }
    assert_string_equal(driver.calls, "open copy(77,8,4088) close launch open close launch open "
                                      "copy(77,8,4088) close");
    atoll_cuda_executor_destroy(executor);
}

/* Memory of another process in a slot of this one: it stays beside kernels and batches until the slot is freed or taken, and goes
 * the way it came. */
static void test_attached(void **state)
{
    static const struct {
        const char *batches[3];
        enum atoll_command_batch_status status; /* of the last one */
        const char *text, *calls;
        unsigned open_result, range_result, share_result;
    } rows[] = {
        {{"a", "l", "M"}, ATOLL_COMMAND_BATCH_DONE, "", "open LAUNCH-WHILE-OPEN close", 0, 0, 0},
        {{"a", "a", "M"}, ATOLL_COMMAND_BATCH_DONE, "", "open close open close", 0, 0, 0},
        {{"a", "m", "M"}, ATOLL_COMMAND_BATCH_DONE, "", "open close free", 0, 0, 0},
        {{"m", "a", "M"}, ATOLL_COMMAND_BATCH_DONE, "", "free open close", 0, 0, 0},
        {{"a", "MM", NULL}, ATOLL_COMMAND_BATCH_DONE, "", "open close", 0, 0, 0},
        {{"a", NULL, NULL}, ATOLL_COMMAND_BATCH_DONE, "", "open close", 0, 0, 0}, /* with the process */
        {{"A", NULL, NULL}, ATOLL_COMMAND_BATCH_REFUSED, "smaller than was said", "open close", 0, 0, 0},
        {{"a", NULL, NULL}, ATOLL_COMMAND_BATCH_REFUSED, "ERROR_201", "open", 201, 0, 0},
        {{"a", NULL, NULL}, ATOLL_COMMAND_BATCH_REFUSED, "ERROR_1", "open close", 0, 1, 0},
        {{"m", "S", "M"}, ATOLL_COMMAND_BATCH_DONE, "", "share free", 0, 0, 0},
        {{"mS", NULL, NULL}, ATOLL_COMMAND_BATCH_REFUSED, "ERROR_801", "share free", 0, 0, 801},
        {{"S", NULL, NULL}, ATOLL_COMMAND_BATCH_REFUSED, "no such memory to be shared", "", 0, 0, 0},
        {{"a", "S", NULL}, ATOLL_COMMAND_BATCH_REFUSED, "no such memory to be shared", "open close", 0, 0, 0},
        {{"a", "ocx", NULL}, ATOLL_COMMAND_BATCH_DONE, "", "open open copy(77,8,4088) close close", 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_command_batch batch;
        struct atoll_command_batch_reply reply;
        struct atoll_err err = ATOLL_ERR_INIT;
        executor = atoll_cuda_executor_create_on(&table, "0", &err);
        assert_non_null(executor);
        atoll_command_batch_reply_init(&reply);
        for (size_t k = 0; k < 4 && (k == 0 || rows[i].batches[k - 1]); k++) {
            batch_make(&batch, k ? rows[i].batches[k - 1] : "");
            if (k == 0) {
                atoll_command_batch_module_load(&batch, 0, "image", 5);
                atoll_command_batch_function(&batch, 0, 0, "kernel");
                memset(&driver, 0, sizeof(driver));
                driver.open_result = rows[i].open_result;
                driver.range_result = rows[i].range_result;
                driver.copy_result = rows[i].share_result;
            }
            atoll_command_batch_reply_fini(&reply);
            atoll_command_batch_reply_init(&reply);
            atoll_cuda_executor_run(executor, batch.bytes.data, batch.bytes.length, &reply);
            if (rows[i].batches[0][0] == 'a' && k == 1 && reply.status == ATOLL_COMMAND_BATCH_DONE)
                assert_int_equal(reply.results.length, 4 + 8); /* the address */
            atoll_command_batch_fini(&batch);
        }
        atoll_cuda_executor_destroy(executor);
        if (reply.status != rows[i].status || !strstr(reply.text, rows[i].text) ||
            strcmp(driver.calls, rows[i].calls) != 0)
            fail_msg("row %zu: status %d, '%s', calls '%s'", i, (int)reply.status, reply.text, driver.calls);
        atoll_command_batch_reply_fini(&reply);
    }
}

/* Lent memory is unmapped when it is freed, and mapped again as it was; it goes back to the driver where somebody may need it. */
static void test_lent(void **state)
{
    static const struct {
        const char *commands;
        enum atoll_command_batch_status status;
        const char *text, *calls;
        unsigned create_result, map_result, access_result, unmap_result, alloc_failures;
        size_t left;
    } rows[] = {
        {"LMLM", ATOLL_COMMAND_BATCH_DONE, "", "create map unmap map unmap release", 0, 0, 0, 0, 0, 25},
        {"LML", ATOLL_COMMAND_BATCH_DONE, "", "create map unmap map unmap release", 0, 0, 0, 0, 0, 25},
        {"LL", ATOLL_COMMAND_BATCH_DONE, "", "create map unmap map unmap release", 0, 0, 0, 0, 0, 25},
        {"LMM", ATOLL_COMMAND_BATCH_DONE, "", "create map unmap release", 0, 0, 0, 0, 0, 25},
        {"LMLM", ATOLL_COMMAND_BATCH_DONE, "", "create map unmap release create map unmap release", 0, 0, 0,
         0, 0, 24}, /* little is left */
        {"LMKM", ATOLL_COMMAND_BATCH_DONE, "", "create map unmap release create-2 map unmap release", 0, 0, 0,
         0, 0, 25},
        {"LMmMLM", ATOLL_COMMAND_BATCH_DONE, "", "create map unmap free map unmap release", 0, 0, 0, 0, 0,
         25},
        /* who lacks memory gets it */
        {"LMB", ATOLL_COMMAND_BATCH_DONE, "", "create map unmap release free", 0, 0, 0, 0, 1, 25},
        {"LMB", ATOLL_COMMAND_BATCH_REFUSED, "ERROR_2", "create map unmap release", 0, 0, 0, 0, 2, 25},
        {"LB", ATOLL_COMMAND_BATCH_REFUSED, "ERROR_2", "create map unmap release", 0, 0, 0, 0, 1, 25},
        {"LMaM", ATOLL_COMMAND_BATCH_DONE, "", "create map unmap open close release", 0, 0, 0, 0, 0, 25},
        /* a driver that has none, or has no such memory */
        {"L", ATOLL_COMMAND_BATCH_REFUSED, "ERROR_2", "create", 2, 0, 0, 0, 0, 25},
        {"LM", ATOLL_COMMAND_BATCH_DONE, "", "create free", 801, 0, 0, 0, 0, 25},
        {"LM", ATOLL_COMMAND_BATCH_DONE, "", "create map release free", 0, 801, 0, 0, 0, 25},
        {"LM", ATOLL_COMMAND_BATCH_DONE, "", "create map unmap release free", 0, 0, 801, 0, 0, 25},
        {"LM", ATOLL_COMMAND_BATCH_REFUSED, "ERROR_9", "create map unmap unmap", 0, 0, 0, 9, 0, 25},
        {"mBY", ATOLL_COMMAND_BATCH_DONE, "", "copy(150994944,33554176,4096) free free", 0, 0, 0, 0, 0, 25},
        {"mBZ", ATOLL_COMMAND_BATCH_REFUSED, "no memory slots", "free free", 0, 0, 0, 0, 0, 25},
        {"mY", ATOLL_COMMAND_BATCH_REFUSED, "no memory slots", "free", 0, 0, 0, 0, 0, 25},
        {"BY", ATOLL_COMMAND_BATCH_REFUSED, "no memory slots", "free", 0, 0, 0, 0, 0, 25},
        {"mBW", ATOLL_COMMAND_BATCH_REFUSED, "no memory slots", "free free", 0, 0, 0, 0, 0, 25},
        {"LS", ATOLL_COMMAND_BATCH_REFUSED, "no such memory to be shared", "create map unmap release", 0, 0,
         0, 0, 0, 25},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_command_batch batch;
        struct atoll_command_batch_reply reply;
        struct atoll_err err = ATOLL_ERR_INIT;
        memset(&driver, 0, sizeof(driver));
        driver.create_result = rows[i].create_result;
        driver.map_result = rows[i].map_result;
        driver.access_result = rows[i].access_result;
        driver.unmap_result = rows[i].unmap_result;
        driver.alloc_failures = rows[i].alloc_failures;
        driver.left = rows[i].left;
        executor = atoll_cuda_executor_create_on(&table, "0", &err);
        assert_non_null(executor);
        batch_make(&batch, rows[i].commands);
        atoll_command_batch_reply_init(&reply);
        atoll_cuda_executor_run(executor, batch.bytes.data, batch.bytes.length, &reply);
        atoll_cuda_executor_destroy(executor);
        if (reply.status != rows[i].status || !strstr(reply.text, rows[i].text) ||
            strcmp(driver.calls, rows[i].calls) != 0)
            fail_msg("row %zu, %s: status %d, '%s', calls '%s'", i, rows[i].commands, (int)reply.status,
                     reply.text, driver.calls);
        atoll_command_batch_reply_fini(&reply);
        atoll_command_batch_fini(&batch);
    }
}

/* An old driver has no such functions. */
static void test_none(void **state)
{
    struct atoll_cuda without = table;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_command_batch batch;
    struct atoll_command_batch_reply reply;
    (void)state;
    without.cuIpcOpenMemHandle = NULL;
    executor = atoll_cuda_executor_create_on(&without, "0", &err);
    assert_non_null(executor);
    batch_make(&batch, "ocx");
    atoll_command_batch_reply_init(&reply);
    atoll_cuda_executor_run(executor, batch.bytes.data, batch.bytes.length, &reply);
    assert_int_equal(reply.status, ATOLL_COMMAND_BATCH_REFUSED);
    assert_int_equal(reply.code, ATOLL_CUDA_ERROR_NOT_SUPPORTED);
    atoll_command_batch_reply_fini(&reply);
    atoll_command_batch_fini(&batch);
    atoll_cuda_executor_destroy(executor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_batches), cmocka_unit_test(test_after),
                                       cmocka_unit_test(test_attached), cmocka_unit_test(test_lent),
                                       cmocka_unit_test(test_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
