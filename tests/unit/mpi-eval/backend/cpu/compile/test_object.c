/* A good object, made by the compiler of this machine, passes; the same object with one thing changed is
 * refused with its reason; the same object with anything changed is read without a fault. */
#include "tests/support/expect.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/backend/cpu/compile/object.h"

#if defined(__x86_64__)
#define RELOCATION_RELATIVE  R_X86_64_RELATIVE
#define RELOCATION_IRELATIVE R_X86_64_IRELATIVE
#define RELOCATION_DTPMOD64  R_X86_64_DTPMOD64
#define RELOCATION_COPY      R_X86_64_COPY
#define RELOCATION_64        R_X86_64_64
#else
#define RELOCATION_RELATIVE  R_AARCH64_RELATIVE
#define RELOCATION_IRELATIVE R_AARCH64_IRELATIVE
#define RELOCATION_DTPMOD64  R_AARCH64_TLS_DTPMOD
#define RELOCATION_COPY      R_AARCH64_COPY
#define RELOCATION_64        R_AARCH64_ABS64
#endif

/* Has imports, relative relocations, relocations by symbol, read-only data. */
static const char source[] = "#include <math.h>\n"
                             "void *memcpy(void *, const void *, unsigned long);\n"
                             "static const char *const names[] = {\"a\", \"b\"};\n"
                             "double (*const table[])(double) = {exp, log};\n"
                             "double f(long i, double x) { return table[i](x) + names[i][0]; }\n"
                             "void g(void *to, const void *from, unsigned long n) { memcpy(to, from, n); }\n";
static const char *const functions[] = {"f", "g"};

static unsigned char *good, *copy;
static size_t good_length;

static struct atoll_compiled compile(const char *text, const char *flags)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler_settings settings = {"cc", flags, NULL, 1, 20e9, UINT64_C(2) << 30, 16 << 20};
    struct atoll_compiler *compiler = atoll_cc_create(&settings, &err);
    struct atoll_compiled result;
    if (!compiler || atoll_compiler_run(compiler, "unit.c", text, strlen(text), NULL, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    atoll_compiler_destroy(compiler);
    if (result.status != ATOLL_COMPILE_OK)
        fail_msg("%s", result.diagnostics);
    free(result.diagnostics);
    free(result.report);
    return result;
}

static int set_up(void **state)
{
    (void)state;
    struct atoll_compiled result = compile(source, "-O1");
    good = result.object;
    good_length = result.object_length;
    copy = malloc(good_length);
    return copy ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(good);
    free(copy);
    return 0;
}

static int check(const void *data, size_t length, struct atoll_err *err)
{
    return atoll_object_check(data, length, 0, functions, 2, err);
}

static Elf64_Ehdr *header(void)
{
    return (void *)copy;
}

static Elf64_Phdr *segment(uint32_t type, uint32_t flags)
{
    Elf64_Phdr *p = (void *)(copy + header()->e_phoff);
    for (unsigned i = 0; i < header()->e_phnum; i++)
        if (p[i].p_type == type && (flags == 0 || p[i].p_flags == flags))
            return &p[i];
    fail_msg("no segment of type %u", type);
    return NULL;
}

static Elf64_Dyn *entry(int64_t tag)
{
    Elf64_Dyn *d = (void *)(copy + segment(PT_DYNAMIC, 0)->p_offset);
    while (d->d_tag != tag)
        assert_int_not_equal((d++)->d_tag, DT_NULL);
    return d;
}

/* Read-only tables lie at the same offset as address here: the first segment starts at 0 of both. */
static Elf64_Rela *relocation(uint32_t type)
{
    Elf64_Rela *r = (void *)(copy + entry(DT_RELA)->d_un.d_ptr);
    for (size_t i = 0; i < entry(DT_RELASZ)->d_un.d_val / sizeof(*r); i++)
        if (type == 0 || ELF64_R_TYPE(r[i].r_info) == type)
            return &r[i];
    fail_msg("no relocation of type %u", type);
    return NULL;
}

static Elf64_Sym *symbol(const char *name)
{
    Elf64_Sym *s = (void *)(copy + entry(DT_SYMTAB)->d_un.d_ptr);
    const char *strings = (const char *)copy + entry(DT_STRTAB)->d_un.d_ptr;
    while (strcmp(strings + (++s)->st_name, name) != 0)
        assert_true((unsigned char *)s < copy + good_length);
    return s;
}

static void set_type(Elf64_Sym *s, unsigned type)
{
    s->st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type);
}

