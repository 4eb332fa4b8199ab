#!/usr/bin/env python3
"""First drafts are shown kernels of similar tasks, and a model of embeddings has a say in which: its vectors come before the drafts are
asked for, and where it fails words alone decide.  The models are a script behind a spool (docs/spec/gateway.md).

    embeddings.py BUILD SOURCE
"""
import atexit
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

from spool import Requests

build, source = sys.argv[1:3]
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-embeddings-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
NEAR = "tridiagonal_f64"  # what the vectors call similar, and no word does


def check(condition, message):
    if not condition:
        sys.exit(message)


def atoll(*words):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=120)
    check(result.returncode == 0, f"atoll {' '.join(map(str, words))}: status {result.returncode}\n{result.stderr[-2000:]}")
    return result.stdout


def rows(where, table):
    return [json.loads(line) for line in atoll("export", where, "--jsonl", table).splitlines()]


class Models(threading.Thread):
    """Answers a spool: vectors, or an error in their place, and drafts."""

    def __init__(self, spool, fails):
        super().__init__(daemon=True)
        self.requests, self.fails, self.stopping = Requests(spool), fails, False
        self.texts, self.drafts, self.order = [], [], []

    def reply(self, request):
        if "input" not in request:
            self.drafts.append(request)
            self.order.append("draft")
            return "I do not know."
        self.order.append("vectors")
        self.texts += request["input"]
        check(request["model"] == "vectors" and request["atoll"]["purpose"] == "embedder", f"{request['model']}, {request['atoll']}")
        if self.fails:
            return json.dumps({"error": {"message": "no such model", "type": "denied", "code": 403}, "atoll": {"status": "denied"}})
        near = [text.startswith((f"{NEAR}:", "softmax_rows:")) for text in request["input"]]
        return json.dumps({"object": "list", "model": "vectors", "usage": {"prompt_tokens": 10, "total_tokens": 10}, "data": [
            {"object": "embedding", "index": i, "embedding": [1, 0.01 * i] if is_near else [0, 1]} for i, is_near in enumerate(near)][::-1]})

    def run(self):
        done = set()
        while not self.stopping:
            for path in self.requests.paths():
                try:
                    request = json.loads(path.read_text())
                except (FileNotFoundError, json.JSONDecodeError):
                    continue
                if path.name not in done:
                    done.add(path.name)
                    beside = path.with_name("." + path.stem + ".part")
                    beside.write_text(self.reply(request))
                    os.rename(beside, path.with_suffix(".reply"))
            self.requests.wait(0.05)


def drafts(name, fails, *more):
    """What first drafts of a campaign were shown, in order, and the models."""
    campaign, spool = root / name, root / f"{name}-spool"
    models = Models(spool, fails)
    models.start()
    atoll("run", f"{source}/suites/starter", "--only", "softmax_rows", "-o", campaign, "--backend", "null", "--strategy", "repeated",
          "--set", "ask_share=1", "--set", "repeated_parent=0", "--set", "prompt_evolution=0", "--samples", 3, "--seconds", 60, "--seed", 3, "-q", "--model", "author",
          "--gateway", f"spool:{spool}", *more)
    models.stopping = True
    models.join()
    asks = {a["number"]: a for a in rows(campaign, "asks") if a["prompt"]}
    shown = {}
    for brief in rows(campaign, "briefs"):
        if brief["kind"] == "demonstration":
            shown.setdefault(brief["ask"], []).append(brief["title"].split("/")[1])
            said = asks.get(brief["ask"])
            check(not said or "# Kernels of similar tasks" in said["prompt"], f"ask {brief['ask']} is not shown {brief['title']}")
    check(asks and models.drafts, "nothing was asked")
    check("derived again and equal" in atoll("replay", campaign), "replay")
    first = {tuple(titles) for titles in shown.values()}
    check(len(first) == 1, f"drafts were shown {first}")
    return first.pop(), models


words, models = drafts("words", False)
check(not models.texts and len(words) == 5 and NEAR not in words and "softmax_rows" not in words, f"by words: {words}")
both, models = drafts("both", False, "--embedder", "vectors")
check(NEAR in both[:2] and words[0] in both[:3], f"shown by words {words}, by both {both}")
check(models.order.index("draft") == models.order.count("vectors") > 1, f"asked in the order {models.order}")
check(len(models.texts) > 20 and sum(text.startswith("softmax_rows:") for text in models.texts) >= 1, "what was embedded")
check(all(len(text) < 6000 for text in models.texts), "texts are cut")
hints = root / "hints.yaml"
hints.write_text("version: 1\nhints:\n" + "".join(
    f"  - name: of-{category}\n    trigger: limiter dram\n    category: {category}\n    advice: Do as {category} does.\n" for category in ("reduction", "elementwise", "reduction elementwise")).replace("of-reduction elementwise", "of-both"))
without, _ = drafts("without", False, "--knowledge-except", "reduction", "--experience", hints)
told = json.loads((root / "without" / "knowledge.json").read_text())["files"]["hints.yaml"]
check("of-elementwise" in told and "of-both" in told and "of-reduction" not in told, "hints of a family that is left out")
check(without and not {"row_reduce", "rmsnorm", "layernorm"} & set(without), f"of a family that is left out: {without}")
seeds = {c["origin"] for c in rows(root / "without", "candidates") if c["operator"] == "seed"}
check(seeds == {"naive"} and len({c["origin"] for c in rows(root / "words", "candidates") if c["operator"] == "seed"}) > 1, f"seeds: {seeds}")
failed, models = drafts("failed", True, "--embedder", "vectors")
check(failed == words and models.texts, f"after a failure: {failed}")
atoll("run", f"{source}/suites/starter", "--only", "row_reduce", "-o", root / "next", "--backend", "null", "--create-only", "-q",
      "--model", "author", "--gateway", f"spool:{root}/next-spool", "--reuse", root / "words")
kernels = json.loads((root / "next" / "knowledge.json").read_text())["files"]
best = min((t for t in rows(root / "words", "tasks")), key=lambda t: t["task"])
text = kernels["kernels/reuse-1/softmax_rows/best.0.c"]
head, _, kernel = text.partition("\n\n")
said = dict(line.split(": ", 1) for line in head.splitlines())
winner = next(c for c in rows(root / "words", "candidates") if c["id"] == best["best"])
check(kernel == winner["source"] and abs(float(said["time_us"]) * 1e3 / best["best_ns"] - 1) < 1e-4 and float(said["gain"]) >= 1,
      f"the best of an earlier campaign: {head}")
check(said["family"] == "cpu" and said["form"] == "in[a,b] out[a,b]" and said["shape"], f"what is said of it: {head}")
check("What limits" not in said["note"], f"nobody knows what limits it: {said['note']}")
# Of one that was measured on a GPU: the shape that it was timed at there, and what its counters said.
shutil.copytree(f"{source}/tests/fixtures/cassettes/starter-h200/campaign", root / "h200")
atoll("run", f"{source}/suites/starter", "--only", "row_reduce", "-o", root / "gpu", "--backend", "cuda", "--python", "none", "--create-only", "-q",
      "--model", "author", "--gateway", f"spool:{root}/next-spool", "--reuse", root / "h200")
head = json.loads((root / "gpu" / "knowledge.json").read_text())["files"]["kernels/reuse-1/attention/best.0.cu"].partition("\n\n")[0]
check("shape: H=16 L=2048 D=64\n" in head and "UK=4. What limits it there: fma 67 %\n" in head, f"the best on a GPU: {head}")
print(f"by words {words}, with vectors {both}")
