#include "mpi-eval/backend/cuda/compile/sass.h"

#define INSTRUCTION_BYTES 16
#define OPERATION_MASK    0x1ffu
#define NOP               0x118u
#define HFMA2_MMA         0x035u
#define HMMA              0x03cu
#define HGMMA             0x1f0u
#define ZERO_REGISTER     0xffu

/* Classes plus one; what is not listed is OTHER. */
#define CLASS(name) (ATOLL_MIX_##name + 1)
static const unsigned char classes[OPERATION_MASK + 1] = {
    [0x002] = CLASS(INTEGER),        /* MOV */
    [0x005] = CLASS(INTEGER),        /* CS2R */
    [0x007] = CLASS(INTEGER),        /* SEL */
    [0x008] = CLASS(FP32),           /* FSEL */
    [0x009] = CLASS(FP32),           /* FMNMX */
    [0x00b] = CLASS(FP32),           /* FSETP */
    [0x00c] = CLASS(INTEGER),        /* ISETP */
    [0x010] = CLASS(INTEGER),        /* IADD3 */
    [0x011] = CLASS(INTEGER),        /* LEA */
    [0x012] = CLASS(INTEGER),        /* LOP3 */
    [0x013] = CLASS(INTEGER),        /* IABS */
    [0x016] = CLASS(INTEGER),        /* PRMT */
    [0x017] = CLASS(INTEGER),        /* IMNMX */
    [0x019] = CLASS(INTEGER),        /* SHF */
    [0x01c] = CLASS(INTEGER),        /* PLOP3 */
    [0x020] = CLASS(FP32),           /* FMUL */
    [0x021] = CLASS(FP32),           /* FADD */
    [0x023] = CLASS(FP32),           /* FFMA */
    [0x024] = CLASS(INTEGER),        /* IMAD */
    [0x025] = CLASS(INTEGER),        /* IMAD.WIDE */
    [0x026] = CLASS(INTEGER),        /* IDP */
    [0x027] = CLASS(INTEGER),        /* IMAD.HI */
    [0x028] = CLASS(FP64),           /* DMUL */
    [0x029] = CLASS(FP64),           /* DADD */
    [0x02a] = CLASS(FP64),           /* DSETP */
    [0x02b] = CLASS(FP64),           /* DFMA */
    [0x030] = CLASS(FP16),           /* HADD2 */
    [0x031] = CLASS(FP16),           /* HFMA2 */
    [0x032] = CLASS(FP16),           /* HMUL2 */
    [0x035] = CLASS(FP16),           /* HFMA2.MMA */
    [0x036] = CLASS(INTEGER),        /* VIADD */
    [0x037] = CLASS(TENSOR_OTHER),   /* IMMA */
    [0x03b] = CLASS(SHARED),         /* LDSM */
    [0x03c] = CLASS(TENSOR_F16),     /* HMMA */
    [0x03f] = CLASS(TENSOR_OTHER),   /* DMMA */
    [0x040] = CLASS(FP16),           /* HMNMX2 */
    [0x046] = CLASS(INTEGER),        /* VIADDMNMX */
    [0x048] = CLASS(INTEGER),        /* VIMNMX */
    [0x07a] = CLASS(TENSOR_F8),      /* QMMA */
    [0x082] = CLASS(INTEGER),        /* UMOV */
    [0x087] = CLASS(INTEGER),        /* USEL */
    [0x08c] = CLASS(INTEGER),        /* UISETP */
    [0x090] = CLASS(INTEGER),        /* UIADD3 */
    [0x091] = CLASS(INTEGER),        /* ULEA */
    [0x092] = CLASS(INTEGER),        /* ULOP3 */
    [0x097] = CLASS(INTEGER),        /* UIADD3.64 */
    [0x099] = CLASS(INTEGER),        /* USHF */
    [0x0a4] = CLASS(INTEGER),        /* UIMAD */
    [0x0a5] = CLASS(INTEGER),        /* UIMAD.WIDE */
    [0x0bd] = CLASS(INTEGER),        /* UFLO */
    [0x100] = CLASS(INTEGER),        /* FLO */
    [0x101] = CLASS(INTEGER),        /* BREV */
    [0x108] = CLASS(TRANSCENDENTAL), /* MUFU */
    [0x109] = CLASS(INTEGER),        /* POPC */
    [0x11d] = CLASS(BARRIER),        /* BAR */
    [0x141] = CLASS(BRANCH),         /* BSYNC */
    [0x143] = CLASS(BRANCH),         /* CALL */
    [0x144] = CLASS(BRANCH),         /* CALL */
    [0x145] = CLASS(BRANCH),         /* BSSY */
    [0x147] = CLASS(BRANCH),         /* BRA */
    [0x148] = CLASS(BARRIER),        /* WARPSYNC */
    [0x14d] = CLASS(BRANCH),         /* EXIT */
    [0x150] = CLASS(BRANCH),         /* RET */
    [0x180] = CLASS(GLOBAL_LOAD),    /* LD */
    [0x181] = CLASS(GLOBAL_LOAD),    /* LDG */
    [0x183] = CLASS(LOCAL),          /* LDL */
    [0x184] = CLASS(SHARED),         /* LDS */
    [0x185] = CLASS(GLOBAL_STORE),   /* ST */
    [0x186] = CLASS(GLOBAL_STORE),   /* STG */
    [0x187] = CLASS(LOCAL),          /* STL */
    [0x188] = CLASS(SHARED),         /* STS */
    [0x18a] = CLASS(ATOMIC),         /* ATOM */
    [0x18c] = CLASS(ATOMIC),         /* ATOMS */
    [0x18d] = CLASS(ATOMIC),         /* ATOMS.CAS */
    [0x18e] = CLASS(ATOMIC),         /* RED */
    [0x192] = CLASS(BARRIER),        /* MEMBAR */
    [0x1a2] = CLASS(ATOMIC),         /* ATOM, floats */
    [0x1a6] = CLASS(ATOMIC),         /* REDG, floats */
    [0x1a7] = CLASS(BARRIER),        /* SYNCS */
    [0x1a8] = CLASS(ATOMIC),         /* ATOMG */
    [0x1a9] = CLASS(ATOMIC),         /* ATOMG.CAS */
    [0x1ae] = CLASS(ASYNC_COPY),     /* LDGSTS */
    [0x1b2] = CLASS(BARRIER),        /* SYNCS, uniform */
    [0x1b4] = CLASS(ASYNC_COPY),     /* UTMALDG */
    [0x1b5] = CLASS(ASYNC_COPY),     /* UTMASTG */
    [0x1ba] = CLASS(ASYNC_COPY),     /* UBLKCP */
    [0x1c5] = CLASS(BARRIER),        /* WARPGROUP */
    [0x1c6] = CLASS(BARRIER),        /* FENCE */
    [0x1c7] = CLASS(BARRIER),        /* UCGABAR */
    [0x1f0] = CLASS(TENSOR_F16),     /* HGMMA */
    [0x1f3] = CLASS(TENSOR_F8),      /* QGMMA */
};

