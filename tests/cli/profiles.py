#!/usr/bin/env python3
"""Archives of every schema through the commands that show them; profiles and the time of devices where there are some."""
import json
import pathlib
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]
fixtures = pathlib.Path(source, "tests/fixtures/archive")


def run(*words):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=120,
                            errors="replace")
    if result.returncode != 0:
        sys.exit(f"atoll {' '.join(map(str, words))}: status {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout


def check(condition, message):
    if not condition:
        sys.exit(message)


def rows(archive, table):
    return [json.loads(line) for line in run("export", archive, "--jsonl", table).splitlines()]


old, new = fixtures / "schema-1.h5", fixtures / "schema-3.h5"
with tempfile.TemporaryDirectory(prefix="atoll-profiles-") as folder:
    merged = pathlib.Path(folder, "merged.h5")
    run("archive", "merge", "-o", merged, old, new)
    for archive, has_profiles in ((old, False), (new, True), (merged, True)):
        run("verify", archive)
        profiles = rows(archive, "profiles")
        check(bool(profiles) == has_profiles, f"{archive}: {len(profiles)} profiles")
        check(rows(archive, "devices")[0]["multiprocessors"] == (132 if has_profiles else 0), f"{archive}: devices")
        page = pathlib.Path(folder, "report.html")
        run("report", archive, "-o", page)
        check(("Limited by" in page.read_text()) == has_profiles, f"{archive}: the report's limiter")
        limiters = {r["limiter"] for r in json.loads(run("best", archive, "--json"))}
        check((limiters != {"unknown"}) == has_profiles, f"{archive}: best --json says {limiters}")
        candidate = profiles[0]["candidate"] if has_profiles else rows(archive, "candidates")[0]["id"]
        text = run("show", archive, candidate)
        check(("dram_throughput" in text) == has_profiles, f"{archive}: show\n{text}")
        shown = [e["profile"] for e in json.loads(run("show", archive, candidate, "--json"))["evaluations"]]
        if not has_profiles:
            check(shown and not any(shown), f"{archive}: show --json has profiles")
            continue
        profile = next(p for p in shown if p)
        check(profile["limiter"] == profiles[0]["limiter"] and profile["resources"]["registers"] == 40,
              f"{archive}: show --json: {profile}")
        check(profile["counters"]["dram_throughput"] == {"value": profiles[0]["dram_throughput"], "unit": "%"},
              f"{archive}: counters {profile['counters']}")
        check("tensor" not in profile["counters"] and profiles[0]["tensor"] is None, "an unmeasured counter has a value")
        check(len(run("export", archive, "--csv", "profiles").splitlines()) == len(profiles) + 1, "csv and jsonl differ")
    # Diagnoses: columns of evaluations, and one wording of them everywhere; files of before there were any show none.
    six = fixtures / "schema-6.h5"
    for archive, is_told in ((fixtures / "schema-5.h5", False), (six, True)):
        limited = [e for e in rows(archive, "evaluations") if e["limiter"] == "dram"]
        check(bool(limited) == is_told, f"{archive}: {len(limited)} evaluations are limited by device memory")
        candidate = (limited or rows(archive, "evaluations"))[0]["candidate"]
        shown = [e["diagnosis"] for e in json.loads(run("show", archive, candidate, "--json"))["evaluations"]]
        texts = [d["text"] for d in shown if d]
        check(bool(texts) == is_told and all(f"  diagnosis    {t}\n" in run("show", archive, candidate) for t in texts),
              f"{archive}: show: {texts}")
        both = [(e["profile"]["limiter"], e["diagnosis"]["limiter"])
                for e in json.loads(run("show", archive, candidate, "--json"))["evaluations"] if e["profile"] and e["diagnosis"]]
        both += [(t["limiter"], t["diagnosis"]["limiter"]) for t in json.loads(run("best", archive, "--json")) if t["diagnosis"]]
        check(bool(both) == is_told and all(a == b for a, b in both), f"{archive}: two words of what limits: {both}")
        listed = {c["candidate"]: c["diagnosis"] for c in json.loads(run("list", archive, "--json"))}
        check(("dram" in listed[candidate]) == is_told and "limited by" in run("list", archive).splitlines()[0],
              f"{archive}: list: {listed[candidate]}")
        check(any(t["diagnosis"] for t in json.loads(run("best", archive, "--json"))) == is_told, f"{archive}: best --json")
        failed = {e["error_class"] for e in rows(archive, "evaluations") if e["verdict"] != "correct"}
        check(("none" not in failed) == is_told, f"{archive}: classes {failed}")
    # Where the devices' time went: files of before it was told are shown without it.
    for archive, is_told in ((fixtures / "schema-5.h5", False), (six, True)):
        text, shown = run("show", archive), json.loads(run("show", archive, "--json"))
        (device,) = shown["devices"]
        run("report", archive, "-o", page)
        check(("device 0: answers 30 %, candidates 25 %, idle 20 %, start 15 %, checks 10 %\n"
               "task softmax_rows: 35 % of the devices' time: answers 30 %, candidates 5 %\n"
               "task matmul: 30 % of the devices' time: candidates 20 %, checks 10 %\n" in text) == is_told, f"{archive}: show\n{text}")
        check(("Where the devices" in page.read_text()) == is_told, f"{archive}: report")
        check(bool(device["time"]) == bool(shown["task_times"]) == bool(shown["device_time"]) == is_told, f"{archive}: {shown}")
        check(bool(rows(archive, "device_time")) == is_told, f"{archive}: rows")
    check(abs(device["time"]["whole_s"] - 4) < 1e-9 and abs(device["time"]["occupied_share"] - 0.65) < 1e-9 and
          abs(device["time"]["candidate_share"] - 0.25) < 1e-9, device["time"])
    check([(r["task"], r["device"], r["job"], r["attempt"]) for r in shown["device_time"]] ==
          [("matmul", 0, "local.0", 0), ("softmax_rows", 0, "local.0", 0), (None, 0, "local.0", 0)], shown["device_time"])
    check({t["task"]: t["parts_s"]["answers"] for t in shown["task_times"]} == {"matmul": 0, "softmax_rows": 1.2}, shown["task_times"])
print("archives of schema 1, 3, 5 and 6 shown")
