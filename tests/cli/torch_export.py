#!/usr/bin/env python3
"""The file of `atoll export --kernelbench` without a GPU: it is Python whatever the archive holds, constructs the problem's
parameters in the same order, evaluates plans as Atoll does, and, with the driver replaced by kernels compiled for the host,
answers what the problem answers.  ATOLL_TEST_TORCH names a Python with torch."""
import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types

build, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
python = os.environ.get("ATOLL_TEST_TORCH", "/usr/bin/python3")

if "ATOLL_TEST_INNER" not in os.environ:
    if subprocess.run([python, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))"]).returncode != 0:
        print(f"skipped: {python} has no torch")
        sys.exit(77)
    sys.exit(subprocess.run([python, __file__, *sys.argv[1:]], env=dict(os.environ, ATOLL_TEST_INNER="1", PYTHONPATH="",
                                                                         OMP_NUM_THREADS="1")).returncode)

import torch  # noqa: E402

sys.dont_write_bytecode = True
sys.path.append(str(source / "tests/cli"))
package = types.ModuleType("atoll")
package.__path__ = [str(source / "mpi-eval/torch/python")]
sys.modules["atoll"] = package

import host_seed  # noqa: E402
from atoll import aten_graph, seed  # noqa: E402

PROBLEM = '''
import torch
import torch.nn as nn

batch_size = 6
features = 10


class Model(nn.Module):
    """It may pass, try: and except what it wants \\\\ ''' + "'''" + ''' """

    def __init__(self, width, scale):
        super().__init__()
        self.first = nn.Linear(features, width)
        self.norm = nn.BatchNorm1d(width)
        self.bias = nn.Parameter(torch.randn(width))
        self.register_buffer("shift", torch.rand(1))
        self.scale = scale

    def forward(self, x, y):
        return torch.relu(self.norm(self.first(x))) * self.scale + self.bias + y + self.shift, x.sum(dim=1)


def get_inputs():
    return [torch.rand(batch_size, features), torch.rand(batch_size, 7)]


def get_init_inputs():
    return [7, 0.5]
'''

TASK = """version: 1
name: of_somebody
summary: a test
dims: [batch_size, features]
tensors:
  - {name: x, dtype: f32, shape: [batch_size, features], role: in, init: {normal: {}}}
  - {name: y, dtype: f32, shape: [batch_size, 7], role: in, init: {normal: {}}}
  - name: weights
    dtype: f32
    shape: ["7 * features + 28"]
    role: constant
    init:
      segments:
        - {parameter: first.weight, count: "7 * features", init: {normal: {}}}
        - {parameter: first.bias, count: 7, init: {normal: {}}}
        - {parameter: norm.weight, count: 7, init: {normal: {}}}
        - {parameter: norm.bias, count: 7, init: {normal: {}}}
  - {name: bias, dtype: f32, shape: [7], role: constant, parameter: bias, init: {normal: {}}}
  - {name: shift, dtype: f32, shape: [1], role: constant, parameter: shift, init: {normal: {}}}
  - {name: out, dtype: f32, shape: [batch_size, 7], role: out}
  - {name: sums, dtype: f32, shape: [batch_size], role: out}
reference: {torch: problem.py, form: module, entry: Model}
source: {suite: kernelbench, problem: level9/1_Somebody, hash: ab}
"""
DIMS = {"batch_size": [6, 3], "features": [10, 5]}
NASTY = 'a"b\\n\n"""\'\'\' # \x07 \u2028 */ {"x": true} \\'


def graph_of(variant):
    names = {}
    dims = {name: values[variant] for name, values in DIMS.items()}
    text = PROBLEM
    for name, value in dims.items():
        text = re.sub(r"^%s = .*$" % name, f"{name} = {value}", text, flags=re.M)
    exec(text, names)
    model, inputs = names["Model"](*names["get_init_inputs"]()), names["get_inputs"]()
    named = list(zip("xy", inputs)) + list(model.named_parameters()) + list(model.named_buffers())
    return aten_graph.record(lambda: model(*inputs), named)


def make_seed():
    packed = {"first.weight": [0, 0], "first.bias": [70, 35], "norm.weight": [77, 42], "norm.bias": [84, 49]}
    places = {key: ("weights", offset) for key, offset in packed.items()}
    places.update({key: (key, 0) for key in ("x", "y", "bias", "shift")})
    text, reason = seed.seed_text([graph_of(0), graph_of(1)], places, ["out", "sums"], DIMS, 0)
    assert text, reason
    return text


