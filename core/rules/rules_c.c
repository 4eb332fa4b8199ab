/* rules_c.c - the rules of language "c". */
#include "core/rules/rules_row.h"

#include <string.h>

#define HEADERS                                                                                              \
    "stddef.h stdint.h inttypes.h stdbool.h stdalign.h math.h complex.h float.h limits.h string.h stdlib.h " \
    "assert.h immintrin.h x86intrin.h xmmintrin.h emmintrin.h pmmintrin.h tmmintrin.h smmintrin.h "          \
    "nmmintrin.h arm_neon.h arm_sve.h"
const char atoll_rules_c_headers[] = " " HEADERS " ";
#define STANDARD_ATTRIBUTES "maybe_unused nodiscard deprecated fallthrough noreturn likely unlikely"

/* What "#if 0" leaves out may hold an apostrophe. */
static int odd_byte(const struct atoll_rule_site *s)
{
    return atoll_rule_odd_byte(s) && !atoll_rule_token(s, 0)->dead;
}

static int include_forbidden(const struct atoll_rule_site *s)
{
    return atoll_rule_is_directive(s) && atoll_rule_is(s, 0, "include") &&
           !atoll_rule_includes(s, atoll_rules_c_headers, NULL, 0);
}

static int pragma_forbidden(const struct atoll_rule_site *s)
{
    static const struct {
        const char *owner, *names;
    } known[] = {{"GCC", " ivdep unroll optimize target push_options pop_options reset_options diagnostic "},
                 {"omp", " simd declare "},
                 {"clang", " loop fp diagnostic "}};
    if (!atoll_rule_is_directive(s) || !atoll_rule_is(s, 0, "pragma"))
        return 0;
    if (atoll_rule_token(s, 1)->first)
        return 1;
    for (size_t i = 0; i < ATOLL_RULE_COUNT(known); i++) {
        if (atoll_rule_is(s, 1, known[i].owner) && !atoll_rule_token(s, 2)->first &&
            atoll_rule_any(atoll_rule_token(s, 2), known[i].names)) {
            return atoll_rule_is(s, 2, "declare") &&
                   (!atoll_rule_is(s, 3, "simd") || atoll_rule_token(s, 3)->first);
        }
    }
    return !atoll_rule_is(s, 1, "STDC");
}

static int brackets_forbidden(const struct atoll_rule_site *s)
{
    return atoll_rule_brackets_forbidden(s, " " STANDARD_ATTRIBUTES " ");
}

/* ---- gcc's intrinsics of AMX tiles are macros over inline assembly ---- */

#define ASSEMBLY_BYTES 128

/* The texts behind the bracket, joined, quotes left out; at: the first token after them.  0: there is none, or more than any intrinsic has. */
static size_t join_texts(const struct atoll_rule_site *s, size_t *at, char ret_text[ASSEMBLY_BYTES])
{
    size_t used = 0;
    for (; atoll_rule_token(s, *at)->kind == ATOLL_TOKEN_STRING; ++*at) {
        const struct atoll_token *t = atoll_rule_token(s, *at);
        if (t->length < 2 || t->text[0] != '"' || used + t->length - 2 >= ASSEMBLY_BYTES)
            return 0;
        memcpy(ret_text + used, t->text + 1, t->length - 2);
        used += t->length - 2;
    }
    ret_text[used] = '\0';
    return used;
}

/* known: with # where the number of a tile stands. */
static int is_of_tiles(const char *text, const char *known)
{
    for (; *known; known++, text++)
        if (*known == '#' ? *text < '0' || *text > '7' : *text != *known)
            return 0;
    return *text == '\0';
}

/* What <immintrin.h> of gcc 11 and later makes of _tile_loadd and its kin, word for word, on registers that the compiler chose and no
 * result but in memory. */
