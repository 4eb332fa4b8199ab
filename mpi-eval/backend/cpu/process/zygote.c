/* Order of loading: checks of the object come before ld.so sees it, privileges and the file system go before
 * it too, and the zygote's own filter after it (ld.so needs executable maps).  A sample child stays a zombie
 * until the next one has ended, so that its pid names nothing else while the referee may still send it a signal. */
#include "mpi-eval/backend/cpu/process/zygote.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "mpi-eval/backend/cpu/compile/object.h"
#include "mpi-eval/backend/cpu/process/sample.h"
#include "mpi-eval/backend/cpu/process/tiles.h"

static int receive_setup(struct atoll_control_setup *setup, struct atoll_err *err)
{
    ssize_t got = recv(ATOLL_CONTROL_FD_SOCKET, setup, sizeof(*setup), 0);
    if (got != (ssize_t)sizeof(*setup) || setup->type != ATOLL_CONTROL_SETUP ||
        setup->version != ATOLL_CONTROL_VERSION)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "atoll-worker is of another version than its caller");
    if (setup->thread_count < 1 || setup->thread_count > ATOLL_CONTROL_THREAD_LIMIT ||
        setup->symbol_count > ATOLL_CONTROL_SYMBOL_LIMIT)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "atoll-worker: setup out of range");
    for (uint32_t i = 0; i < setup->symbol_count; i++)
        setup->symbols[i][ATOLL_CONTROL_SYMBOL_BYTES - 1] = '\0';
    return 0;
}

/* When memory runs out, the kernel should take this process and not the referee's. */
static void offer_to_oom_killer(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t ignored = write(fd, "1000", 4);
    (void)ignored;
    close(fd);
}

static int enter_sandbox(struct atoll_err *err)
{
    static const struct atoll_limit limits[] = {{RLIMIT_CORE, 0},
                                                {RLIMIT_FSIZE, 0},
                                                {RLIMIT_NOFILE, 256},
                                                {RLIMIT_MSGQUEUE, 0},
                                                {RLIMIT_STACK, 8u << 20}};
    int ruleset = -1;
    int error = atoll_limits_apply(limits, sizeof(limits) / sizeof(limits[0]));
    if (!error)
        error = atoll_privileges_drop();
    if (error)
        return atoll_err_errno(err, error, "atoll-worker cannot drop privileges");
    if (atoll_landlock_create(NULL, 0, &ruleset, err) != 0)
        return -1;
    error = atoll_landlock_apply(ruleset);
    if (ruleset >= 0)
        close(ruleset);
    return error ? atoll_err_errno(err, error, "atoll-worker cannot apply Landlock") : 0;
}

static int check_object(struct atoll_zygote *zygote, struct atoll_err *err)
{
    const struct atoll_control_setup *setup = &zygote->setup;
    struct stat st;
    if (fstat(ATOLL_CONTROL_FD_OBJECT, &st) != 0 || st.st_size <= 0)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "atoll-worker got no object");
    size_t length = (size_t)st.st_size;
    void *image = mmap(NULL, length, PROT_READ, MAP_PRIVATE, ATOLL_CONTROL_FD_OBJECT, 0);
    if (image == MAP_FAILED)
        return atoll_err_errno(err, errno, "atoll-worker cannot map the object");
    const char *names[ATOLL_CONTROL_SYMBOL_LIMIT];
    for (uint32_t i = 0; i < setup->symbol_count; i++)
        names[i] = setup->symbols[i];
    int status =
        atoll_object_check(image, length, (int)setup->allow_mutable_globals, names, setup->symbol_count, err);
    zygote->calls = status == 0 ? atoll_object_calls(image, length) : 0;
    munmap(image, length);
    return status;
}

static int data_make_readonly(struct dl_phdr_info *info)
{
    const uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = (info->dlpi_addr + p->p_vaddr) & ~mask;
        uintptr_t end = (info->dlpi_addr + p->p_vaddr + p->p_memsz + mask) & ~mask;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_W) &&
            mprotect((void *)begin, end - begin, PROT_READ) != 0)
            return -1;
    }
    return 0;
}

