/* cubin.c - an ELF64 file of NVIDIA's: .text.<kernel> holds a kernel's code, .nv.info.<kernel> its attributes,
 * .nv.shared.<kernel> its static shared memory, .nv.info what concerns functions by symbol, .nv.global and
 * .nv.global.init the module's variables.  Attributes are entries of (format, code, value); a format of 4 has a size
 * and that many bytes. */
#include "mpi-eval/backend/cuda/compile/cubin.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTION_LIMIT   8192
#define SHARED_RESERVED 1024u /* bytes of a block that are the system's, from 8.0 on */
#define STACK_DEFAULT   1024u /* bytes of a thread's stack where no frame tells (CU_LIMIT_STACK_SIZE) */
#define ABI_SPLIT       8     /* from this version of the ABI on the target is the second byte of the flags */

/* ---- machine instructions of compute capability 7.0 to 12.0 ----
 * Instructions have 16 bytes; the low nine bits are the operation, three more say
 * what its operands are.  Read off nvdisasm's output for compiled kernels of 8.0, 9.0a, 10.0a and 12.0a. */

#define INSTRUCTION_BYTES 16
#define OPERATION_MASK    0x1ffu
#define MOV               0x002u
#define IMAD              0x024u
#define ULDC              0x0b9u
#define LDC               0x182u
#define LDCU              0x1acu
#define CONSTANT_OPERAND  5u /* form of an operand: in a bank */
#define NOP               0x118u
#define CS2R              0x005u
#define S2R               0x119u
#define S2UR              0x1c3u
#define CCTL              0x18fu
#define PREEXIT           0x02du
#define ACQBULK           0x02eu
#define HFMA2             0x031u
#define HFMA2_MMA         0x035u
#define F2FP              0x03eu
#define HMMA              0x03cu
#define IMMA              0x037u
#define BMMA              0x03du
#define UTCMMA            0x1eau
#define MUFU              0x108u
#define F2F               0x104u
#define I2F               0x106u
#define FRND              0x107u
#define WIDE              0x00cu /* added to these three: one side has 64 bits */
#define HGMMA             0x1f0u
#define IGMMA             0x1f1u
#define BGMMA             0x1f2u
#define QGMMA             0x1f3u
#define LD                0x180u
#define LDG               0x181u
#define ST                0x185u
#define STG               0x186u
#define UTMALDG           0x1b4u
#define UTMASTG           0x1b5u
#define UTMAREDG          0x1b6u
#define UBLKCP            0x1bau
#define LDL               0x183u
#define LDS               0x184u
#define STL               0x187u
#define STS               0x188u
#define CALL_ABSOLUTE     0x143u
#define CALL_RELATIVE     0x144u
#define ALWAYS            7u /* predicate of what is always carried out */
#define ZERO_REGISTER     0xffu
#define STACK_REGISTER    1u /* of the ABI's */

/* special registers, and what CCTL does */
#define SR_CLOCK            0x50u
#define SR_GLOBALTIMER_HIGH 0x53u
#define SR_PM               0x64u /* eight of 64 bits, two numbers each */
#define CCTL_PREFETCH_LAST  9u
#define CCTL_APPLY_PRIORITY 10u
#define CCTL_DISCARD        11u

