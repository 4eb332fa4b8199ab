"""For tests: campaigns with the null backend, runs of atoll-eval on them, and what their journals hold."""
import collections
import os
import pathlib
import signal
import subprocess
import sys
import time

import journal

PATIENCE_S = 400  # of a machine that is busy with something else


def children(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(p) for p in task.read_text().split()]
        except OSError:
            pass
    return found


def tree(pid):
    found = []
    for child in children(pid):
        found += [child] + tree(child)
    return found


def is_running(pid):
    """A process whose first thread has ended has its files and its locks until the last one has."""
    for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            if stat.read_text().rpartition(")")[2].split()[0] not in "ZX":
                return True
        except OSError:
            pass
    return False


def kill_whole(process):
    """Kills a run that has a session of its own, and waits until all that it started has ended, too: its rank 0 has a session of its
    own and dies of its parent's death, a little later, and as long as it dies it holds the campaign, and whoever resumes is refused."""
    everyone = tree(process.pid)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    end = time.monotonic() + PATIENCE_S
    while any(is_running(pid) for pid in everyone):
        if time.monotonic() > end:
            sys.exit(f"of {everyone} some are there {PATIENCE_S} s after their run was killed")
        time.sleep(0.01)


class Run:
    """One atoll-eval --local; its log and its acknowledgements are its own."""

    def __init__(self, scene, name, *arguments):
        self.name, self.log, self.acks = name, scene.root / f"{name}.log", scene.root / f"{name}.acks"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([f"{scene.build}/atoll-eval", "--local", "--ack-log", str(self.acks), *arguments,
                                             str(scene.dir)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def everyone(self):
        return [self.process.pid] + tree(self.process.pid)

    def signal_all(self, number):
        for pid in self.everyone():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def acknowledged(self):
        text = self.acks.read_text() if self.acks.exists() else ""
        return [int(line) for line in text[:text.rfind("\n") + 1].split()]

    def fail(self, why):
        sys.exit(f"{self.name}: {why}\n{self.text()[-3000:]}")

    def wait_for_acks(self, count):
        end = time.monotonic() + PATIENCE_S
        while len(self.acknowledged()) < count:
            if self.process.poll() is not None:
                self.fail(f"ended with status {self.process.returncode} after {len(self.acknowledged())} results")
            if time.monotonic() > end:
                self.fail(f"only {len(self.acknowledged())} results in {PATIENCE_S} s")
            time.sleep(0.01)

    def end(self, want=0):
        try:
            status = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.fail("does not end")
        if status != want:
            self.fail(f"ended with status {status}, not {want}")

    def stop(self):
        """In order, as a person would ask for it."""
        self.process.send_signal(signal.SIGTERM)
        self.end()

    def expect(self, *texts):
        for text in texts:
            if text not in self.text():
                self.fail(f"its log does not say '{text}'")


class Scene:
    def __init__(self, build, source, root, *arguments):
        self.build, self.root, self.dir = build, pathlib.Path(root), pathlib.Path(root) / "campaign"
        self.runs = []
        subprocess.run([f"{build}/atoll", "run", f"{source}/suites/starter", "-o", str(self.dir), "--create-only", "--seed", "7",
                        "--backend", "null", "--seconds", "3000", *arguments],
                       check=True, stdout=subprocess.DEVNULL)

    def run(self, name, *arguments):
        self.runs.append(Run(self, name, *arguments))
        return self.runs[-1]

    def kill_all(self):
        for run in self.runs:
            if run.process.poll() is None:
                run.signal_all(signal.SIGKILL)
                run.process.wait()

    def atoll(self, *arguments):
        done = subprocess.run([f"{self.build}/atoll", *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"atoll {' '.join(arguments)}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def check_acknowledged(self, *runs):
        """Everything these runs acknowledged is in the journals, up to their seals, exactly once."""
        found = collections.Counter(journal.counted_results(self.dir))
        doubled = [n for n, count in found.items() if count > 1]
        acknowledged = [n for run in runs for n in run.acknowledged()]
        lost = [n for n in acknowledged if n not in found]
        if doubled or lost or len(set(acknowledged)) != len(acknowledged):
            sys.exit(f"lost {lost[:5]}, doubled {doubled[:5]}, acknowledged twice "
                     f"{[n for n, c in collections.Counter(acknowledged).items() if c > 1][:5]}")
        return len(acknowledged)

    def check_files(self):
        self.atoll("replay", str(self.dir))
        return self.atoll("verify", str(self.dir))
