#!/usr/bin/env python3
"""A whole search with a reranker over HTTP: asked, learned, recorded, replayed, late, broken, and one that nobody answers.

usage: reranker_test.py METAFUSE. The engines and the reranker are one HTTP server of this script. The reranker knows what is
relevant, the engines do not: a model trained on the recording must order by the reranker.
"""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request

METAFUSE = os.path.abspath(sys.argv[1])
PAGES = 8


def relevant_page(query):
    return sum(map(ord, query)) % PAGES


class Site(http.server.BaseHTTPRequestHandler):
    mode = "right"
    asked = []
    waiting = threading.Event()

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)["q"][0]
        results = [{"u": f"http://page{i}.example/", "t": f"Page {i}", "c": f"text {i} about {query}"} for i in range(PAGES)]
        self.answer(json.dumps({"r": results}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Site.asked.append((self.path, self.headers.get("Authorization"), body))
        wanted = f"Page {relevant_page(body['query'])}\n"
        scores = [{"index": i, "relevance_score": 1.0 if text.startswith(wanted) else 0.1}
                  for i, text in enumerate(body["documents"])]
        if Site.mode == "late":
            Site.waiting.wait(30)
        if Site.mode == "few":
            scores.pop()
        if Site.mode == "many":
            scores += [{"index": i, "relevance_score": 0.1} for i in range(len(scores), len(scores) + 3)]
        if Site.mode == "other":
            scores[0]["index"] = 99
        text = json.dumps({"results": scores})
        self.answer({"html": "<html>busy</html>", "nan": text.replace("0.1", "NaN"), "nothing": ""}.get(Site.mode, text))

    def answer(self, text):
        try:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())
        except OSError:
            pass  # nobody waits for a late answer

    def log_message(self, *_):
        pass


def write_files(folder, port, recordings="off"):
    (folder / "models").mkdir(exist_ok=True)
    (folder / "t.yaml").write_text("version: 1\ndomain: d\nslots: {Q: {required: true}}\n"
                                   "templates:\n  - {id: all, engine: web, query: '{Q}'}\n"
                                   "rerank: [{id: cross, engine: judge, top: 8}]\n")
    (folder / "engines.yaml").write_text(
        f"engines:\n  - {{name: web, engine: json_engine, search_url: 'http://127.0.0.1:{port}/s?q={{query}}', results_query: r,\n"
        "     url_query: u, title_query: t, content_query: c}\n"
        f"  - {{name: judge, engine: rerank, base_url: 'http://127.0.0.1:{port}', model: big, api_key: secret}}\n")
    (folder / "serve.yaml").write_text(
        "version: 1\nlisten: 127.0.0.1:0\ntemplates: [t.yaml]\nengines: [engines.yaml]\nmodels: models\ndeadline: 1\n"
        f"cache: {{entries: 0}}\nrecordings: {{mode: {recordings}, directory: archive}}\n")


def run(folder, *arguments):
    done = subprocess.run([METAFUSE, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def search(folder, query):
    done = subprocess.run([METAFUSE, "search", "--config", "serve.yaml", "--json", query], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def order(answer):
    return [int(result["url"][11]) for result in answer["results"]]


def check_served(folder):
    """POST /v1/rerank asks the domain's reranker as well."""
    with subprocess.Popen([METAFUSE, "serve", "--config", "serve.yaml"], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as server:
        base = server.stdout.readline().strip()
        body = {"query": "alpha", "documents": [f"Page {i}\nalpha" for i in range(PAGES)]}
        for mode, is_right in (("right", True), ("html", False)):
            Site.mode = mode
            request = urllib.request.Request(base + "/v1/rerank", json.dumps(body).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                found = json.loads(answer.read())
                missing = answer.headers.get("X-Unresponsive-Engines")
            assert len(found["results"]) == PAGES
            assert (missing is None) == is_right and ("warnings" not in found["meta"]) == is_right, found
            if is_right:
                assert found["results"][0]["index"] == relevant_page("alpha"), found
        server.terminate()


def check_meaning(folder):
    """POST /v1/rerank orders by meaning where an index of the domain has it: no document shares a word with the query."""
    (folder / "models").mkdir()
    texts = ["the car has an engine and four wheels on the road", "an automobile with its engine and wheels on a road",
             "engine wheels and the road while driving the car or automobile", "cook the soup with salt and onions in a pot",
             "a stew is cooked in a pot with onions and salt", "soup or stew pot salt onions in the kitchen"]
    (folder / "documents.jsonl").write_text("".join(
        json.dumps({"url": f"http://page{i}.example/", "title": f"Page {i}", "text": text}) + "\n" for i, text in enumerate(texts)))
    run(folder, "index", "--database", "local.db", "--embedding", "lsi", "--dimensions", "2", "documents.jsonl")
    (folder / "t.yaml").write_text("version: 1\ndomain: d\nslots: {Q: {required: true}}\n"
                                   "templates:\n  - {id: all, engine: local, query: '{Q}'}\n")
    (folder / "engines.yaml").write_text("engines:\n  - {name: local, engine: local, database: local.db}\n")
    (folder / "serve.yaml").write_text("version: 1\nlisten: 127.0.0.1:0\ntemplates: [t.yaml]\nengines: [engines.yaml]\n"
                                       "models: models\n")
    with subprocess.Popen([METAFUSE, "serve", "--config", "serve.yaml"], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as server:
        base = server.stdout.readline().strip()
        body = {"query": "automobile", "documents": ["onions and salt", "the car is on the road", "unheard"]}
        request = urllib.request.Request(base + "/v1/rerank", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            found = json.loads(answer.read())
        server.terminate()
    assert found["results"][0]["index"] == 1 and found["results"][0]["relevance_score"] > 0, found
    assert "warnings" not in found["meta"], found


def main():
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    site.daemon_threads = True
    threading.Thread(target=site.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_files(folder, site.server_address[1])
        queries = [f"query{i}" for i in range(24)]
        (folder / "queries.jsonl").write_text("".join(json.dumps(
            {"id": str(i), "slots": {"Q": query}, "relevant": [{"url": f"http://page{relevant_page(query)}.example/", "grade": 1}]})
            + "\n" for i, query in enumerate(queries)))
        run(folder, "record", "--config", "serve.yaml", "--domain", "d", "--queries", "queries.jsonl", "--output", "rec")
        path, key, body = Site.asked[0]
        assert path == "/v1/rerank" and key == "Bearer secret" and body["model"] == "big" and len(body["documents"]) == PAGES
        runs = [f"rec/runs/{feature}.run" for feature in ("all@web", "cross@judge")]
        table = run(folder, "compare-methods", "--runs", *runs, "--qrels", "rec/qrels", "--folds", "4", "--measures", "recip_rank")
        of_method = {row.split()[0]: float(row.split()[2]) for row in table.splitlines() if len(row.split()) == 3 and row[0] != "r"}
        assert of_method["auto"] == of_method["best_run"] == 1.0, table  # the reranker knows, and its list is learned
        run(folder, "train", "--runs", *runs, "--qrels", "rec/qrels", "--learner", "rankboost", "--model", "models/d.json")
        answer = search(folder, "alpha")
        first = relevant_page("alpha")
        assert order(answer)[0] == first and not answer["failed"], answer
        assert "cross@judge" in answer["fusion"]["features"]
        explained = json.loads(run(folder, "search", "--config", "serve.yaml", "--json", "--explain", "alpha"))
        assert any(reason["feature"] == "cross@judge" and reason["rank"] == 1 for reason in explained["results"][0]["explanation"])
        for Site.mode in ("html", "few", "many", "other", "nan", "nothing", "late"):
            broken = search(folder, "alpha")
            assert order(broken) == list(range(PAGES)), (Site.mode, order(broken))  # the first stage's order
            assert [failed["engine"] for failed in broken["failed"]] == ["judge"], (Site.mode, broken["failed"])
        Site.waiting.set()
        Site.mode = "right"
        write_files(folder, site.server_address[1], "record")
        recorded = search(folder, "beta")
        asked = len(Site.asked)
        write_files(folder, site.server_address[1], "replay")
        replayed = search(folder, "beta")
        assert len(Site.asked) == asked and order(replayed) == order(recorded) and not replayed["failed"]
        write_files(folder, site.server_address[1])
        check_served(folder)
        (folder / "meaning").mkdir()
        check_meaning(folder / "meaning")
    site.shutdown()
    print("reranker_test: passed")


if __name__ == "__main__":
    main()
