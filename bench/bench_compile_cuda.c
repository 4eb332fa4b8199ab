/* bench_compile_cuda.c - milliseconds per NVRTC job: the first, warm, with headers, and out of the cache. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-eval/backend/cuda/compile/compile.h"

#define ROUNDS 20

static const char plain[] = "extern \"C\" __global__ void f(float *x, int n)\n"
                            "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= SCALE; }\n";
static const char with_headers[] =
    "#include <cuda_fp16.h>\n#include <mma.h>\n"
    "extern \"C\" __global__ void f(__half *x, int n)\n"
    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= __half(SCALE); }\n";

/* Mean over the rounds; each has a macro of its own, from `first` on. */
static int measure(struct atoll_compiler *compiler, const char *what, const char *text, unsigned first,
                   unsigned rounds)
{
    double sum = 0, most = 0;
    unsigned cached = 0;
    for (unsigned i = 0; i < rounds; i++) {
        char define[32];
        const char *defines[] = {define};
        struct atoll_compiled result;
        struct atoll_err err = ATOLL_ERR_INIT;
        snprintf(define, sizeof(define), "SCALE=%u", first + i);
        if (atoll_compiler_run(compiler, "candidate.cu", text, strlen(text), defines, 1, &result, &err) !=
                0 ||
            result.status != ATOLL_COMPILE_OK) {
            fprintf(stderr, "%s: %s\n", what, err.code ? err.text : result.diagnostics);
            return -1;
        }
        sum += result.wall_ns;
        most = result.wall_ns > most ? result.wall_ns : most;
        cached += result.from_cache != 0;
        atoll_compiled_fini(&result);
    }
    printf("%-22s %8.2f ms mean %8.2f ms most  %u of %u cached\n", what, sum / rounds / 1e6, most / 1e6,
           cached, rounds);
    return 0;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/atoll-bench-XXXXXX";
    struct atoll_nvrtc_settings settings = {.compiler = {.command = "nvrtc",
                                                         .flags = "",
                                                         .target = argc > 1 ? argv[1] : "sm_90a",
                                                         .slots = 1,
                                                         .deadline_ns = 60e9,
                                                         .memory_bytes = (uint64_t)4 << 30,
                                                         .output_bytes = (uint64_t)64 << 20},
                                            .cache = mkdtemp(folder)};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler *compiler = settings.cache ? atoll_nvrtc_create(&settings, &err) : NULL;
    if (!compiler) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%s\n", atoll_compiler_version(compiler));
    int failed = measure(compiler, "plain, warm", plain, 0, ROUNDS) ||
                 measure(compiler, "plain, cached", plain, 0, ROUNDS) ||
                 measure(compiler, "headers, first", with_headers, 0, 1) ||
                 measure(compiler, "headers, warm", with_headers, 1, ROUNDS) ||
                 measure(compiler, "headers, cached", with_headers, 1, ROUNDS);
    atoll_compiler_destroy(compiler);
    char command[64];
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command) != 0 || failed;
}
