#!/usr/bin/env python3
"""Do the rivals that Atoll's referee measured take as long outside of it?  outside.py RIVALS.jsonl [--campaign FOLDER] [--json FILE]

RIVALS.jsonl: what bench_rivals printed; with --campaign what it prints by --describe, and the times are those of a campaign (ATOLL_BUILD is
the build folder).  Every rival that was right is timed again by plain PyTorch: its text as a function, or
the task's module, inputs from torch's own generators, one process, nothing of Atoll's code.  On a GPU: a flush of written, then
read lines, a wait that the call is queued behind, two events, the median.  On the host: a walk over memory, perf_counter_ns.
Prints a table; the last column is outside / inside.  Needs a Python with torch and the same device."""
import argparse
import ast
import contextlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

import torch

LEAST_CALLS, MOST_CALLS, SECONDS, WARM_CALLS = 21, 200, 1.5, 3
TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn",
         "f8e5m2": "float8_e5m2", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8"}
MODES = {"compile": "default", "max-autotune": "max-autotune-no-cudagraphs"}
NORMAL, UNIFORM, INTEGER, INDEX, PERMUTATION, RAGGED, CONSTANT = range(7)
FORMS = [NORMAL] * 4 + [UNIFORM] * 4 + [INTEGER, INDEX, PERMUTATION, RAGGED, CONSTANT]  # core/task/init_value.h
device = "cuda" if torch.cuda.is_available() else "cpu"


def values(tensor, init):
    """A tensor of the task's distribution, from torch."""
    shape, dtype = tensor["shape"], getattr(torch, TYPES[tensor["dtype"]])
    form = FORMS[init["form"]]
    if form == NORMAL:
        x = torch.randn(shape, device=device) * init["deviation"] + init["a"]
    elif form == UNIFORM:
        x = torch.rand(shape, device=device) * init["step"] + init["a"]
    elif form == INTEGER:
        x = torch.randint(init["low"], init["low"] + init["span"], shape, device=device)
    elif form == INDEX:
        x = torch.arange(math.prod(shape), device=device).reshape(shape)
    elif form == PERMUTATION:
        rows = math.prod(shape[:-1])
        x = torch.stack([torch.randperm(shape[-1], device=device) for _ in range(rows)]).reshape(shape)
    elif form == RAGGED:
        x = torch.randint(0, init["span"] + 1, shape, device=device).sort().values
        x[..., 0], x[..., -1] = 0, init["span"]
    else:
        x = torch.full(shape, init["a"], device=device)
    return x.to(dtype)


def function_of(text, names, dims):
    body = ast.parse(text.strip() + "\n").body
    body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    tree = ast.parse("def rival(%s):\n    pass\n" % ", ".join(names))
    tree.body[0].body = body
    scope = {"torch": torch, "F": torch.nn.functional, "math": math}
    scope.update(dims)
    exec(compile(tree, "<rival>", "exec"), scope)
    return scope["rival"]


def module_of(description):
    """The task's module with the dims of its variant; its own weights do."""
    reference, dims = description["reference"], description["dims"]
    tree = ast.parse(reference["source"])
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and getattr(node.targets[0], "id", None) in dims:
            node.value = ast.copy_location(ast.Constant(dims[node.targets[0].id]), node.value)
    scope = {}
    exec(compile(tree, reference["file"], "exec"), scope)
    if reference["form"] == "function":
        return scope[reference["entry"]]
    arguments = scope["get_init_inputs"]() if "get_init_inputs" in scope else []
    return with_numbers(scope, scope[reference["entry"]](*arguments).to(device))


def with_numbers(scope, module):
    """The module as a function of its tensors alone: what else get_inputs gives stands where it stood."""
    meta = torch.device("meta")
    with meta if hasattr(meta, "__enter__") else contextlib.nullcontext():  # torch before 2.0 makes them
        given = scope["get_inputs"]()
    if all(torch.is_tensor(each) for each in given):
        return module

    def answer(*tensors):
        left = list(tensors)
        return module(*[left.pop(0) if torch.is_tensor(each) else each for each in given])
    return answer


def built(line):
    """The function that is timed, and the names of its arguments."""
    description = line["description"]
    rival = description["rivals"][line["number"]]
    tensors = [t for t in description["tensors"] if t["role"] != "out"]
    if rival["expression"] is None:
        if description["reference"].get("backward"):
            raise NotImplementedError("a backward pass is not timed here")
        is_function = description["reference"]["form"] == "function"
        names = [t["name"] for t in tensors if is_function or t["role"] != "constant"]
        function = module_of(description)
    else:
        names = [t["name"] for t in tensors]
        function = function_of(rival["expression"], names, description["dims"])

    def answer(*arguments):
        value = function(*arguments)
        return tuple(v.contiguous() for v in (value if isinstance(value, (tuple, list)) else (value,)) if torch.is_tensor(v))
    if rival["mode"] != "eager":
        answer = torch.compile(answer, mode=MODES[rival["mode"]], dynamic=False)
    return answer, names