/* By operation: class plus one (what is not listed is OTHER), and the name that nvdisasm has for it. */
#define CLASS(name) (ATOLL_MIX_##name + 1)
static const struct {
    unsigned char class;
    const char *name;
} operations[OPERATION_MASK + 1] = {
    [0x002] = {CLASS(INTEGER), "MOV"},         [0x005] = {CLASS(INTEGER), "CS2R"},
    [0x007] = {CLASS(INTEGER), "SEL"},         [0x008] = {CLASS(FP32), "FSEL"},
    [0x009] = {CLASS(FP32), "FMNMX"},          [0x00b] = {CLASS(FP32), "FSETP"},
    [0x00c] = {CLASS(INTEGER), "ISETP"},       [0x010] = {CLASS(INTEGER), "IADD3"},
    [0x011] = {CLASS(INTEGER), "LEA"},         [0x012] = {CLASS(INTEGER), "LOP3"},
    [0x013] = {CLASS(INTEGER), "IABS"},        [0x016] = {CLASS(INTEGER), "PRMT"},
    [0x017] = {CLASS(INTEGER), "IMNMX"},       [0x019] = {CLASS(INTEGER), "SHF"},
    [0x01c] = {CLASS(INTEGER), "PLOP3"},       [0x020] = {CLASS(FP32), "FMUL"},
    [0x021] = {CLASS(FP32), "FADD"},           [0x023] = {CLASS(FP32), "FFMA"},
    [0x024] = {CLASS(INTEGER), "IMAD"},        [0x025] = {CLASS(INTEGER), "IMAD.WIDE"},
    [0x026] = {CLASS(INTEGER), "IDP"},         [0x027] = {CLASS(INTEGER), "IMAD.HI"},
    [0x028] = {CLASS(FP64), "DMUL"},           [0x029] = {CLASS(FP64), "DADD"},
    [0x02a] = {CLASS(FP64), "DSETP"},          [0x02b] = {CLASS(FP64), "DFMA"},
    [0x02d] = {CLASS(OTHER), "PREEXIT"},       [0x02e] = {CLASS(OTHER), "ACQBULK"},
    [0x02f] = {CLASS(OTHER), "ELECT"},         [0x030] = {CLASS(FP16), "HADD2"},
    [0x033] = {CLASS(FP16), "HSET2"},          [0x034] = {CLASS(FP16), "HSETP2"},
    [0x03d] = {CLASS(TENSOR_OTHER), "BMMA"},   [0x03e] = {CLASS(OTHER), "F2FP"},
    [0x049] = {CLASS(FP32), "FFMA2"},          [0x04a] = {CLASS(FP32), "FMUL2"},
    [0x04b] = {CLASS(FP32), "FADD2"},          [0x07f] = {CLASS(TENSOR_F8), "OMMA"},
    [0x107] = {CLASS(OTHER), "FRND"},          [0x1ea] = {CLASS(TENSOR_F16), "UTCMMA"},
    [0x031] = {CLASS(FP16), "HFMA2"},          [0x032] = {CLASS(FP16), "HMUL2"},
    [0x035] = {CLASS(FP16), "HFMA2.MMA"},      [0x036] = {CLASS(INTEGER), "VIADD"},
    [0x037] = {CLASS(TENSOR_OTHER), "IMMA"},   [0x03b] = {CLASS(SHARED), "LDSM"},
    [0x03c] = {CLASS(TENSOR_F16), "HMMA"},     [0x03f] = {CLASS(TENSOR_OTHER), "DMMA"},
    [0x040] = {CLASS(FP16), "HMNMX2"},         [0x045] = {CLASS(OTHER), "I2FP"},
    [0x046] = {CLASS(INTEGER), "VIADDMNMX"},   [0x048] = {CLASS(INTEGER), "VIMNMX"},
    [0x07a] = {CLASS(TENSOR_F8), "QMMA"},      [0x082] = {CLASS(INTEGER), "UMOV"},
    [0x086] = {CLASS(OTHER), "VOTEU"},         [0x087] = {CLASS(INTEGER), "USEL"},
    [0x08c] = {CLASS(INTEGER), "UISETP"},      [0x090] = {CLASS(INTEGER), "UIADD3"},
    [0x091] = {CLASS(INTEGER), "ULEA"},        [0x092] = {CLASS(INTEGER), "ULOP3"},
    [0x096] = {CLASS(OTHER), "UPRMT"},         [0x097] = {CLASS(INTEGER), "UIADD3.64"},
    [0x099] = {CLASS(INTEGER), "USHF"},        [0x0a4] = {CLASS(INTEGER), "UIMAD"},
    [0x0a5] = {CLASS(INTEGER), "UIMAD.WIDE"},  [0x0b9] = {CLASS(OTHER), "ULDC"},
    [0x0bd] = {CLASS(INTEGER), "UFLO"},        [0x0bf] = {CLASS(OTHER), "UPOPC"},
    [0x100] = {CLASS(INTEGER), "FLO"},         [0x101] = {CLASS(INTEGER), "BREV"},
    [0x104] = {CLASS(OTHER), "F2F"},           [0x105] = {CLASS(OTHER), "F2I"},
    [0x106] = {CLASS(OTHER), "I2F"},           [0x108] = {CLASS(TRANSCENDENTAL), "MUFU"},
    [0x109] = {CLASS(INTEGER), "POPC"},        [0x110] = {CLASS(OTHER), "F2F"},
    [0x111] = {CLASS(OTHER), "F2I"},           [0x112] = {CLASS(OTHER), "I2F"},
    [0x113] = {CLASS(OTHER), "FRND"},          [0x118] = {CLASS(OTHER), "NOP"},
    [0x119] = {CLASS(OTHER), "S2R"},           [0x11a] = {CLASS(OTHER), "DEPBAR"},
    [0x11b] = {CLASS(OTHER), "ENDCOLLECTIVE"}, [0x11c] = {CLASS(OTHER), "B2R"},
    [0x11d] = {CLASS(BARRIER), "BAR"},         [0x141] = {CLASS(BRANCH), "BSYNC"},
    [0x142] = {CLASS(OTHER), "BREAK"},         [0x143] = {CLASS(BRANCH), "CALL"},
    [0x144] = {CLASS(BRANCH), "CALL"},         [0x145] = {CLASS(BRANCH), "BSSY"},
    [0x147] = {CLASS(BRANCH), "BRA"},          [0x148] = {CLASS(BARRIER), "WARPSYNC"},
    [0x149] = {CLASS(OTHER), "BRX"},           [0x14d] = {CLASS(BRANCH), "EXIT"},
    [0x14e] = {CLASS(OTHER), "LEPC"},          [0x150] = {CLASS(BRANCH), "RET"},
    [0x158] = {CLASS(OTHER), "BRXU"},          [0x15d] = {CLASS(OTHER), "NANOSLEEP"},
    [0x180] = {CLASS(GLOBAL_LOAD), "LD"},      [0x181] = {CLASS(GLOBAL_LOAD), "LDG"},
    [0x182] = {CLASS(OTHER), "LDC"},           [0x183] = {CLASS(LOCAL), "LDL"},
    [0x184] = {CLASS(SHARED), "LDS"},          [0x185] = {CLASS(GLOBAL_STORE), "ST"},
    [0x186] = {CLASS(GLOBAL_STORE), "STG"},    [0x187] = {CLASS(LOCAL), "STL"},
    [0x188] = {CLASS(SHARED), "STS"},          [0x189] = {CLASS(OTHER), "SHFL"},
    [0x18a] = {CLASS(ATOMIC), "ATOM"},         [0x18c] = {CLASS(ATOMIC), "ATOMS"},
    [0x18d] = {CLASS(ATOMIC), "ATOMS.CAS"},    [0x18e] = {CLASS(ATOMIC), "REDG"},
    [0x18f] = {CLASS(OTHER), "CCTL"},          [0x192] = {CLASS(BARRIER), "MEMBAR"},
    [0x1a2] = {CLASS(ATOMIC), "ATOM.F"},       [0x1a3] = {CLASS(OTHER), "ATOMG"},
    [0x1a6] = {CLASS(ATOMIC), "REDG.F"},       [0x1a7] = {CLASS(BARRIER), "SYNCS"},
    [0x1a8] = {CLASS(ATOMIC), "ATOMG"},        [0x1a9] = {CLASS(ATOMIC), "ATOMG.CAS"},
    [0x1ab] = {CLASS(OTHER), "ERRBAR"},        [0x1ae] = {CLASS(ASYNC_COPY), "LDGSTS"},
    [0x1af] = {CLASS(OTHER), "LDGDEPBAR"},     [0x1b2] = {CLASS(BARRIER), "SYNCS"},
    [0x1b4] = {CLASS(ASYNC_COPY), "UTMALDG"},  [0x1b5] = {CLASS(ASYNC_COPY), "UTMASTG"},
    [0x1b6] = {CLASS(OTHER), "UTMAREDG"},      [0x1ba] = {CLASS(ASYNC_COPY), "UBLKCP"},
    [0x1c3] = {CLASS(OTHER), "S2UR"},          [0x1c5] = {CLASS(BARRIER), "WARPGROUP"},
    [0x1c6] = {CLASS(BARRIER), "FENCE"},       [0x1c7] = {CLASS(BARRIER), "UCGABAR"},
    [0x1f0] = {CLASS(TENSOR_F16), "HGMMA"},    [0x1f1] = {CLASS(TENSOR_OTHER), "IGMMA"},
    [0x1f2] = {CLASS(TENSOR_OTHER), "BGMMA"},  [0x1f3] = {CLASS(TENSOR_F8), "QGMMA"},
};

