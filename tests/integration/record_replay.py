#!/usr/bin/env python3
"""`metafuse record` as its user sees it: it is polite, shows progress, continues after a kill, and replays byte for byte.

usage: record_replay.py METAFUSE. The engines are HTTP servers of this script on loopback, one of which fails."""
import http.server
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import json_engine

METAFUSE = os.path.abspath(sys.argv[1])
QUERIES = 12
PER_SECOND = 25
asked = []  # (time, path)


class Engine(json_engine.JsonEngine):
    def do_GET(self):
        asked.append((time.monotonic(), self.path))
        words = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["q"][0]
        results = [{"u": f"http://site.example/{words}/{i}", "t": f"{words} {i}", "c": "text"} for i in range(5)]
        if self.path.startswith("/b") and words == "word3":
            self.send(500, json.dumps({"r": "this engine is out of order"}).encode())
        else:
            self.send(200, json.dumps({"r": results}).encode())


def require(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")


def write_files(folder, port):
    block = json_engine.DEFINITION + ", max_connections: 1"
    (folder / "engines.yaml").write_text(
        f"engines:\n  - {{name: a, search_url: \"http://127.0.0.1:{port}/a?q={{query}}\", {block}, requests_per_second: {PER_SECOND}}}\n"
        f"  - {{name: b, search_url: \"http://127.0.0.1:{port}/b?q={{query}}\", {block}}}\n")
    (folder / "t.yaml").write_text("version: 1\ndomain: d\nslots:\n  Q: {required: true}\ntemplates:\n"
                                   "  - {id: plain, engine: [a, b], query: '{Q}'}\n  - {id: none, engine: a, query: '{Q} nothing'}\n")
    base = "version: 1\ndefault_domain: d\ntemplates: [t.yaml]\nengines: [engines.yaml]\n"
    (folder / "live.yaml").write_text(base)
    (folder / "replay.yaml").write_text(base + "recordings: {mode: replay, directory: rec}\n")
    (folder / "queries.jsonl").write_text("".join(
        json.dumps({"id": f"q{i}", "slots": {"Q": f"word{i}"}, "relevant": [{"url": f"https://www.site.example/word{i}/2/"}]}) + "\n"
        for i in range(QUERIES)))


def record_command(folder, output):
    return [METAFUSE, "record", "--config", str(folder / "live.yaml"), "--domain", "d", "--queries", str(folder / "queries.jsonl"),
            "--output", str(folder / output)]


def record(folder, output):
    done = subprocess.run(record_command(folder, output), capture_output=True, text=True)
    require(done.returncode == 0, f"record ends with {done.returncode}: {done.stderr}")
    return done.stdout + done.stderr


def files_of(folder, output):
    names = ["qrels", "urls.tsv"] + [f"runs/{path.name}" for path in sorted((folder / output / "runs").iterdir())]
    return {name: (folder / output / name).read_bytes() for name in names}


def check_polite(folder):
    said = record(folder, "rec")
    require("1 lists failed" in said and "HTTP 500" in said, f"the failure is counted and named: {said}")
    times = [at for at, path in asked if path.startswith("/a")]
    require(len(times) == 2 * QUERIES, f"each query is asked once: {len(times)}")
    least = (len(times) - 1) / PER_SECOND
    require(times[-1] - times[0] > 0.9 * least, f"{len(times)} requests within {times[-1] - times[0]:.2f} s, not {least:.2f} s")


def check_resumes(folder):
    """Kills a recording halfway and runs it again: the files must be the same, and finished queries must not be sent again."""
    asked.clear()
    child = subprocess.Popen(record_command(folder, "cut"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(asked) < 3 * QUERIES // 2:
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    child.wait()
    require(not (folder / "cut" / "qrels").exists(), "a killed run leaves no half-written qrels")
    before = len(asked)
    said = record(folder, "cut")
    require("of them from an earlier run" in said and " 0 of them" not in said, f"it goes on: {said}")
    require(before + len(asked[before:]) <= 3 * QUERIES + 6, f"{len(asked)} requests for {3 * QUERIES} lists")
    require(files_of(folder, "cut") == files_of(folder, "rec"), "the files of a resumed run are those of a whole one")
    asked.clear()
    record(folder, "cut")
    require(len(asked) == 3, f"a complete recording asks again for the query with the failed list alone, not {len(asked)} lists")


def check_progress(folder):
    master, slave = pty.openpty()
    child = subprocess.Popen(record_command(folder, "bar"), stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            block = os.read(master, 4096)
        except OSError:
            break
        if not block:
            break
        shown += block
    child.wait()
    require(b"record" in shown and f"/{QUERIES}".encode() in shown.replace(b" ", b""), f"a bar on a terminal: {shown[:200]!r}")


def search(folder, config, words, status=0):
    done = subprocess.run([METAFUSE, "search", "--config", str(folder / config), "--set", f"Q={words}", "--json", "--explain"],
                          capture_output=True, text=True, cwd=folder)
    require(done.returncode == status, f"search in {config}: {done.stderr}")
    return done.stdout


def results_of(text):
    answer = json.loads(text)
    return [(result["url"], result["title"], result["score"]) for result in answer["results"]]


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="metafuse-record-") as name:
        folder = pathlib.Path(name)
        write_files(folder, server.server_address[1])
        check_polite(folder)
        check_resumes(folder)
        check_progress(folder)
        live = {words: search(folder, "live.yaml", words) for words in ("word1", "word3")}
        server.shutdown()
        server.server_close()
        for words, text in live.items():
            first = search(folder, "replay.yaml", words)
            require(results_of(first) == results_of(text) and results_of(first), f"the replay of {words} is what was live")
            for _ in range(3):
                require(search(folder, "replay.yaml", words) == first, f"the replay of {words} is the same, byte for byte")
        require("not_recorded" in search(folder, "replay.yaml", "unknown", status=69), "what was not recorded is named")
    print("record is polite, resumes, shows progress, and replays byte for byte")


main()
