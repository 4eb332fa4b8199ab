/* test_cuda_sealed_memory.c - what is sealed outlives device processes, but for those that leave it in doubt: two real processes by the
 * way of worker.h, on a driver whose device is a folder.  An allocation is a file there, locked by who has it; a handle is its path. */
#include "tests/support/expect.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi-eval/backend/cuda/measure/device.h"
#include "mpi-eval/referee/time_account.h"
#include "tests/unit/mpi-eval/fixture_cuda_driver.h"

#define FILES      12
#define FILE_BYTES ((off_t)1 << 36) /* nothing is in them but what is written */
#define MARGIN     ((uint64_t)768 << 20)
#define BUDGET     ((uint64_t)200 << 20) /* of arena, plain and sealed area */
#define PRINT      4096u
#define HOLD_TRIES 1000

/* ---- as the device process: argv[0] says so, argv[1] names the folder ---- */

static const char *device_folder;
static struct {
    atoll_cuda_address address;
    size_t bytes;
    int fd;
    char path[ATOLL_CUDA_IPC_BYTES];
} taken[2 * FILES];

static int has(const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", device_folder, name);
    return access(path, F_OK) == 0;
}

/* Whether it can be locked, which it then is as long as the descriptor, which is never closed, is open. */
static int locks(const char *name, int how)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", device_folder, name);
    int fd = open(path, O_RDWR | O_CLOEXEC), rc = flock(fd, how | LOCK_NB);
    if (rc != 0 || how == LOCK_SH)
        close(fd);
    return rc == 0;
}

static unsigned file_map(const char *path, int fd, size_t bytes, atoll_cuda_address *ret)
{
    union {
        void *pointer;
        atoll_cuda_address number;
    } a = {.pointer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)};
    size_t i = 0;
    while (i < 2 * FILES && taken[i].address)
        i++;
    if (a.pointer == MAP_FAILED || i == 2 * FILES)
        return ATOLL_CUDA_ERROR_OUT_OF_MEMORY;
    taken[i].address = *ret = a.number;
    taken[i].bytes = bytes;
    taken[i].fd = fd;
    snprintf(taken[i].path, sizeof(taken[i].path), "%s", path);
    return ATOLL_CUDA_SUCCESS;
}
static size_t taken_at(atoll_cuda_address address)
{
    for (size_t i = 0; i < 2 * FILES; i++)
        if (taken[i].address == address)
            return i;
    abort();
}
static unsigned memory_alloc(atoll_cuda_address *ret, size_t bytes)
{
    for (int i = 0; i < FILES; i++) {
        char path[ATOLL_CUDA_IPC_BYTES];
        snprintf(path, sizeof(path), "%s/%d", device_folder, i);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            return file_map(path, fd, bytes, ret);
        close(fd);
    }
    return ATOLL_CUDA_ERROR_OUT_OF_MEMORY;
}
static unsigned memory_free(atoll_cuda_address address)
{
    size_t i = taken_at(address);
    union {
        atoll_cuda_address number;
        void *pointer;
    } a = {address};
    munmap(a.pointer, taken[i].bytes);
    close(taken[i].fd);
    taken[i].address = 0;
    return ATOLL_CUDA_SUCCESS;
}
static unsigned ipc_handle(struct atoll_cuda_ipc *ret, atoll_cuda_address address)
{
    memcpy(ret->reserved, taken[taken_at(address)].path, sizeof(ret->reserved));
    return has("no-share") ? ATOLL_CUDA_ERROR_NOT_SUPPORTED : ATOLL_CUDA_SUCCESS;
}
static unsigned ipc_open(atoll_cuda_address *ret, struct atoll_cuda_ipc handle, unsigned flags)
{
    int fd = open(handle.reserved, O_RDWR | O_CLOEXEC);
    (void)flags;
    if (has("death"))
        _exit(7);
    if (has("gone") && fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0) { /* nobody has it any more */
        close(fd);
        return ATOLL_CUDA_ERROR_INVALID_VALUE;
    }
    return fd < 0 || has("no-attach") ? ATOLL_CUDA_ERROR_INVALID_VALUE
                                      : file_map(handle.reserved, fd, (size_t)FILE_BYTES, ret);
}
static unsigned range(atoll_cuda_address *ret_base, size_t *ret_bytes, atoll_cuda_address address)
{
    *ret_base = address;
    *ret_bytes = taken[taken_at(address)].bytes;
    return ATOLL_CUDA_SUCCESS;
}
static unsigned copy_in(atoll_cuda_address to, const void *from, size_t bytes, struct CUstream_st *stream)
{
    union {
        atoll_cuda_address number;
        void *pointer;
    } a = {to};
    while (has("hold") && locks("hold", LOCK_SH)) /* until another process is there */
        usleep(1000);
    memcpy(a.pointer, from, bytes);
    return driver_stream_wait(stream);
}
static unsigned copy_out(void *to, atoll_cuda_address from, size_t bytes, struct CUstream_st *stream)
{
    union {
        atoll_cuda_address number;
        void *pointer;
    } a = {from};
    memcpy(to, a.pointer, bytes);
    return driver_stream_wait(stream);
}