static uint32_t *hash(void)
{
    return (void *)(copy + entry(DT_GNU_HASH)->d_un.d_ptr);
}

static void rename_import(const char *from, const char *to)
{
    char *strings = (char *)copy + entry(DT_STRTAB)->d_un.d_ptr;
    memcpy(strings + symbol(from)->st_name, to, strlen(to) + 1);
}

static void not_elf(void)
{
    copy[0] = 'x';
}
static void other_machine(void)
{
    header()->e_machine = EM_S390;
}
static void program_headers_far(void)
{
    header()->e_phoff = UINT64_MAX - 7;
}
static void program_headers_many(void)
{
    header()->e_phnum = 0xffff;
}
static void no_dynamic(void)
{
    segment(PT_DYNAMIC, 0)->p_type = PT_NULL;
}
static void dynamic_far(void)
{
    segment(PT_DYNAMIC, 0)->p_vaddr = UINT64_MAX - 64;
}
static void dynamic_elsewhere(void)
{
    segment(PT_DYNAMIC, 0)->p_offset += 16;
}
static void dynamic_endless(void)
{
    entry(DT_NULL)->d_tag = DT_SONAME;
    segment(PT_DYNAMIC, 0)->p_filesz =
        (uint64_t)((unsigned char *)entry(DT_STRTAB) - copy) - segment(PT_DYNAMIC, 0)->p_offset;
}
static void executable_stack(void)
{
    segment(PT_GNU_STACK, 0)->p_flags |= PF_X;
}
static void no_stack_note(void)
{
    segment(PT_GNU_STACK, 0)->p_type = PT_NULL;
}
static void writable_code(void)
{
    segment(PT_LOAD, PF_R | PF_X)->p_flags |= PF_W;
}
static void executable_data(void)
{
    segment(PT_LOAD, PF_R | PF_W)->p_flags |= PF_X;
}
static void huge_segment(void)
{
    segment(PT_LOAD, PF_R | PF_W)->p_memsz = UINT64_C(1) << 40;
}
static void segment_past_file(void)
{
    segment(PT_LOAD, PF_R | PF_W)->p_offset += UINT64_C(1) << 30;
}
static void segment_wraps(void)
{
    segment(PT_LOAD, PF_R | PF_W)->p_filesz = UINT64_MAX;
}
static void segments_overlap(void)
{
    Elf64_Phdr *p = segment(PT_LOAD, PF_R | PF_W);
    p->p_vaddr = p->p_offset & 4095;
}
static void no_relro(void)
{
    segment(PT_GNU_RELRO, 0)->p_type = PT_NULL;
}
static void has_interpreter(void)
{
    segment(PT_GNU_EH_FRAME, 0)->p_type = PT_INTERP;
}
static void has_tls(void)
{
    segment(PT_GNU_EH_FRAME, 0)->p_type = PT_TLS;
}
static void init(void)
{
    entry(DT_FLAGS)->d_tag = DT_INIT;
}
static void init_array(void)
{
    entry(DT_FLAGS)->d_tag = DT_INIT_ARRAY;
}
static void fini(void)
{
    entry(DT_FLAGS)->d_tag = DT_FINI;
}
static void fini_array(void)
{
    entry(DT_FLAGS)->d_tag = DT_FINI_ARRAY;
}
static void preinit_array(void)
{
    entry(DT_FLAGS)->d_tag = DT_PREINIT_ARRAY;
}
static void text_relocations(void)
{
    entry(DT_FLAGS)->d_tag = DT_TEXTREL;
}
static void text_flag(void)
{
    entry(DT_FLAGS)->d_un.d_val |= DF_TEXTREL;
}
static void no_delete(void)
{
    entry(DT_FLAGS_1)->d_un.d_val |= DF_1_INITFIRST;
}
static void runpath(void)
{
    entry(DT_FLAGS)->d_tag = DT_RUNPATH;
}
static void audit(void)
{
    entry(DT_FLAGS)->d_tag = DT_AUDIT;
}
static void second_symtab(void)
{
    entry(DT_FLAGS)->d_tag = DT_SYMTAB;
}
static void other_library(void)
{
    memcpy(copy + entry(DT_STRTAB)->d_un.d_ptr + entry(DT_NEEDED)->d_un.d_val, "libz", 4);
}
static void library_far(void)
{
    entry(DT_NEEDED)->d_un.d_val = UINT64_MAX;
}
static void strings_far(void)
{
    entry(DT_STRTAB)->d_un.d_ptr = UINT64_MAX - 1;
}
static void strings_long(void)
{
    entry(DT_STRSZ)->d_un.d_val = UINT64_MAX;
}
static void strings_empty(void)
{
    entry(DT_STRSZ)->d_un.d_val = 0;
}
static void symbols_in_data(void)
{
    entry(DT_SYMTAB)->d_un.d_ptr = segment(PT_DYNAMIC, 0)->p_vaddr;
}
static void no_hash(void)
{
    entry(DT_GNU_HASH)->d_un.d_ptr = 0;
}
static void hash_bloom(void)
{
    hash()[2] = 3;
}
static void hash_buckets(void)
{
    hash()[0] = UINT32_MAX;
}
static void hash_chain(void)
{
    memset(hash() + 4 + 2 * hash()[2] + hash()[0], 0, 4 * sizeof(uint32_t));
    hash()[4 + 2 * hash()[2]] = 60000;
}
static void symbol_size(void)
{
    entry(DT_SYMENT)->d_un.d_val = 16;
}
static void symbol_name_far(void)
{
    symbol("f")->st_name = UINT32_MAX;
}
static void ifunc_symbol(void)
{
    set_type(symbol("f"), STT_GNU_IFUNC);
}
static void tls_symbol(void)
{
    set_type(symbol("table"), STT_TLS);
}
static void import_fork(void)
{
    rename_import("memcpy", "fork");
}
static void import_unknown(void)
{
    rename_import("memcpy", "memcpz");
}
static void function_gone(void)
{
    symbol("f")->st_name = symbol("g")->st_name;
}
static void function_is_data(void)
{
    set_type(symbol("f"), STT_OBJECT);
}
static void function_in_data(void)
{
    symbol("f")->st_value = segment(PT_DYNAMIC, 0)->p_vaddr;
}
static void irelative(void)
{
    relocation(RELOCATION_RELATIVE)->r_info = ELF64_R_INFO(0, RELOCATION_IRELATIVE);
}
static void tls_relocation(void)
{
    relocation(0)->r_info = ELF64_R_INFO(0, RELOCATION_DTPMOD64);
}
static void copy_relocation(void)
{
    relocation(0)->r_info = ELF64_R_INFO(1, RELOCATION_COPY);
}
static void relocation_symbol(void)
{
    relocation(RELOCATION_64)->r_info = ELF64_R_INFO(UINT32_MAX, RELOCATION_64);
}
static void relocation_outside(void)
{
    relocation(0)->r_offset = UINT64_C(1) << 45;
}
static void relocation_negative(void)
{
    relocation(0)->r_offset = (uint64_t)-4096;
}
static void relocation_in_code(void)
{
    relocation(0)->r_offset = segment(PT_LOAD, PF_R | PF_X)->p_vaddr;
}
static void relocation_in_dynamic(void)
{
    relocation(0)->r_offset = segment(PT_DYNAMIC, 0)->p_vaddr + 8;
}
static void relocation_at_edge(void)
{
    Elf64_Phdr *p = segment(PT_LOAD, PF_R | PF_W);
    relocation(0)->r_offset = p->p_vaddr + p->p_memsz - 4;
}
static void relocations_far(void)
{
    entry(DT_RELA)->d_un.d_ptr = UINT64_MAX - 23;
}
static void relocations_long(void)
{
    entry(DT_RELASZ)->d_un.d_val = UINT64_MAX - 15;
}
static void relocations_odd(void)
{
    entry(DT_RELASZ)->d_un.d_val -= 1;
}
static void relocation_size(void)
{
    entry(DT_RELAENT)->d_un.d_val = 16;
}

