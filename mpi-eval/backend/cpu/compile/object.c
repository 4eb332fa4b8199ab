/* What ld.so will read is checked in the order in which it reads it: segments, dynamic entries, the hash
 * table (which also tells how many symbols there are), symbols, relocations.  All tables must lie in segments
 * that are mapped read-only, so that no relocation can rewrite them after this check, and the segments must
 * not overlap, so that the file is what gets mapped. */
#include "mpi-eval/backend/cpu/compile/object.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define PAGE          UINT64_C(4096)
#define SEGMENT_LIMIT 32
#define DYNAMIC_LIMIT 64
#define BUCKET_LIMIT  65536
#define MEMORY_LIMIT  (UINT64_C(256) << 20) /* of all segments */
#define NAME_LIMIT    256
/* ld.so looks up each symbolic relocation along one chain: their product bounds the time of a load, some 20 ms. */
#define SYMBOL_LIMIT   4096
#define CHAIN_LIMIT    64
#define SYMBOLIC_LIMIT 16384

#if defined(__x86_64__)
#define MACHINE EM_X86_64
static const uint32_t relocations_allowed[] = {R_X86_64_NONE, R_X86_64_64, R_X86_64_GLOB_DAT,
                                               R_X86_64_JUMP_SLOT, R_X86_64_RELATIVE};
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
static const uint32_t relocations_allowed[] = {R_AARCH64_NONE, R_AARCH64_ABS64, R_AARCH64_GLOB_DAT,
                                               R_AARCH64_JUMP_SLOT, R_AARCH64_RELATIVE};
#else
#error "object.c knows x86-64 and aarch64"
#endif

struct object {
    const unsigned char *data;
    size_t length;
    int mutable_allowed;
    const Elf64_Phdr *segments[SEGMENT_LIMIT]; /* PT_LOAD, ascending */
    size_t segment_count;
    const Elf64_Phdr *dynamic, *relro;
    uint64_t entry[DT_NUM]; /* values of the common dynamic entries */
    uint64_t gnu_hash;
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *strings;
    size_t string_bytes;
    struct atoll_err *err;
};

#define refuse(o, ...) atoll_err_set((o)->err, ATOLL_E_INPUT, __VA_ARGS__)

/* Base names; each may carry a suffix f or l. */
static const char *const maths[] = {
    "acos",     "acosh",     "asin",   "asinh",  "atan",  "atan2",     "atanh",   "cbrt",      "ceil",
    "copysign", "cos",       "cosh",   "erf",    "erfc",  "exp",       "exp10",   "exp2",      "expm1",
    "fabs",     "fdim",      "floor",  "fma",    "fmax",  "fmin",      "fmod",    "frexp",     "hypot",
    "ilogb",    "j0",        "j1",     "jn",     "ldexp", "lgamma",    "llrint",  "llround",   "log",
    "log10",    "log1p",     "log2",   "logb",   "lrint", "lround",    "modf",    "nearbyint", "nextafter",
    "pow",      "remainder", "remquo", "rint",   "round", "roundeven", "scalbln", "scalbn",    "sin",
    "sincos",   "sinh",      "sqrt",   "tan",    "tanh",  "tgamma",    "trunc",   "y0",        "y1",
    "yn",       "cabs",      "cacos",  "cacosh", "carg",  "casin",     "casinh",  "catan",     "catanh",
    "ccos",     "ccosh",     "cexp",   "cimag",  "clog",  "conj",      "cpow",    "cproj",     "creal",
    "csin",     "csinh",     "csqrt",  "ctan",   "ctanh",
};
static const char *const primitives[] = {
    "memcpy",       "memmove",       "memset",       "memcmp",           "memchr", "bcmp", "strlen",
    "__memcpy_chk", "__memmove_chk", "__memset_chk", "__stack_chk_fail", "abs",    "labs", "llabs",
};
/* libc and libm have them. */
static const char *const classes[] = {"__isnan", "__isnanf", "__isinf", "__isinff", "__finite", "__finitef"};
static const char *const libraries[] = {"libc.so.6", "libm.so.6", "libmvec.so.1", "ld-linux-x86-64.so.2",
                                        "ld-linux-aarch64.so.1"};