/* Of the holes in the files nothing is copied but where the tests write. */
static unsigned copy_within(atoll_cuda_address to, atoll_cuda_address from, size_t bytes,
                            struct CUstream_st *stream)
{
    union {
        atoll_cuda_address number;
        char *pointer;
    } a = {to}, b = {from};
    size_t some = bytes < 1 << 20 ? bytes : 1 << 20;
    if (has("no-copy"))
        return ATOLL_CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(a.pointer, b.pointer, some);
    memcpy(a.pointer + bytes - some, b.pointer + bytes - some, some);
    return driver_stream_wait(stream);
}

/* The first and the last word: the files are full of holes. */
static unsigned set_words(atoll_cuda_address to, unsigned value, size_t count, struct CUstream_st *stream)
{
    copy_in(to, &value, sizeof(value), stream);
    return copy_in(to + 4 * (count - 1), &value, sizeof(value), stream);
}

static int device_main(void)
{
    static const struct atoll_cuda table = {DRIVER_BUT_SETS,
                                            .cuMemsetD32Async = set_words,
                                            .cuMemAlloc = memory_alloc,
                                            .cuMemFree = memory_free,
                                            .cuMemGetAddressRange = range,
                                            .cuMemcpyHtoDAsync = copy_in,
                                            .cuMemcpyDtoHAsync = copy_out,
                                            .cuMemcpyDtoDAsync = copy_within,
                                            .cuIpcGetMemHandle = ipc_handle,
                                            .cuIpcOpenMemHandle = ipc_open,
                                            .cuIpcCloseMemHandle = memory_free};
    struct atoll_cuda_hello hello = {.version = ATOLL_CUDA_LINK_VERSION};
    hello.facts.compute_mode = has("exclusive") ? 3 : 0;
    for (int i = 0; i < HOLD_TRIES && has("hold") && !locks("hold", LOCK_EX); i++)
        usleep(1000); /* the one that waits for this process is looking */
    if (has("no-start"))
        return 7;
    return driver_serve(&table, &hello);
}

/* ---- the tests ---- */

static char folder[] = "/dev/shm/atoll-sealed-XXXXXX";
static char own[4096];
static struct atoll_cuda_device *d;

static void touch(const char *name, int is_there)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = is_there ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (is_there)
        assert_true(fd >= 0 && (name[0] > '9' || ftruncate(fd, FILE_BYTES) == 0) && close(fd) == 0);
    else
        unlink(path);
}

/* Allocations of all processes. */
static int files_taken(void)
{
    int count = 0;
    for (int i = 0; i < FILES; i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%d", folder, i);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        count += flock(fd, LOCK_EX | LOCK_NB) != 0;
        close(fd);
    }
    return count;
}

static void worker_start(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_cuda_worker_settings settings;
    atoll_cuda_device_settings(d, &settings);
    d->worker = atoll_cuda_worker_create(&settings, &err);
    if (!d->worker)
        fail_msg("%s", err.text);
    d->generation++;
}

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    d = calloc(1, sizeof(*d));
    assert_non_null(d);
    d->settings = (struct atoll_cuda_worker_settings){.program = own, .uuid = folder};
    d->facts.free_bytes = MARGIN + ATOLL_CUDA_SEALED_CONTEXT_BYTES + BUDGET;
    d->expected_store = atoll_expected_store_create(&err);
    assert_non_null(d->expected_store);
    atoll_command_batch_init(&d->batch);
    atoll_command_batch_reply_init(&d->reply);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_cuda_device_drop_all(d);
    assert_int_equal(files_taken(), 0);
    atoll_expected_store_destroy(d->expected_store);
    atoll_command_batch_fini(&d->batch);
    atoll_command_batch_reply_fini(&d->reply);
    free(d);
    return 0;
}

