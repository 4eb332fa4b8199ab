/* rules.c - static rules over a candidate's source.  They keep honest errors cheap and their messages clear;
 * containment is the worker's.  A rule is one row: id, why, and a check of one token in its place.  What a
 * compiler might read in another way than the lexer (trigraphs, raw strings, pasted or escaped names) is
 * forbidden altogether, so that what these rows see is what is compiled. */
#include "core/rules.h"

#include <string.h>

#include "core/source_token.h"

struct site {
    const struct atoll_token *tokens;
    size_t count, at;
};

struct rule {
    const char *id, *why;
    int (*broken)(const struct site *s); /* 1 when the token at s->at breaks the rule */
    int by_name; /* 1: depends on the token's text alone, so once per name is enough */
};

#define COUNT(array)     (sizeof(array) / sizeof *(array))
#define MEMO_SLOTS       512
#define ATTRIBUTE_TOKENS 256 /* of one attribute list; longer ones are refused */

static const struct atoll_token *token_at(const struct site *s, size_t offset)
{
    static const struct atoll_token none = {ATOLL_TOKEN_ODD, "", 0, 0, 0, 1};
    return s->at + offset < s->count ? &s->tokens[s->at + offset] : &none;
}

static int is(const struct site *s, size_t offset, const char *text)
{
    return atoll_token_is(token_at(s, offset), text);
}

/* words: one text, a blank before and after each word. */
static int is_any(const struct atoll_token *t, const char *words)
{
    for (const char *w = words + 1; *w; w++) {
        if (*w == *t->text && strncmp(w, t->text, t->length) == 0 && w[t->length] == ' ')
            return 1;
        while (*w != ' ')
            w++;
    }
    return 0;
}

static int starts_any(const struct atoll_token *t, const char *prefixes)
{
    for (const char *w = prefixes + 1; *w; w += strcspn(w, " ") + 1)
        if (strcspn(w, " ") <= t->length && memcmp(w, t->text, strcspn(w, " ")) == 0)
            return 1;
    return 0;
}

static int is_name(const struct site *s)
{
    return token_at(s, 0)->kind == ATOLL_TOKEN_NAME;
}

/* The name of a directive stands right after the '#' that opens its line. */
static int is_directive_name(const struct site *s)
{
    return s->at > 0 && s->tokens[s->at].directive && s->tokens[s->at - 1].first && !s->tokens[s->at].first;
}

/* ---- text ---- */

static int odd_byte(const struct site *s)
{
    return token_at(s, 0)->kind == ATOLL_TOKEN_ODD;
}

static int digraph(const struct site *s)
{
    static const char marks[] = " <: :> <% %> %: %:%: ";
    return token_at(s, 0)->kind == ATOLL_TOKEN_MARK && is_any(token_at(s, 0), marks);
}

static int pasting(const struct site *s)
{
    return is(s, 0, "##");
}

/* R"(...)" would hide text from the lexer; prefixes stand without a blank before the quote. */
static int raw_string(const struct site *s)
{
    const struct atoll_token *t = token_at(s, 0), *next = token_at(s, 1);
    return is_name(s) && t->text[t->length - 1] == 'R' && next->kind == ATOLL_TOKEN_STRING &&
           next->text == t->text + t->length;
}

/* ---- preprocessor ---- */

static int directive_known(const struct site *s)
{
    static const char known[] = " define undef if ifdef ifndef elif else endif include pragma error warning ";
    return is_directive_name(s) && !is_any(token_at(s, 0), known);
}

static int include_forbidden(const struct site *s)
{
    static const char *const headers[] = {"stddef.h", "stdint.h", "stdbool.h",  "math.h",      "float.h",
                                          "limits.h", "string.h", "stdalign.h", "immintrin.h", "arm_neon.h"};
    if (!is_directive_name(s) || !is(s, 0, "include"))
        return 0;
    if (!is(s, 1, "<"))
        return 1;
    for (size_t i = 0; i < COUNT(headers); i++) {
        const char *name =
            token_at(s, 1)->text + 1; /* raw, as a compiler reads it; the list's text ends with NUL */
        size_t length = strlen(headers[i]);
        if (strncmp(name, headers[i], length) == 0 && name[length] == '>')
            return 0;
    }
    return 1;
}