static uint64_t word_at(const unsigned char *bytes)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

/* Where the driver puts %gridid and %current_graph_exec into bank 0, in front of a kernel's parameters: bytes, read off ptxas's
 * output for 8.0, 9.0a, 10.0a and 12.0a. */
static const struct {
    unsigned least_target;
    uint32_t grid, graph;
} launch_numbers[] = {{100, 0x140, 0x2e8}, {90, 0x30, 0x190}, {80, 0x30, 0x130}};

static int reads_launch_number(unsigned operation, uint64_t low, unsigned target)
{
    unsigned form = (unsigned)(low >> 9 & 7), bank = (unsigned)(low >> 54 & 0x1f);
    uint32_t at = (uint32_t)(low >> (operation == LDCU ? 37 : 38) & (operation == LDCU ? 0x1ffff : 0xffff));
    int has_constant = operation == LDC || operation == LDCU || operation == ULDC ||
                       (operation == MOV && form == CONSTANT_OPERAND) ||
                       (operation == IMAD && form == CONSTANT_OPERAND);
    if (!has_constant || bank != 0)
        return 0;
    for (size_t i = 0; i < sizeof(launch_numbers) / sizeof(*launch_numbers); i++)
        if (target >= launch_numbers[i].least_target)
            return at / 8 * 8 == launch_numbers[i].grid || at / 8 * 8 == launch_numbers[i].graph;
    return 0;
}

/* What a rule refuses in a source and an instruction shows all the same: read off ptxas's output for 7.5, 8.0, 9.0a, 10.0a and
 * 12.0a.  Policies of cache hints are numbers like any other: PTX tells them, an image does not. */
