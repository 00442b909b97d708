#!/usr/bin/env python3
"""A server answers while PostgreSQL and Redis are stopped, killed, restarted, slow, or behind a black hole.

usage: store_chaos.py METAFUSE [EPISODES [SERVER]]. Starts Debian's PostgreSQL and Redis, each behind a relay of this script, and
`metafuse serve` with the embedded engine. Clients search, half of them with a key that has a quota, and click. Then each fault of each
server (or only of the SERVER named) happens EPISODES times (default: 75). No search may fail or lack an engine because of a fault,
every click must be answered, and after each fault every acknowledged click must be in the database. Prints how long answers took and
how many clicks were refused.
"""
import hashlib
import http.client
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

from store_servers import PATIENCE, Postgres, Redis

METAFUSE = os.path.abspath(sys.argv[1])
EPISODES = int(sys.argv[2]) if len(sys.argv) > 2 else 75
ONLY = sys.argv[3] if len(sys.argv) > 3 else ""
SEARCHERS, CLICKERS, PAUSE = 4, 2, 0.05
FAULTS = ("stopped", "killed", "restarted", "slow", "black hole")
FAULT_SECONDS = 1.0


def happen(server, fault):
    """One episode: starts the fault, waits a while, and ends it."""
    if fault in ("slow", "black hole"):
        server.relay.mode = fault
        time.sleep(FAULT_SECONDS)
        server.relay.mode = "pass"
        return
    server.stop(is_hard=fault == "killed")
    if fault != "restarted":
        time.sleep(FAULT_SECONDS)
    server.start()