static int is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

static int is_primitive(const char *name)
{
    return is_among(name, primitives, sizeof(primitives) / sizeof(primitives[0]));
}

static int is_vector_variant(const char *name)
{
    return strncmp(name, "_ZGV", 4) == 0; /* libmvec's only */
}

int atoll_object_import_allowed(const char *name)
{
    if (is_primitive(name) || is_vector_variant(name) ||
        is_among(name, classes, sizeof(classes) / sizeof(classes[0])))
        return 1;
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof(maths) / sizeof(maths[0]); i++) {
        size_t base = strlen(maths[i]);
        if (strncmp(name, maths[i], base) == 0 &&
            (length == base || (length == base + 1 && (name[base] == 'f' || name[base] == 'l'))))
            return 1;
    }
    return 0;
}

/* File bytes of [address, address + bytes) when one segment's file part holds them all, else NULL.
 * ret_writable: whether that segment is mapped writable. */
static const void *bytes_at(const struct object *o, uint64_t address, uint64_t bytes, int *ret_writable)
{
    for (size_t i = 0; i < o->segment_count; i++) {
        const Elf64_Phdr *p = o->segments[i];
        if (address < p->p_vaddr || address - p->p_vaddr > p->p_filesz)
            continue;
        if (bytes > p->p_filesz - (address - p->p_vaddr))
            return NULL;
        *ret_writable = (p->p_flags & PF_W) != 0;
        return o->data + p->p_offset + (address - p->p_vaddr);
    }
    return NULL;
}

/* A table that ld.so reads: in a read-only segment, aligned. */
static const void *table_at(const struct object *o, uint64_t address, uint64_t bytes, uint64_t alignment)
{
    int writable = 1;
    const void *at = bytes_at(o, address, bytes, &writable);
    return at && !writable && (uintptr_t)at % alignment == 0 ? at : NULL;
}

static int check_header(const struct object *o)
{
    const Elf64_Ehdr *h = (const void *)o->data;
    if (o->length < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return refuse(o, "the object is not an ELF file");
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != MACHINE ||
        h->e_type != ET_DYN)
        return refuse(o, "the object is not a shared object of this machine");
    if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum == 0 || h->e_phoff % 8 != 0 ||
        h->e_phoff > o->length || (uint64_t)h->e_phnum * sizeof(Elf64_Phdr) > o->length - h->e_phoff)
        return refuse(o, "the object's program headers do not lie in the file");
    return 0;
}

static int add_segment(struct object *o, const Elf64_Phdr *p)
{
    if (o->segment_count == SEGMENT_LIMIT)
        return refuse(o, "the object has more than %d segments", SEGMENT_LIMIT);
    if (p->p_offset > o->length || p->p_filesz > o->length - p->p_offset || p->p_memsz < p->p_filesz ||
        p->p_vaddr > MEMORY_LIMIT || p->p_memsz > MEMORY_LIMIT || (p->p_vaddr - p->p_offset) % PAGE != 0)
        return refuse(o, "a segment lies outside the file or is larger than %llu MiB",
                      (unsigned long long)(MEMORY_LIMIT >> 20));
    if ((p->p_flags & PF_W) && (p->p_flags & PF_X))
        return refuse(o, "a segment is writable and executable");
    if (o->segment_count > 0) {
        const Elf64_Phdr *last = o->segments[o->segment_count - 1];
        uint64_t last_end = (last->p_vaddr + last->p_memsz + PAGE - 1) & ~(PAGE - 1);
        if ((p->p_vaddr & ~(PAGE - 1)) < last_end)
            return refuse(o, "segments overlap or are out of order");
    }
    o->segments[o->segment_count++] = p;
    return 0;
}

static int read_segment(struct object *o, const Elf64_Phdr *p)
{
    switch (p->p_type) {
    case PT_LOAD: return add_segment(o, p);
    case PT_DYNAMIC:
        if (o->dynamic)
            return refuse(o, "two dynamic sections");
        o->dynamic = p;
        return 0;
    case PT_GNU_RELRO: o->relro = p; return 0;
    case PT_GNU_STACK: return p->p_flags & PF_X ? refuse(o, "the object asks for an executable stack") : 0;
    case PT_TLS: return refuse(o, "thread-local variables are not allowed");
    case PT_INTERP: return refuse(o, "the object names an interpreter");
    default: return 0; /* notes and unwind tables: never read by ld.so */
    }
}

