#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

/* A sanitizer's shadow takes more address space than any limit that would mean something. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__clang__)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

static int limit(int what, uint64_t most)
{
    struct rlimit now, own;
    if (getrlimit((__rlimit_resource_t)what, &now) != 0)
        return -1;
    own.rlim_max = now.rlim_max < most ? now.rlim_max : most;
    own.rlim_cur = own.rlim_max;
    return setrlimit((__rlimit_resource_t)what, &own);
}

#ifdef OWN_ARCH
#define ALLOW(call)                                                                                          \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Allowed where no bit of `bits` is set in the low half of an argument. */
#define ALLOW_WITHOUT(call, arg, bits)                                                                       \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4),                                                         \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[arg])),                        \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),      \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

static int filter(void)
{
    static const struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW_WITHOUT(SYS_openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND),
#ifdef SYS_open
        ALLOW_WITHOUT(SYS_open, 1, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND),
#endif
        ALLOW_WITHOUT(SYS_mmap, 2, PROT_EXEC),
        ALLOW_WITHOUT(SYS_mprotect, 2, PROT_EXEC),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mremap),
        ALLOW(SYS_madvise),
        ALLOW(SYS_brk),
        ALLOW(SYS_read),
        ALLOW(SYS_pread64),
        ALLOW(SYS_write),
        ALLOW(SYS_writev),
        ALLOW(SYS_lseek),
        ALLOW(SYS_close),
        ALLOW(SYS_fstat),
#ifdef SYS_stat
        ALLOW(SYS_stat),
        ALLOW(SYS_lstat),
        ALLOW(SYS_access),
        ALLOW(SYS_readlink),
#endif
        ALLOW(SYS_newfstatat),
        ALLOW(SYS_statx),
        ALLOW(SYS_faccessat),
        ALLOW(SYS_readlinkat),
        ALLOW(SYS_getcwd),
        ALLOW(SYS_flock),
        ALLOW(SYS_fcntl),
        ALLOW(SYS_futex),
        ALLOW(SYS_getpid),
        ALLOW(SYS_gettid),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_clock_gettime),
        ALLOW(SYS_gettimeofday),
        ALLOW(SYS_getrusage),
        ALLOW(SYS_sched_yield),
        ALLOW(SYS_rt_sigaction),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_restart_syscall),
#if IS_SANITIZED
        ALLOW(SYS_sigaltstack), /* at a thread's end */
#endif
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {sizeof(rows) / sizeof(*rows), (struct sock_filter *)(uintptr_t)rows};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0
               ? -1
               : 0;
}
#else
static int filter(void)
{
    return 0;
}
#endif

int atoll_confine_reader(uint64_t memory_bytes, unsigned cpu_seconds)
{
    return limit(RLIMIT_CORE, 0) != 0 || (!IS_SANITIZED && limit(RLIMIT_AS, memory_bytes) != 0) ||
                   limit(RLIMIT_CPU, cpu_seconds) != 0 || limit(RLIMIT_FSIZE, 0) != 0
               ? -1
               : filter();
}
