#!/usr/bin/env python3
"""Results that a torch process shows stretch by stretch (mpi-eval/torch/python/window.py), with a driver whose device is the host:
every byte is shown once and at its place, in the type asked for, and nothing is left behind."""
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

import ctypes
import types

import torch

package = types.ModuleType("atoll")
package.__path__ = [str(source / "mpi-eval/torch/python")]
sys.modules["atoll"] = package
from atoll import window  # noqa: E402
from atoll.refusal import Refusal  # noqa: E402

torch.cuda.current_stream = lambda: types.SimpleNamespace(cuda_stream=0)
torch.cuda.synchronize = torch.cuda.empty_cache = lambda: None


def check(condition, message):
    if not condition:
        sys.exit(message)


class Driver:
    """Device memory is the host's; a handle is an address."""

    def __init__(self):
        self.areas, self.freed, self.refuses_handles, self.room = {}, [], 0, 1 << 40

    def cuMemAlloc_v2(self, ret, size):
        if size.value > self.room:
            return 2
        area = (ctypes.c_ubyte * size.value)(*[0xa5] * 16)
        ret._obj.value = ctypes.addressof(area)
        self.areas[ctypes.addressof(area)] = area
        return 0

    def cuMemFree_v2(self, address):
        self.freed.append(bytes(self.areas.pop(address.value)))
        return 0

    def cuMemcpyDtoDAsync_v2(self, to, origin, size, stream):
        ctypes.memmove(to.value, origin.value, size.value)
        return 0

    def cuMemsetD8_v2(self, address, value, size):
        ctypes.memset(address.value, value.value, size.value)
        return 0

    def cuIpcGetMemHandle(self, handle, address):
        ctypes.memmove(handle, ctypes.byref(address), 8)
        return self.refuses_handles


class Kernels:
    def __init__(self):
        self.driver = Driver()

    @staticmethod
    def must(result, what, kind="internal"):
        if result:
            raise Refusal(kind, what)


def take(shown, total, stretch):
    """What a reader of all stretches gets."""
    data = b""
    for begin in range(0, total, stretch):
        handle = bytes.fromhex(shown.show(begin, stretch))
        check(len(handle) == 64, "the length of a handle")
        data += ctypes.string_at(int.from_bytes(handle[:8], "little"), stretch)
    return data[:total]


def refused(kind, call):
    try:
        call()
    except Refusal as refusal:
        check(refusal.kind == kind, f"{refusal.kind}, not {kind}: {refusal.text}")
        return
    sys.exit(f"no refusal of kind {kind}")


generator = torch.Generator().manual_seed(1)
first = torch.randn((33, 5), generator=generator)
second = torch.arange(200, dtype=torch.int32).reshape(20, 10).t()  # not contiguous
third = torch.randn(7, generator=generator, dtype=torch.float64)
places = [(0, first), (1536, second), (3328, third)]
for stretch in (8, 64, 1024, 1352, 4096):
    kernels = Kernels()
    shown = window.Window(torch, kernels)
    shown.keep(places, torch.float64)
    data = take(shown, 3328 + 56, stretch)
    for offset, tensor in places:
        wanted = tensor.reshape(-1).to(torch.float64)
        got = torch.frombuffer(bytearray(data[offset:offset + 8 * wanted.numel()]), dtype=torch.float64)
        check(torch.equal(got, wanted), f"stretches of {stretch}: doubles at {offset}")
    check(len(kernels.driver.areas) == 1 and len(next(iter(kernels.driver.areas.values()))) == 2 << 20, "one allocation of whole pages")
    shown.close()
    check(not kernels.driver.areas and not shown.parts and not any(kernels.driver.freed[-1]), "something is left")
    shown.close()

# As they are, and bytes of elements of any size; a larger stretch takes other memory.
kernels = Kernels()
shown = window.Window(torch, kernels)
raw = [(0, first.view(-1).view(torch.uint8)), (768, third.view(torch.uint8))]
shown.keep(raw, None)
for stretch in (8, 100, 4 << 20):
    data = take(shown, 768 + 56, stretch)
    check(all(data[at:at + t.numel()] == bytes(t.tolist()) for at, t in raw), f"stretches of {stretch}: bytes")
check(len(kernels.driver.freed) == 1 and len(kernels.driver.areas) == 1, "a window that grows")
shown.close()

