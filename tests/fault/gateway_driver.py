"""Runs ask_many and reads its file of answers."""
import collections
import os
import pathlib
import subprocess

Line = collections.namedtuple("Line", "question http status money tries is_stored microseconds")


def answers_of(path):
    """All lines by question; a torn last one is none."""
    found = collections.defaultdict(list)
    if os.path.exists(path):
        for line in pathlib.Path(path).read_text().split("\n")[:-1]:
            words = line.split()
            if len(words) == len(Line._fields):
                found[int(words[0])].append(Line(int(words[0]), int(words[1]), words[2], int(words[3]), int(words[4]), words[5] == "1",
                                                 int(words[6])))
    return found


class Driver:
    def __init__(self, build, url, answers, count, at_once, *more):
        self.answers = answers
        self.command = [f"{build}/tests/bin/ask_many", "--to", url, "--answers", answers, "--count", str(count), "--at-once",
                        str(at_once), "--model", "m", *more]
        self.start()

    def start(self):
        self.child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def count(self):
        try:
            return pathlib.Path(self.answers).read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0

    def kill(self):
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()

    def end(self):
        summary, _ = self.child.communicate(timeout=600)
        if self.child.returncode != 0:
            raise SystemExit(f"the driver ended with status {self.child.returncode}: {summary}")
        return summary.strip()
