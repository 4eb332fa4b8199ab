#!/usr/bin/env python3
"""A campaign goes on where it was stopped: interrupted, killed, finished, extended.  going_on.py BUILD SOURCE"""
import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 300
build, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
root = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="atoll-going-on-")))
atexit.register(shutil.rmtree, root, ignore_errors=True)
os.environ["OMPI_MCA_orte_tmpdir_base"] = str(root)


def check(condition, text):
    if not condition:
        logs = "".join(f"--- {p}\n{p.read_text(errors='replace')[-1500:]}" for p in sorted(root.glob("*/log")))
        sys.exit(f"{text}\n{logs}")


def run(*words, status=0):
    done = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S, cwd=root)
    check(done.returncode == status, f"atoll {' '.join(map(str, words))}: status {done.returncode}, not {status}\n"
                                     f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def make(name, *words):
    """Evaluators that invent their results, each after the time that a device would take."""
    run("run", f"{source}/suites/starter", "--only", "transpose", "--only", "row_reduce", "--backend", "null", "--seed", 3, *words,
        "--create-only", "-o", name)
    config = root / name / "campaign.yaml"
    config.write_text(config.read_text().replace("options:\n", 'options:\n  sample-device: "20ms"\n', 1))


def interrupt(name, how, *words, after=5, times=1):
    """Goes on with it, and sends the signal when so many more results are durable.  Returns the exit status and what was said."""
    acknowledged = root / f"{name}.ack"
    acknowledged.write_text("")
    process = subprocess.Popen([f"{build}/atoll", "resume", name, "--ack-log", acknowledged, *map(str, words)], cwd=root,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + PATIENCE_S
    while acknowledged.read_text().count("\n") < after and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    check(process.poll() is None, f"{name} ended before it was interrupted")
    for _ in range(times):
        process.send_signal(how)
        time.sleep(0.05)
    said = process.communicate(timeout=PATIENCE_S)[0]
    return process.returncode, said


def evaluations(name):
    return run("export", name, "--csv", "evaluations").count("\n") - 1


def finals(name):
    return run("export", name, "--csv", "duels").count("final")


def holds(name):
    run("verify", name)
    check("derived again and equal" in run("replay", name), f"{name}: replay")


def interrupted_is_interrupted():
    make("stopped", "--evaluations", 60)
    status, said = interrupt("stopped", signal.SIGINT)
    check(status == 130 and "interrupted" in said and "atoll resume stopped" in said, f"SIGINT: {status}\n{said}")
    check(finals("stopped") == 0, "an interrupt led to last comparisons")
    had = evaluations("stopped")
    check(0 < had < 60, f"{had} evaluations after an interrupt")
    status, said = interrupt("stopped", signal.SIGTERM, "--json")
    check(status == 143, f"SIGTERM: {status}\n{said}")
    check('"ended": false' in said, said[-500:])
    check(evaluations("stopped") > had, "what was resumed did nothing")
    had = evaluations("stopped")
    status, said = interrupt("stopped", signal.SIGINT, times=2)
    check(status == 130, f"two interrupts: {status}\n{said}")
    said = run("resume", "stopped", "--json", "-q")
    check(json.loads(said)["ended"] is True and evaluations("stopped") == 60 and finals("stopped") >= 2, said[-500:])
    holds("stopped")


def finish_ends_it():
    make("finished", "--seconds", 3000)
    status, said = interrupt("finished", signal.SIGTERM, after=20)
    check(status == 143 and finals("finished") == 0, f"{status} {said}")
    run("resume", "finished", "--finish", "-q")
    check(finals("finished") >= 1, "--finish made no last comparisons")
    holds("finished")


def extended():
    make("extended", "--evaluations", 30)
    run("resume", "extended", "-q")
    check(evaluations("extended") == 30, "30 evaluations were asked for")
    said = run("resume", "extended", "-q")
    check("has ended (evaluations)" in said and "--seconds 600" in said, said)
    check(evaluations("extended") == 30, "what has ended went on by itself")
    before = finals("extended")
    run("resume", "extended", "-q", "--evaluations", 20)
    check(evaluations("extended") == 50, f"30 and 20 evaluations are {evaluations('extended')}")
    check(finals("extended") >= before, "finals of before are gone")
    holds("extended")
    told = run("show", "extended")
    check("extended      1 time, by 20 evaluations" in told and ", 50 evaluations\n" in told and "30 evaluations" in told, told[:800])
    check("; 50 of 50 evaluations" in run("status", "extended"), run("status", "extended"))
    # A kill behind the extension: it is in the journal, a plain resume goes on.
    status, said = interrupt("extended", signal.SIGINT, "--evaluations", 40, after=8, times=2)
    check(status == 130, f"two interrupts: {status}\n{said}")
    run("resume", "extended", "-q")
    check(evaluations("extended") == 90, f"50 and 40 evaluations are {evaluations('extended')}")
    # The budget that ended it gives way to the one that is given.
    run("resume", "extended", "-q", "--seconds", 1, "--tokens", 1000, "--money", 0.5)
    check(evaluations("extended") > 90, "nothing was done in another second")
    by = "extended      3 times, by 1.00 s of clock, 60 evaluations, 1000 tokens, $0.50\n"
    check(by in run("show", "extended"), run("show", "extended")[:800])
    row = json.loads(run("show", "extended", "--json"))["campaigns"][0]
    check((row["token_budget"], row["extended_tokens"], row["extended_money_usd"]) == (0, 1000, 0.5), row)
    holds("extended")


def refusals():
    for words, text in ((("--evaluations", 0), "more than 0"), (("--seconds", "soon"), "soon"), (("--money", -1), "money")):
        said = run("resume", "extended", *words, status=2)
        check(text in said, f"{words}: {said}")


interrupted_is_interrupted()
finish_ends_it()
extended()
refusals()