static const char *breaks_of(unsigned operation, uint64_t low, uint64_t high, unsigned target)
{
    unsigned special = (unsigned)(high >> 8 & 0xff), cache = (unsigned)(high >> 23 & 0xf);
    if (reads_launch_number(operation, low, target))
        return "reads the number of its launch";
    switch (operation) {
    case CS2R:
    case S2R:
    case S2UR:
        return special >= SR_CLOCK && special <= SR_GLOBALTIMER_HIGH ? "reads a clock"
               : special >= SR_PM && special < SR_PM + 16            ? "reads a performance monitor"
                                                                     : NULL;
    case CCTL:
        return cache == CCTL_DISCARD                                         ? "discards lines of the cache"
               : cache == CCTL_APPLY_PRIORITY || cache == CCTL_PREFETCH_LAST ? "makes lines stay in the cache"
                                                                             : NULL;
    case ACQBULK:
    case PREEXIT: return "waits for, or starts, another launch";
    default: return NULL;
    }
}

/* tcgen05.mma: integers, f8 and below, or f16 and tf32, which only its descriptor in a register tells apart: taken for the
 * lesser of both.  Packed f4 (UTCOMMA) is marked beside the kind. */
static enum atoll_mix tensor_class_of(uint64_t low, uint64_t high)
{
    unsigned kind = (unsigned)(high >> 8 & 3);
    return kind == 1                ? ATOLL_MIX_TENSOR_OTHER
           : kind != 0 || low >> 62 ? ATOLL_MIX_TENSOR_F8
                                    : ATOLL_MIX_TENSOR_F16;
}

/* Operations whose class depends on more than their number. */
static enum atoll_mix class_of(unsigned operation, uint64_t low, uint64_t high)
{
    enum atoll_mix class =
        operations[operation].class ? (enum atoll_mix)(operations[operation].class - 1) : ATOLL_MIX_OTHER;
    if (operation == HMMA && high >> 19 & 1)
        return ATOLL_MIX_TENSOR_TF32;
    if (operation == UTCMMA)
        return tensor_class_of(low, high);
    if (operation == HGMMA && (high >> 12 & 3) == 2)
        return ATOLL_MIX_TENSOR_TF32;
    /* The compiler moves constants through the half-precision pipe: -RZ * RZ + constant. */
    if ((operation == HFMA2_MMA || operation == HFMA2) && (low >> 24 & 0xff) == ZERO_REGISTER)
        return ATOLL_MIX_INTEGER;
    return class;
}

/* What an instruction makes numbers less exact by, other than by arithmetic of a class of its own; read off ptxas's output for
 * 8.0, 8.9, 9.0a, 10.0a and 12.0a.  cvt.rna.tf32 is integer arithmetic there, and shows in products alone. */
static unsigned conversion_of(unsigned operation, uint64_t low, uint64_t high)
{
    const unsigned half = 1u << ATOLL_MIX_FP16;
    unsigned format = (unsigned)(high >> 8 & 0xfffff), to = (unsigned)(high >> 11 & 7);
    switch (operation) {
    case MUFU: return high >> 8 & 3 ? half : 0; /* of f16, bf16 */
    case F2F:
    case F2F + WIDE:
    case I2F:
    case I2F + WIDE:
    case FRND:
    case FRND + WIDE: return to == 1 || to == 4 ? half : 0;
    case F2FP:
        if (format & 0x40000)
            return 1u << ATOLL_MIX_TENSOR_F8;
        if ((format & 0x200f0) == 0x20050)
            return 1u << ATOLL_MIX_TENSOR_TF32;
        return format & 0x20000 ? 0 : half; /* the former unpacks */
    case IMMA:
    case BMMA:
    case IGMMA:
    case BGMMA: return 1u << ATOLL_MIX_TENSOR_OTHER;
    case UTCMMA: return 1u << tensor_class_of(low, high) & 1u << ATOLL_MIX_TENSOR_OTHER;
    default: return 0;
    }
}

/* What is counted besides its class; COUNT: nothing.  Accesses of 128 bits have size 6. */
static enum atoll_mix feature_of(unsigned operation, uint64_t high)
{
    switch (operation) {
    case HGMMA:
    case IGMMA:
    case BGMMA:
    case QGMMA: return ATOLL_MIX_WARPGROUP;
    case UTMALDG:
    case UTMASTG:
    case UTMAREDG:
    case UBLKCP: return ATOLL_MIX_BULK_COPY;
    case LD:
    case LDG:
    case ST:
    case STG: return (high >> 9 & 7) == 6 ? ATOLL_MIX_WIDE_ACCESS : ATOLL_MIX_COUNT;
    default: return ATOLL_MIX_COUNT;
    }
}

static int moves_stack(uint64_t low)
{
    return (low >> 16 & 0xff) == STACK_REGISTER && (low >> 24 & 0xff) == STACK_REGISTER;
}

/* ---- the ELF file ---- */

/* Attribute codes, as cuobjdump names them. */
enum {
    FORMAT_SIZED = 4,
    EIATTR_MAX_THREADS = 0x05,
    EIATTR_REQNTID = 0x10,
    EIATTR_FRAME_SIZE = 0x11,
    EIATTR_KPARAM_INFO = 0x17,
    EIATTR_REGCOUNT = 0x2f
};

/* Instructions that move the stack, and by how much the last of them does, where that is a number. */
struct stack_moves {
    unsigned count;
    int32_t by;
};

