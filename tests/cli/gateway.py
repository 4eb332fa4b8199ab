#!/usr/bin/env python3
"""A gateway as people use it: configured wrongly and rightly, checked, asked by runs through every door, started late,
killed, interrupted, out of money, and answering from its store.  The provider behind it is tests/provider."""
import http.client
import atexit
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

build, source = map(os.path.abspath, sys.argv[1:3])
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-gateway-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
PATIENCE_S = 300
SECRET, TOKEN = "sk-not-to-be-seen", "token-of-this-test"
started = []


def check(condition, message):
    if not condition:
        sys.exit(message)


def environment(more=None):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ATOLL_") and "proxy" not in k.lower()}
    return {**kept, **(more or {})}


def start(words, cwd, log, **more):
    process = subprocess.Popen(words, cwd=cwd, stderr=open(log, "a"), env=environment(more.pop("env", None)), **more)
    started.append(process)
    return process


def atoll(*words, status=0, cwd=root, env=None):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S,
                            cwd=cwd, env=environment(env))
    check(result.returncode == status, f"atoll {' '.join(map(str, words))}: status {result.returncode}, not {status}\n"
          f"{result.stdout[-3000:]}\n{result.stderr[-3000:]}")
    check(SECRET not in result.stdout + result.stderr, "a key was printed")
    return result.stdout + result.stderr


def wait_for(condition, what, run=None):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        check(time.monotonic() < end, f"waited in vain for {what}")
        check(run is None or run.poll() is None, f"the run ended before {what}")
        time.sleep(0.01)


