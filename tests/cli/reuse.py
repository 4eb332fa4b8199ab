#!/usr/bin/env python3
"""`atoll run --reuse`: what an earlier campaign measured leads the tuner of the next one.

    reuse.py BUILD SOURCE [--measured]       on the null backend, or on a processor
"""
import atexit
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]
sys.path.insert(0, f"{source}/tests/fault")
import journal  # noqa: E402
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-reuse-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
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


TASK, CAPACITY, HINT, RESUME = 2, 3, 11, 9


def events(campaign):
    """Types of all journaled events, in order."""
    paths = sorted(campaign.glob("jobs/*/journal.atl"), key=lambda p: int(p.parent.name.rsplit(".", 1)[1]))
    return [payload[20] for p in paths for kind, payload in journal.frames(p.read_bytes()) if kind == journal.EVENT]


def start_killed(campaign, name, hints):
    """A copy as a start leaves it that was killed when so many hints were durable."""
    copy, seen, size = root / name, -1, 0
    shutil.copytree(campaign, copy)
    for path in [copy / "archive.h5", copy / "report.html", *copy.glob("jobs/*/segment-*.h5")]:
        path.unlink()
    path = copy / "jobs/local.0/journal.atl"
    content = path.read_bytes()
    for kind, payload in journal.frames(content):
        if kind == journal.EVENT:
            seen = 0 if payload[20] == TASK else seen + (payload[20] == HINT)
        size += 24 + len(payload)
        if seen == hints:
            break
    path.write_bytes(content[:size])
    return copy


if sys.argv[3:] == ["--measured"]:
    cpu = ("--seconds", 60, "--sample-seconds", 0.05)
    measured, _ = run("measured", "softmax_rows", 4, 12, *cpu)
    wanted = fastest_instance(measured)
    again, said = run("again", "softmax_rows", 5, 12, *cpu, "--reuse", measured)
    check("taken over: " in said and "another device model" not in said, f"said {said!r}")
    check(wanted in proposals(again)[:FIRST], "cpu: the earlier run's fastest instance is not among the first proposals")
    print("earlier results lead later runs on a processor")
    sys.exit()

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

told = events(later).count(HINT)
check(told > 100 and CAPACITY not in events(later)[:events(later).index(HINT) + told], f"{told} hints in the journal")
for hints in (0, 1, told // 2, told - 1, told):
    killed = start_killed(later, f"killed-{hints}", hints)
    atoll("resume", killed, "-q")
    found = events(killed)
    check(found.count(HINT) == told, f"killed after {hints} of {told} hints: {found.count(HINT)} in the end")
    check(CAPACITY not in found[:found.index(HINT) + told - 1], f"killed after {hints} hints: CAPACITY before the last")
    check((RESUME in found) == (hints == told), f"killed after {hints} of {told} hints: RESUME")
    check("derived again and equal" in atoll("replay", killed).stdout, "replay")

made, said = run("made", "matmul", 5, 60, *null, "--reuse", later, "--create-only")
atoll("resume", made, "-q")
check(wanted in proposals(made)[:FIRST], "what was taken over is lost between --create-only and resume")

# The same on other shapes: its sources are tried, its times say nothing.
like = root / "like"
shutil.copytree(f"{source}/suites/starter/matmul", like, symlinks=False)
text = (like / "task.yaml").read_text()
(like / "task.yaml").write_text(re.sub(r"(bench\S*:\s*\{[^}]*)\bM: \d+", r"\1M: 640", text).replace("name: matmul", "name: matmul_like"))
check((like / "task.yaml").read_text().count("640") > 0 and "matmul_like" in (like / "task.yaml").read_text(), f"the copy:\n{text}")
for path in (like / "seeds").iterdir():
    if not path.name.startswith("naive"):
        path.unlink()
campaign = root / "like-run"
said = atoll("run", like, "-o", campaign, "--evaluations", 30, "--seed", 5, "-q", *null, "--reuse", later).stderr
check("taken over: 0 results and" in said and "for 1 of 1 tasks" in said and "on other shapes" in said, f"like: said {said!r}")
origins = [json.loads(line)["operator"] for line in atoll("export", campaign, "--jsonl", "candidates").stdout.splitlines()]
check("import" in origins and HINT not in events(campaign), f"like: {origins}")
check("derived again and equal" in atoll("replay", campaign).stdout, "like: replay")

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

print("earlier results lead later runs")
