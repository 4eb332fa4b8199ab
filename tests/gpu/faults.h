/* faults.h - kernels that damage the process they run in, for test_faults.c: through evaluations, the image another one
 * than the source that was looked at, and through batches of their own. */
#ifndef ATOLL_TESTS_GPU_FAULTS_H
#define ATOLL_TESTS_GPU_FAULTS_H

#include "mpi-eval/backend/cuda/process/command_batch.h"
#include "tests/support/cheats.h"

#define HEAD "extern \"C\" __global__ void blend(float *x, float *w, float *y, long long m, long long n)\n{\n"
#define INDEX                                                                                                \
    "    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= m * n)\n        "     \
    "return;\n"
#define HONEST "    y[i] = x[i] * w[i % n] + x[i - i % n + (i % n + 1) % n];\n"

/* Honest sources that stand for the image: what differs is the plan. */
static const char plain[] =
    "/* atoll-plan {\"version\": 1, \"launch\": [{\"kernel\": \"blend\", \"grid\": [\"cdiv(M "
    "* N, 256)\"], \"block\": [\"256\"], \"args\": [\"x\", \"w\", \"y\", \"i64:M\", "
    "\"i64:N\"]}]} */\n" HEAD INDEX HONEST "}\n";
static const char wide[] =
    "/* atoll-plan {\"version\": 1, \"launch\": [{\"kernel\": \"blend\", \"grid\": [\"cdiv(M * "
    "N, 256)\"], \"block\": [\"256\"], \"shared_bytes\": \"1048576\", \"args\": [\"x\", \"w\", "
    "\"y\", \"i64:M\", \"i64:N\"]}]} */\n" HEAD INDEX HONEST "}\n";
static const char together[] =
    "/* atoll-plan {\"version\": 1, \"launch\": [{\"kernel\": \"blend\", \"grid\": [\"cdiv(M * N, 256)\"], "
    "\"block\": [\"256\"], \"cooperative\": true, \"args\": [\"x\", \"w\", \"y\", \"i64:M\", \"i64:N\"]}]} "
    "*/\n" HEAD INDEX HONEST "}\n";

/* Through an evaluation: image is loaded for the plan of source. */
static const struct fault {
    const char *name, *source, *image;
    unsigned verdicts; /* that are right */
    int loses;         /* 1: the device process is replaced; 0: it goes on; -1: either */
    const char *says;
} faults[] = {
    {"illegal address", plain, HEAD INDEX HONEST "    if (i == 0)\n        y[1ll << 40] = 1.0f;\n}\n",
     CHEATS_VERDICT(CRASH), 1, "ILLEGAL_ADDRESS"},
    {"misaligned address", plain, HEAD INDEX HONEST "    *(volatile double *)((char *)y + 4) = 1.0;\n}\n",
     CHEATS_VERDICT(CRASH), 1, "MISALIGNED"},
    {"trap", plain, HEAD INDEX HONEST "    asm volatile(\"trap;\");\n}\n", CHEATS_VERDICT(CRASH), 1, ""},
    {"endless", plain,
     HEAD INDEX
     "    while (((volatile float *)y)[i] != 1.0e38f || x[i] != 1.0e38f)\n        ((volatile float "
     "*)y)[i] = 0.0f;\n}\n",
     CHEATS_VERDICT(TIMEOUT), 1, "not finished after"},
    {"huge local arrays", plain,
     HEAD INDEX
     "    float big[(1 << 17) - 64];\n    for (int k = 0; k < 64; k++)\n        big[(k * 7919 + i) % "
     "((1 << 17) - 64)] = x[i];\n    asm volatile(\"\" : : \"l\"(big) : \"memory\");\n" HONEST "}\n",
     CHEATS_VERDICT(LAUNCH_ERROR) | CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(CORRECT), -1, ""},
    {"stack overflow", plain,
     "static __device__ __noinline__ float deeper(float *x, long long n)\n{\n    volatile float here[64];\n  "
     "  "
     "here[n % 64] = x[0];\n    return n < 0 ? 0.0f : deeper(x, n + 1) + here[(n + 1) % 64];\n}\n" HEAD INDEX
         HONEST "    if (i == 0)\n        y[0] = deeper(x, n);\n}\n",
     CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(TIMEOUT), 1, ""},
    {"too much shared memory", wide, HEAD INDEX HONEST "}\n", CHEATS_VERDICT(LAUNCH_ERROR), 0, ""},
    {"too large a cooperative grid", together, HEAD INDEX HONEST "}\n", CHEATS_VERDICT(LAUNCH_ERROR), 0, ""},
    {"guard zones overwritten", plain,
     HEAD INDEX HONEST
     "    if (i < 12000) {\n        y[m * n + i] = 1.0f;\n        x[-1 - i] = 1.0f;\n    }\n}\n",
     CHEATS_VERDICT(WRONG), 1, "out of bounds"},
    {"everything above overwritten", plain,
     HEAD INDEX HONEST
     "    for (long long k = 0; k < 64; k++)\n        ((volatile float *)y)[m * n + (k * 2097152 "
     "+ i) * 1024] = 1.0f;\n}\n",
     CHEATS_VERDICT(TIMEOUT) | CHEATS_VERDICT(CRASH) | CHEATS_VERDICT(WRONG) | CHEATS_VERDICT(IMPOSSIBLE), 1,
     ""},
};