static void reserve(uint64_t plain)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!d->worker)
        worker_start();
    if (atoll_cuda_device_reserve(d, 4096, 8192, plain, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(d->areas[ATOLL_AREA_SEALED].bytes > 0);
}

static struct atoll_sealed *draw(void)
{
    const struct atoll_input_set set = {.number = 5, .seed = 77};
    struct atoll_sealed *a = atoll_expected_store_take(d->expected_store, 1, &set);
    assert_non_null(a);
    return a;
}

static unsigned char sealed_bytes[PRINT];

static void print_seal(struct atoll_sealed *a)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (size_t i = 0; i < PRINT; i++)
        sealed_bytes[i] = (unsigned char)(i * 31 + i / 256 + 1);
    assert_int_equal(atoll_expected_store_reserve_print(d->expected_store, a, PRINT), 0);
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_write(&d->batch, d->areas[ATOLL_AREA_SEALED].address + a->print.offset, sealed_bytes,
                              PRINT);
    assert_int_equal(atoll_cuda_device_run_own(d, "sealing", &err), 0);
}

/* 1: the store says that it is there, and it is. */
static int print_is_there(const struct atoll_sealed *a)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t length = 0;
    if (!a->print.is_sealed)
        return 0;
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_read(&d->batch, d->areas[ATOLL_AREA_SEALED].address + a->print.offset, PRINT);
    assert_int_equal(atoll_cuda_device_run_own(d, "reading", &err), 0);
    const void *bytes = atoll_command_batch_take_bytes(&d->reply, &length);
    assert_int_equal(length, PRINT);
    assert_memory_equal(bytes, sealed_bytes, PRINT);
    return 1;
}

static int lost_batch(int is_ours)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    kill(atoll_cuda_worker_pid(d->worker), SIGKILL);
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_sync(&d->batch);
    return is_ours ? atoll_cuda_device_run_own(d, "a batch of ours", &err)
                   : atoll_cuda_device_run(d, 5e9, &err);
}

