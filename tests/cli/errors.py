#!/usr/bin/env python3
"""What goes wrong for people: each a clear message with the remedy, the right exit status, and nothing lost.

errors.py BUILD SOURCE
"""
import atexit
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

build, source = sys.argv[1:3]
atoll = f"{build}/atoll"
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-errors-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
suite = f"{source}/suites/starter"
failures = []


def run(*words, env=None, timeout=120):
    return subprocess.run([atoll, *words], capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **(env or {})})


def expect(name, result, status, *texts, lines=12):
    """texts: what standard error must hold, the remedy among them; lines: the most it may have."""
    problems = []
    if result.returncode != status:
        problems.append(f"exit status {result.returncode}, expected {status}")
    problems += [f"{t!r} is missing" for t in texts if t not in result.stderr]
    if len(result.stderr.strip().splitlines()) > lines:
        problems.append(f"more than {lines} lines")
    print(("ok   " if not problems else "FAIL ") + name)
    if problems:
        failures.append(name)
        print("   ", "; ".join(problems), "\n    said:", result.stderr.strip()[-1500:])


def task_copy(name, change=None, file="task.yaml"):
    """A copy of the softmax task with one text replaced."""
    target = root / name
    shutil.copytree(f"{suite}/softmax_rows", target)
    if change:
        path = target / file
        text = path.read_text()
        assert change[0] in text, f"{name}: {change[0]!r} is not in {file}"
        path.write_text(text.replace(*change, 1))
    return target


def small(campaign, *more):
    return ["run", suite, "--only", "softmax_rows", "-o", str(campaign), "--seconds", "6", "--evaluations", "8", "--sample-seconds", "0.05", "--seed", "1",
            "-q", *more]


def finished_campaign():
    campaign = root / "finished"
    if not campaign.exists():
        result = run(*small(campaign, "--backend", "null"))
        assert result.returncode == 0, result.stderr
    return campaign


