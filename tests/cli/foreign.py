#!/usr/bin/env python3
"""Texts and files of others, as they meet a person's terminal and a person's machine.  foreign.py BUILD SOURCE

tests/fixtures/foreign: `evil` is a task whose name parts, summary, plans, sources and compiler messages hold ESC, OSC, C1, DEL, a lone
CR, HTML and spreadsheet formulas; `esckey` has them in a key of task.yaml."""
import atexit
import csv
import io
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading

from spool import Requests

PATIENCE_S, HANG_S = 240, 60
build, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
fixtures = pathlib.Path(source) / "tests/fixtures/foreign"
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-foreign-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)

# What steers a terminal or the order of reading: C0 but line end and tab, a lone CR, DEL, C1 as UTF-8, what is no UTF-8.
STEERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)")


def check(condition, text):
    if not condition:
        sys.exit(f"FAIL {text}")


def run(*words, status=0):
    """What the command says on both streams; `status` None: any."""
    done = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, timeout=PATIENCE_S, cwd=root)
    said = (done.stdout + done.stderr).decode("utf-8", "surrogateescape")
    check(status is None or done.returncode == status, f"atoll {' '.join(map(str, words))}: status {done.returncode}: {said[-1500:]}")
    found = STEERS.search(said)
    check(not found, f"atoll {' '.join(map(str, words))} lets {found and found.group()!r} through: {found and said[max(0, found.start() - 80):][:160]!r}")
    return done.stdout.decode("utf-8", "surrogateescape") if status == 0 else said


def texts_are_harmless():
    run("run", fixtures / "esckey", "-o", "no", "--seconds", "5", status=None)
    run("run", fixtures / "evil", "-o", "c", "--evaluations", "7", "--seconds", "0", "--sample-seconds", "0.05")
    run("best", "c")
    run("best", "c", "--json")
    for words in (["list", "c"], ["list", "c", "--json"], ["show", "c"], ["show", "c", "--json"], ["status", "c"], ["status", "c", "--json"], ["watch", "c"],
                  ["replay", "c"], ["verify", "c"], ["resume", "c"], ["experience", "list", "c"]):
        run(*words)
    run("best", "c", "--task", "evil", "--source", status=None)
    run("show", "c", "evil\x1b[31m", status=66)
    candidates = [json.loads(line) for line in run("export", "c", "--jsonl", "candidates").splitlines()]
    check(len(candidates) >= 7, f"{len(candidates)} candidates")
    escapes = 0
    for c in candidates:
        said = run("show", "c", c["id"])
        run("show", "c", c["id"], "--json")
        escapes += "\\033[" in said
        run("diff", "c", candidates[0]["id"], c["id"])
        run("diff", "c", candidates[0]["id"], c["id"], "--json")
        run("show", "c", c["id"], "--prompt", status=None)
    check(escapes >= 2, "what steers a terminal is not shown as \\033")
    for table in ("tasks", "candidates", "evaluations", "devices", "decisions"):
        for row in csv.reader(io.StringIO(run("export", "c", "--csv", table), newline="")):
            check(not [cell for cell in row if cell[:1] in ("=", "+", "@")], f"a formula in {table}: {row}")
        run("export", "c", "--jsonl", table)
    check("it is not defined by a PyTorch module" in run("export", "c", "--kernelbench", "-o", root / "k", status=None), "why no kernel is exported")
    run("report", "c")
    check("<script" not in (root / "c/report.html").read_text(), "a script got into the report")


HOSTILE = "\x1b[31mred\x1b]0;owned\a\x1bP1;2q\x1b\\ \x9b2J \x9d0;t\x9c \u202e \x7f \b\r over\n=cmd|' /C calc'!A0\n@SUM(1+1)\n"


class Model(threading.Thread):
    """Answers with a kernel of the task, and with what would steer a terminal or a spreadsheet, in its words or in the source too."""

    def __init__(self, spool):
        super().__init__(daemon=True)
        self.requests, self.count, self.stopping = Requests(spool), 0, False

    def run(self):
        kernel = (fixtures / "evil/seeds/naive.c").read_text(errors="replace")
        while not self.stopping:
            for path in self.requests.paths():
                reply = path.with_suffix(".reply")
                if reply.exists() or not path.exists():
                    continue
                self.count += 1
                inside = f"/* {HOSTILE} */\n" if self.count % 2 else ""
                beside = reply.with_name("." + reply.name)
                beside.write_text(json.dumps({"object": "chat.completion", "model": HOSTILE, "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {
                        "role": "assistant", "reasoning_content": HOSTILE,
                        "content": f"{HOSTILE}```c\n{inside}{kernel}\n/* {self.count} */\n```\n{HOSTILE}"}}],
                    "usage": {"prompt_tokens": 10, "completion_tokens": 1}}))
                os.rename(beside, reply)
            self.requests.wait(0.05)


