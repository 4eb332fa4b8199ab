/* Thread i of n gets the i-th of n nearly equal runs of units of every launch; a barrier of the harness lies
 * between two launches.  The threads wait for the doorbell with their stacks touched and the object's pages
 * mapped, so that the span holds the candidate's work only.  Nothing of the harness is needed after done:
 * the referee kills the group.
 *
 * The thread that sets the sample up ends before the candidate runs.  Threads that spin then stand alone on their cores and
 * can neither sleep nor wake each other, for no futex is allowed any more: when the kernel takes a core from one of them,
 * the cause lies outside of the sample.  The filter comes once no thread is in a futex and before any stands. */
#include "mpi-eval/backend/cpu/process/sample.h"
#include "mpi-eval/backend/cpu/process/tiles.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/task/reference.h"

#define POPULATE_READ     22                  /* MADV_POPULATE_READ, Linux 5.14 */
#define POPULATE_WRITE    23                  /* MADV_POPULATE_WRITE */
#define GUARD_BYTES       ((size_t)1 << 20)   /* below each stack: more than one frame can jump over */
#define STACK_TOUCH_BYTES ((size_t)256 << 10) /* of each stack, before the span */
#define ADDRESS_LOW       ((uint64_t)1 << 40)
#define ADDRESS_SPAN      ((uint64_t)1 << 45)
#define ADDRESS_TRIES     8
#define HUGE_BYTES        ((size_t)2 << 20) /* buffers of half of it and more may lie on huge pages */
#define LINE_BYTES        ((size_t)64)
#define CHUNKS_PER_THREAD 16 /* of the reference, whose units may differ in cost */

typedef void atoll_shim(long unit_begin, long unit_end, const union atoll_run_word *words);
typedef void atoll_range(const struct atoll_reference_args *args, long unit_begin, long unit_end);

struct barrier {
    _Alignas(64) _Atomic uint32_t arrived;
    _Alignas(64) _Atomic uint32_t phase;
};

struct sample {
    const struct atoll_zygote *zygote;
    const struct atoll_control_run *run;
    uint32_t thread_count;
    int spin;
    char *buffers[ATOLL_RUN_BUFFER_LIMIT];
    union atoll_run_word words[ATOLL_RUN_LAUNCH_LIMIT][ATOLL_RUN_WORD_LIMIT];
    struct atoll_reference_args reference; /* scratch is each thread's own */
    long long dims[ATOLL_TASK_DIM_LIMIT];
    void *tensors[3][ATOLL_TASK_TENSOR_LIMIT]; /* inputs, expected, scale */
    double *scratch;
    char *stacks;
    size_t stack_stride;
    struct barrier between;
    _Alignas(64) _Atomic uint32_t seated;   /* threads that wait for a run */
    _Alignas(64) _Atomic uint32_t told;     /* 1: the run is known and its buffers are mapped */
    _Alignas(64) _Atomic uint32_t awake;    /* threads that were armed, and sleep no more where they spin */
    _Alignas(64) _Atomic uint32_t standing; /* threads that wait for the doorbell */
    _Alignas(64) _Atomic uint32_t finished;
    _Alignas(64) _Atomic int64_t next_unit; /* REFERENCE */
    _Atomic uint32_t never;
};
static struct sample sample;
static size_t page_bytes;

/* Maps the pages of the object and of what it calls, which fork does not copy, so that the candidate pays for no page
 * fault on its code. */
static void code_touch(const struct atoll_zygote *zygote)
{
    for (size_t i = 0; i < zygote->range_count; i++) {
        const struct atoll_zygote_range *range = &zygote->ranges[i];
        if (madvise(range->begin, range->bytes, POPULATE_READ) == 0)
            continue;
        for (size_t at = 0; at < range->bytes; at += page_bytes)
            (void)*(volatile char *)(range->begin + at);
    }
}
struct seat {
    uint32_t index;
    int core;
};
static struct seat seats[ATOLL_CONTROL_THREAD_LIMIT];

static __attribute__((noreturn, format(printf, 1, 2))) void give_up(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(sample.zygote->page->trouble, sizeof(sample.zygote->page->trouble), format, list);
    va_end(list);
    _exit(ATOLL_SAMPLE_TROUBLE);
}

