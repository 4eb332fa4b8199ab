"""An independent reader of a gateway's file (docs/spec/gateway-database.md), the oracle of the gateway's tests: it shares no code
with Atoll.  The file is read as it lies there, with what a kill left beside it: a copy of both is opened by Python's SQLite."""
import collections
import math
import os
import pathlib
import shutil
import signal
import sqlite3
import sys
import tempfile
from fractions import Fraction

FINAL = {"ok", "truncated", "empty", "refused"}  # what asking again would only repeat
BESIDE = ("", "-journal", "-wal")


class Stopped:
    """A process that stands still as if it were killed, for as long as its files are copied; None, or a dead one, does anyway."""

    def __init__(self, child):
        self.child = child if child is not None and child.poll() is None else None

    def __enter__(self):
        if self.child:
            self.child.send_signal(signal.SIGSTOP)
            _, status = os.waitpid(self.child.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                sys.exit(f"a process ended by itself: {status}")

    def __exit__(self, *_):
        if self.child:
            self.child.send_signal(signal.SIGCONT)


def rows_of(path, *queries, child=None):
    """The rows of each query, all from one state of the file; no file: none."""
    path = pathlib.Path(path)
    with tempfile.TemporaryDirectory(prefix="atoll-books-") as folder:
        copy = pathlib.Path(folder, "copy")
        with Stopped(child):
            if not path.exists() or path.stat().st_size == 0:
                return [[] for _ in queries]
            for end in BESIDE:
                if os.path.exists(f"{path}{end}"):
                    shutil.copyfile(f"{path}{end}", f"{copy}{end}")
        link = sqlite3.connect(copy)
        try:
            if not link.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return [[] for _ in queries]  # killed while it was made
            verdict = link.execute("PRAGMA integrity_check").fetchone()[0]
            if verdict != "ok":
                sys.exit(f"{path}: {verdict}")
            return [link.execute(query).fetchall() for query in queries]
        finally:
            link.close()


class Reservation:
    def __init__(self, row):
        self.number, self.state, self.request, self.campaign, self.task, self.day, self.money, self.tokens = row[:8]
        self.request = self.request.hex()
        self.settled = (row[8], row[9]) if self.state == "settled" else None
        self.is_unknown = self.state == "unknown"

    def used(self):
        return self.settled or (self.money, self.tokens)

    def excess(self):
        money, tokens = self.used()
        return max(0, money - self.money), max(0, tokens - self.tokens)

    def places(self):
        return ("campaign", self.campaign, ""), ("task", self.campaign, self.task), ("day", self.day, "")


class Books:
    """All reservations by number; read() may be called again, also while child, their owner, lives."""

    def __init__(self, path, child=None):
        self.path, self.child, self.rows = pathlib.Path(path), child, {}
        self.sums, self.highest = collections.Counter(), collections.Counter()  # money by campaign: now, at any look

    def read(self):
        child = self.child() if callable(self.child) else self.child
        found, spend = rows_of(self.path, "SELECT number, state, request, campaign, task, day, money, tokens, spent_money, "
                               "spent_tokens FROM reservations", "SELECT scope, name, task, money, tokens FROM spend", child=child)
        self.rows = {row[0]: Reservation(row) for row in found}
        self.sums = collections.Counter()
        spent = collections.defaultdict(lambda: [0, 0])
        for row in self.rows.values():
            self.sums[row.campaign] += row.used()[0]
            if row.settled:
                for place in row.places():
                    spent[place][0] += row.settled[0]
                    spent[place][1] += row.settled[1]
        for campaign, money in self.sums.items():
            self.highest[campaign] = max(self.highest[campaign], money)
        told = {(scope, name, task): [money, tokens] for scope, name, task, money, tokens in spend if scope != "model"}
        if told != dict(spent):
            sys.exit(f"{self.path}: its sums are not those of its reservations")
        return self

    def by_request(self):
        found = collections.defaultdict(list)
        for row in self.rows.values():
            found[row.request].append(row)
        return found


def exchanges(path, child=None):
    """(reservation, id, status, key, request as JSON text) of all."""
    found, = rows_of(path, "SELECT reservation, hex(request_id), status, key, request FROM exchanges ORDER BY number", child=child)
    for reservation, request, status, key, text in found:
        yield reservation, request.lower(), status, key, text


class Price:
    """Dollars per million tokens, exactly as they stand in the file; money in whole nanodollars, rounded up per call."""

    def __init__(self, input, cached_input, output):
        self.texts = {"input": input, "cached_input": cached_input, "output": output}
        self.nano = {name: Fraction(text) * 1000 for name, text in self.texts.items()}

    def cost(self, input, output, cached=0):
        nano = (input - cached) * self.nano["input"] + cached * self.nano["cached_input"] + output * self.nano["output"]
        return math.ceil(nano)
