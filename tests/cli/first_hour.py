#!/usr/bin/env python3
"""The first hour of a new user, with vectors of 16, 32 and 64 bytes behind the floors one after the other.

first_hour.py BUILD SOURCE      what a person types, in the order of the README: run, look, stop, go on, take the kernel along
"""
import atexit
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 120
build, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
root = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="atoll-first-hour-")))
atexit.register(shutil.rmtree, root, ignore_errors=True)
ESCAPES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


def check(condition, text):
    if not condition:
        sys.exit(text)


def run(*words, status=0, **more):
    done = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S, cwd=root, **more)
    said = done.stdout + done.stderr
    check(done.returncode == status, f"atoll {' '.join(map(str, words))}: status {done.returncode}, not {status}\n{said[-3000:]}")
    check(not ESCAPES.search(said), f"atoll {' '.join(map(str, words))} printed control characters: {said[:500]!r}")
    return done.stdout if status == 0 else said


def widths():
    flags = re.search(r"^(?:flags|Features)\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M).group(1).split()
    return [16] + [32] * ("avx2" in flags) + [64] * ("avx512f" in flags)


def floors_hold(width):
    """No percent of a floor above 105 is printed, whichever vectors the calibration may use."""
    told = json.loads(run("run", f"{source}/suites/starter", "--only", "matmul", "-o", f"wide-{width}", "--evaluations", 10, "--seed", 3,
                          "--sample-seconds", 0.05, "--json", "-q", env=os.environ | {"ATOLL_CALIBRATION_VECTOR_BYTES": str(width), "ATOLL_KEEP_CALIBRATION": ""}))
    (task,) = told["tasks"]
    check(task["correct"] >= 3, f"{width} bytes: {task}")
    table = run("best", f"wide-{width}")
    for percent in re.findall(r"([0-9.]+) %", table):
        check(float(percent) <= 105, f"{width} bytes: {percent} % of a floor\n{table}")
    print(f"vectors of {width} bytes: {task['evaluations']} evaluations, {table.splitlines()[1]}")


def interrupted_and_gone_on():
    words = [f"{build}/atoll", "run", f"{source}/suites/starter", "--only", "softmax_rows,transpose", "-o", "mine", "--seconds",
             "600", "--sample-seconds", "0.05", "--seed", "3"]
    process = subprocess.Popen(words, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        status = subprocess.run([f"{build}/atoll", "status", "mine", "--json"], capture_output=True, text=True, cwd=root)
        if status.returncode == 0 and sum(part["evaluated"] for part in json.loads(status.stdout)[0]["parts"]) >= 10:
            break
        time.sleep(0.2)
    check(process.poll() is None, "the run ended before it was interrupted")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE_S)[0]
    check(process.returncode == 130 and "atoll resume mine" in said, f"Ctrl-C: status {process.returncode}\n{said}")
    told = json.loads(run("resume", "mine", "--finish", "--json", "-q"))
    check(told["ended"], f"resume --finish: {told}")
    before = len(run("list", "mine").splitlines())
    run("resume", "mine", "--evaluations", 12, "-q")
    check(len(run("list", "mine").splitlines()) > before, "an extension did nothing")
    check("Nothing more will happen" in run("watch", "mine") + run("status", "mine"), "watch does not end")


def looked_at():
    candidates = json.loads(run("list", "mine", "--json"))
    correct = [c for c in candidates if c["verdict"] == "correct"]
    check(len(correct) >= 3, f"{len(correct)} correct candidates")
    short = run("list", "mine", "--verdict", "correct").splitlines()[1].split()[0]
    check(any(c["candidate"].startswith(short) for c in correct), f"list prints {short}")
    task = correct[0]["task"]
    check("\nlineage " in run("show", "mine", task), "show of a task")
    check("softmax_rows" in run("show", "mine"), "show of a campaign")
    other = correct[1]["candidate"][:7]
    check(other in run("diff", "mine", other, task), "diff")
    kernel = root / "kernel.c"
    kernel.write_text(run("best", "mine", "--source", "--task", task))
    subprocess.run(["cc", "-std=gnu11", "-O2", "-fopenmp-simd", "-w", "-c", kernel, "-o", root / "kernel.o"], check=True, timeout=PATIENCE_S)
    json.loads(run("best", "mine", "--source", "--task", task, "--json"))
    run("report", "mine")
    used = [line for line in run("show", "mine").splitlines() if line.startswith(("budget ", "used ", "extended "))]
    check(len(used) == 3 and "10m 00s of clock" in used[0] and "12 evaluations" in used[1] and "of devices" in used[2], used)
    check(re.match("task .* gain made by +kernel", run("best", "mine").splitlines()[0]), run("best", "mine"))
    run("verify", "mine")


def mistyped():
    for words, hint in ((("rnu", "x"), "run"), (("run", f"{source}/suites/starter", "--only", "softmx_rows"), "softmax_rows"),
                        (("show", "mine", "transpse"), "transpose"), (("export", "mine", "--csv", "evalutions"), "did you mean 'evaluations'?"),
                        (("run", f"{source}/suites/starter", "--backend", "cpo"), "did you mean 'cpu'?"),
                        (("run", f"{source}/suites/starter", "--counters", "nera"), "did you mean 'near'?"),
                        (("run", f"{source}/suites/starter", "--timing", "wrm"), "did you mean 'warm'?"),
                        (("run", f"{source}/suites/starter", "--strategy", "bem"), "did you mean 'beam'?"),
                        (("run", f"{source}/suites/starter", "--set", "judge=finls"), "did you mean 'finals'?"),
                        (("run", f"{source}/suites/starter", "--only", "transpose,softmx_rows"), "did you mean 'softmax_rows'?"),
                        (("run", f"{source}/suites/starter", "--ranks", "99"), "take --ranks"),
                        (("run", f"{source}/suites/starter", "--threads", "999"), "take --threads"),
                        (("list", "mine", "--sort", "tme"), "did you mean 'time'?"),
                        (("knowledge", "list", "--kind", "patern"), "did you mean 'pattern'?"),
                        (("knowledge", "stats", "mine", "--kind", "kernl"), "did you mean 'kernel'?"),
                        (("knowledge", "search", "--kind", "patern", "alias"), "did you mean 'pattern'?"),
                        (("knowledge", "list", "--language", "cudda"), "did you mean 'cuda'? there are: c, cuda, "),
                        (("knowledge", "list", "--device", "hoper"), "did you mean 'hopper'? there are: "),
                        (("knowledge", "search", "--family", "gem", "alias"), "did you mean 'gemm'? there are: "),
                        (("list", "mine", "--verdict", "corect"), "did you mean 'correct'?"),
                        (("verify", "mine", "--recheck", "--task", "transpos"), "did you mean 'transpose'?"),
                        (("submit", f"{source}/suites/starter", "--site", "locl", "-o", "never"), "did you mean 'local'?")):
        done = subprocess.run([f"{build}/atoll", *words], capture_output=True, text=True, timeout=PATIENCE_S, cwd=root)
        check(done.returncode != 0 and hint in done.stderr, f"atoll {' '.join(words)}: {done.returncode} {done.stderr}")
    check("start one" not in run("best", "/etc", status=66), "best /etc advises to start a campaign there")
    check(run("help", "run") == run("run", "--help"), "help run")


for width in widths():
    floors_hold(width)
interrupted_and_gone_on()
looked_at()
mistyped()
