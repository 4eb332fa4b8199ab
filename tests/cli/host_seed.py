"""Runs a seed on the host: the same text, compiled by g++ with the words of CUDA defined away (or by cc for language c), every
thread of every block one after the other, threads of a block in turns where they wait for each other."""
import ctypes
import json
import os
import re
import subprocess

SHIM = r"""
#include <math.h>
#include <string.h>
#include <ucontext.h>
#include <utility>
#include <vector>
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
struct alignas(16) float4 { float x, y, z, w; };
struct extents { unsigned x, y, z; };
static extents threadIdx, blockIdx;
static ucontext_t scheduler;
static std::vector<ucontext_t> fibers;
static unsigned current;
static inline float __uint_as_float(unsigned u) { float f; memcpy(&f, &u, 4); return f; }
static inline float __int_as_float(int u) { return __uint_as_float((unsigned)u); }
static inline unsigned __float_as_uint(float f) { unsigned u; memcpy(&u, &f, 4); return u; }
static inline _Float16 __ushort_as_half(unsigned short u) { _Float16 h; memcpy(&h, &u, 2); return h; }
static inline unsigned short __half_as_ushort(_Float16 h) { unsigned short u; memcpy(&u, &h, 2); return u; }
static inline float __half2float(_Float16 h) { return (float)h; }
static inline _Float16 __float2half_rn(float f) { return (_Float16)f; }
static inline void __syncthreads() { swapcontext(&fibers[current], &scheduler); }
"""
LAUNCH = r"""
template <class... A, size_t... I>
static void call(void (*kernel)(A...), void **args, std::index_sequence<I...>) { kernel((A)args[I]...); }
static void (*entry)(void);
static void fiber(void) { entry(); }
template <class... A>
static void launch(void (*kernel)(A...), const long long *grid, int block, int waits, void **args)
{
    static void (*now)(A...);
    static void **given;
    now = kernel;
    given = args;
    entry = [] { call(now, given, std::index_sequence_for<A...>()); };
    for (long long b = 0; b < grid[0] * grid[1] * grid[2]; b++) {
        blockIdx.x = (unsigned)(b % grid[0]);
        blockIdx.y = (unsigned)(b / grid[0] % grid[1]);
        blockIdx.z = (unsigned)(b / grid[0] / grid[1]);
        if (!waits) {
            for (threadIdx.x = 0; threadIdx.x < (unsigned)block; threadIdx.x++)
                entry();
            continue;
        }
        std::vector<std::vector<char>> stacks(block, std::vector<char>(65536));
        std::vector<char> done(block, 0);
        fibers.assign(block, ucontext_t());
        static std::vector<char> *finished;
        finished = &done;
        for (int t = 0; t < block; t++) {
            getcontext(&fibers[t]);
            fibers[t].uc_stack.ss_sp = stacks[t].data();
            fibers[t].uc_stack.ss_size = stacks[t].size();
            fibers[t].uc_link = &scheduler;
            makecontext(&fibers[t], (void (*)())+[] { entry(); (*finished)[current] = 1; }, 0);
        }
        for (int left = block; left > 0;) {
            left = 0;
            for (int t = 0; t < block; t++) {
                if (done[t])
                    continue;
                current = threadIdx.x = (unsigned)t;
                swapcontext(&scheduler, &fibers[t]);
                left += !done[t];
            }
        }
    }
}
"""


def plan_of(text):
    return json.loads(re.match(r"/\* atoll-plan (\{.*?\n\}) \*/", text, re.S).group(1))


