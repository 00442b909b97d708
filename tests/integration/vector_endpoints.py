#!/usr/bin/env python3
"""Hybrid search as its user sets it up, with an embedding endpoint and a vector server in this script on loopback:
index, search, record, replay, and a failure of the endpoint.

usage: vector_endpoints.py METAFUSE"""
import http.server
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import zlib

import json_engine

METAFUSE = os.path.abspath(sys.argv[1])
DOCUMENTS = [("kettle", "Boil water in a kettle for tea."), ("garden", "Plant roses in the garden in spring."),
             ("engine", "The car engine needs oil."), ("coffee", "Grind coffee beans and boil water.")]
DIMENSIONS = 64
asked = []  # (path, body)
is_failing = False


def vector(text):
    """A bag of hashed words, so that texts with the same words are close."""
    out = [0.0] * DIMENSIONS
    for word in text.lower().replace(".", " ").split():
        out[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
    return out


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / ((math.hypot(*a) * math.hypot(*b)) or 1)


class Servers(json_engine.JsonEngine):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked.append((self.path, body))
        if self.path == "/v1/embeddings":
            if is_failing:
                return self.send(503, b'{"error": "overloaded"}')
            if self.headers["Authorization"] != "Bearer k3y":
                return self.send(401, b'{"error": "no key"}')
            data = [{"object": "embedding", "index": i, "embedding": vector(text.split(": ", 1)[1])}
                    for i, text in enumerate(body["input"])]
            self.send(200, json.dumps({"data": data, "model": body["model"]}).encode())
        elif self.path == "/collections/docs/points/query":
            best = sorted(DOCUMENTS, key=lambda one: -cosine(body["query"], vector(one[1])))
            points = [{"id": i, "score": cosine(body["query"], vector(text)),
                       "payload": {"url": f"http://docs.example/{name}", "title": name, "text": text}}
                      for i, (name, text) in enumerate(best[:body["limit"]])]
            self.send(200, json.dumps({"result": {"points": points}, "status": "ok"}).encode())
        else:
            self.send(404, b"{}")


def require(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")


def run(folder, *words, status=0):
    done = subprocess.run([METAFUSE, *words], capture_output=True, text=True, cwd=folder, env={**os.environ, "EMBEDDING_KEY": "k3y"})
    require(done.returncode == status, f"{' '.join(words)} ends with {done.returncode}: {done.stderr}")
    return done.stdout + done.stderr


def write_files(folder, port):
    (folder / "engines.yaml").write_text(
        f"embedding: {{base_url: 'http://127.0.0.1:{port}', model: hashed, dimensions: {DIMENSIONS}, api_key: '${{EMBEDDING_KEY}}',\n"
        "            query_prefix: 'query: ', document_prefix: 'passage: '}\n"
        "engines:\n  - {name: words, engine: local, database: docs.db}\n"
        "  - {name: vectors, engine: local_vector, database: docs.db}\n"
        f"  - {{name: server, engine: qdrant, base_url: 'http://127.0.0.1:{port}', collection: docs}}\n")
    (folder / "t.yaml").write_text("version: 1\ndomain: d\nslots:\n  Q: {required: true}\ntemplates:\n"
                                   "  - {id: any, engine: words, query: '{Q|any}'}\n"
                                   "  - {id: near, engine: [vectors, server], query: '{Q}'}\n")
    base = "version: 1\ndefault_domain: d\ntemplates: [t.yaml]\nengines: [engines.yaml]\n"
    (folder / "metafuse.yaml").write_text(base)
    (folder / "replay.yaml").write_text(base + "recordings: {mode: replay, directory: rec}\n")
    (folder / "docs.jsonl").write_text("".join(
        json.dumps({"url": f"http://docs.example/{name}", "title": name, "text": text}) + "\n" for name, text in DOCUMENTS))
    (folder / "queries.jsonl").write_text(json.dumps(
        {"id": "q1", "slots": {"Q": "boil water"}, "relevant": [{"url": "http://docs.example/kettle"}]}) + "\n")


def check_index(folder):
    said = run(folder, "index", "--database", "docs.db", "docs.jsonl", "--embedding", "engines.yaml")
    require(f"vectors of {DIMENSIONS} dimensions" in said, f"the index has vectors: {said}")
    require(len(asked) == 1 and all(text.startswith("passage: ") for text in asked[0][1]["input"]), f"one request: {asked}")
    (folder / "none.yaml").write_text("engines: []\n")
    said = run(folder, "index", "--database", "x.db", "docs.jsonl", "--embedding", "none.yaml", status=64)
    require("embedding" in said and not (folder / "x.db").exists(), f"a file without an endpoint is refused: {said}")


def check_search(folder):
    asked.clear()
    answer = json.loads(run(folder, "search", "--json", "boil water"))
    urls = [result["url"] for result in answer["results"]]
    require(urls[0] in ("http://docs.example/kettle", "http://docs.example/coffee"), f"the nearest stand first: {urls}")
    paths = [path for path, _ in asked]
    require(paths.count("/v1/embeddings") == 1, f"embedded once for two engines: {paths}")
    require(asked[0][1]["input"] == ["query: boil water"], f"with its prefix: {asked[0]}")
    require(paths.count("/collections/docs/points/query") == 1, f"the server is asked: {paths}")


def check_record(folder):
    run(folder, "record", "--config", "metafuse.yaml", "--domain", "d", "--queries", "queries.jsonl", "--output", "rec")
    require("k3y" not in (folder / "rec" / "archive.har").read_text(), "the key is written down nowhere")
    live = json.loads(run(folder, "search", "--json", "boil water"))
    asked.clear()
    replayed = json.loads(run(folder, "search", "--json", "--config", "replay.yaml", "boil water"))
    require(not asked, f"a replay asks nobody: {asked}")
    require([r["url"] for r in live["results"]] == [r["url"] for r in replayed["results"]], "the replay is the same")


def check_failure(folder):
    global is_failing
    is_failing = True
    answer = run(folder, "search", "--json", "boil water")
    result = json.loads(answer[:answer.rindex("}") + 1])
    require(result["results"], "the words' list is served without the endpoint")
    require("embedding" in answer or "http_status" in answer, f"the failure is named: {answer}")
    is_failing = False


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Servers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        write_files(folder, server.server_port)
        check_index(folder)
        check_search(folder)
        check_record(folder)
        check_failure(folder)
    print("hybrid search with an embedding endpoint and a vector server: index, search, record, replay, failure")


if __name__ == "__main__":
    main()
