/* Filters are written with libseccomp and exported once as BPF, so that a forked child installs one with a
 * single system call.  Landlock is reached by system call: the library that would wrap it does not exist, and
 * the header of an older distribution lacks the newer fields. */
#include "mpi-eval/backend/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMESPACES                                                                                           \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |            \
     CLONE_NEWNET)

/* One row: a system call, optionally only where argument `arg` masked with `mask` equals `value`. */
struct rule {
    const char *call;
    int arg; /* -1: whatever the arguments */
    uint64_t mask, value;
    unsigned null_arg; /* > 0: this one must be 0 as well */
    int differs;       /* the argument must not be 0, whatever mask and value */
};
#define ANY(name)                                                                                            \
    {                                                                                                        \
        name, -1, 0, 0, 0, 0                                                                                 \
    }
#define MASKED(name, arg, mask, val)                                                                         \
    {                                                                                                        \
        name, arg, mask, val, 0, 0                                                                           \
    }
/* Of another process: it is told by its first argument, 0 is the caller. */
#define OF_OTHERS(name)                                                                                      \
    {                                                                                                        \
        name, 0, 0, 0, 0, 1                                                                                  \
    }

static const struct rule network_denied[] = {
    ANY("socket"),  ANY("socketpair"), ANY("connect"), ANY("bind"),     ANY("listen"),   ANY("accept"),
    ANY("accept4"), ANY("sendto"),     ANY("sendmsg"), ANY("sendmmsg"), ANY("recvmmsg"),
};

/* A device driver talks to itself over local sockets; it reaches nobody, and nobody beyond this machine. */
#define FAMILY(number) MASKED("socket", 0, UINT32_MAX, number)
static const struct rule device_denied[] = {
    FAMILY(AF_INET), FAMILY(AF_INET6),     FAMILY(AF_PACKET), FAMILY(AF_VSOCK),
    FAMILY(AF_ALG),  FAMILY(AF_BLUETOOTH), FAMILY(AF_CAN),    ANY("connect"),
    ANY("sendto"),   ANY("sendmsg"),       ANY("sendmmsg"),
};

static const struct rule common_denied[] = {
    ANY("ptrace"),
    ANY("process_vm_readv"),
    ANY("process_vm_writev"),
    ANY("kcmp"),
    ANY("pidfd_getfd"),
    ANY("mount"),
    ANY("umount2"),
    ANY("pivot_root"),
    ANY("chroot"),
    ANY("open_tree"),
    ANY("move_mount"),
    ANY("fsopen"),
    ANY("fsmount"),
    ANY("fsconfig"),
    ANY("fspick"),
    ANY("mount_setattr"),
    ANY("setns"),
    ANY("unshare"),
    MASKED("clone", 0, CLONE_NEWNS, CLONE_NEWNS),
    MASKED("clone", 0, CLONE_NEWUSER, CLONE_NEWUSER),
    MASKED("clone", 0, CLONE_NEWNET, CLONE_NEWNET),
    MASKED("clone", 0, CLONE_NEWPID, CLONE_NEWPID),
    ANY("bpf"),
    ANY("perf_event_open"),
    ANY("userfaultfd"),
    ANY("io_uring_setup"),
    ANY("io_uring_enter"),
    ANY("io_uring_register"),
    ANY("keyctl"),
    ANY("add_key"),
    ANY("request_key"),
    ANY("init_module"),
    ANY("finit_module"),
    ANY("delete_module"),
    ANY("kexec_load"),
    ANY("kexec_file_load"),
    ANY("reboot"),
    ANY("swapon"),
    ANY("swapoff"),
    ANY("acct"),
    ANY("quotactl"),
    ANY("syslog"),
    ANY("settimeofday"),
    ANY("clock_settime"),
    ANY("adjtimex"),
    ANY("clock_adjtime"),
    ANY("sethostname"),
    ANY("setdomainname"),
    ANY("iopl"),
    ANY("ioperm"),
    ANY("mknod"),
    ANY("mknodat"),
    ANY("setsid"),
    ANY("setpgid"),
    ANY("name_to_handle_at"),
    ANY("open_by_handle_at"),
    ANY("fanotify_init"),
    ANY("lookup_dcookie"),
    ANY("mq_open"),
    ANY("msgget"),
    ANY("semget"),
    ANY("shmget"),
};

/* clone3 passes its flags in memory, where no filter can look: it gets ENOSYS and glibc falls back to clone.
 */
