#!/usr/bin/env python3
"""A run with a model behind a gateway, whose keys and token are random: nobody but the gateway holds a key.

gateway_secrets.py BUILD SOURCE [--plant environment|command|file]

During the run the memory (/proc/PID/mem), the environment and the command line of every process of the job are read again and again;
after it every file of the campaign and of the gateway, and the logs, and the gateway's metrics.  A key's halves are looked for
one by one, so that one that was wiped in part is found, too.  A key is nowhere but in the gateway's memory, where it must be
found, or the scanner does not work; the token is there and in rank 0, and in the command only as long as it asks the gateway what
it offers, before it has any process.  The gateway sleeps until that was seen, so that it does not depend on the load.  --plant puts a
key where none belongs: the scan must say so.
"""
import argparse
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
from eval_scene import tree
from gateway_scene import Config, Gateway, Provider, connect

RANK_0 = "atoll-eval"
ASKING = "the command that asks the gateway"
ASKED_S = 1.5  # so long the gateway sleeps at most: it would not be waited for much longer
NO_BASELINE = 65  # others use the machine: nothing could be timed, which is no matter here
PIECE = 8 << 20
SCANNED_MIB = 512  # of one process; what is larger is read up to there


class Secret:
    def __init__(self, name):
        random = secrets.token_hex(32)
        self.name, self.text = name, f"{name}-{random}"
        self.needles = [random[:24].encode(), random[-24:].encode()]


def pieces_of(maps, memory):
    """Everything that can be read, in pieces that overlap a little."""
    budget = SCANNED_MIB << 20
    with maps, memory:
        for line in maps:
            span, rights = line.split()[:2]
            if rights[0] != "r" or line.rstrip().endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            start, end = (int(x, 16) for x in span.split("-"))
            while start < end and budget > 0:
                try:
                    memory.seek(start)
                    data = memory.read(min(PIECE, end - start))
                except (OSError, ValueError):
                    break
                if not data:
                    break
                yield data
                budget -= len(data)
                start += len(data) if start + len(data) >= end else max(len(data) - 64, 1)


def scan(pid, wanted):
    """(name, {(secret, place)}) of what one process holds; None: it is gone, or became another program meanwhile.

    A child of fork() has its parent's name until execve(); what was opened is the memory of the name that stands before and after.
    """
    found, name = set(), name_of(pid)
    try:
        places = [(place, [pathlib.Path(f"/proc/{pid}/{place}").read_bytes()]) for place in ("environ", "cmdline")]
        places.append(("memory", pieces_of(open(f"/proc/{pid}/maps"), open(f"/proc/{pid}/mem", "rb", 0))))
        if name_of(pid) != name:
            return None
        for place, pieces in places:
            for data in pieces:
                found |= {(secret.name, place) for secret in wanted for needle in secret.needles if needle in data}
    except (FileNotFoundError, ProcessLookupError):
        return None
    return name, found


def name_of(pid):
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "?"
    name = os.path.basename(words[0].decode(errors="replace"))
    return name + (" evaluator" if b"--evaluator" in words else "")


# What nobody's load keeps from asking the model; then what has workers and compilers, too.
JOBS = {"null": ["--backend", "null", "--seconds", "0", "--evaluations", "80"], "cpu": ["--seconds", "4", "--sample-seconds", "0.05"]}


class Job:
    def __init__(self, options, root, gateway, planted, kind):
        environment = dict(os.environ)
        environment.pop("ATOLL_TEST_KEY", None)
        if options.plant == "environment":
            environment["PLANTED"] = planted.text
        self.log = root / f"{kind}.log"
        folder = root / (f"{kind}-{planted.text}" if options.plant == "command" else kind)
        command = [f"{options.build}/atoll", "run", f"{options.source}/suites/starter", "-o", str(folder), "--only", "transpose",
                   "--only", "softmax_rows", *JOBS[kind], "--seed", "3", "--model", "m", "--gateway", gateway.url.rstrip("/"),
                   "--gateway-token", str(root / "secrets/token"), "--ask-deadline", "5s"]
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        self.found, self.scans, self.names, self.has_begun = {}, 0, set(), False

    def scan_all(self, wanted):
        for pid in [self.child.pid] + tree(self.child.pid):
            seen = scan(pid, wanted)
            self.has_begun = self.has_begun or bool(tree(self.child.pid))
            if seen:
                holder = ASKING if pid == self.child.pid and not self.has_begun else seen[0]
                self.scans += 1
                self.names.add(seen[0])
                self.found.setdefault(holder, set()).update(seen[1])

    def watch(self, wanted, sleeper=None):
        """sleeper: a gateway that was stopped before; it goes on when the command was seen to ask."""
        end = time.monotonic() + ASKED_S
        while self.child.poll() is None:
            self.scan_all(wanted)
            if sleeper and (self.found.get(ASKING) or self.has_begun or time.monotonic() > end):
                sleeper.send_signal(signal.SIGCONT)
                sleeper = None
            time.sleep(0.02)
        if sleeper:
            sleeper.send_signal(signal.SIGCONT)
        if self.child.returncode not in (0, NO_BASELINE):
            sys.exit(f"the run ended with status {self.child.returncode}:\n{self.log.read_text()[-2000:]}")


