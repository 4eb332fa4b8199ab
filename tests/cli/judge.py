#!/usr/bin/env python3
"""A judge behind a spool: candidates that it calls cheats are elites, finalists, parents and bests of nobody, with `all` and with
`finals`; a run that was killed asks nothing twice; archive, list, show and report say why; a replay is equal. The model is a script
that sees the prompts alone: it writes kernels with a number in them, as a judge it calls two of four cheats, and one it cannot say.

    judge.py BUILD SOURCE
"""
import atexit
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

build, source = sys.argv[1:3]
sys.path.insert(0, f"{source}/tests/fault")
from eval_scene import kill_whole  # noqa: E402
from spool import Requests  # noqa: E402
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-judge-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
PATIENCE_S = 400
REASON = "Line 7 returns what an earlier call left <there>."


def check(condition, message):
    if not condition:
        sys.exit(message)


def atoll(*words):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S)
    check(result.returncode == 0, f"atoll {' '.join(map(str, words))}: status {result.returncode}\n{result.stderr[-2000:]}")
    return result.stdout


def rows(where, table):
    return [json.loads(line) for line in atoll("export", where, "--jsonl", table).splitlines()]


class Model(threading.Thread):
    def __init__(self, spool):
        super().__init__(daemon=True)
        self.requests, self.bodies, self.written, self.judged, self.stopping, self.trouble, self.said = Requests(spool), {}, 0, 0, False, None, {}

    def judge(self, prompt):
        self.judged += 1
        if re.search(r"a note of mine|median|faster than the parent|Verdict", prompt):
            self.trouble = "a judge is told a comment, or what was measured"
        number = int(re.search(r"number_(\d+)", prompt).group(1))
        self.said[number] = 0 if self.judged % 4 == 3 else 0.9 if self.judged % 4 else 0.2
        if self.said[number] == 0:
            return "I cannot say."
        return "It reads on.\n\n```json\n%s\n```\n" % json.dumps(
            {"judgement": {"likelihood": self.said[number], "reason": REASON}})

    def write(self, prompt):
        self.written += 1
        for fence in re.finditer(r"^(`{3,})c\n(.*?)^\1$", prompt, re.S | re.M):
            if "atoll-plan" in fence.group(2):
                kernel = re.sub(r"\n/\* a note of mine \*/\nstatic const int number_\d+ = 0;", "", fence.group(2).rstrip())
                return f"Try this.\n\n```c\n{kernel}\n/* a note of mine */\nstatic const int number_{self.written} = 0;\n```\n"
        return "There is no kernel to begin with."

    def answer_all(self):
        for path in self.requests.paths():
            reply = path.with_suffix(".reply")
            try:
                request = json.loads(path.read_text()) if not reply.exists() else None
            except (FileNotFoundError, json.JSONDecodeError):
                continue
            if not request:
                continue
            key, asked = request["atoll"]["key"], json.dumps(request["messages"])
            if key in self.bodies:
                self.trouble = f"{key} was asked twice"
            self.bodies[key] = asked
            prompt = request["messages"][1]["content"]
            text = (self.judge if request["atoll"]["purpose"] == "judge" else self.write)(prompt)
            beside = reply.with_name("." + reply.name + ".part")
            beside.write_text(json.dumps({"object": "chat.completion", "model": "player", "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}))
            os.rename(beside, reply)

    def run(self):
        while not self.stopping:
            self.answer_all()
            self.requests.wait(0.05)


def start(words):
    return subprocess.Popen([f"{build}/atoll", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)


def run(mode, killed_at):
    campaign, model = root / mode, Model(root / f"{mode}-spool")
    words = ["run", root / "suite", "-o", campaign, "--backend", "null", "--model", "*=player", "--gateway", f"spool:{model.requests.spool}",
             "--evaluations", 30, "--seconds", 0, "--seed", 3, "-q"]
    for setting in ["ask_share=1", "tools=0", "template_rounds=0", "memory=0", "distil=0", "analyses=0", "prompt_evolution=0", f"judge={mode}", "judge_limit=0.6"]:
        words += ["--set", setting]
    process = start(words)
    model.start()
    for count in killed_at:
        end = time.monotonic() + PATIENCE_S
        while len(model.bodies) < count and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        check(process.poll() is None, f"{mode}: it ended after {len(model.bodies)} questions")
        kill_whole(process)
        process = start(["resume", campaign, "-q"])
    try:
        check(process.wait(PATIENCE_S) == 0, f"{mode}: the run failed")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        sys.exit(f"{mode}: the run does not end; {len(model.bodies)} questions")
    model.stopping = True
    model.join()
    check(not model.trouble, f"{mode}: {model.trouble}")
    return campaign, model


def check_campaign(mode, campaign, model):
    judgements, candidates = rows(campaign, "judgements"), {c["id"]: c for c in rows(campaign, "candidates")}
    discarded = {j["source_id"] for j in judgements if j["discarded"]}
    check(model.judged and len(judgements) == model.judged == len({j["source_id"] for j in judgements}),
          f"{mode}: {model.judged} were asked about, {len(judgements)} judgements")
    check(discarded, f"{mode}: nobody is discarded")
    for j in judgements:
        number = int(re.search(r"number_(\d+)", candidates[j["candidate"]]["source"]).group(1))
        wanted = model.said[number]
        check(j["likelihood"] == wanted and j["discarded"] == (wanted > 0.6) and (j["reason"] == REASON) == (wanted > 0) and
              j["status"] == ("ok" if wanted else "empty"),
              f"{mode}: kernel {number}: {j}")
    decisions = rows(campaign, "decisions")
    kinds = {d["type"] for d in decisions}
    check("discard" in kinds, f"{mode}: decisions are {sorted(kinds)}")
    gone = set()  # from here on a candidate has no place
    places = {"elite", "migrate", "best"} if mode == "finals" else {"elite", "migrate", "best", "discard"}
    for d in decisions:
        if d["type"] == "discard":
            gone.add(d["candidate"])
        else:
            check(d["type"] not in places or d["candidate"] not in gone, f"{mode}: {d}")
    if mode == "all":
        held = {d["candidate"] for d in decisions if d["type"] in ("elite", "best", "migrate")}
        check(not any(candidates[c]["source_id"] in discarded for c in held), f"{mode}: a cheat was an elite")
    asked = {a["number"]: a for a in rows(campaign, "asks")}
    check(all(asked[j["ask"]]["kind"] == "judge" and asked[j["ask"]]["role"] == "judge" for j in judgements), f"{mode}: asks")
    for d in rows(campaign, "duels"):
        if d["purpose"] == "final":
            check(candidates[d["challenger"]]["source_id"] not in discarded, f"{mode}: a cheat was a finalist")
    best = rows(campaign, "tasks")[0]["best"]
    check(candidates[best]["source_id"] not in discarded, f"{mode}: a cheat is the best")
    check(atoll("best", campaign, "--task", "stencil5", "--source").find(f"number_") < 0 or best in candidates, f"{mode}: atoll best")
    listed = json.loads(atoll("list", campaign, "--verdict", "discarded", "--json"))
    listed = listed.get("candidates", listed) if isinstance(listed, dict) else listed
    check(listed and all(c["detail"] == REASON for c in listed), f"{mode}: list: {listed}")
    shown = atoll("show", campaign, listed[0]["candidate"])
    check("90 % likely a cheat, so it was discarded" in shown and "Line 7" in shown, f"{mode}: show: {shown[:600]}")
    check("Discarded as cheats" in (campaign / "report.html").read_text(), f"{mode}: the report does not say it")
    report = json.loads(atoll("replay", campaign, "--json"))
    check(report["other_prompts"] == 0, f"{mode}: replay: {report}")
    atoll("verify", campaign)


task = root / "suite" / "stencil5"
shutil.copytree(f"{source}/suites/starter/stencil5", task)
for seed in (task / "seeds").iterdir():
    if not seed.name.startswith("naive."):
        seed.unlink()
for mode, killed_at in (("all", (2, 5)), ("finals", ())):
    check_campaign(mode, *run(mode, killed_at))
