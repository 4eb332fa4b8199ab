"""Kernel Tuner's strategies on recorded spaces: which configurations each asks for, and when its best came.

Called by bench/search-quality in an environment that has Kernel Tuner.  One result file per space:
kt-<space>.json, {"space", "budget", "size", "versions", "strategies": {name: {"seeds": tried, "runs":
[[[evaluation, time], ...], ...], "evaluations": [per run], "seconds", "error_count", "error": the first}}}; a run
holds its improvements only, times in the table's unit.  A strategy that stops or fails early keeps what it had found.
Strategies run with their default options in simulation mode.  An evaluation is a distinct configuration that the table
was asked for, whether it failed or not; configurations outside the table cost nothing, as in Kernel Tuner itself.
Every run is a fresh process: nothing that a strategy keeps reaches the next.
"""

import argparse
import gc
import gzip
import importlib
import importlib.metadata
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy
from kernel_tuner import interface, util
from kernel_tuner.searchspace import Searchspace

FAILURES = {"compile": "CompilationFailedConfig", "runtime": "RuntimeFailedConfig"}
RUN_LIMIT_S = 300  # a run that takes longer counts with what it has found
PACKAGES = ("kernel_tuner", "numpy", "scipy", "scikit-learn", "scikit-optimize", "pyatf", "pymoo")


class Timeout(BaseException):
    pass


class Table(dict):
    """The cache of simulation mode, which keeps the order in which its entries were first asked for."""

    def __init__(self, entries):
        super().__init__(entries)
        self.asked = {}

    def __getitem__(self, key):
        self.asked.setdefault(key)
        return super().__getitem__(key)


