#!/usr/bin/env python3
"""The torch baselines of the suites that come with Atoll compute what their tasks define: every expression at two check
variants against reference.c, within four times the task's tolerance; and tasks that PyTorch itself defines are admitted.
ATOLL_TEST_TORCH names a Python with torch."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types

sys.dont_write_bytecode = True

build, source = sys.argv[1], pathlib.Path(sys.argv[2])
python = os.environ.get("ATOLL_TEST_TORCH", "/usr/bin/python3")

# Beyond the CPU build of old versions of torch: (words of the complaint, what it needs).
NEEDS = [
    ("scaled_dot_product_attention", "torch 2.0"),
    ("enable_gqa", "torch 2.5"),
    ("_fused_adamw", "torch 2.4 on a CPU"),
    ("float8", "torch 2.1"),
    ("not implemented for 'Half'", "torch 2.x on a CPU"),
    ("requires compiling PyTorch with MKL", "a torch with MKL"),
    ("are sorted and distinct along the last dimension", "torch 2.0"),  # which checks indices only when asked to
]


def twin_of(path):
    """Equal for tasks that differ in their bench shapes alone, and for those whose reference is PyTorch itself."""
    text = path.read_text()
    if "reference: {torch:" in text:
        return None
    lines = [line for line in text.splitlines() if not line.startswith(("#", "name:", "  bench", "  hidden", "  check.3"))]
    return os.path.realpath(path.parent / "reference.c"), *lines


def outer():
    tasks = {twin_of(p): p.parent for p in sorted(source.glob("suites/*/*/task.yaml"), reverse=True)}
    tasks.pop(None, None)
    words = sys.argv[3:]
    chosen = [str(t) for t in sorted(tasks.values()) if not words or t.name in words]
    done = subprocess.run([python, __file__, build, str(source), "--inside"] + chosen)
    if done.returncode == 0 and not words:
        done = check_problems()
    sys.exit(done.returncode)


def check_problems():
    """Admits the tasks that PyTorch defines, one of each text."""
    found = {os.path.realpath(p): str(p.parent) for p in sorted(source.glob("suites/*/*/problem.py"), reverse=True)}
    return subprocess.run([f"{build}/atoll", "task", "check", "--python", python, "--combinations", "0", *found.values()])


# ---- inside a Python that has torch ----


def answers_of(task, folder):
    """Descriptions of the draws, one per variant, and the bytes of all."""
    out = folder / "answers"
    lines = subprocess.run([f"{build}/tests/bin/task_answers", str(task), "11", str(out), "check", "check.3"], stdout=subprocess.PIPE,
                           text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines], out.read_bytes()


def function_of(text, names, dims):
    """As the rival's process makes it."""
    package = types.ModuleType("atoll")
    package.__path__ = [str(source / "mpi-eval/torch/python")]
    sys.modules.setdefault("atoll", package)
    from atoll import rival_text
    return rival_text.function_of(text, names, dims)


def dtype_of(torch, dtype):
    names = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn",
             "f8e5m2": "float8_e5m2", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8"}
    if not hasattr(torch, names[dtype]):
        raise TypeError(f"float8 is not here: {dtype}")
    return getattr(torch, names[dtype])


def tensor_of(torch, dtype, shape, data):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype_of(torch, dtype)).view(shape)


def doubles(torch, data, place):
    return torch.frombuffer(bytearray(data[place["offset"]:place["offset"] + place["bytes"]]), dtype=torch.float64)


def worst_of(torch, task, data, results):
    """The largest error, in units of the task's tolerance."""
    worst = 0.0
    for name, value in results.items():
        wanted = doubles(torch, data, task["expected"][name])
        scale = wanted.abs()
        if name in task.get("scale", {}):
            scale = torch.maximum(scale, doubles(torch, data, task["scale"][name]))
        error = (value.to(torch.float64).reshape(-1) - wanted).abs()
        allowed = task["tolerance"]["atol"] + task["tolerance"]["rtol"] * scale
        if not bool(torch.isfinite(error).all()):
            return float("inf")
        worst = max(worst, float((error / allowed.clamp(min=1e-300)).max()))
    return worst