#define ROW(change, text)                                                                                    \
    {                                                                                                        \
        #change, change, text                                                                                \
    }
static const struct row {
    const char *name;
    void (*change)(void);
    const char *text;
} rows[] = {
    ROW(not_elf, "not an ELF file"),
    ROW(other_machine, "of this machine"),
    ROW(program_headers_far, "program headers"),
    ROW(program_headers_many, "program headers"),
    ROW(no_dynamic, "no dynamic section"),
    ROW(dynamic_far, "dynamic section does not lie"),
    ROW(dynamic_elsewhere, "dynamic section does not lie"),
    ROW(dynamic_endless, "has no end"),
    ROW(executable_stack, "executable stack"),
    ROW(no_stack_note, "does not say that its stack"),
    ROW(writable_code, "writable and executable"),
    ROW(executable_data, "writable and executable"),
    ROW(huge_segment, "larger than 256 MiB"),
    ROW(segment_past_file, "outside the file"),
    ROW(segment_wraps, "outside the file"),
    ROW(segments_overlap, "overlap"),
    ROW(no_relro, "mutable global"),
    ROW(has_interpreter, "interpreter"),
    ROW(has_tls, "thread-local"),
    ROW(init, "constructor (DT_INIT)"),
    ROW(init_array, "constructor (DT_INIT_ARRAY)"),
    ROW(fini, "destructor (DT_FINI)"),
    ROW(fini_array, "destructor (DT_FINI_ARRAY)"),
    ROW(preinit_array, "constructor (DT_PREINIT_ARRAY)"),
    ROW(text_relocations, "text relocations"),
    ROW(text_flag, "dynamic flags"),
    ROW(no_delete, "dynamic flags (1)"),
    ROW(runpath, "dynamic entry 0x1d"),
    ROW(audit, "dynamic entry"),
    ROW(second_symtab, "twice"),
    ROW(other_library, "library \"libz"),
    ROW(library_far, "name of a needed library"),
    ROW(strings_far, "string table"),
    ROW(strings_long, "string table"),
    ROW(strings_empty, "string table"),
    ROW(symbols_in_data, "symbol table"),
    ROW(no_hash, "no GNU hash table"),
    ROW(hash_bloom, "malformed"),
    ROW(hash_buckets, "malformed"),
    ROW(hash_chain, "has no end"),
    ROW(symbol_size, "symbol table is malformed"),
    ROW(symbol_name_far, "name of a symbol"),
    ROW(ifunc_symbol, "IFUNC"),
    ROW(tls_symbol, "thread-local variable table"),
    ROW(import_fork, "import of \"fork\""),
    ROW(import_unknown, "import of \"memcpz\""),
    ROW(function_gone, "function f is not in the object"),
    ROW(function_is_data, "f is not a function"),
    ROW(function_in_data, "f is not a function"),
    ROW(irelative, "relocation type"),
    ROW(tls_relocation, "relocation type"),
    ROW(copy_relocation, "relocation type"),
    ROW(relocation_symbol, "symbol that is not there"),
    ROW(relocation_outside, "outside the object's data"),
    ROW(relocation_negative, "outside the object's data"),
    ROW(relocation_in_code, "outside the object's data"),
    ROW(relocation_in_dynamic, "outside the object's data"),
    ROW(relocation_at_edge, "outside the object's data"),
    ROW(relocations_far, "relocation table"),
    ROW(relocations_long, "relocation table"),
    ROW(relocations_odd, "relocation table"),
    ROW(relocation_size, "another format"),
};

