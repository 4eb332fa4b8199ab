#!/usr/bin/env python3
"""`atoll run --reuse`: what an earlier campaign measured leads the tuner of the next one."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-reuse-"))
FIRST = 12  # proposals of a task: its seeds and what hints put first


def atoll(*words, status=0):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=120)
    if result.returncode != status:
        sys.exit(f"atoll {' '.join(map(str, words))}: status {result.returncode}, expected {status}\n"
                 f"{result.stdout[-2000:]}\n{result.stderr[-2000:]}")
    return result


def check(condition, message):
    if not condition:
        sys.exit(message)


def run(name, task, seed, evaluations, *more):
    campaign = root / name
    said = atoll("run", f"{source}/suites/starter", "--only", task, "-o", campaign, "--evaluations", evaluations, "--seed",
                 seed, "-q", *more)
    return campaign, said.stderr


def proposals(campaign):
    return [json.loads(line)["id"] for line in atoll("export", campaign, "--jsonl", "candidates").stdout.splitlines()]


def fastest_instance(campaign):
    """Of a template, by its single time: what the tuner goes by."""
    tuned = {json.loads(line)["id"] for line in atoll("export", campaign, "--jsonl", "candidates").stdout.splitlines()
             if json.loads(line)["choice"]}
    rows = map(json.loads, atoll("export", campaign, "--jsonl", "evaluations").stdout.splitlines())
    return min((r["time_ns"], r["candidate"]) for r in rows if r["verdict"] == "correct" and r["candidate"] in tuned)[1]


null = ("--backend", "null")
earlier, _ = run("earlier", "matmul", 4, 300, *null)
wanted = fastest_instance(earlier)
fresh, _ = run("fresh", "matmul", 5, 60, *null)
later, said = run("later", "matmul", 5, 60, *null, "--reuse", earlier)
check("taken over: " in said and "for 1 of 1 tasks" in said, f"said {said!r}")
check(wanted in proposals(later)[:FIRST], "the earlier run's fastest instance is not among the first proposals")
check(wanted not in proposals(fresh)[:FIRST], "it is there without --reuse too: the test shows nothing")
shutil.rmtree(earlier)  # nothing of it is needed any more
check("derived again and equal" in atoll("replay", later).stdout, "replay without the earlier campaign")
check(" 0 problems" in atoll("verify", later).stdout, "verify")

made, said = run("made", "matmul", 5, 60, *null, "--reuse", later, "--create-only")
atoll("resume", made, "-q")
check(wanted in proposals(made)[:FIRST], "what was taken over is lost between --create-only and resume")

for name, task, backend in (("other-task", "transpose", "null"), ("other-backend", "matmul", "cpu")):
    campaign, said = run(name, task, 5, 20, "--backend", backend, "--reuse", later, "--create-only")
    check("nothing is taken over" in said and "of a task of this run" in said, f"{name}: said {said!r}")
    check(not (campaign / "prior.atl").exists(), f"{name}: something was taken over")
said = subprocess.run([f"{build}/atoll", "run", f"{source}/suites/starter", "-o", str(root / "x"), "--reuse",
                       str(root / "nothing")], capture_output=True, text=True, timeout=120)
check(said.returncode != 0 and "in --reuse" in said.stderr and not (root / "x").exists(), f"said {said.stderr!r}")

damaged, _ = run("damaged", "matmul", 5, 60, *null, "--reuse", later, "--create-only")
prior = damaged / "prior.atl"
content = bytearray(prior.read_bytes())
content[40] ^= 1
prior.write_bytes(content)
said = subprocess.run([f"{build}/atoll", "resume", str(damaged), "-q"], capture_output=True, text=True, timeout=120)
check(said.returncode != 0 and "prior.atl" in said.stderr + (damaged / "log").read_text(), f"a damaged file: {said.stderr!r}")

measured, _ = run("measured", "softmax_rows", 4, 12, "--seconds", 60)
wanted = fastest_instance(measured)
again, said = run("again", "softmax_rows", 5, 12, "--seconds", 60, "--reuse", measured)
check("taken over: " in said and "another device model" not in said, f"said {said!r}")
check(wanted in proposals(again)[:FIRST], "cpu: the earlier run's fastest instance is not among the first proposals")
shutil.rmtree(root, ignore_errors=True)
print("earlier results lead later runs")
