#!/usr/bin/env python3
"""Has a rival the same time in every process?  reproduce.py build/bench/bench_rivals [--processes 10] [--times 4] ARGUMENT...

Starts bench_rivals with the arguments (--backend, --modes, folders of tasks) in as many processes, one after the other; each
measures every rival --times times and counts by the median of these.  Prints, by rival and variant, the median of the
processes and how far the highest lies above the lowest.  --seconds: no process begins that would end later; what was done by then, or
when it is interrupted, is printed.  Standard library alone."""
import argparse
import collections
import json
import statistics
import subprocess
import sys
import time


def medians_of_process(asked, others):
    """{(task, rival, variant): ns} of one process."""
    ran = subprocess.run([asked.program, "--times", str(asked.times), *others], stdout=subprocess.PIPE, text=True, check=True)
    times = collections.defaultdict(list)
    for line in map(json.loads, ran.stdout.splitlines()):
        if line["verdict"] == "correct":
            times[line["task"], line["rival"], line["variant"]].append(line["median_ns"])
    return {key: statistics.median(all_of_it) for key, all_of_it in times.items()}


def measure(asked, others, medians):
    """Into medians: {key: one ns a process}."""
    begin = time.monotonic()
    for number in range(asked.processes):
        if number and (time.monotonic() - begin) * (number + 1) / number > asked.seconds:
            return
        found = medians_of_process(asked, others)
        for key, ns in found.items():
            medians[key].append(ns)
        print("process %d: %d rivals at a variant" % (number + 1, len(found)), file=sys.stderr, flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--processes", type=int, default=10)
    arguments.add_argument("--times", type=int, default=4)
    arguments.add_argument("--seconds", type=float, default=float("inf"))
    asked, others = arguments.parse_known_args()
    medians = collections.defaultdict(list)
    try:
        measure(asked, others, medians)
    except KeyboardInterrupt:
        pass
    except subprocess.CalledProcessError as error:
        sys.exit("a process ended with %d" % error.returncode)
    print("%-28s %-14s %-12s %12s %10s %10s" % ("task", "rival", "variant", "median us", "range %", "processes"))
    for (task, rival, variant), of_processes in medians.items():
        middle = statistics.median(of_processes)
        print("%-28s %-14s %-12s %12.2f %10.3f %10d" % (task, rival, variant, middle / 1e3,
                                                       100 * (max(of_processes) - min(of_processes)) / middle, len(of_processes)))
    return 0 if medians else 1


sys.exit(main())