static void test_outlives(void **state)
{
    static const struct {
        const char *what;
        int stays;
    } rows[] = {{"dropped", 1},
                {"lost while a candidate ran", 1},
                {"lost in a batch of ours", 0},
                {"in doubt", 0},
                {"another size", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        reserve(4096);
        struct atoll_sealed *a = draw();
        print_seal(a);
        assert_true(print_is_there(a));
        assert_int_equal(files_taken(), 3); /* arena, plain and sealed area, which is there once */
        switch (i) {
        case 0: atoll_cuda_device_drop(d); break;
        case 1: assert_int_equal(lost_batch(0), 1); break;
        case 2: assert_int_equal(lost_batch(1), 1); break;
        case 3: atoll_cuda_device_drop_all(d); break;
        default: reserve(BUDGET / 3 * 2); break;
        }
        assert_int_equal(files_taken(), i == 4 ? 3 : rows[i].stays);
        reserve(4096);
        if (print_is_there(a) != rows[i].stays)
            fail_msg("%s: %s", rows[i].what, rows[i].stays ? "gone" : "still there");
        assert_false(d->sealed.is_shut);
        atoll_expected_store_give(d->expected_store, a);
        atoll_cuda_device_drop_all(d);
        memset(d->wanted, 0, sizeof(d->wanted));
    }
}

/* Where no process can keep them, all is as with one process, for good. */
static void test_shut(void **state)
{
    static const char *const why[] = {"no-share", "no-attach", "death", "exclusive"};
    (void)state;
    for (size_t i = 0; i < sizeof(why) / sizeof(*why); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        touch(why[i], 1);
        worker_start();
        int rc = atoll_cuda_device_reserve(d, 4096, 8192, 4096, &err);
        if (rc != (strcmp(why[i], "death") == 0)) /* that process is lost, the next one is not */
            fail_msg("%s: %d, %s", why[i], rc, err.text);
        reserve(4096);
        assert_true(d->sealed.is_shut);
        assert_null(d->sealed.worker);
        struct atoll_sealed *a = draw();
        print_seal(a);
        assert_true(print_is_there(a));
        atoll_cuda_device_drop(d);
        assert_int_equal(a->print.is_sealed, 0);
        assert_int_equal(files_taken(), 0);
        atoll_expected_store_give(d->expected_store, a);
        touch(why[i], 0);
        reserve(4096);
        assert_true(d->sealed.is_shut);
        atoll_cuda_device_drop_all(d);
        memset(d->wanted, 0, sizeof(d->wanted));
        d->sealed.is_shut = 0;
    }
}

/* A process that is gone takes the memory along; another one takes its place. */
static void test_gone(void **state)
{
    (void)state;
    for (int is_resized = 0; is_resized < 2; is_resized++) {
        reserve(4096);
        struct atoll_sealed *a = draw();
        print_seal(a);
        pid_t gone = atoll_cuda_worker_pid(d->sealed.worker);
        kill(gone, SIGKILL);
        if (is_resized) {
            reserve(BUDGET / 3 * 2);
        } else {
            while (files_taken() != 2) /* until its end has come */
                ;
            atoll_cuda_device_drop(d);
            touch("gone", 1);
            reserve(4096);
            touch("gone", 0);
        }
        assert_false(d->sealed.is_shut);
        assert_true(atoll_cuda_worker_pid(d->sealed.worker) != gone);
        assert_int_equal(print_is_there(a), 0);
        print_seal(a);
        assert_true(print_is_there(a));
        atoll_expected_store_give(d->expected_store, a);
        atoll_cuda_device_drop_all(d);
        memset(d->wanted, 0, sizeof(d->wanted));
    }
}

/* What a device takes to have another process is the start's time, whatever the evaluation was at. */
static double ticking_ns(void *context)
{
    return *(double *)context += 1;
}

static void test_start_is_told(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_time_report report;
    struct atoll_referee *referee = calloc(1, sizeof(*referee));
    double now = 0, start = 0, compiling = 0;
    (void)state;
    assert_non_null(referee);
    referee->account = atoll_time_account_create(ticking_ns, &now, NULL);
    d->referee = referee;
    atoll_time_account_begin(referee->account, ATOLL_TIME_COMPILING, 7);
    worker_start();
    assert_int_equal(atoll_cuda_device_ready(d, &err), 0); /* there is one: nothing to wait for */
    atoll_cuda_device_drop(d);
    assert_int_equal(atoll_cuda_device_ready(d, &err), -1); /* nothing computes a known answer here */
    assert_int_equal(atoll_time_account_enter(referee->account, ATOLL_TIME_OTHER), ATOLL_TIME_COMPILING);
    assert_int_equal(atoll_time_account_report(referee->account, 1, &report, NULL), 0);
    for (size_t i = 0; i < report.count; i++)
        if (report.times[i].task == 7) {
            start = report.times[i].time.ns[ATOLL_TIME_START];
            compiling = report.times[i].time.ns[ATOLL_TIME_COMPILING];
        }
    free(report.times);
    assert_true(start == 1); /* the clock ticks when somebody looks */
    assert_true(compiling == 2);
    atoll_time_account_destroy(referee->account);
    free(referee);
    d->referee = NULL;
}

/* ---- a process that is begun beside a silent one ---- */

#define HOUR 3600e9

/* A batch that writes, which the device holds until another process has come where the file is there. */
static int written(double deadline_ns, double silence_ns, int *ret_disturbed)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_write(&d->batch, d->areas[ATOLL_AREA_ARENA].address, "word", 4);
    int rc = atoll_cuda_device_run_doubtful(d, deadline_ns, silence_ns, ret_disturbed, &err);
    if (rc < 0)
        fail_msg("%s", err.text);
    return rc;
}

