#!/usr/bin/env python3
"""The README's tour on a short real campaign."""
import atexit
import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-tour-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
campaign = str(root / "campaign")


def run(*words, status=0, which="stdout"):
    result = subprocess.run([f"{build}/atoll", *words], capture_output=True, text=True, timeout=300)
    if result.returncode != status:
        sys.exit(f"atoll {' '.join(words)}: status {result.returncode}, expected {status}\n{result.stdout[-2000:]}\n"
                 f"{result.stderr[-2000:]}")
    return getattr(result, which)


def check(condition, message):
    if not condition:
        sys.exit(message)


table = run("run", f"{source}/suites/starter", "--only", "softmax_rows", "--only", "transpose", "-o", campaign,
            "--seconds", "14", "--seed", "3")
check("softmax_rows" in table and "transpose" in table, f"the table lacks a task:\n{table}")
for name in ("archive.h5", "report.html", "campaign.yaml"):
    check(os.path.getsize(f"{campaign}/{name}") > 0, f"{name} is missing")

rows = json.loads(run("best", campaign, "--json"))
check({r["task"] for r in rows} == {"softmax_rows", "transpose"}, f"best --json: {rows}")
best = next(r for r in rows if r["task"] == "softmax_rows")
check(best["best_ns"] > 0 and best["speedup"] >= 1, f"best: {best}")
shown = run("show", campaign, best["candidate"])
for part in ("atoll-plan", "correct", best["candidate"][:12]):
    check(part in shown, f"show lacks {part}:\n{shown}")
detail = json.loads(run("show", campaign, best["candidate"], "--json"))
check(detail["evaluations"] and detail["source"], "show --json lacks evaluations or source")
check("no candidate" in subprocess.run([f"{build}/atoll", "show", campaign, "ffffffffffff"], capture_output=True,
                                       text=True).stderr, "an unknown candidate is not named")

# Short ids: the table's is the best kernel's, and stands for it everywhere; so does the task's name.
short = next(line.split()[10] for line in run("best", campaign).splitlines() if line.startswith("softmax_rows"))
check(best["candidate"].startswith(short) and 7 <= len(short) <= 16, f"the table's id is {short}")
check(run("show", campaign, short) == shown == run("show", campaign, "softmax_rows"), "show knows no short id or no task")
listed = json.loads(run("list", campaign, "--json"))
check(len(listed) == len({c["candidate"] for c in listed}) >= 5, f"list --json has {len(listed)} candidates")
of_task = run("list", campaign, "--task", "softmax_rows", "--verdict", "correct").splitlines()[1:]
check(of_task and all("softmax_rows" in line and " correct " in line for line in of_task), f"list: {of_task}")
seed = next(line.split()[0] for line in of_task if "seed naive" in line)
speedups = [c["speedup"] for c in json.loads(run("list", campaign, "--json", "--sort", "speedup", "--most", "3"))]
check(len(speedups) == 3 and speedups == sorted(speedups, reverse=True), f"list --sort speedup: {speedups}")
check("did you mean correct?" in run("list", campaign, "--verdict", "corect", status=2, which="stderr"), "no suggestion")
differences = run("diff", campaign, seed, "softmax_rows")
for part in (f"A  {seed}", f"B  {short}", "times", "parameters", "plan", "source"):
    check(part in differences, f"diff lacks {part}:\n{differences}")
differences = json.loads(run("diff", campaign, short, "softmax_rows", "--json"))
check(differences["a"] == differences["b"] and differences["source"] == "" and differences["parameters"] == [],
      f"a kernel differs from itself: {differences}")

# The best kernel is a file that a compiler takes as it is.
for task in ("softmax_rows", "transpose"):
    kernel = root / f"{task}.c"
    kernel.write_text(run("best", campaign, "--task", task, "--source"))
    compiled = subprocess.run(["cc", "-O1", "-march=native", "-Wall", "-Werror", "-fopenmp-simd", "-c", str(kernel), "-o",
                               str(root / "kernel.o")], capture_output=True, text=True)
    check(compiled.returncode == 0, f"{task}.c does not compile:\n{compiled.stderr[-2000:]}")
    as_json = json.loads(run("best", campaign, "--task", task, "--source", "--json"))
    check(as_json["source"] == kernel.read_text() and as_json["candidate"] in as_json["source"] and as_json["shapes"]["bench"],
          f"best --source --json: {as_json}")

evaluations = list(csv.DictReader(io.StringIO(run("export", campaign, "--csv", "evaluations"))))
check(len(evaluations) >= 5, f"only {len(evaluations)} evaluations in 14 seconds")
lines = [json.loads(line) for line in run("export", campaign, "--jsonl", "evaluations").splitlines()]
check(len(lines) == len(evaluations), "csv and jsonl disagree")

run("replay", campaign)
run("verify", campaign)
rechecked = run("verify", campaign, "--recheck", "--task", "softmax_rows")
check("softmax_rows" in rechecked, f"recheck says nothing of the task:\n{rechecked}")
merged = str(root / "merged.h5")
run("archive", "merge", "-o", merged, f"{campaign}/archive.h5", f"{campaign}/archive.h5")
again = [json.loads(line) for line in run("export", merged, "--jsonl", "evaluations").splitlines()]
check(len(again) == len(evaluations), "merging an archive with itself is not the archive")
run("report", campaign, "-o", str(root / "again.html"))
check("<svg" in (root / "again.html").read_text(), "the report holds no picture")

run("resume", campaign)  # a finished campaign only gets its archive and table again
(root / "mine").mkdir()
run("task", "new", str(root / "mine" / "scaled_add"))
run("task", "check", str(root / "mine" / "scaled_add"))
run("doctor")
print(f"{len(evaluations)} evaluations toured")
