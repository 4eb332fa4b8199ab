#!/usr/bin/env python3
"""What the role oracle keeps of problems between questions (mpi-eval/torch/python/oracle.py): many small ones, four large ones, and
nothing of what constants were."""
import os
import pathlib
import subprocess
import sys

source = pathlib.Path(sys.argv[1])
python = os.environ.get("ATOLL_TEST_TORCH", "/usr/bin/python3")
if len(sys.argv) < 3:
    if subprocess.run([python, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))"]).returncode != 0:
        print(f"skipped: {python} has no torch")
        sys.exit(77)
    sys.exit(subprocess.run([python, "-B", __file__, str(source), "inside"]).returncode)

import gc
import mmap
import struct
import types
import weakref

import torch

package = types.ModuleType("atoll")
package.__path__ = [str(source / "mpi-eval/torch/python")]
sys.modules["atoll"] = package
from atoll import oracle  # noqa: E402

TEXT = """import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(4))
        self.register_buffer("b", torch.ones(%d))
    def forward(self, x):
        return x * self.w + self.b[0] + %d
def get_inputs():
    return [torch.rand(4)]
"""
KB = 1 << 10


def check(condition, message):
    if not condition:
        sys.exit(message)


def description(number, elements):
    tensor = {"dtype": "f32", "shape": [4], "parameter": None, "of": None, "segments": []}
    return {"name": "t", "dims": {}, "rivals": [], "tensors": [
        {**tensor, "name": "x", "role": "in"}, {**tensor, "name": "w", "role": "constant", "parameter": "w"}, {**tensor, "name": "y", "role": "out"}],
        "reference": {"source": TEXT % (elements, number), "file": "problem.py", "form": "module", "entry": "Model", "backward": False}}


class Asker:
    """As Atoll asks: a problem that is not known is loaded first."""

    def __init__(self, small=64, least=4):
        oracle.KEPT, oracle.BESIDE, oracle.BESIDE_BYTES = least, small, 64 * KB
        self.role = oracle.Role(types.SimpleNamespace(torch=torch, device=torch.device("cpu")))
        self.loads = 0
        self.fd = os.memfd_create("kept")
        os.ftruncate(self.fd, 4096)

    def ask(self, number, elements=1):
        key = str(number)
        request = {"key": key, "inputs": {"x": {"offset": 0, "bytes": 16}, "w": {"offset": 16, "bytes": 16}},
                   "outputs": [{"name": "y", "offset": 2048, "count": 4}]}
        with mmap.mmap(self.fd, 4096) as memory:
            memory[0:32] = struct.pack("8f", 1, 2, 3, 4, 10, 20, 30, 40)
        if self.role.op_answer(request, self.fd).get("unknown"):
            self.loads += 1
            self.role.op_load({"key": key, "description": description(number, elements)}, -1)
            check(self.role.op_answer(request, self.fd) == {"precision": "f64"}, f"problem {key} is not answered")
        with mmap.mmap(self.fd, 4096) as memory:
            got = struct.unpack("4d", memory[2048:2080])
        check(got == tuple(x * w + 1 + number for x, w in zip((1, 2, 3, 4), (10, 20, 30, 40))), f"problem {key}: {got}")


# Small ones are loaded once, in whatever turns they come, and of a constant nothing is kept between questions.
asker = Asker()
for turn in range(3):
    for number in range(20):
        asker.ask(number)
check(asker.loads == 20, f"20 small problems were loaded {asker.loads} times")
held = [loaded.bytes_held() for _, loaded in asker.role.loaded.values()]
check(held == [16] * 20, f"a buffer and its first value, not {held}")

# The last four stay, however large; a fifth goes, and none of the small ones for it.
for turn in range(2):
    for number in range(100, 104):
        asker.ask(number, 64 * KB)
check(asker.loads == 24, f"four large problems were loaded {asker.loads - 20} times")
first = weakref.ref(asker.role.loaded["100"][1])
asker.ask(104, 64 * KB)
gc.collect()
check(first() is None and "100" not in asker.role.descriptions, "a problem that was let go is still there")
for number in range(20):
    asker.ask(number)
check(asker.loads == 25, f"small ones went for a large one: {asker.loads}")
check(not any(str(number) in asker.role.loaded for number in range(100, 105)), "large ones stay among small ones")

# So many, and the oldest go first.
asker = Asker(small=8)
for number in range(13):
    asker.ask(number)
check(list(asker.role.descriptions) == [str(n) for n in range(3, 13)], f"kept: {list(asker.role.descriptions)}")
asker.ask(12)
asker.ask(3)
check(asker.loads == 13, "a problem that is kept was loaded again")
asker.ask(0)
check(asker.loads == 14, "a problem that went is known")