static const struct rule zygote_allowed[] = {
    MASKED("clone", 0, NAMESPACES, 0),
    MASKED("mmap", 2, PROT_EXEC, 0),
    MASKED("mprotect", 2, PROT_EXEC, 0),
    ANY("munmap"),
    ANY("madvise"),
    ANY("brk"),
    ANY("futex"),
    ANY("exit"),
    ANY("exit_group"),
    ANY("waitid"),
    ANY("wait4"),
    ANY("setpgid"),
    ANY("recvmsg"),
    ANY("sendto"),
    ANY("close"),
    ANY("close_range"),
    ANY("sched_setaffinity"),
    ANY("sched_yield"),
    ANY("getrandom"),
    MASKED("getrusage", 0, UINT32_MAX, RUSAGE_THREAD),
    MASKED("getrusage", 0, UINT32_MAX, RUSAGE_SELF),
    ANY("clock_gettime"), /* where the kernel's page of it does not know the clock */
    ANY("getpid"),
    ANY("getppid"),
    ANY("gettid"),
    ANY("rt_sigaction"),
    ANY("rt_sigprocmask"),
    ANY("rt_sigreturn"),
    ANY("restart_syscall"),
    ANY("set_robust_list"),
    ANY("rseq"),
    ANY("set_tid_address"),
    MASKED("prctl", 0, UINT32_MAX, PR_SET_PDEATHSIG),
    ANY("seccomp"),
};

#define FUTEX_COMMAND (uint64_t)(uint32_t) ~FUTEX_PRIVATE_FLAG
#define USAGE_AND_EXIT                                                                                       \
    MASKED("getrusage", 0, UINT32_MAX, RUSAGE_THREAD), MASKED("getrusage", 0, UINT32_MAX, RUSAGE_SELF),      \
        ANY("exit"), ANY("exit_group"), ANY("restart_syscall")
/* Of threads that share their cores with the referee, which sleeps: nothing is discarded there. */
static const struct rule sample_allowed[] = {
    {"futex", 1, FUTEX_COMMAND, FUTEX_WAIT, 3, 0},
    MASKED("futex", 1, FUTEX_COMMAND, FUTEX_WAKE),
    USAGE_AND_EXIT,
};
/* No sleep: two threads that hand work to each other would look like cores that somebody else took. */
static const struct rule sample_spin_allowed[] = {USAGE_AND_EXIT};

/* Starts no process, signals none, and changes the limits and the scheduling of none. */
#define NOTHING_TO_OTHERS                                                                                    \
    ANY("execve"), ANY("execveat"), ANY("fork"), ANY("vfork"), MASKED("clone", 0, CLONE_THREAD, 0),          \
        ANY("kill"), ANY("tkill"), ANY("rt_sigqueueinfo"), ANY("rt_tgsigqueueinfo"), ANY("pidfd_open"),      \
        ANY("pidfd_send_signal"), OF_OTHERS("prlimit64"), /* limits of the evaluator, say */                 \
        OF_OTHERS("sched_setparam"),                                                                         \
        MASKED("fcntl", 1, UINT32_MAX, F_SETOWN), /* input would send a signal to whom it names */           \
        MASKED("fcntl", 1, UINT32_MAX, F_SETOWN_EX), MASKED("fcntl", 1, UINT32_MAX, F_SETSIG),               \
        MASKED("prctl", 0, UINT32_MAX, PR_SET_PDEATHSIG), ANY("setpriority"), ANY("sched_setscheduler"),     \
        ANY("sched_setattr"), ANY("ioprio_set")

/* Modes, owners, times and attributes of files are no matter to Landlock, wherever these lie. */
#define NOTHING_ABOUT_FILES                                                                                  \
    ANY("chmod"), ANY("fchmod"), ANY("fchmodat"), ANY("fchmodat2"), ANY("chown"), ANY("fchown"),             \
        ANY("lchown"), ANY("fchownat"), ANY("utime"), ANY("utimes"), ANY("futimesat"), ANY("utimensat"),     \
        ANY("setxattr"), ANY("lsetxattr"), ANY("fsetxattr"), ANY("removexattr"), ANY("lremovexattr"),        \
        ANY("fremovexattr")

static const struct rule alone_denied[] = {
    NOTHING_TO_OTHERS,
    NOTHING_ABOUT_FILES,
    OF_OTHERS("sched_setaffinity"),
    ANY("memfd_create"),
};

/* Python imports torch before this holds. */
static const struct rule module_denied[] = {NOTHING_TO_OTHERS, NOTHING_ABOUT_FILES};