struct image {
    const unsigned char *bytes;
    size_t length;
    Elf64_Ehdr head;
    const char *names;
    size_t names_length;
    struct atoll_cubin *cubin;
    struct stack_moves moves[ATOLL_CUBIN_KERNEL_LIMIT], other_moves;
};

static int broken(struct atoll_err *err, const char *what)
{
    return atoll_err_set(err, ATOLL_E_INPUT, "the compiler's output is no device image: %s", what);
}

static int section_at(const struct image *m, size_t index, Elf64_Shdr *ret)
{
    if (index >= m->head.e_shnum)
        return -1;
    memcpy(ret, m->bytes + m->head.e_shoff + index * sizeof(*ret), sizeof(*ret));
    if (ret->sh_type == SHT_NOBITS)
        return 0;
    return ret->sh_offset <= m->length && ret->sh_size <= m->length - ret->sh_offset ? 0 : -1;
}

/* A text of a table, "" when it does not end inside. */
static const char *text_at(const char *table, size_t length, size_t at)
{
    return at < length && memchr(table + at, 0, length - at) ? table + at : "";
}

static const char *section_name(const struct image *m, const Elf64_Shdr *s)
{
    return text_at(m->names, m->names_length, s->sh_name);
}

static int head_read(struct image *m, struct atoll_err *err)
{
    Elf64_Shdr names;
    if (m->length < sizeof(m->head))
        return broken(err, "too short");
    memcpy(&m->head, m->bytes, sizeof(m->head));
    if (memcmp(m->head.e_ident, ELFMAG, SELFMAG) != 0 || m->head.e_ident[EI_CLASS] != ELFCLASS64)
        return broken(err, "not an ELF64 file");
    if (m->head.e_machine != EM_CUDA)
        return broken(err, "not for a CUDA device");
    if (m->head.e_shentsize != sizeof(Elf64_Shdr) || m->head.e_shnum > SECTION_LIMIT ||
        m->head.e_shoff > m->length || (m->length - m->head.e_shoff) / sizeof(Elf64_Shdr) < m->head.e_shnum)
        return broken(err, "its sections do not fit");
    if (section_at(m, m->head.e_shstrndx, &names) != 0 || names.sh_type == SHT_NOBITS)
        return broken(err, "its names are missing");
    m->names = (const char *)m->bytes + names.sh_offset;
    m->names_length = (size_t)names.sh_size;
    unsigned flags = m->head.e_flags;
    m->cubin->target = m->head.e_ident[EI_ABIVERSION] >= ABI_SPLIT ? flags >> 8 & 0xff : flags & 0xff;
    return 0;
}

static struct atoll_cubin_kernel *kernel_find(struct atoll_cubin *c, const char *name)
{
    for (size_t i = 0; i < c->kernel_count; i++)
        if (strcmp(c->kernels[i].name, name) == 0)
            return &c->kernels[i];
    return NULL;
}

/* ---- attributes ---- */

struct attribute {
    unsigned format, code;
    const unsigned char *bytes;
    size_t length;
};

/* 1: an entry; 0: the end or garbage. */
static int attribute_next(const unsigned char **at, const unsigned char *end, struct attribute *a)
{
    if (end - *at < 4)
        return 0;
    const unsigned char *p = *at;
    *a = (struct attribute){p[0], p[1], p + 2, 2};
    *at = p + 4;
    if (a->format != FORMAT_SIZED)
        return 1;
    size_t size = p[2] | (size_t)p[3] << 8;
    if ((size_t)(end - *at) < size)
        return 0;
    a->bytes = *at;
    a->length = size;
    *at += size;
    return 1;
}

