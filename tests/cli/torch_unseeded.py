#!/usr/bin/env python3
"""Tasks without any seed: what PyTorch needs is the yardstick, and a model is asked for the first kernel.  The model is a script
behind a spool, whose first answer is wrong.  Without a Python with torch, and with nobody to ask, it ends and says why.
Debian's python3-torch will do.

    torch_unseeded.py BUILD [--refused]      what is measured for real, or how it ends where it cannot be
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

from spool import Requests

build = sys.argv[1]
PYTHON = "/usr/bin/python3"
if subprocess.run([PYTHON, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))"]).returncode != 0:
    print(f"{PYTHON} has no torch")
    sys.exit(77)

HEAD = """version: 1
name: {name}
summary: y = 2 x + w
dims: [N]
tensors:
  - {{name: x, dtype: f32, shape: [N], role: in, init: {{normal: {{mean: 0, std: 1}}}}}}
  - {{name: w, dtype: f32, shape: [N], role: constant, {parameter}init: {{normal: {{mean: 0, std: 1}}}}}}
  - {{name: y, dtype: f32, shape: [N], role: out}}
reference: {reference}
work: {{flops: "2 * N"}}
tolerance: {{rtol: 1.0e-5, atol: 1.0e-5}}
variants:
  check: {{N: 1000}}
  bench: {{N: 400000}}
"""
MODULE = """import torch
N = 10
class Model(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(size))
    def forward(self, x):
        return 2 * x + self.w
def get_inputs():
    return [torch.randn(N)]
def get_init_inputs():
    return [N]
"""
REFERENCE = """void reference(const struct atoll_reference_args *a, long unit)
{
    put_y(a, unit, 2 * get_x(a, unit) + get_w(a, unit));
}
"""
KERNEL = """/* atoll-plan {"version": 1, "launch": [{"function": "twice", "units": "N", "args": ["x", "w", "y"]}]} */
void twice(long begin, long end, const float *restrict x, const float *restrict w, float *restrict y)
{
    for (long i = begin; i < end; i++)
        y[i] = %s * x[i] + w[i];
}
"""


def check(condition, message):
    if not condition:
        sys.exit(message)


def atoll(*words, status=0):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=250)
    if result.returncode == 65 != status and "unstable" in result.stdout:  # a machine that others use is no fault
        print(f"too many samples were disturbed here: {result.stderr.splitlines()[-1]}")
        sys.exit(77)
    check(result.returncode == status, f"atoll {' '.join(map(str, words))}: {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout + result.stderr


def rows(campaign, table):
    return [json.loads(line) for line in atoll("export", campaign, "--jsonl", table).splitlines()]


class Model(threading.Thread):
    """A kernel that is wrong, then one that is right, then others of it."""

    def __init__(self, spool):
        super().__init__(daemon=True)
        self.spool, self.requests, self.prompts, self.stopping = spool, Requests(spool), [], False

    def run(self):
        while not self.stopping:
            try:
                for path in self.requests.paths():
                    self.answer(path)
            except (FileNotFoundError, json.JSONDecodeError):  # a folder or request went meanwhile, or is half written
                pass
            self.requests.wait(0.05)

    def answer(self, path):
        reply = path.with_suffix(".reply")
        if reply.exists():
            return
        request = json.loads(path.read_text())
        self.prompts.append(request["messages"][1]["content"])
        text = KERNEL % ("3" if len(self.prompts) == 1 else "2")
        beside = reply.with_name("." + reply.name)
        beside.write_text(json.dumps({"object": "chat.completion", "model": "m", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": f"```c\n{text}/* draft {len(self.prompts)} */\n```\n"},
             "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 10}}))
        os.rename(beside, reply)


def task(folder, name, reference, text, parameter=""):
    path = pathlib.Path(folder, name, name)
    path.mkdir(parents=True)
    (path / "task.yaml").write_text(HEAD.format(name=name, reference=reference, parameter=parameter) +
                                    ("" if parameter else 'baselines: [{torch: "2 * x + w"}]\n'))
    (path / ("problem.py" if parameter else "reference.c")).write_text(text)
    return path.parent


def evolve(folder, suite, name, python, status=0):
    """A model writes what there is to evaluate."""
    campaign, model = pathlib.Path(folder, name), Model(pathlib.Path(folder, name + "-spool"))
    model.start()
    said = atoll("run", suite, "-o", campaign, "--python", python, "--model", "m", "--gateway", f"spool:{model.spool}", "--evaluations", 4,
                 "--seconds", 120, "--seed", 1, "--sample-seconds", 0.05, "--set", "ask_share=1", "--islands", 1, status=status)
    model.stopping = True
    model.join()
    return said, campaign, model.prompts


def check_found(suite, said, campaign, prompts):
    """PyTorch's time counts, the first draft is wrong and the best is a model's."""
    rivals = {row["verdict"] for row in rows(campaign, "rivals")}
    if "correct" not in rivals and "unstable" in rivals:  # a machine that others use is no fault
        print("PyTorch could not be timed here: too many samples were disturbed")
        sys.exit(77)
    check("no correct baseline" not in said, said)
    check("write a first kernel from scratch" in prompts[0] and "a first kernel that is correct" in prompts[0], prompts[0])
    asks = rows(campaign, "asks")
    check(asks[0]["kind"] == "write" and asks[0]["operator"] == "initialise", f"{suite.name}: the first ask is {asks[0]}")
    verdicts = [row["verdict"] for row in rows(campaign, "evaluations")]
    check(verdicts.count("wrong") == 1 and "correct" in verdicts, f"{suite.name}: {verdicts}")
    best = json.loads(atoll("best", campaign, "--json"))
    check("rival" in json.dumps(best), f"{suite.name}: best is compared with {best}")
    none = "seeds none: the task has none in a language of this campaign"
    check(none.replace("seeds ", "    seeds: ") in said, said)
    check(best["tasks"][0]["no_seed"] if "tasks" in best else True, f"{best}")
    shown = atoll("show", campaign, suite.name)
    check(none in shown, shown)
    check("made by model" in shown and "over the rival" in shown, shown)
    replayed = json.loads(atoll("replay", campaign, "--json"))
    check(replayed["prompts"] == len(asks), f"{suite.name}: {replayed}")


with tempfile.TemporaryDirectory(prefix="atoll-unseeded-") as folder:
    module = task(folder, "module", "{torch: problem.py}", MODULE, "parameter: w, ")
    native = task(folder, "native", "{file: reference.c, units: N}", REFERENCE)
    if "--refused" not in sys.argv:
        for suite in module, native:
            check_found(suite, *evolve(folder, suite, suite.name + "-run", PYTHON))
        print("without seeds PyTorch is the yardstick and a model writes first")
        sys.exit()
    said, campaign, prompts = evolve(folder, native, "alone", "none", 65)
    check("ended, no correct baseline: native" in said and "native has no seed, and PyTorch" in said, f"without torch: {said}")
    check(not rows(campaign, "evaluations"), "without torch there is nothing to compare with")
    said = atoll("run", module, "-o", pathlib.Path(folder, "nobody"), "--python", PYTHON, "--seconds", 5, status=65)
    check("no seed in the language c" in said and "ask a model for the first kernel (--model)" in said, said)
print("without torch, and with nobody to ask, it says why it ends")