static void wait_change(_Atomic uint32_t *word, uint32_t old, int shared)
{
    while (atomic_load_explicit(word, memory_order_acquire) == old)
        if (sample.spin)
            atoll_cpu_relax();
        else
            atoll_futex_wait(word, old, -1, shared);
}

static void barrier_wait(struct barrier *b)
{
    uint32_t phase = atomic_load_explicit(&b->phase, memory_order_acquire);
    if (atomic_fetch_add_explicit(&b->arrived, 1, memory_order_acq_rel) + 1 < sample.thread_count) {
        wait_change(&b->phase, phase, 0);
        return;
    }
    atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&b->phase, phase + 1, memory_order_release);
    if (!sample.spin)
        atoll_futex_wake(&b->phase, 0);
}

static void run_candidate(uint32_t index)
{
    for (uint32_t i = 0; i < sample.run->launch_count; i++) {
        const struct atoll_control_launch *launch = &sample.run->launches[i];
        union {
            void *address;
            atoll_shim *call;
        } symbol = {sample.zygote->symbols[launch->symbol]};
        int64_t each = launch->units / sample.thread_count, rest = launch->units % sample.thread_count;
        int64_t begin = each * index + (index < rest ? index : rest);
        int64_t end = begin + each + (index < rest);
        if (i > 0 && sample.thread_count > 1)
            barrier_wait(&sample.between);
        if (begin < end)
            symbol.call(begin, end, sample.words[i]);
    }
}

static void run_reference(uint32_t index)
{
    const struct atoll_control_launch *launch = &sample.run->launches[0];
    union {
        void *address;
        atoll_range *call;
    } symbol = {sample.zygote->symbols[launch->symbol]};
    struct atoll_reference_args args = sample.reference;
    args.scratch = sample.scratch + index * sample.run->scratch_doubles;
    int64_t chunk = launch->units / ((int64_t)sample.thread_count * CHUNKS_PER_THREAD) + 1;
    for (;;) {
        int64_t begin = atomic_fetch_add_explicit(&sample.next_unit, chunk, memory_order_relaxed);
        if (begin >= launch->units)
            return;
        symbol.call(&args, begin, begin + chunk < launch->units ? begin + chunk : launch->units);
    }
}

static void touch_stack(uint32_t index)
{
    char here;
    size_t depth = sample.zygote->setup.stack_bytes / 2;
    if (depth > STACK_TOUCH_BYTES)
        depth = STACK_TOUCH_BYTES;
    uintptr_t top = ((uintptr_t)&here & ~(uintptr_t)(page_bytes - 1)) - page_bytes;
    uintptr_t bottom = (uintptr_t)sample.stacks + index * sample.stack_stride + GUARD_BYTES;
    if (top < bottom)
        return;
    uintptr_t low = top - bottom > depth ? top - depth : bottom;
    if (madvise((void *)low, top + page_bytes - low, POPULATE_WRITE) == 0)
        return; /* one call and not a fault for each page */
    for (uintptr_t at = top; at >= bottom && top - at < depth; at -= page_bytes)
        *(volatile char *)at = 0;
}

static void pin(int core)
{
    size_t bytes = CPU_ALLOC_SIZE((size_t)core + 1);
    static const size_t limit = 8192 / 8;
    unsigned char mask[8192 / 8] = {0};
    if (bytes > limit)
        give_up("core %d is out of range", core);
    mask[core / 8] = (unsigned char)(1u << (core % 8));
    if (sched_setaffinity(0, bytes, (const cpu_set_t *)(const void *)mask) != 0)
        give_up("cannot pin a thread to core %d: %s", core, strerrordesc_np(errno));
}

/* What this thread has used so far, added to what all have: the rest is the candidate's.  Switches are counted for the whole
 * process by the last to stand, with those of the thread that has ended. */
static void declare_usage(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) == 0)
        atomic_fetch_add_explicit(&sample.zygote->page->cpu_ns, atoll_cpu_time_ns(&usage),
                                  memory_order_relaxed);
}

