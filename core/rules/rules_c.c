/* rules_c.c - the rules of language "c". */
#include <string.h>

#include "core/rules/rules_row.h"

static int include_forbidden(const struct atoll_rule_site *s)
{
    static const char *const headers[] = {"stddef.h", "stdint.h", "stdbool.h",  "math.h",      "float.h",
                                          "limits.h", "string.h", "stdalign.h", "immintrin.h", "arm_neon.h"};
    return atoll_rule_is_directive(s) && atoll_rule_is(s, 0, "include") &&
           !atoll_rule_includes(s, headers, ATOLL_RULE_COUNT(headers), NULL, 0);
}

static int pragma_forbidden(const struct atoll_rule_site *s)
{
    static const char *const known[][2] = {
        {"GCC", "ivdep"}, {"GCC", "unroll"}, {"omp", "simd"}, {"clang", "loop"}};
    if (!atoll_rule_is_directive(s) || !atoll_rule_is(s, 0, "pragma"))
        return 0;
    for (size_t i = 0; i < ATOLL_RULE_COUNT(known); i++) {
        if (atoll_rule_is(s, 1, known[i][0]) && atoll_rule_is(s, 2, known[i][1]) &&
            !atoll_rule_token(s, 1)->first && !atoll_rule_token(s, 2)->first) {
            return 0;
        }
    }
    return !(atoll_rule_is(s, 1, "STDC") && !atoll_rule_token(s, 1)->first);
}

static int assembly(const struct atoll_rule_site *s)
{
    static const char names[] = " asm __asm __asm__ _asm ";
    return atoll_rule_is_name(s) && atoll_rule_any(atoll_rule_token(s, 0), names);
}

static int bracket_attribute(const struct atoll_rule_site *s)
{
    return (atoll_rule_is(s, 0, "[") && atoll_rule_is(s, 1, "[")) || atoll_rule_is(s, 0, "__declspec");
}

/* ---- names of the outside ---- */

static int system_name(const struct atoll_rule_site *s)
{
    static const char names[] =
        " syscall fork vfork clone3 execl execle execlp execv execve execvp execvpe fexecve "
        "posix_spawn posix_spawnp popen pclose waitpid waitid killpg tgkill _exit _Exit quick_exit "
        "atexit at_quick_exit on_exit getpid getppid gettid getuid geteuid setuid setgid setsid "
        "ptrace prctl arch_prctl personality unshare setns setpriority getrusage setrlimit "
        "getrlimit sched_yield sched_setaffinity sched_getaffinity sched_getcpu getcpu sysconf "
        "getauxval uname gethostname ";
    return atoll_rule_is_name(s) && atoll_rule_any(atoll_rule_token(s, 0), names);
}

static int file_name(const struct atoll_rule_site *s)
{
    static const char names[] =
        " open64 openat openat2 creat pread pwrite readv writev lseek dup2 dup3 pipe2 fcntl ioctl "
        "pselect ppoll epoll_create epoll_wait fstat lstat unlink unlinkat mkdir rmdir chdir "
        "chroot umount symlink readlink ftruncate opendir readdir fopen fdopen freopen fclose "
        "fread fwrite fgets fputs fputc fgetc getc putc getchar putchar gets puts printf fprintf "
        "dprintf vprintf vfprintf scanf fscanf perror fflush setvbuf tmpfile tmpnam mkstemp stdin "
        "stdout stderr FILE io_uring_setup sendfile memfd_create ";
    return atoll_rule_is_name(s) && atoll_rule_any(atoll_rule_token(s, 0), names);
}

static int network_name(const struct atoll_rule_site *s)
{
    static const char names[] =
        " socket socketpair accept4 sendto sendmsg recvfrom recvmsg setsockopt getsockopt "
        "getaddrinfo gethostbyname inet_pton ";
    return atoll_rule_is_name(s) && atoll_rule_any(atoll_rule_token(s, 0), names);
}

static int thread_name(const struct atoll_rule_site *s)
{
    static const char names[] =
        " thrd_create thrd_join mtx_lock mtx_unlock cnd_wait sem_wait sem_post sem_open futex "
        "longjmp siglongjmp setjmp _setjmp sigsetjmp __sigsetjmp sigaction sigaltstack sigprocmask "
        "makecontext swapcontext setcontext getcontext ";
    static const char prefixes[] = " pthread_ omp_ GOMP_ __kmpc_ ";
    return atoll_rule_is_name(s) && (atoll_rule_any(atoll_rule_token(s, 0), names) ||
                                     atoll_rule_starts(atoll_rule_token(s, 0), prefixes));
}

static int clock_name(const struct atoll_rule_site *s)
{
    static const char names[] =
        " clock_gettime clock_getres clock_nanosleep gettimeofday timespec_get nanosleep usleep "
        "setitimer timer_create timerfd_create ftime _rdtsc __rdtsc __rdtscp _rdpmc __rdpmc "
        "_xbegin _xend _xtest _mm_monitor _mm_mwait _umwait _umonitor _tpause perf_event_open "
        "srandom srand rand_r getrandom getentropy drand48 arc4random _rdrand16_step "
        "_rdrand32_step _rdrand64_step _rdseed16_step _rdseed32_step _rdseed64_step ";
    return atoll_rule_is_name(s) && atoll_rule_any(atoll_rule_token(s, 0), names);
}

