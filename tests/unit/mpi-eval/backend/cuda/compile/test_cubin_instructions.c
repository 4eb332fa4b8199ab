/* What each instruction of arithmetic is taken for: PTX as ptxas 13.0 translates it for 8.0, 8.9, 9.0a, 10.0a and 12.0a, a row
 * for each encoding that differs between them. */
#include "tests/support/expect.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "mpi-eval/backend/cuda/compile/cubin.h"

#define HALF     (1u << ATOLL_MIX_FP16)
#define TF32     (1u << ATOLL_MIX_TENSOR_TF32)
#define EIGHTH   (1u << ATOLL_MIX_TENSOR_F8)
#define INTEGERS (1u << ATOLL_MIX_TENSOR_OTHER)

static const struct {
    const char *what;
    uint64_t low, high;
    enum atoll_mix class;
    unsigned conversions;
} rows[] = {
    {"add.f16x2, sm_80", 0x3c003c0000057835, 0x004fce0000000005, ATOLL_MIX_FP16, 0},
    {"add.f16x2, sm_89", 0x0000000500057230, 0x004fca0000000000, ATOLL_MIX_FP16, 0},
    {"add.f16x2, sm_100a", 0x3c003c0000057831, 0x004fca0000000005, ATOLL_MIX_FP16, 0},
    {"mul.f16x2, sm_80", 0x0000000500057235, 0x004fce00001000ff, ATOLL_MIX_FP16, 0},
    {"mul.f16x2, sm_89", 0x0000000500057232, 0x004fca0000000000, ATOLL_MIX_FP16, 0},
    {"mul.f16x2, sm_100a", 0x0000000500057231, 0x004fca00001000ff, ATOLL_MIX_FP16, 0},
    {"fma.f16x2, sm_80", 0x0000000500057235, 0x004fce0000000004, ATOLL_MIX_FP16, 0},
    {"fma.f16x2, sm_89", 0x0000000500057231, 0x004fca0000000004, ATOLL_MIX_FP16, 0},
    {"fma.bf16x2, sm_80", 0x0000000500057231, 0x004fca0000200004, ATOLL_MIX_FP16, 0},
    {"fma.bf16x2, sm_90a", 0x0000000500057235, 0x004fce0000200004, ATOLL_MIX_FP16, 0},
    {"add.bf16x2, sm_90a", 0x3f803f8000057835, 0x004fce0000200005, ATOLL_MIX_FP16, 0},
    {"add.bf16x2, sm_100a", 0x3f803f8000057831, 0x004fca0000200005, ATOLL_MIX_FP16, 0},
    {"mul.bf16x2, sm_90a", 0x0000000500057235, 0x004fce00003000ff, ATOLL_MIX_FP16, 0},
    {"mul.bf16x2, sm_100a", 0x0000000500057231, 0x004fca00003000ff, ATOLL_MIX_FP16, 0},
    {"max.f16x2, sm_80", 0x0000000500057240, 0x004fca0007800000, ATOLL_MIX_FP16, 0},
    {"max.bf16x2, sm_80", 0x0000000500057240, 0x004fca0007a00000, ATOLL_MIX_FP16, 0},
    {"fma.f16, sm_80", 0x2000000500007231, 0x004fca0000040804, ATOLL_MIX_FP16, 0},
    {"add.f16, sm_80", 0x2000000500007230, 0x004fca0000000800, ATOLL_MIX_FP16, 0},
    {"fma.bf16, sm_80", 0x2000000500007231, 0x004fca0000240804, ATOLL_MIX_FP16, 0},
    {"setp.f16, sm_80", 0x3000000000007234, 0x004fca0003f0e800, ATOLL_MIX_FP16, 0},
    {"set.f16x2, sm_80", 0x0000000500057233, 0x004fca0003801080, ATOLL_MIX_FP16, 0},
    {"set.bf16x2, sm_90a", 0x0000000500057233, 0x004fca0003801082, ATOLL_MIX_FP16, 0},
    {"ex2.f16, sm_80", 0x0000000000057308, 0x004e240000000a00, ATOLL_MIX_TRANSCENDENTAL, HALF},
    {"ex2.f16, sm_90a", 0x0000000000057308, 0x004e240000000900, ATOLL_MIX_TRANSCENDENTAL, HALF},
    {"ex2.f16x2, sm_80", 0x0000000000047308, 0x004ff00000000a00, ATOLL_MIX_TRANSCENDENTAL, HALF},
    {"ex2.f16x2, sm_90a", 0x0000000000047308, 0x004ff00000000900, ATOLL_MIX_TRANSCENDENTAL, HALF},
    {"ex2.bf16x2, sm_90a", 0x0000000000047308, 0x004ff00000000a00, ATOLL_MIX_TRANSCENDENTAL, HALF},
    {"tanh.f16x2, sm_80", 0x0000000000047308, 0x004ff00000002600, ATOLL_MIX_TRANSCENDENTAL, HALF},
    {"tanh.f16x2, sm_90a", 0x0000000000047308, 0x004ff00000002500, ATOLL_MIX_TRANSCENDENTAL, HALF},
    {"tanh.bf16x2, sm_90a", 0x0000000000047308, 0x004ff00000002600, ATOLL_MIX_TRANSCENDENTAL, HALF},
    {"tanh.f32, sm_80", 0x0000000000057308, 0x004e240000002400, ATOLL_MIX_TRANSCENDENTAL, 0},
    {"ex2.f32, sm_80", 0x0000000000057308, 0x000e240000000800, ATOLL_MIX_TRANSCENDENTAL, 0},
    {"cvt.f16.f32, sm_80", 0x00000000ff00723e, 0x004fca00000000ff, ATOLL_MIX_OTHER, HALF},
    {"cvt.f16x2.f32, sm_80", 0x000000050005723e, 0x004fca00000000ff, ATOLL_MIX_OTHER, HALF},
    {"cvt.bf16.f32, sm_80", 0x00000000ff00723e, 0x004fca00000010ff, ATOLL_MIX_OTHER, HALF},
    {"cvt.bf16x2.f32, sm_80", 0x000000050005723e, 0x004fca00000010ff, ATOLL_MIX_OTHER, HALF},
    {"cvt.rz.bf16, sm_80", 0x00000000ff00723e, 0x004fca00000190ff, ATOLL_MIX_OTHER, HALF},
    {"cvt.rn.tf32, sm_90a", 0x00000005ff05723e, 0x004fca00024050ff, ATOLL_MIX_OTHER, TF32},
    {"cvt.e4m3x2.f32, sm_89", 0x000000050005723e, 0x004fca00048070ff, ATOLL_MIX_OTHER, EIGHTH},
    {"cvt.e5m2x2.f32, sm_89", 0x000000050005723e, 0x004fca00048060ff, ATOLL_MIX_OTHER, EIGHTH},
    {"cvt.e4m3x2.f16x2, sm_89", 0x00000000ff05723e, 0x004fca00048032ff, ATOLL_MIX_OTHER, EIGHTH},
    {"cvt.e2m3x2, sm_100a", 0x000000050005723e, 0x004fca00046060ff, ATOLL_MIX_OTHER, EIGHTH},
    {"cvt.ue8m0x2, sm_100a", 0x000000050005723e, 0x004fca0004c1e0ff, ATOLL_MIX_OTHER, EIGHTH},
    {"cvt.f16x2.e4m3x2, sm_89", 0x00000000ff05723e, 0x004fca00020006ff, ATOLL_MIX_OTHER, 0},
    {"cvt.f16.f64, sm_80", 0x0000000200037310, 0x004e240000300800, ATOLL_MIX_OTHER, HALF},
    {"cvt.f32.f64, sm_80", 0x0000000200037310, 0x004e240000301000, ATOLL_MIX_OTHER, 0},
    {"cvt.f64.f32, sm_80", 0x0000000200027310, 0x004e240000201800, ATOLL_MIX_OTHER, 0},
    {"cvt.rni.f32, sm_80", 0x0000000000057307, 0x004e240000201000, ATOLL_MIX_OTHER, 0},
    {"cvt.rni.f16, sm_80", 0x0000000000057307, 0x004e240000100800, ATOLL_MIX_OTHER, HALF},
    {"cvt.f16.s32, sm_80", 0x0000000000057306, 0x004e240000200c00, ATOLL_MIX_OTHER, HALF},
    {"cvt.f32.s32, sm_80", 0x0000000000057306, 0x004e240000201400, ATOLL_MIX_OTHER, 0},
    {"cvt.f32.s32, sm_89", 0x0000000000057245, 0x004fca0000201400, ATOLL_MIX_OTHER, 0},
    {"fma.f32x2, sm_100a", 0x0000000402027249, 0x004fca0000000002, ATOLL_MIX_FP32, 0},
    {"fma.f32x2, sm_120a", 0x0000000402027223, 0x004fe20000000002, ATOLL_MIX_FP32, 0},
    {"add.f32x2, sm_100a", 0x000000040202724b, 0x004fca0000000000, ATOLL_MIX_FP32, 0},
    {"add.f32x2, sm_120a", 0x0000000402027221, 0x004fe20000000000, ATOLL_MIX_FP32, 0},
    {"mul.f32x2, sm_100a", 0x000000040202724a, 0x004fca0000000000, ATOLL_MIX_FP32, 0},
    {"mul.f32x2, sm_120a", 0x0000000402027220, 0x004fe20000400000, ATOLL_MIX_FP32, 0},
    {"mma.f16, sm_80", 0x000000000404723c, 0x010fde0000001008, ATOLL_MIX_TENSOR_F16, 0},
    {"mma.f16acc, sm_80", 0x000000000404723c, 0x004fde0000000004, ATOLL_MIX_TENSOR_F16, 0},
    {"mma.bf16, sm_80", 0x000000000404723c, 0x010fde0000041008, ATOLL_MIX_TENSOR_F16, 0},
    {"mma.sp.f16, sm_80", 0x000004060404723c, 0x010fde0000001a08, ATOLL_MIX_TENSOR_F16, 0},
    {"mma.sp.f16, sm_100a", 0x00000c020a04723c, 0x000fde0000001a04, ATOLL_MIX_TENSOR_F16, 0},
    {"mma.tf32, sm_80", 0x000000000404723c, 0x010fde0000085008, ATOLL_MIX_TENSOR_TF32, 0},
    {"mma.s8, sm_80", 0x0000000604047237, 0x004fde0000405404, ATOLL_MIX_TENSOR_OTHER, INTEGERS},
    {"mma.s4, sm_80", 0x0000000604047237, 0x004fde0000585c04, ATOLL_MIX_TENSOR_OTHER, INTEGERS},
    {"mma.s4, sm_90a", 0x0000000e04087237, 0x000fe800004054ff, ATOLL_MIX_TENSOR_OTHER, INTEGERS},
    {"mma.b1, sm_80", 0x000000060404723d, 0x004fde0000014c04, ATOLL_MIX_TENSOR_OTHER, INTEGERS},
    {"mma.f64, sm_80", 0x000000060404723f, 0x004e360000000004, ATOLL_MIX_TENSOR_OTHER, 0},
    {"mma.e4m3, sm_89", 0x000000060404727a, 0x010ff60000002c08, ATOLL_MIX_TENSOR_F8, 0},
    {"mma.f8f6f4, sm_120a", 0x000000060404727a, 0x010fde000028ec08, ATOLL_MIX_TENSOR_F8, 0},
    {"mma.mxf4, sm_120a", 0x705004060404747f, 0x010fde0000083e08, ATOLL_MIX_TENSOR_F8, 0},
    {"mma.mxf8, sm_120a", 0x705004060404747a, 0x010fde0000003e08, ATOLL_MIX_TENSOR_F8, 0},
    {"wgmma.f16, sm_90a", 0x00000000041879f0, 0x000fe6000b800818, ATOLL_MIX_TENSOR_F16, 0},
    {"wgmma.bf16, sm_90a", 0x00000000041879f0, 0x000fe6000b801818, ATOLL_MIX_TENSOR_F16, 0},
    {"wgmma.tf32, sm_90a", 0x04000000041879f0, 0x000fe6000b802818, ATOLL_MIX_TENSOR_TF32, 0},
    {"wgmma.e4m3, sm_90a", 0x00000000041879f3, 0x000fe6000b800818, ATOLL_MIX_TENSOR_F8, 0},
    {"wgmma.s8, sm_90a", 0x00000000041879f1, 0x000fe6000b841018, ATOLL_MIX_TENSOR_OTHER, INTEGERS},
    {"wgmma.b1, sm_90a", 0x00000000041879f2, 0x000fe6000b814018, ATOLL_MIX_TENSOR_OTHER, INTEGERS},
    {"tcgen05.f16, sm_100a", 0x00ff040a080075ea, 0x0001d80008000006, ATOLL_MIX_TENSOR_F16, 0},
    {"tcgen05.tf32, sm_100a", 0x00ff040a080075ea, 0x0001d80008000006, ATOLL_MIX_TENSOR_F16, 0},
    {"tcgen05.ws, sm_100a", 0x00ff040a080075ea, 0x0001d800080a0006, ATOLL_MIX_TENSOR_F16, 0},
    {"tcgen05.sp.f16, sm_100a", 0x00ff0a08060075ea, 0x0001d80008000004, ATOLL_MIX_TENSOR_F16, 0},
    {"tcgen05.i8, sm_100a", 0x00ff040a080075ea, 0x0001d80008000106, ATOLL_MIX_TENSOR_OTHER, INTEGERS},
    {"tcgen05.f8f6f4, sm_100a", 0x00ff040a080075ea, 0x0001d80008000306, ATOLL_MIX_TENSOR_F8, 0},
    {"tcgen05.mxf8f6f4, sm_100a", 0x0008040c0a007dea, 0x0001d80008000306, ATOLL_MIX_TENSOR_F8, 0},
    {"tcgen05.mxf4, sm_100a", 0xc008040c0a0075ea, 0x0001d80008000006, ATOLL_MIX_TENSOR_F8, 0},
    {"tcgen05.mxf4nvf4, sm_100a", 0x8008040c0a0075ea, 0x0001d80008000006, ATOLL_MIX_TENSOR_F8, 0},
    {"a constant through the half-precision pipe, sm_100a", 0x00001000ff057431, 0x000fe200000001ff,
     ATOLL_MIX_INTEGER, 0},
};