static void test_good_passes(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (check(good, good_length, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(err.code, ATOLL_OK);
}

static void test_changed_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        memcpy(copy, good, good_length);
        rows[i].change();
        if (check(copy, good_length, &err) != -1)
            fail_msg("%s: not refused", rows[i].name);
        assert_int_equal(err.code, ATOLL_E_INPUT);
        if (!strstr(err.text, rows[i].text))
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].name, err.text, rows[i].text);
    }
}

/* Sources whose objects ld.so would be slow with; a name is made of pairs of letters, and "ac" and "bB" have one hash. */
enum slow { COLLIDING, DISTINCT, MANY, BY_SYMBOL, RELATIVE };

static void slow_print(FILE *out, enum slow kind)
{
    int names = kind == COLLIDING || kind == DISTINCT ? 128 : kind == MANY ? 5000 : 0;
    fputs("int f, g;\n", out);
    for (int i = 0; i < names && kind == COLLIDING; i++) {
        fputs("const char n", out);
        for (int bit = 0; bit < 7; bit++)
            fputs(i >> bit & 1 ? "ac" : "bB", out);
        fputs("[1];\n", out);
    }
    for (int i = 0; i < names && kind != COLLIDING; i++)
        fprintf(out, "const char n%x[1];\n", (unsigned)i * 2654435761u);
    if (kind == BY_SYMBOL || kind == RELATIVE)
        fprintf(out, "%sconst char one[1];\nconst char *const table[20000] = {[0 ... 19999] = one};\n",
                kind == RELATIVE ? "static " : "");
}

