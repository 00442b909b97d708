#!/usr/bin/env python3
"""Scheduled training from feedback: judgments sent through the API give a challenger, and a better challenger becomes champion.

usage: promotion.py METAFUSE. One engine of this script ranks well and three rank badly, so that reciprocal rank fusion does
badly. A server that retrains about every second with `automatic_promotion` must learn that from the judgments of a key with the
role judge, promote once, keep the champion as long as nothing changes, and go back when told to. Without the setting it must
only train.
"""
import hashlib
import http.server
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import json_engine

METAFUSE = os.path.abspath(sys.argv[1])
PAGES = 12
QUERIES = 220  # about three in ten are held out at random; 30 held-out queries are needed


def pages_of(query):
    """The pages for a query, the right one first."""
    order = list(range(PAGES))
    random.Random(query).shuffle(order)
    return [f"http://site{i}.example/{hashlib.md5(query.encode()).hexdigest()[:8]}" for i in order]


class Engine(json_engine.JsonEngine):
    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        pages = pages_of(urllib.parse.parse_qs(url.query)["q"][0])
        if url.path != "/good":
            pages.reverse()
        self.send(200, json.dumps({"r": [{"u": page, "t": "t", "c": "c"} for page in pages]}).encode())


class Server:
    """A `metafuse serve` in a folder, with its log as a list of events."""

    def __init__(self, folder, port, learning):
        key = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("admin-key", "judge-key")}
        (folder / "models").mkdir()
        (folder / "t.yaml").write_text("version: 1\ndomain: d\nslots: {Q: {required: true}}\ntemplates:\n"
                                       "  - {id: all, engine: [good, bad, worse, worst], query: '{Q}'}\n")
        (folder / "engines.yaml").write_text("engines:\n" + "".join(
            f"  - {{name: {name}, search_url: \"http://127.0.0.1:{port}/{name}?q={{query}}\", {json_engine.DEFINITION}}}\n"
            for name in ("good", "bad", "worse", "worst")))
        self.config = folder / "serve.yaml"
        self.config.write_text(
            "version: 1\nlisten: 127.0.0.1:0\ntemplates: [t.yaml]\nengines: [engines.yaml]\nmodels: models\nstore: store.db\n"
            f"keys:\n  - {{name: admin, sha256: {key['admin-key']}, roles: [admin]}}\n"
            f"  - {{name: judge, sha256: {key['judge-key']}, roles: [judge]}}\nlearning: {learning}\n")
        self.events = []
        self.start()

    def start(self):
        self.process = subprocess.Popen([METAFUSE, "serve", "--config", str(self.config)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.base = self.process.stdout.readline().strip()
        self.reader = threading.Thread(target=self.read_log)
        self.reader.start()

    def read_log(self):
        for line in self.process.stderr:
            self.events.append(json.loads(line))

    def ask(self, path, body=None, key=None):
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.base + path, data, headers), timeout=60) as answer:
            return json.loads(answer.read())

    def model(self):
        return self.ask("/v1/models", key="admin-key")["models"][0]

    def count(self, event):
        return sum(1 for entry in list(self.events) if entry["event"] == event)

    def learn(self, learning):
        """Starts scheduled learning. Not earlier, because the number of judgments in the first training would depend on the cores."""
        self.stop()
        self.config.write_text(self.config.read_text().replace("learning: {}", f"learning: {learning}"))
        self.start()

    def wait_for(self, what, is_so):
        for _ in range(3000):
            if is_so():
                return
            time.sleep(0.1)
        raise SystemExit(f"promotion: waited five minutes in vain for {what}: {self.model()} {self.events[-5:]}")

    def has_settled(self):
        """Whether the last two trainings made the same model and it is now the challenger or the champion."""
        versions = [entry["version"] for entry in list(self.events) if entry["event"] == "retrained"][-2:]
        model = self.model()
        return len(versions) == 2 and versions[0] == versions[1] in (model["champion"], model["challenger"])

    def place_of_right(self, query):
        urls = [result["url"] for result in self.ask("/v1/search", {"query": query})["results"]]
        return urls.index(pages_of(query)[0]) + 1

    def judge(self):
        for i in range(QUERIES):
            query = f"query {i}"
            answer = self.ask("/v1/search", {"query": query})
            pages = pages_of(query)
            for page, grade in ((pages[0], 2), (pages[1], 1), (pages[-1], 0), (pages[-2], 0)):
                self.ask("/v1/feedback", {"search_id": answer["search_id"], "url": page, "kind": "judgment", "grade": grade}, "judge-key")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=60)
        self.reader.join()
        assert status == 0, status


def promoted_by_the_clock(server):
    assert server.place_of_right("another query") > 1
    server.judge()
    server.learn("{retrain_hours: 0.0003, automatic_promotion: true}")
    server.wait_for("a promotion", lambda: server.model()["champion"])
    server.wait_for("the champion's answers", lambda: server.place_of_right("another query") == 1)
    server.wait_for("a training on all judgments", server.has_settled)
    assert server.count("promoted") == 1
    reloads = server.count("reloaded")
    trained = server.count("retrained")
    server.wait_for("two more trainings", lambda: server.count("retrained") >= trained + 2)
    assert server.count("promoted") == 1 and server.count("reloaded") == reloads, "the same data, and yet something changed"
    assert server.ask("/v1/models/d/activate", {"previous": True}, "admin-key")["champion"] is None
    assert server.place_of_right("another query") > 1
    trained = server.count("retrained")
    server.wait_for("two trainings after the step back", lambda: server.count("retrained") >= trained + 2)
    assert server.model()["champion"] is None, "what was taken back came back by itself"


def trained_only(server):
    server.judge()
    server.learn("{retrain_hours: 0.0003}")
    trained = server.count("retrained")
    server.wait_for("two trainings", lambda: server.count("retrained") >= trained + 2)
    model = server.model()
    assert model["champion"] is None and model["challenger"], model
    assert server.place_of_right("another query") > 1
    report = server.ask("/v1/models/d/measure", {}, "admin-key")
    assert report["is_better"] and report["queries"] >= 30, report
    assert server.ask("/v1/models/d/activate", {"version": model["challenger"]}, "admin-key")["champion"] == model["challenger"]
    assert server.place_of_right("another query") == 1


def main():
    engines = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    engines.daemon_threads = True
    threading.Thread(target=engines.serve_forever, daemon=True).start()
    for check in (promoted_by_the_clock, trained_only):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(pathlib.Path(folder), engines.server_address[1], "{}")
            try:
                check(server)
            finally:
                server.stop()
    print("promotion: passed")


main()