def files_with(root, wanted):
    for path in root.rglob("*"):
        if path.is_file() and "secrets" not in path.parts:
            data = path.read_bytes()
            for secret in wanted:
                if any(needle in data for needle in secret.needles):
                    yield f"{secret.name} stands in {path.relative_to(root)}"


def write_secret(path, text):
    path.write_text(text + "\n")
    path.chmod(0o600)


def begin(options, root, file_key, env_key, token):
    (root / "secrets").mkdir(mode=0o700)
    (root / "gateway").mkdir()
    write_secret(root / "secrets/key", file_key.text)
    write_secret(root / "secrets/token", token.text)
    provider = Provider(options.build)
    config = Config(root / "gateway", first_backoff="5ms")
    config.endpoint("a", "chat", provider.url + "/v1", key_file=root / "secrets/key")
    config.endpoint("b", "anthropic", provider.url + "/v1", key_env="ATOLL_TEST_KEY")
    config.model("m", "a", "delay-50", output=512)
    config.model("n", "b", "ok")
    config.token_file = root / "secrets/token"
    return provider, Gateway(options.build, config, {**os.environ, "ATOLL_TEST_KEY": env_key.text})


def metrics_of(gateway, token):
    link = connect(gateway.url)
    link.request("GET", "/metrics", headers={"Authorization": f"Bearer {token.text}"})
    text = link.getresponse().read()
    link.close()
    return text


def judge_job(job, token):
    for name, found in job.found.items():
        for secret, place in found:
            if secret != token.name or place != "memory" or name not in (RANK_0, ASKING):
                yield f"{secret} stands in the {place} of {name}"
    if (token.name, "memory") not in job.found.get(RANK_0, set()):
        yield f"the token was not found in rank 0 ({RANK_0}): the scanner is blind"


def judge_gateway(gateway_found, metrics, keys, token):
    for key in keys:
        if (key.name, "memory") not in gateway_found:
            yield f"{key.name} was not found in the gateway's memory: the scanner is blind"
    for secret, place in gateway_found:
        if place != "memory":
            yield f"{secret} stands in the {place} of the gateway"
    for secret in [*keys, token]:
        if any(needle in metrics for needle in secret.needles):
            yield f"{secret.name} stands in the metrics"


def run(options, root):
    file_key, env_key, token = Secret("filekey"), Secret("envkey"), Secret("token")
    keys = [file_key, env_key]
    provider, gateway = begin(options, root, file_key, env_key, token)
    try:
        gateway.child.send_signal(signal.SIGSTOP)
        jobs = [Job(options, root, gateway, file_key, "null")]
        jobs[0].watch([*keys, token], sleeper=gateway.child)
        if options.plant == "file":
            (root / "null/note").write_text(f"look: {file_key.text}")
        if not options.plant:
            jobs.append(Job(options, root, gateway, file_key, "cpu"))
            jobs[1].watch([*keys, token])
        gateway_found = scan(gateway.child.pid, [*keys, token])[1]
        metrics = metrics_of(gateway, token)
        asked = provider.stats(False)["seen"]
        gateway.stop()
        failures = [f for job in jobs for f in judge_job(job, token)]
        failures += [*judge_gateway(gateway_found, metrics, keys, token), *files_with(root, [*keys, token])]
    finally:
        if gateway.child.poll() is None:
            gateway.kill()
        provider.stop()
    names = sorted(set().union(*(job.names for job in jobs)))
    print(f"{sum(job.scans for job in jobs)} scans of {names}, {asked} questions to the model")
    if asked < 3 or len(names) < (3 if not options.plant else 2):
        failures.append(f"too little happened to mean anything:\n{jobs[0].log.read_text()[-1500:]}")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("source")
    parser.add_argument("--plant", choices=["environment", "command", "file"])
    options = parser.parse_args()
    root = tempfile.mkdtemp(prefix="atoll-secrets-")
    try:
        failures = run(options, pathlib.Path(root))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