static void test_slow_to_load(void **state)
{
    (void)state;
    static const struct {
        enum slow kind;
        const char *says; /* NULL: passes */
    } slow[] = {{COLLIDING, "in one chain"},
                {DISTINCT, NULL},
                {MANY, "more than 4096 symbols"},
                {BY_SYMBOL, "more than 16384 pointers"},
                {RELATIVE, NULL}};
    for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++) {
        char *text = NULL;
        size_t length = 0;
        struct atoll_err err = ATOLL_ERR_INIT;
        FILE *out = open_memstream(&text, &length);
        slow_print(out, slow[i].kind);
        fclose(out);
        struct atoll_compiled made = compile(text, "-O0");
        int refused = atoll_object_check(made.object, made.object_length, 1, NULL, 0, &err) != 0;
        if (refused != (slow[i].says != NULL) || (refused && !strstr(err.text, slow[i].says)))
            fail_msg("row %zu: \"%s\"", i, err.text);
        free(made.object);
        free(text);
    }
}

/* Each check of its own heap block, so that a sanitizer sees a read past its end. */
static void test_truncated_is_refused(void **state)
{
    (void)state;
    size_t load_end = 0;
    memcpy(copy, good, good_length);
    Elf64_Phdr *p = segment(PT_LOAD, PF_R | PF_W);
    load_end = p->p_offset + p->p_filesz;
    for (size_t length = 0; length < load_end; length += length < 2048 ? 1 : 61) {
        void *block = malloc(length ? length : 1);
        assert_non_null(block);
        memcpy(block, good, length);
        assert_int_equal(check(block, length, NULL), -1);
        free(block);
    }
}

static void test_random_changes_are_read(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    size_t refused = 0;
    for (int round = 0; round < 50000; round++) {
        memcpy(copy, good, good_length);
        for (int i = 0; i < 1 + round % 4; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            size_t at = (size_t)(random >> 20) % (i % 2 ? good_length : 0x700);
            copy[at] = (unsigned char)(random >> 8);
        }
        refused += check(copy, good_length, NULL) != 0;
    }
    assert_true(refused > 10000 && refused < 50000);
}

