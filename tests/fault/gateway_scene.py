"""For tests: fault servers, a gateway in front of them, and questions at its door."""
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import time

import gateway_books

PRICE = gateway_books.Price("1.234567", "0.123457", "9.876543")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.socket_path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.socket_path)


def connect(url, timeout=240):
    if url.startswith("unix:"):
        return UnixConnection(url[5:], timeout)
    return http.client.HTTPConnection("127.0.0.1", int(url.rstrip("/").rsplit(":", 1)[1]), timeout=timeout)


class Provider:
    def __init__(self, build, *options):
        self.child = subprocess.Popen([f"{build}/tests/bin/fault_provider", *options], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.url = self.child.stdout.readline().strip()
        self.ca_file = None

    def request(self, method, path):
        link = connect(self.url) if self.ca_file is None else self.connect_tls()
        link.request(method, path)
        body = link.getresponse().read()
        link.close()
        return body

    def connect_tls(self):
        context = ssl.create_default_context(cafile=self.ca_file)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it asks about servers with wrong ones, too
        return http.client.HTTPSConnection("127.0.0.1", int(self.url.rsplit(":", 1)[1]), timeout=240,
                                           context=context)

    def stats(self, ids=True):
        return json.loads(self.request("GET", "/__stats" if ids else "/__stats?sum"))

    def reset(self):
        self.request("POST", "/__reset")

    def stop(self):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait(10)


class Config:
    """gateway.yaml by rows of endpoints and models."""

    def __init__(self, folder, **calls):
        self.folder, self.endpoints, self.models, self.limits = pathlib.Path(folder), [], [], []
        self.calls, self.store, self.listen, self.token_file = calls, "replay-then-live", "127.0.0.1:0", None
        self.prices = PRICE.texts
        self.permanent = False
        self.file = "gateway.sqlite"

    def endpoint(self, name, provider, url, **more):
        rest = "".join(f", {key}: {value}" for key, value in more.items())
        self.endpoints.append(f"  - {{name: {name}, provider: {provider}, url: '{url}', proxy: none{rest}}}")

    def model(self, name, endpoint, model, output=64):
        self.models.append(f"  - {{name: '{name}', endpoint: {endpoint}, model: '{model}', max_output_tokens: {output}, price: test}}")

    def limit(self, **limit):
        self.limits.append("    - {" + ", ".join(f"{key}: {value}" for key, value in limit.items()) + "}")

    def write(self):
        prices = ", ".join(f"{name}: {text}" for name, text in self.prices.items())
        (self.folder / "prices.yaml").write_text(
            f"version: 1\ndate: 2026-11-21\nsource: a test\nmodels:\n  - {{name: test, {prices}}}\n")
        lines = ["version: 1", "prices: prices.yaml", "endpoints:", *self.endpoints, "models:", *self.models,
                 "budget:", f"  file: {self.file}", f"  mode: {self.store}",
                 *(["  permanent_host: true"] if self.permanent else []), *(["  limits:", *self.limits] if self.limits else []),
                 "calls:", *[f"  {key}: {value}" for key, value in self.calls.items()],
                 "listen:", f"  address: '{self.listen}'", *([f"  token_file: {self.token_file}"] if self.token_file else [])]
        path = self.folder / "gateway.yaml"
        path.write_text("\n".join(lines) + "\n")
        return path


class Gateway:
    def __init__(self, build, config, environment=None):
        self.log_path = config.folder / "log"
        self.file = config.folder / config.file
        self.path, self.url = config.write(), None
        self.command = [f"{build}/atoll", "gateway", "serve", "-c", str(self.path), "--grace", "5s"]
        self.environment = environment
        self.start()

    def start(self):
        with open(self.log_path, "ab") as log:
            self.child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                          env=self.environment)
        self.url = self.child.stdout.readline().decode().strip()
        if not self.url:
            raise SystemExit(f"the gateway did not start:\n{self.log()}")

    def books(self):
        return gateway_books.Books(self.file, lambda: self.child)

    def log(self):
        return self.log_path.read_text(errors="replace")[-3000:]

    def kill(self):
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        status = self.child.wait(30)
        self.child.stdout.close()
        if status != 0:
            raise SystemExit(f"the gateway ended with status {status}:\n{self.log()}")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.child.pid}/fd"))

    def memory_kib(self, row="VmRSS"):
        for line in pathlib.Path(f"/proc/{self.child.pid}/status").read_text().splitlines():
            if line.startswith(row + ":"):
                return int(line.split()[1])
        raise SystemExit("the gateway is gone")

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Answer:
    def __init__(self, http_status, body, elapsed_s):
        self.http_status, self.elapsed_s = http_status, elapsed_s
        self.document = json.loads(body)
        self.atoll = self.document.get("atoll", {})
        self.status = self.atoll.get("status", "none")
        self.money = round(self.atoll.get("cost_usd", 0) * 1e9)

    def text(self):
        return (self.document.get("choices") or [{}])[0].get("message", {}).get("content")


def ask(url, model, ident, deadline_s=20, campaign="c", task="t", key="", token=None, link=None):
    body = {"model": model, "messages": [{"role": "user", "content": f"say id={ident}"}],
            "atoll": {"campaign": campaign, "task": task, "deadline_s": deadline_s, **({"key": key} if key else {})}}
    own = link or connect(url, deadline_s + 60)
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    begin = time.monotonic()
    own.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    reply = own.getresponse()
    answer = Answer(reply.status, reply.read(), time.monotonic() - begin)
    if not link:
        own.close()
    return answer
