#!/usr/bin/env python3
"""Archives of every schema through the commands that show them; profiles where there are some."""
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
print("archives of schema 1 and 3 shown")