static void test_spare(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int disturbed = 7;
    (void)state;
    reserve(4096);
    assert_int_equal(written(HOUR, HOUR, &disturbed), 0);
    assert_true(disturbed == 0 && !d->spare.worker);
    touch("hold", 1); /* there is no room for another one: nothing comes */
    assert_int_equal(written(50e6, 1e6, &disturbed), 1);
    assert_true(disturbed == 0 && !d->spare.worker);
    assert_int_equal(d->reply.status, ATOLL_COMMAND_BATCH_TIMEOUT);
    touch("hold", 0);
    d->facts.free_bytes += 3 * ATOLL_CUDA_SPARE_BYTES; /* half of it is sealed memory */
    reserve(4096);
    touch("hold", 1);
    assert_int_equal(written(HOUR, 1e6, &disturbed), 0);
    assert_true(disturbed == 1 && d->spare.worker);
    touch("hold", 0);
    assert_int_equal(written(HOUR, 0, &disturbed), 0); /* there is one: nothing else is begun */
    assert_int_equal(disturbed, 0);
    /* it takes the place of the lost one, and the plan of memory stays */
    uint64_t free_bytes = d->facts.free_bytes;
    pid_t pid = atoll_cuda_worker_pid(d->spare.worker);
    uint32_t generation = d->generation;
    d->referee = calloc(1, sizeof(*d->referee));
    assert_non_null(d->referee);
    atoll_cuda_device_settle(d);
    assert_true(d->spare.is_ready);
    atoll_cuda_device_drop(d);
    assert_true(d->spare.worker && kill(pid, 0) == 0);
    d->failures = 1;                                        /* it is the last one that is tried: */
    assert_int_equal(atoll_cuda_device_ready(d, &err), -1); /* nothing computes a known answer here */
    assert_int_equal(d->generation, generation + 1);
    assert_true(d->facts.free_bytes == free_bytes && !d->spare.worker);
    assert_true(kill(pid, 0) != 0);
    free(d->referee);
    d->referee = NULL;
}

/* It goes where memory is for others, and where a task needs all of it. */
static void test_spare_goes(void **state)
{
    int disturbed = 0;
    (void)state;
    d->facts.free_bytes += 3 * ATOLL_CUDA_SPARE_BYTES;
    for (int i = 0; i < 2; i++) {
        reserve(4096);
        touch("hold", 1);
        assert_int_equal(written(HOUR, 0, &disturbed), 0);
        assert_true(disturbed == 1 && d->spare.worker);
        touch("hold", 0);
        if (i == 0)
            atoll_cuda_device_drop_all(d);
        else
            reserve(BUDGET + 5 * ATOLL_CUDA_SPARE_BYTES / 2);
        assert_true(!d->spare.worker && !d->spare.is_shut);
    }
}

/* One that does not start is the last one. */
static void test_spare_shut(void **state)
{
    struct atoll_cuda_worker_settings settings;
    (void)state;
    atoll_cuda_device_settings(d, &settings);
    touch("no-start", 1);
    assert_int_equal(atoll_cuda_spare_begin(&d->spare, &settings), 1);
    assert_int_equal(atoll_cuda_spare_begin(&d->spare, &settings), 0); /* there is one */
    assert_null(atoll_cuda_spare_take(&d->spare));
    touch("no-start", 0);
    assert_true(d->spare.is_shut && !d->spare.worker);
    assert_int_equal(atoll_cuda_spare_begin(&d->spare, &settings), 0);
    d->spare.is_shut = 0;
    settings.program = "/nowhere/atoll-worker-cuda";
    if (atoll_cuda_spare_begin(&d->spare, &settings)) /* where the child finds that out */
        atoll_cuda_spare_settle(&d->spare);
    assert_true(d->spare.is_shut && !d->spare.worker);
}

/* ---- arena and plain area ---- */

#define GIB ((uint64_t)1 << 30)

