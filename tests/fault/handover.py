#!/usr/bin/env python3
"""One job works on several parts, and its steps overlap: handover.py BUILD SOURCE CASE.

order     each part has one attempt, the next one's evaluators come after the last result of the one before, the step that stood by
          got its part, and nothing is left of gates, stages and processes.
ahead     kill -9 of the step that stands by: the part is run by another one, and the job does not count that as a failure.
pilot     kill -9 of the pilot in the overlap, then resume.
leaving   kill -9 of everything that runs of a step once its successor has its part.
In every case each acknowledged result is counted exactly once, and verify, replay and the archive hold.
"""
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import journal

PATIENCE_S = float(os.environ.get("PATIENCE", 400))
PARTS, EVALUATIONS = 3, 40
build, source, case = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
root = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="atoll-handover-")))
environment = {**os.environ, "ATOLL_QUEUE": str(root / "queue"), "XDG_STATE_HOME": str(root / "state"), "OMPI_MCA_orte_tmpdir_base": str(root)}
sweep, acks = root / "sweep", root / "acks"


def log():
    return "".join(p.read_text(errors="replace") for p in sorted(sweep.glob("log/*")))


def check(condition, text):
    if not condition:
        sys.exit(f"{text}\n{log()[-6000:]}")


def atoll(*words):
    done = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, env=environment, timeout=PATIENCE_S, cwd=root)
    check(done.returncode == 0, f"atoll {' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        check(time.monotonic() < end, f"{what} does not come")
        time.sleep(0.01)
    return found


def processes(*words):
    """Processes of this sweep with all these words in their command lines: {pid: words}."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(str(sweep) in word for word in line) and all(any(word in part for part in line) for word in words):
            found[int(path.parent.name)] = line
    return found


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return len(pids)


def submit():
    profile = root / "slow.yaml"  # a null backend that waits for each result as a device would
    add = r's/^options:.*/&\n  sample-device: "60ms"/'
    profile.write_text(pathlib.Path(f"{source}/jobscripts/sites/local.yaml").read_text() + "setup:\n" +
                       f"  - 'for f in parts/*/campaign.yaml; do grep -q sample-device \"$f\" || sed -i {json.dumps(add)} \"$f\"; done'\n")
    only = [word for task in ("transpose", "row_reduce", "softmax_rows") for word in ("--only", task)]
    atoll("submit", f"{source}/suites/starter", *only, "--backend", "null", "--site", profile, "--time", "10m", "--seconds", "400",
          "--evaluations", PARTS * EVALUATIONS, "--seed", 5, "--tasks-per-part", 1, "--evaluators-per-node", 1, "-o", sweep,
          "--eval-option=--ack-log", f"--eval-option={acks}")


def jobs():
    return [json.loads(p.read_text())["state"] for p in root.glob("state/atoll/jobs/*/*/job.json")]


def wait_done():
    wait(lambda: (sweep / "done.json").exists() and not any(state in ("running", "pending") for state in jobs()), "the end")
    wait(lambda: not processes("atoll-eval"), "the end of all processes")


def attempts():
    return {part.name: journal.attempts(part) for part in sorted(sweep.glob("parts/*"))}


def check_whole():
    counted = {name: [n for attempt in chain for n in attempt.results()] for name, chain in attempts().items()}
    for name, numbers in counted.items():
        check(len(numbers) == len(set(numbers)), f"part {name}: results twice")
        check(attempts()[name][-1].reason != "drained", f"part {name} has not ended")
    known = collections.Counter(n for numbers in counted.values() for n in numbers)
    told = collections.Counter(map(int, acks.read_text()[:acks.read_text().rfind("\n") + 1].split()))
    check(not told - known, f"acknowledged and not in the journals: {told - known}")
    rows = collections.Counter((json.loads(line)["campaign"], json.loads(line)["evaluation"])
                               for line in atoll("export", sweep / "archive.h5", "--jsonl", "evaluations").splitlines() if line.startswith("{"))
    check(max(rows.values()) == 1 and len(rows) == PARTS * EVALUATIONS, f"the archive has {len(rows)} evaluations")
    for part in sweep.glob("parts/*"):
        atoll("verify", part)
        atoll("replay", part)
    left = [p.name for p in sweep.iterdir() if p.name.startswith((".step-", ".drain-", ".calibration-"))]
    check(not left, f"left: {left}")
    return sum(known.values())


def stage_of(path):
    try:
        return (path.read_text().split() or ["starting"])[-1]
    except OSError:
        return "gone"


def is_rank0(pid):
    try:
        return b"OMPI_COMM_WORLD_RANK=0" in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


class Overlap:
    """The first step that can be held in its last comparisons (another one may come to their end too soon) is held until the next
    one stands by."""

    def __init__(self):
        for step in range(PARTS - 1):
            if self.hold(step):
                break
        check(stage_of(self.stage) == "ending", "no step could be held in its end")
        self.before = log().count(" eval.lease ")
        self.has_folder = [p.stat().st_mode & 0o777 for p in sweep.glob(".calibration-*")] == [0o700] and all(
            "--keep-calibration" in words for words in processes("--stage").values())
        wait(lambda: stage_of(self.path(step + 1)) == "stands-by", "a step that stands by")
        self.gate = self.path(step + 1).with_suffix(".gate")
        self.second = processes(self.gate.name)
        check(self.first and self.second and not set(self.first) & set(self.second), f"{self.first} {self.second}")
        check(self.gate.read_text() == "" and log().count(" eval.lease ") == self.before, "the gate was opened while the first one worked")

    @staticmethod
    def path(step):
        found = list(sweep.glob(f".step-*.{step}.stage"))
        return found[0] if found else sweep / "none"

    def hold(self, step):
        self.stage = wait(lambda: self.path(step).name != "none" and self.path(step), "a step")
        self.held = wait(lambda: [pid for pid in processes(self.stage.name) if is_rank0(pid)], "its rank 0")
        self.first = processes(self.stage.name)
        wait(lambda: stage_of(self.stage) not in ("starting", "stands-by"), "its end")
        self.signal(signal.SIGSTOP)
        if stage_of(self.stage) == "ending":
            return True
        self.signal(signal.SIGCONT)
        return False

    def signal(self, number):
        for pid in self.held:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass


def case_order():
    overlap = Overlap()
    overlap.signal(signal.SIGCONT)
    wait_done()
    chains = attempts()
    check(all(len(chain) == 1 for chain in chains.values()), f"attempts: { {k: len(v) for k, v in chains.items()} }")
    runs = sorted((chain[0] for chain in chains.values()), key=lambda attempt: attempt.times()[0])
    gaps = [min(other.times((journal.CAPACITY,))) - max(one.times()) for one, other in zip(runs, runs[1:])]
    check(min(gaps) > 0, f"two parts had the devices at once: {gaps}")
    check(log().count(" pilot.step ") == PARTS, "each step is judged once")
    check(overlap.has_folder, "no folder for calibrations while the job works")
    check("was not needed" not in log(), "a step was started for nothing")
    return "seconds between two parts: " + ", ".join(f"{gap:.2f}" for gap in gaps)


def case_ahead():
    overlap = Overlap()
    killed = kill(overlap.second)
    wait(lambda: "the step that stood by has ended" in log(), "word of it")
    overlap.signal(signal.SIGCONT)
    wait_done()
    check('"what":"lost"' not in (sweep / "history.jsonl").read_text(), "a step that had nothing is called lost")
    return f"{killed} processes killed at the gate"


def case_pilot():
    overlap = Overlap()
    pilots = [pid for pid, words in processes("atoll").items() if words[1:2] == ["job"]]
    check(len(pilots) == 1, f"{len(pilots)} pilots")
    kill(pilots)
    overlap.signal(signal.SIGCONT)
    wait(lambda: not processes("atoll-eval"), "the end of what the pilot had started")
    wait(lambda: not any(state == "running" for state in jobs()), "the end of the job")
    check(log().count(" eval.lease ") == overlap.before, "the step at the gate began")
    check(list(sweep.glob(".calibration-*")), "the folder of calibrations is there until somebody else removes it")
    atoll("resume", sweep)
    wait_done()
    return "the pilot was killed in the overlap"


def case_leaving():
    overlap = Overlap()
    overlap.signal(signal.SIGCONT)
    wait(lambda: overlap.gate.exists() and overlap.gate.read_text(), "the next part")
    killed = kill([pid for pid in overlap.first if pathlib.Path(f"/proc/{pid}").exists()])
    wait_done()
    return f"{killed} processes of a leaving step killed"


def main():
    submit()
    said = {"order": case_order, "ahead": case_ahead, "pilot": case_pilot, "leaving": case_leaving}[case]()
    print(f"{said}; {check_whole()} results, each once")


try:
    if not shutil.which("mpirun"):
        print("skipped: no mpirun")
        sys.exit(77)
    main()
finally:
    if sweep.exists():
        subprocess.run([f"{build}/atoll", "cancel", str(sweep)], env=environment, capture_output=True)
    while kill(processes()):  # a pilot of a test that failed, too
        time.sleep(0.1)
    shutil.rmtree(root, ignore_errors=True)
