#!/usr/bin/env python3
"""Thousands of requests at 512 in flight through a whole gateway before a fault server that breaks a tenth of them.

gateway_load.py BUILD [--requests N] [--at-once N] [--budget whole|half] [--model MODEL] [--lose]

Zero lost, zero answered twice; every answer is booked to the token and the nanodollar; the budget is never exceeded, at no record
of the books, also where it ends half-way (--budget half): then what is refused costs nothing and was never sent.  Memory: the
gateway's peak and its growth from the first thousand answers on.  --lose takes one answer out of the books: it must be missed.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
from gateway_driver import Driver, answers_of
from gateway_scene import PRICE, Config, Gateway, Provider

PEAK_KIB = 64 * 1024
GROWTH_KIB = 1024
WARM = 1000  # answers


def scene(options, root):
    provider = Provider(options.build)
    config = Config(root, first_backoff="10ms", longest_backoff="200ms", tries=6)
    config.endpoint("e", "chat", provider.url + "/v1", concurrency=options.at_once)
    config.model("m", "e", options.model)
    money = PRICE.cost(20, 10) * options.requests // 2 if options.budget == "half" else 10**12
    config.limit(scope="campaign", money=f"{money / 10**9:.9f}")
    return provider, Gateway(options.build, config), money


def drive(options, root, gateway):
    """(summary, resident KiB when a thousand were answered)"""
    driver = Driver(options.build, gateway.url, f"{root}/answers", options.requests, options.at_once)
    warm = None
    while driver.child.poll() is None:
        time.sleep(0.02)
        if warm is None and driver.count() >= WARM:
            warm = gateway.memory_kib()
    return driver.end(), warm


def check_counts(options, answers, server, books):
    by_status = {}
    for rows in answers.values():
        by_status.setdefault(rows[0].status, []).append(rows[0])
    twice = [n for n, rows in answers.items() if len(rows) > 1]
    if twice or len(answers) != options.requests:
        yield f"{options.requests - len(answers)} lost, {len(twice)} answered twice"
    allowed = {"ok", "budget"} if options.budget == "half" else {"ok"}
    for status in set(by_status) - allowed:
        yield f"{len(by_status[status])} answers are {status}"
    if server["answered"] != len(by_status.get("ok", [])):
        yield f"the server answered {server['answered']} times, {len(by_status.get('ok', []))} answers came"
    for n, row in server["ids"].items():
        if row["answered"] > 1:
            yield f"{n} was answered {row['answered']} times"
    if options.budget == "half" and not len(answers) / 4 < len(by_status.get("ok", [])) < len(answers) * 3 / 4:
        yield f"half a budget answered {len(by_status.get('ok', []))} of {len(answers)}"


def check_money(options, answers, server, books, money):
    rows = [row for row in books.rows.values() if row.campaign == "c"]
    spent = sum(row.used()[0] for row in rows)
    told = sum(rows[0].money for rows in answers.values())
    tokens = sum(row.used()[1] for row in rows)
    still = [row for row in rows if row.settled is None]
    exact = [row for row in rows if row.settled == (PRICE.cost(20, 10), 30)]
    lost = [row for row in rows if row.settled and row.settled == (row.money, row.tokens)]
    if still:
        yield f"{len(still)} reservations are open"
    if spent != told:
        yield f"the file says {spent} nanodollars, the answers {told}"
    if len(exact) != server["answered"] or len(lost) != server["broken"]:
        yield (f"booked are {len(exact)} answers and {len(lost)} that broke off, the server counted {server['answered']} "
               f"and {server['broken']}")
    if tokens < server["input"] + server["output"] + server["broken_input"] + server["broken_output"]:
        yield f"booked are {tokens} tokens, the server counted more: {server}"
    if books.highest['c'] > money:
        yield f"{books.highest['c']} of {money} nanodollars were spent or reserved"


def check_memory(options, gateway, warm):
    peak, now = gateway.memory_kib("VmHWM"), gateway.memory_kib()
    if peak > PEAK_KIB:
        yield f"the gateway's peak is {peak} KiB"
    if options.requests >= 10 * WARM and now > warm + GROWTH_KIB:
        yield f"the gateway grew from {warm} KiB after {WARM} answers to {now} KiB"
    print(f"peak {peak} KiB, {warm} KiB after {WARM} answers, {now} KiB at the end")


def run(options, root):
    provider, gateway, money = scene(options, root)
    try:
        summary, warm = drive(options, root, gateway)
        answers = answers_of(f"{root}/answers")
        if options.lose:
            answers.pop(next(iter(answers)))  # as if it had never come
        server = provider.stats()
        books = gateway.books().read()
        failures = [*check_counts(options, answers, server, books), *check_money(options, answers, server, books, money),
                    *check_memory(options, gateway, warm)]
        print(f"{summary}\nfullest {books.highest['c']} of {money} nanodollars; {gateway.cpu_s() / options.requests * 1e6:.0f} us of CPU "
              "per request")
        gateway.stop()
        return failures
    finally:
        if gateway.child.poll() is None:
            gateway.kill()
        provider.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--requests", type=int, default=10000)
    parser.add_argument("--at-once", type=int, default=512)
    parser.add_argument("--budget", choices=["whole", "half"], default="whole")
    parser.add_argument("--model", default="mix-10", help="of the fault server: mix-10-delay-100")
    parser.add_argument("--lose", action="store_true")
    options = parser.parse_args()
    root = tempfile.mkdtemp(prefix="atoll-load-")
    try:
        failures = run(options, pathlib.Path(root))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for failure in failures[:20]:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
