/* instructions.c - a length decoder: prefixes, opcode map, ModRM, displacement, immediate; nothing of what an instruction does is
 * known but for arithmetic on floats. */
#include "mpi-eval/backend/cpu/compile/instructions.h"

#include <elf.h>
#include <string.h>

#define TEXT_LIMIT ((size_t)16 << 20)

enum map { LEGACY, ESCAPE_0F, ESCAPE_0F38, ESCAPE_0F3A, MAP_4, HALF_5, HALF_6 };

struct instruction {
    enum map map;
    unsigned opcode, modrm;
    unsigned prefix;         /* 0 none, 1 66, 2 F3, 3 F2: of a legacy one the last, else pp */
    int has_wide, has_short; /* REX.W, VEX.W; 66 as size of operands */
    int is_vex;
    unsigned bytes; /* of its vectors; 16 without VEX */
};

struct reader {
    const unsigned char *bytes;
    size_t length, at;
};

static unsigned next(struct reader *r)
{
    unsigned byte = r->at < r->length ? r->bytes[r->at] : 0;
    r->at++;
    return byte;
}

/* Ranges of opcodes of the one-byte map with a ModRM byte. */
static int legacy_has_modrm(unsigned op)
{
    if (op < 0x40)
        return (op & 7) < 4;
    return op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x80 && op <= 0x8f) || op == 0xc0 || op == 0xc1 ||
           op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op <= 0xd3) || (op >= 0xd8 && op <= 0xdf) ||
           op == 0xf6 || op == 0xf7 || op >= 0xfe;
}

static unsigned legacy_immediate(const struct instruction *i)
{
    unsigned op = i->opcode, word = i->has_short ? 2 : 4;
    if (op < 0x40)
        return (op & 7) == 4 ? 1 : (op & 7) == 5 ? word : 0;
    if (op >= 0xb8 && op <= 0xbf)
        return i->has_wide ? 8 : word;
    if (op == 0xf6 || op == 0xf7)
        return (i->modrm >> 3 & 7) > 1 ? 0 : op == 0xf6 ? 1 : word;
    switch (op) {
    case 0x68:
    case 0x69:
    case 0x81:
    case 0xa9:
    case 0xc7: return word;
    case 0xe8:
    case 0xe9: return 4;
    case 0xc2:
    case 0xca: return 2;
    case 0xc8: return 3;
    case 0xa0:
    case 0xa1:
    case 0xa2:
    case 0xa3: return 8;
    case 0x6a:
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xa8:
    case 0xc0:
    case 0xc1:
    case 0xc6:
    case 0xcd:
    case 0xeb: return 1;
    default:
        return (op >= 0x70 && op <= 0x7f) || (op >= 0xb0 && op <= 0xb7) || (op >= 0xe0 && op <= 0xe7) ? 1 : 0;
    }
}

static int escaped_has_modrm(unsigned op)
{
    return !((op >= 0x05 && op <= 0x09) || op == 0x0b || (op >= 0x30 && op <= 0x37) || op == 0x77 ||
             (op >= 0x80 && op <= 0x8f) || (op >= 0xa0 && op <= 0xa2) || (op >= 0xa8 && op <= 0xaa) ||
             (op >= 0xc8 && op <= 0xcf));
}

static unsigned escaped_immediate(unsigned op)
{
    if (op >= 0x80 && op <= 0x8f)
        return 4;
    return (op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 || op == 0xc4 ||
                   op == 0xc5 || op == 0xc6
               ? 1
               : 0;
}

/* What stands behind a ModRM byte: SIB and displacement. */
static void skip_address(struct reader *r, unsigned modrm)
{
    unsigned mod = modrm >> 6, rm = modrm & 7;
    unsigned displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (mod == 3)
        return;
    if (rm == 4)
        rm = next(r) & 7; /* the base stands in the SIB byte */
    if (mod == 0 && rm == 5)
        displacement = 4;
    r->at += displacement;
}

static void read_vex(struct reader *r, unsigned first, struct instruction *i)
{
    unsigned p0 = next(r), p1 = first == 0xc5 ? p0 : next(r), p2 = first == 0x62 ? next(r) : 0;
    i->is_vex = 1;
    i->map = first == 0xc5 ? ESCAPE_0F : (enum map)(p0 & (first == 0x62 ? 7 : 31));
    i->prefix = p1 & 3;
    i->has_wide = first != 0xc5 && p1 >> 7 & 1;
    i->bytes = first == 0x62 ? 16u << (p2 >> 5 & 3) : p1 >> 2 & 1 ? 32 : 16;
    i->opcode = next(r);
    if (!(i->map == ESCAPE_0F && i->opcode == 0x77)) {
        i->modrm = next(r);
        if (first == 0x62 && (p2 >> 4 & 1) && i->modrm >> 6 == 3)
            i->bytes = 64; /* of registers with a rounding mode where the length stands */
        skip_address(r, i->modrm);
    }
    r->at += i->map == ESCAPE_0F3A ? 1 : i->map == ESCAPE_0F ? escaped_immediate(i->opcode) : 0;
}

static void read_legacy(struct reader *r, unsigned first, struct instruction *i)
{
    int has_modrm;
    i->opcode = first;
    if (first == 0x0f) {
        i->opcode = next(r);
        i->map = i->opcode == 0x38 ? ESCAPE_0F38 : i->opcode == 0x3a ? ESCAPE_0F3A : ESCAPE_0F;
        if (i->map != ESCAPE_0F)
            i->opcode = next(r);
    }
    has_modrm = i->map == LEGACY      ? legacy_has_modrm(i->opcode)
                : i->map == ESCAPE_0F ? escaped_has_modrm(i->opcode)
                                      : 1;
    if (has_modrm) {
        i->modrm = next(r);
        skip_address(r, i->modrm);
    }
    r->at += i->map == LEGACY        ? legacy_immediate(i)
             : i->map == ESCAPE_0F   ? escaped_immediate(i->opcode)
             : i->map == ESCAPE_0F3A ? 1
                                     : 0;
}

static void read_instruction(struct reader *r, struct instruction *i)
{
    memset(i, 0, sizeof(*i));
    i->bytes = 16;
    for (;;) {
        unsigned byte = next(r);
        if (byte == 0x66) {
            i->has_short = 1;
            i->prefix = i->prefix ? i->prefix : 1;
        } else if (byte == 0xf3 || byte == 0xf2) {
            i->prefix = byte == 0xf3 ? 2 : 3;
        } else if (byte >= 0x40 && byte <= 0x4f) {
            i->has_wide = byte >> 3 & 1;
        } else if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
            read_vex(r, byte, i);
            return;
        } else if (byte != 0x2e && byte != 0x36 && byte != 0x3e && byte != 0x26 && byte != 0x64 &&
                   byte != 0x65 && byte != 0x67 && byte != 0xf0) {
            read_legacy(r, byte, i);
            return;
        }
        if (r->at >= r->length)
            return;
    }
}