static int is_tile_intrinsic(const struct atoll_rule_site *s)
{
#define PRODUCT(name) "{" name "\\t%%tmm#, %%tmm#, %%tmm#|" name "\\t%%tmm#, %%tmm#, %%tmm#}"
    static const char *const known[] = {"{tileloadd\\t(%0,%1,1), %%tmm#|tileloadd\\t%%tmm#, [%0+%1*1]}",
                                        "{tileloaddt1\\t(%0,%1,1), %%tmm#|tileloaddt1\\t%%tmm#, [%0+%1*1]}",
                                        "{tilestored\\t%%tmm#, (%0,%1,1)|tilestored\\t[%0+%1*1], %%tmm#}",
                                        "tilezero\\t%%tmm#",
                                        PRODUCT("tdpbf16ps"),
                                        PRODUCT("tdpfp16ps"),
                                        PRODUCT("tdpbssd"),
                                        PRODUCT("tdpbsud"),
                                        PRODUCT("tdpbusd"),
                                        PRODUCT("tdpbuud")};
    char text[ASSEMBLY_BYTES];
    size_t at = 3, depth = 1;
    int is_known = 0;
    if (!atoll_rule_is(s, 0, "__asm__") || !atoll_rule_is(s, 1, "volatile") || !atoll_rule_is(s, 2, "(") ||
        join_texts(s, &at, text) == 0)
        return 0;
    for (size_t i = 0; i < ATOLL_RULE_COUNT(known); i++)
        is_known |= is_of_tiles(text, known[i]);
    for (; is_known && depth > 0 && s->at + at < s->count; at++) {
        depth += (size_t)atoll_rule_is(s, at, "(");
        depth -= (size_t)atoll_rule_is(s, at, ")");
        if (atoll_rule_token(s, at)->kind == ATOLL_TOKEN_STRING && !atoll_rule_is(s, at, "\"r\"") &&
            !atoll_rule_is(s, at, "\"memory\""))
            return 0;
    }
    return is_known && depth == 0;
}

static int assembly_forbidden(const struct atoll_rule_site *s)
{
    return atoll_rule_any(atoll_rule_token(s, 0), " asm __asm __asm__ _asm ") && !is_tile_intrinsic(s);
}

