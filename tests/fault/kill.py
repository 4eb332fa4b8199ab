#!/usr/bin/env python3
"""Kills a run at random instants and checks that nothing acknowledged is lost or doubled.

kill.py BUILD SOURCE --kills N [--what tree|coordinator|spawner|evaluator|worker] [--null] [--torch] [--drop-unsynced] [--lie] [--seed N]

Every kill: start or resume the application, wait a random time, SIGKILL, check that no process is left, that every number in the
acknowledgement log is in the journals exactly once (read by journal.py, not by Atoll). A slow machine is killed more often,
up to four times as often, until there are as many results as kills were asked for. At the end: run to completion, `atoll replay`,
`atoll verify`, and the same check once more. With --drop-unsynced the campaign is rebuilt after each kill as a crash of the
machine would leave it. With --torch the null device has rivals: some are measured when the kill comes, none is lost and
each is measured once. --lie makes syncs do nothing for the shadow: the check must then find a loss, or it could not fail.
"""
import argparse
import collections
import ctypes
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import journal
import rebuild

PR_SET_CHILD_SUBREAPER = 36
NAMES = {"coordinator": "--local", "evaluator": "--evaluator", "worker": "atoll-worker"}


def children(pid):
    found = []
    try:
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
            found += [int(p) for p in task.read_text().split()]
    except OSError:  # it has ended meanwhile
        pass
    return found


def tree(pid):
    found = []
    for child in children(pid):
        found.append(child)
        found += tree(child)
    return found


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def kill_all(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def reap():
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def wait_for_nobody(limit):
    """Everything that was started leaves by itself once its parent is gone."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        reap()
        left = tree(os.getpid())
        if not left:
            return []
        time.sleep(0.01)
    return [(p, command_line(p)) for p in left]


class Campaign:
    def __init__(self, options, root):
        self.options, self.root = options, root
        self.dir = os.path.join(root, "watched", "campaign")
        self.acks = os.path.join(root, "acks")
        self.shadow = os.path.join(root, "shadow")
        os.mkdir(os.path.join(root, "watched"))
        self.environment = dict(os.environ, ATOLL_SCRATCH=root)  # what is killed leaves its scratch here
        self.environment["ATOLL_PYTHON"] = self.torch() if options.torch else "none"
        suite = [os.path.join(options.source, "suites/starter")]
        only = [] if options.null else ["--only", "softmax_rows", "--only", "transpose"]
        subprocess.run([f"{options.build}/atoll", "run", *suite, "-o", self.dir, "--create-only", "--seed", "7", "--seconds",
                        "3000", "--evaluations", str(options.evaluations), "--sample-seconds", "0.05", *only],
                       check=True, stdout=subprocess.DEVNULL)
        if options.drop_unsynced:
            rebuild.adopt(os.path.join(root, "watched"), self.shadow)
            self.environment["ATOLL_SHADOW"] = self.shadow
            self.environment["LD_PRELOAD"] = f"{options.build}/tests/libdrop_unsynced.so"
            if options.lie:
                self.environment["ATOLL_SHADOW_LIE"] = "1"

    def torch(self):
        """What says that it is a Python with torch; the null backend asks it nothing else."""
        python = pathlib.Path(self.root, "python")
        python.write_text("""#!/bin/sh\necho '{"executable": "/", "python": "3", "torch": "2.0", "cuda": "", "triton": "", "path": [], "folders": []}'\n""")
        python.chmod(0o700)
        return str(python)

    def check_rivals(self):
        """Each of a task's was measured once, and some of them were sent again after a kill."""
        decisions = subprocess.run([f"{self.options.build}/atoll", "export", self.dir, "--csv", "decisions"], check=True,
                                   capture_output=True, text=True).stdout.splitlines()
        rows = [dict(zip(decisions[0].split(","), line.split(","))) for line in decisions[1:]]
        again = [r for r in rows if r["type"] == "redispatch" and not int(r["candidate"], 16)]
        ordered = [r["evaluation"] for r in rows if r["type"] == "rival"]
        measured = journal.results(self.dir, (journal.RIVAL,))
        if not again or not measured or len(set(measured)) < len(measured) or not set(measured) <= set(map(int, ordered)):
            sys.exit(f"{len(ordered)} rivals ordered, {len(measured)} measured, {len(again)} sent again")
        return f", {len(measured)} rivals, {len(again)} times sent again"

    def start(self):
        arguments = ["--null-backend"] if self.options.null else []
        log = open(os.path.join(self.root, "log"), "ab")
        return subprocess.Popen([f"{self.options.build}/atoll-eval", "--local", *arguments, "--ack-log", self.acks, self.dir],
                                stdout=log, stderr=log, env=self.environment, start_new_session=True)

    def crash_machine(self):
        if self.options.drop_unsynced:
            target = os.path.join(self.root, "rebuilt")
            watched = os.path.join(self.root, "watched")
            rebuild.rebuild(watched, self.shadow, target)
            shutil.rmtree(watched)
            os.rename(target, watched)
            rebuild.adopt(watched, self.shadow)

    def check(self):
        """Returns (acknowledged, lost, doubled)."""
        found = collections.Counter(journal.results(self.dir))
        acknowledged = set()
        if os.path.exists(self.acks):
            text = pathlib.Path(self.acks).read_text()
            acknowledged = {int(line) for line in text[:text.rfind("\n") + 1].split()}
        lost = sorted(n for n in acknowledged if n not in found)
        doubled = sorted(n for n, count in found.items() if count > 1)
        return len(acknowledged), lost, doubled

    def log_tail(self):
        return pathlib.Path(self.root, "log").read_text(errors="replace")[-2000:]


def victims(process, what):
    everyone = [process.pid] + tree(process.pid)
    if what == "tree":
        return everyone
    if what == "coordinator":
        return [process.pid]
    if what == "spawner":
        return [p for p in tree(process.pid) if p in children(process.pid) and "--evaluator" not in command_line(p)]
    return [p for p in everyone[1:] if NAMES[what] in command_line(p)]


def one_kill(campaign, options, chance, longest):
    process = campaign.start()
    time.sleep(chance.uniform(0, longest))
    kill_all(victims(process, options.what))
    if options.what in ("evaluator", "worker", "spawner"):
        time.sleep(chance.uniform(0.05, longest))  # the run goes on or ends in order; then all go
        kill_all([process.pid])
    process.wait()
    left = wait_for_nobody(60)
    if left:
        kill_all([p for p, _ in left])
        sys.exit(f"processes left after the kill: {left}")
    campaign.crash_machine()


def complete(campaign, options):
    """The last resume is asked to finish in order instead of using up the whole budget."""
    process = campaign.start()
    time.sleep(2 + options.longest)
    process.send_signal(signal.SIGTERM)
    status = process.wait(timeout=options.patience)
    if status != 0:
        sys.exit(f"the last resume ended with status {status}\n{campaign.log_tail()}")
    for command in ("replay", "verify"):
        subprocess.run([f"{options.build}/atoll", command, campaign.dir], check=True, stdout=subprocess.DEVNULL)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("source")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--what", default="tree", choices=["tree", "coordinator", "spawner", "evaluator", "worker"])
    parser.add_argument("--null", action="store_true")
    parser.add_argument("--drop-unsynced", action="store_true")
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--lie", action="store_true")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--longest", type=float, default=0.4)
    parser.add_argument("--evaluations", type=int, default=200000)
    parser.add_argument("--patience", type=float, default=300)
    return parser.parse_args()


