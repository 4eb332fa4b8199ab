#!/usr/bin/env python3
"""Option tables, --help and the committed manual pages say the same."""
import pathlib
import re
import subprocess
import sys

build, source = sys.argv[1:3]


def run(*words):
    return subprocess.run([f"{build}/atoll", *words], capture_output=True, text=True)


overview = run("--help").stdout
commands = re.findall(r"^  (\S+(?: \S+)?)  +\S", overview, re.M)
bad = []
if len(commands) < 10:
    bad.append(f"--help lists only {commands}")
for command in commands:
    words = command.split()
    usage, manual = run(*words, "--help"), run("man", *words)
    if usage.returncode or manual.returncode:
        bad.append(f"{command}: --help gives {usage.returncode}, man gives {manual.returncode}")
        continue
    in_help = set(re.findall(r"--([a-z][a-z-]+)", usage.stdout))
    in_manual = set(re.findall(r"--([a-z][a-z-]+)", manual.stdout.replace("\\-", "-")))
    if in_help != in_manual:
        bad.append(f"{command}: only in one of --help and man: {sorted(in_help ^ in_manual)}")
    page = pathlib.Path(source, "docs/man", f"atoll-{'-'.join(words)}.1")
    if not page.exists() or page.read_text() != manual.stdout:
        bad.append(f"{page} is not what `atoll man {command}` prints; write it again with docs/man/write")
    wrong = run(*words, "--no-such-option-at-all")
    if wrong.returncode == 0 or "no-such-option-at-all" not in wrong.stderr:
        bad.append(f"{command}: an unknown option is not refused by name")
usage = subprocess.run([f"{build}/atoll-eval", "--help"], capture_output=True, text=True)
manual = subprocess.run([f"{build}/atoll-eval", "--man"], capture_output=True, text=True)
page = pathlib.Path(source, "docs/man/atoll-eval.1")
if usage.returncode or manual.returncode or "--evaluators" not in usage.stdout:
    bad.append(f"atoll-eval: --help gives {usage.returncode}, --man gives {manual.returncode}")
elif set(re.findall(r"--([a-z][a-z-]+)", usage.stdout)) != set(
        re.findall(r"--([a-z][a-z-]+)", manual.stdout.replace("\\-", "-"))):
    bad.append("atoll-eval: --help and --man have different options")
if not page.exists() or page.read_text() != manual.stdout:
    bad.append(f"{page} is not what `atoll-eval --man` prints; write it again with docs/man/write")
print("\n".join(bad) or f"{len(commands)} commands agree with their pages")
sys.exit(1 if bad else 0)
