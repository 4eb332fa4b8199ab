/* test_rules_cuda.c - every CUDA rule breaks on its own snippet and not on its innocent twin. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "core/rules/rules.h"

#define ASM(text)  "__device__ void f() { asm volatile(" text "); }"
#define BODY(text) "__device__ void f() { " text " }"

static const struct {
    const char *rule, *source, *twin; /* twin: NULL where another row has one */
} rows[] = {
    {"trigraph",
     "int x;\n?"
     "?=define A 1\n",
     "const bool x = a ? b : 1;"},
    {"comment", "/* open", "/* closed */"},
    {"odd-byte", "const int \xce\xb1 = 1;", "/* \xce\xb1 */"},
    {"odd-byte", "#if 0\nit's\n#endif\n", NULL},
    {"control-byte", "// x \r__device__ int memo;\n", "// x \r\n__device__ const int memo = 1;\r\n"},
    {"control-byte", "// x \\\r \n__device__ int memo;\n", "// x \\\r\n__device__ int memo;\n"},
    {"splice", "// x \\ \n__device__ int memo;\n", "// x \\\n__device__ int memo;\n"},
    {"define", "#define __device__\n", "#define DEVICE __device__\n"},
    {"define", "#define F(aligned) aligned\n", "#define F(align) align\n"},
    {"odd-byte", "const int a$b = 1;", "const int a_b = 1;"},
    {"odd-byte", "const int a = 1'000;", "const int a = 1000;"},
    {"digraph", "template <class T> struct S<::T> {};", "template <class T> struct S< ::T> {};"},
    {"pasting", "#define J(a, b) a##b\n", "#define J(a, b) (a + b)\n"},
    {"raw-string", "const char *const s = R\"(/*)\";", "const char *const s = \"R(/*)\";"},
    {"directive", "#line 7 \"x\"\n", "#define LINE 7\n"},
    {"directive", "#include_next <mma.h>\n", "#include <mma.h>\n"},
    {"include", "#include <stdio.h>\n",
     "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda.h>\n"},
    {"include", "#include \"mma.h\"\n", "#include <cooperative_groups.h>\n"},
    {"include", "#include <cutlass/../../etc/passwd>\n", "#include <cutlass/gemm/device/gemm.h>\n"},
    {"include", "#include <cuda/std/>\n", "#include <cuda/std/cstdint>\n"},
    {"include", "#include <cute>\n", "#include <cute/tensor.hpp>\n"},
    {"include", "#include </cute/tensor.hpp>\n", "#include <cuda/ptx>\n#include <cuda/barrier>\n"},
    {"include", "#include <cub/device/device_reduce.cuh>\n", "#include <cub/block/block_reduce.cuh>\n"},
    {"include", "#include MMA\n", "#include <cooperative_groups/memcpy_async.h>\n"},
    {"pragma", "#pragma weak f\n", "#pragma unroll 4\n#pragma nv_diag_suppress 177\n"},
    {"pragma", "#pragma\nunroll\n", "#pragma nounroll\n"},
    {"probe", "#if __has_include(<stdio.h>)\n#endif\n",
     "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900\n#endif\n"},
    {"stamp", "const int t = sizeof(__TIME__);", "const int t = sizeof(float);"},
    {"pragma-operator", "_Pragma(\"unroll\")", "/* _Pragma */"},
    {"attribute", "__attribute__((weak)) __device__ void f();",
     "__attribute__((aligned(8))) __device__ const int a = 1;"},
    {"bracket-attribute", "[[gnu::weak]] __device__ void f();", "[[maybe_unused]] __device__ void f();"},
    {"bracket-attribute", BODY("[[x]] int a;"), BODY("int a = b[ [] { return 1; }() ];")},
    {"label-address", BODY("void *p = &&l; l:;"), BODY("bool p = a && l;")},
    {"builtin", BODY("__builtin_return_address(0);"), BODY("__builtin_assume(n > 0);")},
    {"managed", "__managed__ const int x = 1;", "__device__ const int managed = 1;"},
    {"host", "__host__ void f() {}", "__host__ __device__ void f() {} __device__ __host__ void g() {}"},
    {"host", "int main() { return 0; }", "__device__ int mainloop() { return 0; }"},
    {"dependent-launch", BODY("cudaGridDependencySynchronize();"),
     BODY("__syncthreads(); // cudaGridDependencySynchronize")},
    {"dependent-launch", BODY("cutlass::arch::launch_dependent_grids();"), BODY("launch_grids();")},
    {"runtime", BODY("cudaMemcpy(a, b, 4, 0);"), BODY("cuda::memcpy_async(a, b, 4, bar);")},
    {"runtime", BODY("cuLaunchKernel(0);"),
     "#include <cuda.h>\nextern \"C\" __global__ void k(const __grid_constant__ CUtensorMap a) {}"},
    {"runtime", BODY("cudaStream_t s; cudaGraphLaunch(g, s);"), BODY("cuFloatComplex a = cuCaddf(b, c);")},
    {"device-launch", BODY("k<<<1, 32>>>(x);"), BODY("int a = b << (c < d); X<Y<Z<1>>> q;")},
    {"memory", BODY("void *p = malloc(8);"), BODY("int malloced = 8; const char *s = \"malloc\";")},
    {"memory", BODY("float *p = new float[8];"), BODY("float newest = 8;")},
    {"memory", BODY("delete p;"), "struct S { S(const S &) = delete; };"},
    {"memory", BODY("free(p);"), BODY("int free = 1;")},
    {"print", BODY("printf(\"x\");"), BODY("int printed = 0; /* printf(\"x\") */")},
    {"abort", BODY("__trap();"), BODY("int trap = 1;")},
    {"abort", BODY("assert(a);"),
     BODY("static_assert(sizeof(int) == 4, \"assert(a)\"); bool assert_ok = true;")},
    {"clock", BODY("long t = clock64();"), BODY("int clock64_count = 0;")},
    {"clock", BODY("long t = clock();"), BODY("int clock = 1;")},
    {"clock", BODY("long t = cuda::ptx::get_sreg_globaltimer();"),
     BODY("int t = cuda::ptx::get_sreg_smid();")},
    {"clock", BODY("auto t = cuda::std::chrono::system_clock::now();"), BODY("auto t = chronos();")},
    {"launch-number", BODY("auto n = cuda::ptx::get_sreg_gridid();"),
     BODY("auto n = cuda::ptx::get_sreg_nsmid();")},
    {"launch-number", BODY("auto p = cg::details::get_grid_workspace();"), BODY("cg::this_grid().sync();")},
    {"launch-number", BODY("auto p = cg::details::load_env_reg<2>();"), NULL},
    {"launch-number", BODY("auto n = cuda::ptx::get_sreg_reserved_smem_offset_1();"),
     BODY("auto n = cuda::ptx::get_sreg_dynamic_smem_size();")},
    {"persisting", BODY("auto h = TMA::CacheHintSm90::EVICT_LAST;"),
     BODY("auto h = TMA::CacheHintSm90::EVICT_FIRST;")},
    {"persisting", BODY("unsigned long h = 0x14F0000000000000;"),
     BODY("unsigned long h = 0x12F0000000000000;")},
    {"persisting", BODY("cuda::access_property p;"), BODY("int access = 1;")},
    {"internal", BODY("__nvvm_barrier0();"), BODY("__syncthreads();")},
    {"internal", "extern __device__ const unsigned __cudart_i2opi_f[6];\n", NULL},
    {"internal", BODY("__cudart_i2opi_f[0] = 1;"), BODY("cudart_i2opi_f[0] = 1;")},
    {"internal", BODY("__nv_sinf(x);"),
     BODY("__nv_bfloat162 a = __float2bfloat162_rn(x); __nv_fp8_e4m3 b(x);")},
    {"harness", BODY("int atoll_x;"), BODY("int atolls;")},
    {"global", "__device__ int x;", "__device__ const int x = 1;"},
    {"global", "__device__ float memo[1024];", "__device__ constexpr float table[2] = {1, 2};"},
    {"global", "__device__ int x = 5;", "constexpr int x = 5;"},
    {"global", "__device__ int x{5};", "__constant__ int x = 5;"},
    {"global", "__device__ int x(5);", "__device__ int x(int a);"},
    {"global", "__constant__ int x[4];", "__constant__ int x[4] = {1, 2, 3, 4};"},
    {"global", "int x;", "enum { x };"},
    {"global", "int *x = nullptr;", "static const int x = 1;"},
    {"global", "const int *x;", "const int *const x = nullptr;"},
    {"global", "namespace a { namespace { __device__ int x; } }",
     "namespace a { namespace { __device__ void f(); } }"},
    {"global", "extern \"C\" { __device__ int x; }", "extern \"C\" { __global__ void k(float *x) {} }"},
    {"global", "extern \"C\" __device__ int x;", "extern \"C\" __device__ int x(float *y);"},
    {"global", "struct S { int a; } s;", "struct S { int a; };\nstruct T;"},
    {"global", "__device__ struct { int a; } s = {1};",
     "struct __align__(16) S { int a; int f() { return a; } };"},
    {"global", "template <int N> __device__ int x;",
     "template <int N, class T = S<1>> __device__ T x(T a) { return a; }"},
    {"global", "__device__ int f() { return 1; }\n__device__ int x;",
     "__device__ int f() { return 1; }\n__device__ int g();"},
    {"global", "extern __device__ int x;", "extern __shared__ char x[];"},
    {"global", "__device__ auto x = [] { return 1; };",
     "using F = float (*)(float);\ntypedef float v4 __attribute__((vector_size(16)));"},
    {"global", "struct S f(struct S *s) { return *s; }\n__device__ int x;",
     "static __device__ void f(struct S *s, int a) { s->a = a; }"},
    {"static", BODY("static int calls; calls++;"), BODY("static const int calls = 1;")},
    {"static", BODY("static int calls = 0;"), BODY("static __shared__ float tile[32];")},
    {"static", "struct S { static int a; };",
     "struct S { static __device__ int a(int b); static constexpr int n = 4; };"},
    {"linkage", "__global__ void k(float *x) {}", "extern \"C\" __global__ void k(float *x) {}"},
    {"linkage", "namespace n { __global__ void k(float *x) {} }",
     "extern \"C\" { __global__ void k(float *x) {} }"},
    {"linkage", "extern \"C\" { __device__ void f(); } __global__ void k() {}",
     "extern \"C\" __global__ void __launch_bounds__(256, 2) k(float *x) {}"},
    {"assembly-text", "#define S(x) #x\n", "#define S(x) (x)\n#\n"},
    {"assembly-text", ASM("\"mov.u32 %0, %\" CLK \";\" : \"=r\"(a)"),
     ASM("\"mov.u32 %0, %\" \"laneid;\" : \"=r\"(a)")},
    {"assembly-text", ASM("TEXT : \"=r\"(a)"), ASM("\"mov.u32 %0, 1;\" : \"=r\"(a) : : \"memory\"")},
    {"assembly-text", ASM("\"mov.u32 %0, \\x25clock;\" : \"=r\"(a)"),
     ASM("\"mov.u32 %0, 1;\\n\\t\" : \"=r\"(a)")},
    {"assembly-text", "#define A(x) asm volatile(\"mov.u32 %0, %\" x : \"=r\"(a))\n", NULL},
    {"assembly", ASM("\"// note\\n\\ttrap;\""), ASM("\"// trap;\\n\\tmov.u32 %0, 1;\"")},
    {"assembly", ASM("\"/* note */ .global .u32 memo;\""), ASM("\"/* a */ mov.u32 %0, 1; // b\"")},
    {"assembly", ASM("\"add.u32 %0, %0, 1; // note \\n\"\n\"  brkpt;\""), NULL},
    {"assembly", ASM("\"/* a\" \" note *\" \"/trap;\""), NULL},
    {"assembly-persisting", ASM("\"// note\\n\\tdiscard.global.L2 [%0], 128;\""), NULL},
    {"assembly-system", ASM("\"mov.u64 %0, %%gridid;\" : \"=l\"(a)"),
     ASM("\"mov.u32 %0, %%nctaid.x; // no gridid\" : \"=r\"(a)")},
    {"assembly-system", ASM("\"mov.u32 %0, %%reserved_smem_offset_\"\n\"begin;\" : \"=r\"(a)"),
     ASM("\"mov.u32 %0, %%total_smem_size;\" : \"=r\"(a)")},
    {"assembly-system", ASM("\"mov.u32 %0, %%envreg2;\" : \"=r\"(a)"), NULL},
    {"assembly-clock", ASM("\"mov.u32 %0, %clock;\" : \"=r\"(a)"), ASM("\"mov.u32 %0, %smid;\" : \"=r\"(a)")},
    {"assembly-clock", ASM("\"mov.u64 %0, %CLOCK64;\" : \"=l\"(a)"), NULL},
    {"assembly-clock", ASM("\"mov.u64 %0, %glob\"\n\"altimer;\" : \"=l\"(a)"), NULL},
    {"assembly-clock", "#define T \"mov.u64 %0, %globaltimer;\"\n", "#define T \"mov.u64 %0, 1;\"\n"},
    {"assembly-persisting", ASM("\"createpolicy.fractional.L2::evict_last.b64 %0, 1.0;\" : \"=l\"(p)"),
     ASM("\"createpolicy.fractional.L2::evict_first.b64 %0, 1.0;\" : \"=l\"(p)")},
    {"assembly-persisting", ASM("\"discard.global.L2 [%0], 128;\" :: \"l\"(p)"),
     ASM("\"ld.global.L1::evict_last.f32 %0, [%1];\" : \"=f\"(a) : \"l\"(p)")},
    {"assembly", ASM("\"trap;\""), ASM("\"// no trap here\\n\"")},
    {"assembly", ASM("\"{ .reg .pred p; @p trap; }\""),
     ASM("\"{\\n.reg .pred p;\\n@p bra DONE;\\nDONE:\\n}\"")},
    {"assembly", ASM("\"brkpt;\""), ASM("\"nanosleep.u32 20;\"")},
    {"assembly", ASM("\"call vprintf, (a, b);\""), ASM("\"bar.sync 1, 128;\"")},
    {"assembly", ASM("\"griddepcontrol.wait;\""), ASM("\"cp.async.bulk.wait_group.read 0;\"")},
    {"assembly", ASM("\".global .u32 x;\""), ASM("\"ld.global.u32 %0, [%1];\" : \"=r\"(a) : \"l\"(p)")},
    {"assembly", ASM("\"mov.u32 a, b;\\n .extern .func f;\""), ASM("\"mov.u32 extern, b;\"")},
    {"assembly", ASM("\"st.global.u32 [__cudart_i2opi_f], %0;\" : : \"r\"(a)"),
     ASM("\"st.global.u32 [%1], %0;\" : : \"r\"(a), \"l\"(p)")},
    {"assembly", ASM("\".file 1 \\\"x\\\"\""), NULL},
};