/* In a batch of its own: what even the image's check would refuse, and launches that no plan can ask for. */
static const struct batch {
    const char *name, *image; /* kernel "f" of one pointer */
    uint32_t grid, block, cluster, shared_bytes, cooperative;
    enum atoll_command_batch_status status;
} batches[] = {
    {"printf flood",
     "extern \"C\" __device__ int printf(const char *, ...);\nextern \"C\" __global__ void f(float *x)\n{\n  "
     "  for "
     "(int i = 0; i < 100; i++)\n        printf(\"%d %d a line of a flood\\n\", (int)blockIdx.x, i);\n}\n",
     64, 256, 0, 0, 0, ATOLL_COMMAND_BATCH_TIMEOUT},
    {"heap exhaustion",
     "extern \"C\" __global__ void f(float *x)\n{\n    for (int i = 0; i < 64; i++) {\n        char *p = "
     "(char "
     "*)malloc(1 << 20);\n        if (p)\n            *p = 1;\n    }\n}\n",
     64, 256, 0, 0, 0, ATOLL_COMMAND_BATCH_DONE},
    {"assertion",
     "#include <cuda_runtime.h>\nextern \"C\" __device__ void __assertfail(const char *, const char *, "
     "unsigned, "
     "const char *, size_t);\nextern \"C\" __global__ void f(float *x)\n{\n    __assertfail(\"false\", "
     "\"here\", 1, "
     "\"f\", 1);\n}\n",
     1, 1, 0, 0, 0, ATOLL_COMMAND_BATCH_FAULT},
    {"too large a cluster", "extern \"C\" __global__ void f(float *x)\n{\n}\n", 64, 32, 32, 0, 0,
     ATOLL_COMMAND_BATCH_REFUSED},
    {"a grid that is no multiple", "extern \"C\" __global__ void f(float *x)\n{\n}\n", 63, 32, 8, 0, 0,
     ATOLL_COMMAND_BATCH_REFUSED},
    {"too many threads", "extern \"C\" __global__ void f(float *x)\n{\n}\n", 1, 2048, 0, 0, 0,
     ATOLL_COMMAND_BATCH_REFUSED},
    {"too much shared memory, by itself", "extern \"C\" __global__ void f(float *x)\n{\n}\n", 1, 32, 0,
     1 << 20, 0, ATOLL_COMMAND_BATCH_REFUSED},
    {"too large a cooperative grid, by itself", "extern \"C\" __global__ void f(float *x)\n{\n}\n", 1 << 20,
     1024, 0, 0, 1, ATOLL_COMMAND_BATCH_REFUSED},
};

#define FAULT_COUNT (sizeof(faults) / sizeof(faults[0]))
#define BATCH_COUNT (sizeof(batches) / sizeof(batches[0]))

#endif