def write_file(folder, text, name="of_somebody"):
    """What the exporter prints."""
    plan = host_seed.plan_of(text)
    kernel = {"task": name, "candidate": "00ff", "device": NASTY, "times": [], "parameters": {name: host_seed.PARAMS[name] for name in plan["params"]},
              "plan": {"scratch": plan["scratch"], "launch": plan["launch"]}, "target": "sm_90a",
              "dims": {"batch_size": 60, "features": 10}, "variants": {"check": {"batch_size": 3, "features": 5}}}
    kernel["plan"]["launch"][0]["cooperative"] = False
    files = {"task.yaml": TASK, "kernel.json": json.dumps(kernel), "problem.py": PROBLEM,
             "kernel.cu": text.split("*/\n", 1)[1] + "// " + NASTY.replace("\n", " ")}
    for name, content in files.items():
        (folder / name).write_text(content)
    done = subprocess.run([build / "tests/bin/model_file", source / "mpi-eval/torch/python/model_new.py",
                           *[folder / name for name in files]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, (done.returncode, done.stdout.decode())
    return done.stdout.decode(), files["kernel.cu"]


class HostDriver:
    """Runs kernels that were compiled for the host, with the parameters that a driver would get."""

    def __init__(self, seed_on_host):
        self.seed, self.launched = seed_on_host, []

    def function(self, name, shared_bytes, cluster):
        return name

    def launch(self, launch, parameters):
        values = [ctypes.c_uint64.from_address(parameters[i]).value for i in range(len(launch.kept))]
        array = (ctypes.c_void_p * len(values))(*values)
        self.launched.append((launch.handle, launch.grid, launch.block))
        getattr(self.seed.library, "launch_0_" + launch.handle)((ctypes.c_longlong * 3)(*launch.grid),
                                                                ctypes.c_int(launch.block[0]), array)


def constructed(model, init):
    torch.manual_seed(42)
    return model(*init)


def check_file(text, kernel_source, driver):
    names = {}
    exec(PROBLEM, names)
    torch.manual_seed(5)
    context = dict(names)
    before = torch.random.get_rng_state()
    exec(compile(text, "model_new.py", "exec"), context)  # as the harness does it
    assert torch.equal(before, torch.random.get_rng_state()), "importing the file draws random numbers"
    assert context["SOURCE"] == kernel_source and context["KERNEL"]["device"] == NASTY
    assert context["base64"].b64decode(context["CUBIN"]) == b"image"
    context["driver_of"] = lambda device: driver
    old, new = constructed(names["Model"], [7, 0.5]), constructed(context["ModelNew"], [7, 0.5])
    assert list(old.state_dict()) == list(new.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(old.state_dict().values(), new.state_dict().values()))
    for batch in (6, 3, 17):
        x, y = torch.rand(batch, 10), torch.rand(batch, 7)
        with torch.no_grad():
            answers, got = old(x, y), new(x, y)
        assert isinstance(got, tuple) and len(got) == 2
        for a, b in zip(answers, got):
            assert a.shape == b.shape and torch.allclose(a, b, atol=1e-4, rtol=1e-4), (batch, a, b)
    with torch.no_grad():
        old.first.weight *= 2
        new.first.weight *= 2
        assert torch.allclose(old(x, y)[0], new(x, y)[0], atol=1e-4), "a changed parameter is packed again"
        halves = new(x.half(), y.half())
        assert halves[0].dtype == torch.float16
    handle, grid, block = driver.launched[0]
    assert handle.startswith("step1_") and grid == (-(-6 * 7 // 8), 1, 1) and block == (8, 1, 1), (handle, grid, block)
    try:
        new(x, y[:, :3])
        raise SystemExit("other shapes are taken")
    except RuntimeError as error:
        assert "inputs of shapes (17, 10), (17, 3); the kernel is for x (6, 10), y (6, 7)" in str(error), error
    check_large(context)
    check_plans(context)


def check_large(context):
    """Nobody ran the kernel there: places may be of 32 bits."""
    tensors = [t for t in context["KERNEL"]["tensors"] if t["role"] == "in"]
    assert context["dims_for"](tensors, [(2**26, 10), (2**26, 7)], {})["batch_size"] == 2**26
    assert context["dims_for"](tensors, [(2**27, 10), (2**27, 7)], {"batch_size": 2**27})["batch_size"] == 2**27, "the problem's own"
    try:
        context["dims_for"](tensors, [(2**27, 10), (2**27, 7)], {})
        raise SystemExit("places of more than 30 bits are taken")
    except RuntimeError as error:
        assert "x has 1342177280 elements at these shapes" in str(error), error


def check_plans(context):
    evaluate = context["evaluate"]
    names = {"N": 10, "M": 3, "BLOCK": 4}
    for text, value in (("cdiv(N, BLOCK)", 3), ("(N - 2) / M * 4", 8), ("-7 / 2", -3), ("-7 % 2", -1), ("N == 10 && M < 3", 0),
                        ("!M == 0", 1), ("max(N, M) + min(N, M)", 13), ("ilog2(N)", 3), ("2 + 3 * 4 - 1", 13), (256, 256),
                        ("(N == 10) * 5 + (N == 4) * 9", 5), ("N || M / 0 * 0", None), ("1 +", None), ("__import__", None)):
        try:
            got = evaluate(text, names)
        except (ValueError, ZeroDivisionError, IndexError):
            got = None
        assert got == value, (text, got, value)
    plan = {"paths": [{"when": "N % 8 == 0", "launch": [{"args": ["x", "part"]}]}, {"when": "N > 100", "launch": [{"args": []}]},
                      {"launch": [{"args": ["tensormap(part, [N], [8])"]}]}]}
    for n, number in ((16, 0), (101, 1), (7, 2)):
        path = context["path_of"](plan, {"N": n})
        assert path is plan["paths"][number], n
        assert context["path_names"](path, "part") == (number != 1) and not context["path_names"](path, "par"), n
    plain = {"launch": []}
    assert context["path_of"](plain, {"N": 1}) is plain


def check_words(text):
    """What the benchmark's own static checker looks for, without comments."""
    plain = "\n".join(line.split("#")[0].split("//")[0] for line in text.split("\n"))
    for word in (r"\btry\s*:", r"\bexcept\b", r"\bpass\b", r"torch\.nn\.functional", r"\bthreading\b"):
        assert not re.search(word, plain), word
    assert "__global__" in plain


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    seed_text = make_seed()
    text, kernel_source = write_file(folder, seed_text)
    assert text == write_file(folder, seed_text)[0], "not the same text twice"
    check_words(text)
    on_host = host_seed.compile_all([("cuda", seed_text)], name)[0]
    check_file(text, kernel_source, HostDriver(on_host))
print("a ModelNew constructs, evaluates and answers as its problem")