#define ROWS(table) table, sizeof(table) / sizeof(table[0])
static const struct filter_table {
    const struct rule *rules;
    size_t count;
    uint32_t otherwise, action;
    const struct rule *more; /* denied besides; NULL */
    size_t more_count;
} filter_tables[ATOLL_FILTER_COUNT] = {
    [ATOLL_FILTER_COMPILE] = {ROWS(common_denied), SCMP_ACT_ALLOW, SCMP_ACT_ERRNO(EPERM),
                              ROWS(network_denied)},
    [ATOLL_FILTER_DEVICE] = {ROWS(common_denied), SCMP_ACT_ALLOW, SCMP_ACT_ERRNO(EPERM), ROWS(device_denied)},
    [ATOLL_FILTER_ZYGOTE] = {ROWS(zygote_allowed), SCMP_ACT_KILL_PROCESS, SCMP_ACT_ALLOW, NULL, 0},
    [ATOLL_FILTER_SAMPLE] = {ROWS(sample_allowed), SCMP_ACT_KILL_PROCESS, SCMP_ACT_ALLOW, NULL, 0},
    [ATOLL_FILTER_SAMPLE_SPIN] = {ROWS(sample_spin_allowed), SCMP_ACT_KILL_PROCESS, SCMP_ACT_ALLOW, NULL, 0},
    [ATOLL_FILTER_MODULE] = {ROWS(module_denied), SCMP_ACT_ALLOW, SCMP_ACT_ERRNO(EPERM), NULL, 0},
    [ATOLL_FILTER_ALONE] = {ROWS(alone_denied), SCMP_ACT_ALLOW, SCMP_ACT_ERRNO(EPERM), NULL, 0},
};

static int add_rule(scmp_filter_ctx context, uint32_t action, const struct rule *rule)
{
    int number = seccomp_syscall_resolve_name(rule->call);
    if (number < 0)
        return 0; /* this architecture or this library does not know the call */
    if (rule->arg < 0)
        return seccomp_rule_add(context, action, number, 0);
    struct scmp_arg_cmp other = {(unsigned)rule->arg, SCMP_CMP_NE, 0, 0};
    if (rule->differs)
        return seccomp_rule_add_array(context, action, number, 1, &other);
    struct scmp_arg_cmp cmp[] = {{(unsigned)rule->arg, SCMP_CMP_MASKED_EQ, rule->mask, rule->value},
                                 {rule->null_arg, SCMP_CMP_EQ, 0, 0}};
    return seccomp_rule_add_array(context, action, number, rule->null_arg ? 2 : 1, cmp);
}

/* seccomp_export_bpf writes into a descriptor only (libseccomp 2.5). */
static int export_code(scmp_filter_ctx context, struct atoll_filter *filter, struct atoll_err *err)
{
    int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0)
        return atoll_err_errno(err, errno, "cannot make a memory file for a seccomp filter");
    struct stat st;
    struct sock_filter *code = NULL;
    size_t bytes = 0;
    if (seccomp_export_bpf(context, fd) == 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        bytes = (size_t)st.st_size;
        code = malloc(bytes);
    }
    ssize_t got = code ? pread(fd, code, bytes, 0) : -1;
    close(fd);
    if (got != (ssize_t)bytes || bytes / sizeof(*code) > BPF_MAXINSNS) {
        free(code);
        return atoll_err_set(err, ATOLL_E_INTERNAL, "libseccomp did not export a filter");
    }
    filter->code = code;
    filter->length = (unsigned short)(bytes / sizeof(*code));
    return 0;
}

int atoll_filter_init(struct atoll_filter *filter, enum atoll_filter_kind kind, struct atoll_err *err)
{
    scmp_filter_ctx context = seccomp_init(filter_tables[kind].otherwise);
    if (!context)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a seccomp filter");
    const struct filter_table *table = &filter_tables[kind];
    int status = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (status == 0)
        status = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree instead of a list */
    for (size_t i = 0; i < table->count && status == 0; i++)
        status = add_rule(context, table->action, &table->rules[i]);
    for (size_t i = 0; i < table->more_count && status == 0; i++)
        status = add_rule(context, table->action, &table->more[i]);
    if (status == 0 && kind != ATOLL_FILTER_SAMPLE && kind != ATOLL_FILTER_SAMPLE_SPIN)
        status = seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    int result = status == 0
                     ? export_code(context, filter, err)
                     : atoll_err_errno(err, -status, "libseccomp refused a rule of filter %d", (int)kind);
    seccomp_release(context);
    return result;
}

void atoll_filter_fini(struct atoll_filter *filter)
{
    free(filter->code);
    filter->code = NULL;
    filter->length = 0;
}

size_t atoll_filter_bytes(const struct atoll_filter *filter)
{
    return filter->length * sizeof(*filter->code);
}

/* SPEC_ALLOW: before Linux 5.16 a filter switched speculative store bypass off, which slows the code that is
 * being timed. */
