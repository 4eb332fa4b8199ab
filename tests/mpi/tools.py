#!/usr/bin/env python3
"""tools.py CAMPAIGN SPOOL OUT: the model of a run that calls tools: it answers the requests of a spool until OUT/done is there.
The first ask of a writer compiles, checks, searches and reads, and looks at what came back.  While the second one checks, its evaluator
is killed.  What was seen is in OUT/seen.json; a complaint is in OUT/complaint."""
import json
import os
import pathlib
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from spool import Requests  # noqa: E402

campaign, spool, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
seen = {"looked": 0, "lost": 0, "killed": 0, "answered": 0, "from_ns": 0, "to_ns": 0}
roles = {}  # of the asks of writers: what they are here for
said = set()


def complain(text):
    (out / "complaint").write_text(text)
    sys.exit(1)


def words_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def evaluators():
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        words = words_of(entry.name)
        if not words[:1] or not words[0].endswith(b"atoll-eval") or b"--evaluator" not in words:
            continue
        try:
            parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if campaign.encode() in words_of(parent):
            found.append(int(entry.name))
    return found


def parent_of(request):
    match = re.search(r"^# Parent kernel\n(.*?)^(`{3,})c\n(.*?)^\2$", request["messages"][1]["content"], re.S | re.M)
    return match.group(3) if match else complain("a prompt of a writer without a parent")


def calls_of(*calls):
    return json.dumps({"choices": [{"message": {"content": "Let me look.", "tool_calls": [
        {"id": f"call_{i}", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for i, (name, arguments) in enumerate(calls)]}}]})


def looks(parent):
    broken = parent.rstrip("\n") + "\nint broken = no_such_thing;\n"
    return [("compile", {"source": parent}), ("compile", {"source": broken}), ("check", {"source": parent}),
            ("check", {"source": broken}), ("search_archive", {"pattern": "atoll-plan"}),
            ("read_file", {"name": "../README.md"}), ("search_knowledge", {"words": "memory"})]


EXPECTED = [("it compiles", False), ("no_such_thing", False), ("it is right at all check variants", False),
            ("it is refused: compile_error", False), ("task ", False), ("there is no text", True), ("", False)]


def results_of(request):
    return [m for m in request["messages"] if m["role"] == "tool"]


def look_at(results):
    if len(results) != len(EXPECTED):
        complain(f"{len(results)} results instead of {len(EXPECTED)}")
    for result, (text, is_error) in zip(results, EXPECTED):
        if text not in result["content"] or bool(result.get("is_error")) != is_error:
            complain(f"'{text}' should be in a result: {result}")
    seen["looked"] += 1
    seen["to_ns"] = time.time_ns()


def write(path, body):
    reply = path.with_suffix(".reply")
    beside = reply.with_name("." + reply.name + ".part")
    beside.write_text(body)
    os.rename(beside, reply)


def kill_while_it_checks(path, parent, patience_s):
    """The evaluator stands still, is sent the call, and never answers: nothing else shows that it was sent than that time has
    passed, so a try that was too short is made again."""
    there = evaluators()
    if not there:
        complain("no evaluator is there")
    for pid in there:
        os.kill(pid, signal.SIGSTOP)
    write(path, calls_of(("check", {"source": parent})))
    time.sleep(patience_s)
    for pid in there:
        os.kill(pid, signal.SIGKILL)
    seen["killed"] += 1


def answer(path, request):
    if request["atoll"]["purpose"] != "writer":
        write(path, "[]")
        return
    ask = ".".join(request["atoll"]["key"].split(".")[:2])
    role = roles.setdefault(ask, ("looks", "loses")[len(roles)] if len(roles) < 2 else "writes")
    parent, results = parent_of(request), results_of(request)
    if role == "looks" and not results:
        seen["from_ns"] = time.time_ns()
        write(path, calls_of(*looks(parent)))
        return
    if role == "loses" and not seen["looked"]:
        said.discard(path.name)  # later: it would take the other's calls with it
        return
    if role == "loses" and not any("was lost" in r["content"] for r in results) and len(results) < 4:
        kill_while_it_checks(path, parent, 1.5 * (1 + len(results)))
        return
    if role == "looks":
        look_at(results)
    if role == "loses":
        if "was lost" not in results[-1]["content"] or not results[-1].get("is_error"):
            complain(f"a killed evaluator's call should be an error: {results}")
        seen["lost"] += 1
    seen["answered"] += 1
    write(path, f"```c\n{parent.rstrip()}\n/* answer {seen['answered']} */\n```\n")


requests = Requests(spool)
while not (out / "done").exists():
    for path in requests.paths():
        try:
            request = json.loads(path.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            continue
        if path.name not in said and not path.with_suffix(".reply").exists():
            said.add(path.name)
            answer(path, request)
            (out / "seen.json").write_text(json.dumps(seen))
    requests.wait(0.05)