static int pragma_forbidden(const struct site *s)
{
    static const char *const known[][2] = {
        {"GCC", "ivdep"}, {"GCC", "unroll"}, {"omp", "simd"}, {"clang", "loop"}};
    if (!is_directive_name(s) || !is(s, 0, "pragma"))
        return 0;
    for (size_t i = 0; i < COUNT(known); i++)
        if (is(s, 1, known[i][0]) && is(s, 2, known[i][1]) && !token_at(s, 1)->first &&
            !token_at(s, 2)->first)
            return 0;
    return !(is(s, 1, "STDC") && !token_at(s, 1)->first);
}

static int probes_files(const struct site *s)
{
    static const char names[] = " __has_include __has_include_next __has_embed ";
    return is_name(s) && is_any(token_at(s, 0), names);
}

static int build_stamp(const struct site *s)
{
    static const char names[] = " __DATE__ __TIME__ __TIMESTAMP__ __FILE__ __BASE_FILE__ ";
    return is_name(s) && is_any(token_at(s, 0), names);
}

static int pragma_operator(const struct site *s)
{
    return is(s, 0, "_Pragma") || is(s, 0, "__pragma");
}

/* ---- language ---- */

static int assembly(const struct site *s)
{
    static const char names[] = " asm __asm __asm__ _asm ";
    return is_name(s) && is_any(token_at(s, 0), names);
}

static int attribute_allowed(const struct atoll_token *t)
{
    static const char names[] =
        " aligned vector_size always_inline noinline const pure hot cold may_alias packed unused "
        "nonnull assume_aligned flatten optimize target fallthrough noreturn leaf ext_vector_type "
        "malloc nothrow noclone noipa artificial gnu_inline returns_nonnull warn_unused_result "
        "alloc_size alloc_align unroll mode simd ";
    struct atoll_token bare = *t;
    if (bare.length > 4 && memcmp(bare.text, "__", 2) == 0 &&
        memcmp(bare.text + bare.length - 2, "__", 2) == 0) {
        bare.text += 2;
        bare.length -= 4;
    }
    return is_any(&bare, names);
}

/* Every name at the first level of the list must be allowed; arguments of attributes are skipped. */
static int attribute_forbidden(const struct site *s)
{
    int depth = 0;
    if (!is(s, 0, "__attribute__") && !is(s, 0, "__attribute"))
        return 0;
    if (!is(s, 1, "(") || !is(s, 2, "("))
        return 1;
    for (size_t i = 1; s->at + i < s->count && i < ATTRIBUTE_TOKENS; i++) {
        const struct atoll_token *t = token_at(s, i);
        if (atoll_token_is(t, "("))
            depth++;
        else if (atoll_token_is(t, ")") && --depth == 0)
            return 0;
        else if (depth == 2 && t->kind != ATOLL_TOKEN_MARK && !attribute_allowed(t))
            return 1;
        if (depth == 1 && i > 2 && !atoll_token_is(t, ")"))
            return 1;
    }
    return 1;
}

static int bracket_attribute(const struct site *s)
{
    return (is(s, 0, "[") && is(s, 1, "[")) || is(s, 0, "__declspec");
}

/* &&label: an address of a label stands where no left operand does. */
static int label_address(const struct site *s)
{
    if (is(s, 0, "goto") && is(s, 1, "*"))
        return 1;
    if (!is(s, 0, "&&") || token_at(s, 1)->kind != ATOLL_TOKEN_NAME || s->at == 0)
        return 0;
    const struct atoll_token *before = &s->tokens[s->at - 1];
    if (before->kind == ATOLL_TOKEN_MARK)
        return !atoll_token_is(before, ")") && !atoll_token_is(before, "]") &&
               !atoll_token_is(before, "++") && !atoll_token_is(before, "--") && !atoll_token_is(before, "}");
    return atoll_token_is(before, "return");
}

