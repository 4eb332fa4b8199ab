#!/usr/bin/env python3
"""A run whose candidates come from a model behind a spool: prompts and answers are in the archive as they were said, a run
that was killed finds the answers that came meanwhile, a replay words every prompt again, and a recording takes the model's
place.  The model is a script that answers by the files alone, as docs/spec/gateway.md tells a person to.

    models.py BUILD SOURCE [--measured]      all but what is measured for real, or that alone
"""
import atexit
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

build, source = sys.argv[1:3]
sys.path.insert(0, f"{source}/tests/fault")
from eval_scene import kill_whole  # noqa: E402
from spool import Requests  # noqa: E402
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-models-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
PATIENCE_S = 400
EVALUATIONS = 1000  # of the null backend, which makes about a thousand a second: long enough for answers to come


def check(condition, message):
    if not condition:
        sys.exit(message)


def atoll(*words, status=0):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S)
    check(result.returncode == status, f"atoll {' '.join(map(str, words))}: status {result.returncode}\n"
          f"{result.stdout[-2000:]}\n{result.stderr[-2000:]}")
    return result.stdout if status == 0 else result.stderr


def rows(where, table):
    return [json.loads(line) for line in atoll("export", where, "--jsonl", table).splitlines()]


def parent_of(prompt):
    """The source in the section of the parent: the first fence behind its title."""
    match = re.search(r"^# Parent kernel\n(.*?)^(`{3,})c\n(.*?)^\2$", prompt, re.S | re.M)
    return match.group(3) if match else None


def answer_of(request, turn):
    """Whole files, edits, chatter and refusals in turn."""
    if request["atoll"]["purpose"] in ("summarizer", "distiller", "prompter"):
        return "No optimization found."
    prompt = request["messages"][1]["content"]
    parent = parent_of(prompt)
    check(parent, f"no parent in a prompt:\n{prompt[:500]}")
    marked = parent.rstrip("\n") + f"\n/* answer {turn} of {request['atoll']['key'][-6:]} */\n"
    last = parent.splitlines()[-1]
    if turn % 5 == 4:
        return "I would look at the cache first, but I am not sure what to write."
    if turn % 5 == 3:
        return f"Sure! One edit:\n\n<<<<<<< SEARCH\n{last}\n=======\n{last}\n/* edit {turn} */\n>>>>>>> REPLACE\n"
    return f"Here it is.\n\n```c\n{marked}```\nIt should be faster."