/* This thread's share of every buffer is read, or of every page of the object put out of the caches. */
static void prepare_caches(uint32_t index)
{
    for (uint32_t i = 0; sample.run->touch && i < sample.run->buffer_count; i++) {
        size_t bytes = sample.run->buffers[i].bytes, each = bytes / sample.thread_count, begin = each * index;
        size_t end = index + 1 < sample.thread_count ? begin + each : bytes;
        for (size_t at = begin; at < end; at += LINE_BYTES)
            (void)*(const volatile char *)(sample.buffers[i] + at);
    }
    for (size_t i = 0; sample.run->flush && sample.zygote->flush && i < sample.zygote->range_count; i++) {
        const struct atoll_zygote_range *range = &sample.zygote->ranges[i];
        size_t pages = range->bytes / page_bytes, begin = pages * index / sample.thread_count,
               end = pages * (index + 1) / sample.thread_count;
        if (!range->is_object)
            continue;
        atoll_flush_lines(sample.zygote->flush, range->begin + begin * page_bytes,
                          (end - begin) * page_bytes);
        atomic_fetch_add_explicit(&sample.zygote->page->flushed_bytes, (int64_t)((end - begin) * page_bytes),
                                  memory_order_relaxed);
    }
}

/* By one thread for all, when each of them has left its futex behind. */
static void filter_all(void)
{
    for (;;) {
        uint32_t awake = atomic_load_explicit(&sample.awake, memory_order_acquire);
        if (awake == sample.thread_count)
            break;
        wait_change(&sample.awake, awake, 0);
    }
    int error = atoll_filter_apply(&sample.zygote->sample_filter, 1);
    if (error)
        give_up("cannot install the seccomp filter: %s", strerrordesc_np(error));
    atomic_store_explicit(&sample.zygote->page->awake, 1, memory_order_release);
    if (!sample.spin)
        atoll_futex_wake(&sample.zygote->page->awake, 1);
}

/* Asleep until armed, so that the threads do not take their cores from what still sets the sample up.  Contents are
 * complete then. */
static void await_armed(uint32_t index)
{
    struct atoll_control_page *page = sample.zygote->page;
    struct rusage usage;
    while (atomic_load_explicit(&page->armed, memory_order_acquire) == 0)
        atoll_futex_wait(&page->armed, 0, -1, 1);
    prepare_caches(index);
    atomic_fetch_add_explicit(&sample.awake, 1, memory_order_acq_rel);
    if (!sample.spin)
        atoll_futex_wake(&sample.awake, 0);
    if (index == 0)
        filter_all();
    wait_change(&page->armed, 1, 1);
    if (sample.spin && sample.run->kind == ATOLL_RUN_CANDIDATE)
        atoll_probe_core();
    declare_usage();
    if (atomic_fetch_add_explicit(&sample.standing, 1, memory_order_acq_rel) + 1 < sample.thread_count)
        return;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        atomic_store_explicit(&page->switches, usage.ru_nivcsw, memory_order_relaxed);
    atomic_store_explicit(&page->standing, 1, memory_order_release);
    if (!sample.spin)
        atoll_futex_wake(&page->standing, 1);
}

/* A thread that spins to the end has used exactly the time that its core was not taken from it. */
static __attribute__((noreturn)) void await_death(void)
{
    for (;;)
        if (sample.spin)
            atoll_cpu_relax();
        else
            atoll_futex_wait(&sample.never, 0, -1, 0);
}

static void *thread_main(void *argument)
{
    const struct seat *seat = argument;
    if (seat->core >= 0)
        pin(seat->core);
    touch_stack(seat->index);
    if (sample.zygote->has_tiles)
        atoll_tiles_touch();
    if (atomic_fetch_add_explicit(&sample.seated, 1, memory_order_acq_rel) + 1 == sample.thread_count)
        atoll_futex_wake(&sample.seated, 0);
    while (atomic_load_explicit(&sample.told, memory_order_acquire) == 0)
        atoll_futex_wait(&sample.told, 0, -1, 0);
    await_armed(seat->index);
    wait_change(&sample.zygote->page->doorbell, 0, 1);
    if (sample.run->kind == ATOLL_RUN_REFERENCE)
        run_reference(seat->index);
    else
        run_candidate(seat->index);
    if (atomic_fetch_add_explicit(&sample.finished, 1, memory_order_acq_rel) + 1 == sample.thread_count) {
        struct atoll_control_page *page = sample.zygote->page;
        atomic_store_explicit(&page->done, 1, memory_order_release);
        if (!sample.spin)
            atoll_futex_wake(&page->done, 1);
    }
    await_death();
}