# An element that is cut, memory that is not there, a system that shows none, no GPU.
shown.keep(places, torch.float64)
refused("internal", lambda: shown.show(4, 8))
kernels.driver.room = 1 << 20
refused("memory", lambda: shown.show(0, 4 << 20))
kernels.driver.room, kernels.driver.refuses_handles = 1 << 40, 801
refused("unsupported", lambda: shown.show(0, 8))
shown.close()
refused("unsupported", lambda: window.Window(torch, None))


# The roles: what they answer stays there, is shown, and goes with the next question and when they are told.
class Filling(Kernels):
    """x is 0, 1, 2, ... as floats."""

    def fill(self, address, fills):
        for one in fills:
            for i in range(one["count"]):
                ctypes.c_float.from_address(address + 4 * i).value = i


COUNT = 1000
DESCRIPTION = {
    "name": "t", "dims": {"N": COUNT}, "tf32": False,
    "tensors": [{"name": "x", "dtype": "f32", "role": "in", "shape": [COUNT], "parameter": None, "of": None, "segments": []},
                {"name": "y", "dtype": "f32", "role": "out", "shape": [COUNT], "parameter": None, "of": None, "segments": []}],
    "reference": {"source": "def forward(x):\n    return x / 3\n", "file": "problem.py", "form": "function", "entry": "forward", "backward": False},
    "rivals": [{"name": "eager", "expression": "x / 3", "mode": "eager"}]}
INPUTS = {"x": {"fills": [{"count": COUNT}]}}
true = torch.arange(COUNT, dtype=torch.float64) / 3
place = types.SimpleNamespace(torch=torch, device=torch.device("cpu"), threads=1, folder="/tmp")


def taken(ask, more, name, total, stretch):
    handle, data = ask()[name], b""
    for begin in range(0, total, stretch):
        handle = more(begin)[name] if begin else handle
        data += ctypes.string_at(int.from_bytes(bytes.fromhex(handle)[:8], "little"), stretch)
    return data[:total]


from atoll import oracle, rival  # noqa: E402

role = oracle.Role(place)
role.kernels = Filling()
role.op_load({"key": "k", "description": DESCRIPTION}, -1)
question = {"key": "k", "inputs": INPUTS, "outputs": [{"name": "y", "offset": 0, "count": COUNT}], "window": 3200}
for _ in range(2):
    data = taken(lambda: role.op_answer(question, -1), lambda begin: role.op_show({"begin": begin, "window": 3200}, -1), "handle", 8 * COUNT, 3200)
    check(torch.equal(torch.frombuffer(bytearray(data), dtype=torch.float64), true), "the oracle's doubles")
check(role.op_answer(question, -1)["precision"] == "f64" and len(role.kernels.driver.areas) == 1, "one answer at a time")
check(role.op_answer({"key": "other"}, -1) == {"unknown": True}, "a problem that is not loaded")
role.op_close({}, -1)
check(not role.kernels.driver.areas and not any(any(area) for area in role.kernels.driver.freed), "the oracle keeps what it showed")
refused("internal", lambda: role.op_show({"begin": 0, "window": 3200}, -1))

role = rival.Role(place)
role.kernels = Filling()
built = role.op_load({"task": DESCRIPTION, "rival": 0, "flush_bytes": 0, "inputs": INPUTS}, -1)
question = {"handle": built["handle"], "inputs": INPUTS, "outputs": {"y": {"offset": 0, "bytes": 4 * COUNT}}, "window": 1600}
data = taken(lambda: role.op_output(question, -1), lambda begin: role.op_show({"begin": begin, "window": 1600}, -1), "shown", 4 * COUNT, 1600)
check(torch.allclose(torch.frombuffer(bytearray(data), dtype=torch.float32).to(torch.float64), true, rtol=1e-6), "the rival's outputs")
role.op_rest({"keep": [built["handle"]]}, -1)
check(not role.kernels.driver.areas and not any(any(area) for area in role.kernels.driver.freed), "the rival keeps what it showed")
refused("internal", lambda: role.op_show({"begin": 0, "window": 1600}, -1))
check(role.op_measure({"handle": built["handle"], "samples": [{"inputs": INPUTS}]}, -1)["samples"][0]["ns"] > 0, "a sample after it")
print("stretches of five sizes, raw and as doubles; both roles; wiped at the end")