static int builtin_forbidden(const struct site *s)
{
    static const char names[] =
        " expect assume_aligned prefetch unreachable memcpy memset memmove fma fmaf sqrt sqrtf exp "
        "expf exp2 exp2f log logf log2 log2f tanh tanhf pow powf fabs fabsf floor floorf ceil "
        "ceilf trunc truncf round roundf rint rintf nearbyint nearbyintf fmin fminf fmax fmaxf "
        "copysign copysignf inf inff huge_val huge_valf nan nanf isnan isinf isfinite signbit "
        "signbitf abs labs clz clzl clzll ctz ctzl ctzll popcount popcountl popcountll ffs ffsl "
        "bswap16 bswap32 bswap64 shuffle shufflevector convertvector constant_p choose_expr "
        "types_compatible_p offsetof add_overflow sub_overflow mul_overflow assume reduce_add "
        "reduce_mul reduce_max reduce_min elementwise_max elementwise_min elementwise_abs "
        "nontemporal_load nontemporal_store isunordered isless isgreater tgmath "
        "speculation_safe_value ";
    struct atoll_token rest = *token_at(s, 0);
    if (!is_name(s) || !atoll_token_starts(&rest, "__builtin_"))
        return 0;
    rest.text += 10;
    rest.length -= 10;
    return !is_any(&rest, names);
}

/* ---- names of the outside ---- */

static int system_name(const struct site *s)
{
    static const char names[] =
        " syscall fork vfork clone3 execl execle execlp execv execve execvp execvpe fexecve "
        "posix_spawn posix_spawnp popen pclose waitpid waitid killpg tgkill _exit _Exit quick_exit "
        "atexit at_quick_exit on_exit getpid getppid gettid getuid geteuid setuid setgid setsid "
        "ptrace prctl arch_prctl personality unshare setns setpriority getrusage setrlimit "
        "getrlimit sched_yield sched_setaffinity sched_getaffinity sched_getcpu getcpu sysconf "
        "getauxval uname gethostname ";
    return is_name(s) && is_any(token_at(s, 0), names);
}

static int file_name(const struct site *s)
{
    static const char names[] =
        " open64 openat openat2 creat pread pwrite readv writev lseek dup2 dup3 pipe2 fcntl ioctl "
        "pselect ppoll epoll_create epoll_wait fstat lstat unlink unlinkat mkdir rmdir chdir "
        "chroot umount symlink readlink ftruncate opendir readdir fopen fdopen freopen fclose "
        "fread fwrite fgets fputs fputc fgetc getc putc getchar putchar gets puts printf fprintf "
        "dprintf vprintf vfprintf scanf fscanf perror fflush setvbuf tmpfile tmpnam mkstemp stdin "
        "stdout stderr FILE io_uring_setup sendfile memfd_create ";
    return is_name(s) && is_any(token_at(s, 0), names);
}

static int network_name(const struct site *s)
{
    static const char names[] =
        " socket socketpair accept4 sendto sendmsg recvfrom recvmsg setsockopt getsockopt "
        "getaddrinfo gethostbyname inet_pton ";
    return is_name(s) && is_any(token_at(s, 0), names);
}

static int thread_name(const struct site *s)
{
    static const char names[] =
        " thrd_create thrd_join mtx_lock mtx_unlock cnd_wait sem_wait sem_post sem_open futex "
        "longjmp siglongjmp setjmp _setjmp sigsetjmp __sigsetjmp sigaction sigaltstack sigprocmask "
        "makecontext swapcontext setcontext getcontext ";
    static const char prefixes[] = " pthread_ omp_ GOMP_ __kmpc_ ";
    return is_name(s) && (is_any(token_at(s, 0), names) || starts_any(token_at(s, 0), prefixes));
}

static int clock_name(const struct site *s)
{
    static const char names[] =
        " clock_gettime clock_getres clock_nanosleep gettimeofday timespec_get nanosleep usleep "
        "setitimer timer_create timerfd_create ftime _rdtsc __rdtsc __rdtscp _rdpmc __rdpmc "
        "_xbegin _xend _xtest _mm_monitor _mm_mwait _umwait _umonitor _tpause perf_event_open "
        "srandom srand rand_r getrandom getentropy drand48 arc4random _rdrand16_step "
        "_rdrand32_step _rdrand64_step _rdseed16_step _rdseed32_step _rdseed64_step ";
    return is_name(s) && is_any(token_at(s, 0), names);
}