static uint32_t u32_at(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void param_take(struct atoll_cubin_kernel *k, const unsigned char *p)
{
    uint32_t ordinal = p[4] | (uint32_t)p[5] << 8;
    if (ordinal >= ATOLL_CUBIN_PARAM_LIMIT)
        return;
    k->params[ordinal].offset = p[6] | (uint32_t)p[7] << 8;
    k->params[ordinal].bytes = u32_at(p + 8) >> 18; /* below it alignment, space and bank */
    if (ordinal >= k->param_count)
        k->param_count = ordinal + 1;
}

/* ---- symbols ---- */

struct symbols {
    const unsigned char *bytes;
    size_t count;
    const char *names;
    size_t names_length;
};

static int symbols_read(const struct image *m, struct symbols *ret)
{
    Elf64_Shdr s, names;
    for (size_t i = 0; i < m->head.e_shnum; i++) {
        if (section_at(m, i, &s) != 0 || s.sh_type != SHT_SYMTAB)
            continue;
        if (section_at(m, s.sh_link, &names) != 0 || names.sh_type == SHT_NOBITS)
            return -1;
        *ret = (struct symbols){m->bytes + s.sh_offset, (size_t)s.sh_size / sizeof(Elf64_Sym),
                                (const char *)m->bytes + names.sh_offset, (size_t)names.sh_size};
        return 0;
    }
    return -1;
}

static const char *symbol_at(const struct symbols *t, size_t index, Elf64_Sym *ret)
{
    if (index >= t->count) {
        memset(ret, 0, sizeof(*ret));
        return "";
    }
    memcpy(ret, t->bytes + index * sizeof(*ret), sizeof(*ret));
    return text_at(t->names, t->names_length, ret->st_name);
}

static void module_attributes(const struct image *m, const struct symbols *t, const unsigned char *at,
                              size_t length)
{
    const unsigned char *end = at + length;
    struct attribute a;
    Elf64_Sym symbol;
    while (attribute_next(&at, end, &a)) {
        if (a.format != FORMAT_SIZED || a.length < 8 ||
            (a.code != EIATTR_REGCOUNT && a.code != EIATTR_FRAME_SIZE))
            continue;
        struct atoll_cubin_kernel *k = kernel_find(m->cubin, symbol_at(t, u32_at(a.bytes), &symbol));
        if (k && a.code == EIATTR_REGCOUNT)
            k->registers = u32_at(a.bytes + 4);
        else if (k)
            k->stack_bytes = u32_at(a.bytes + 4);
    }
}

/* ---- sections ---- */

static const char *after(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 ? name + n : NULL;
}

static int is_kernel(const struct image *m, const char *name)
{
    char info[160];
    Elf64_Shdr s;
    snprintf(info, sizeof(info), ".nv.info.%s", name);
    for (size_t i = 0; i < m->head.e_shnum; i++)
        if (section_at(m, i, &s) == 0 && strcmp(section_name(m, &s), info) == 0)
            return 1;
    return 0;
}

static void stack_follow(const struct image *m, const Elf64_Shdr *s, struct stack_moves *moves)
{
    for (size_t at = 0; at + INSTRUCTION_BYTES <= (size_t)s->sh_size; at += INSTRUCTION_BYTES) {
        uint64_t low = word_at(m->bytes + s->sh_offset + at);
        if (!moves_stack(low))
            continue;
        moves->count++;
        moves->by = (int32_t)(uint32_t)(low >> 32);
    }
}

static int kernels_read(struct image *m, struct atoll_err *err)
{
    struct atoll_cubin *c = m->cubin;
    Elf64_Shdr s;
    for (size_t i = 0; i < m->head.e_shnum; i++) {
        const char *name;
        if (section_at(m, i, &s) != 0)
            return broken(err, "a section reaches beyond its end");
        name = after(section_name(m, &s), ".text.");
        if (!name || s.sh_type == SHT_NOBITS)
            continue;
        for (size_t at = 0; at + INSTRUCTION_BYTES <= (size_t)s.sh_size && !c->breaks;
             at += INSTRUCTION_BYTES) {
            const unsigned char *instruction = m->bytes + s.sh_offset + at;
            c->breaks = breaks_of((unsigned)word_at(instruction) & OPERATION_MASK, word_at(instruction),
                                  word_at(instruction + 8), c->target);
            if (c->breaks)
                snprintf(c->breaks_in, sizeof(c->breaks_in), "%s", name);
        }
        if (!is_kernel(m, name)) {
            stack_follow(m, &s, &m->other_moves);
            continue;
        }
        if (c->kernel_count == ATOLL_CUBIN_KERNEL_LIMIT || strlen(name) >= sizeof(c->kernels[0].name))
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "more than %d kernels, or a name of more than %zu characters",
                                 ATOLL_CUBIN_KERNEL_LIMIT, sizeof(c->kernels[0].name) - 1);
        stack_follow(m, &s, &m->moves[c->kernel_count]);
        struct atoll_cubin_kernel *k = &c->kernels[c->kernel_count++];
        snprintf(k->name, sizeof(k->name), "%s", name);
        k->registers = s.sh_info >> 24; /* of images without the attribute */
        k->code_bytes = (uint32_t)s.sh_size;
        int has_calls = 0;
        /* Adds the instructions of code to mix; padding (NOP) does not count.  length: whole instructions are read. */
        for (size_t at = 0; at + INSTRUCTION_BYTES <= ((size_t)s.sh_size); at += INSTRUCTION_BYTES) {
            uint64_t low = word_at((m->bytes + s.sh_offset) + at),
                     high = word_at((m->bytes + s.sh_offset) + at + 8);
            unsigned operation = (unsigned)low & OPERATION_MASK;
            enum atoll_mix feature = feature_of(operation, high);
            has_calls |= operation == CALL_ABSOLUTE || operation == CALL_RELATIVE;
            k->conversions |= conversion_of(operation, low, high);
            if (operation != NOP)
                k->mix[class_of(operation, low, high)]++;
            if (feature != ATOLL_MIX_COUNT)
                k->mix[feature]++;
        }
        k->local_bytes = has_calls ? STACK_DEFAULT : 0;
    }
    return 0;
}

/* Nothing but kernels moves the stack (any function may be called), each once and by its frame: what they call, the slow path of a
 * division say, lies on no stack, and a function that calls itself must. */