class Author(threading.Thread):
    """Answers whatever lies in a spool, by hand as it were: write beside, rename."""

    def __init__(self, spool, is_json=False, turn=0, calls=0):
        """calls: turns in which tools are called before an ask is answered."""
        super().__init__(daemon=True)
        self.spool, self.is_json, self.turn, self.said, self.stopping = spool, is_json, turn, {}, False
        self.requests = Requests(spool)
        self.calls, self.called = calls, {}

    def answer_all(self):
        for path in self.requests.paths():
            reply = path.with_suffix(".reply")
            if reply.exists() or path.name in self.said or path.name in self.called:
                continue
            try:
                request = json.loads(path.read_text())
            except (FileNotFoundError, json.JSONDecodeError):
                continue
            if sum(m["role"] == "assistant" for m in request["messages"]) < self.calls:
                self.called[path.name] = request
                message = {"role": "assistant", "content": "Let me look.", "tool_calls": [
                    {"id": "one", "type": "function", "function": {"name": "search_archive", "arguments": '{"words": "for"}'}},
                    {"id": "two", "type": "function", "function": {"name": "fly", "arguments": "not even JSON"}}]}
                self.write(reply, self.completion(message, "tool_calls"))
                continue
            text = answer_of(request, self.turn + len(self.said))
            self.said[path.name] = (request, text)
            body = text
            if self.is_json:
                body = self.completion({"role": "assistant", "content": text}, "stop")
            self.write(reply, body)

    @staticmethod
    def completion(message, reason):
        return json.dumps({"object": "chat.completion", "model": "somebody", "choices": [
            {"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100}})

    @staticmethod
    def write(reply, body):
        beside = reply.with_name("." + reply.name + ".part")
        beside.write_text(body)
        os.rename(beside, reply)

    def run(self):
        while not self.stopping:
            self.answer_all()
            time.sleep(0.02)

    def stop(self):
        self.stopping = True
        self.join()


def command(campaign, where, *more):
    return ["run", f"{source}/suites/starter", "--only", "matmul", "--only", "softmax_rows", "-o", campaign, "--backend",
            "null", "--model", "writer=author,*=another", "--role", "writer:temperature=0.5,effort=low", "--gateway", where, "--evaluations", EVALUATIONS, "--seconds", 0, "--seed", 5,
            "--set", "ask_share=1", "--set", "template_rounds=0", "--set", "memory=0", "--set", "distil=0", "--set", "analyses=0", "-q", *more]


def check_dialogues(campaign, said):
    """What the archive tells is what was in the files; returns how many asks were answered."""
    by_prompt = {(r["messages"][0]["content"], r["messages"][1]["content"], t) for r, t in said.values()}
    asks = [a for a in rows(campaign, "asks") if a["status"] == "ok"]
    check(asks, "no ask was answered")
    for ask in asks:
        check((ask["system"], ask["prompt"], ask["answer"]) in by_prompt, f"ask {ask['number']} is not what was said")
    answers = [c for c in rows(campaign, "candidates") if c["ask"]]
    check(len(answers) >= 3, f"{len(answers)} candidates answer asks")
    check(any("/* answer " in c["source"] for c in answers), "no answer became a candidate as a whole file")
    check(any("/* edit " in c["source"] for c in answers), "no answer became a candidate as an edit")
    check_show(campaign, answers[0], {a["number"]: a for a in asks})
    return len(asks)


def check_show(campaign, candidate, asks):
    ask = asks[candidate["ask"]]
    shown = json.loads(atoll("show", campaign, candidate["id"], "--prompt", "--json"))
    for field in ("system", "prompt", "answer"):
        check(shown[field] == ask[field], f"show --prompt --json: {field}")
    text = atoll("show", campaign, candidate["id"], "--prompt")
    for field in ("system", "prompt", "answer"):
        check(ask[field] in text, f"show --prompt does not print the {field} exactly")


def replayed(campaign, *more):
    return json.loads(atoll("replay", campaign, "--json", *more))


def test_whole():
    campaign, spool = root / "whole", root / "whole-spool"
    author = Author(spool)
    author.start()
    atoll(*command(campaign, f"spool:{spool}"))
    author.stop()
    answered = check_dialogues(campaign, author.said)
    for request, _ in author.said.values():
        said = [request["model"], request.get("temperature"), request.get("reasoning_effort")]
        is_writer = request["atoll"]["purpose"] == "writer"  # the rest is the end of the search
        check(said == (["author", 0.5, "low"] if is_writer else ["another", None, None]),
              f"a role's model and parameters: {said}")
    report = replayed(campaign, "--record", root / "recording.atl")
    check(report["prompts"] >= answered and report["answers"] == answered and report["kept"] == answered,
          f"replay: {report}, {answered} answered")
    report = replayed(campaign, "--gateway", f"replay:{root}/recording.atl")
    check(report["recorded"] == answered, f"the recording: {report}")
    check(" 0 problems" in atoll("verify", campaign), "verify")
    check_experience(campaign)
    check_knowledge(campaign)
    return answered


def check_experience(campaign):
    """Hints were told, are in the prompts and in the archive with what followed, and go on to a file and the next campaign."""
    uses, hints = rows(campaign, "hint_uses"), {h["name"]: h for h in rows(campaign, "hints")}
    asks = {ask["number"]: ask for ask in rows(campaign, "asks")}
    check(len(hints) >= 40 and uses, f"{len(hints)} hints, {len(uses)} uses")
    for use in uses:
        prompt, advice = asks[use["ask"]]["prompt"], hints[use["name"]]["advice"]
        check(not prompt or advice[:60] in prompt, f"ask {use['ask']} was told '{use['name']}', and its prompt does not say so:\n{prompt}")
    check_told(campaign)
    told = {use["name"] for use in uses}
    check({h["name"] for h in hints.values() if h["uses"]} == told, "uses of hints")
    check(any(h["outcomes"] for h in hints.values()), "no kernel was measured behind any hint")
    atoll("experience", "export", campaign, "-o", root / "learned.yaml")
    check(f"{len(told)} of them new" in atoll("experience", "import", root / "library.yaml", root / "learned.yaml"), "import")
    atoll(*command(root / "next", f"replay:{root}/recording.atl", "--experience", root / "library.yaml", "--evaluations", 1))
    check(any(h["prior_uses"] for h in rows(root / "next", "hints")), "the next campaign begins with what was learned")


def check_knowledge(campaign):
    """What was retrieved stands in the prompts, with what was cut of it, and in the archive with what followed."""
    uses, entries = rows(campaign, "knowledge_uses"), {e["id"]: e for e in rows(campaign, "knowledge_entries")}
    asks = {ask["number"]: ask for ask in rows(campaign, "asks")}
    sections = {(s["ask"], s["name"]): s for s in rows(campaign, "sections")}
    briefs = [b for b in rows(campaign, "briefs") if b["kind"] in ("constraint", "knowledge", "demonstration")]
    check(uses and len(briefs) == len(uses), f"{len(uses)} uses of knowledge, {len(briefs)} briefs")
    kinds = {b["kind"] for b in briefs}
    check({"constraint", "knowledge"} <= kinds, f"told: {kinds}")
    for brief in briefs:
        ask, kind = asks[brief["ask"]], brief["kind"]
        section = sections.get((ask["number"], "demonstrations" if kind == "demonstration" else "knowledge"))
        check(not ask["prompt"] or section and section["bytes"] > 0, f"ask {ask['number']}: no section for {brief['title']}")
        line = brief["text"].split("\n")[0]
        check(kind != "constraint" or not ask["prompt"] or f"| {line[:80]}" in ask["prompt"],
              f"ask {ask['number']} was told '{line}', and its prompt does not say so")
    check({e["kind"] for e in entries.values()} <= {"constraint", "pattern", "hardware", "example", "kernel"}, "kinds of entries")
    check({u["entry"] for u in uses} == set(entries) and sum(e["uses"] for e in entries.values()) == len(uses), "uses")
    check(any(e["outcomes"] for e in entries.values()), "no kernel was measured behind any entry")
    told = json.loads(atoll("knowledge", "stats", campaign, campaign, "--json"))
    check({(t["kind"], t["id"], t["uses"], t["outcomes"], t["wins"]) for t in told}
          == {(e["kind"], e["name"], e["uses"], e["outcomes"], e["wins"]) for e in entries.values()}, "stats of knowledge, of the same campaign twice")
    lifts = [t["lift"] for t in told]
    check(lifts == sorted(lifts, reverse=True) and all(t["campaigns"] == 1 for t in told), lifts)


def check_told(campaign):
    """What a prompt says of a hint's past is what the archive counts, up to there: the last time it was told, nearly all of it."""
    hints, last = {h["name"]: h for h in rows(campaign, "hints")}, {}
    for brief in rows(campaign, "briefs"):
        said = re.search(r"gain in (\d+) of (\d+) tries", brief["text"])
        if brief["kind"] == "hint" and said:
            last[brief["title"]] = [int(n) for n in said.groups()]
    check(last, "no hint was told with what came of it")
    for name, (wins, outcomes) in last.items():
        later = hints[name]["outcomes"] - outcomes
        check(0 <= later <= 24 and hints[name]["wins"] >= wins, f"{name}: told {wins} of {outcomes}, counted {hints[name]}")


def test_bad_plan():
    """Measured for real: what holds no kernel is bad_plan, with the complaint, and the next prompt tells of it."""
    campaign, spool = root / "measured", root / "measured-spool"
    author = Author(spool, turn=4)
    author.start()
    atoll("run", f"{source}/suites/starter", "--only", "row_reduce", "-o", campaign, "--model", "author", "--gateway",
          f"spool:{spool}", "--evaluations", 14, "--seconds", 0, "--seed", 5, "--set", "ask_share=1", "--sample-seconds", 0.02, "-q")
    author.stop()
    evaluations = {e["candidate"]: e for e in rows(campaign, "evaluations")}
    answers = [(c, evaluations[c["id"]]) for c in rows(campaign, "candidates") if c["ask"] and c["id"] in evaluations]
    refused = [(c, e) for c, e in answers if e["verdict"] == "bad_plan"]
    check(refused, f"an answer without a kernel is no bad_plan: {[e['verdict'] for _, e in answers]}")
    check(all(c["source"].startswith("/* cannot be used: ") for c, _ in refused), "a bad_plan without its complaint")
    check(any(e["verdict"] == "correct" for _, e in answers), f"no answer is correct: {[e['verdict'] for _, e in answers]}")
    told = [a for a in rows(campaign, "asks") if "The answer could not be used:" in a["prompt"]]
    check(told, "no prompt tells of a bad_plan")


def test_without_a_model():
    campaign = root / "alone"
    atoll("run", f"{source}/suites/starter", "--only", "matmul", "-o", campaign, "--backend", "null", "--evaluations", 20, "-q")
    check(rows(campaign, "asks") == [], "a run without a model asks one")
    check("no model wrote" in atoll("show", campaign, rows(campaign, "candidates")[0]["id"], "--prompt", status=66),
          "show --prompt of a tuned candidate")


def start(words):
    return subprocess.Popen([f"{build}/atoll", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        check(time.monotonic() < end, f"waited in vain for {what}")
        time.sleep(0.01)


def check_calls(author):
    """Every request after the first tells what was called and what that gave; tools are offered to the end."""
    for request, _ in author.said.values():
        messages = request["messages"]
        check([m["role"] for m in messages] == ["system", "user"] + 2 * ["assistant", "tool", "tool"],
              f"the turns of an ask: {[m['role'] for m in messages]}")
        check(messages[3]["tool_call_id"] == "one" and "for (" in messages[3]["content"], f"search_archive: {messages[3]}")
        check("fly" in messages[4]["content"] or "no tool" in messages[4]["content"], f"a tool that is not there: {messages[4]}")
        names = {t["function"]["name"] for t in request["tools"]}
        check({"compile", "check", "search_archive", "search_knowledge", "read_file"} <= names, f"tools: {names}")
        check(request["atoll"]["key"].endswith(".2"), f"the key of a third turn: {request['atoll']['key']}")


def test_kill():
    """Killed while requests are open; answered while nobody listens; found, and not asked again."""
    campaign, spool = root / "killed", root / "killed-spool"
    process = start(command(campaign, f"spool:{spool}"))
    wait_for(lambda: len(list(spool.glob("*/*.request"))) >= 3, "requests")
    kill_whole(process)
    before = {p.name: p.read_bytes() for p in spool.glob("*/*.request")}
    author = Author(spool, is_json=True, calls=2)
    author.answer_all()
    first = set(author.called)
    process = start(["resume", campaign, "-q"])
    wait_for(lambda: not any((spool / n[:2] / n).exists() for n in first), "the resumed run to take the answers")
    author.start()
    check(process.wait(PATIENCE_S) == 0, "the resumed run failed")
    author.stop()
    check(set(before) <= set(author.called), "a request of the killed run was lost")
    check_calls(author)
    check_dialogues(campaign, author.said)
    asks = rows(campaign, "asks")
    check(all(a["origin"] == "somebody" and a["tokens"] == 1100 for a in asks if a["status"] == "ok"),
          "model and tokens of JSON replies")
    report = replayed(campaign)
    check(report["prompts"] >= len(first) and report["attempts"] == 2, f"replay after a kill: {report}")
    check_told(campaign)


def test_end():
    """What is asked still when a campaign ends is withdrawn: no gateway shall pay for it."""
    campaign, spool = root / "ended", root / "ended-spool"
    words = command(campaign, f"spool:{spool}")
    words[words.index("--evaluations") + 1] = 0
    words[words.index("--seconds") + 1] = 2
    atoll(*words)
    check(rows(campaign, "asks"), "nothing was asked")
    check(not list(spool.glob("*/*.request")), "requests of a campaign that has ended")


def test_recording_as_model():
    """What a recording does not hold fails; the run says so and goes on with the tuner."""
    campaign = root / "missed"
    words = command(campaign, f"replay:{root}/recording.atl", "--only", "row_reduce")
    words[words.index("--evaluations") + 1] = 0  # until there is nothing left to try
    atoll(*words)
    asks = rows(campaign, "asks")
    statuses = {a["status"] for a in asks}
    check("failed" in statuses or "spent" in statuses, f"misses: {statuses}")
    check(all(t["done"] for t in rows(campaign, "tasks")), "a task is not done")
    check("is asked no more" in (campaign / "log").read_text(), "nothing is said of it in the log")


def test_usage():
    for words, remedy in [(["--model", "a"], "needs a gateway"), (["--gateway", f"spool:{root}/x"], "needs --model"),
                          (["--model", "painter=a", "--gateway", f"spool:{root}/x"], "no role is called 'painter'"),
                          (["--model", "a", "--role", "planner:effort=huge", "--gateway", f"spool:{root}/x"], "effort is"),
                          (["--role", "planner:effort=low"], "--role needs --model"),
                          (["--model", "a", "--gateway", "nowhere"], "--gateway"),
                          (["--model", "a", "--gateway", f"replay:{root}/none"], "none")]:
        said = subprocess.run([f"{build}/atoll", "run", f"{source}/suites/starter", "-o", f"{root}/never", *words],
                              capture_output=True, text=True, timeout=PATIENCE_S,
                              env={k: v for k, v in os.environ.items() if k != "ATOLL_GATEWAY"})
        check(said.returncode not in (0, 70) and remedy in said.stderr, f"{words}: {said.returncode} {said.stderr}")
        check(not (root / "never").exists(), f"{words}: a campaign was made")


if sys.argv[3:] == ["--measured"]:
    test_bad_plan()
    sys.exit()
answered = test_whole()
test_without_a_model()
test_kill()
test_end()
test_recording_as_model()
test_usage()
print(f"{answered} answers of a model, all in the archive as they were said")