/* After relocation ld.so makes the whole pages of this range read-only; what is writable beside it stays so.
 */
static int check_writable(const struct object *o)
{
    for (size_t i = 0; i < o->segment_count && !o->mutable_allowed; i++) {
        const Elf64_Phdr *p = o->segments[i];
        if (!(p->p_flags & PF_W) || p->p_memsz == 0)
            continue;
        if (!o->relro || p->p_vaddr < o->relro->p_vaddr ||
            p->p_vaddr - o->relro->p_vaddr + p->p_memsz > o->relro->p_memsz)
            return refuse(o,
                          "mutable global or static variables are not allowed (%llu bytes of writable data)",
                          (unsigned long long)(o->relro && p->p_vaddr == o->relro->p_vaddr
                                                   ? p->p_memsz - o->relro->p_memsz
                                                   : p->p_memsz));
    }
    return 0;
}

static int read_segments(struct object *o)
{
    const Elf64_Ehdr *h = (const void *)o->data;
    const Elf64_Phdr *p = (const void *)(o->data + h->e_phoff);
    int stack_seen = 0;
    for (unsigned i = 0; i < h->e_phnum; i++) {
        stack_seen |= p[i].p_type == PT_GNU_STACK;
        if (read_segment(o, &p[i]) != 0)
            return -1;
    }
    if (!stack_seen)
        return refuse(o, "the object does not say that its stack is not executable");
    if (o->segment_count == 0 || !o->dynamic)
        return refuse(o, "the object has no dynamic section");
    if (o->relro && (o->relro->p_memsz > MEMORY_LIMIT || o->relro->p_vaddr > MEMORY_LIMIT))
        return refuse(o, "the read-only range is larger than the object");
    return check_writable(o);
}

enum entry_rule { KEEP = 1, IGNORE, LIBRARY, CONSTRUCTOR, TEXT, FLAGS, FLAGS_1 };
static const struct dynamic_rule {
    int64_t tag;
    enum entry_rule rule;
    const char *name;
} dynamic_rules[] = {
    {DT_STRTAB, KEEP, ""},
    {DT_SYMTAB, KEEP, ""},
    {DT_STRSZ, KEEP, ""},
    {DT_SYMENT, KEEP, ""},
    {DT_RELA, KEEP, ""},
    {DT_RELASZ, KEEP, ""},
    {DT_RELAENT, KEEP, ""},
    {DT_JMPREL, KEEP, ""},
    {DT_PLTRELSZ, KEEP, ""},
    {DT_PLTREL, KEEP, ""},
    {DT_PLTGOT, KEEP, ""},
    {DT_HASH, IGNORE, ""},
    {DT_GNU_HASH, IGNORE, ""},
    {DT_SONAME, IGNORE, ""},
    {DT_RELACOUNT, IGNORE, ""},
    {DT_BIND_NOW, IGNORE, ""},
    {DT_VERSYM, IGNORE, ""},
    {DT_VERNEED, IGNORE, ""},
    {DT_VERNEEDNUM, IGNORE, ""},
    {DT_FLAGS, FLAGS, ""},
    {DT_FLAGS_1, FLAGS_1, ""},
    {DT_NEEDED, LIBRARY, ""},
    {DT_TEXTREL, TEXT, ""},
    {DT_INIT, CONSTRUCTOR, "constructor (DT_INIT)"},
    {DT_INIT_ARRAY, CONSTRUCTOR, "constructor (DT_INIT_ARRAY)"},
    {DT_INIT_ARRAYSZ, CONSTRUCTOR, "constructor (DT_INIT_ARRAY)"},
    {DT_PREINIT_ARRAY, CONSTRUCTOR, "constructor (DT_PREINIT_ARRAY)"},
    {DT_PREINIT_ARRAYSZ, CONSTRUCTOR, "constructor (DT_PREINIT_ARRAY)"},
    {DT_FINI, CONSTRUCTOR, "destructor (DT_FINI)"},
    {DT_FINI_ARRAY, CONSTRUCTOR, "destructor (DT_FINI_ARRAY)"},
    {DT_FINI_ARRAYSZ, CONSTRUCTOR, "destructor (DT_FINI_ARRAY)"},
};

