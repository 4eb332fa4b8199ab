#!/usr/bin/env python3
"""Every scenario of the fault server through a whole gateway, in three dialects, plain and with TLS.

gateway_matrix.py BUILD [--rounds N] [--offsets N] [--lie]

Each row: the typed outcome, how many requests the server saw, the answer within the deadline, and the file, read by this folder's
own reader: an answer costs what the server says it billed, to the token and the nanodollar; what broke off costs that or its
reservation, and never less than the server counted; an error costs nothing. A later round must leave as many descriptors and as
much memory as the one before it did.  --lie gives the gateway a price that is a nanodollar too high for every answer: the check must see it.

What failed may not stand in the way of what comes next: an endpoint's breaker opens after five failures in a row, and stays so for
longer each time.  So a good answer of the same endpoint closes it behind every failing row, and nothing good ever comes from an
endpoint with a wrong certificate: each round has others.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
from gateway_scene import PRICE, Config, Gateway, Provider, ask, connect

TRIES = 3
SLACK_S = 10  # of a loaded machine; what stalls, stalls for ever
GROWTH_KIB = 1024
MORE_ROUNDS = 2
ENDPOINTS = 64  # of a configuration
TLS_GROUPS = 12
FAILED = {"overloaded", "stream", "network", "timeout"}  # to a breaker
DIALECTS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages"}

# scenario, outcome, requests seen; of these: answers (cost what they say), reservations lost; then options: deadline, and
# a floor of the time it takes.
ROWS = [
    ("ok", "ok", 1, 1, 0), ("ok-tokens-100-50-cached-40-reasoning-30", "ok", 1, 1, 0), ("echo", "ok", 1, 1, 0),
    ("words-2000", "ok", 1, 1, 0), ("interim", "ok", 1, 1, 0), ("big-header-16", "ok", 1, 1, 0), ("close", "ok", 1, 1, 0),
    ("no-length", "ok", 1, 1, 0), ("limits-3-900", "ok", 1, 1, 0), ("limits-0-0", "ok", 1, 1, 0), ("delay-300", "ok", 1, 1, 0),
    ("bytes-1", "ok", 1, 1, 0), ("bytes-7-slow-1", "ok", 1, 1, 0), ("slow-5", "ok", 1, 1, 0),
    ("length", "truncated", 1, 1, 0), ("filter", "refused", 1, 1, 0), ("refusal", "refused", 1, 1, 0),
    ("empty", "empty", 1, 1, 0), ("only-reasoning", "empty", 1, 1, 0), ("empty-length", "empty", 1, 1, 0),
    ("usage-missing", "ok", 1, 0, 1), ("usage-negative", "ok", 1, 0, 1), ("usage-text", "ok", 1, 0, 1), ("usage-huge", "ok", 1, 0, 1),
    ("status-400", "invalid", 1, 0, 0), ("status-401", "denied", 1, 0, 0), ("status-403", "denied", 1, 0, 0),
    ("status-404", "notfound", 1, 0, 0), ("status-413", "too_large", 1, 0, 0), ("status-422", "invalid", 1, 0, 0),
    ("nonsense", "notfound", 1, 0, 0), ("quota", "quota", 1, 0, 0), ("quota-should-retry", "quota", 1, 0, 0),
    ("status-402", "quota", 1, 0, 0), ("redirect-302", "protocol", 1, 0, 0), ("redirect-307", "protocol", 1, 0, 0),
    ("status-408", "overloaded", 3, 0, 0), ("status-409", "overloaded", 3, 0, 0), ("status-429", "rate", 3, 0, 0),
    ("status-500", "overloaded", 3, 0, 0), ("status-502", "overloaded", 3, 0, 0), ("status-503", "overloaded", 3, 0, 0),
    ("status-504", "overloaded", 3, 0, 0), ("overloaded", "overloaded", 3, 0, 0), ("overloaded-fails-2", "ok", 3, 1, 0),
    ("status-500-should-not-retry", "overloaded", 1, 0, 0), ("status-400-should-retry", "invalid", 3, 0, 0),
    ("status-429-retry-after-1-fails-1", "ok", 2, 1, 0, {"floor": 1}),
    ("status-429-retry-after-0.3-fails-1", "ok", 2, 1, 0, {"floor": 0.3}),
    ("status-429-retry-after-ms-400-fails-1", "ok", 2, 1, 0, {"floor": 0.4}),
    ("status-429-retry-after-ms-400-retry-after-60-fails-1", "ok", 2, 1, 0, {"floor": 0.4}),
    ("status-429-retry-after-date-2-fails-1", "ok", 2, 1, 0, {"floor": 0.9}),
    ("status-429-retry-after-rfc850-2-fails-1", "ok", 2, 1, 0, {"floor": 0.9}),
    ("status-429-retry-after-asctime-2-fails-1", "ok", 2, 1, 0, {"floor": 0.9}),
    ("status-429-retry-after-junk-fails-1", "ok", 2, 1, 0),
    ("status-429-retry-after-3600", "rate", 1, 0, 0, {"deadline": 10}),
    ("status-503-retry-after-date-3600", "overloaded", 1, 0, 0, {"deadline": 10}),
    ("error-event", "overloaded", 3, 0, 3), ("error-event-fails-1", "ok", 2, 1, 1), ("no-end", "stream", 3, 0, 3),
    ("no-end-fails-2", "ok", 3, 1, 2), ("bad-json", "protocol", 1, 0, 1), ("html", "protocol", 1, 0, 1),
    ("bad-utf8", "protocol", 1, 0, 1), ("huge-100", "protocol", 1, 0, 1), ("silent", "timeout", 1, 0, 1, {"deadline": 5}),
    ("silent-after-300", "timeout", 1, 0, 1, {"deadline": 5}), ("silent-after-700", "timeout", 1, 0, 1, {"deadline": 5}),
    ("delay-60000", "timeout", 1, 0, 1, {"deadline": 5}), ("bytes-1-slow-1000", "timeout", 1, 0, 1, {"deadline": 5}),
    ("reset-0", "network", 3, 0, 3), ("cut-0", "network", 3, 0, 3), ("cut-300", "stream network", 3, 0, 3),
]
RESPONSES_ONLY = [("failed-event", "overloaded", 3, 0, 3)]
TLS = ["ok", "words-2000", "bytes-1", "error-event-fails-1", "overloaded-fails-2", "huge-100", "bad-utf8", "status-429", "no-end",
       "silent-after-300", "reset-0", "cut-300"]
CERTIFICATES = ["expired", "wrong-host", "self-signed", "other-ca"]


class Row:
    def __init__(self, group, scenario, outcome, seen, exact, worst, options=None):
        self.group, self.scenario, self.outcomes, self.seen, self.exact, self.worst = group, scenario, outcome.split(), seen, exact, worst
        self.deadline = (options or {}).get("deadline", 20)
        self.floor = (options or {}).get("floor", 0)
        self.is_break = False
        self.name = f"{group}.{scenario}"


class Scene:
    """One gateway per dialect; its rows are spread over groups, one endpoint each, which run side by side."""

    def __init__(self, dialect, options, root, plain, tls, certificates):
        self.dialect, self.options = dialect, options
        self.folder = os.path.join(root, dialect)
        os.mkdir(self.folder)
        self.config = Config(self.folder, tries=TRIES, first_backoff="10ms", longest_backoff="40ms")
        self.config.limit(scope="campaign", money=10000)
        self.providers = {"plain": plain, "tls": tls}
        self.rows, self.certificates = [], certificates
        rows = ROWS + (RESPONSES_ONLY if dialect == "responses" else [])
        plain_groups = ENDPOINTS - TLS_GROUPS - 2 - len(CERTIFICATES) * most_rounds(options)
        for i, row in enumerate(rows):
            self.add(f"p{i % plain_groups}", "plain", row)
        for i, row in enumerate(row for row in rows if row[0] in TLS):
            self.add(f"t{i % TLS_GROUPS}", "tls", row)
        self.add_breaks(plain)
        self.write_endpoints()
        if options.lie:
            self.config.prices = {**PRICE.texts, "output": "9.876643"}
        self.gateway = Gateway(options.build, self.config)
        self.books = self.gateway.books()

    def add(self, group, door, row):
        row = Row(group, *row)
        row.door = door
        self.rows.append(row)

    def add_breaks(self, plain):
        """Resets and ends at offsets from the first byte to the last one; the second try is whole."""
        length = reply_length(plain.url, DIALECTS[self.dialect])
        count = self.options.offsets // 2
        for word in ("reset", "cut"):
            for offset in sorted({round(i * (length - 1) / (count - 1)) for i in range(count)}):
                self.add("b-" + word, "plain", (f"{word}-{offset}-fails-1", "ok", 2, 1, 1))
                self.rows[-1].is_break = True

    def write_endpoints(self):
        doors = {row.group: row.door for row in self.rows}
        for group, door in doors.items():
            more = {"ca_file": self.providers["tls"].ca_file} if door == "tls" else {}
            self.config.endpoint(group, self.dialect, self.providers[door].url + "/v1", **more)
            self.config.model(f"{group}.closes", group, "ok")
        for row in self.rows:
            self.config.model(row.name, row.group, row.scenario)
        for number in range(most_rounds(self.options)):
            for name, (url, ca_file) in self.certificates.items():
                self.config.endpoint(f"{name}-{number}", self.dialect, url + "/v1", ca_file=ca_file)
                self.config.model(f"{name}-{number}", f"{name}-{number}", "ok")

    def run(self, pool, number):
        groups = {}
        for row in self.rows:
            groups.setdefault(row.group, []).append(row)
        jobs = [pool.submit(self.run_group, rows, number) for rows in groups.values()]
        jobs += [pool.submit(self.run_certificate, name, number) for name in self.certificates]
        return jobs

    def ident(self, row, number):
        return f"{self.dialect}.{row.name}.{number}"

    def run_group(self, rows, number):
        failures = []
        for row in rows:
            row.answer = ask(self.gateway.url, row.name, self.ident(row, number), row.deadline)
            failures += self.judge(row)
            if row.answer.status in FAILED:
                failures += self.close_breaker(row, number)
        return failures

    def close_breaker(self, row, number):
        answer = ask(self.gateway.url, f"{row.group}.closes", f"{self.ident(row, number)}.closes")
        if answer.status != "ok":
            yield f"{self.dialect} {row.name}: the endpoint's next answer is {answer.status}: {answer.atoll.get('detail', answer.document)}"

    def judge(self, row):
        a = row.answer
        if a.status not in row.outcomes:
            yield f"{self.dialect} {row.name}: {a.status} instead of {row.outcomes}: {a.atoll.get('detail', a.document)}"
        if a.elapsed_s > row.deadline + SLACK_S:
            yield f"{self.dialect} {row.name}: took {a.elapsed_s:.1f} s, its deadline is {row.deadline} s"
        if a.elapsed_s < row.floor:
            yield f"{self.dialect} {row.name}: took {a.elapsed_s:.2f} s, the server asked for {row.floor} s"

    def run_certificate(self, name, number):
        answer = ask(self.gateway.url, f"{name}-{number}", f"{self.dialect}.{name}.{number}")
        words = {"expired": "expired", "wrong-host": "another host", "self-signed": "signed by itself", "other-ca": "unknown CA"}[name]
        if answer.status != "network" or answer.money or words not in answer.atoll["detail"]:
            return [f"{self.dialect} {name}: {answer.status} {answer.atoll.get('detail')}"]
        return []

    def audit(self, counted, number):
        """The books against what the server counted, row by row."""
        books = self.books.read().by_request()
        for row in self.rows:
            yield from self.audit_row(row, counted[row.door].get(self.ident(row, number)), books[row.answer.atoll["request"]])

    def audit_row(self, row, server, booked):
        place = f"{self.dialect} {row.name}"
        if server is None:
            yield f"{place}: the server never saw it"
            return
        a, exact, worst, seen = row.answer, row.exact, row.worst, row.seen
        if row.is_break and server["seen"] == 1:
            exact, worst, seen = 1, 0, 1  # nothing that counts was behind the break
        elif row.is_break and sum(1 for r in booked if r.settled != (r.money, r.tokens) and r.settled != (0, 0)) == 2:
            exact, worst = 2, 0  # the usage came before the break
        if server["seen"] != seen or a.atoll["tries"] != seen:
            yield f"{place}: the server saw {server['seen']} requests, told are {a.atoll['tries']}, {seen} are right"
        if any(r.settled is None for r in booked):
            yield f"{place}: a reservation is still open"
            return
        usage = usage_of(row.scenario)
        money, tokens = (sum(r.settled[i] for r in booked) for i in (0, 1))
        one = next((r for r in booked), None)
        due_money = exact * PRICE.cost(*usage) + worst * (one.money if one else 0)
        due_tokens = exact * (usage[0] + usage[1]) + worst * (one.tokens if one else 0)
        if (money, tokens) != (due_money, due_tokens):
            yield f"{place}: booked {money} nanodollars, {tokens} tokens; due are {due_money}, {due_tokens} (server: {server})"
        billed = server["input"] + server["output"] + server["broken_input"] + server["broken_output"]
        if tokens < billed:
            yield f"{place}: booked {tokens} tokens, the server counted {billed}"
        if exact == seen and tokens != billed:
            yield f"{place}: booked {tokens} tokens, the server billed {billed}"
        if a.money != money:
            yield f"{place}: the answer says {a.money} nanodollars, the file {money}"


def most_rounds(options):
    return options.rounds + MORE_ROUNDS


def usage_of(scenario):
    return (100, 50, 40) if "tokens-100-50-cached-40" in scenario else (20, 10, 0)


def reply_length(url, path):
    """Bytes of a whole streamed reply to a scenario with a name as long as that of a break, with its head."""
    body = json.dumps({"model": "ok-words-5-fails-1", "stream": True, "stream_options": {"include_usage": True},
                       "messages": [{"role": "user", "content": "id=length"}], "input": "id=length"}).encode()
    link = socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])), timeout=120)
    link.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(body)) + body)
    got = b""
    while not got.endswith(b"0\r\n\r\n"):
        got += link.recv(65536)
    link.close()
    return len(got)


def certificate_providers(build, folder):
    ca = {"other-ca": f"{folder}/other-ca.pem"}
    pem = {"other-ca": "valid"}
    found = {}
    for name in CERTIFICATES:
        provider = Provider(build, "--tls", f"{folder}/{pem.get(name, name)}.pem")
        provider.ca_file = f"{folder}/ca.pem"
        found[name] = provider, (provider.url, ca.get(name, provider.ca_file))
    return found


def settle(gateways):
    """Idle connections are closed by the servers or kept: a moment until nothing is in flight."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        link = connect(gateways[0].url)
        link.request("GET", "/healthz")
        link.getresponse().read()
        link.close()
        if all(in_flight(g) == 0 for g in gateways):
            return
        time.sleep(0.05)


