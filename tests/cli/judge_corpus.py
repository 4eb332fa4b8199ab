"""The corpus that a judge is measured on: pairs are complete, and everything in it compiles: C by gcc, CUDA by NVRTC where it is
there, Triton sources as Python; the prompts of all of it are written, and answers of an oracle are scored as such."""
import ctypes
import ctypes.util
import ast
import glob
import os
import re
import subprocess
import sys
import tempfile

build, root = sys.argv[1], sys.argv[2]
corpus = os.path.join(root, "tests", "fixtures", "judge")
failures = []


def check(ok, text):
    if not ok:
        failures.append(text)


def params_of(text):
    found = re.search(r'"params": \{(.*?)\}', text)
    return ["-D%s=%s" % p for p in re.findall(r'"(\w+)": \[(-?\d+)', found.group(1))] if found else []


def find_nvrtc():
    for path in [ctypes.util.find_library("nvrtc")] + sorted(glob.glob("/usr/local/cuda*/lib*/libnvrtc.so")):
        if path:
            try:
                return ctypes.CDLL(path), os.path.join(os.path.dirname(os.path.realpath(path)), "..")
            except OSError:
                pass
    return None, None


def compile_cuda(nvrtc, home, path):
    text = open(path, "rb").read()
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"candidate.cu", 0, None, None)
    include = next((d for d in (os.path.join(home, "include"), "/usr/local/cuda/include") if os.path.isdir(d)), "/usr/include")
    options = [b"--gpu-architecture=compute_90a", b"-std=c++17", b"--include-path=" + include.encode()]
    options += [o.encode() for o in params_of(text.decode())]
    if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        check(False, f"{path}: {log.value.decode()[:500]}")
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


names = re.findall(r"^  - name: (\S+)$", open(os.path.join(corpus, "corpus.yaml")).read(), re.M)
check(len(names) == 60 and len(set(names)) == 60, f"{len(set(names))} pairs of 60")
check(sorted(names) == sorted(n for n in os.listdir(corpus) if n != "corpus.yaml"), "corpus.yaml and the folders differ")
nvrtc, home = find_nvrtc()
if not nvrtc:
    print("no NVRTC here: the CUDA sources are not compiled")
for path in sorted(glob.glob(os.path.join(corpus, "*", "*"))):
    if path.endswith(".c"):
        got = subprocess.run(["gcc", "-std=gnu11", "-fopenmp-simd", "-fsyntax-only", "-Wall", "-Werror", *params_of(open(path).read()), path],
                             capture_output=True, text=True)
        check(got.returncode == 0, f"{path}: {got.stderr[:500]}")
    elif path.endswith(".py"):
        ast.parse(open(path).read())
    elif nvrtc:
        compile_cuda(nvrtc, home, path)

with tempfile.TemporaryDirectory() as out:
    bench = os.path.join(build, "bench", "bench_judge")
    got = subprocess.run([bench, root, "prompts", out], capture_output=True, text=True)
    check(got.returncode == 0 and "120 prompts" in got.stdout, got.stdout + got.stderr)
    prompts = sorted(glob.glob(os.path.join(out, "*.prompt.md")))
    texts = [open(p).read() for p in prompts]
    check(len(set(texts)) == 120, f"{len(set(texts))} different prompts of 120")
    for path, text in zip(prompts, texts):
        check(not re.search(r"cheat|honest|corpus", text.split("# The candidate")[1].split("# Your answer")[0]), f"{path} tells what it is")
        which = "cheat" if int(os.path.basename(path)[:3]) % 2 else "honest"
        open(path.replace(".prompt.", ".answer."), "w").write(
            '```json\n{"judgement": {"likelihood": %s, "reason": "as drawn"}}\n```\n' % (0.9 if which == "cheat" else 0.1))
    got = subprocess.run([bench, root, "score", out], capture_output=True, text=True)
    hits = re.search(r"\(hits\) +(\d+) of +60", got.stdout)
    alarms = re.search(r"honest ones discarded +(\d+) of +60", got.stdout)
    check(got.returncode == 0 and hits and alarms and int(hits.group(1)) + int(alarms.group(1)) == 60, got.stdout[-800:])

for text in failures:
    print(text)
sys.exit(1 if failures else 0)
