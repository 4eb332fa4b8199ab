#!/usr/bin/env python3
"""Speedups are told over the rival, over the seed second, wherever a person or a script looks; without a rival that is said once and
the share of the floor leads.  On the sample campaign of the unit tests: softmax_rows has three rivals, matmul none; of real
campaigns, where Debian's torch is, what their progress says.  rivals.py BUILD SOURCE [--measured]"""
import atexit
import csv
import fcntl
import io
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

build, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
root = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="atoll-rivals-")))
atexit.register(shutil.rmtree, root, ignore_errors=True)
os.environ["ATOLL_PYTHON"] = "none"
PYTHON = "/usr/bin/python3"
has_torch = subprocess.run([PYTHON, "-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"]).returncode == 0
VERSIONS = "torch 2.11.0, CUDA 13.0, Triton 3.5"


def check(condition, text):
    if not condition:
        sys.exit(str(text))


def run(*words, status=0, which="stdout"):
    done = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=240, cwd=root)
    check(status is None or done.returncode == status, f"atoll {' '.join(map(str, words))}: status {done.returncode}, not {status}\n"
                                     f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return getattr(done, which)


def has(text, *parts):
    for part in parts:
        check(part in text, f"{part!r} is not in\n{text}")


def run_torch(*words, statuses=(0,)):
    done = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=110, cwd=root,
                          env={**os.environ, "ATOLL_PYTHON": PYTHON})
    check(done.returncode in statuses, f"atoll {' '.join(map(str, words))}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done


# What is measured for real: the rival stands in table, JSON and recheck, whatever the kernels come to on this machine.
if "--measured" in sys.argv:
    if not has_torch:
        print(f"skipped: {PYTHON} has no torch")
        sys.exit(77)
    run_torch("run", f"{source}/suites/starter", "--only", "softmax_rows", "--seconds", 12, "--evaluations", 8, "--sample-seconds", 0.05, "-o", "real", "-q", statuses=(0, 65))
    row = json.loads(run("best", "real", "--json"))[0]
    rivals = {r["name"]: r for r in row["rivals"]}
    check("eager" in rivals and rivals["eager"]["verdict"] in ("correct", "unstable"), row)
    if rivals["eager"]["verdict"] == "correct":
        check(row["rival"]["time_ns"] > 0 and row["speedup_over"] == "rival" and row["rival"]["versions"].startswith("torch 1."), row)
        has(run("best", "real"), "over the rival" if row["speedup"] > 0 else "0 of 1 tasks timed beside a rival")
    if row["candidate"] and row["rival"]:
        again = json.loads(run_torch("verify", "real", "--recheck", "--json", statuses=(0, 1)).stdout)
        check(again["speedup_over"] == "rival" and again["rival"]["name"] == row["rival"]["name"] and again["rival"]["rival_ns"] >= 0, again)
    print(f"softmax_rows: {row['speedup']:.2f} over {row['speedup_over']}, rivals {[(r['name'], r['verdict']) for r in row['rivals']]}")
    sys.exit(0)

made = subprocess.run([f"{build}/tests/bin/sample_campaign", str(root)], capture_output=True, text=True)
check(made.returncode == 0, made.stderr)
shutil.move(root / "campaign", root / "mine")

# The table: the rival by name, the speedup over it, over the seed second; why a rival is none; sums by level and category.
table = run("best", "mine")
head, *lines = table.splitlines()
check(re.match(r"task +rival +its time \+- +best \+- +speedup +95 % interval +pairs +over seed \+- +of floor", head), head)
softmax = next(line for line in lines if line.startswith("softmax_rows "))
check(re.match(r"softmax_rows +compiled +1\.25 ms +1% +1\.00 ms +1% +1\.25x +1\.23-1\.27 +12 +\d+\.\d\dx {6,}", softmax), softmax)
matmul = next(line for line in lines if line.startswith("matmul "))
check(re.match(r"matmul +- +- +\d+ us +<1% +- +- +- +~\d+\.\d\dx ", matmul), matmul)
has(table, "    rival tuned: compile_error: unsupported: torch.compile needs <Triton>\n",
    "1 of 2 tasks timed beside a rival: geometric mean 1.25x (1.2", "-1.27), arithmetic 1.25x over the rival; ", "more than 1x the rival: 1 of 1 tasks",
    "\n~ the quotient of two times measured apart")
check(re.search(r"^level +tasks correct +over +fast_1 fast_1\.5 geometric 95 % interval arithmetic\n1 +1 +100 % +rival +100 % +0 % +1\.25x +1\.2\d-1\.27 +1\.25x\n"
                r" +eager +100 % +100 % +~\d", table, re.M), table)
check("\ncategory " not in table, "a table of categories, though each has one task")

# How the best came down: CSV and JSON say the same, what is not known is empty and null; over the rival where there is one.
points = json.loads(run("best", "mine", "--curve", "--json"))
lines = list(csv.DictReader(io.StringIO(run("best", "mine", "--curve"))))
check(len(lines) == len(points) > 6 and all(list(line) == list(point) for line, point in zip(lines, points)), lines)
for line, point in zip(lines, points):
    check(all(not line[k] if v is None else line[k] == v if isinstance(v, str) else abs(float(line[k]) - v) <= 1e-9 * v for k, v in point.items()), (line, point))
    check((point["speedup_rival"] is None) == (point["task"] == "matmul") and point["speedup_seed"] > 0 and 0 < point["floor_percent"] <= 100, point)
of_one = json.loads(run("best", "mine", "--curve", "--json", "--task", "softmax_rows"))
check(of_one == [p for p in points if p["task"] == "softmax_rows"] != points, of_one)
for name in ("evaluations", "evaluation", "seconds", "speedup_rival"):
    check([p[name] for p in of_one] == sorted({p[name] for p in of_one}), f"{name} does not grow: {of_one}")
check(of_one[-1]["candidate"] == json.loads(run("best", "mine", "--json", "--task", "softmax_rows"))[0]["candidate"], of_one[-1])
for words in (["--sums", "--json"], ["--source", "--task", "matmul"]):
    has(run("best", "mine", "--curve", *words, status=2, which="stderr"), "--curve goes with --task and --json alone")



# On a terminal no line is longer than it: tables leave columns out, words go on below.
def on_terminal(columns, *words):
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = subprocess.Popen([f"{build}/atoll", *words], stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, cwd=root)
    os.close(follower)
    text = b""
    while True:
        try:
            more = os.read(leader, 65536)
        except OSError:  # everybody else has closed it
            more = b""
        if not more:
            break
        text += more
    os.close(leader)
    check(child.wait() in (0, 66), f"{words}: {child.returncode}")
    return text.decode().replace("\r\n", "\n")


for words in (["best", "mine"], ["list", "mine"], ["status", "mine"], ["show", "mine"], ["run", "--list-settings"], ["help"], ["knowledge", "list"], ["experience", "list"], ["best", "/nowhere/" + 9 * "long words "]):
    lines = on_terminal(80, *words).splitlines()
    check(lines and all(len(line) <= 80 for line in lines), f"{words}: " + "\n".join(line for line in lines if len(line) > 80))
def apart_on(columns):  # sources are as they are
    return on_terminal(columns, "diff", "mine", "softmax_rows/baseline", "softmax_rows").split("\nplan")[0]


apart = apart_on(80)
narrow = apart_on(40)  # as long names would make it: each line of ours is folded, and says the same
check(all(len(line) <= 40 for line in narrow.splitlines()) and "side by side" in narrow and narrow.split() == apart.split(), narrow)
check(re.search(r"\n  \S+ +A +[\d.]+ \ws +(<1|\d+)%  B +[\d.]+ \ws +(<1|\d+)%  A/B ~\d+\.\d{3} \(\d+\.\d{3} to \d+\.\d{3}\)\n", apart), apart)
check(re.match(r"task +best \+- +speedup over seed \+- +gain made by +kernel\n", on_terminal(80, "best", "mine")), on_terminal(80, "best", "mine"))
has(on_terminal(80, "best", "mine"), "(gain: over the best of the seeds", "\n    95 % interval 1.23-1.27, 12 pairs\n")
for columns in (80, 93, 94, 145, 146, 147):  # beside the edges at which columns come and go
    lines = on_terminal(columns, "best", "mine").splitlines()
    check(all(len(line) <= columns for line in lines), f"{columns}: " + "\n".join(lines))
    check(("95 % interval pairs" in lines[0], "evals" in lines[0]) == (columns >= 94, columns >= 146), f"{columns}: {lines[0]}")
middle = on_terminal(100, "best", "mine")
check(re.match(r"task +best \+- +speedup 95 % interval pairs over seed \+- +gain made by +kernel\n", middle), middle)
check(re.search(r"^softmax_rows +1\.00 ms +1% +1\.25x +1\.23-1\.27 +12 ", middle, re.M) and all(len(line) <= 100 for line in middle.splitlines()), middle)
check(on_terminal(260, "best", "mine") == table, on_terminal(260, "best", "mine"))
check(on_terminal(200, "list", "mine") == run("list", "mine"), "a wide terminal has the whole list")

# JSON: the headline says over what it is; the rest stands beside it.
rows = {row["task"]: row for row in json.loads(run("best", "mine", "--json"))}
row = rows["softmax_rows"]
check((row["speedup"], row["speedup_over"], row["final"], row["pairs"]) == (1.25, "rival", True, 12), row)
check(row["speedup_seed"] > 3 and row["final_seed"] and row["pairs_seed"] == 16 and row["speedup_eager"] > 1.25, row)
rival = row["rival"]
check((rival["name"], rival["mode"], rival["versions"]) == ("compiled", "compile", VERSIONS), rival)
check(rival["lo_ns"] <= rival["time_ns"] <= rival["hi_ns"] and rival["host_ns"] > 0, rival)
check([(r["name"], r["verdict"]) for r in row["rivals"]] == [("eager", "correct"), ("compiled", "correct"), ("tuned", "compile_error")], row)
check((row["level"], row["category"], row["tags"]) == (1, "softmax", "memory reduction"), row)
row = rows["matmul"]
check("infrastructure" not in row["verdicts"] and row["infrastructure"] == 1 and row["verdicts"]["wrong"] == 4, row["verdicts"])
check(row["made_by"] == "tuner" and row["gain_over_seeds"] > 1 and f"{row['gain_over_seeds']:.2f}x tuner " in matmul, (row, matmul))
has(table, "    4 wrong; 1 without a verdict, by a failure of the infrastructure\n")
has(run("list", "mine").splitlines()[0], "time +-")
check(any(c["time_interval_ns"] for c in json.loads(run("list", "mine", "--json"))), "no interval in list --json")
for c in json.loads(run("list", "mine", "--json")):
    if c["speedup_interval"]:
        check(c["speedup_interval"][0] < c["speedup"] < c["speedup_interval"][1], c)
check(row["speedup_over"] == "seed" and row["rival"] is None and row["rivals"] == [] and row["speedup"] == row["speedup_seed"] > 1, row)

# The sums that the table has, beside the tasks where they are asked for.
told = json.loads(run("best", "mine", "--json", "--sums"))
check({row["task"]: row for row in told["tasks"]} == rows, told["tasks"])
sums = told["sums"]
check((sums["all"]["tasks"], sums["all"]["speedup_over"], sums["all"]["rival"]["geometric_mean"]) == (2, "rival", 1.25), sums["all"])
check([(g["level"], g["tasks"], g["rival"] and g["rival"]["fast"]["1"]) for g in sums["levels"] if g["level"] == 1] == [(1, 1, 1.0)], sums["levels"])
check("softmax" in [g["category"] for g in sums["categories"]], sums["categories"])
for words in (["--sums"], ["--sums", "--json", "--task", "matmul"], ["--sums", "--json", "--source"]):
    refused = subprocess.run([f"{build}/atoll", "best", "mine", *words], capture_output=True, text=True, cwd=root)
    check(refused.returncode != 0 and "--sums goes with --json, and is of all tasks" in refused.stderr, f"{words}: {refused}")

# Candidates: each over the rival and over the seed; by level, category and tag.
has(run("list", "mine").splitlines()[0], "  speedup +- over seed +-")
for words, tasks in ((("--level", 1), {"softmax_rows"}), (("--category", "softmax"), {"softmax_rows"}), (("--tag", "reduction"), {"softmax_rows"}),
                     ((), {"softmax_rows", "matmul"})):
    listed = json.loads(run("list", "mine", "--json", *words))
    check({c["task"] for c in listed} == tasks, f"list {words}")
    for c in listed:
        check(c["speedup_over"] == ("rival" if c["task"] == "softmax_rows" else "seed"), c)
check(json.loads(run("list", "mine", "--json", "--level", 2)) == [], "no task is of level 2")
has(run("list", "mine", "--category", "softmx", status=66, which="stderr"), "did you mean 'softmax'?")
has(run("list", "mine", "--tag", "memry", status=66, which="stderr"), "did you mean 'memory'?")
check("speedup over" not in run("list", "mine", "--task", "matmul").splitlines()[0], "a rival's column without a rival")

# One candidate, and two: the final where it is the best, quotients else; what the rivals are.
shown = run("show", "mine", "softmax_rows")
has(shown, "speedup 1.25x (95 % interval 1.23 to 1.27) over the rival compiled\n", "x over the seed\n", f"eager, {VERSIONS}\n",
    "one call from Python 1.32 ms; compile", "rival tuned: compile_error: unsupported", "final over the rival against compiled: ratio 1.2500",
    "alternating blocks in two processes")
has(run("show", "mine", "softmax_rows/baseline"), "speedup ~0.60x over the rival compiled\n", "speedup ~1.00x over the seed\n")
has(run("show", "mine", "matmul"), "no rival measured\n")
one = json.loads(run("show", "mine", "softmax_rows", "--json"))
check((one["speedup"], one["speedup_over"], one["final"]) == (1.25, "rival", True) and len(one["rivals"]) == 3, one["speedup"])
has(run("diff", "mine", "softmax_rows/baseline", "softmax_rows"), "~0.600 (0.598 to 0.602)x over the rival  ~1.000x over the seed\n")
apart = json.loads(run("diff", "mine", "softmax_rows/baseline", "softmax_rows", "--json"))
check(apart["a"]["speedup_over"] == "rival" and apart["b"]["speedup"] > apart["a"]["speedup"], apart["a"])
kernel = run("best", "mine", "--task", "softmax_rows", "--source")
check(kernel.index("1.25x (95 % interval 1.225 to 1.275) over the rival compiled of PyTorch") < kernel.index("x over the baseline seed"), kernel[:2000])

# The report, and tables for elsewhere.
run("report", "mine")
page = (root / "mine/report.html").read_text()
has(page, "geometric mean speedup over the rival", "Speedup over the rival</h3>", "Speedup over the seed</h3>", "By level", "By category",
    "unsupported: torch.compile needs &#60;Triton&#62;", VERSIONS)
exported = list(csv.DictReader(io.StringIO(run("export", "mine", "--csv", "rivals"))))
check([(r["name"], r["mode"], r["verdict"]) for r in exported] == [("eager", "eager", "correct"), ("compiled", "compile", "correct"),
                                                                  ("tuned", "max-autotune", "compile_error")], exported)
check(len(run("export", "mine", "--csv", "rival_samples").splitlines()) == 19, "samples of rivals")

# While a campaign runs, and from a second terminal: what the progress lines and progress.json say of rivals.
if has_torch:
    live = run_torch("run", f"{source}/suites/starter", "--only", "softmax_rows", "--only", "transpose", "--backend", "null", "--seed", 3,
                     "--evaluations", 60, "-o", "live")
    check(re.search(r"best \w+ ~?\d+\.\d\dx \(\d+\.\d\d-\d+\.\d\d\) over its rival\n", live.stdout + live.stderr), live.stdout + live.stderr)
    status = run("status", "live")
    check(re.search(r"^softmax_rows +[\d.]+ \ws +(<1|\d+)% ", status, re.M) and re.search(r" \d+\.\d\d-\d+\.\d\d +\d+ ", status), status)
    check(re.match(r"task +rival \+- +best \+- +speedup 95 % interval pairs over seed \+- ", status.splitlines()[1]), status)
    has(status, "2 of 2 tasks timed beside a rival, geometric mean ", ") over the rival, ", ") over the seed\n")
    part = json.loads(run("status", "live", "--json"))[0]
    check(part["sums"]["geometric_mean_over"] == "rival" and part["parts"][0]["tasks"][0]["rival"], part)
    result = json.loads(run("best", "live", "--json"))
    check(all(r["speedup_over"] == "rival" and r["rival"]["name"] in ("eager", "compile") for r in result), result)
else:
    print(f"{PYTHON} has no torch: no campaign was run with rivals")

# Archives of before rivals are told over the seed, named so.
older = run("best", f"{source}/tests/fixtures/archive/schema-5.h5")
head = older.splitlines()[0]
check(re.match(r"task +of floor +seed \+- +best \+- +over seed +95 % interval", head), head)
has(older, "no rival measured; 2 of 2 tasks timed, geometric mean ", "% of the floor, geometric mean ", "over the seed\n")
check(older.count("no rival measured") == 1, older)
row = json.loads(run("best", f"{source}/tests/fixtures/archive/schema-5.h5", "--json"))[1]
check((row["speedup_over"], row["rival"]) == ("seed", None) and row["speedup"] == row["speedup_seed"], row)
print("over the rival first, over the seed second")