static int memory_name(const struct site *s)
{
    static const char names[] =
        " malloc calloc realloc reallocarray cfree aligned_alloc posix_memalign memalign valloc "
        "pvalloc alloca strdup strndup asprintf mmap mmap64 munmap mremap mprotect pkey_mprotect "
        "madvise msync mlock munlock mincore brk sbrk shmget shmat shm_open process_vm_readv "
        "process_vm_writev userfaultfd _mm_malloc _mm_free ";
    return is_name(s) && is_any(token_at(s, 0), names);
}

static int loader_name(const struct site *s)
{
    static const char names[] =
        " dlopen dlmopen dlsym dlvsym dladdr dlclose dl_iterate_phdr environ __environ _environ "
        "getenv secure_getenv setenv putenv unsetenv _init _fini _start _DYNAMIC __errno_location "
        "backtrace __cxa_atexit __cxa_finalize _r_debug ";
    static const char prefixes[] =
        " __libc_ _dl_ __dl _IO_ _GLOBAL_OFFSET __ehdr_start _readfsbase _writefsbase _readgsbase "
        "_writegsbase __get_cpu __cpuid _xgetbv _xsetbv ";
    return is_name(s) && (is_any(token_at(s, 0), names) || starts_any(token_at(s, 0), prefixes));
}

/* Names that are ordinary words as well: forbidden as functions only. */
static int outside_call(const struct site *s)
{
    static const char names[] =
        " time clock times read write open close signal select send link wait exit free bind access "
        "accept connect shutdown poll random rand alarm stat remove rename splice truncate listen "
        "raise kill pipe nice sleep clone abort mount dup recv system ";
    return is_name(s) && is(s, 1, "(") && is_any(token_at(s, 0), names);
}

static int harness_name(const struct site *s)
{
    return is_name(s) &&
           (atoll_token_starts(token_at(s, 0), "atoll_") || atoll_token_starts(token_at(s, 0), "ATOLL_"));
}

static const struct rule c_rules[] = {
    {"odd-byte",
     "outside of comments and texts only plain C characters are allowed: no backslash names, '$', '@' or "
     "open quote",
     odd_byte, 0},
    {"digraph", "digraphs hide what is compiled; write the plain sign", digraph, 0},
    {"pasting", "## makes names that no reader sees; write the name", pasting, 0},
    {"raw-string", "raw strings are not C; write an ordinary text", raw_string, 0},
    {"directive",
     "only define, undef, if, ifdef, ifndef, elif, else, endif, include, pragma, error and warning are "
     "allowed",
     directive_known, 0},
    {"include",
     "only <stddef.h> <stdint.h> <stdbool.h> <math.h> <float.h> <limits.h> <string.h> <stdalign.h> "
     "<immintrin.h> "
     "<arm_neon.h> may be included, by name",
     include_forbidden, 0},
    {"pragma", "only GCC ivdep, GCC unroll, omp simd, clang loop and STDC pragmas are allowed",
     pragma_forbidden, 0},
    {"probe", "a candidate may not look for files", probes_files, 1},
    {"stamp", "date, time and file macros make equal sources differ", build_stamp, 1},
    {"pragma-operator", "_Pragma is not allowed; write #pragma on a line of its own", pragma_operator, 1},
    {"assembly", "inline assembly is not allowed; use intrinsics of <immintrin.h> or <arm_neon.h>", assembly,
     1},
    {"attribute",
     "this attribute is not allowed: none that places, aliases, exports or runs code outside of a call",
     attribute_forbidden, 0},
    {"bracket-attribute", "write attributes as __attribute__((...))", bracket_attribute, 0},
    {"label-address", "addresses of labels and computed goto are not allowed", label_address, 0},
    {"builtin", "this __builtin_ function is not on the list of pure ones", builtin_forbidden, 1},
    {"system", "functions of processes, signals and the system are not allowed", system_name, 1},
    {"file", "functions of files and terminals are not allowed", file_name, 1},
    {"network", "functions of sockets are not allowed", network_name, 1},
    {"thread", "threads belong to the harness: it calls the function on all of them", thread_name, 1},
    {"clock", "clocks, sleeping and random numbers are not allowed", clock_name, 1},
    {"memory", "memory comes from the plan's scratch, not from an allocator or a mapping", memory_name, 1},
    {"loader", "symbols of the loader, the environment and the C library's inside are not allowed",
     loader_name, 1},
    {"call", "functions of the operating system are not allowed; rename a function of your own", outside_call,
     0},
    {"harness", "names that start with atoll_ belong to the harness", harness_name, 1},
};