static int read_entry(struct object *o, const Elf64_Dyn *d)
{
    const struct dynamic_rule *rule = NULL;
    for (size_t i = 0; i < sizeof(dynamic_rules) / sizeof(dynamic_rules[0]) && !rule; i++)
        rule = dynamic_rules[i].tag == d->d_tag ? &dynamic_rules[i] : NULL;
    if (!rule)
        return refuse(o, "dynamic entry 0x%llx is not allowed", (unsigned long long)d->d_tag);
    switch (rule->rule) {
    case KEEP:
        if (o->entry[d->d_tag] != 0)
            return refuse(o, "dynamic entry 0x%llx is there twice", (unsigned long long)d->d_tag);
        o->entry[d->d_tag] = d->d_un.d_val;
        return 0;
    case CONSTRUCTOR:
        return refuse(o, "the object has a %s: code that would run when it is loaded", rule->name);
    case TEXT: return refuse(o, "the object has text relocations");
    case FLAGS:
        return d->d_un.d_val & ~(uint64_t)(DF_BIND_NOW | DF_SYMBOLIC)
                   ? refuse(o, "dynamic flags 0x%llx are not allowed", (unsigned long long)d->d_un.d_val)
                   : 0;
    case FLAGS_1:
        return d->d_un.d_val & ~(uint64_t)DF_1_NOW
                   ? refuse(o, "dynamic flags (1) 0x%llx are not allowed", (unsigned long long)d->d_un.d_val)
                   : 0;
    case IGNORE:
        if (d->d_tag == DT_GNU_HASH)
            o->gnu_hash = d->d_un.d_ptr;
        return 0;
    case LIBRARY: return 0; /* once the strings are known */
    }
    return 0;
}

static const char *string_at(const struct object *o, uint64_t offset)
{
    if (offset >= o->string_bytes)
        return NULL;
    size_t left = o->string_bytes - offset;
    const char *s = o->strings + offset;
    return memchr(s, '\0', left < NAME_LIMIT ? left : NAME_LIMIT) ? s : NULL;
}

static int check_library(const struct object *o, uint64_t offset)
{
    const char *name = string_at(o, offset);
    if (!name)
        return refuse(o, "the name of a needed library does not lie in the file");
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
        if (strcmp(name, libraries[i]) == 0)
            return 0;
    return refuse(o, "library \"%s\" is not allowed", name);
}

static int read_dynamic(struct object *o)
{
    const Elf64_Phdr *p = o->dynamic;
    int writable;
    const Elf64_Dyn *d = bytes_at(o, p->p_vaddr, p->p_filesz, &writable);
    size_t count = p->p_filesz / sizeof(*d), used = 0;
    if (!d || (uintptr_t)d % 8 != 0 || (uint64_t)((const unsigned char *)d - o->data) != p->p_offset)
        return refuse(o, "the dynamic section does not lie in the file");
    while (used < count && used < DYNAMIC_LIMIT && d[used].d_tag != DT_NULL)
        if (read_entry(o, &d[used++]) != 0)
            return -1;
    if (used == count || used == DYNAMIC_LIMIT)
        return refuse(o, "the dynamic section has no end");
    o->string_bytes = o->entry[DT_STRSZ];
    o->strings = table_at(o, o->entry[DT_STRTAB], o->string_bytes, 1);
    if (!o->strings || o->string_bytes == 0 || o->strings[o->string_bytes - 1] != '\0')
        return refuse(o, "the string table does not lie in the file");
    for (size_t i = 0; i < used; i++)
        if (d[i].d_tag == DT_NEEDED && check_library(o, d[i].d_un.d_val) != 0)
            return -1;
    return 0;
}

/* Walks the GNU hash table as ld.so would; every chain must end inside the file and soon.  Returns the symbol count
 * through o. */