def evaluate(expression, names):
    """An integer expression of a plan; divisions here are exact or of positive numbers."""
    python = str(expression).replace("/", "//").replace("&&", " and ").replace("||", " or ")
    return int(eval(python, {"__builtins__": {}}, dict(names, cdiv=lambda a, b: -(-a // b), max=max, min=min)))


def build(command, text):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode:
        raise AssertionError("does not compile:\n%s\n%s" % (done.stdout[:3000], text))


# Small enough for small shapes; every bound of a tile is met.
BASE = {"BLOCK": 8, "EACH": 3, "TILE": 2, "PER": 2, "DEPTH": 3}
PARAMS = dict(BASE, RUN=0, WIDE=1, SPLIT=1, UNROLL=0, ROWS=1, TILED=0, STAGED=0)
# The other forms of kernels, in small blocks, so that some are full.
OTHERS = dict(PARAMS, TILE=8, PER=4, DEPTH=8, STAGED=1, BLOCK=4, EACH=2, RUN=3, WIDE=2, SPLIT=2, UNROLL=4, ROWS=2, TILED=1)


def others(text):
    """OTHERS where a seed has other forms, else nothing."""
    return OTHERS if any(name not in BASE for name in plan_of(text).get("params", {})) else None


def compile_all(seeds, folder):
    """seeds: (language, text), and parameters where they are not PARAMS; all of CUDA in one unit, each in a namespace of its own."""
    stem = os.path.join(folder, "seeds")
    body, result = SHIM + LAUNCH, []
    chosen = [seed[2] if len(seed) > 2 else PARAMS for seed in seeds]
    for number, (language, text, *_) in enumerate(seeds):
        if language == "c":
            path = os.path.join(folder, "seed%d" % number)
            with open(path + ".c", "w") as out:
                out.write(text)
            build(["cc", "-O0", "-fPIC", "-shared", "-Wall", "-Werror", "-Wno-unused-function", "-o", path + ".so",
                   path + ".c", "-lm"], text)
            continue
        plain = text.replace('extern "C" ', "").replace("#include <cuda_fp16.h>\n", "")
        body += "".join("#undef %s\n#define %s %d\n" % (name, name, value) for name, value in chosen[number].items())
        body += "\nnamespace seed_%d {\n%s}\n" % (number, plain)
        for step in plan_of(text)["launch"]:
            name = step["kernel"]
            waits = "__syncthreads" in re.search(r"%s\(.*?\n\}\n" % name, text, re.S).group()
            body += 'extern "C" void launch_%d_%s(const long long *grid, int block, void **args)\n{\n' \
                    "    launch(seed_%d::%s, grid, block, %d, args);\n}\n" % (number, name, number, name, waits)
    with open(stem + ".cc", "w") as out:
        out.write(body)
    build(["g++", "-std=c++17", "-O0", "-fPIC", "-shared", "-Wall", "-Werror", "-Wno-unused-variable", "-Wno-unused-function",
           "-Wno-unknown-pragmas", "-Wno-unused-but-set-variable", "-fsanitize=alignment",
           "-fsanitize-undefined-trap-on-error", "-o", stem + ".so", stem + ".cc"], "")
    cuda = ctypes.CDLL(stem + ".so")
    for number, (language, text, *_) in enumerate(seeds):
        library = cuda if language == "cuda" else ctypes.CDLL(os.path.join(folder, "seed%d.so" % number))
        result.append(HostSeed(text, language, library, number, chosen[number]))
    return result


class HostSeed:
    def __init__(self, text, language, library, number, params):
        self.plan, self.language, self.library, self.number, self.params = plan_of(text), language, library, number, params

    def run(self, dims, tensors):
        """tensors: {name: contiguous torch tensor}; out tensors are written."""
        names = dict(dims, **self.params)
        scratch = {name: ctypes.create_string_buffer(max(1, evaluate(size, names)))
                   for name, size in self.plan.get("scratch", {}).items()}
        for step in self.plan["launch"]:
            args = []
            for argument in step["args"]:
                if argument in tensors:
                    args.append(tensors[argument].data_ptr())
                elif argument in scratch:
                    args.append(ctypes.addressof(scratch[argument]))
                else:
                    args.append(evaluate(argument.split(":", 1)[1], names))
            if self.language == "c":
                units = evaluate(step["units"], names)
                cut = units // 3
                for begin, end in ((0, cut), (cut, units)):
                    getattr(self.library, step["function"])(ctypes.c_long(begin), ctypes.c_long(end),
                                                            *[ctypes.c_void_p(a) for a in args])
                continue
            array = (ctypes.c_void_p * len(args))(*args)
            function = getattr(self.library, "launch_%d_%s" % (self.number, step["kernel"]))
            grid = [evaluate(e, names) for e in step["grid"]] + [1, 1]
            function((ctypes.c_longlong * 3)(*grid[:3]), ctypes.c_int(evaluate(step["block"][0], names)), array)