/* Real idioms of Hopper kernels. */
static const char *const honest[] = {
    "",
    "#include <cuda.h>\n#include <cuda_bf16.h>\nextern __shared__ __align__(1024) unsigned char smem[];\n"
    "__device__ __forceinline__ void arrive(unsigned bar, unsigned bytes) {\n"
    "  asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" :: \"r\"(bar), \"r\"(bytes) : "
    "\"memory\"); }\n"
    "__device__ __forceinline__ void wait(unsigned bar, unsigned phase) {\n"
    "  asm volatile(\"{\\n.reg .pred P1;\\nLAB_WAIT:\\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], "
    "%1;\\n\"\n"
    "               \"@P1 bra DONE;\\nbra LAB_WAIT;\\nDONE:\\n}\" :: \"r\"(bar), \"r\"(phase)); }\n"
    "extern \"C\" __global__ void __launch_bounds__(384) gemm(const __grid_constant__ CUtensorMap a, float "
    "*c, int n) {\n"
    "  asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
    "{%3, %4}], [%2];\"\n"
    "    :: \"r\"(0), \"l\"(&a), \"r\"(0), \"r\"(1), \"r\"(2) : \"memory\");\n"
    "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\"); asm "
    "volatile(\"setmaxnreg.inc.sync.aligned.u32 240;\"); }",
    "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\nusing namespace cg;\n"
    "extern \"C\" __global__ void k(float *x) { cg::grid_group g = cg::this_grid(); g.sync(); atomicAdd(x, "
    "1.0f); }",
    "template <int N>\nstruct Tile { float v[N]; __device__ float &operator[](int i) { return v[i]; } };\n"
    "template <typename T> __device__ __forceinline__ T warp_sum(T v) {\n#pragma unroll\n"
    "for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o); return v; }\n",
    "#define DEVICE __device__ __forceinline__\nDEVICE float f(float x) { return __expf(x); }\n"
    "constexpr int TILE = 4 * TM;\nstatic_assert(TILE % 2 == 0, \"even\");\n"
    "static __device__ __forceinline__ float g(const float *__restrict__ x, int i) { return __ldg(x + i); "
    "}\n",
    "union Pack { float4 f; unsigned u[4]; };\nenum class Mode : int { A, B };\ntypedef struct { int a; } "
    "S;\n"
    "__device__ inline S make(int a = 3) { S s = {a}; return s; }\n"
    "__device__ const float2 pair = {1.0f, 2.0f};\nstruct Q { __device__ Q() : a(1) {} int a; };\n",
    "extern \"C\" __global__ void k(float *x) { auto f = [=] __device__(int i) { return x[i]; }; __shared__ "
    "float s[4]; "
    "s[threadIdx.x] = f(0); }",
};