class Server:
    """A `metafuse serve` with both servers behind their relays."""

    def __init__(self, folder, postgres, redis):
        (folder / "documents.jsonl").write_text("".join(json.dumps({"url": f"https://ada{i}.example/", "title": "Ada", "text": "ada lovelace"}) +
                                                        "\n" for i in range(10)))
        subprocess.run([METAFUSE, "index", "--database", folder / "local.db", folder / "documents.jsonl"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (folder / "engines.yaml").write_text("engines:\n  - {name: local, engine: local, database: local.db}\n")
        (folder / "t.yaml").write_text("version: 1\ndomain: d\nslots: {NAME: {required: true}}\ntemplates:\n"
                                       "  - {id: a, engine: local, query: '{NAME|any}'}\n")
        (folder / "serve.yaml").write_text(
            "version: 1\nlisten: 127.0.0.1:0\ntemplates: [t.yaml]\nengines: [engines.yaml]\ndeadline: 10\n"
            f"store: \"{postgres.url()}\"\nstore_secret: secret\ncache: {{redis: \"redis://127.0.0.1:{redis.relay.port}\", entries: 64}}\n"
            "learning: {clicks_per_address: 1000000000, clicks_per_key: 1000000000}\nlimits: {max_queue: 1000, queue_seconds: 10}\n"
            f"keys: [{{name: k, roles: [search], quota_per_day: 1000000000, sha256: {hashlib.sha256(b'k').hexdigest()}}}]\n")
        self.log = (folder / "log").open("w")
        self.process = subprocess.Popen([METAFUSE, "serve", "--config", folder / "serve.yaml"], stdout=subprocess.PIPE, stderr=self.log,
                                        text=True)
        self.port = int(self.process.stdout.readline().strip().rsplit(":", 1)[1])


class Load:
    """Clients that search and click until told to stop, and the answers that they got."""

    def __init__(self, port):
        self.port, self.is_over, self.is_quiet = port, False, False
        self.searches, self.clicks, self.acknowledged, self.refused, self.faults = [], [], [], 0, []
        self.threads = [threading.Thread(target=self.search, args=(i,)) for i in range(SEARCHERS)]
        self.threads += [threading.Thread(target=self.click) for _ in range(CLICKERS)]
        for thread in self.threads:
            thread.start()

    def ask(self, method, path, body=None, headers={}):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        begin = time.monotonic()
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, answer.headers, text, time.monotonic() - begin

    def wrong(self, text):
        self.faults.append(text)
        print("wrong:", text, flush=True)

    def guarded(self, work):
        while not self.is_over:
            try:
                work()
            except Exception as error:  # not a valid answer
                self.wrong(repr(error))
            time.sleep(PAUSE)

    def found(self, headers={}):
        status, answer, text, seconds = self.ask("GET", f"/search?q=ada+{random.randrange(10**9)}&format=json", None, headers)
        self.searches.append(seconds)
        if status != 200 or answer["X-Unresponsive-Engines"] or not json.loads(text)["results"]:
            self.wrong(f"search: {status} {answer['X-Unresponsive-Engines']} {text[:200]}")
            return None
        return json.loads(text)["fusion"].get("search_id")

    def search(self, number):
        self.guarded(lambda: self.found({"X-API-Key": "k"} if number % 2 else {}))

    def click(self):
        def once():
            search = self.found()
            if not search:
                return  # the search log is full, which clients may see
            status, _, text, seconds = self.ask("POST", "/v1/feedback", json.dumps({"search_id": search, "kind": "click", "position": 1}),
                                                {"Content-Type": "application/json"})
            self.clicks.append(seconds)
            if status == 200:
                self.acknowledged.append(search)
            elif status in (404, 503):  # 404: the click's search was dropped while the database was away
                self.refused += 1
            else:
                self.wrong(f"click: {status} {text[:200]}")
        self.guarded(once)

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


def wait_for_click(load):
    """Waits until clicks are acknowledged again."""
    before, end = len(load.acknowledged), time.monotonic() + PATIENCE
    while len(load.acknowledged) == before:
        if time.monotonic() > end:
            load.wrong(f"no click was acknowledged within {PATIENCE} s after the fault")
            return
        time.sleep(0.01)


def missing(postgres, acknowledged):
    """Acknowledged clicks that are not in the database."""
    kept = subprocess.run([METAFUSE, "store", "export", "--store", postgres.url(is_direct=True)], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    clicked = {entry["search"] for entry in map(json.loads, kept.splitlines()) if entry["kind"] == "click"}
    return [search for search in acknowledged if search not in clicked]


def shares(seconds):
    ordered = sorted(seconds) or [0]
    return f"median {1000 * ordered[len(ordered) // 2]:.0f} ms, p99 {1000 * ordered[len(ordered) * 99 // 100]:.0f} ms, longest {1000 * ordered[-1]:.0f} ms"


def main():
    for server, package in (Postgres, "postgresql"), (Redis, "redis-server"):
        if not server.is_installed():
            print(f"SKIPPED: install the Debian package {package} (scripts/test --full)")
            sys.exit(77)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # leave no process behind
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        for part in ("pg", "redis", "serve"):
            (folder / part).mkdir()
        redis = Redis(folder / "redis")
        postgres = Postgres(folder / "pg")
        server = Server(folder / "serve", postgres, redis)
        load = Load(server.port)
        wrong, lost = [], []
        try:
            wait_for_click(load)
            for backend in (postgres, redis):
                for fault in FAULTS if ONLY in ("", backend.name) else ():
                    marks = len(load.searches), len(load.clicks), load.refused, len(load.faults)
                    for _ in range(EPISODES):
                        happen(backend, fault)
                        wait_for_click(load)
                    print(f"{backend.name} {fault}, {EPISODES} times: {len(load.searches) - marks[0]} searches, {len(load.faults) - marks[3]} wrong, "
                          f"{shares(load.searches[marks[0]:])}; {len(load.clicks) - marks[1]} clicks, {load.refused - marks[2]} refused, "
                          f"{shares(load.clicks[marks[1]:])}; {len(missing(postgres, list(load.acknowledged)))} of "
                          f"{len(load.acknowledged)} acknowledged ones lost", flush=True)
            load.end()
            lost = missing(postgres, load.acknowledged)
            begin = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            status = server.process.wait(timeout=60)
            print(f"{len(load.acknowledged)} clicks acknowledged, {len(lost)} lost; SIGTERM: status {status} after {time.monotonic() - begin:.1f} s")
            wrong = load.faults + ([f"the server ended with {status}"] if status else [])
        finally:
            load.end()
            server.process.kill()
            postgres.process.kill()
            redis.process.kill()
        sys.exit(1 if wrong or lost else 0)


main()
