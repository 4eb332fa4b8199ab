#!/usr/bin/env python3
"""cmake --install to a prefix that is moved elsewhere: programs, suites, profiles, prices and manual pages are found there."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]


def check(condition, message):
    if not condition:
        sys.exit(message)


with tempfile.TemporaryDirectory(prefix="atoll-install-") as folder:
    first, prefix, work = (pathlib.Path(folder, name) for name in ("first", "moved/here", "work"))
    subprocess.run(["cmake", "--install", build, "--prefix", first], check=True, stdout=subprocess.DEVNULL)
    prefix.parent.mkdir()
    work.mkdir()
    shutil.move(first, prefix)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("ATOLL_", "XDG_"))}
    environment["HOME"] = str(work)

    def atoll(*words, status=0):
        result = subprocess.run([prefix / "bin/atoll", *words], cwd=work, env=environment, capture_output=True,
                                text=True, timeout=300)
        check(result.returncode == status, f"atoll {words}: {result.returncode}\n{result.stdout}\n{result.stderr}")
        return result.stdout + result.stderr

    # One manual page per command, the same that the program prints.
    commands = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", atoll("--help"), re.M)
    for command in commands:
        page = prefix / f"share/man/man1/atoll-{command.replace(' ', '-')}.1"
        check(page.read_text() == atoll("man", "--roff", *command.split()), f"{page} is not what atoll man prints")
    check(len(commands) > 20, f"too few commands: {commands}")
    check((prefix / "share/man/man7/atoll-settings.7").is_file(), "atoll-settings.7 is not installed")

    # Its helpers are its own, not those of the build folder.
    doctor = subprocess.run([prefix / "bin/atoll", "doctor", "--json"], cwd=work, env=environment, capture_output=True,
                            text=True, timeout=300)
    found = json.loads(doctor.stdout)
    for name in ("atoll-eval", "atoll-worker", "atoll-worker-cuda", "atoll-compile-cuda"):
        check(found[name]["ok"] and found[name]["text"].startswith(str(prefix)), f"{name}: {found[name]}")
    plugins = list(prefix.glob("lib/atoll/atoll-slurm-*.so"))
    check(bool(plugins) == bool(list(pathlib.Path(build).glob("atoll-slurm-*.so"))), f"plugins: {plugins}")

    # A suite by its names, from a folder that has none. Only a few evaluations: what they say of a loaded machine is nothing.
    for name in ("starter", "suites/starter"):
        atoll("run", name, "-o", work / ("of-" + name.replace("/", "-")), "--only", "softmax_rows", "--evaluations", "3", "--seconds", "25", "--create-only")
    out = work / "of-starter"
    result = subprocess.run([prefix / "bin/atoll", "resume", out, "--quiet"], cwd=work, env=environment, capture_output=True, text=True)
    noise = "no task has a correct baseline" in result.stderr
    check(result.returncode == 0 or noise, f"atoll resume: {result.returncode}\n{result.stderr}")
    evaluations = [json.loads(line) for line in atoll("export", "--jsonl", "evaluations", out).splitlines()]
    check(evaluations and (out / "report.html").is_file(), f"nothing was evaluated: {evaluations}")
    check("no-such-suite" in atoll("run", "no-such-suite", "-o", work / "none", status=66), "the error names no suite")

    # What models are told of: all that is in the source tree, examples and hardware too, from the installation alone.
    atoll("run", "starter", "-o", work / "told", "--model", "m", "--gateway", f"spool:{work}/spool", "--create-only")
    told = json.loads((work / "told/knowledge.json").read_text())["files"]
    there = pathlib.Path(source, "knowledge")
    ours = {str(path.relative_to(there)) for path in there.rglob("*") if path.is_file() and not path.name.startswith(".")}
    check(ours == {path for path in told if not path.startswith("kernels/")}, f"knowledge: {sorted(ours ^ set(told))[:9]}")

    # A site's profile and a job's script, and the price table of the README's gateway.yaml.
    script = atoll("submit", "starter", "-o", work / "sweep", "--site", "generic-slurm", "--dry-run")
    check(str(prefix) in script and build not in script, f"the job is not of this installation:\n{script}")
    (work / "gateway.yaml").write_text(
        "version: 1\nprices: knowledge/prices.yaml\n"
        "endpoints:\n  - {name: near, provider: chat, url: \"http://127.0.0.1:9\", key_env: NONE}\n"
        "models:\n  - {name: some, endpoint: near, model: some, price: free}\n")
    environment["NONE"] = "a key"
    said = json.loads(atoll("gateway", "check", "-c", work / "gateway.yaml", "--no-call", "--deadline", "2s", "--json", status=1))
    check(any(step["step"] == "connect" for step in said), f"the configuration was not read: {said}")
print("installed, moved, run")