static void refuse(const char *rule, const char *source)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char prefix[64];
    snprintf(prefix, sizeof(prefix), "rule %s, line ", rule);
    if (atoll_rules_check("cuda", source, 1, &err) == 0)
        fail_msg("passed: %s", source);
    assert_int_equal(err.code, ATOLL_E_INPUT);
    if (strncmp(err.text, prefix, strlen(prefix)) != 0)
        fail_msg("%s gave '%s', expected rule %s", source, err.text, rule);
}

static void accept(const char *source)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_rules_check("cuda", source, 1, &err) != 0)
        fail_msg("'%s' gave '%s'", source, err.text);
    assert_int_equal(err.code, ATOLL_OK);
}

static void test_forbidden(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        refuse(rows[i].rule, rows[i].source);
}

static void test_twins(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].twin)
            accept(rows[i].twin);
    for (size_t i = 0; i < sizeof(honest) / sizeof(*honest); i++)
        accept(honest[i]);
}

static void test_lines(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_rules_check("cuda", "\n\n__device__ void f();\n__device__ int x;", 1, &err), -1);
    assert_int_equal(strncmp(err.text, "rule global, line 4: ", 21), 0);
    atoll_err_clear(&err);
    assert_int_equal(atoll_rules_check("cuda", "// a\n" ASM("\"mov.u32\"\n\" %0, %clock;\""), 1, &err), -1);
    assert_int_equal(strncmp(err.text, "rule assembly-clock, line 2: ", 29), 0);
}

