#!/usr/bin/env python3
"""What memory that another process gives back costs a kernel that streams through memory (docs/adr/0065).

    bench/torch/freed.py [--bytes N] [--rounds N] [--json FILE]

This process copies a tensor of 3 GB over and over and notes how long each copy takes by the device's clock and when it was; another one takes N bytes (16e9) of the same
device, touches them and gives them back when it is told to. Printed: the median copy before, and those that began within so many ms after the other one had said that it was done."""
import argparse
import json
import multiprocessing
import statistics
import time

import torch

WITHIN_MS = (5, 10, 20, 40, 80, 160, 320)


def other(pipe, size):
    while pipe.recv():
        held = torch.ones(size // 4, dtype=torch.float32, device="cuda")
        torch.cuda.synchronize()
        pipe.send("has it")
        pipe.recv()
        del held
        torch.cuda.empty_cache()
        pipe.send("gave it back")


def copies(source, target, seconds, until=None):
    """[(when it began, in s; ms)] for so long, or until something is heard."""
    found, begin = [], time.monotonic()
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    while time.monotonic() - begin < seconds and not (until and until.poll()):
        at = time.monotonic()
        start.record()
        target.copy_(source)
        stop.record()
        stop.synchronize()
        found.append((at, start.elapsed_time(stop)))
    return found


def one_round(pipe, source, target):
    pipe.send("take it")
    pipe.recv()
    before = copies(source, target, 0.5)
    pipe.send("give it back")
    meanwhile = copies(source, target, 10, pipe)
    pipe.recv()
    told = time.monotonic()
    return [ms for _, ms in before], [ms for _, ms in meanwhile], [(1e3 * (at - told), ms) for at, ms in copies(source, target, 0.5)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=float, default=16e9, help="that the other process gives back")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="every copy, into this file")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    pipe, end = context.Pipe()
    process = context.Process(target=other, args=(end, int(options.bytes)), daemon=True)
    process.start()
    source = torch.ones(3 * 10**9 // 4, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    copies(source, target, 0.5)
    rounds = [one_round(pipe, source, target) for _ in range(options.rounds)]
    pipe.send("")
    process.join()
    usual = statistics.median(ms for before, _, _ in rounds for ms in before)
    print("copy of 3 GB, %.0f GB given back %d times: usually %.4f ms" % (options.bytes / 1e9, options.rounds, usual))
    meanwhile = [ms for _, during, _ in rounds for ms in during]
    if meanwhile:
        print("while it gives back: %.4f ms, %.3f times (%d copies)" % (statistics.median(meanwhile), statistics.median(meanwhile) / usual, len(meanwhile)))
    last = 0
    for within in WITHIN_MS:
        times = [ms for _, _, after in rounds for at, ms in after if last <= at < within]
        if times:
            print("%3d to %3d ms behind: %.4f ms, %.3f times (%d copies)" % (last, within, statistics.median(times), statistics.median(times) / usual, len(times)))
        last = within
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"bytes": options.bytes, "usual_ms": usual, "rounds": [{"before": b, "meanwhile": m, "after": a} for b, m, a in rounds]}, file)


if __name__ == "__main__":
    main()
