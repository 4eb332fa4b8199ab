"""Every CUDA seed of the bundled suites compiles for sm_90a with its first choice: by NVRTC, else by nvcc.  Those that are examples of
knowledge by a link are compiled by `atoll knowledge check` (cli.knowledge-installed)."""
import concurrent.futures
import ctypes
import ctypes.util
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

suites = sys.argv[1]
arch = "sm_90a"
roots = [p for p in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if p and os.path.isdir(p)]


def definitions(path):
    """What the task puts in front of its seeds' bodies."""
    with open(os.path.join(os.path.dirname(os.path.dirname(path)), "task.yaml"), encoding="utf-8") as f:
        lines = [line for line in f if line.startswith("definitions:")]
    return lines[0].split(":", 1)[1].strip().strip('"') if lines else ""


def split(path):
    """Plan and body of a source."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    start, end = text.index("atoll-plan") + len("atoll-plan"), text.index("*/")
    return json.loads(text[start:end]), definitions(path) + text[end + 2:]


class Nvrtc:
    """Compiles in this process."""

    def __init__(self, library):
        self.lib = library
        self.flags = [f"--gpu-architecture={arch}", "--std=c++17"] + [f"-I{r}/include" for r in roots]
        major, minor = ctypes.c_int(), ctypes.c_int()
        if library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0 and major.value >= 13:
            self.flags.append("--Ofast-compile=max")  # whether it compiles is asked here, not how well: a quarter of the time

    def compile(self, text):
        lib, program, size = self.lib, ctypes.c_void_p(), ctypes.c_size_t()
        if lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"seed.cu", 0, None, None):
            return "nvrtcCreateProgram failed"
        flags = (ctypes.c_char_p * len(self.flags))(*[f.encode() for f in self.flags])
        status = lib.nvrtcCompileProgram(program, len(flags), flags)
        lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        lib.nvrtcGetProgramLog(program, log)
        lib.nvrtcGetCUBINSize(program, ctypes.byref(size))
        lib.nvrtcDestroyProgram(ctypes.byref(program))
        return "" if status == 0 and size.value > 0 else log.value.decode() or f"status {status}"


class Nvcc:
    """Compiles by command."""

    def __init__(self, command):
        self.command = command

    def compile(self, text):
        with tempfile.TemporaryDirectory() as scratch:
            source = os.path.join(scratch, "seed.cu")
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
            done = subprocess.run([self.command, "-cubin", f"-arch={arch}", "-std=c++17", "-o", source + "bin", source],
                                  capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else done.stdout + done.stderr


def find_compiler():
    names = [ctypes.util.find_library("nvrtc")]
    names += [p for r in roots for d in ("lib64", "lib") for p in sorted(glob.glob(f"{r}/{d}/libnvrtc.so*"))]
    for name in filter(None, names):
        try:
            return Nvrtc(ctypes.CDLL(name))
        except OSError:
            continue
    command = shutil.which("nvcc") or next((f"{r}/bin/nvcc" for r in roots if os.path.exists(f"{r}/bin/nvcc")), None)
    works = command and subprocess.run([command, "--version"], capture_output=True, check=False).returncode == 0
    return Nvcc(command) if works else None


def launches(plan):
    return [launch for path in plan.get("paths", [plan]) for launch in path["launch"]]


compiler = find_compiler()
if not compiler:
    print("skipped: neither libnvrtc nor nvcc found")
    sys.exit(77)
# Tasks share seeds by links: each text is compiled once with each definitions.
paths = list({(os.path.realpath(p), definitions(p)): p for p in sorted(glob.glob(f"{suites}/*/*/seeds/*.cu"), reverse=True)}.values())
examples = os.path.join(os.path.dirname(os.path.realpath(suites)), "knowledge", "examples", "")
told = [p for p in paths if os.path.realpath(p).startswith(examples)]
has_headers = any(os.path.exists(f"{r}/include/cuda_fp16.h") for r in roots)


def fault(path):
    """What is wrong with a seed; "": nothing; None: it needs headers that are not here."""
    plan, body = split(path)
    if "#include" in body and not has_headers:
        return None
    first = "".join(f"#define {name} {values[0]}\n" for name, values in plan.get("params", {}).items())
    missing = [launch["kernel"] for launch in launches(plan) if launch["kernel"] + "(" not in body]
    return compiler.compile(first + body)[:2000] + "".join(f" no kernel {name}" for name in missing)


# A child per core, the longest seeds first: one NVRTC compiles one program at a time.
paths = sorted(set(paths) - set(told), key=os.path.getsize, reverse=True)
with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    faults = dict(zip(paths, pool.map(fault, paths)))
for path, text in faults.items():
    if text:
        print(f"{path}: {text}")
failed, skipped = sum(bool(text) for text in faults.values()), sum(text is None for text in faults.values())
if skipped:
    print(f"skipped: {skipped} seeds include headers of the toolkit, which is not here")
print(f"{len(paths)} seeds, {failed} failed ({type(compiler).__name__}), {len(told)} are examples of knowledge")
sys.exit(1 if failed or not paths else 0)