def sums_short(torch):
    """Whether products of this torch add up in bf16 itself, which stops at 256: version 1.13 on a processor without AVX-512."""
    ones = torch.ones(1024, 1024, dtype=torch.bfloat16)  # not one transposed, whose sums are in f32
    return float((ones[:4] @ ones).max()) < 1024


def evaluate(torch, task, data, expression):
    """Where products add up in bf16, the expression is one of f32 with the same values, and its results are rounded."""
    outs, inouts, tensors, is_short = [], [], {}, sums_short(torch)
    for t in task["tensors"]:
        if t["role"] == "out":
            outs.append(t)
            continue
        place = task["inputs"][t["name"]]
        tensors[t["name"]] = tensor_of(torch, t["dtype"], t["shape"], data[place["offset"]:place["offset"] + place["bytes"]])
        if is_short and t["dtype"] == "bf16":
            tensors[t["name"]] = tensors[t["name"]].float()
        if t["role"] == "inout":
            inouts.append(t)
    got = function_of(expression, list(tensors), task["dims"])(*tensors.values())
    got = list(got) if isinstance(got, tuple) else [got]
    if len(got) < len(outs):
        raise ValueError(f"{len(got)} results for {len(outs)} outputs")
    results = {}
    for t, v in zip(outs + inouts, got):
        if is_short and t["dtype"] == "bf16" and v.dtype == torch.float32:
            v = v.bfloat16()
        results[t["name"]] = v
        if list(v.shape) != t["shape"]:
            raise ValueError(f"{t['name']} has shape {list(v.shape)}, not {t['shape']}")
        if v.dtype != dtype_of(torch, t["dtype"]):
            raise ValueError(f"{t['name']} is {v.dtype}, not {t['dtype']}")
        if not v.is_contiguous():
            raise ValueError(f"{t['name']} is not contiguous")
    for t in inouts:
        results.setdefault(t["name"], tensors[t["name"]])
    return results


def check_task(torch, path, folder, left):
    draws, data = answers_of(path, folder)
    for task in draws:
        variant = task["variant"]
        if not task["rivals"]:
            return [f"{path}: no torch baseline"]
        for text in sorted({r["expression"] for r in task["rivals"]}):
            name = next(r["name"] for r in task["rivals"] if r["expression"] == text)
            try:
                worst = worst_of(torch, task, data, evaluate(torch, task, data, text))
            except Exception as problem:  # whatever an expression raises
                need = next((n for words, n in NEEDS if words in str(problem)), None)
                if need is None:
                    return [f"{path}: {name} at {variant}: {type(problem).__name__}: {problem}"]
                left.add(f"{path.parent.name}/{path.name} {name} ({need})")
                continue
            if worst > 4:
                return [f"{path}: {name} at {variant} is off by {worst:.3g} times the tolerance"]
            if worst > 1:
                print(f"{path.parent.name}/{path.name} {name} at {variant}: {worst:.2f} times the tolerance")
    return []


def inside():
    try:
        import torch
    except ImportError:
        print(f"skipped: {python} has no torch")
        sys.exit(77)
    torch.set_num_threads(2)
    complaints, left = [], set()
    paths = [pathlib.Path(p) for p in sys.argv[4:]]
    with tempfile.TemporaryDirectory(prefix="atoll-torch-expressions-") as folder:
        for path in paths:
            complaints += check_task(torch, path, pathlib.Path(folder), left)
    if left and tuple(int(n) for n in torch.__version__.split(".")[:2]) >= (2, 8):
        complaints.append(f"torch {torch.__version__} should do these: {', '.join(sorted(left))}")
    print(f"torch {torch.__version__}: {len(paths)} tasks; not checked: {', '.join(sorted(left)) or 'none'}")
    sys.exit("\n".join(complaints) if complaints else 0)


if "--inside" in sys.argv:
    inside()
outer()
