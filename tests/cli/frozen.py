#!/usr/bin/env python3
"""What models are told of is frozen with the campaign, as one file that is named by its hash: folders add and replace, parts of a sweep
share it, a resume tells what the run was told whatever became of the folders, and what is missing, foreign or wrong is said.

    frozen.py BUILD SOURCE
"""
import atexit
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from spool import Requests

build, source = sys.argv[1:3]
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-frozen-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
environment = {**os.environ, "XDG_DATA_HOME": str(root / "data"), "XDG_STATE_HOME": str(root / "state"), "PATH": "/usr/bin:/bin"}
MARK = "Every loop of this site runs backwards."


def check(condition, message):
    if not condition:
        sys.exit(message)


def atoll(*words, status=0):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=120, env=environment)
    check(result.returncode == status, f"atoll {' '.join(map(str, words))}: status {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout + result.stderr


def write(path, text):
    path = root / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def option(campaign):
    return re.search(r'^  knowledge: "([0-9a-f]{64})"$', (campaign / "campaign.yaml").read_text(), re.M).group(1)


def digest(path):
    return hashlib.blake2b(path.read_bytes(), digest_size=32).hexdigest()


def run(campaign, *words, status=0):
    return atoll("run", f"{source}/suites/starter", "--only", "stencil5", "-o", root / campaign, "--backend", "null", "--model", "m",
                 "--gateway", f"spool:{root}/spool", "--evaluations", 40, "--seconds", 0, "--seed", 5, "--set", "ask_share=1", "--set", "analyses=0",
                 "--create-only", *words, status=status)


# ---- folders add and replace; what is wrong in them is said before anything is made ----

text = pathlib.Path(source, "knowledge/prompts/c.md").read_text()
write("data/atoll/knowledge/prompts/mine.md", "The user's own.\n")
write("data/atoll/knowledge/index-mine.yaml", "version: 1\nprompts:\n  - {language: c, text: prompts/mine.md}\n")
site = write("site/prompts/c.md", f"{text}\n{MARK}\n").parent.parent
hints = write("hints.yaml", "version: 1\nhints:\n  - {name: of-a-friend, trigger: dram, advice: Ask a friend.}\n")
said = run("campaign", "--knowledge", site, "--experience", hints)
check(f"prompts/c.md is that of {site}" in said, said)
campaign = root / "campaign"
frozen = json.loads((campaign / "knowledge.json").read_text())
names = list(frozen["files"])
check(frozen["version"] == 1 and names == sorted(names) and option(campaign) == digest(campaign / "knowledge.json"), "the frozen file")
check({"index.yaml", "prices.yaml", "prompts/role.md", "prompts/mine.md", "constraints/c-dialect.yaml"} <= set(names), names)
check(MARK in frozen["files"]["prompts/c.md"] and "of-a-friend" in frozen["files"]["hints.yaml"], "overlays")
check(not (campaign / "hints.yaml").exists(), "hints have a file of their own")
check("tells models no entries" not in run("again", "--knowledge", site, "--experience", hints), "all is told")
said = run("bare", "--set", "knowledge=0")
check("knowledge=0 tells models no entries" in said and "--set hints=0 --set tools=0" in said, said)
check(option(root / "again") == option(campaign), "the same texts have another name")

(root / "bad").mkdir()
for words, bytes_, status, parts in [
        (["--knowledge", root / "none"], None, 66, ["none"]),
        (["--knowledge", hints], None, 65, ["hints.yaml: is no folder; give the folder that holds index.yaml"]),
        (["--knowledge", root / "bad"], b"\x7fELF", 65, ["bad/a.md: is no text (byte 0x7f at 0)", "mend it or take it out"]),
        (["--knowledge", root / "bad"], b"version: 1\nprompts:\n  - {language: c, text: x.md}\n", 65,
         ["index-bad.yaml:3: there is no text 'x.md' in the folder of knowledge"]),
        (["--knowledge", root / "bad"], b"version: 1\nprompts:\n  - {language: c, text: prompts/c.md, devices: [hoper]}\n", 65,
         ["prompts/c.md, list prompts of index.yaml: there is no family of devices 'hoper'", "did you mean 'hopper'?"])]:
    if bytes_ is not None:
        for old in (root / "bad").iterdir():
            old.unlink()
        (root / "bad" / ("a.md" if bytes_[0] == 0x7f else "index-bad.yaml")).write_bytes(bytes_)
    said = run("refused", *words, status=status)
    check(all(part in said for part in parts) and not (root / "refused").exists(), said)


# ---- a resume tells what was frozen, and reads no folder ----

class Model(threading.Thread):
    """Answers nothing of use, and keeps what it was told."""

    def __init__(self, spool):
        super().__init__(daemon=True)
        self.requests, self.systems, self.stopping = Requests(spool), [], False

    def run(self):
        while not self.stopping:
            for path in self.requests.paths():
                reply = path.with_suffix(".reply")
                try:
                    request = json.loads(path.read_text()) if not reply.exists() else None
                except (FileNotFoundError, json.JSONDecodeError):
                    continue
                if request:
                    self.systems.append(request["messages"][0]["content"])
                    beside = reply.with_name("." + reply.name)
                    beside.write_text(json.dumps({"object": "chat.completion", "model": "m", "choices": [
                        {"index": 0, "message": {"role": "assistant", "content": "I cannot."}, "finish_reason": "stop"}],
                        "usage": {"prompt_tokens": 10, "completion_tokens": 1}}))
                    os.rename(beside, reply)
            self.requests.wait(0.05)


shutil.rmtree(site)
shutil.rmtree(root / "data")
kept = (campaign / "knowledge.json").read_bytes()
for damage, part in [(lambda: (campaign / "knowledge.json").unlink(), "no knowledge.json is there"),
                     (lambda: (campaign / "knowledge.json").write_bytes(kept[:-1]), "is not the file that the campaign was made with")]:
    damage()
    said = atoll("resume", campaign, "-q", status=80)
    check(part in said and "restore it" in said, said)
    check(part in atoll("verify", campaign, status=80), "verify")
(campaign / "knowledge.json").write_bytes(kept)
model = Model(root / "spool")
model.start()
atoll("resume", campaign, "-q")
model.stopping = True
model.join()
writers = [s for s in model.systems if "# Your part: writer" in s]
check(writers and all(MARK in s and "The user's own." in s for s in writers), f"{len(writers)} prompts, other texts")
replayed = json.loads(atoll("replay", campaign, "--json"))
asks = [json.loads(line) for line in atoll("export", campaign, "--jsonl", "asks").splitlines()]
unanswered = sum(ask["status"] != "ok" for ask in asks)  # open or given up when the campaign ended
check(0 < replayed["answers"] <= replayed["prompts"] <= replayed["answers"] + unanswered, (replayed, [a["status"] for a in asks]))
(campaign / "knowledge.json").unlink()
check("no knowledge.json is there" in atoll("replay", campaign, status=80), "replay")
(campaign / "knowledge.json").write_bytes(kept)
check("knowledge.json: " in atoll("verify", campaign), "verify")
rows = [json.loads(line) for line in atoll("export", campaign, "--jsonl", "knowledge").splitlines()]
check({row["path"]: row["text"] for row in rows} == frozen["files"], "the archive's texts")

# ---- a site's folder ----

site = write("site/prompts/c.md", f"{text}\n{MARK}\n").parent.parent
profile = write("one.yaml", f"version: 1\nname: one\nscheduler: slurm\nstep: {{start: srun}}\nknowledge: {site}\n")
environment["ATOLL_SITE"] = str(profile)
run("of-the-site")
check(MARK in json.loads((root / "of-the-site/knowledge.json").read_text())["files"]["prompts/c.md"], "ATOLL_SITE")
environment["ATOLL_SITE"] = str(root / "no-site.yaml")
check("no-site.yaml" in run("of-no-site", status=66), "a site that is not there")
del environment["ATOLL_SITE"]

# ---- the parts of a sweep name one file ----

# Where no cluster is its job begins on this machine: it is ended before anything is looked at.
result = subprocess.run([f"{build}/atoll", "submit", f"{source}/suites/starter", "-o", root / "sweep", "--site", profile, "--backend", "null",
                         "--model", "m", "--gateway", f"spool:{root}/spool", "--tasks-per-part", "1", "--evaluations", "100", "--time", "1h"],
                        capture_output=True, text=True, timeout=120, env=environment)
atoll("pause", "--now", root / "sweep")
end = time.monotonic() + 240
while any(f'"state": "{word}"' in job.read_text() for word in ("pending", "running", "completing") for job in root.glob("state/atoll/jobs/*/*/job.json")):
    check(time.monotonic() < end, "the job does not end")
    time.sleep(0.05)
parts = sorted((root / "sweep/parts").iterdir()) if (root / "sweep/parts").exists() else []
check(len(parts) > 5, f"{len(parts)} parts\n{result.stdout}{result.stderr}")
check({option(part) for part in parts} == {digest(root / "sweep/knowledge.json")}, "hashes")
check(MARK in json.loads((root / "sweep/knowledge.json").read_text())["files"]["prompts/c.md"], "the site's folder")
check(not any((part / "knowledge.json").exists() for part in parts), "a part has a copy")
check("knowledge.json: " in atoll("verify", parts[0]), "a part finds it")