def prompts_are_harmless():
    """What was said to a model and by it, in every form that shows it."""
    model = Model(root / "spool")
    model.start()
    run("run", fixtures / "evil", "-o", "m", "--backend", "null", "--model", "m", "--gateway", f"spool:{root}/spool", "--evaluations", 20,
        "--seconds", 0, "--seed", 5, "--set", "ask_share=1", "--set", "tools=0")
    model.stopping = True
    model.join()
    shown = []
    for c in (json.loads(line) for line in run("export", "m", "--jsonl", "candidates").splitlines()):
        said = run("show", "m", c["id"], "--prompt", status=None)
        if "==== answer ====" in said:
            shown.append(said)
            run("show", "m", c["id"])
            run("show", "m", c["id"], "--prompt", "--json")
    check(shown and all("\\033[31mred\\033]0;owned" in said and "\\302\\2332J" in said for said in shown), f"{len(shown)} prompts of {model.count} asks")
    check(any("==== reasoning ====" in said for said in shown), "no reasoning is shown")
    for table in ("asks", "candidates", "sections"):
        for row in csv.reader(io.StringIO(run("export", "m", "--csv", table), newline="")):
            check(not [cell for cell in row if cell[:1] in ("=", "+", "@")], f"a formula in {table}: {row}")
        run("export", "m", "--jsonl", table)
    run("report", "m")


def limited(megabytes):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def at_once(*words):
    """Status and words of a command that opens a FIFO: it may refuse, never wait."""
    try:
        done = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, timeout=HANG_S, cwd=root, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        sys.exit(f"FAIL atoll {' '.join(map(str, words))} waits for a FIFO")
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "surrogateescape")


def what_is_no_file_hangs_nobody():
    """A FIFO in the place of each file of a campaign: what needs the file names it, at once; nothing else minds."""
    names = [p.relative_to(root / "c") for p in (root / "c").rglob("*") if p.is_file() and "seeds" not in p.parts]
    check(len(names) >= 10 and pathlib.Path("log") in names and pathlib.Path("archive.h5") in names, names)
    refused = 0
    for name in [*names, pathlib.Path("lease")]:
        for words in (["best", "fifo"], ["verify", "fifo"], ["status", "fifo"], ["report", "fifo"], ["replay", "fifo"], ["best", f"fifo/{name}"],
                      ["resume", "fifo", "-q", "--evaluations", "1"]):
            if words[0] in ("best", "resume"):  # others change nothing but the report
                shutil.rmtree(root / "fifo", ignore_errors=True)
                shutil.copytree(root / "c", root / "fifo")
                there = root / "fifo" / name
                shutil.rmtree(there) if there.is_dir() else there.unlink()
                os.mkfifo(there)
            status, said = at_once(*words)
            check(status == 0 or name.name in said or str(name) == "lease", f"{words} with a FIFO {name}: {status} {said[-500:]}")
            refused += "is not a regular file" in said
            if words[0] in ("best", "resume") and str(name) == "campaign.yaml" or words[0] == "resume" and str(name) == "log":
                check(status != 0 and "is not a regular file" in said, f"{words}, {name}: {status} {said[-500:]}")
    check(refused >= 8, f"{refused} refusals")
    for words in (["resume", "fifo", "-q", "--evaluations", "1"], ["verify", "fifo"], ["replay", "fifo"], ["knowledge", "stats", "fifo"],
                  ["best", "fifo"], ["status", "fifo"], ["export", "fifo", "--jsonl", "knowledge"]):
        shutil.rmtree(root / "fifo", ignore_errors=True)  # of a campaign that asks a model: what models are told of
        shutil.copytree(root / "m", root / "fifo")
        (root / "fifo/knowledge.json").unlink()
        os.mkfifo(root / "fifo/knowledge.json")
        status, said = at_once(*words)
        check(status == 0 or "knowledge.json" in said, f"{words} with a FIFO knowledge.json: {status} {said[-500:]}")
        check(words[0] not in ("resume", "verify") or status != 0 and "is not a regular file" in said, f"{words}: {status} {said[-500:]}")
    shutil.rmtree(root / "fifo")
    os.mkfifo(root / "fifo")
    for words in (["gateway", "check", "--config", "fifo"], ["experience", "list", "fifo"], ["experience", "import", "library.yaml", "fifo"],
                  ["run", "fifo", "-o", "never"], ["task", "check", "fifo"],
                  ["submit", fixtures / "evil", "-o", "never", "--site", "./fifo"], ["export", "fifo", "--csv", "tasks"],
                  ["run", fixtures / "evil", "-o", "never", "--reuse", "fifo"], ["diff", "fifo", "a", "b"], ["list", "fifo"]):
        status, said = at_once(*words)
        check(status != 0 and "fifo" in said, f"{words}: {status} {said[-500:]}")


def a_hole_costs_no_memory():
    """A journal of 4 GB that is nearly all hole is read by a process that may have 600 MB."""
    shutil.copytree(root / "c", root / "sparse")
    journal = next((root / "sparse").glob("jobs/*/journal.atl"))
    next((root / "sparse").glob("jobs/*/segment-0000.h5")).unlink()  # it says that the journal had ended
    os.truncate(journal, 4 << 30)
    best = subprocess.run([f"{build}/atoll", "best", "sparse", "--json"], capture_output=True, text=True, timeout=PATIENCE_S,
                          cwd=root, preexec_fn=limited(600))
    check(best.returncode == 0 and json.loads(best.stdout) == json.loads(run("best", "c", "--json")), best.stderr)
    verified = subprocess.run([f"{build}/atoll", "verify", "sparse"], capture_output=True, text=True, timeout=PATIENCE_S,
                              cwd=root, preexec_fn=limited(600))
    check(verified.returncode == 0 and "torn" in verified.stdout, verified.stdout + verified.stderr)
    journal.unlink()


if __name__ == "__main__":
    texts_are_harmless()
    prompts_are_harmless()
    what_is_no_file_hangs_nobody()
    a_hole_costs_no_memory()
    print("ok")