static void test_finished_ptx(void **state)
{
    static const struct {
        const char *rule, *text;
    } ptx[] = {
        {NULL, ""},
        {NULL,
         ".version 9.0\n.target sm_90a\n.visible .entry k()\n{\n\tcall.uni f, ();\n\ttrap;\n\tret;\n}\n"},
        {NULL, "// %clock64 of a comment\n/* L2::evict_last */ .global .u32 mallocs;\n"},
        {"assembly-clock", "\tmov.u64 %rd1, %globaltimer;\n"},
        {"assembly-clock", "// a\n\tmov.u32 %r1, %clock;\n"},
        {NULL, "mov.u32 %r1, %envreg2;\nmov.u32 start, %reserved_smem_offset_1;\n"},
        {"assembly-system", "mov.u64 %rd3, %gridid;\n"},
        {"assembly-persisting", "ld.global.L2::evict_last.f32 %f1, [%rd1];\n"},
        {"assembly-persisting", "\t// begin inline asm\n\t// note\n\tdiscard.global.L2 [%rd1], 128;\n"},
        {"assembly-persisting", "Discard.global.L2 [%rd1], 128;\n"},
        {"assembly-persisting",
         "mov.u64 %rd2, 1508705875169116160;\nst.global.L2::cache_hint.f32 [a], b, %rd2;"},
        {"assembly-persisting", "st.global.L2::cache_hint.f32 [a], b, 0x14F0000000000000;\n"},
        {"assembly-persisting", "st.global.L2::cache_hint.f32 [a], b, 0x1480000000000000;\n"},
        {NULL, "mov.u64 %rd2, 1508705875169116160;\n"},                        /* some number */
        {NULL, "st.global.L2::cache_hint.f32 [a], b, 1364590687093260288;\n"}, /* evict_first, 0x12F0... */
        {"dependent-launch", "griddepcontrol.wait;\n"},
        {"print", ".extern .func (.param .b32 r) vprintf (.param .b64 a);\n"},
        {"memory", "call.uni (r), malloc, (p);\n"},
        {"device-launch", ".extern .func cudaLaunchDeviceV2();\n"},
    };
    for (size_t i = 0; i < sizeof(ptx) / sizeof(*ptx); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        char prefix[64];
        snprintf(prefix, sizeof(prefix), "rule %s, ", ptx[i].rule ? ptx[i].rule : "");
        int failed = atoll_rules_check_ptx(ptx[i].text, &err);
        if (failed != (ptx[i].rule ? -1 : 0) || (failed && strncmp(err.text, prefix, strlen(prefix)) != 0))
            fail_msg("'%s' gave '%s'", ptx[i].text, err.text);
    }
}

