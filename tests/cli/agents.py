#!/usr/bin/env python3
"""Every strategy with a model behind a spool that plays all roles: each asks every kind that is its own, a run that is killed at
the first question of each kind, and at the first that follows calls, asks nothing twice, answers that are none change nothing but
texts, and a replay words and reads all of them again.  The model is a script that sees the prompts alone and answers with JSON and
kernels, now and then with nonsense, now and then with calls.  Every kernel says a time below its parent's (null-time), so that
there is something to sum up and to distil whenever two follow each other.

    agents.py BUILD SOURCE
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
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-agents-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
PATIENCE_S = 400
os.environ.update(ATOLL_QUEUE=str(root / "queue"), XDG_STATE_HOME=str(root / "state"))  # of the campaign that is submitted
os.environ.pop("ATOLL_SITE", None)
STRATEGIES = {  # settings, and the kinds of asks that a model has to answer; it is killed at each
    "islands": (["islands=2", "prompt_interval=1", "generation_size=4", "judge=all"],
                {"write/universal", "write/template", "summarise/plan", "distil/plan", "meta/plan", "judge/plan", "analyse/plan"}),
    "beam": (["beam_width=2", "beam_plans=2", "beam_attempts=2", "beam_iterations=6"],
             {"plan/plan", "write/execute", "write/template", "summarise/plan", "distil/plan", "analyse/plan"}),
    "staged": (["stage_rounds=2", "staged_runs=2", "islands=2", "generation_size=1"],
               {"analyse/staged", "order/staged", "write/staged", "write/extract", "write/template", "distil/plan"}),
    "two languages": (["generation_size=4", "triton=beside"], {"write/universal", "write/translate", "write/template"}),
}
ROLES = {"write/universal": "writer", "write/template": "templater", "summarise/plan": "summarizer", "plan/plan": "planner",
         "write/execute": "executor", "analyse/staged": "analyser", "analyse/plan": "analyser", "order/staged": "orderer", "write/staged": "refiner",
         "write/extract": "extractor", "distil/plan": "distiller", "meta/plan": "prompter",
         "write/initialise": "drafter", "judge/plan": "judge", "write/translate": "writer"}


def check(condition, message):
    if not condition:
        sys.exit(message)


def atoll(*words):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S)
    check(result.returncode == 0, f"atoll {' '.join(map(str, words))}: status {result.returncode}\n{result.stderr[-2000:]}")
    return result.stdout


def rows(where, table):
    return [json.loads(line) for line in atoll("export", where, "--jsonl", table).splitlines()]


def fenced(value):
    return f"Here it is.\n\n```json\n{json.dumps(value)}\n```\n"


def timed(text, language, may_fail):
    """The same kernel, which says that it takes a tenth less, or for the first time how long it takes.  may_fail: of times around 2.6 ms
    a tenth more, so that rounds end without a gain."""
    def said(match):
        before = int(match.group(1))
        return f"null-time {before * 11 // 10 if may_fail and 2500000 < before < 2800000 else max(600000, before * 9 // 10)}"
    return re.sub(r"null-time (\d+)", said, text) if "null-time" in text else text + COMMENTS[language] % SLOW


def kernel(prompt, mark, may_fail=False):
    """The first kernel of the prompt that has a plan, with a mark that makes it another text; to be translated, one in Triton."""
    for fence in re.finditer(r"^(`{3,})(c|cuda|triton)\n(.*?)^\1$", prompt, re.S | re.M):
        _, language, text = fence.groups()
        if "atoll-plan" not in text:
            continue
        if is_translated(prompt):
            said = re.search(r"null-time \d+", text)
            language, text = "triton", TRITON + COMMENTS["triton"] % (said.group() if said else SLOW)
        return f"Try this.\n\n```{language}\n{timed(text, language, may_fail)}{COMMENTS[language] % mark}```\n"
    return "There is no kernel to begin with."


def is_translated(prompt):
    return "# The kernel to translate" in prompt


TRITON = """# atoll-plan {"version": 1, "launch": [{"kernel": "copy", "grid": ["cdiv(N, 256)"], "args": ["x", "y", "i32:N"]}]}
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n):
    at = tl.program_id(0) * 256 + tl.arange(0, 256)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)