static uint64_t word_at(const unsigned char *bytes)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

/* Operations whose class depends on more than their number. */
static enum atoll_mix class_of(unsigned operation, uint64_t low, uint64_t high)
{
    enum atoll_mix class = classes[operation] ? (enum atoll_mix)(classes[operation] - 1) : ATOLL_MIX_OTHER;
    if (operation == HMMA && high >> 19 & 1)
        return ATOLL_MIX_TENSOR_TF32;
    if (operation == HGMMA && (high >> 12 & 3) == 2)
        return ATOLL_MIX_TENSOR_TF32;
    /* The compiler moves constants through the half-precision pipe: -RZ * RZ + constant. */
    if (operation == HFMA2_MMA && (low >> 24 & 0xff) == ZERO_REGISTER)
        return ATOLL_MIX_INTEGER;
    return class;
}

void atoll_sass_count(const unsigned char *code, size_t length, uint32_t mix[ATOLL_MIX_COUNT])
{
    for (size_t at = 0; at + INSTRUCTION_BYTES <= length; at += INSTRUCTION_BYTES) {
        uint64_t low = word_at(code + at);
        unsigned operation = (unsigned)low & OPERATION_MASK;
        if (operation != NOP)
            mix[class_of(operation, low, word_at(code + at + 8))]++;
    }
}
