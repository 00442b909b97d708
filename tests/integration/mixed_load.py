#!/usr/bin/env python3
"""A server under everything at once: every dialect, streams, clicks, metrics, reloads, and a SIGTERM at the end.

usage: mixed_load.py METAFUSE [ROUNDS]. The engines are HTTP servers of this script on loopback, one of which fails now and
then. Every answer must be complete or name the engine that failed; the server must end with status 0. With the preset tsan, a
data race has its own exit status, with the report on stderr.
"""
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import json_engine

METAFUSE = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
RESULTS = 10
failures = []


class Engine(json_engine.JsonEngine):
    asked = 0

    def do_GET(self):
        Engine.asked += 1
        fails = self.path.startswith("/c") and Engine.asked % 7 == 0
        results = [{"u": f"http://site{i * 7 % 19}.example{self.path[:2]}", "t": f"Page {i}", "c": "some words"} for i in range(RESULTS)]
        body = b"out of order" if fails else json.dumps({"r": results}).encode()
        self.send(500 if fails else 200, body)


class Engines(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # the server may close the connection to a slow engine


def write_files(folder, port):
    (folder / "engines.yaml").write_text("engines:\n" + "".join(
        f"  - {{name: {name}, search_url: \"http://127.0.0.1:{port}/{name}?q={{query}}\", {json_engine.DEFINITION}}}\n" for name in "abc"))
    (folder / "serve.yaml").write_text("version: 1\nlisten: 127.0.0.1:0\ntemplates: [t.yaml]\nengines: [engines.yaml]\n"
                                       "store: store.db\nlimits: {max_queue: 1000, queue_seconds: 30}\n")
    write_templates(folder, "First")


def write_templates(folder, description, rest="  - {id: plain, engine: [a, b, c], query: '{Q}'}\n"):
    (folder / "t.yaml").write_text(f"version: 1\ndomain: d\ndescription: {description}\nslots: {{Q: {{required: true}}}}\ntemplates:\n"
                                   f"{rest}")


def ask(base, path, body=None, headers={}):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode(), answer.headers


def call(number, query):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "web_search", "arguments": {"query": query}}}


def click(base, search_id):
    try:
        ask(base, "/v1/feedback", {"search_id": search_id, "kind": "click", "position": 1})
    except urllib.error.HTTPError as refusal:
        if refusal.code != 429:  # the clicks per day and address are limited
            raise


def one_round(base, client, number):
    new, old = f"q{client}x{number}", f"again{number % 3}"
    for query in (new, old):
        text, headers = ask(base, f"/search?format=json&q={query}")
        answer = json.loads(text)
        if bool(answer["unresponsive_engines"]) != ("X-Unresponsive-Engines" in headers):
            failures.append(f"a 200 that lacks a list without saying so: {text[:200]}")
        if answer["results"] and not answer["fusion"].get("search_id"):
            failures.append("a search without an id")
        elif answer["results"]:
            click(base, answer["fusion"]["search_id"])
        for path in (f"/search?q={query}", f"/search?format=rss&q={query}", f"/search?format=csv&q={query}", "/metrics"):
            ask(base, path)
        for path, body in (("/search", {"query": query}), ("/v1/search", {"query": query, "explain": True}), ("/mcp", call(number, query))):
            json.loads(ask(base, path, body)[0])
    events = [line for line in ask(base, f"/v1/search/stream?q={new}s")[0].splitlines() if line.startswith("event: ")]
    if not events or events[-1] != "event: final":
        failures.append(f"a stream without an end: {events}")
    ask(base, "/autocompleter?q=ag")


def client(base, number):
    try:
        for i in range(ROUNDS):
            one_round(base, number, i)
    except (OSError, ValueError, KeyError) as error:
        detail = error.read().decode() if isinstance(error, urllib.error.HTTPError) else ""
        failures.append(f"client {number}: {error!r} {detail}")


def drive(server, base, folder):
    clients = [threading.Thread(target=client, args=(base, number)) for number in range(4)]
    for thread in clients:
        thread.start()
    for reload in range(6):
        time.sleep(0.2)
        if reload % 3 == 2:
            (folder / "t.yaml").write_text("version: [\n")
        else:
            write_templates(folder, f"Number {reload}")
        server.send_signal(signal.SIGHUP)
    for thread in clients:
        thread.join()
    server.send_signal(signal.SIGTERM)
    if (status := server.wait(timeout=60)) != 0:
        failures.append(f"the server ended with {status}")


def main():
    engines = Engines(("127.0.0.1", 0), Engine)
    threading.Thread(target=engines.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="metafuse-mixed-") as name:
        folder = pathlib.Path(name)
        write_files(folder, engines.server_port)
        with open(folder / "log", "w") as log:
            server = subprocess.Popen([METAFUSE, "serve", "--config", folder / "serve.yaml"], stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            drive(server, server.stdout.readline().strip(), folder)
        finally:
            server.kill()
            server.wait()
        races = (folder / "log").read_text().split("WARNING: ThreadSanitizer")
        if len(races) > 1:
            failures.append(f"{len(races) - 1} reports of ThreadSanitizer, the first: {races[1][:3000]}")
    for failure in failures[:5]:
        print("FAILED:", failure, file=sys.stderr)
    print(f"{4 * ROUNDS} rounds, {len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