def main():
    options = parse()
    chance = random.Random(options.seed)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    root = tempfile.mkdtemp(prefix="atoll-kill-")
    try:
        campaign = Campaign(options, root)
        acknowledged = lost = 0
        number = 0
        longest = options.longest
        while number < options.kills or (acknowledged < options.kills and number < 4 * options.kills):
            one_kill(campaign, options, chance, longest)
            number += 1
            before = acknowledged
            acknowledged, lost, doubled = campaign.check()
            if number >= options.kills and acknowledged == before:
                longest *= 2  # a busy machine needs longer to begin than a run was left alone
            if options.lie and lost:
                print(f"the lying sync was noticed after {number} kills: {len(lost)} acknowledged results lost")
                return
            if lost or doubled:
                sys.exit(f"seed {options.seed}, kill {number}: lost {lost[:5]}, doubled {doubled[:5]}\n{campaign.log_tail()}")
        if options.lie:
            sys.exit("syncs did nothing and nobody noticed: this test cannot fail")
        complete(campaign, options)
        acknowledged, lost, doubled = campaign.check()
        if lost or doubled:
            sys.exit(f"seed {options.seed}: after the last resume lost {lost[:5]}, doubled {doubled[:5]}")
        if acknowledged < options.kills:
            sys.exit(f"only {acknowledged} results were acknowledged over {number} kills: too few to mean anything")
        rivals = campaign.check_rivals() if options.torch else ""
        print(f"seed {options.seed}: {number} kills of {options.what}, {acknowledged} acknowledged{rivals}, 0 lost, 0 doubled")
    finally:
        shutil.rmtree(root, ignore_errors=True)


main()
