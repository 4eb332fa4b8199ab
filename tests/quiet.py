#!/usr/bin/env python3
"""Runs a test that needs a quiet machine.

quiet.py SKIPS -- COMMAND ...      waits up to 10 s until other programs leave the processors alone, then runs COMMAND
quiet.py SKIPS --begin             forgets the skips of an earlier run
quiet.py SKIPS --end               fails when more than five tests were skipped, with their reasons

A test that passes has passed. One that fails while others were busy says nothing: it is run once more when they leave the
processors alone within 60 s, and skipped (exit status 77, a line in SKIPS) when they do not, or are busy again. A test that fails
on a quiet machine has failed.
"""
import ctypes
import os
import pathlib
import resource
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
FIRST_WAIT_S, PATIENCE_S = 10, 60
LOOK_S = 0.5
QUIET_CORES = 0.25  # what others may use while we look or run, on average
SKIP_LIMIT = 5


def busy_s():
    """Processor time of the whole machine so far, without what was idle or waited for a disk."""
    fields = [int(f) for f in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _, _, irq, softirq, steal = fields[:8]
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_s():
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


class Others:
    """How many processors others used since this was made."""

    def __init__(self):
        self.start, self.busy, self.own = time.monotonic(), busy_s(), own_s()

    def cores(self):
        elapsed = max(time.monotonic() - self.start, 1e-3)
        return max(0.0, (busy_s() - self.busy) - (own_s() - self.own)) / elapsed


def wait_for_quiet(seconds):
    end = time.monotonic() + seconds
    while True:
        others = Others()
        time.sleep(LOOK_S)
        cores = others.cores()
        if cores <= QUIET_CORES or time.monotonic() > end:
            return cores


def skip(skips, command, reason):
    line = f"{os.path.basename(command[0] if len(command) < 2 else command[1])}: {reason}"
    with open(skips, "a") as file:
        file.write(line + "\n")
    print(f"skipped: {line}")
    sys.exit(77)


def reap():
    """What the test started and did not wait for counts as its own."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def run(skips, command):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for attempt in (1, 2):
        cores = wait_for_quiet(FIRST_WAIT_S if attempt == 1 else PATIENCE_S)
        if attempt == 2 and cores > QUIET_CORES:
            skip(skips, command, f"it failed beside other programs, which used {cores:.1f} processors for another {PATIENCE_S} s")
        others = Others()
        status = subprocess.run(command).returncode
        reap()
        cores = others.cores()
        if status in (0, 77) or cores <= QUIET_CORES:
            sys.exit(status if status >= 0 else 128 - status)
        print(f"quiet.py: status {status} while other programs used {cores:.1f} processors; attempt {attempt} of 2", flush=True)
    skip(skips, command, f"it failed twice, with other programs on {cores:.1f} processors meanwhile")


def main():
    skips = sys.argv[1]
    if sys.argv[2] == "--begin":
        pathlib.Path(skips).unlink(missing_ok=True)
    elif sys.argv[2] == "--end":
        lines = pathlib.Path(skips).read_text().splitlines() if os.path.exists(skips) else []
        print(f"{len(lines)} tests were skipped because the machine was busy", *lines, sep="\n")
        sys.exit(1 if len(lines) > SKIP_LIMIT else 0)
    else:
        run(skips, sys.argv[3:])


main()