static void ranges_record(struct atoll_zygote *zygote, struct dl_phdr_info *info, int is_object)
{
    const uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    for (int i = 0; i < info->dlpi_phnum && zygote->range_count < ATOLL_ZYGOTE_RANGE_LIMIT; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD)
            continue;
        uintptr_t begin = (info->dlpi_addr + p->p_vaddr) & ~mask;
        uintptr_t end = (info->dlpi_addr + p->p_vaddr + p->p_memsz + mask) & ~mask;
        zygote->ranges[zygote->range_count++] =
            (struct atoll_zygote_range){(char *)begin, end - begin, is_object};
    }
}

struct visit {
    struct atoll_zygote *zygote;
    uintptr_t base;
    int status; /* of the object's own visit; 1 until then */
};

/* A child maps pages of what its object calls and of nothing else: some 500 pages of two libraries, mapped and unmapped, would
 * take longer than many a sample. */
static int is_called(const struct atoll_zygote *zygote, const char *library)
{
    if (strncmp(library, "libmvec.", 8) == 0)
        return (zygote->calls & ATOLL_OBJECT_CALLS_LIBMVEC) != 0;
    return strncmp(library, "libm.", 5) == 0 && (zygote->calls & ATOLL_OBJECT_CALLS_LIBM);
}

/* Whatever the headers said, an object without mutable globals gets no writable page. */
static int visit_library(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct visit *visit = argument;
    (void)size;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (info->dlpi_addr == visit->base) {
        ranges_record(visit->zygote, info, 1);
        visit->status = visit->zygote->setup.allow_mutable_globals ? 0 : data_make_readonly(info);
    } else if (slash && is_called(visit->zygote, slash + 1)) {
        ranges_record(visit->zygote, info, 0);
    }
    return 0;
}

static int load_object(struct atoll_zygote *zygote, struct atoll_err *err)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", ATOLL_CONTROL_FD_OBJECT);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return atoll_err_set(err, ATOLL_E_INPUT, "the object does not load: %s", dlerror());
    struct link_map *map = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "dlinfo: %s", dlerror());
    struct visit visit = {zygote, map->l_addr, 1};
    for (uint32_t i = 0; i < zygote->setup.symbol_count; i++) {
        Dl_info where;
        void *symbol = dlsym(handle, zygote->setup.symbols[i]);
        if (!symbol || !dladdr(symbol, &where) || (uintptr_t)where.dli_fbase != map->l_addr)
            return atoll_err_set(err, ATOLL_E_INPUT, "function %s is not in the object",
                                 zygote->setup.symbols[i]);
        zygote->symbols[i] = symbol;
    }
    dl_iterate_phdr(visit_library, &visit);
    return visit.status == 0
               ? 0
               : atoll_err_set(err, ATOLL_E_INTERNAL, "cannot make the object's data read-only");
}

/* Children are forked where candidates run, so that the referee's core is free for inputs meanwhile. */
static void move_to_cores(const struct atoll_control_setup *setup)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (uint32_t i = 0; i < setup->thread_count; i++)
        if (setup->cores[i] >= 0 && setup->cores[i] < CPU_SETSIZE)
            CPU_SET((size_t)setup->cores[i], &cores);
    if (CPU_COUNT(&cores) > 0)
        sched_setaffinity(0, sizeof(cores), &cores);
}

/* From here on time is the candidate's: of the processor, which others cannot take from it. */
static int begin_loading(const struct atoll_control_setup *setup, struct atoll_err *err)
{
    const struct atoll_control_reply loading = {.type = ATOLL_CONTROL_LOADING};
    const struct itimerval limit = {.it_value = {.tv_sec = setup->load_cpu_ns / 1000000000,
                                                 .tv_usec = setup->load_cpu_ns % 1000000000 / 1000}};
    if (atoll_control_send(&loading) != 0 || setitimer(ITIMER_PROF, &limit, NULL) != 0)
        return atoll_err_errno(err, errno, "atoll-worker cannot limit the time of a load");
    return 0;
}

