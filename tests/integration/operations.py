#!/usr/bin/env python3
"""The promises of docs/operations.md: alerts with runbooks on metrics that exist, and a backup that can be restored.

usage: operations.py METAFUSE. The alerts' own tests run if promtool is installed (Debian's package `prometheus`); otherwise that
part reports that it was skipped.
"""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import urllib.request

METAFUSE = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
MONITORING = ROOT / "packaging" / "monitoring"


def check_alerts():
    rules = (MONITORING / "alerts.yaml").read_text()
    dashboard = (MONITORING / "dashboard.json").read_text()
    runbooks = set(re.findall(r"^### (\w+)$", (ROOT / "docs/operations.md").read_text(), re.M))
    alerts = set(re.findall(r"- alert: (\w+)", rules))
    assert alerts == runbooks, f"alerts without runbook or runbooks without alert: {alerts ^ runbooks}"
    tested = set(re.findall(r"alertname: (\w+)", (MONITORING / "alerts_test.yaml").read_text()))
    assert alerts == tested, f"alerts without a test: {alerts - tested}"
    known = set(re.findall(r'"(metafuse_\w+)"', "".join(
        path.read_text() for path in (ROOT / "service").rglob("*.[ch]*"))))
    named = set(re.findall(r"metafuse_\w+", rules + dashboard))
    missing = {name for name in named if re.sub(r"_(bucket|sum|count)$", "", name) not in known and name not in known}
    assert not missing, f"no such metric: {missing}"
    assert len(json.loads(dashboard)["panels"]) >= 12
    if shutil.which("promtool") is None:
        print("skipped: the alerts' tests; promtool is missing (package prometheus)")
        return
    subprocess.run(["promtool", "test", "rules", str(MONITORING / "alerts_test.yaml")], check=True)


class Server:
    def __init__(self, folder):
        self.process = subprocess.Popen([METAFUSE, "serve", "--config", str(folder / "metafuse.yaml"), "--listen",
                                         "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.base = self.process.stdout.readline().strip()

    def ask(self, path, body):
        request = urllib.request.Request(self.base + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(30) == 0


def rows_of(store):
    said = subprocess.run([METAFUSE, "store", "check", "--store", str(store)], check=True, capture_output=True, text=True).stdout
    return [int(number) for number in re.findall(r"(\d+) (?:searches|clicks)", said)]


def check_backup(folder):
    (folder / "pages").mkdir()
    for word in ("apple", "banana", "cherry"):
        (folder / "pages" / f"{word}.txt").write_text(f"{word} fruit\n")
    subprocess.run([METAFUSE, "init", str(folder / "mine"), "--documents", str(folder / "pages")], check=True,
                   stdout=subprocess.DEVNULL)
    store = folder / "mine" / "metafuse.db"
    with Server(folder / "mine") as server:
        found = server.ask("/v1/search", {"query": "apple"})
        assert found["results"], found
        while rows_of(store)[0] == 0:  # searches are stored after their answers
            pass
        copy = folder / "backup.db"
        source, target = sqlite3.connect(store), sqlite3.connect(copy)
        source.backup(target)  # as `sqlite3 FILE ".backup COPY"` does
        source.close()
        target.close()
        server.ask("/v1/search", {"query": "banana"})
    assert rows_of(copy) == [1, 0], rows_of(copy)
    for path in store.parent.glob("metafuse.db*"):
        if not path.name.endswith(".secret"):
            path.unlink()
    shutil.copy(copy, store)
    with Server(folder / "mine") as server:
        server.ask("/v1/feedback", {"search_id": found["search_id"], "position": 1, "kind": "click"})
    assert rows_of(store) == [1, 1], rows_of(store)


check_alerts()
with tempfile.TemporaryDirectory() as name:
    check_backup(pathlib.Path(name))
print("alerts have runbooks, tests and metrics; a backup was taken, checked and restored")