/* Small ones grow, large ones are lent, and nobody finds what another one has left there. */
static void test_lent(void **state)
{
    static const struct {
        uint64_t arena_wanted, plain, arena, plain_area; /* MiB */
        int sealed_stays;
    } rows[] = {{100, 50, 100, 50, 1},
                {300, 20, 300, 50, 1},
                {200, 200, 300, 200, 1},
                {9000, 5000, 9000, 5000, 1},
                {8000, 100, 9000, 200, 1},
                {200, 100, 300, 200, 1},
                {4096, 4096, 4096, 4096, 1},
                {9000, 100, 9000, 4096, 1},
                {100, 100, 4096, 4096, 1},
                /* what does not fit beside it goes first: the sealed area */
                {40000, 100, 40000, 100, 0},
                {100, 100, 4096, 4096, 0}};
    static const char letter[] = "letter!", nothing[4] = "";
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    d->facts.free_bytes = MARGIN + ATOLL_CUDA_SEALED_CONTEXT_BYTES + 48 * GIB + 4096; /* no whole pages */
    atoll_cuda_device_expect(d, 12 * GIB);
    worker_start();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct atoll_span *a = d->areas, before[ATOLL_AREA_COUNT] = {a[0], a[1], a[2]};
        if (atoll_cuda_device_reserve(d, 4096, rows[i].arena_wanted << 20, rows[i].plain << 20, &err) != 0)
            fail_msg("row %zu: %s", i, err.text);
        if (a[ATOLL_AREA_ARENA].bytes >> 20 != rows[i].arena ||
            a[ATOLL_AREA_PLAIN].bytes >> 20 != rows[i].plain_area)
            fail_msg("row %zu: %llu and %llu MiB", i, (unsigned long long)a[ATOLL_AREA_ARENA].bytes >> 20,
                     (unsigned long long)a[ATOLL_AREA_PLAIN].bytes >> 20);
        assert_int_equal(a[ATOLL_AREA_SEALED].bytes % ((uint64_t)2 << 20), 0); /* whole pages */
        if (i)
            assert_int_equal(before[ATOLL_AREA_SEALED].bytes == a[ATOLL_AREA_SEALED].bytes,
                             rows[i].sealed_stays);
        atoll_command_batch_clear(&d->batch);
        for (uint32_t k = 0; k < ATOLL_AREA_COUNT; k++)
            if (a[k].bytes)
                atoll_command_batch_read(&d->batch, a[k].address, sizeof(nothing));
        for (uint32_t k = 0; k < ATOLL_AREA_COUNT; k++)
            if (a[k].bytes)
                atoll_command_batch_write(&d->batch, a[k].address, letter, sizeof(letter));
        assert_int_equal(atoll_cuda_device_run_own(d, "letters", &err), 0);
        for (uint32_t k = 0; k < ATOLL_AREA_COUNT; k++) {
            size_t length = 0;
            const void *bytes = a[k].bytes ? atoll_command_batch_take_bytes(&d->reply, &length) : NULL;
            int is_same = k < 3 && before[k].address == a[k].address && before[k].bytes == a[k].bytes;
            if (k == ATOLL_AREA_SEALED) /* which keeps what is in it where it does not get smaller */
                is_same = before[k].bytes && before[k].bytes <= a[k].bytes;
            if (bytes)
                assert_memory_equal(bytes, is_same ? letter : nothing, sizeof(nothing));
        }
        assert_int_equal(d->has_lent, i >= 4 ? 1 : rows[i].arena_wanted > 4096);
    }
    /* what is set aside is in nobody's way: PyTorch's room is a room */
    uint64_t before = atoll_cuda_device_free_bytes(d);
    atoll_cuda_device_leave(d, 0);
    assert_non_null(d->worker);
    atoll_cuda_device_leave(d, GIB);
    assert_true(!d->worker && !d->has_lent);
    reserve((uint64_t)5 << 30);
    assert_true(!d->has_lent && d->areas[ATOLL_AREA_PLAIN].bytes == (uint64_t)5 << 30);
    assert_true(atoll_cuda_device_free_bytes(d) < before);
    atoll_cuda_device_leave(d, GIB);
    assert_non_null(d->worker);
}

static uint32_t sealed_word(uint64_t offset)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint32_t word = 7;
    size_t length = 0;
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_read(&d->batch, d->areas[ATOLL_AREA_SEALED].address + offset, sizeof(word));
    assert_int_equal(atoll_cuda_device_run_own(d, "reading", &err), 0);
    const void *bytes = atoll_command_batch_take_bytes(&d->reply, &length);
    assert_int_equal(length, sizeof(word));
    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* Sealed memory that grows keeps what is sealed, and what was somebody else's before is overwritten; where the device has no room for
 * both it begins anew. */