def host_ns(function, make, flush):
    arguments = make()
    flush()
    begin = time.perf_counter_ns()
    function(*arguments)
    return time.perf_counter_ns() - begin


def device_ns(function, make, flush, wait):
    arguments = make()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    flush()
    torch.cuda._sleep(wait)
    begin.record()
    function(*arguments)
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e6


def flusher(size):
    areas = [torch.zeros(size // 8, dtype=torch.int64, device=device) for _ in range(2)]

    def flush():
        areas[0].add_(1)
        areas[1].max()
    return flush


def measure(line, flush):
    description, inits = line["description"], line["inits"]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = description["tf32"]
    torch.set_float32_matmul_precision("high" if description["tf32"] else "highest")
    function, names = built(line)
    tensors = {t["name"]: t for t in description["tensors"]}
    with torch.no_grad():
        def make():
            return [values(tensors[name], inits[name]) for name in names]
        for _ in range(WARM_CALLS):
            arguments = make()
            if device == "cuda":
                torch.cuda.synchronize()
            begin = time.perf_counter_ns()
            function(*arguments)
            if device == "cuda":
                torch.cuda.synchronize()
            once = time.perf_counter_ns() - begin
        wait = int(min(max(2 * once, 200e3), 50e6) * 2)  # cycles: some more than its own time at 2 GHz
        times, until = [], time.time() + SECONDS
        while len(times) < LEAST_CALLS or (time.time() < until and len(times) < MOST_CALLS):
            times.append(device_ns(function, make, flush, wait) if device == "cuda" else host_ns(function, make, flush))
    return statistics.median(times), len(times)


def campaign_times(folder):
    """{(task, rival, variant): median in ns} of the rivals that were right."""
    def table(name):
        atoll = pathlib.Path(os.environ.get("ATOLL_BUILD", "build"), "atoll")
        ran = subprocess.run([atoll, "export", "--jsonl", name, folder], check=True, capture_output=True, text=True)
        return [json.loads(line) for line in ran.stdout.splitlines()]
    tasks = {row["task"]: row["name"] for row in table("tasks")}
    rivals = {row["event"]: (tasks[row["task"]], row["name"]) for row in table("rivals") if row["verdict"] == "correct"}
    return {(*rivals[row["event"]], row["variant_name"]): row["median_ns"] for row in table("rival_timings") if row["event"] in rivals}


def lines_of(path, folder):
    times = campaign_times(folder) if folder else None
    with open(path) as lines:
        for line in map(json.loads, lines):
            key = line["task"], line["rival"], line["variant"]
            if times is None:
                yield line
            elif key in times:
                yield dict(line, median_ns=times[key])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("rivals")
    arguments.add_argument("--campaign", help="where the rivals were measured")
    arguments.add_argument("--json")
    arguments.add_argument("--threads", type=int, default=1, help="on the host: as many as Atoll gave the rivals")
    arguments.add_argument("--flush", type=int, default=256 << 20, help="bytes that are written, and read")
    asked = arguments.parse_args()
    torch.set_num_threads(asked.threads)
    torch.backends.cudnn.benchmark = True
    flush = flusher(asked.flush)
    told, ratios = [], []
    print("%-28s %-14s %-12s %12s %12s %8s" % ("task", "rival", "variant", "inside us", "outside us", "ratio"))
    for line in lines_of(asked.rivals, asked.campaign):
        if line["verdict"] != "correct":
            print("%-28s %-14s %s: %.80s" % (line["task"], line["rival"], line["verdict"], line["detail"]))
            continue
        try:
            outside, count = measure(line, flush)
        except Exception as error:
            print("%-28s %-14s %-12s %.120s" % (line["task"], line["rival"], line["variant"], error))
            continue
        ratio = outside / line["median_ns"]
        ratios.append(ratio)
        told.append({"task": line["task"], "rival": line["rival"], "variant": line["variant"], "inside_ns": line["median_ns"],
                     "outside_ns": outside, "calls": count, "ratio": ratio})
        print("%-28s %-14s %-12s %12.2f %12.2f %8.4f" % (line["task"], line["rival"], line["variant"],
                                                         line["median_ns"] / 1e3, outside / 1e3, ratio), flush=True)
        if device == "cuda":
            torch.cuda.empty_cache()
        if hasattr(torch, "compile"):
            torch.compiler.reset() if hasattr(torch, "compiler") else torch._dynamo.reset()
    within = sum(abs(r - 1) <= 0.02 for r in ratios)
    print("%d rivals, %d within 2 %%, median ratio %.4f" % (len(ratios), within, statistics.median(ratios) if ratios else 0))
    if asked.json:
        with open(asked.json, "w") as out:
            json.dump({"torch": torch.__version__, "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
                       "rivals": told}, out, indent=1)
    return 0 if ratios else 1


sys.exit(main())
