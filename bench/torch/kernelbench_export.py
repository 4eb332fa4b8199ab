#!/usr/bin/env python3
"""What KernelBench's own harness says of kernels that Atoll exported: kernelbench_export.py CHECKOUT EXPORTED [--json FILE]

CHECKOUT: a checkout of KernelBench.  EXPORTED: the folder of `atoll export --kernelbench`.  Every file is given to the harness
(eval_kernel_against_ref of CHECKOUT/src) with the problem of its name: compiled, correct, its time, the original's, and beside
them the time that Atoll's archive has.  --plain: without the harness, by the same steps (seeds, allclose, events, a flushed
cache).  Packages that the harness imports for other purposes and that are not installed are stood in for.  Needs a GPU."""
import argparse
import contextlib
import importlib
import io
import json
import pathlib
import statistics
import sys
import types

import torch

STAND_INS = ("requests", "dotenv", "openai", "litellm", "tqdm")


class Model:
    """As much of pydantic's BaseModel as a record needs."""

    def __init__(self, **given):
        for name in getattr(type(self), "__annotations__", {}):
            setattr(self, name, given.get(name, getattr(type(self), name, None)))


def harness(checkout):
    """eval_kernel_against_ref."""
    for name in STAND_INS + ("pydantic",):
        try:
            importlib.import_module(name)
        except ImportError:
            module = types.ModuleType(name)
            module.__getattr__ = lambda attribute: (lambda *a, **k: None)
            module.BaseModel = Model
            sys.modules[name] = module
            print(f"{name} is not installed; the harness gets along without it", file=sys.stderr)
    sys.path.insert(0, str(checkout / "src"))
    return importlib.import_module("kernelbench.eval").eval_kernel_against_ref


def by_harness(evaluate, original, exported, options):
    with contextlib.redirect_stdout(io.StringIO()):
        result = evaluate(original, exported, num_correct_trials=options.trials, num_perf_trials=options.calls,
                          measure_performance=True, backend="cuda", precision=torch.float32, device=torch.device("cuda:0"))
    return {"compiled": result.compiled, "correct": result.correctness, "ms": result.runtime, "original_ms": result.ref_runtime,
            "said": {k: str(v)[:300] for k, v in result.metadata.items() if "error" in k or "issue" in k or "excessive" in k}}


def median_ms(model, inputs, calls):
    times, flush = [], torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    for trial in range(calls + 3):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        flush.zero_()
        torch.cuda.synchronize()
        begin.record()
        model(*inputs)
        end.record()
        torch.cuda.synchronize()
        if trial >= 3:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


def plainly(original, exported, options):
    context = {}
    exec(compile(original, "original.py", "exec"), context)
    model_type, get_inputs, get_init_inputs = (context[n] for n in ("Model", "get_inputs", "get_init_inputs"))
    exec(compile(exported, "model_new.py", "exec"), context)
    models = []
    for made in (model_type, context["ModelNew"]):
        torch.manual_seed(42)
        init = get_init_inputs()
        torch.manual_seed(42)
        models.append(made(*init).cuda())
    worst, is_right = 0.0, True
    with torch.no_grad():
        for seed in range(options.trials):
            torch.manual_seed(seed)
            inputs = [t.cuda() if isinstance(t, torch.Tensor) else t for t in get_inputs()]
            answers = [m(*inputs) for m in models]
            pairs = [(a, b) for a, b in zip(*[[x] if isinstance(x, torch.Tensor) else x for x in answers])]
            worst = max([worst] + [float((a - b).abs().max()) for a, b in pairs if a.dtype.is_floating_point])
            is_right = is_right and all(torch.allclose(a, b, atol=1e-4, rtol=1e-4) for a, b in pairs)
        times = [median_ms(m, inputs, options.calls) for m in models]
    return {"compiled": True, "correct": is_right, "ms": times[1], "original_ms": times[0], "said": {"worst": worst}}


def archived_ms(exported):
    names = {"__name__": "exported"}
    exec(compile(exported.split("# ---- atoll export ----")[0], "head.py", "exec"), names)
    bench = [t for t in names["KERNEL"]["times"] if t["variant"].startswith("bench")]
    return bench[0]["median_ns"] / 1e6 if bench else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("exported", type=pathlib.Path)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    evaluate = None if options.plain else harness(options.checkout)
    rows, wrong = [], 0
    print(f"{'problem':58} {'right':5} {'ms':>9} {'original':>9} {'speedup':>7} {'archive':>9} {'ratio':>6}")
    for path in sorted(options.exported.rglob("*.py")):
        name = path.relative_to(options.exported)
        original = (options.checkout / "KernelBench" / name).read_text()
        exported = path.read_text()
        try:
            row = plainly(original, exported, options) if options.plain else by_harness(evaluate, original, exported, options)
        except Exception as error:  # one problem of many
            row = {"compiled": False, "correct": False, "ms": -1, "original_ms": -1, "said": {"error": f"{error}"[:500]}}
        row.update(problem=str(name), archive_ms=archived_ms(exported))
        rows.append(row)
        wrong += not row["correct"]
        archive, ms = row["archive_ms"] or 0, row["ms"]
        print(f"{str(name)[:58]:58} {str(row['correct']):5} {ms:9.4f} {row['original_ms']:9.4f} "
              f"{row['original_ms'] / ms if ms else 0:7.3f} {archive:9.4f} {ms / archive if archive else 0:6.3f}", flush=True)
        if not row["correct"]:
            print(f"  {row['said']}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    sys.exit(1 if wrong or not rows else 0)


if __name__ == "__main__":
    main()