/* A reservation without access at a random multiple of `unit`. */
static char *reserve_randomly(size_t bytes, size_t unit, size_t index, uint64_t random)
{
    for (int i = 0; i < ADDRESS_TRIES; i++) {
        uint64_t hint = ADDRESS_LOW + ((random >> i) % ADDRESS_SPAN & ~(unit - 1));
        char *at = mmap((void *)(uintptr_t)hint, bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (at == (char *)(uintptr_t)hint)
            return at;
        if (at != MAP_FAILED)
            munmap(at, bytes); /* a kernel that does not know the flag takes the address as a hint */
    }
    char *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        give_up("no address space for buffer %zu of %zu bytes", index, bytes);
    return at;
}

static void map_buffers(const int *fds)
{
    const struct atoll_control_run *run = sample.run;
    uint64_t random[ATOLL_RUN_BUFFER_LIMIT];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        give_up("no random numbers");
    for (uint32_t i = 0; i < run->buffer_count; i++) {
        size_t bytes = run->buffers[i].bytes;
        int access = PROT_READ | (run->buffers[i].read_only ? 0 : PROT_WRITE);
        /* At least one page of the reservation is left on each side as guard. */
        size_t unit = bytes >= HUGE_BYTES / 2 ? HUGE_BYTES : page_bytes;
        uintptr_t reserved = (uintptr_t)reserve_randomly(bytes + 2 * unit, unit, i, random[i]);
        char *at = (char *)((reserved + unit) & ~(unit - 1));
        if (mmap(at, bytes, access, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fds[i], 0) != at)
            give_up("cannot map buffer %u of %zu bytes: %s", i, bytes, strerrordesc_np(errno));
        sample.buffers[i] = at;
    }
}

static union atoll_run_word resolve(const struct atoll_control_word *word)
{
    union atoll_run_word out = {.i64 = word->value.i64};
    if (word->buffer >= 0)
        out.pointer = sample.buffers[word->buffer] + word->value.offset;
    return out;
}

static void prepare_reference(void)
{
    const struct atoll_control_run *run = sample.run;
    for (uint32_t i = 0; i < run->dim_count; i++)
        sample.dims[i] = run->dims[i];
    for (uint32_t i = 0; i < 3 * run->tensor_count; i++)
        sample.tensors[i % 3][i / 3] = resolve(&run->reference[i]).pointer;
    size_t bytes = (size_t)run->scratch_doubles * sample.thread_count * sizeof(double);
    if (bytes > 0) {
        sample.scratch = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (sample.scratch == MAP_FAILED)
            give_up("no memory for %zu bytes of reference scratch", bytes);
    }
    sample.reference = (struct atoll_reference_args){
        .dims = sample.dims,
        .inputs = (const void *const *)sample.tensors[0],
        .expected = (double *const *)(void *)sample.tensors[1],
        .scale = (double *const *)(void *)sample.tensors[2],
    };
}

static void make_stacks(void)
{
    size_t bytes = sample.zygote->setup.stack_bytes;
    sample.stack_stride = bytes + GUARD_BYTES;
    size_t total = sample.stack_stride * sample.thread_count;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    sample.stacks = mmap(NULL, total, PROT_NONE, flags, -1, 0);
    if (sample.stacks == MAP_FAILED)
        give_up("no address space for %u stacks of %zu bytes", sample.thread_count, bytes);
    for (uint32_t i = 0; i < sample.thread_count; i++)
        if (mprotect(sample.stacks + i * sample.stack_stride + GUARD_BYTES, bytes, PROT_READ | PROT_WRITE) !=
            0)
            give_up("no memory for stack %u", i);
}

static void start_threads(void)
{
    make_stacks();
    for (uint32_t i = 0; i < sample.thread_count; i++) {
        pthread_attr_t attr;
        pthread_t thread;
        seats[i] = (struct seat){i, sample.zygote->setup.cores[i]};
        pthread_attr_init(&attr);
        int error = pthread_attr_setstack(&attr, sample.stacks + i * sample.stack_stride + GUARD_BYTES,
                                          sample.zygote->setup.stack_bytes);
        if (error == 0)
            error = pthread_create(&thread, &attr, thread_main, &seats[i]);
        pthread_attr_destroy(&attr);
        if (error != 0)
            give_up("cannot start thread %u of %u: %s", i + 1, sample.thread_count, strerrordesc_np(error));
    }
    for (;;) {
        uint32_t seated = atomic_load_explicit(&sample.seated, memory_order_acquire);
        if (seated == sample.thread_count)
            return;
        atoll_futex_wait(&sample.seated, seated, 1000000, 0);
    }
}

/* Length of the message, 0 at end of file, -1 on rubbish; fds has ret_fd_count descriptors then. */
static ssize_t receive_run(struct atoll_control_run *run, int *fds, size_t *ret_fd_count)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * ATOLL_RUN_BUFFER_LIMIT)];
    struct iovec iov = {run, sizeof(*run)};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    ssize_t got;
    do
        got = recvmsg(ATOLL_CONTROL_FD_SOCKET, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    *ret_fd_count = 0;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (got > 0 && header && header->cmsg_type == SCM_RIGHTS) {
        *ret_fd_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(header), *ret_fd_count * sizeof(int));
    }
    return (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ? -1 : got;
}