static int memory_name(const struct atoll_rule_site *s)
{
    static const char names[] =
        " malloc calloc realloc reallocarray cfree aligned_alloc posix_memalign memalign valloc "
        "pvalloc alloca strdup strndup asprintf mmap mmap64 munmap mremap mprotect pkey_mprotect "
        "madvise msync mlock munlock mincore brk sbrk shmget shmat shm_open process_vm_readv "
        "process_vm_writev userfaultfd _mm_malloc _mm_free ";
    return atoll_rule_is_name(s) && atoll_rule_any(atoll_rule_token(s, 0), names);
}

static int loader_name(const struct atoll_rule_site *s)
{
    static const char names[] =
        " dlopen dlmopen dlsym dlvsym dladdr dlclose dl_iterate_phdr environ __environ _environ "
        "getenv secure_getenv setenv putenv unsetenv _init _fini _start _DYNAMIC __errno_location "
        "backtrace __cxa_atexit __cxa_finalize _r_debug ";
    static const char prefixes[] =
        " __libc_ _dl_ __dl _IO_ _GLOBAL_OFFSET __ehdr_start _readfsbase _writefsbase _readgsbase "
        "_writegsbase __get_cpu __cpuid _xgetbv _xsetbv ";
    return atoll_rule_is_name(s) && (atoll_rule_any(atoll_rule_token(s, 0), names) ||
                                     atoll_rule_starts(atoll_rule_token(s, 0), prefixes));
}

/* Names that are ordinary words as well: forbidden as functions only. */
static int outside_call(const struct atoll_rule_site *s)
{
    static const char names[] =
        " time clock times read write open close signal select send link wait exit free bind access "
        "accept connect shutdown poll random rand alarm stat remove rename splice truncate listen "
        "raise kill pipe nice sleep clone abort mount dup recv system ";
    return atoll_rule_is_name(s) && atoll_rule_is(s, 1, "(") && atoll_rule_any(atoll_rule_token(s, 0), names);
}

const struct atoll_rule atoll_rules_c[] = {
    {"odd-byte",
     "outside of comments and texts only plain C characters are allowed: no backslash names, '$', '@' or "
     "open quote",
     atoll_rule_odd_byte, 0, NULL},
    {"digraph", "digraphs hide what is compiled; write the plain sign", atoll_rule_digraph, 0, NULL},
    {"pasting", "## makes names that no reader sees; write the name", atoll_rule_pasting, 0, NULL},
    {"raw-string", "raw strings are not C; write an ordinary text", atoll_rule_raw_string, 0, NULL},
    {"directive",
     "only define, undef, if, ifdef, ifndef, elif, else, endif, include, pragma, error and warning are "
     "allowed",
     atoll_rule_directive_known, 0, NULL},
    {"include",
     "only <stddef.h> <stdint.h> <stdbool.h> <math.h> <float.h> <limits.h> <string.h> <stdalign.h> "
     "<immintrin.h> "
     "<arm_neon.h> may be included, by name",
     include_forbidden, 0, NULL},
    {"pragma", "only GCC ivdep, GCC unroll, omp simd, clang loop and STDC pragmas are allowed",
     pragma_forbidden, 0, NULL},
    {"probe", "a candidate may not look for files", atoll_rule_probes_files, 1, NULL},
    {"stamp", "date, time and file macros make equal sources differ", atoll_rule_build_stamp, 1, NULL},
    {"pragma-operator", "_Pragma is not allowed; write #pragma on a line of its own",
     atoll_rule_pragma_operator, 1, NULL},
    {"assembly", "inline assembly is not allowed; use intrinsics of <immintrin.h> or <arm_neon.h>", assembly,
     1, NULL},
    {"attribute",
     "this attribute is not allowed: none that places, aliases, exports or runs code outside of a call",
     atoll_rule_attribute_forbidden, 0, NULL},
    {"bracket-attribute", "write attributes as __attribute__((...))", bracket_attribute, 0, NULL},
    {"label-address", "addresses of labels and computed goto are not allowed", atoll_rule_label_address, 0,
     NULL},
    {"builtin", "this __builtin_ function is not on the list of pure ones", atoll_rule_builtin_forbidden, 1,
     NULL},
    {"system", "functions of processes, signals and the system are not allowed", system_name, 1, NULL},
    {"file", "functions of files and terminals are not allowed", file_name, 1, NULL},
    {"network", "functions of sockets are not allowed", network_name, 1, NULL},
    {"thread", "threads belong to the harness: it calls the function on all of them", thread_name, 1, NULL},
    {"clock", "clocks, sleeping and random numbers are not allowed", clock_name, 1, NULL},
    {"memory", "memory comes from the plan's scratch, not from an allocator or a mapping", memory_name, 1,
     NULL},
    {"loader", "symbols of the loader, the environment and the C library's inside are not allowed",
     loader_name, 1, NULL},
    {"call", "functions of the operating system are not allowed; rename a function of your own", outside_call,
     0, NULL},
    {"harness", "names that start with atoll_ belong to the harness", atoll_rule_harness_name, 1, NULL},
};

const size_t atoll_rules_c_count = ATOLL_RULE_COUNT(atoll_rules_c);