static void test_rows(void **state)
{
    unsigned count = atoll_rules_count("cuda");
    assert_true(count > 20);
    assert_null(atoll_rules_id("cuda", count));
    for (unsigned i = 0; i < count; i++) {
        int found = 0;
        assert_true(strlen(atoll_rules_why("cuda", i)) > 10);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(atoll_rules_id("cuda", i), atoll_rules_id("cuda", k));
        for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
            found |= strcmp(rows[k].rule, atoll_rules_id("cuda", i)) == 0 && rows[k].twin;
        if (!found)
            fail_msg("no case with a twin for rule %s", atoll_rules_id("cuda", i));
    }
}

/* Texts of any length are looked at to their end. */
static void test_long_text(void **state)
{
    size_t n = 60000;
    char *source = malloc(n + 200);
    assert_non_null(source);
    char *at = source + sprintf(source, "__device__ void f() { asm volatile(");
    for (size_t i = 0; i < n / 10; i++)
        at += sprintf(at, "\"add a;\"\n");
    strcpy(at, "\"mov a, %cl\"\n\"ock;\"); }");
    refuse("assembly-clock", source);
    strcpy(at, "\"mov a, 1;\"); }");
    accept(source);
    free(source);
}

/* Mutations: any answer is fine, a crash is not. */
static void test_mutations(void **state)
{
    struct atoll_random r = {13, 0};
    static const char bytes[] = "\\\n\"'/*#<>%:?()[]{};=&aR_ \r\t\x80\x01";
    for (int round = 0; round < 4000; round++) {
        size_t pick = (size_t)atoll_random_below(atoll_random_next(&r), sizeof(rows) / sizeof(*rows) +
                                                                            sizeof(honest) / sizeof(*honest));
        const char *from = pick < sizeof(rows) / sizeof(*rows) ? rows[pick].source
                                                               : honest[pick - sizeof(rows) / sizeof(*rows)];
        size_t length = strlen(from);
        char *text = malloc(length + 1);
        assert_non_null(text);
        memcpy(text, from, length + 1);
        for (int k = 0; k < 3 && length; k++)
            text[atoll_random_below(atoll_random_next(&r), length)] =
                bytes[atoll_random_below(atoll_random_next(&r), sizeof(bytes) - 1)];
        atoll_rules_check("cuda", text, 1, NULL);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forbidden),    cmocka_unit_test(test_twins), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_finished_ptx), cmocka_unit_test(test_rows),  cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
