#!/usr/bin/env python3
"""Option tables, --help and the committed manual pages say the same."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

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
    usage, manual = run(*words, "--help"), run("man", "--roff", *words)
    if usage.returncode or manual.returncode:
        bad.append(f"{command}: --help gives {usage.returncode}, man gives {manual.returncode}")
        continue
    in_help = set(re.findall(r"--([a-z][a-z-]+)", usage.stdout))
    in_manual = set(re.findall(r"--([a-z][a-z-]+)", manual.stdout.replace("\\-", "-")))
    if in_help != in_manual:
        bad.append(f"{command}: only in one of --help and man: {sorted(in_help ^ in_manual)}")
    for other in ("help", "man"):  # to be read, without any other program
        if (read := run(other, *words)).returncode or read.stdout != usage.stdout:
            bad.append(f"atoll {other} {command} is not what its --help prints")
    page = pathlib.Path(source, "docs/man", f"atoll-{'-'.join(words)}.1")
    if not page.exists() or page.read_text() != manual.stdout:
        bad.append(f"{page} is not what `atoll man --roff {command}` prints; write it again with docs/man/write")
    wrong = run(*words, "--no-such-option-at-all")
    if wrong.returncode == 0 or "no-such-option-at-all" not in wrong.stderr:
        bad.append(f"{command}: an unknown option is not refused by name")


for words, status, text in ((("help",), 0, "usage: atoll COMMAND"), (("man",), 0, "usage: atoll COMMAND"),
                            (("help", "settings"), 0, "migration_interval"), (("help", "task"), 0, "task check"),
                            (("help", "rnu"), 2, "did you mean 'run'?"), (("rnu",), 2, "did you mean 'run'?"),
                            (("rseume", "DIR"), 2, "did you mean 'resume'?"), (("taks", "check"), 2, "'task check'?"),
                            (("task", "chekc"), 2, "'task check'?"), (("gateway", "spned"), 2, "'gateway spend'?"),
                            (("gatway",), 2, "did you mean 'gateway'?"), (("man", "settigns"), 2, "no command"),
                            (("task", "fly"), 2, "`atoll help task` lists"), (("frobnicate",), 2, "--help` lists")):
    said = run(*words)
    if said.returncode != status or text not in said.stdout + said.stderr:
        bad.append(f"atoll {' '.join(words)}: status {said.returncode}, said {said.stderr!r}, '{text}' is expected")


def create(folder, *words):
    return run("run", f"{source}/suites/starter", "--only", "softmax_rows", "--create-only", "-o", str(folder), *words)


# Every setting of the one table: in the listing, the manual page and campaign.yaml, and --set takes its default.
settings = json.loads(run("run", "--list-settings", "--json").stdout)
listing = run("run", "--set", "help").stdout
manual = run("man", "--roff", "settings").stdout
page = pathlib.Path(source, "docs/man/atoll-settings.7")
if not page.exists() or page.read_text() != manual:
    bad.append(f"{page} is not what `atoll man --roff settings` prints; write it again with docs/man/write")
names = [s["name"] for s in settings]
if len(names) < 40 or len(set(names)) != len(names):
    bad.append(f"--list-settings has {names}")
if re.findall(r"^(\w+) ", listing, re.M)[1:] != names or re.findall(r"^\.B (\w+)$", manual, re.M) != names:
    bad.append("listing, JSON and manual page have different settings")
with tempfile.TemporaryDirectory() as scratch:
    words = [word for s in settings for word in ("--set", f"{s['name']}={s['default']}")]
    made = create(f"{scratch}/defaults", *words)
    frozen = dict(re.findall(r"^  (\w+): (.*)$", pathlib.Path(scratch, "defaults/campaign.yaml").read_text(), re.M)
                  ) if made.returncode == 0 else made.stderr
    if any(frozen[s["name"]] != s["default"] for s in settings if s["name"] in frozen) or not set(names) <= set(frozen):
        bad.append(f"--set of every default is not what campaign.yaml holds: {frozen}")
    own = {"strategy": ("tree", "strategy: tree"), "seed": ("18446744073709551615", "seed: 18446744073709551615"),
           "islands": ("3", "islands: 3"), "evaluations": ("70", "evaluation_budget: 70"),
           "seconds": ("1m30s", "wall_budget_ns: 90000000000"), "device-seconds": ("2", "device_budget_ns: 2000000000"),
           "tokens": ("1000", "token_budget: 1000"), "money": ("2.5", "money_budget_usd: 2.5"),
           "floor-goal": ("80", "floor_goal: 80")}
    made = create(f"{scratch}/own", *[w for name, (value, _) in own.items() for w in (f"--{name}", value)])
    frozen = pathlib.Path(scratch, "own/campaign.yaml").read_text() if made.returncode == 0 else made.stderr
    bad += [f"--{name}: '{line}' is not in campaign.yaml" for name, (_, line) in own.items()
            if f"  {line}\n" not in frozen]
    refused = [(("--set", "islands=3", "--islands", "2"), "--set islands and --islands are the same setting"),
               (("--seconds", "9", "--set", "wall_budget_ns=1e9"), "--set wall_budget_ns and --seconds"),
               (("--set", "islands=3", "--set", "islands=3"), "given twice"),
               (("--set", "islnds=3"), "did you mean 'islands'?"), (("--set", "islands"), "NAME=VALUE is expected"),
               (("--set", "=3"), "NAME=VALUE is expected"), (("--set", "islands=99"), "1 to 16"),
               (("--strategy", "forest"), "islands, beam, tree, staged, repeated"), (("--seed", "-1"), "--seed"),
               (("--seconds", "soon"), "1h30m"), (("--floor-goal", "101"), "0 to 100"),
               (("--set", "share_uniform=0", "--set", "share_fitness=0"), "selection rules")]
    for words, text in refused:
        made = create(f"{scratch}/refused", *words)
        if made.returncode != 2 or text not in made.stderr or pathlib.Path(scratch, "refused").exists():
            bad.append(f"{' '.join(words)}: status {made.returncode}, said {made.stderr!r}, '{text}' is expected")
with tempfile.TemporaryDirectory() as scratch:
    starter, archive = f"{source}/suites/starter", f"{source}/tests/fixtures/archive/schema-5.h5"
    create(f"{scratch}/campaign")
    pathlib.Path(scratch, "full").mkdir()
    pathlib.Path(scratch, "full/notes").write_text("mine")
    for words, text in (
            (("run", f"{source}/suites/startre"), "suites/starter'?"), (("run", "startre"), "did you mean 'starter'?"),
            (("run", starter, "--only", "softmax_row"), "did you mean 'softmax_rows'?"),
            (("run", starter, "--strategy", "tre"), "did you mean 'tree'?"),
            (("submit", starter, "--site", "generic-slrum", "-o", f"{scratch}/s"), "did you mean 'generic-slurm'?"),
            (("best", archive, "--task", "matmlu"), "did you mean 'matmul'?"),
            (("list", archive, "--task", "matmlu"), "did you mean 'matmul'?"),
            (("show", archive, "matmlu"), "did you mean 'matmul'?"),
            (("export", archive, "--csv", "evalutions"), "did you mean 'evaluations'?"),
            (("best", f"{scratch}/campagin"), "/campaign'?"), (("best", scratch), "/campaign'?"),
            (("task", "check", f"{starter}/softmax_row"), "softmax_rows'?"),
            (("best", f"{scratch}/full"), "name the folder that was given to atoll run -o"),
            (("cancel", f"{scratch}/full"), "name the folder that was given to atoll submit -o")):
        said = run(*words)
        if said.returncode == 0 or text not in said.stderr:
            bad.append(f"atoll {' '.join(words)}: status {said.returncode}, said {said.stderr!r}, '{text}' is expected")
        if "/full" in words[1] and "SUITE -o" in said.stderr:
            bad.append(f"a folder of other things is suggested for a campaign: {said.stderr!r}")
    made = run("task", "new", f"{scratch}/my-suite/x")
    if made.returncode or not pathlib.Path(scratch, "my-suite/x/task.yaml").exists():
        bad.append(f"task new makes no parent: {made.stderr!r}")
    made = run("run", f"{source}/suites", "--only", "softmax_rows", "--create-only", "-o", f"{scratch}/below")
    if made.returncode:
        bad.append(f"a folder of suites is not looked into: {made.stderr!r}")
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
print("\n".join(bad) or f"{len(commands)} commands and {len(names)} settings agree with their pages")
sys.exit(1 if bad else 0)