static int read_hash(struct object *o)
{
    const uint32_t *head = table_at(o, o->gnu_hash, 16, 8);
    if (!o->gnu_hash || !head)
        return refuse(o, "the object has no GNU hash table");
    uint64_t buckets = head[0], first = head[1], bloom = head[2];
    if (buckets == 0 || buckets > BUCKET_LIMIT || first > BUCKET_LIMIT || bloom == 0 ||
        bloom > BUCKET_LIMIT || (bloom & (bloom - 1)) != 0 || head[3] > 63)
        return refuse(o, "the GNU hash table is malformed");
    const uint32_t *bucket = table_at(o, o->gnu_hash + 16 + bloom * 8, buckets * 4, 4);
    uint64_t chains = o->gnu_hash + 16 + bloom * 8 + buckets * 4, count = first;
    for (uint64_t i = 0; bucket && i < buckets; i++) {
        if (bucket[i] == 0)
            continue;
        uint64_t at = bucket[i], last = at + CHAIN_LIMIT - 1;
        const uint32_t *chain = at < first ? NULL : table_at(o, chains + (at - first) * 4, 4, 4);
        while (chain && !(*chain & 1) && at < last)
            chain = table_at(o, chains + (++at - first) * 4, 4, 4);
        if (!chain)
            return refuse(o, "a chain of the GNU hash table has no end");
        if (!(*chain & 1))
            return refuse(
                o, "more than %d symbols in one chain of the GNU hash table: it would take long to load",
                CHAIN_LIMIT);
        count = at + 1 > count ? at + 1 : count;
    }
    if (count > SYMBOL_LIMIT)
        return refuse(o, "the object has more than %d symbols; make what only it uses static", SYMBOL_LIMIT);
    o->symbol_count = (size_t)count;
    return bucket ? 0 : refuse(o, "the GNU hash table does not lie in the file");
}

static int read_symbols(struct object *o)
{
    if (read_hash(o) != 0)
        return -1;
    if (o->entry[DT_SYMENT] != sizeof(Elf64_Sym))
        return refuse(o, "the symbol table is malformed");
    o->symbols = table_at(o, o->entry[DT_SYMTAB], o->symbol_count * sizeof(Elf64_Sym), 8);
    if (!o->symbols)
        return refuse(o, "the symbol table does not lie in the file");
    for (size_t i = 1; i < o->symbol_count; i++) {
        const Elf64_Sym *s = &o->symbols[i];
        const char *name = string_at(o, s->st_name);
        unsigned type = ELF64_ST_TYPE(s->st_info);
        if (!name)
            return refuse(o, "the name of a symbol does not lie in the file");
        if (type == STT_GNU_IFUNC)
            return refuse(
                o, "%s is an indirect function (IFUNC): its resolver would run when the object is loaded",
                name);
        if (type == STT_TLS)
            return refuse(o, "thread-local variable %s is not allowed", name);
        if (s->st_shndx == SHN_UNDEF && name[0] && !atoll_object_import_allowed(name))
            return refuse(o, "import of \"%s\" is not allowed", name);
    }
    return 0;
}

/* Whether ld.so may write a word there: in writable memory of the object and not in the dynamic section that
 * it is reading. */
static int is_relocatable(const struct object *o, uint64_t address)
{
    const Elf64_Phdr *dynamic = o->dynamic;
    if (address + 8 > dynamic->p_vaddr && address < dynamic->p_vaddr + dynamic->p_memsz)
        return 0;
    for (size_t i = 0; i < o->segment_count; i++) {
        const Elf64_Phdr *p = o->segments[i];
        if ((p->p_flags & PF_W) && address >= p->p_vaddr && p->p_memsz >= 8 &&
            address - p->p_vaddr <= p->p_memsz - 8)
            return 1;
    }
    return 0;
}