static unsigned char image[1 << 16];

/* The image with another first instruction of its kernel "twice". */
static void read_with(size_t length, uint64_t low, uint64_t high, struct atoll_cubin_kernel *ret)
{
    static struct atoll_cubin cubin;
    struct atoll_err err = ATOLL_ERR_INIT;
    Elf64_Ehdr head;
    Elf64_Shdr names, s;
    memcpy(&head, image, sizeof(head));
    memcpy(&names, image + head.e_shoff + head.e_shstrndx * sizeof(names), sizeof(names));
    for (size_t i = 0; i < head.e_shnum; i++) {
        memcpy(&s, image + head.e_shoff + i * sizeof(s), sizeof(s));
        if (strcmp((const char *)image + names.sh_offset + s.sh_name, ".text.twice") != 0)
            continue;
        memcpy(image + s.sh_offset, &low, 8);
        memcpy(image + s.sh_offset + 8, &high, 8);
    }
    if (atoll_cubin_read(image, length, "", &cubin, &err) != 0)
        fail_msg("%s", err.text);
    const struct atoll_cubin_kernel *k = atoll_cubin_find(&cubin, "twice");
    assert_non_null(k);
    *ret = *k;
}

static void test_instructions(void **state)
{
    struct atoll_cubin_kernel bare, k;
    FILE *f = fopen(ATOLL_SOURCE_DIR "/tests/fixtures/cubin/mixed_90a.cubin", "rb");
    (void)state;
    assert_non_null(f);
    size_t length = fread(image, 1, sizeof(image), f);
    fclose(f);
    read_with(length, 0x7918, 0, &bare); /* NOP */
    assert_int_equal(bare.conversions, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        read_with(length, rows[i].low, rows[i].high, &k);
        for (unsigned class = 0; class <= ATOLL_MIX_OTHER; class ++)
            if (k.mix[class] != bare.mix[class] + (class == rows[i].class))
                fail_msg("%s: %u more of class %s", rows[i].what, k.mix[class] - bare.mix[class],
                         atoll_mix_name((enum atoll_mix) class));
        if (k.conversions != rows[i].conversions)
            fail_msg("%s: conversions %#x, not %#x", rows[i].what, k.conversions, rows[i].conversions);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_instructions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