static void test_mutable_only_where_allowed(void **state)
{
    (void)state;
    static const char *const symbols[] = {"count"};
    struct atoll_compiled result =
        compile("static long calls;\nlong count(long n) { return calls += n; }\n", "-O2");
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_object_check(result.object, result.object_length, 0, symbols, 1, &err), -1);
    assert_non_null(strstr(err.text, "mutable global or static variables are not allowed (8 bytes"));
    assert_int_equal(atoll_object_check(result.object, result.object_length, 1, symbols, 1, &err), 0);
    free(result.object);
}

static void test_imports(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int allowed;
    } names[] = {
        {"memcpy", 1},
        {"memset", 1},
        {"memmove", 1},
        {"memcmp", 1},
        {"__stack_chk_fail", 1},
        {"exp", 1},
        {"expf", 1},
        {"expl", 1},
        {"erf", 1},
        {"erff", 1},
        {"fmaf", 1},
        {"sincosf", 1},
        {"_ZGVdN8v_expf", 1},
        {"expx", 0},
        {"expff", 0},
        {"malloc", 0},
        {"fork", 0},
        {"mmap", 0},
        {"syscall", 0},
        {"dlsym", 0},
        {"pthread_create", 0},
        {"clock_gettime", 0},
        {"printf", 0},
        {"__tls_get_addr", 0},
        {"qsort", 0},
        {"exit", 0},
        {"longjmp", 0},
        {"environ", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (atoll_object_import_allowed(names[i].name) != names[i].allowed)
            fail_msg("%s: %d", names[i].name, !names[i].allowed);
}

/* What a child's pages are mapped for, so that no timed run faults on them. */
static void test_calls(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned calls;
    } units[] = {
        {"void f(float *x, long n) { for (long i = 0; i < n; i++) x[i] *= 2; }\n", 0},
        {"void *memcpy(void *, const void *, unsigned long);\n"
         "void f(void *x, const void *y, long n) { memcpy(x, y, n); }\n",
         0},
        {"double sin(double);\ndouble f(double x) { return sin(x); }\n", ATOLL_OBJECT_CALLS_LIBM},
        {"int __isnan(double);\nint f(double x) { return __isnan(x); }\n", ATOLL_OBJECT_CALLS_LIBM},
    };
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        struct atoll_compiled result = compile(units[i].text, "-O1");
        if (atoll_object_calls(result.object, result.object_length) != units[i].calls)
            fail_msg("%s: %u", units[i].text, atoll_object_calls(result.object, result.object_length));
        free(result.object);
    }
    unsigned all = ATOLL_OBJECT_CALLS_LIBM | ATOLL_OBJECT_CALLS_LIBMVEC;
#if defined(__x86_64__)
    struct atoll_compiled vector = compile("typedef double v __attribute__((vector_size(16)));\n"
                                           "v _ZGVbN2v_sin(v);\nv f(v x) { return _ZGVbN2v_sin(x); }\n",
                                           "-O1 -lmvec");
    assert_int_equal(atoll_object_calls(vector.object, vector.object_length), all);
    free(vector.object);
#endif
    assert_int_equal(atoll_object_calls(good, 64), all); /* not known: all that there is */
}

static void test_unaligned_is_our_bug(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(check(good + 1, good_length - 1, &err), -1);
    assert_int_equal(err.code, ATOLL_E_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_passes),
        cmocka_unit_test(test_changed_is_refused),
        cmocka_unit_test(test_slow_to_load),
        cmocka_unit_test(test_truncated_is_refused),
        cmocka_unit_test(test_random_changes_are_read),
        cmocka_unit_test(test_mutable_only_where_allowed),
        cmocka_unit_test(test_imports),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_unaligned_is_our_bug),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