static int check_relocation(const struct object *o, const Elf64_Rela *r)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
    int known = 0;
    for (size_t i = 0; i < sizeof(relocations_allowed) / sizeof(relocations_allowed[0]); i++)
        known |= relocations_allowed[i] == type;
    if (!known)
        return refuse(o, "relocation type %u is not allowed (indirect function or thread-local variable)",
                      type);
    if (ELF64_R_SYM(r->r_info) >= o->symbol_count && ELF64_R_SYM(r->r_info) != 0)
        return refuse(o, "a relocation names a symbol that is not there");
    if (!is_relocatable(o, r->r_offset))
        return refuse(o, "a relocation writes outside the object's data");
    return 0;
}

static int check_relocations(const struct object *o, uint64_t address, uint64_t bytes)
{
    if (bytes == 0)
        return 0;
    const Elf64_Rela *r = table_at(o, address, bytes, 8);
    if (!r || bytes % sizeof(*r) != 0)
        return refuse(o, "a relocation table does not lie in the file");
    size_t symbolic = 0;
    for (size_t i = 0; i < bytes / sizeof(*r); i++) {
        if (check_relocation(o, &r[i]) != 0)
            return -1;
        symbolic += ELF64_R_SYM(r[i].r_info) != 0;
    }
    if (symbolic > SYMBOLIC_LIMIT)
        return refuse(o, "more than %d pointers to symbols that are not static: it would take long to load",
                      SYMBOLIC_LIMIT);
    return 0;
}

static int is_code(const struct object *o, uint64_t address)
{
    for (size_t i = 0; i < o->segment_count; i++) {
        const Elf64_Phdr *p = o->segments[i];
        if ((p->p_flags & PF_X) && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
            return 1;
    }
    return 0;
}

static int find_function(const struct object *o, const char *name)
{
    for (size_t i = 1; i < o->symbol_count; i++) {
        const Elf64_Sym *s = &o->symbols[i];
        const char *its = string_at(o, s->st_name);
        if (!its || strcmp(its, name) != 0 || s->st_shndx == SHN_UNDEF)
            continue;
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || !is_code(o, s->st_value))
            return refuse(o, "%s is not a function", name);
        return 0;
    }
    return refuse(o, "function %s is not in the object", name);
}

int atoll_object_check(const void *data, size_t length, int allow_mutable_globals, const char *const *symbols,
                       size_t symbol_count, struct atoll_err *err)
{
    struct object o = {.data = data, .length = length, .mutable_allowed = allow_mutable_globals, .err = err};
    if ((uintptr_t)data % 8 != 0)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "the object in memory is not aligned");
    if (check_header(&o) != 0 || read_segments(&o) != 0 || read_dynamic(&o) != 0 || read_symbols(&o) != 0)
        return -1;
    if ((o.entry[DT_RELASZ] && o.entry[DT_RELAENT] != sizeof(Elf64_Rela)) ||
        (o.entry[DT_PLTRELSZ] && o.entry[DT_PLTREL] != DT_RELA))
        return refuse(&o, "relocations of another format are not allowed");
    if (check_relocations(&o, o.entry[DT_RELA], o.entry[DT_RELASZ]) != 0 ||
        check_relocations(&o, o.entry[DT_JMPREL], o.entry[DT_PLTRELSZ]) != 0)
        return -1;
    for (size_t i = 0; i < symbol_count; i++)
        if (find_function(&o, symbols[i]) != 0)
            return -1;
    return 0;
}

/* Vector variants call libm where they have no code of their own. */
unsigned atoll_object_calls(const void *data, size_t length)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct object o = {.data = data, .length = length, .mutable_allowed = 1, .err = &err};
    unsigned calls = 0, all = ATOLL_OBJECT_CALLS_LIBM | ATOLL_OBJECT_CALLS_LIBMVEC;
    if ((uintptr_t)data % 8 != 0 || check_header(&o) != 0 || read_segments(&o) != 0 ||
        read_dynamic(&o) != 0 || read_symbols(&o) != 0)
        return all;
    for (size_t i = 1; i < o.symbol_count; i++) {
        const char *name = string_at(&o, o.symbols[i].st_name);
        if (o.symbols[i].st_shndx != SHN_UNDEF || !name[0] || is_primitive(name))
            continue;
        calls |= is_vector_variant(name) ? all : ATOLL_OBJECT_CALLS_LIBM;
    }
    return calls;
}