static int is_framed(const struct image *m)
{
    for (size_t i = 0; i < m->cubin->kernel_count; i++)
        if (m->moves[i].count > 1 ||
            (m->moves[i].count == 1 && m->moves[i].by != -(int64_t)m->cubin->kernels[i].stack_bytes))
            return 0;
    return m->other_moves.count == 0;
}

static void details_read(const struct image *m, const struct symbols *t)
{
    Elf64_Shdr s;
    for (size_t i = 0; i < m->head.e_shnum; i++) {
        if (section_at(m, i, &s) != 0)
            continue;
        const char *name = section_name(m, &s), *of;
        struct atoll_cubin_kernel *k;
        if (strcmp(name, ".nv.info") == 0 && s.sh_type != SHT_NOBITS)
            module_attributes(m, t, m->bytes + s.sh_offset, (size_t)s.sh_size);
        else if ((of = after(name, ".nv.info.")) && s.sh_type != SHT_NOBITS &&
                 (k = kernel_find(m->cubin, of))) {
            const unsigned char *at = m->bytes + s.sh_offset;
            const unsigned char *end = at + ((size_t)s.sh_size);
            struct attribute a;
            while (attribute_next(&at, end, &a)) {
                if (a.format != FORMAT_SIZED)
                    continue;
                if (a.code == EIATTR_KPARAM_INFO && a.length >= 12)
                    param_take(k, a.bytes);
                else if ((a.code == EIATTR_MAX_THREADS || a.code == EIATTR_REQNTID) && a.length >= 12)
                    k->threads_limit = u32_at(a.bytes) * u32_at(a.bytes + 4) * u32_at(a.bytes + 8);
            }
        } else if ((of = after(name, ".nv.shared.")) && (k = kernel_find(m->cubin, of))) {
            /* From 9.0 on the section counts the system's part, too. */
            uint32_t systems = m->cubin->target >= 90 ? SHARED_RESERVED : 0, all = (uint32_t)s.sh_size;
            k->static_shared_bytes = all > systems ? all - systems : 0;
        } else if (after(name, ".nv.global") ||
                   (after(name, ".nv.constant") && !after(name, ".nv.constant0")))
            m->cubin->state_bytes += s.sh_size;
    }
}

/* "ptxas info : Compiling entry function 'k' for 'sm_90a'", later "... bytes stack frame, 8 bytes spill stores, 8
 * bytes spill loads". */
static void report_read(struct atoll_cubin *c, const char *report)
{
    static const char properties[] = "Function properties for ";
    for (const char *p = report; (p = strstr(p, properties));) {
        char name[128];
        unsigned stack, stores, loads;
        p += sizeof(properties) - 1;
        if (sscanf(p, "%127s %u bytes stack frame, %u bytes spill stores, %u bytes spill loads", name, &stack,
                   &stores, &loads) != 4)
            continue;
        struct atoll_cubin_kernel *k = kernel_find(c, name);
        if (!k)
            continue;
        k->spill_store_bytes = stores;
        k->spill_load_bytes = loads;
    }
}

int atoll_cubin_read(const void *bytes, size_t length, const char *report, struct atoll_cubin *ret_cubin,
                     struct atoll_err *err)
{
    struct atoll_cubin *c = calloc(1, sizeof(*c));
    struct image m = {.bytes = bytes, .length = length, .cubin = c};
    struct symbols symbols;
    if (!c)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a device image");
    int failed = head_read(&m, err) != 0 || kernels_read(&m, err) != 0;
    if (!failed && symbols_read(&m, &symbols) != 0)
        failed = broken(err, "it has no symbols");
    if (!failed) {
        /* Functions that are not here. */
        for (size_t i = 1; i < symbols.count; i++) {
            Elf64_Sym symbol;
            const char *name = symbol_at(&symbols, i, &symbol);
            if (symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL && *name &&
                *name != '.')
                snprintf(c->undefined_name, sizeof(c->undefined_name), "%s", name);
        }
        details_read(&m, &symbols);
        report_read(c, report ? report : "");
        int is_all = is_framed(&m);
        for (size_t i = 0; i < c->kernel_count; i++)
            c->kernels[i].local_bytes = c->kernels[i].stack_bytes + (is_all ? 0 : c->kernels[i].local_bytes);
        *ret_cubin = *c;
    }
    free(c);
    return failed ? -1 : 0;
}

static int is_of_memory(unsigned operation)
{
    return operation == LD || operation == LDG || operation == ST || operation == STG || operation == LDL ||
           operation == STL || operation == LDS || operation == STS;
}

/* "LDG.128", "@P0 BRA": the operation, the width of what moves more than a word, the predicate. */
static void instruction_put(uint64_t low, uint64_t high, struct atoll_buffer *out)
{
    unsigned operation = (unsigned)low & OPERATION_MASK, predicate = (unsigned)(low >> 12 & 7);
    unsigned width = is_of_memory(operation) ? (unsigned)(high >> 9 & 7) : 0;
    if (predicate != ALWAYS)
        atoll_buffer_printf(out, "@%sP%u ", low >> 15 & 1 ? "!" : "", predicate);
    if (operations[operation].name)
        atoll_buffer_printf(out, "%s%s\n", operations[operation].name,
                            width == 6   ? ".128"
                            : width == 5 ? ".64"
                                         : "");
    else
        atoll_buffer_printf(out, "operation 0x%03x\n", operation);
}