static void test_grows(void **state)
{
    static const uint32_t dirt = 0x74726964;
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    d->facts.free_bytes = MARGIN + ATOLL_CUDA_SEALED_CONTEXT_BYTES + 100 * GIB;
    reserve(4096);
    assert_true(d->areas[ATOLL_AREA_SEALED].bytes == 4 * GIB);
    struct atoll_sealed *a = draw();
    print_seal(a);
    assert_true(a->print.offset > 4 * GIB - 2 * PRINT); /* at its end */
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_write(&d->batch, d->areas[ATOLL_AREA_SEALED].address, &dirt, sizeof(dirt));
    assert_int_equal(atoll_cuda_device_run_own(d, "writing", &err), 0);
    for (int i = 0; i < FILES; i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%d", folder, i);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        assert_true(pwrite(fd, &dirt, sizeof(dirt), (off_t)(4 * GIB)) == sizeof(dirt));
        close(fd);
    }
    for (int i = 0; i < 2; i++) {
        pid_t pid = atoll_cuda_worker_pid(d->sealed.worker);
        atoll_cuda_device_expect(d, i ? 2 * GIB : 5 * GIB);
        if (i)
            touch("no-copy", 1);
        reserve(4096);
        touch("no-copy", 0);
        assert_true(d->areas[ATOLL_AREA_SEALED].bytes >> 20 == (i ? 8478 : 5220));
        assert_int_equal(print_is_there(a), i == 0);
        assert_int_equal(sealed_word(0), i ? 0 : dirt);
        assert_int_equal(sealed_word(4 * GIB),
                         i ? dirt : 0); /* i: what is overwritten is its first and last word */
        assert_int_equal(files_taken(), 3);
        assert_true(!d->sealed.is_shut && atoll_cuda_worker_pid(d->sealed.worker) == pid);
        if (i == 0) { /* another device process finds it as well, and so does one for which it grows */
            atoll_cuda_device_drop(d);
            reserve(4096);
            assert_true(print_is_there(a));
            atoll_cuda_device_drop(d);
            atoll_cuda_device_expect(d, GIB);
            reserve(4096);
            assert_true(print_is_there(a) && d->areas[ATOLL_AREA_SEALED].bytes >> 20 == 6260);
        }
    }
    atoll_expected_store_give(d->expected_store, a);
}

/* As much as is wanted, in steps, up to a share. */
static void test_demand(void **state)
{
    static const struct {
        uint64_t demand_mib, free_gib, sealed_mib;
    } rows[] = {{0, 100, 4096},      {4096, 100, 4096},   {4097, 100, 4352}, {16384, 100, 16516},
                {20000, 100, 21048}, {90000, 100, 51200}, {0, 10, 4096},     {90000, 10, 5120}};
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        memset(d->wanted, 0, sizeof(d->wanted));
        d->facts.free_bytes = MARGIN + ATOLL_CUDA_SEALED_CONTEXT_BYTES + rows[i].free_gib * GIB;
        d->sealed_demand = 0;
        atoll_cuda_device_expect(d, (rows[i].demand_mib << 20) / 2);
        atoll_cuda_device_expect(d, (rows[i].demand_mib << 20) / 2);
        if (!d->worker)
            worker_start();
        if (atoll_cuda_device_reserve(d, 4096, 8192, 4096, &err) != 0)
            fail_msg("row %zu: %s", i, err.text);
        if (d->areas[ATOLL_AREA_SEALED].bytes >> 20 != rows[i].sealed_mib)
            fail_msg("row %zu: %llu MiB", i, (unsigned long long)d->areas[ATOLL_AREA_SEALED].bytes >> 20);
    }
    d->facts.free_bytes = MARGIN + ATOLL_CUDA_SEALED_CONTEXT_BYTES + 100 * GIB;
    d->sealed_demand = 4 * GIB;
    atoll_cuda_device_expect_fresh(d, 300 << 20);
    atoll_cuda_device_expect_fresh(d, 200 << 20);
    reserve(4096);
    assert_int_equal(d->areas[ATOLL_AREA_SEALED].bytes >> 20, 4624);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_outlives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_demand, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spare, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spare_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spare_shut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_start_is_told, set_up, tear_down)};
    if (argc == 2 && strcmp(argv[0], "atoll-worker-cuda") == 0) {
        device_folder = argv[1];
        return device_main();
    }
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    if (length <= 0 || !mkdtemp(folder)) {
        printf("%s: %s\n", folder, strerror(errno));
        return 1;
    }
    char name[16];
    for (int i = 0; i < FILES; i++, touch(name, 1))
        snprintf(name, sizeof(name), "%d", i);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < FILES; i++, touch(name, 0))
        snprintf(name, sizeof(name), "%d", i);
    rmdir(folder);
    return failed;
}