def usage():
    expect("no such command", run("runn"), 2, "runn", "did you mean 'run'?")
    expect("no suite", run("run"), 2, "suites/starter")
    expect("empty suite", run("run", ""), 2, "is empty", "name a suite")
    (root / "file").write_text("text")
    expect("file as a suite", run("run", str(root / "file")), EXIT["input"], "is a file", "task.yaml")
    expect("task.yaml as a suite", run("task", "check", f"{suite}/transpose/task.yaml"), EXIT["input"], "is a file", "folder")
    expect("file beside a task, before a device is looked at", run("task", "check", "--compiler", "no-such-cc", f"{suite}/transpose", str(root / "file")),
           EXIT["input"], "is a file")
    for words in (("resume",), ("status",), ("watch",), ("replay",)):
        expect(f"file as a campaign of {words[0]}", run(*words, str(root / "file")), EXIT["notfound"], "is a file and no campaign", "-o")
    expect("file as a new campaign", run("run", suite, "-o", str(root / "file")), EXIT["exists"], "is a file", "choose a folder")
    for only in ("", ","):
        expect(f"--only '{only}'", run("run", suite, "--only", only), 2, "--only names no task")
    expect("suite is not there", run("run", str(root / "nowhere")), EXIT["notfound"], "nowhere")
    expect("option out of bounds", run("run", suite, "--ranks", "0"), 2, "--ranks")
    cores = len(os.sched_getaffinity(0))
    expect("more evaluators than cores", run("run", suite, "--ranks", "4000", "-o", str(root / "many")), EXIT["limit"],
           f"this machine {cores} core", "--ranks")
    expect("more threads than cores", run("run", suite, "--threads", "999", "-o", str(root / "many")), EXIT["limit"], f"the {cores} core",
           "--threads")
    assert not (root / "many").exists(), "a campaign was made that could not run"
    for words in (("run", "--list-settings"), ("run", "--help")):  # more, and less, than a buffer holds
        with open("/dev/full", "w") as full:
            said = subprocess.run([atoll, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
        expect(f"{' '.join(words)} to a full disk", said, 74, "cannot write to standard output")
    expect("nearest option", run("run", suite, "--second", "5"), 2, "--seconds")


def backends():
    """Another language, without a device of its own: what is missing is named, what is there is searched."""
    expect("no such choice", run("run", suite, "--sanitize", "all", "-o", str(root / "b0")), 2, "none and finals", "--sanitize")
    expect("deadline out of bounds", run("run", suite, "--sanitize-deadline", "10m", "-o", str(root / "b0")), 2, "--sanitize-deadline")
    expect("no memory to compile with", run("run", suite, "--compile-memory", "1K", "-o", str(root / "b0")), 2, "not within", "--compile-memory")
    expect("memory to compile with", run("run", suite, "--compile-memory", "3G", "--create-only", "-q", "-o", str(root / "memory")), 0)
    assert 'compile-memory: "3G"' in (root / "memory/campaign.yaml").read_text(), "a resume would compile with other memory"
    expect("no such backend", run("run", suite, "--backend", "opencl", "-o", str(root / "b0")), 2, "cpu, cuda and null", "--backend")
    expect("a mistyped backend", run("run", suite, "--backend", "cpuu", "-o", str(root / "b0")), 2, "did you mean 'cpu'?", "--backend")
    expect("a mistyped backend of task check", run("task", "check", suite, "--backend", "cuad"), 2, "did you mean 'cuda'?", "--backend")
    task = task_copy("c-only")
    for path in (task / "seeds").glob("*.cu"):
        path.unlink()
    text = (task / "task.yaml").read_text()
    (task / "task.yaml").write_text(re.sub(r"\n *- \{name: [^{}]*\.cu\}", "", text))
    expect("no seed in the language", run("run", str(task), "--backend", "cuda", "-o", str(root / "b1")), EXIT["input"],
           "is left out", "seeds/NAME.cu", "--backend")
    expect("no seed in the language, by name", run("run", str(task), "--only", "softmax_rows", "--backend", "cuda", "-o", str(root / "b1")),
           EXIT["input"], "seeds/NAME.cu")
    assert not (root / "b1").exists(), "a campaign was made without a task"
    campaign = root / "b2"
    if not list(pathlib.Path("/dev").glob("nvidia[0-9]*")):
        expect("no GPU", run(*small(campaign, "--backend", "cuda")), EXIT["missing"], "no NVIDIA GPU", "--create-only")
        assert not campaign.exists(), "a campaign was made that could not begin"
    expect("campaign for GPUs", run(*small(campaign, "--backend", "cuda", "-e", "40", "--create-only")), 0)
    text = (campaign / "campaign.yaml").read_text()
    assert 'backend: "cuda"' in text and 'compiler: "nvrtc"' in text, text
    searched = subprocess.run([f"{build}/atoll-eval", str(campaign), "--local", "--null-backend"], capture_output=True, text=True, timeout=120)
    expect("CUDA sources are searched", searched, 0, "eval.finished")
    expect("CUDA sources are verified", run("verify", str(campaign)), 0)
    shown = run("best", str(campaign))
    assert shown.returncode == 0 and "softmax_rows" in shown.stdout, shown.stdout + shown.stderr


def missing_compiler():
    campaign = root / "nocc"
    result = run(*small(campaign, "--compiler", "no-such-cc"))
    expect("missing compiler", result, EXIT["missing"], "no-such-cc", "--compiler")


def broken_yaml():
    task = task_copy("yaml", ("dims: [", "dims: [[["))
    expect("broken YAML", run("run", str(task), "-o", str(root / "c1")), EXIT["input"], "task.yaml:")
    assert not (root / "c1").exists(), "a campaign was made for a broken task"


def unknown_dtype():
    task = task_copy("dtype", ("dtype: f32", "dtype: f33"))
    expect("unknown dtype", run("run", str(task), "-o", str(root / "c2")), EXIT["input"], "task.yaml:", "f33", "f32, f16")


def illegal_plan():
    task = task_copy("plan")
    seed = task / "seeds" / "naive.c"
    seed.write_text(seed.read_text().replace('"args": [', '"args": ["no_such_tensor", ', 1))
    result = run("run", str(task), "-o", str(root / "c3"), "-q")
    said = result.stdout + result.stderr
    result.stderr = said
    expect("illegal plan", result, EXIT["input"], "no_such_tensor", "naive")
    result.stderr = (root / "c3/log").read_text()  # the last reasons are in the log, with the task's name
    expect("illegal plan, log", result, EXIT["input"], "eval.candidate.failed task softmax_rows, candidate ", "bad_plan: ", lines=1000)


def broken_reference():
    """Costs its own task, not the campaign."""
    task = task_copy("badref", ("softmax_rows", "broken_rows"))
    reference = task / "reference.c"
    reference.write_text(reference.read_text() + "\nthis is not C;\n")
    expect("broken reference", run("run", str(task), "-o", str(root / "c4"), "-q", "--seconds", "200", timeout=280), EXIT["input"],
           "reference.c", "broken_rows")
    both = run("run", str(task), f"{suite}/transpose", "-o", str(root / "c5"), "-q", "--seconds", "40", "--evaluations", "6", "--sample-seconds", "0.05")
    both.stderr = both.stdout + both.stderr
    # the table of a whole run: two lines a task and one of its failure, its sums, one a device, what was made again, two legends
    if "its baseline was unstable" in both.stderr:  # a busy machine: the good task was tried and could not be timed
        expect("broken reference beside a good task, untimed", both, EXIT["input"], "transpose, seed naive: unstable", "reference.c", lines=18)
    else:
        expect("broken reference beside a good task", both, 0, "1 of 2 tasks timed", "reference.c", lines=18)


def read_only():
    folder = root / "ro"
    folder.mkdir()
    mounted = subprocess.run(["unshare", "-rm", "true"]).returncode == 0
    if not mounted:
        print("skip read-only directory: no user namespaces")
        return
    script = f"mount -t tmpfs -o ro none {folder} && exec {atoll} run {suite} --only softmax_rows -o {folder}/c -q --seconds 5"
    result = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, timeout=240)
    expect("read-only directory", result, EXIT["denied"], f"{folder}/c", "read-only")


def full_disk():
    """A file system of 1 MiB fills up mid-run; the run waits, is ended, and everything acknowledged is there."""
    folder = root / "full"
    folder.mkdir()
    if subprocess.run(["unshare", "-rm", "true"]).returncode != 0:
        print("skip full disk: no user namespaces")
        return
    script = f"""
        mount -t tmpfs -o size=16k none {folder} || exit 99
        {atoll} run {suite} -o {folder}/c --create-only 2>&1
        echo "status $?"
        ls -A {folder}
    """
    result = subprocess.run(["unshare", "-rm", "bash", "-c", script], capture_output=True, text=True, timeout=120)
    result.stderr = result.stdout
    expect("full disk while a campaign is made", result, 0, "nothing was left of it", "status 79")
    assert result.stdout.endswith("status 79\n"), f"something was left: {result.stdout}"
    script = f"""
        mount -t tmpfs -o size=1m none {folder} || exit 99
        {atoll} run {suite} -o {folder}/c --create-only --seconds 3000 --evaluations 100000 >/dev/null || exit 98
        {build}/atoll-eval --local --null-backend --ack-log {root}/full.acks --progress-fd 3 {folder}/c 2>{root}/full.log 3>{root}/full.progress &
        pid=$!
        for i in $(seq 600); do grep -q "No space" {root}/full.log && break; sleep 0.1; done
        grep -q "No space" {root}/full.log || {{ kill -9 $pid; cat {root}/full.log; exit 97; }}
        for i in $(seq 600); do grep -q '"disk_full":1' {root}/full.progress && break; sleep 0.1; done
        kill -9 $pid; wait $pid 2>/dev/null
        cp -r {folder}/c {root}/full-campaign
    """
    result = subprocess.run(["unshare", "-rm", "bash", "-c", script], capture_output=True, text=True, timeout=120)
    if result.returncode in (97, 98, 99):
        expect("full disk", result, 0, "No space")
        return
    log = (root / "full.log").read_text()
    result.stderr = log
    expect("full disk", result, 0, "No space", "waits until there is space")
    lines = (root / "full.progress").read_text().splitlines()
    if not lines or '"disk_full":1' not in lines[-1]:
        failures.append("full disk, progress")
        print(f"FAIL full disk: progress does not say that it waits: {lines[-1:]}")
    sys.path.insert(0, f"{source}/tests/fault")
    import journal
    found = journal.results(root / "full-campaign")
    acknowledged = [int(n) for n in (root / "full.acks").read_text().split()]
    if not acknowledged or set(acknowledged) - set(found) or len(found) != len(set(found)):
        failures.append("full disk")
        print(f"FAIL full disk: {len(acknowledged)} acknowledged, {len(set(acknowledged) - set(found))} lost")
    expect("full disk, journal verifies", run("verify", str(root / "full-campaign")), 0)


def second_process():
    campaign = root / "busy"
    run(*small(campaign, "--create-only"))
    first = subprocess.Popen([f"{build}/atoll-eval", "--local", "--null-backend", str(campaign)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not list(campaign.glob("jobs/*/journal.atl")):
            time.sleep(0.02)
        expect("second process on one campaign", run("resume", str(campaign), "-q"), EXIT["busy"], str(first.pid))
        assert first.poll() is None, "the first process was disturbed"
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()


def existing_campaign():
    expect("campaign exists", run(*small(finished_campaign())), EXIT["exists"], "resume")


def newer_schema():
    campaign = finished_campaign()
    copy = root / "newer.h5"
    shutil.copy(campaign / "archive.h5", copy)
    script = ("import h5py,sys\nf=h5py.File(sys.argv[1],'r+')\n"
              "k=[k for k in f.attrs if 'schema' in k][0]\nf.attrs.modify(k, 999)\n")
    if subprocess.run(["/usr/bin/python3", "-c", script, str(copy)]).returncode:
        print("skip archive from a newer schema: no h5py")
        return
    before = copy.read_bytes()
    expect("archive from a newer schema", run("best", str(copy)), EXIT["schema"], "999", "newer")
    assert copy.read_bytes() == before, "the file was changed"


def truncated_journal():
    """A tail that was never acknowledged is dropped and reported; a journal that lost what it had is refused."""
    campaign = root / "torn"
    shutil.copytree(finished_campaign(), campaign)
    path = sorted(campaign.glob("jobs/*/journal.atl"))[0]
    segments = list(path.parent.glob("segment-*.h5"))
    whole = path.read_bytes()
    path.write_bytes(whole[:len(whole) * 2 // 3])
    expect("journal shortened after its end is refused", run("resume", str(campaign), "-q"), EXIT["corrupt"], "local.0",
           "restore")
    segment = segments[0].read_bytes()
    path.unlink()
    expect("missing journal is refused", run("resume", str(campaign), "-q"), EXIT["corrupt"], "journal.atl", "restore")
    segments[0].unlink()  # as a kill in mid-run leaves it: no segment yet, a torn tail
    path.write_bytes(whole[:len(whole) * 2 // 3])
    result = run("verify", str(campaign))
    result.stderr += result.stdout
    expect("torn journal is reported", result, 0, "torn")
    expect("torn journal resumes", run("resume", str(campaign), "-q"), 0)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0x40
    path.write_bytes(bytes(damaged))
    segments[0].write_bytes(segment)
    for later in campaign.glob("jobs/*.1"):
        shutil.rmtree(later)
    expect("damaged journal is refused", run("resume", str(campaign), "-q"), EXIT["corrupt"], "journal.atl")


# exit statuses as atoll(1) lists them
EXIT = {"input": 65, "limit": 72, "notfound": 66, "missing": 69, "denied": 77, "busy": 75, "exists": 73, "schema": 78, "corrupt": 80}
for case in (usage, backends, broken_yaml, unknown_dtype, illegal_plan, missing_compiler, broken_reference, read_only, second_process,
             existing_campaign, newer_schema, truncated_journal, full_disk):
    try:
        case()
    except Exception as problem:  # one broken case must not hide the others
        failures.append(case.__name__)
        print(f"FAIL {case.__name__}: {problem!r}")
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
