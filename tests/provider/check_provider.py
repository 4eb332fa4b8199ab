#!/usr/bin/env python3
"""The fault server itself: what each word of its scenarios puts on the wire, and what it counts."""
import http.client
import json
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
from email.utils import parsedate_to_datetime

PROGRAM = sys.argv.pop(1)


class Server:
    def __init__(self, *options):
        self.child = subprocess.Popen([PROGRAM, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.child.stdout.readline().strip()
        self.port = int(self.url.rsplit(":", 1)[1]) if ":" in self.url[6:] else 0

    def stop(self):
        self.child.stdin.close()
        self.child.stdout.close()
        return self.child.wait(10)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def get(self, path, headers={}):
        link = self.connect()
        link.request("GET", path, headers=headers)
        reply = link.getresponse()
        body = reply.read()
        link.close()
        return reply, body

    def post(self, path, body, headers={}):
        link = self.connect()
        link.request("POST", path, body if isinstance(body, (bytes, str)) else json.dumps(body), headers)
        reply = link.getresponse()
        text = reply.read()
        link.close()
        return reply, text

    def ask(self, model, ident="x", stream=False, path="/v1/chat/completions"):
        return self.post(path, question(model, ident, stream))

    def raw(self, model, ident="x", stream=False, path="/v1/chat/completions"):
        """All bytes of the reply and how it ended: 'end' or 'reset'."""
        body = json.dumps(question(model, ident, stream)).encode()
        link = socket.create_connection(("127.0.0.1", self.port), timeout=120)
        link.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(body)) + body)
        got, end = b"", "end"
        try:
            while piece := link.recv(65536):
                got += piece
                if got.endswith(b"0\r\n\r\n"):
                    end = "whole"
                    break
        except ConnectionResetError:
            end = "reset"
        link.close()
        return got, end

    def stats(self):
        return json.loads(self.get("/__stats")[1])


def question(model, ident, stream):
    text = [{"role": "user", "content": "first id=wrong"}, {"role": "user", "content": f"say id={ident} please"}]
    return {"model": model, "stream": stream, "stream_options": {"include_usage": True}, "messages": text, "input": text}


def events(body):
    return [line[6:] for line in body.decode("utf-8", "replace").split("\n") if line.startswith("data: ")]