static int run_is_sound(const struct atoll_control_run *run, ssize_t length, size_t fd_count)
{
    const ssize_t head = (ssize_t)offsetof(struct atoll_control_run, launches);
    return length >= head && run->type == ATOLL_CONTROL_RUN && run->launch_count <= ATOLL_RUN_LAUNCH_LIMIT &&
           length == head + (ssize_t)(run->launch_count * sizeof(run->launches[0])) &&
           run->buffer_count == fd_count && run->dim_count <= ATOLL_TASK_DIM_LIMIT &&
           run->tensor_count <= ATOLL_TASK_TENSOR_LIMIT;
}

/* Threads that wait, with their stacks and the object's code mapped: what every run needs. */
static void set_up(const struct atoll_zygote *zygote)
{
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    sample.zygote = zygote;
    sample.thread_count = zygote->setup.thread_count;
    sample.spin = (int)zygote->setup.spin;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != zygote->pid)
        _exit(ATOLL_SAMPLE_TROUBLE);
    setpgid(0, 0);
    code_touch(zygote);
    start_threads();
}

/* Sleeps until the referee says what to run. */
static void await_run(void)
{
    static struct atoll_control_run run;
    const struct atoll_control_reply ready = {.type = ATOLL_CONTROL_READY, .pid = getpid()};
    int fds[ATOLL_RUN_BUFFER_LIMIT];
    size_t fd_count;
    if (atoll_control_send(&ready) != 0)
        _exit(ATOLL_SAMPLE_TROUBLE);
    ssize_t got = receive_run(&run, fds, &fd_count);
    if (got == 0)
        _exit(0);
    if (!run_is_sound(&run, got, fd_count))
        give_up("the order to run makes no sense");
    sample.run = &run;
    map_buffers(fds);
    if (syscall(SYS_close_range, 0, ~0u, 0) != 0)
        for (int fd = 0; fd < 256; fd++) /* the worker's RLIMIT_NOFILE */
            close(fd);
    for (uint32_t i = 0; i < run.launch_count; i++)
        for (uint32_t j = 0; j < run.launches[i].word_count; j++)
            sample.words[i][j] = resolve(&run.launches[i].words[j]);
    if (run.kind == ATOLL_RUN_REFERENCE)
        prepare_reference();
}

void atoll_sample_run(const struct atoll_zygote *zygote)
{
    set_up(zygote);
    await_run();
    atomic_store_explicit(&sample.told, 1, memory_order_release);
    atoll_futex_wake(&sample.told, 0);
    declare_usage();
    atomic_store_explicit(&zygote->page->ready, 1, memory_order_release);
    atoll_futex_wake(&zygote->page->ready, 1);
    for (;;)
        syscall(SYS_exit, 0); /* of this thread */
}