"""
COMMENTS = {"c": "/* %s */\n", "cuda": "/* %s */\n", "triton": "# %s\n"}
SLOW = "null-time 2900000"


ANSWERS = {
    "refiner": lambda prompt, mark: kernel(prompt, mark, may_fail=True),
    "planner": lambda prompt, mark: fenced({"plans": [{"title": f"Unroll {mark}", "step": f"Unroll the inner loop by four ({mark}).",
                                                      "why": "few instructions are under way", "gain": [1.1, 1.3]}]}),
    "analyser": lambda prompt, mark: fenced({
        "issues": [{"type": "missing_prefetch", "severity": 4, "description": f"Loads wait ({mark}).", "fix": "Prefetch."},
                   {"type": "redundant_work", "severity": 2, "description": "Sums twice.", "fix": "Sum once."}],
        "proposals": [{"title": "Sum rows once", "change": "hoist", "valid": "linear", "before": "a", "after": "b"}]}),
    "orderer": lambda prompt, mark: fenced({"order": ["memory", "algorithm", "discovery"]}),
    "summarizer": lambda prompt, mark: fenced({"rewrite": {"title": f"Keep it in registers ({mark})", "text": "Do.",
                                                           "before": "a", "after": "b"}}),
    "distiller": lambda prompt, mark: fenced({"hints": [{"trigger": "unknown", "advice": f"Keep rows in registers ({mark}).",
                                                        "context": "rows that fit"}]}),
    "prompter": lambda prompt, mark: fenced({"edits": [{"region": "pitfalls", "search": "", "replace": f"- Rows that are odd ({mark}).",
                                                       "why": "two of them broke"},
                                                      {"region": "rules", "search": "a", "replace": "b"}]}),
    "judge": lambda prompt, mark: fenced({"judgement": {"likelihood": 0.1, "reason": f"It computes what the reference does ({mark})."}}),
}
CALL = {"role": "assistant", "content": "Let me look.", "tool_calls": [
    {"id": "one", "type": "function", "function": {"name": "search_knowledge", "arguments": '{"words": "registers"}'}}]}


class Model(threading.Thread):
    def __init__(self, spool, missing=(), kinds=()):
        """missing: roles whose model is not there.  kinds: at the first question of each nothing is answered until go_on()."""
        super().__init__(daemon=True)
        self.spool, self.requests, self.bodies, self.count, self.stopping, self.trouble = spool, Requests(spool), {}, 0, False, None
        self.missing, self.missed, self.left, self.waits_at = missing, 0, set(kinds), None
        self.has_called, self.answered = False, set()  # roles that said something of use
        self.held = None  # the request it waits at: the first to be answered when it goes on

    def go_on(self):
        self.left.discard(self.waits_at)
        self.waits_at = None

    @staticmethod
    def kind_of(request):
        if len(request["messages"]) > 2:
            return "turn"
        return "translate" if is_translated(request["messages"][1]["content"]) else request["atoll"]["purpose"]

    def answer(self, request):
        self.count += 1
        role, prompt = request["atoll"]["purpose"], request["messages"][1]["content"]
        if (self.count % 7 == 3 or not self.has_called) and len(request["messages"]) == 2 and request.get("tools"):
            self.has_called = True
            return CALL, "tool_calls"
        text = ANSWERS.get(role, kernel)(prompt, f"answer {self.count}")
        is_first = role not in self.answered
        self.answered.add(role)
        if self.count % 11 == 5 and not is_first:
            text = "```json\n{\"plans\": [[[" + "[" * 2000 + f"\n{SLOW}\n" + text[:40]
        return {"role": "assistant", "content": text}, "stop"

    def answer_all(self):
        for path in sorted(self.requests.paths(), key=lambda path: (path != self.held, path)):
            reply = path.with_suffix(".reply")
            try:
                request = json.loads(path.read_text()) if not reply.exists() else None
            except (FileNotFoundError, json.JSONDecodeError):
                continue
            if not request:
                continue
            key, asked = request["atoll"]["key"], json.dumps([request["messages"], request.get("tools")])
            if self.bodies.setdefault(key, asked) != asked:
                self.trouble = f"{key} was asked again, in other words"
            if self.kind_of(request) in self.left:
                self.waits_at, self.held = self.kind_of(request), path
                return
            if request["atoll"]["purpose"] in self.missing:
                self.missed += 1
                self.write(reply, {"error": {"message": "no such model", "code": 404},
                                   "atoll": {"status": "notfound", "detail": "no such model"}})
                continue
            message, reason = self.answer(request)
            self.write(reply, {"object": "chat.completion", "model": "player", "choices": [
                {"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 100}})

    @staticmethod
    def write(reply, body):
        beside = reply.with_name("." + reply.name + ".part")
        beside.write_text(json.dumps(body))
        os.rename(beside, reply)

    def run(self):
        while not self.stopping:
            if not self.waits_at:
                self.answer_all()
            self.requests.wait(0.05)

    def stop(self):
        self.stopping = True
        self.join()


def start(words, program="atoll"):
    return subprocess.Popen([f"{build}/{program}", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        check(time.monotonic() < end, f"waited in vain for {what}")
        time.sleep(0.01)


def suite():
    """A task whose only seed is no template: where nobody is asked nothing happens, so the model sets the pace."""
    task = root / "suite" / "stencil5"
    shutil.copytree(f"{source}/suites/starter/stencil5", task)
    for seed in (task / "seeds").iterdir():
        if seed.name.startswith("naive."):
            seed.write_text(seed.read_text() + COMMENTS["c"] % SLOW)
        else:
            seed.unlink()
    return task.parent


def command(campaign, model, strategy, settings, who="*=player", evaluations=40):
    words = ["run", root / "suite", "-o", campaign, "--backend", "null", "--model", who, "--gateway", f"spool:{model.spool}",
             "--evaluations", evaluations, "--seconds", 0, "--seed", 5, "--strategy", strategy, "-q"]
    for setting in ["ask_share=1", "tools=2", "template_rounds=1", "template_count=2", *settings]:
        words += ["--set", setting]
    return words


def attempts(campaign):
    """Those that have begun: whose journal has its header."""
    return sum(1 for path in campaign.glob("jobs/*/journal.atl") if path.stat().st_size > 128)


def last_words(campaign):
    log = campaign / "log"  # runs of atoll-eval alone have none
    return log.read_text(errors="replace")[-1000:] if log.exists() else "it has no log"


def run(strategy, settings, wanted):
    """Killed at the first question of each kind, whose answer comes before it goes on or behind that; returns what the model saw."""
    kinds = {"translate" if kind == "write/translate" else ROLES[kind] for kind in wanted} | {"turn"}
    campaign, model = root / strategy, Model(root / f"{strategy}-spool", kinds=kinds)
    words = command(campaign, model, strategy, settings, evaluations=60 if strategy == "beam" else 40)  # until a best has two ancestors
    resumed = ["resume", campaign, "-q"], "atoll"
    if strategy == "two languages":  # which no processor has, and here is no GPU
        words = command(campaign, model, "islands", settings, evaluations=20)
        words[words.index("null")] = "cuda"
        atoll(*words, "--create-only")
        resumed = [campaign, "--null-backend"], "atoll-eval"
    process = start(*(resumed if strategy == "two languages" else (words, "atoll")))
    model.start()
    for kills in range(len(kinds)):
        wait_for(lambda: model.waits_at or process.poll() is not None, f"{sorted(model.left)}")
        check(process.poll() is None, f"{strategy}: it ended after {model.count} questions, without {sorted(model.left)}")
        kill_whole(process)
        answered, begun = model.count, attempts(campaign)
        if kills % 2:
            model.go_on()
            wait_for(lambda: model.count > answered, "an answer to nobody")
        process = start(*resumed)
        wait_for(lambda: attempts(campaign) > begun or process.poll() is not None, "another attempt")  # the last one's questions may lie there
        check(attempts(campaign) > begun, f"{strategy}: resumed, it ended with status {process.poll()}, without an attempt: {last_words(campaign)}")
        if not kills % 2:
            model.go_on()
    try:
        check(process.wait(PATIENCE_S) == 0, f"{strategy}: the resumed run failed")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        sys.exit(f"{strategy}: the resumed run does not end; {model.count} questions")
    model.stop()
    if strategy == "two languages":
        atoll("report", campaign, "-o", campaign / "report.html")
    check(not model.trouble, f"{strategy}: {model.trouble}")
    check(model.count == len(model.bodies), f"{strategy}: {model.count} answers to {len(model.bodies)} questions")
    return campaign, model, len(kinds)


def check_told(strategy, asks):
    """What one said is in the prompts of those who go on with it."""
    told = {"write/execute": "Unroll answer", "write/staged": "Loads wait", "order/staged": "Loads wait", "summarise/plan": "",
            "write/universal": "Keep it in registers", "plan/plan": "Keep it in registers"}
    for kind, words in told.items():
        prompts = [a["prompt"] for a in asks if f"{a['kind']}/{a['operator']}" == kind and a["prompt"]]
        check(not prompts or any(words in p for p in prompts), f"{strategy}: no prompt for {kind} tells '{words}'")
    for kind in ("write/universal", "plan/plan", "write/execute"):  # and what an analyser found in their parent
        prompts = [a["prompt"] for a in asks if f"{a['kind']}/{a['operator']}" == kind and a["prompt"]]
        check(strategy not in ("islands", "beam") or not prompts or any("What was found in the parent" in p and "Loads wait" in p for p in prompts),
              f"{strategy}: no prompt for {kind} tells what was found")
    promised = {"plan/plan": "2 answer the same question", "write/staged": "attempt 1 of 2"}  # settings that prompts speak of
    for kind, words in promised.items():
        prompts = [a["prompt"] for a in asks if f"{a['kind']}/{a['operator']}" == kind and a["prompt"]]
        check(not prompts or any(words in p for p in prompts), f"{strategy}: no prompt for {kind} says '{words}'")
    for ask in asks:
        left = strategy == "beam" and ask["operator"] != "template"
        has_params = "tuner tries the legal combinations" in ask["system"], "only the first combination is measured" in ask["system"]
        if ask["system"]:  # who neither writes, plans nor analyses is told nothing of them
            told = (not left, left) if ask["kind"] in ("write", "plan", "analyse") else (False, False)
            check(has_params == told, f"{strategy}: what the {ask['role']} is told of params: {has_params}")


def check_archive(strategy, campaign, asks):
    """Role, who was asked, sections, items and calls of every ask; and what each improvement cost."""
    sections, items, calls = {}, {}, {}
    for found, table in (sections, "sections"), (items, "items"), (calls, "tool_calls"):
        for row in rows(campaign, table):
            found.setdefault(row["ask"], []).append(row)
    for ask in asks:
        kind = f"{ask['kind']}/{ask['operator']}"
        check(ask["role"] == ROLES[kind], f"{strategy}: {kind} is asked of the {ask['role']}")
        check(ask["items"] == len(items.get(ask["number"], [])) and ask["tool_calls"] == len(calls.get(ask["number"], [])),
              f"{strategy}: items and calls of ask {ask['number']}")
        if ask["prompt"]:
            check(ask["asked"] == "player", f"{strategy}: asked was {ask['asked']}")
            told = sum(s["bytes"] for s in sections[ask["number"]])
            check(told == len(ask["prompt"].encode()), f"{strategy}: {told} bytes of sections")
    check(any(a["tool_tokens"] == 1100 * len(calls[a["number"]]) for a in asks if a["tool_calls"]), f"{strategy}: tokens of turns")
    task = rows(campaign, "tasks")[0]
    gain = 1
    for ask in asks:
        check((ask["improvements"] > 0) == (ask["gain"] > 1), f"{strategy}: improvements of ask {ask['number']}")
        gain *= ask["gain"] or 1
    check(gain * task["best_ns"] / task["baseline_ns"] > 1 - 1e-6, f"{strategy}: asks gained {gain} together, not all")
    sums = json.loads(atoll("best", campaign, "--json", "--sums"))["sums"]["asks"]
    check(sum(r["improvements"] for r in sums["roles"]) == sum(a["improvements"] for a in asks), f"{strategy}: sums {sums}")
    systems = [s for s in sums["sections"] if s["section"].startswith("system")]
    check(sum(s["bytes"] for s in sums["sections"] if s not in systems) == sum(len(a["prompt"].encode()) for a in asks),
          f"{strategy}: sections {sums}")
    for role in {a["role"] for a in asks if a["prompt"]}:
        texts = [a["system"] for a in asks if a["role"] == role]
        own = {s["section"]: s for s in systems if s["role"] == role}
        check(sum(s["bytes"] for s in own.values()) == sum(len(t.encode()) for t in texts), f"{strategy}: system texts of the {role}: {own}")
        parts = sum(s["prompts"] for name, s in own.items() if name.startswith("system: Your part"))
        check(len(own) >= (6 if role == "writer" else 2) and parts == sum(1 for t in texts if t), f"{strategy}: parts of the {role}: {own}")
    check(all(s["tokens_estimated"] == s["bytes"] // 3 for s in sums["sections"]), f"{strategy}: tokens of sections {sums}")
    by_role = {}
    for ask in asks:
        by_role[ask["role"]] = by_role.get(ask["role"], 0) + len(ask["prompt"].encode())
    for role in sums["roles"]:
        told = sum(s["bytes"] for s in sums["sections"] if s["role"] == role["role"] and s not in systems)
        check(told == by_role[role["role"]], f"{strategy}: {told} bytes of the {role['role']}")
    check("Asks of models" in (campaign / "report.html").read_text(), f"{strategy}: the report tells nothing of asks")
    tries = sums["all"]["first_tries"]
    check(tries and 0 < tries["correct"] <= tries["tries"] and tries["interval"][0] <= tries["share"] <= tries["interval"][1]
          and sum(r["first_tries"]["tries"] for r in sums["roles"] if r["first_tries"]) == tries["tries"], f"{strategy}: tries {tries}")
    check(json.loads(atoll("show", campaign, "--json"))["first_tries"] == tries, f"{strategy}: show --json tells other first tries")
    check(f"first tries   {tries['correct']} of {tries['tries']} kernels" in atoll("show", campaign), f"{strategy}: show")
    check(f"<td>{tries['correct']} of {tries['tries']}</td>" in (campaign / "report.html").read_text(), f"{strategy}: report's tries")
    number = next(a["number"] for a in asks if a["items"])
    shown = json.loads(atoll("show", campaign, f"ask:{number}", "--json"))
    check(shown["items"] and shown["sections"] and shown["asked"] == "player", f"{strategy}: show ask:{number}: {shown}")
    check(shown["items"][0]["title"] in atoll("show", campaign, f"ask:{number}"), f"{strategy}: show ask:{number}")
    for ask in asks:  # what an analyser found is shown with its kernel
        if ask["kind"] != "analyse" or ask["status"] != "ok" or ask["number"] != max(
                a["number"] for a in asks if a["kind"] == "analyse" and a["status"] == "ok" and a["parent"] == ask["parent"]):
            continue
        analysis = json.loads(atoll("show", campaign, ask["parent"], "--json"))["analysis"]
        check(analysis["ask"] == ask["number"] and analysis["items"][0]["text"] == items[ask["number"]][0]["text"],
              f"{strategy}: show of the kernel that ask {ask['number']} is about: {analysis}")
        check(f"(ask:{ask['number']} tells the whole)" in atoll("show", campaign, ask["parent"]), f"{strategy}: show of {ask['parent']}")
        break
    whole = rows(campaign, "campaign")[0]["tokens"]
    check(whole == sum(a["tokens"] + a["tool_tokens"] for a in asks), f"{strategy}: {whole} tokens")


def check_asks(strategy, campaign, wanted, kills):
    asks = rows(campaign, "asks")
    answered = {f"{a['kind']}/{a['operator']}" for a in asks if a["status"] == "ok" and a["answer"]}
    check(wanted <= answered, f"{strategy}: only {sorted(answered)} were answered, of {sorted(wanted)}")
    check(len({a["number"] for a in asks}) == len(asks), f"{strategy}: an ask is there twice")
    recording = root / f"{strategy}.atl"
    turns = len({(c["ask"], c["turn"]) for c in rows(campaign, "tool_calls")})
    kept = json.loads(atoll("replay", campaign, "--json", "--record", recording))["kept"]
    report = json.loads(atoll("replay", campaign, "--json", "--gateway", f"replay:{recording}"))
    ok = sum(1 for a in asks if a["status"] == "ok" and a["answer"])
    check(report["attempts"] == 1 + kills and report["other_prompts"] == 0 and report["answers"] == ok,
          f"{strategy}: replay: {report}, {ok} answers")
    check(report["recorded"] == ok and kept == ok + turns, f"{strategy}: the recording: {report}, {kept} kept, {turns} turns")
    check_told(strategy, asks)
    check_archive(strategy, campaign, asks)
    return asks


def start_with_missing_models():
    """It waits a while after each failure: the others run beside it."""
    campaign, model = root / "missing", Model(root / "missing-spool", ("analyser", "orderer", "templater"))
    model.start()
    return start(command(campaign, model, "staged", STRATEGIES["staged"][0], "analyser=gone,orderer=gone,templater=gone,*=player", 30)), model


def start_sweep():
    """Two parts behind each other, of which the second begins with what the first learned; beside the others, too."""
    second, model = root / "two" / "second", Model(root / "sweep-spool")
    shutil.copytree(root / "suite" / "stencil5", root / "two" / "stencil5")
    shutil.copytree(root / "two" / "stencil5", second)
    text = (second / "task.yaml").read_text()
    (second / "task.yaml").write_text(re.sub(r"^name: *stencil5", "name: second", text, flags=re.M))
    model.start()
    words = command(root / "sweep", model, "islands", STRATEGIES["islands"][0], evaluations=80)
    words[:2] = ["submit", root / "two"]
    atoll(*(word for word in words if word != "-q"), "--site", "local", "--time", "10m", "--tasks-per-part", 1)
    return model


def test_sweep(model):
    wait_for(lambda: (root / "sweep/done.json").exists(), "both parts")
    model.stop()
    parts = sorted((root / "sweep/parts").iterdir(), key=lambda part: (part / "learned.yaml").exists())
    given = [part / "learned.yaml" for part in parts]
    check(len(parts) == 2 and not given[0].exists() and given[1].exists(), f"one of both is given something: {given}")
    first = {row["id"] for row in rows(parts[0], "hints") if row["uses"] or row["origin"] == "distilled"}
    began = {row["id"] for row in rows(parts[1], "hints")}
    check(first and first <= began, f"{len(first)} hints were learned, of which the other part has {len(first & began)}")
    for part in parts:
        report = json.loads(atoll("replay", part, "--json"))
        check(report["other_prompts"] == 0 and report["prompts"] > 10, f"replay of {part.name}: {report}")


def test_missing_models(process, model):
    """Whose model is not there is asked no more, and the built-in operator answers in its place; the others go on."""
    check(process.wait(PATIENCE_S) == 0, "without an analyser: the run failed")
    model.stop()
    asks = rows(root / "missing", "asks")
    stages = [a for a in asks if a["role"] in ("analyser", "orderer")]
    check(stages and all(a["status"] == "builtin" for a in stages), f"without an analyser: {[a['status'] for a in stages]}")
    check(any(a["role"] == "refiner" and a["status"] == "ok" for a in asks), "nobody refines")
    templates = [a["status"] for a in asks if a["role"] == "templater"]
    check(templates and set(templates) == {"failed"}, f"without templates: {templates}")
    check(0 < model.missed <= 5, f"a model that is not there was asked {model.missed} times")
    check(any(a["asked"] == "gone" and "no such model" in a["detail"] for a in stages), "the archive does not say why")


suite()
missing = start_with_missing_models()
sweep = start_sweep()
for strategy, (settings, wanted) in STRATEGIES.items():
    campaign, model, kills = run(strategy, settings, wanted)
    asks = check_asks(strategy, campaign, wanted, kills)
    print(f"{strategy}: {len(asks)} asks, {model.count} questions, {kills} times killed")
test_missing_models(*missing)
test_sweep(sweep)