class Space:
    def __init__(self, path):
        self.name = path.name.split(".")[0].removesuffix("_T4")
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            content = json.load(file)
        results = [r for r in content["results"] if r["invalidity"] != "constraints"]
        self.names = list(results[0]["configuration"])
        columns = {n: {r["configuration"][n] for r in results} for n in self.names}
        self.params = {n: sorted(v, key=lambda x: (isinstance(x, str), x)) for n, v in columns.items()}
        self.entries = dict(self.entry(r) for r in results)
        # a plain function: what is bound to an object would be copied with the whole table by every run
        self.is_legal = lambda *one, **params: self.key(one[0] if one else params) in self.entries
        if len(self.entries) != len(results):
            raise SystemExit(f"{path}: a configuration stands there twice")
        self.load()

    def key(self, config):
        return ",".join(str(config[n]) for n in self.names)

    def entry(self, result):
        config = {n: result["configuration"][n] for n in self.names}
        objective = result.get("objectives", [None])[0]
        value = next((m["value"] for m in result.get("measurements", []) if m["name"] == objective), None)
        correct = (result["invalidity"] == "correct" and result.get("correctness", 1) > 0
                   and isinstance(value, (int, float)) and 0 < value < float("inf"))
        config["time"] = value if correct else FAILURES.get(result["invalidity"], "RuntimeFailedConfig")
        return self.key(config), config

    def load(self):
        """Through a cache file of Kernel Tuner's own format, once; search space and table are then shared by all runs."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            head = {"device_name": "recorded", "kernel_name": self.name, "problem_size": [1],
                    "tune_params_keys": self.names, "tune_params": self.params, "objective": "time"}
            json.dump({**head, "cache": self.entries}, file)
            file.flush()
            self.table = util.read_cache(file.name, open_cache=False)["cache"]
        self.searchspace = Searchspace(self.params, self.is_legal, 1_000_000_000, framework="bruteforce")
        if self.searchspace.size != len(self.table):
            raise SystemExit(f"{self.name}: {self.searchspace.size} legal points, {len(self.table)} recorded")


def on_alarm(number, frame):
    raise Timeout


def improvements(space, asked):
    best, found = None, []
    for i, key in enumerate(asked):
        value = space.table[key]
        if "__error__" not in value and (best is None or value["time"] < best):
            best = value["time"]
            found.append([i + 1, best])
    return found


def run(space, strategy, budget, seed):
    """One run of one strategy; in a process of its own."""
    random.seed(seed)
    numpy.random.seed(seed)
    table, error = Table(space.table), None
    interface.Searchspace = lambda *args, **kwargs: space.searchspace
    util.process_cache = lambda *args: table
    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(RUN_LIMIT_S)
    try:
        interface.tune_kernel(
            space.name, "", 1, [], space.params, restrictions=space.is_legal, strategy=strategy, quiet=True,
            strategy_options={"max_fevals": budget}, cache="recorded.json", simulation_mode=True,
            objective="time", seed=seed, lang="CUDA")
    except Timeout:
        error = f"no end within {RUN_LIMIT_S} s"
    except BaseException as e:
        error = f"{type(e).__name__}: {e}"
    signal.alarm(0)
    asked = list(table.asked)[:budget]
    return {"asked": len(asked), "error": error, "improvements": improvements(space, asked)}


def work(args):
    space, strategy, budget, seed = args
    start = time.process_time()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("recorded.json").write_text("{}")  # closed by the tuner when it ends; what it reads is the table
        sys.stdout = open(os.devnull, "w")
        result = run(SPACES[space], strategy, budget, seed)
        os.chdir("/")
    return {**result, "seconds": time.process_time() - start}


SPACES = {}


def series(pool, space, strategy, old, args):
    """Seeds in their order, until all ran or the strategy had its share of processor time; old: what ran before."""
    one = old or {"seeds": 0, "runs": [], "evaluations": [], "seconds": 0.0, "error_count": 0, "error": ""}
    while not is_done(one, args):
        each = one["seconds"] / one["seeds"] if one["seeds"] else 2.0
        batch = max(2 * args.jobs, min(50, int(args.seconds / 4 / each)))
        seeds = range(one["seeds"], min(args.seeds, one["seeds"] + batch))
        for result in pool.map(work, [(space, strategy, args.budget, s) for s in seeds], chunksize=1):
            one["seeds"] += 1
            one["seconds"] += result["seconds"]
            one["error_count"] += result["error"] is not None
            one["error"] = one["error"] or result["error"] or ""
            if result["asked"]:
                one["runs"].append(result["improvements"])
                one["evaluations"].append(result["asked"])
    return one


def versions():
    found = {"python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def is_done(one, args):
    if one["seeds"] and not one["runs"]:
        return True  # it cannot run at all
    return one["seeds"] >= args.seeds or (one["seeds"] >= args.least and one["seconds"] >= args.seconds)


def measure(pool, space, args):
    path = args.out / f"kt-{space.name}.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    if result.get("budget") != args.budget or result.get("versions") != versions():
        result = {"space": space.name, "budget": args.budget, "size": len(space.table), "versions": versions(),
                  "strategies": {}}
    for name in (n for n in interface.strategy_map if n != "brute_force"):
        old = result["strategies"].get(name)
        if args.only and name not in args.only or old and is_done(old, args):
            continue
        one = series(pool, space.name, name, old, args)
        result["strategies"][name] = one
        path.with_suffix(".part").write_text(json.dumps(result))
        path.with_suffix(".part").replace(path)
        print(f"{space.name}: {name}: {len(one['runs'])} seeds, {one['seconds']:.1f} s"
              + (f"; {one['error_count']} ended early: {one['error']}" if one["error"] else ""),
              file=sys.stderr, flush=True)


def preload():
    """Imports here what every run would import for itself."""
    for module in set(interface._STRATEGY_IMPORTS.values()):
        try:
            importlib.import_module(module)
        except ImportError:
            pass  # the strategy's runs will say so


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--least", type=int, default=10, help="seeds of a strategy however slow it is")
    parser.add_argument("--seconds", type=float, default=600, help="processor time of a strategy on a space")
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", help="this strategy alone; may be repeated")
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("files", type=Path, nargs="+")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    preload()
    for path in args.files:
        space = Space(path)
        SPACES[space.name] = space
        gc.collect()
        gc.freeze()
        with multiprocessing.get_context("fork").Pool(args.jobs, maxtasksperchild=1) as pool:
            measure(pool, space, args)


if __name__ == "__main__":
    main()