class Provider(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def setUp(self):
        self.server.post("/__reset", "")

    def test_dialects_agree(self):
        model = "ok-tokens-100-50-cached-40-reasoning-30"
        whole = {path: json.loads(self.server.ask(model, path=path)[1]) for path in
                 ("/v1/chat/completions", "/v1/responses", "/v1/messages")}
        chat = whole["/v1/chat/completions"]
        self.assertEqual(chat["choices"][0]["message"]["content"], "word0 word1 word2 word3 word4")
        self.assertEqual(chat["usage"]["prompt_tokens_details"]["cached_tokens"], 40)
        self.assertEqual((chat["usage"]["prompt_tokens"], chat["usage"]["completion_tokens"]), (100, 50))
        responses = whole["/v1/responses"]
        self.assertEqual(responses["usage"]["output_tokens_details"]["reasoning_tokens"], 30)
        self.assertEqual(responses["output"][1]["content"][0]["text"], "word0 word1 word2 word3 word4")
        messages = whole["/v1/messages"]
        self.assertEqual(messages["usage"]["input_tokens"] + messages["usage"]["cache_read_input_tokens"], 100)
        self.assertEqual(messages["content"][1]["text"], "word0 word1 word2 word3 word4")

    def test_streams(self):
        chat = events(self.server.ask("ok-tokens-3-4", stream=True)[1])
        self.assertEqual(chat[-1], "[DONE]")
        self.assertEqual(json.loads(chat[-2])["usage"]["total_tokens"], 7)
        text = "".join(json.loads(event)["choices"][0]["delta"].get("content", "") for event in chat[:-2])
        self.assertEqual(text, "word0 word1 word2 word3 word4")
        responses = events(self.server.ask("ok-length", stream=True, path="/v1/responses")[1])
        self.assertEqual(json.loads(responses[-1])["type"], "response.incomplete")
        messages = [json.loads(event) for event in events(self.server.ask("ok", stream=True, path="/v1/messages")[1])]
        self.assertEqual(messages[-1]["type"], "message_stop")
        self.assertEqual("".join(event.get("delta", {}).get("text", "") for event in messages),
                         "word0 word1 word2 word3 word4")

    def test_tools(self):
        """A tool is called in each dialect's form, whole and streamed; results that stand wrong are refused."""
        tools = {"/v1/chat/completions": {"type": "function", "function": {"name": "f", "parameters": {}}},
                 "/v1/responses": {"type": "function", "name": "f", "parameters": {}},
                 "/v1/messages": {"name": "f", "input_schema": {}}}
        finds = {"/v1/chat/completions": lambda r: r["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"],
                 "/v1/responses": lambda r: r["output"][-1]["arguments"],
                 "/v1/messages": lambda r: json.dumps(r["content"][-1]["input"])}
        pieces = {"/v1/chat/completions": lambda e: "".join(c["function"]["arguments"] for x in e for o in x.get("choices", [])
                                                            for c in o["delta"].get("tool_calls", [])),
                  "/v1/responses": lambda e: "".join(x["delta"] for x in e if x["type"] == "response.function_call_arguments.delta"),
                  "/v1/messages": lambda e: "".join(x["delta"].get("partial_json", "") for x in e
                                                    if x["type"] == "content_block_delta")}
        for path, tool in tools.items():
            body = {**question("tools-1", "x", False), "tools": [tool]}
            whole = json.loads(self.server.post(path, body)[1])
            self.assertEqual(json.loads(finds[path](whole)), {"turn": 0, "words": "a b"}, path)
            stream = [json.loads(e) for e in events(self.server.post(path, {**body, "stream": True})[1]) if e != "[DONE]"]
            self.assertEqual(json.loads(pieces[path](stream)), {"turn": 0, "words": "a b"}, path)
            self.assertEqual(self.server.post(path, {**body, "model": "toolless"})[0].status, 400, path)
        wrong = {"/v1/chat/completions": {"messages": [{"role": "tool", "tool_call_id": "a", "content": "r"}]},
                 "/v1/responses": {"input": [{"type": "function_call_output", "call_id": "a", "output": "r"}]},
                 "/v1/messages": {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}]}}
        for path, more in wrong.items():
            self.assertEqual(self.server.post(path, {"model": "ok", "tools": [tools[path]], **more})[0].status, 400, path)
        said = json.loads(self.server.post("/v1/chat/completions", {**question("parameters", "x", False), "max_tokens": 7, "top_p": 0.5,
                                                                    "reasoning_effort": "low"})[1])
        self.assertEqual(said["choices"][0]["message"]["content"], "max 7 p 0.5 e low")

    def test_heads(self):
        rows = [
            ("status-503", 503, {}), ("overloaded", 529, {}), ("quota", 429, {}),
            ("status-429-retry-after-2", 429, {"retry-after": "2"}),
            ("status-429-retry-after-0.25", 429, {"retry-after": "0.25"}),
            ("status-429-retry-after-ms-1500", 429, {"retry-after-ms": "1500"}),
            ("status-429-retry-after-junk", 429, {"retry-after": "soon"}),
            ("status-500-should-not-retry", 500, {"x-should-retry": "false"}),
            ("status-409-should-retry", 409, {"x-should-retry": "true"}),
            ("limits-3-900", 200, {"x-ratelimit-remaining-requests": "3", "x-ratelimit-remaining-tokens": "900"}),
            ("redirect-307", 307, {"location": "/v1/elsewhere"}),
        ]
        for model, status, headers in rows:
            reply, _ = self.server.ask(model)
            self.assertEqual(reply.status, status, model)
            for name, value in headers.items():
                self.assertEqual(reply.getheader(name), value, model)

    def test_dates(self):
        imf = self.server.ask("status-429-retry-after-date-60")[0].getheader("retry-after")
        self.assertLess(abs(parsedate_to_datetime(imf).timestamp() - time.time() - 60), 5)
        rows = (("rfc850", "%A, %d-%b-%y %H:%M:%S GMT"), ("asctime", "%a %b %d %H:%M:%S %Y"))
        for word, form in rows:
            text = self.server.ask(f"status-429-retry-after-{word}-60")[0].getheader("retry-after")
            time.strptime(text, form)

    def test_broken_off(self):
        whole, end = self.server.raw("ok", stream=True)
        self.assertEqual(end, "whole")
        for length in (0, 1, 17, 100, 500):
            got, end = self.server.raw(f"reset-{length}", stream=True)
            self.assertEqual((len(got), end), (length, "reset"))
            got, end = self.server.raw(f"cut-{length}", stream=True)
            self.assertEqual((len(got), end), (length, "end"))
        got, end = self.server.raw("no-end", stream=True)
        self.assertEqual(end, "whole")
        self.assertNotIn(b"[DONE]", got)
        stats = self.server.stats()
        self.assertEqual((stats["answered"], stats["broken"]), (1, 11))

    def test_silence(self):
        link = socket.create_connection(("127.0.0.1", self.server.port), timeout=120)
        body = json.dumps(question("silent-after-30", "s", False)).encode()
        link.sendall(b"POST /v1/messages HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        got = b""
        while len(got) < 30:
            got += link.recv(100)
        link.settimeout(0.05)
        with self.assertRaises(TimeoutError):
            link.recv(1)
        link.close()
        while self.server.stats()["ids"]["s"]["broken"] == 0:  # it notices that the caller left
            pass

    def test_texts(self):
        def content(model, path="/v1/chat/completions"):
            return self.server.ask(model, path=path)[1]
        self.assertEqual(json.loads(content("echo"))["choices"][0]["message"]["content"], "say id=x please")
        self.assertEqual(json.loads(content("empty"))["choices"][0]["message"]["content"], "")
        self.assertIn("thought0", json.loads(content("only-reasoning"))["choices"][0]["message"]["reasoning_content"])
        self.assertIn("can't", json.loads(content("refusal"))["choices"][0]["message"]["refusal"])
        self.assertEqual(json.loads(content("refusal", "/v1/messages"))["stop_reason"], "refusal")
        self.assertEqual(json.loads(content("length", "/v1/messages"))["stop_reason"], "max_tokens")
        with self.assertRaises(UnicodeDecodeError):
            content("bad-utf8").decode()
        with self.assertRaises(json.JSONDecodeError):
            json.loads(content("bad-json"))
        self.assertIn(b"<html>", content("html"))

    def test_usage(self):
        def usage(model):
            return json.loads(self.server.ask(model)[1]).get("usage")
        self.assertIsNone(usage("usage-missing"))
        self.assertEqual(usage("usage-negative")["prompt_tokens"], -20)
        self.assertEqual(usage("usage-text")["prompt_tokens"], "20")
        self.assertEqual(usage("usage-huge")["completion_tokens"], 10**18)

    def test_error_events(self):
        last = json.loads(events(self.server.ask("error-event", stream=True)[1])[-1])
        self.assertIn("error", last)
        last = json.loads(events(self.server.ask("failed-event", stream=True, path="/v1/responses")[1])[-1])
        self.assertEqual(last["response"]["status"], "failed")
        last = json.loads(events(self.server.ask("error-event", stream=True, path="/v1/messages")[1])[-1])
        self.assertEqual(last["error"]["type"], "overloaded_error")
        self.assertEqual(self.server.ask("error-event")[0].status, 500)

    def test_huge(self):
        for stream in (False, True):
            _, body = self.server.ask("huge-30", stream=stream)
            self.assertGreater(body.count(b"x"), 30 << 20)
            if not stream:
                json.loads(body)

    def test_fails_then_succeeds(self):
        self.assertEqual([self.server.ask("status-500-fails-2", "f")[0].status for _ in range(4)], [500, 500, 200, 200])
        self.assertEqual(self.server.ask("status-500-fails-2", "g")[0].status, 500)
        row = self.server.stats()["ids"]["f"]
        self.assertEqual((row["seen"], row["refused"], row["answered"], row["input"], row["output"]), (4, 2, 2, 40, 20))

    def test_mix(self):
        def faulty(ident):
            try:
                reply, body = self.server.ask("mix-10-tokens-5-6", ident, stream=True)
                return reply.status != 200 or not body.rstrip().endswith(b"[DONE]")
            except (http.client.HTTPException, ConnectionError):
                return True
        first = [faulty(f"m{i}") for i in range(300)]
        self.assertTrue(15 <= sum(first) <= 50, sum(first))
        self.assertEqual(sum(faulty(f"m{i}") for i in range(300)), 0)  # all is well at the second try
        self.server.post("/__reset", "")
        self.assertEqual([faulty(f"m{i}") for i in range(300)], first)
        stats = self.server.stats()
        self.assertEqual(stats["answered"], 300 - sum(first))
        self.assertEqual(stats["input"], 5 * stats["answered"])

    def test_what_is_wrong(self):
        self.assertIn(b"offset 3", self.server.ask("ok-nonsense")[1])
        for model in ("", "status", "tokens-1", "ok-", "status-x"):
            self.assertEqual(self.server.ask(model)[0].status, 200 if model == "" else 404, model)
        self.assertEqual(self.server.post("/v1/messages", "{")[0].status, 400)
        self.assertEqual(self.server.post("/v1/messages", {})[0].status, 400)
        self.assertEqual(self.server.get("/nowhere")[0].status, 404)
        self.assertEqual(self.server.get("/v1/models", {"Authorization": "Bearer bad-key"})[0].status, 401)
        link = socket.create_connection(("127.0.0.1", self.server.port), timeout=120)
        link.sendall(b"\x16\x03\x01nonsense")
        self.assertIn(b"400", link.recv(1000))
        link.close()

    def test_embeddings_and_models(self):
        reply = json.loads(self.server.post("/v1/embeddings", {"model": "ok", "input": ["a", "b"]})[1])
        self.assertEqual(len(reply["data"][0]["embedding"]), 8)
        self.assertIn("ok", [model["id"] for model in json.loads(self.server.get("/v1/models")[1])["data"]])

    def test_many_connections(self):
        links = [socket.create_connection(("127.0.0.1", self.server.port), timeout=120) for _ in range(900)]
        body = json.dumps(question("ok", "many", False)).encode()
        for link in links:
            link.sendall(b"POST /v1/messages HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        for link in links:
            self.assertIn(b"200 OK", link.recv(4000))
            link.close()
        self.assertEqual(self.server.stats()["ids"]["many"]["answered"], 900)


class Doors(unittest.TestCase):
    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, "--make-certificates", folder], check=True)
            for name, reason in (("valid", None), ("expired", "expired"), ("wrong-host", "mismatch"),
                                 ("self-signed", "self")):
                server = Server("--tls", f"{folder}/{name}.pem")
                self.assertTrue(server.url.startswith("https://127.0.0.1:"))
                link = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=120,
                                                   context=ssl.create_default_context(cafile=f"{folder}/ca.pem"))
                try:
                    link.request("GET", "/v1/models")
                    self.assertEqual(link.getresponse().status, 200)
                    self.assertIsNone(reason)
                except ssl.SSLCertVerificationError as error:
                    self.assertIn(reason or "nothing", str(error))
                link.close()
                self.assertEqual(server.stop(), 0)

    def test_usage(self):
        for options in (["--tls"], ["--what", "x"], ["--tls", "/nowhere.pem"]):
            self.assertNotEqual(subprocess.run([PROGRAM, *options], stdin=subprocess.DEVNULL,
                                               stderr=subprocess.DEVNULL).returncode, 0)


if __name__ == "__main__":
    unittest.main()