def in_flight(gateway):
    link = connect(gateway.url)
    link.request("GET", "/metrics")
    text = link.getresponse().read().decode()
    link.close()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(("atoll_gateway_calls ", "atoll_gateway_exchanges ")))


def one_round(scenes, plain, tls, number, marks):
    failures = []
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        for job in [job for scene in scenes for job in scene.run(pool, number)]:
            failures += job.result()
    settle([scene.gateway for scene in scenes])
    counted = {"plain": plain.stats()["ids"], "tls": tls.stats()["ids"]}
    for scene in scenes:
        failures += scene.audit(counted, number)
    marks.append([(scene.gateway.descriptors(), scene.gateway.memory_kib()) for scene in scenes])
    return failures


def run(options, root):
    certificates = os.path.join(root, "certificates")
    os.mkdir(certificates)
    subprocess.run([f"{options.build}/tests/bin/fault_provider", "--make-certificates", certificates], check=True)
    plain, tls = Provider(options.build), Provider(options.build, "--tls", f"{certificates}/valid.pem")
    tls.ca_file = f"{certificates}/ca.pem"
    wrong = certificate_providers(options.build, certificates)
    scenes = [Scene(d, options, root, plain, tls, {n: site for n, (_, site) in wrong.items()}) for d in DIALECTS]
    failures, marks = [], []
    try:
        for number in range(options.rounds):
            failures += one_round(scenes, plain, tls, number, marks)
        for number in range(options.rounds, most_rounds(options)):  # what leaks, grows in each of them
            if list(compare(marks)):
                failures += one_round(scenes, plain, tls, number, marks)
        for provider, _ in wrong.values():
            if provider.stats(False)["requests"] > 0:
                failures.append("a request went to a server with a wrong certificate")
        failures += compare(marks)
        for scene in scenes:
            scene.gateway.stop()
    finally:
        for scene in scenes:
            if scene.gateway.child.poll() is None:
                scene.gateway.kill()
        for provider in [plain, tls, *[p for p, _ in wrong.values()]]:
            provider.stop()
    return failures, sum(len(scene.rows) + len(CERTIFICATES) for scene in scenes), marks


def compare(marks):
    if len(marks) < 2:
        return
    for dialect, (fds, kib), (fds_then, kib_then) in zip(DIALECTS, marks[-1], marks[-2]):
        if fds > fds_then + 2:
            yield f"{dialect}: {fds} descriptors are open, {fds_then} were a round before"
        if kib > kib_then + GROWTH_KIB:
            yield f"{dialect}: {kib} KiB are resident, {kib_then} were a round before"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--offsets", type=int, default=60)
    parser.add_argument("--lie", action="store_true")
    options = parser.parse_args()
    if len(CERTIFICATES) * most_rounds(options) > ENDPOINTS - TLS_GROUPS - 10:
        sys.exit(f"{options.rounds} rounds need more than {ENDPOINTS} endpoints: ask for fewer")
    root = tempfile.mkdtemp(prefix="atoll-matrix-")
    try:
        begin = time.monotonic()
        failures, count, marks = run(options, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for failure in failures:
        print(failure)
    print(f"{options.rounds} rounds of {count} rows in {time.monotonic() - begin:.1f} s, {len(failures)} failures; descriptors and KiB "
          f"of the gateways after each round: {marks}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