int atoll_filter_apply(const struct atoll_filter *filter, int all_threads)
{
    struct sock_fprog program = {filter->length, filter->code};
    unsigned long flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW | (all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0);
    long status = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (status > 0)
        return EAGAIN; /* a thread could not be synchronised */
    return status == 0 ? 0 : errno;
}

/* <linux/landlock.h> as of ABI 6. */
struct ruleset_attr {
    uint64_t handled_access_fs, handled_access_net, scoped;
};
struct path_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));
#define RULE_PATH_BENEATH 1
#define CREATE_VERSION    1u
#define FS_EXECUTE        (1u << 0)
#define FS_WRITE_FILE     (1u << 1)
#define FS_READ_FILE      (1u << 2)
#define FS_READ_DIR       (1u << 3)
#define FS_REMOVE_DIR     (1u << 4)
#define FS_REMOVE_FILE    (1u << 5)
#define FS_MAKE_DIR       (1u << 7)
#define FS_MAKE_REG       (1u << 8)
#define FS_MAKE_SYM       (1u << 12)
#define FS_REFER          (1u << 13)
#define FS_TRUNCATE       (1u << 14)
#define FS_IOCTL_DEV      (1u << 15)
#define FS_ALL_V1         ((1u << 13) - 1)

/* What each ABI added. */
static const struct ruleset_attr abi_rights[] = {
    {FS_ALL_V1, 0, 0}, {1u << 13, 0, 0}, {FS_TRUNCATE, 0, 0}, {0, 3, 0}, {FS_IOCTL_DEV, 0, 0}, {0, 0, 3},
};

int atoll_landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
    return version > 0 ? (int)version : 0;
}

static int add_path(int ruleset, const struct atoll_landlock_path *path, uint64_t handled)
{
    int fd = open(path->path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1;
    struct stat st;
    int status = fstat(fd, &st);
    uint64_t access = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR;
    if (path->writable == ATOLL_LANDLOCK_WRITE || path->writable == ATOLL_LANDLOCK_FOLDER)
        access |= FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG | FS_TRUNCATE;
    if (path->writable == ATOLL_LANDLOCK_FOLDER)
        access |= FS_REMOVE_DIR | FS_MAKE_DIR | FS_MAKE_SYM | FS_REFER;
    if (path->writable == ATOLL_LANDLOCK_DEVICES)
        access |= FS_WRITE_FILE | FS_IOCTL_DEV;
    if (status == 0 && !S_ISDIR(st.st_mode))
        access &= FS_EXECUTE | FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE;
    struct path_attr attr = {access & handled, fd};
    if (status == 0)
        status = (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0);
    int saved = errno;
    close(fd);
    errno = saved;
    return status;
}

int atoll_landlock_create(const struct atoll_landlock_path *paths, size_t path_count, int *ret_fd,
                          struct atoll_err *err)
{
    int version = atoll_landlock_version();
    if (version == 0) {
        *ret_fd = -1;
        return 0;
    }
    struct ruleset_attr attr = {0, 0, 0};
    for (int i = 0; i < version && i < (int)(sizeof(abi_rights) / sizeof(abi_rights[0])); i++) {
        attr.handled_access_fs |= abi_rights[i].handled_access_fs;
        attr.handled_access_net |= abi_rights[i].handled_access_net;
        attr.scoped |= abi_rights[i].scoped;
    }
    size_t bytes = version >= 6 ? sizeof(attr) : version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, bytes, 0);
    if (ruleset < 0)
        return atoll_err_errno(err, errno, "cannot create a Landlock ruleset");
    for (size_t i = 0; i < path_count; i++) {
        if (add_path(ruleset, &paths[i], attr.handled_access_fs) != 0) {
            int saved = errno;
            close(ruleset);
            return atoll_err_errno(err, saved, "cannot allow %s in a Landlock ruleset", paths[i].path);
        }
    }
    *ret_fd = ruleset;
    return 0;
}

int atoll_landlock_apply(int fd)
{
    if (fd < 0)
        return 0;
    return syscall(SYS_landlock_restrict_self, fd, 0) == 0 ? 0 : errno;
}

int atoll_privileges_drop(void)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return errno;
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    if (syscall(SYS_capset, &header, none) != 0)
        return errno;
    return 0;
}

int atoll_limits_apply(const struct atoll_limit *limits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct rlimit now;
        if (getrlimit((__rlimit_resource_t)limits[i].resource, &now) != 0)
            return errno;
        rlim_t value = limits[i].value < now.rlim_max ? limits[i].value : now.rlim_max;
        struct rlimit want = {value, value};
        if (setrlimit((__rlimit_resource_t)limits[i].resource, &want) != 0)
            return errno;
    }
    return 0;
}