int atoll_cubin_list(const void *bytes, size_t length, struct atoll_buffer *out, struct atoll_err *err)
{
    struct atoll_cubin *c = calloc(1, sizeof(*c));
    struct image m = {.bytes = bytes, .length = length, .cubin = c};
    Elf64_Shdr s;
    if (!c)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a device image");
    int failed = head_read(&m, err) != 0;
    for (size_t i = 0; i < m.head.e_shnum && !failed; i++) {
        failed = section_at(&m, i, &s) != 0 ? broken(err, "a section reaches beyond its end") : 0;
        const char *name = failed ? NULL : after(section_name(&m, &s), ".text.");
        if (!name || s.sh_type == SHT_NOBITS)
            continue;
        atoll_buffer_printf(out, "%s:\n", name);
        for (size_t at = 0; at + INSTRUCTION_BYTES <= (size_t)s.sh_size && !out->failed;
             at += INSTRUCTION_BYTES) {
            uint64_t low = word_at(m.bytes + s.sh_offset + at),
                     high = word_at(m.bytes + s.sh_offset + at + 8);
            if (((unsigned)low & OPERATION_MASK) == NOP)
                continue;
            atoll_buffer_printf(out, "%05zx ", at);
            instruction_put(low, high, out);
        }
    }
    free(c);
    return failed ? -1 : 0;
}

const struct atoll_cubin_kernel *atoll_cubin_find(const struct atoll_cubin *cubin, const char *name)
{
    for (size_t i = 0; i < cubin->kernel_count; i++)
        if (strcmp(cubin->kernels[i].name, name) == 0)
            return &cubin->kernels[i];
    return NULL;
}

int atoll_cubin_stack(const void *bytes, size_t length, const char *const *kernels, size_t count,
                      uint32_t *ret_bytes, struct atoll_err *err)
{
    struct atoll_cubin *cubin = calloc(1, sizeof(*cubin));
    uint32_t most = 0;
    if (!cubin)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an image");
    int rc = atoll_cubin_read(bytes, length, "", cubin, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct atoll_cubin_kernel *k = atoll_cubin_find(cubin, kernels[i]);
        if (!k)
            rc = atoll_err_set(err, ATOLL_E_INPUT, "the image has no kernel %s", kernels[i]);
        else if (k->stack_bytes > most)
            most = k->stack_bytes;
    }
    if (rc == 0)
        *ret_bytes = most;
    free(cubin);
    return rc;
}

/* ---- occupancy ---- */

#define REGISTER_UNIT 256u /* registers are given to warps in these portions */
#define WARP_UNIT     4u   /* and warps to schedulers in fours */
#define SHARED_UNIT   128u

static uint32_t round_up(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

double atoll_cubin_occupancy(const struct atoll_cubin_kernel *kernel,
                             const struct atoll_device_limits *limits, uint32_t threads_per_block,
                             uint32_t dynamic_shared_bytes, enum atoll_occupancy_limit *ret_by)
{
    *ret_by = ATOLL_OCCUPANCY_UNKNOWN;
    if (!limits->warp_size || !limits->threads_per_multiprocessor || !threads_per_block ||
        threads_per_block > limits->threads_per_block)
        return 0;
    uint32_t warps = (threads_per_block + limits->warp_size - 1) / limits->warp_size;
    uint32_t most = limits->threads_per_multiprocessor / limits->warp_size;
    uint32_t per_warp = round_up(kernel->registers * limits->warp_size, REGISTER_UNIT);
    uint32_t held = per_warp ? limits->registers_per_multiprocessor / per_warp / WARP_UNIT * WARP_UNIT : most;
    uint32_t shared = kernel->static_shared_bytes + dynamic_shared_bytes +
                      (limits->compute_capability >= 80 ? SHARED_RESERVED : 0);
    shared = round_up(shared, SHARED_UNIT);
    const struct {
        uint32_t blocks;
        enum atoll_occupancy_limit by;
    } bounds[] = {{limits->blocks_per_multiprocessor, ATOLL_OCCUPANCY_BLOCKS},
                  {most / warps, ATOLL_OCCUPANCY_WARPS},
                  {held / warps, ATOLL_OCCUPANCY_REGISTERS},
                  {shared ? limits->shared_bytes_per_multiprocessor / shared : ~0u, ATOLL_OCCUPANCY_SHARED}};
    size_t least = 0;
    for (size_t i = 1; i < sizeof(bounds) / sizeof(*bounds); i++)
        if (bounds[i].blocks < bounds[least].blocks)
            least = i;
    *ret_by = bounds[least].by;
    return (double)bounds[least].blocks * warps / most;
}