/* sqrt, rsqrt, rcp, add, mul, sub, min, div, max */
static int is_arithmetic(const struct instruction *i)
{
    unsigned op = i->opcode;
    return (i->map == ESCAPE_0F || (i->is_vex && i->map == HALF_5)) &&
           ((op >= 0x51 && op <= 0x53) || op == 0x58 || op == 0x59 || (op >= 0x5c && op <= 0x5f));
}

static int is_fused(const struct instruction *i)
{
    unsigned high = i->opcode >> 4, low = i->opcode & 15;
    return i->is_vex && (i->map == ESCAPE_0F38 || i->map == HALF_6) && i->prefix == 1 && high >= 9 &&
           high <= 0xb && low >= 6;
}

static void count(const struct instruction *i, uint32_t mix[ATOLL_MIX_COUNT])
{
    int fused = is_fused(i), is_double = fused ? i->has_wide : (int)(i->prefix & 1),
        is_scalar = i->prefix >= 2;
    if (fused) /* 96 and 97 alternate adding and subtracting: packed, both */
        is_scalar = (i->opcode & 1) && (i->opcode & 15) != 7;
    if (i->is_vex && i->map == ESCAPE_0F38 && i->opcode >= 0x90 && i->opcode <= 0x93)
        mix[ATOLL_MIX_GATHER]++;
    if (!fused && !is_arithmetic(i)) {
        mix[ATOLL_MIX_OTHER]++;
        return;
    }
    mix[i->map == HALF_5 || i->map == HALF_6 ? ATOLL_MIX_OTHER
        : is_double                          ? ATOLL_MIX_FP64
                                             : ATOLL_MIX_FP32]++;
    mix[ATOLL_MIX_FUSED] += (uint32_t)fused;
    mix[is_scalar        ? ATOLL_MIX_SCALAR
        : i->bytes == 64 ? ATOLL_MIX_VECTOR_512
        : i->bytes == 32 ? ATOLL_MIX_VECTOR_256
                         : ATOLL_MIX_VECTOR_128]++;
}

static void count_section(const unsigned char *bytes, size_t length, uint32_t mix[ATOLL_MIX_COUNT])
{
    struct reader r = {bytes, length < TEXT_LIMIT ? length : TEXT_LIMIT, 0};
    while (r.at < r.length) {
        struct instruction i;
        read_instruction(&r, &i);
        if (r.at <= r.length)
            count(&i, mix);
    }
}

void atoll_instructions_count(const void *object, size_t length, uint32_t mix[ATOLL_MIX_COUNT])
{
    const unsigned char *bytes = object;
    Elf64_Ehdr head;
    if (length < sizeof(head))
        return;
    memcpy(&head, bytes, sizeof(head));
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_machine != EM_X86_64 || head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shoff > length)
        return;
    for (size_t i = 0; i < head.e_shnum && (i + 1) * sizeof(Elf64_Shdr) <= length - head.e_shoff; i++) {
        Elf64_Shdr s;
        memcpy(&s, bytes + head.e_shoff + i * sizeof(s), sizeof(s));
        if (s.sh_type == SHT_PROGBITS && (s.sh_flags & SHF_EXECINSTR) && s.sh_offset <= length &&
            s.sh_size <= length - s.sh_offset)
            count_section(bytes + s.sh_offset, (size_t)s.sh_size, mix);
    }
}

const char *atoll_instructions_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return "x86-64-v2";
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
               ? "x86-64-v4"
               : "x86-64-v3";
#else
    return "";
#endif
}
