#!/usr/bin/env python3
"""Candidates by name: short ids and tasks, the list, what tells two apart, and the best kernel as a file that compiles by itself.
On results that evaluators invented for real seeds.  candidates.py BUILD SOURCE"""
import atexit
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

build, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
root = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="atoll-candidates-")))
atexit.register(shutil.rmtree, root, ignore_errors=True)
TASKS = ("row_reduce", "softmax_rows", "transpose")


def check(condition, text):
    if not condition:
        sys.exit(str(text))


def run(*words, status=0, which="stdout"):
    done = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=120, cwd=root)
    check(done.returncode == status, f"atoll {' '.join(map(str, words))}: status {done.returncode}, not {status}\n"
                                     f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return getattr(done, which)


run("run", f"{source}/suites/starter", *(word for task in TASKS for word in ("--only", task)), "--backend", "null", "--seed", 3,
    "--evaluations", 90, "-o", "mine", "-q")
best = {row["task"]: row["candidate"] for row in json.loads(run("best", "mine", "--json"))}
check(set(best) == set(TASKS), best)

# Ids as long as tells all apart, in every table; each stands for its candidate, a task's name for its best kernel.
ids = {c["candidate"] for c in json.loads(run("list", "mine", "--json"))}
rows = [line.split() for line in run("list", "mine").splitlines()[1:]]
digits = {len(row[0]) for row in rows}
check(len(digits) == 1 and min(digits) >= 7 and len({row[0] for row in rows}) == len(ids) > 20, rows)
digits = digits.pop()
table = run("best", "mine")
for task, candidate in best.items():
    short = candidate[:digits]
    line = next(line for line in table.splitlines() if line.startswith(f"{task} "))
    check(re.search(rf"\b{short}\b", line), f"the table does not name {task}'s kernel {short}:\n{table}")
    shown = run("show", "mine", short)
    check(candidate in shown and shown == run("show", "mine", task) == run("show", "mine", candidate), f"show {short}, {task}")
    as_json = json.loads(run("show", "mine", task, "--json"))
    check((as_json["candidate"], as_json["task"]) == (candidate, task) and f"\ntask {task}\n" in shown, as_json)
check("did you mean 'transpose'?" in run("show", "mine", "transpos", status=66, which="stderr"), "no near task")
check("did you mean 'transpose'?" in run("verify", "mine", "--recheck", "--task", "transpos", status=66, which="stderr"), "no near task")
check("neither a task nor the start" in run("show", "mine", "zzz", status=66, which="stderr"), "no id")
check("no candidate" in run("show", "mine", "f" * 20, status=66, which="stderr"), "an unknown id")

# The list, cut and sorted.
listed = json.loads(run("list", "mine", "--json", "--task", "transpose", "--verdict", "correct"))
check(listed and all(c["task"] == "transpose" and c["verdict"] == "correct" for c in listed), listed)
check([c["time_ns"] for c in listed] == sorted(c["time_ns"] for c in listed), "the fastest is not the first")
verdicts = {c["verdict"] for c in json.loads(run("list", "mine", "--json"))}
check("correct" in verdicts, verdicts)
for verdict in sorted(verdicts):
    lines = run("list", "mine", "--verdict", verdict).splitlines()[1:]
    check(lines and all(line.split()[2] == verdict for line in lines), f"--verdict {verdict}: {lines[:3]}")
speedups = [c["speedup"] for c in json.loads(run("list", "mine", "--json", "--sort", "speedup", "--most", 5))]
check(len(speedups) == 5 and speedups == sorted(speedups, reverse=True), speedups)
order = [c["candidate"] for c in json.loads(run("list", "mine", "--json", "--sort", "id"))]
check(order == sorted(order), "--sort id")
check("did you mean 'correct'?" in run("list", "mine", "--verdict", "corect", status=2, which="stderr"), "no near verdict")
run("list", "mine", "--task", "nothing", status=66)

# What tells two apart.
compared = 0
for task in TASKS:
    text = run("diff", "mine", f"{task}/baseline", task)
    for part in (best[task][:digits], "times", "parameters", "plan", "source"):
        check(part in text, f"diff of {task} lacks {part}:\n{text}")
    apart = json.loads(run("diff", "mine", f"{task}/baseline", best[task][:digits], "--json"))
    check(apart["b"]["candidate"] == best[task] and apart["a"]["origin"] == "naive", apart["a"])
    turned = json.loads(run("diff", "mine", task, f"{task}/baseline", "--json"))
    for there, back in zip(apart["comparisons"], turned["comparisons"], strict=True):
        check(there["ratio_lo"] < there["ratio"] < there["ratio_hi"], there)
        check(all(abs(there[a] * back[b] - 1) < 1e-9 for a, b in (("ratio", "ratio"), ("ratio_lo", "ratio_hi"), ("ratio_hi", "ratio_lo"))),
              (there, back))
        interval = f'A/B {there["ratio"]:.3f} ({there["ratio_lo"]:.3f} to {there["ratio_hi"]:.3f}), p '
        check(interval in text, f"diff of {task} lacks {interval}:\n{text}")
    compared += len(apart["comparisons"])
    # Times that were measured apart have ratios with intervals, too, one kernel over itself has none.
    ratios = re.findall(r" A/B ~([0-9.]+)(?: \(([0-9.]+) to ([0-9.]+)\))?$", text, re.MULTILINE)
    check(ratios, f"diff of {task} has no ratio of its times:\n{text}")
    for ratio, low, high in ratios:
        check(best[task] == apart["a"]["candidate"] or (low and float(low) <= float(ratio) <= float(high)), f"diff of {task}: {ratio} without its interval:\n{text}")
    for side in ("a", "b"):
        of, given = apart[side]["speedup_seed"], apart[side]["speedup_seed_interval"]
        check((given is None) == (apart[side]["candidate"] == apart["a"]["candidate"]) and (given is None or given[0] <= of <= given[1]), apart[side])
    if apart["b"]["speedup_seed_interval"]:
        check(f'~{of:.3f} ({given[0]:.3f} to {given[1]:.3f})x over the seed' in text, f"diff of {task} lacks the interval of its speedup:\n{text}")
    same = json.loads(run("diff", "mine", task, task, "--json"))
    check(same["a"] == same["b"] and not same["source"] and not same["plan"] and not same["parameters"], same)
check(compared, "no two ran side by side")
twins = {}
for c in json.loads(run("list", "mine", "--json")):
    twins.setdefault((c["task"], c["origin"]), []).append(c)
one, other = next(group for group in twins.values() if len(group) > 1)[:2]
apart = json.loads(run("diff", "mine", one["candidate"], other["candidate"], "--json"))
check(apart["parameters"] and not apart["source"], f"instances of a template: {apart}")
check("different tasks" in run("diff", "mine", "row_reduce", "transpose"), "kernels of two tasks are compared without a word")

# A full disk is told, as long as the campaign has something to write; a quota of the user's is no part of what the system tells.
(root / "full.c").write_text("""#include <string.h>
#include <sys/statvfs.h>
int statvfs(const char *path, struct statvfs *fs)
{
    (void)path;
    memset(fs, 0, sizeof(*fs));
    fs->f_frsize = 4096;
    fs->f_bavail = 16;
    return 0;
}
""")
subprocess.run(["cc", "-shared", "-fPIC", "-o", root / "full.so", root / "full.c"], check=True)
run("run", f"{source}/suites/starter/transpose", "-o", "fresh", "--create-only", "--evaluations", 5)
for campaign, is_told in (("fresh", True), ("mine", False)):
    status = subprocess.run([f"{build}/atoll", "status", campaign], capture_output=True, text=True, cwd=root,
                            env={**os.environ, "LD_PRELOAD": f"{root}/full.so", "ASAN_OPTIONS": "verify_asan_link_order=0"}).stdout
    says = f"  the disk is full: 65536 bytes are left on the file system of {campaign}; free some, then resume\n"
    check("--fresh asks" not in status, f"a run on this machine has no jobs:\n{status}")
    check((says in status) == is_told, f"status of {campaign} on a full disk:\n{status}")
    check("disk is full" not in run("status", campaign), "a disk that is not full")

# The best kernel is a file that a compiler takes as it is, and that says what it is.
for task in TASKS:
    kernel = root / f"{task}.c"
    kernel.write_text(run("best", "mine", "--task", task, "--source"))
    compiled = subprocess.run(["cc", "-O1", "-march=native", "-Wall", "-Werror", "-fopenmp-simd", "-c", str(kernel), "-o",
                               str(root / "kernel.o")], capture_output=True, text=True)
    check(compiled.returncode == 0, f"{task}.c does not compile:\n{compiled.stderr[-2000:]}")
    comment = kernel.read_text().split("*/")[0]
    for part in (f"task        {task}", f"kernel      {best[task]}", "campaign ", "launch ", "shapes ", "bench: ", "times "):
        check(part in comment, f"{task}.c does not say {part}:\n{comment}")
    as_json = json.loads(run("best", "mine", "--task", task, "--source", "--json"))
    check(as_json["source"] == kernel.read_text() and as_json["candidate"] == best[task] and as_json["shapes"]["bench"], as_json)
check("needs --task" in run("best", "mine", "--source", status=2, which="stderr"), "which of three tasks")
print(f"{len(ids)} candidates by name")

# A comparison without a result shows why and no figures; what a processor's binary does not tell of is no 0.
made = subprocess.run([f"{build}/tests/bin/sample_campaign", str(root)], capture_output=True, text=True)
check(made.returncode == 0, made.stderr)
(journal,) = (root / "campaign/jobs").glob("*/journal.atl")
altered = subprocess.run([f"{build}/tests/bin/alter_record", str(journal), str(root / "altered.atl"), "0", "0", "0"], capture_output=True, text=True)
check(altered.returncode == 0 and int(altered.stdout) >= 1, altered.stderr)
before = run("show", "campaign", "softmax_rows")
check(re.search(r"^final against .*: ratio \d", before, re.M) and re.search(r"^    registers +40 ", before, re.M), before)
os.replace(root / "altered.atl", journal)
for file in (root / "campaign/archive.h5", *journal.parent.glob("segment-*.h5")):
    file.unlink(missing_ok=True)
shown = run("show", "campaign", "softmax_rows")
check(re.search(r"^final against [0-9a-f]+: unstable, no ratio\n  9 of 12 samples were disturbed\n", shown, re.M), shown)
check(not re.search(r"^final against .*ratio [0-9]", shown, re.M), shown)
check(re.search(r"^    fp32 +7 instructions$", shown, re.M) and not re.search(r"^    (registers|static_shared_bytes|stack_bytes|spill_load_bytes) ", shown, re.M), shown)
used = next(e["profile"]["resources"] for e in json.loads(run("show", "campaign", "softmax_rows", "--json"))["evaluations"] if e["profile"])
check(used["registers"] is None and used["spill_load_bytes"] is None and used["kernel_count"] and used["mix"]["fp32"] == 7, used)
page = run("report", "campaign", "-o", "page.html") + (root / "page.html").read_text()
check(">fp32<" in page and ">registers<" not in page and ">stack<" not in page, "the report has registers of a processor")
(apart,) = [c for c in json.loads(run("diff", "campaign", "softmax_rows/baseline", "softmax_rows", "--json"))["comparisons"] if c["verdict"] == "unstable"]
check((apart["ratio"], apart["ratio_lo"], apart["p_value"], apart["pairs"], apart["detail"]) == (None, None, None, 1, "9 of 12 samples were disturbed"), apart)
check("side by side   unstable, no ratio: 9 of 12 samples were disturbed\n" in run("diff", "campaign", "softmax_rows/baseline", "softmax_rows"), "diff")