const struct atoll_rule atoll_rules_c[] = {
    ATOLL_RULES_OF_TEXTS,
    {"odd-byte",
     "outside of comments, texts and #if 0 only letters, digits and marks of C are allowed: no backslash "
     "names, "
     "'$', '@' or open quote",
     .broken = odd_byte},
    {"include", "only these may be included, by name in <>: " HEADERS, .broken = include_forbidden,
     .of_text = 1},
    {"pragma",
     "only these pragmas are allowed: GCC ivdep, unroll, optimize, target, push_options, pop_options, "
     "reset_options, diagnostic; omp simd, declare simd; clang loop, fp, diagnostic; STDC",
     .broken = pragma_forbidden},
    {"probe", "a candidate may not look for files", .names = ATOLL_RULE_PROBES},
    {"stamp", "date, time and file macros make equal sources differ", .names = ATOLL_RULE_STAMPS},
    {"pragma-operator", "_Pragma is not allowed; write #pragma on a line of its own",
     .names = ATOLL_RULE_OPERATORS},
    {"assembly", "inline assembly is not allowed; use intrinsics of <immintrin.h> or <arm_neon.h>",
     .broken = assembly_forbidden},
    {"attribute",
     "this attribute is not allowed: none that places, aliases, exports or runs code outside of a call",
     .broken = atoll_rule_attribute_forbidden},
    {"bracket-attribute",
     "[[...]] may hold the words that __attribute__((...)) may, with or without gnu::, "
     "and " STANDARD_ATTRIBUTES,
     .names = " __declspec ", .broken = brackets_forbidden},
    {"builtin",
     "this __builtin_ function is not on the list of pure ones; of the processor's (__builtin_ia32_) no "
     "clocks, "
     "random numbers, cache flushes, waits or transactions",
     .broken = atoll_rule_builtin_forbidden},
    {"system", "functions of processes, signals and the system are not allowed",
     .names =
         " syscall fork vfork clone3 execl execle execlp execv execve execvp execvpe fexecve "
         "posix_spawn posix_spawnp popen pclose waitpid waitid killpg tgkill _exit _Exit quick_exit "
         "atexit at_quick_exit on_exit getpid getppid gettid getuid geteuid setuid setgid setsid "
         "ptrace prctl arch_prctl personality unshare setns setpriority getrusage setrlimit "
         "getrlimit sched_yield sched_setaffinity sched_getaffinity sched_getcpu getcpu sysconf "
         "getauxval uname gethostname __readeflags __writeeflags _rdpid_u32 _rdpru_u32 _rdpkru_u32 _wrpkru "
         "_get_ssp _wbinvd _wbnoinvd _pconfig_u32 _enclu_u32 _enclv_u32 _encls_u32 _serialize _xsusldtrk "
         "_xresldtrk _hreset _clui _stui _testui _senduipi _enqcmd _enqcmds __monitor __mwait "
         "__llwpcb __slwpcb ",
     /* words of the processor that belong to the system */
     .prefixes =
         " _xsave _xrstor _fxsave _fxrstor _rdssp _incssp _inc_ssp _saveprevssp _rstorssp _wrss _wruss "
         "_setssbsy _clrssbsy __lwp _ptwrite _loadiwkey "},
    {"file", "functions of files and terminals are not allowed",
     .names = " open64 openat openat2 creat pread pwrite readv writev lseek dup2 dup3 pipe2 fcntl ioctl "
              "pselect ppoll epoll_create epoll_wait fstat lstat unlink unlinkat mkdir rmdir chdir "
              "chroot umount symlink readlink ftruncate opendir readdir fopen fdopen freopen fclose "
              "fread fwrite fgets fputs fputc fgetc getc putc getchar putchar gets puts printf fprintf "
              "dprintf vprintf vfprintf scanf fscanf perror fflush setvbuf tmpfile tmpnam mkstemp stdin "
              "stdout stderr FILE io_uring_setup sendfile memfd_create "},
    {"network", "functions of sockets are not allowed",
     .names = " socket socketpair accept4 sendto sendmsg recvfrom recvmsg setsockopt getsockopt "
              "getaddrinfo gethostbyname inet_pton "},
    {"thread", "threads belong to the harness: it calls the function on all of them",
     .names = " thrd_create thrd_join mtx_lock mtx_unlock cnd_wait sem_wait sem_post sem_open futex "
              "longjmp siglongjmp setjmp _setjmp sigsetjmp __sigsetjmp sigaction sigaltstack sigprocmask "
              "makecontext swapcontext setcontext getcontext ",
     .prefixes = " pthread_ omp_ GOMP_ __kmpc_ "},
    {"clock", "clocks, sleeping, random numbers, cache flushes and transactions are not allowed",
     .names = " clock_gettime clock_getres clock_nanosleep gettimeofday timespec_get nanosleep usleep "
              "setitimer timer_create timerfd_create ftime _rdtsc __rdtsc __rdtscp _rdpmc __rdpmc "
              "_xbegin _xend _xtest _mm_monitor _mm_mwait _umwait _umonitor _tpause perf_event_open "
              "srandom srand rand_r getrandom getentropy drand48 arc4random _rdrand16_step "
              "_rdrand32_step _rdrand64_step _rdseed16_step _rdseed32_step _rdseed64_step "
              "_mm_clflush _mm_clflushopt _mm_clwb _mm_cldemote _cldemote _mm_monitorx _mm_mwaitx "
              "_xabort lrand48 mrand48 "},
    {"memory", "memory comes from the plan's scratch, not from an allocator or a mapping",
     .names = " malloc calloc realloc reallocarray cfree aligned_alloc posix_memalign memalign valloc "
              "pvalloc strdup strndup asprintf mmap mmap64 munmap mremap mprotect pkey_mprotect "
              "madvise msync mlock munlock mincore brk sbrk shmget shmat shm_open process_vm_readv "
              "process_vm_writev userfaultfd _mm_malloc _mm_free "},
    {"loader", "symbols of the loader, the environment and the C library's inside are not allowed",
     .names = " dlopen dlmopen dlsym dlvsym dladdr dlclose dl_iterate_phdr environ __environ _environ "
              "getenv secure_getenv setenv putenv unsetenv _init _fini _start _DYNAMIC __errno_location "
              "backtrace __cxa_atexit __cxa_finalize _r_debug ",
     .prefixes = " __libc_ _dl_ __dl _IO_ _GLOBAL_OFFSET __ehdr_start _readfsbase _writefsbase _readgsbase "
                 "_writegsbase __get_cpu __cpuid _xgetbv _xsetbv "},
    {"call", "functions of the operating system are not allowed; rename a function of your own",
     .calls = " time clock times read write open close signal select send link wait exit free bind access "
              "accept connect shutdown poll random rand alarm stat remove rename splice truncate listen "
              "raise kill pipe nice sleep clone abort mount dup recv system "},
    {"harness", "names that start with atoll_ belong to the harness", .prefixes = ATOLL_RULE_HARNESS},
};

const size_t atoll_rules_c_count = ATOLL_RULE_COUNT(atoll_rules_c);