class Provider:
    def __init__(self):
        self.process = start([f"{build}/tests/bin/fault_provider"], root, root / "provider.log", stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def stats(self):
        return json.loads(request(self.url, "GET", "/__stats?sum")[1])

    def reset(self):
        request(self.url, "POST", "/__reset")

    def stop(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)


def request(url, method, path, body=None, token=None):
    link = http.client.HTTPConnection(*re.fullmatch(r"http://(.*):(\d+)", url).groups(), timeout=PATIENCE_S)
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    link.request(method, path, json.dumps(body) if body else None, headers)
    reply = link.getresponse()
    text = reply.read().decode()
    link.close()
    return reply.status, text


def private(path, text, mode=0o600):
    path.write_text(text + "\n")
    path.chmod(mode)


def folder(name, model="echo", limits="", mode="replay-then-live", **keys):
    """A folder of its own with gateway.yaml, prices, a key and a token."""
    where = root / name
    where.mkdir()
    private(where / "key", SECRET)
    private(where / "token", TOKEN)
    (where / "prices.yaml").write_text("version: 1\ndate: 2026-11-01\nsource: this test\n"
                                       "models:\n  - {name: dear, input: 1.0, output: 2.0}\n")
    values = {"prices": "prices.yaml", "budget": f"{{file: state/gateway.sqlite, mode: {mode}, limits: [{limits}]}}", "listen": None, "key": "key_file: key", "price": "price: dear, "}
    values.update(keys)
    lines = ["version: 1", "endpoints:", f"  - {{name: fault, provider: chat, url: '{provider.url}/v1', {values['key']}, "
             "key_over_http: true}", "models:", f"  - {{name: strong, endpoint: fault, model: {model}, {values['price']}"
             "max_output_tokens: 400}", "  - {name: other, endpoint: fault, model: ok, price: free}",
             "ensembles:", "  - {name: both, members: [{model: strong, weight: 3}, {model: other, weight: 1}]}"]
    lines += [f"{key}: {values[key]}" for key in ("prices", "budget", "listen") if values[key]]
    (where / "gateway.yaml").write_text("\n".join(lines) + "\n")
    return where


class Gateway:
    def __init__(self, where, *words):
        self.where, self.words, self.log = where, words, where / "gateway.log"
        self.start()

    def start(self):
        (self.where / "made/url").unlink(missing_ok=True)
        self.process = start([f"{build}/atoll", "gateway", "serve", "--url-file", "made/url", *map(str, self.words)],
                             self.where, self.log, stdout=subprocess.DEVNULL)
        if "--spool" not in self.words:
            wait_for(lambda: (self.where / "made/url").exists() or self.process.poll() is not None, "a gateway's URL")
            check(self.process.poll() is None, f"the gateway ended: {self.log.read_text()}")
            self.url = (self.where / "made/url").read_text().strip()

    def end(self, how=signal.SIGTERM, status=0):
        self.process.send_signal(how)
        check(self.process.wait(PATIENCE_S) == status, f"the gateway ended with {self.process.returncode}: "
              f"{self.log.read_text()}")
        check((self.where / "made/url").exists() == (status != 0 and "--spool" not in self.words), "the file of the URL")
        check(SECRET not in self.log.read_text() and TOKEN not in self.log.read_text(), "a key is in the log")


def is_pending(pid, number):
    """Whether a signal was sent to a process and not taken yet."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return any(int(mask, 16) >> (number - 1) & 1 for mask in re.findall(r"^(?:Shd|Sig)Pnd:\s*(\w+)$", status, re.M))


def run_words(campaign, gateway, *more, evaluations=400):
    return ["run", f"{source}/suites/starter", "--only", "matmul", "--only", "transpose", "-o", campaign, "--backend", "null",
            "--model", "strong", "--gateway", gateway, "--evaluations", evaluations, "--seconds", 0, "--seed", 5, "--set", "ask_share=1",
            "-q", *more]


def asks(campaign):
    return [json.loads(line) for line in atoll("export", campaign, "--jsonl", "asks").splitlines()]


def statuses(campaign):
    return {a["status"] for a in asks(campaign)}


def spend(where, is_over=False):
    """What a running gateway tells is at most a second old, and a little older on a busy machine; one that is over tells no more."""
    if not is_over:
        time.sleep(2.5)
    report = json.loads(atoll("gateway", "spend", "--json", cwd=where))
    return report, {(a["scope"], a["name"], a["task"]): a for a in report["accounts"]}


# ---- the command itself, and what goes wrong before anything starts ----

def test_family():
    text = atoll("gateway", status=2)
    check(all(f"gateway {w} " in text for w in ("serve", "check", "spend", "convert")), f"atoll gateway: {text}")
    check("gateway check" in atoll("gateway", "--help") and "task new" in atoll("task", "--help"), "--help of a family")
    check("did you mean 'gateway check'?" in atoll("gateway", "chek", status=2), "a wrong subcommand")
    check("atoll help gateway" in atoll("gateway", "frobnicate", status=2), "a subcommand like no other")
    for command in ("serve", "check", "spend"):
        check("gateway.yaml" in atoll("gateway", command, "--help"), f"gateway {command} --help")


def test_wrong_configurations():
    """Each with the file, the line where there is one, and the remedy."""
    def change(where, old, new):
        path = where / "gateway.yaml"
        text = path.read_text()
        check(old in text, f"{old} is not in {text}")
        path.write_text(text.replace(old, new))
        return where

    door = {"listen": "{address: '127.0.0.1:0'}"}
    key_open = folder("key-open", **door)
    (key_open / "key").chmod(0o644)
    cases = [(root, 66, ["gateway.yaml", "-c FILE", "jobscripts/gateway.yaml"]),
             (change(folder("wrong-key", **door), "provider: chat", "provder: chat"), 65, ["gateway.yaml:3:", "provder"]),
             (change(folder("key-inside", **door), "key_file: key", f"key: {SECRET}"), 65, ["gateway.yaml:3:", "key_file"]),
             (folder("key-variable", key="key_env: ATOLL_TEST_NO_SUCH_KEY", **door), 66, ["ATOLL_TEST_NO_SUCH_KEY", "fault"]),
             (folder("key-missing", key="key_file: nowhere", **door), 66, ["nowhere", "fault"]),
             (key_open, 77, ["chmod 600", "key"]),
             (folder("nobody"), 2, ["--spool DIR", "--listen ADDRESS"]),
             (folder("all-interfaces", listen="{address: '0.0.0.0:0'}"), 65, ["gateway.yaml:", "token"]),
             (folder("no-prices", prices=None, price="", limits="{scope: day, money: 1}", **door), 65, ["gateway.yaml:", "price"]),
             (folder("no-such-prices", prices="elsewhere.yaml", **door), 65, ["gateway.yaml:9:", "elsewhere.yaml", "knowledge/prices.yaml"])]
    for where, status, words in cases:
        text = atoll("gateway", "serve", cwd=where, status=status)
        check(all(w in text for w in words) and len(text.splitlines()) <= 2, f"{where.name}: {text}")
    check("107 bytes" in atoll(*run_words(root / "never", "unix:" + "x" * 110), status=2), "a run and a long path")
    check(not (root / "never").exists(), "a campaign was made")
    check("names no file" in atoll("gateway", "spend", cwd=folder("no-file", budget=None), status=65), "spend, no file")
    check("no gateway has spent" in atoll("gateway", "spend", cwd=root / "nobody", status=66), "spend, a new file")
    old = folder("old-keys", budget="{ledger: state/ledger}", **door)
    check("gateway convert" in atoll("gateway", "serve", cwd=old, status=65), "an old configuration")
    check("--file" in atoll("gateway", "serve", "--holder", "x", cwd=key_open, status=2), "--holder")


def test_check_of_a_configuration():
    where = folder("checked", listen="{address: '127.0.0.1:0'}")
    steps = json.loads(atoll("gateway", "check", "--json", cwd=where))
    found = {(s["step"], s["model"]): s["result"] for s in steps}
    check(found["call", "strong"] == "ok" and found["call", "other"] == "ok" and found["token", ""] == "ok", f"{steps}")
    check(all(s["subject"] == "fault" for s in steps) and "failed" not in found.values(), f"{steps}")
    seen = provider.stats()["requests"]
    text = atoll("gateway", "check", "--no-call", "-c", where / "gateway.yaml")
    check("0 steps failed" in text and provider.stats()["requests"] == seen + 1, f"--no-call: {text}")
    (where / "gateway.yaml").open("a").write("roles:\n  planner: {model: strong, temperature: 0.3}\n")
    text = atoll("gateway", "check", "--no-call", cwd=where)
    check("ok   role      strong: planner, temperature 0.3\n" in text, f"roles: {text}")
    (where / "gateway.yaml").open("a").write("  planer: {}\n")
    text = atoll("gateway", "check", cwd=where, status=65)
    check("gateway.yaml:14: unknown key 'planer'; did you mean 'planner'?" in text, f"a role misspelt: {text}")
    (where / "gateway.yaml").write_text((where / "gateway.yaml").read_text().replace("  planer: {}\n", ""))
    private(where / "key", "bad-key")
    check("refuses the key" in atoll("gateway", "check", cwd=where, status=1), "a wrong key")
    check("not both" in atoll("gateway", "check", "-c", "x", "-g", "unix:y", status=2), "-c and -g")
    check("goes with --gateway" in atoll("gateway", "check", "-m", "x", cwd=where, status=2), "-c and -m")
    check("spool:DIR" in atoll("gateway", "check", "-g", "localhost", status=2), "a gateway without a form")
    check("107 bytes" in atoll("gateway", "check", "-g", "unix:" + "x" * 110, status=2), "a long path of a socket")
    check(f"{root}/none" in atoll("gateway", "check", "-g", "spool:~/none", status=1, env={"HOME": str(root)}), "a tilde")
    check("mounted" in atoll("gateway", "check", "-g", "spool:nowhere", status=1), "a spool that is not there")
    check("No such file" in atoll("gateway", "check", "-g", "replay:nowhere", status=1), "a recording that is not there")


# ---- one gateway at work ----

def test_http_with_token():
    where = folder("http", listen="{address: '127.0.0.1:0', token_file: token}", limits="{scope: campaign, money: 1.0}")
    gateway = Gateway(where)
    campaign = root / "http-campaign"
    token = ["--gateway-token", where / "token"]
    text = atoll("gateway", "check", "-g", gateway.url + "/v1", "-m", "both", *token)
    check("ok   call      both:" in text and "both, strong, other" in text, f"check by URL: {text}")
    check("both, strong, other" in atoll("gateway", "check", "-g", gateway.url, "-m", "no", *token, status=1), "unknown model")
    check("name its token file" in atoll("gateway", "check", "-g", gateway.url, status=1), "check without a token")
    private(where / "wrong", "wrong-token")
    check("refuses the token" in atoll("gateway", "check", status=1, env={
        "ATOLL_GATEWAY": gateway.url, "ATOLL_GATEWAY_TOKEN_FILE": str(where / "wrong")}), "check with a wrong token")
    before = provider.stats()
    atoll(*run_words(campaign, gateway.url, *token))
    after = provider.stats()
    answered = [a for a in asks(campaign) if a["status"] == "ok"]
    check(len(answered) >= 3 and all(a["cost_usd"] > 0 for a in answered), f"{len(answered)} asks answered: {statuses(campaign)}")
    others = sum(a["status"] in ("open", "builtin") for a in asks(campaign))  # not over at the end, or of no use: who echoes finds nothing
    check(0 <= after["answered"] - before["answered"] - len(answered) <= others,
          f"{before} {after} {len(answered)}")
    check_spend_and_door(where, gateway, campaign, answered)
    test_two_at_once(where)
    test_wrong_token(where, gateway)
    gateway.end()
    check(spend(where, is_over=True)[0]["owner"]["state"] == "ended", "after its end")
    return len(answered)


def check_spend_and_door(where, gateway, campaign, answered):
    report, accounts = spend(where)
    mine = [a for (scope, name, _), a in accounts.items() if scope == "campaign" and name]
    check(len(mine) == 1 and mine[0]["tokens"]["spent"] >= sum(a["tokens"] for a in answered) > 0, f"tokens: {mine}")
    check(mine[0]["money_usd"]["limit"] == 1.0 and 0 < mine[0]["money_usd"]["left"] < 1.0, f"money: {mine}")
    check(report["owner"]["state"] == "running" and report["owner"]["pid"] == gateway.process.pid, f"{report['owner']}")
    text = atoll("gateway", "spend", cwd=where)
    check(mine[0]["name"][:12] in text and "matmul" in text and "the gateway is running" in text, f"spend: {text}")
    body = {"model": "strong", "messages": [{"role": "user", "content": "curl"}]}
    check(request(gateway.url, "POST", "/v1/chat/completions", body)[0] == 401, "no token")
    status, text = request(gateway.url, "POST", "/v1/chat/completions", body, TOKEN)
    check(status == 200 and json.loads(text)["choices"][0]["message"]["content"] == "curl", f"{status} {text}")
    check(request(gateway.url, "GET", "/healthz")[0] == 200, "healthz")
    check("atoll_" in request(gateway.url, "GET", "/metrics", token=TOKEN)[1], "metrics")


def test_two_at_once(where):
    """A file has one owner; a second gateway needs one of its own. Anybody gets a copy."""
    serve = ["gateway", "serve", "--listen", "unix:second"]
    text = atoll(*serve, cwd=where, status=75)
    check("is owned by another gateway: pid" in text and "a file of its own" in text, f"two of one file: {text}")
    second = start([f"{build}/atoll", *serve, "--file", "other.sqlite"], where, where / "second.log", stdout=subprocess.DEVNULL)
    wait_for((where / "second").exists, "the second gateway", second)
    for _ in range(2):
        atoll("gateway", "spend", "--copy", "copy.sqlite", cwd=where)
        link = sqlite3.connect(where / "copy.sqlite")
        check(link.execute("SELECT count(*) FROM exchanges WHERE is_final").fetchone()[0] >= 3, "the copy's exchanges")
        link.close()
        check("is there already" in atoll("gateway", "spend", "--copy", "copy.sqlite", cwd=where, status=73), "a second copy")
        (where / "copy.sqlite").unlink()
    check("--copy" in atoll("gateway", "check", "-g", f"replay:{where}/state/gateway.sqlite", status=1), "a file that is owned")
    second.terminate()
    check(second.wait(PATIENCE_S) == 0, (where / "second.log").read_text())


def test_wrong_token(where, gateway):
    """The run says what is wrong and goes on with the tuner."""
    campaign = root / "wrong-token"
    text = atoll(*run_words(campaign, gateway.url, "--gateway-token", where / "wrong", "--seconds", 10, evaluations=0))
    log = (campaign / "log").read_text()
    check("eval.ask.over" in log and "token" in log and "ok" not in statuses(campaign), f"wrong token: {log[-1500:]}")
    check(re.search(r"warning: the model 'strong' \(as \w+\) failed", text) and "the tuner goes on" in text, f"not said: {text}")


def test_unix_killed_and_restarted():
    where = folder("unix", model="echo-delay-300", listen="{address: 'unix:made/door'}")
    gateway = Gateway(where)
    campaign = root / "unix-campaign"
    check(gateway.url.startswith("unix:"), gateway.url)
    run = start([f"{build}/atoll", *map(str, run_words(campaign, gateway.url))], where, where / "run.log",
                stdout=subprocess.DEVNULL)
    wait_for(lambda: provider.stats()["requests"] >= 3, "requests", run)
    gateway.end(signal.SIGKILL, -9)
    killed, accounts = spend(where, is_over=True)
    check(killed["owner"]["state"] == "killed" and all(a["money_usd"]["reserved"] == 0 for a in accounts.values()), f"{killed}")
    check("nobody listens at the socket" in atoll("gateway", "check", "-g", gateway.url, cwd=where, status=1), "killed")
    gateway.start()
    check(run.wait(PATIENCE_S) == 0, f"the run failed: {(where / 'run.log').read_text()}")
    check("failed" not in statuses(campaign), f"asks: {statuses(campaign)}")
    check(spend(where)[0]["owner"]["state"] == "running", "restarted")
    gateway.end()


def test_spool_started_late():
    where = folder("spool")
    campaign, spool = root / "spool-campaign", where / "deep/spool"
    run = start([f"{build}/atoll", *map(str, run_words(campaign, "spool:deep/spool"))], where, where / "run.log",
                stdout=subprocess.DEVNULL)
    wait_for(lambda: len(list(spool.glob("*/*.request"))) >= 2, "requests in the spool", run)
    gateway = Gateway(where, "--spool", "deep/spool")
    check(run.wait(PATIENCE_S) == 0, f"the run failed: {(where / 'run.log').read_text()}")
    check("ok" in statuses(campaign) and "failed" not in statuses(campaign), f"asks: {statuses(campaign)}")
    check("answered" in atoll("gateway", "check", "-g", f"spool:{spool}", "-m", "strong"), "check through the spool")
    gateway.end()


def test_budget_ends_half_way():
    where = folder("budget", model="tokens-1000-500", listen="{address: '127.0.0.1:0'}",
                   limits="{scope: campaign, money: 0.1}")
    gateway = Gateway(where)
    campaign = root / "budget-campaign"
    text = atoll(*run_words(campaign, gateway.url, evaluations=900))
    found = [a["status"] for a in asks(campaign)]
    check("ok" in found and "task_spent" in found and "failed" not in found, f"asks: {found}")
    log = (campaign / "log").read_text()
    check("eval.ask.budget" in log and "the tuner goes on" in log, f"the log says nothing: {log[-1000:]}")
    check("warning:" in text and "the tuner goes on" in text, f"the run says nothing: {text}")
    evaluations = atoll("export", campaign, "--jsonl", "evaluations").splitlines()
    check(len(evaluations) >= 600, f"only {len(evaluations)} evaluations: the tuner did not go on")
    account = next(a for a in spend(where)[0]["accounts"] if a["scope"] == "campaign")["money_usd"]
    check(0 < account["spent"] <= account["limit"] and account["reserved"] == 0, f"{account}")
    gateway.end()


def test_record_then_replay():
    where = folder("store", listen="{address: '127.0.0.1:0'}", mode="record")
    body = {"model": "strong", "messages": [{"role": "user", "content": "kept"}]}
    gateway = Gateway(where)
    first = request(gateway.url, "POST", "/v1/chat/completions", body)
    gateway.end()
    path = where / "gateway.yaml"
    path.write_text(path.read_text().replace("mode: record", "mode: replay"))
    seen = provider.stats()["requests"]
    gateway.start()
    status, text = request(gateway.url, "POST", "/v1/chat/completions", body)
    said = json.loads(text)["choices"][0]["message"]["content"]
    check(first[0] == status == 200 and said == "kept", f"{first} {status} {text}")
    body["messages"][0]["content"] = "never asked"
    status, text = request(gateway.url, "POST", "/v1/chat/completions", body)
    check(status == 404 and json.loads(text)["atoll"]["status"] == "miss", f"{status} {text}")
    check(provider.stats()["requests"] == seen, "a gateway that replays asked somebody")
    gateway.end()
    check("1 exchange" in atoll("gateway", "check", "-g", f"replay:{where}/state/gateway.sqlite"), "check of a recording")


def test_second_interrupt():
    where = folder("interrupted", model="delay-30000", listen="{address: 'unix:door'}")
    gateway = Gateway(where, "--grace", "30")
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(str(where / "door"))
        body = json.dumps({"model": "strong", "messages": [{"role": "user", "content": "slow"}]})
        seen = provider.stats()["requests"]
        link.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        wait_for(lambda: provider.stats()["requests"] > seen, "the slow call")
        gateway.process.send_signal(signal.SIGINT)
        wait_for(lambda: not is_pending(gateway.process.pid, signal.SIGINT), "the first interrupt to be taken")  # or both are one
        time.sleep(0.3)
        check(gateway.process.poll() is None, "the first interrupt did not wait for the call")
        gateway.end(signal.SIGINT, 130)
    check(spend(where, is_over=True)[0]["unknown_calls"] in (0, 1), "spend after an interrupt")


def test_ipv6_and_free():
    """On ::1, with neither prices nor a file: nothing costs anything, nothing is counted."""
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
    except OSError as e:
        print(f"not on ::1: this machine has none ({e})")
        return
    where = folder("ipv6", listen="{address: '[::1]:0'}", prices=None, price="", budget=None)
    gateway = Gateway(where)
    check(gateway.url.startswith("http://[::1]:"), gateway.url)
    check("answered" in atoll("gateway", "check", "-g", gateway.url, "-m", "strong", env={"http_proxy": "http://127.0.0.1:9"}),
          "check on ::1")
    gateway.end()


def test_doctor():
    text = atoll("doctor", "--json", env={"ATOLL_GATEWAY": f"unix:{root}/nowhere"})
    found = json.loads(text)["gateway"]
    check(not found["ok"] and not found["needed"] and "nobody listens" in found["text"], f"{found}")


provider = Provider()
try:
    test_family()
    test_wrong_configurations()
    test_check_of_a_configuration()
    answered = test_http_with_token()
    provider.reset()
    test_unix_killed_and_restarted()
    test_spool_started_late()
    test_budget_ends_half_way()
    test_record_then_replay()
    test_second_interrupt()
    test_ipv6_and_free()
    test_doctor()
    provider.stop()
finally:
    for process in started:
        if process.poll() is None:
            process.kill()
print(f"{answered} asks answered over HTTP; socket, spool, budget, store and interrupts as said")