/* Trigraphs stand in raw text: where they are read at all, they are read before everything else. */
static int trigraph_line(const char *body)
{
    int line = 1;
    for (const char *p = body; *p; p++) {
        if (*p == '\n')
            line++;
        else if (p[0] == '?' && p[1] == '?' && p[2] && strchr("=/'()!<>-", p[2]))
            return line;
    }
    return 0;
}

static int report(struct atoll_err *err, const char *id, unsigned line, const char *why,
                  const struct atoll_token *t)
{
    int length = t && t->length < 40 ? (int)t->length : 0;
    if (length && t->kind == ATOLL_TOKEN_NAME)
        return atoll_err_set(err, ATOLL_E_INPUT, "rule %s, line %u: %s ('%.*s')", id, line, why, length,
                             t->text);
    return atoll_err_set(err, ATOLL_E_INPUT, "rule %s, line %u: %s", id, line, why);
}

/* Whether a name was looked at already; remembers it. */
static int is_known(uint32_t *memo, const struct site *s)
{
    const struct atoll_token *t = token_at(s, 0);
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (uint32_t i = 0; i < t->length; i++)
        hash = (hash ^ (unsigned char)t->text[i]) * 16777619u;
    uint32_t *slot = &memo[hash % MEMO_SLOTS], before = *slot;
    *slot = (uint32_t)s->at + 1;
    return before && s->tokens[before - 1].length == t->length &&
           memcmp(s->tokens[before - 1].text, t->text, t->length) == 0;
}

static int check_tokens(const struct atoll_token_list *list, struct atoll_err *err)
{
    uint32_t memo[MEMO_SLOTS] = {0};
    struct site s = {list->tokens, list->count, 0};
    for (; s.at < s.count; s.at++) {
        int known = is_known(memo, &s);
        for (size_t i = 0; i < COUNT(c_rules); i++)
            if (!(known && c_rules[i].by_name) && c_rules[i].broken(&s))
                return report(err, c_rules[i].id, s.tokens[s.at].line, c_rules[i].why, &s.tokens[s.at]);
    }
    return 0;
}

static const char trigraph_why[] = "trigraphs hide what is compiled; break the question marks apart";

int atoll_rules_check(const char *language, const char *body, struct atoll_err *err)
{
    struct atoll_token_list list;
    if (strcmp(language, "c") != 0)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "rule language, line 1: no rules are known for language '%.32s'", language);
    int line = trigraph_line(body);
    if (line)
        return report(err, "trigraph", (unsigned)line, trigraph_why, NULL);
    if (atoll_token_list_init(&list, body, err))
        return -1;
    int rc = list.odd_line ? report(err, "comment", list.odd_line, "this comment never ends", NULL)
                           : check_tokens(&list, err);
    atoll_token_list_fini(&list);
    return rc;
}

unsigned atoll_rules_count(const char *language)
{
    return strcmp(language, "c") == 0 ? (unsigned)COUNT(c_rules) : 0;
}

const char *atoll_rules_id(const char *language, unsigned index)
{
    return index < atoll_rules_count(language) ? c_rules[index].id : NULL;
}

const char *atoll_rules_why(const char *language, unsigned index)
{
    return index < atoll_rules_count(language) ? c_rules[index].why : NULL;
}