int atoll_zygote_load(struct atoll_zygote *zygote, struct atoll_err *err)
{
    zygote->pid = getpid();
    zygote->flush = atoll_flush_known();
    zygote->page =
        mmap(NULL, ATOLL_CONTROL_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ATOLL_CONTROL_FD_PAGE, 0);
    if (zygote->page == MAP_FAILED)
        return atoll_err_errno(err, errno, "atoll-worker cannot map its control page");
    close(ATOLL_CONTROL_FD_PAGE);
    if (receive_setup(&zygote->setup, err) != 0)
        return -1;
    move_to_cores(&zygote->setup);
    offer_to_oom_killer();
    zygote->has_tiles = atoll_tiles_permit(); /* its children, too; they cannot ask */
    /* What an object may need is loaded while files can still be opened. */
    dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
    dlopen("libmvec.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (atoll_filter_init(&zygote->own_filter, ATOLL_FILTER_ZYGOTE, err) != 0 ||
        atoll_filter_init(&zygote->sample_filter,
                          zygote->setup.spin ? ATOLL_FILTER_SAMPLE_SPIN : ATOLL_FILTER_SAMPLE, err) != 0 ||
        enter_sandbox(err) != 0 || check_object(zygote, err) != 0 ||
        begin_loading(&zygote->setup, err) != 0 || load_object(zygote, err) != 0)
        return -1;
    setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
    close(ATOLL_CONTROL_FD_OBJECT);
    int error = atoll_filter_apply(&zygote->own_filter, 0);
    return error ? atoll_err_errno(err, error, "atoll-worker cannot apply its seccomp filter") : 0;
}

static void await_end(const struct atoll_zygote *zygote, pid_t pid, struct atoll_control_reply *reply)
{
    siginfo_t info;
    struct rusage usage = {.ru_nivcsw = -1};
    long status;
    do /* the library's waitid hides the fifth argument */
        status = syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOWAIT, &usage);
    while (status != 0 && errno == EINTR);
    memset(reply, 0, sizeof(*reply));
    reply->type = ATOLL_CONTROL_ENDED;
    reply->pid = pid;
    reply->end_code = info.si_code;
    reply->end_status = info.si_status;
    reply->switches = usage.ru_nivcsw;
    reply->cpu_ns = usage.ru_nivcsw < 0 ? -1 : atoll_cpu_time_ns(&usage);
    reply->ended_ns = atoll_clock_read_ns(CLOCK_MONOTONIC_RAW);
    if (zygote->setup.spin)
        atoll_probe_core();
    reply->probe_ns = atoll_clock_read_ns(CLOCK_MONOTONIC_RAW) - reply->ended_ns;
    memcpy(reply->text, zygote->page->trouble, sizeof(zygote->page->trouble));
}

/* One child: set up, given a run, and dead; samples must not write to each other.  -1: it is the last. */
static int serve_child(const struct atoll_zygote *zygote, pid_t *ret_pid)
{
    struct atoll_control_reply reply;
    memset(zygote->page, 0, ATOLL_CONTROL_PAGE_BYTES);
    pid_t pid = fork();
    if (pid == 0)
        atoll_sample_run(zygote);
    if (pid < 0)
        return -1;
    setpgid(pid, pid); /* the child does it too: whoever is first */
    *ret_pid = pid;
    await_end(zygote, pid, &reply);
    return atoll_control_send(&reply);
}

int atoll_zygote_serve(const struct atoll_zygote *zygote)
{
    for (pid_t zombie = 0, dead = 0; serve_child(zygote, &dead) == 0; zombie = dead)
        if (zombie)
            waitpid(zombie, NULL, 0);
    return 0; /* the referee has hung up, or a child could not be forked, which it sees */
}
