#!/usr/bin/env python3
"""Searches a real engine on loopback through its engine type: groonga, Xapian Omega behind nginx and fcgiwrap, nginx, or SQLite.

usage: real_engines.py METAFUSE groonga|omega|nginx|sqlite. Its server has a free port and a folder of its own. Ends with status 77 if the
engine is not installed."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "demo"))
from loopback_engines import groonga, nginx, omega, sqlite, stop_all, wait_for

METAFUSE = sys.argv[1]
DOCUMENTS = [
    ("http://browser.example/", "Web browser", "a fast browser for reading pages of the web"),
    ("http://editor.example/", "Text editor", "edits texts and programs"),
    ("http://mail.example/", "Mail reader", "reads mail and news, no browser"),
    ("http://paint.example/", "Paint program", "draws pictures"),
]
EXPECTED = {  # query -> pages in any order, for engines that search words with AND
    "browser": {"http://browser.example/", "http://mail.example/"},
    "program": {"http://paint.example/"},
}


def static_pages(folder, documents):
    if not shutil.which("nginx"):
        return None
    os.makedirs(f"{folder}/www")
    for query, urls in EXPECTED.items():
        hits = [(url, title, text) for url, title, text in documents if url in urls]
        items = "".join(f"<li><a href='{url}'>{title}</a><p>{text}</p></li>" for url, title, text in hits)
        pathlib.Path(f"{folder}/www/{query}.html").write_text(f"<meta charset=utf-8><ul>{items}</ul>")
    os.chmod(folder, 0o755)
    port = nginx(folder, f"root {folder}/www;", "static")
    wait_for(f"http://127.0.0.1:{port}/browser.html")
    return (f'{{name: nginx, engine: xpath, search_url: "http://127.0.0.1:{port}/{{query}}.html", results_xpath: "//li", '
            'url_xpath: "./a/@href", title_xpath: "./a", content_xpath: "./p"}')


def ask(definitions, name, query, *more):
    done = subprocess.run([METAFUSE, "engines", "try", name, query, "--config", definitions, "--json", *more],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: {name}, {query}: {done.stderr}")
    return json.loads(done.stdout)["results"]


def check(definitions, name):
    for query, expected in EXPECTED.items():
        hits = ask(definitions, name, query)
        urls = {hit["url"] for hit in hits}
        # Xapian's stemmer also finds "programs".
        if name == "omega" and query == "program":
            urls.discard("http://editor.example/")
        if urls != expected:
            raise SystemExit(f"FAILED: {name}, {query}: {sorted(urls)} instead of {sorted(expected)}")
        if any(not hit["title"] or not hit["content"] for hit in hits):
            raise SystemExit(f"FAILED: {name}, {query}: a hit without title or content: {hits}")
    if name != "nginx":
        first, second = (ask(definitions, name, "browser", "--limit", "1", "--page", page) for page in "12")
        if len(first) != 1 or len(second) != 1 and name != "sqlite" or first == second:
            raise SystemExit(f"FAILED: {name}: page 2 is {second} after {first}")
    print(f"{name}: the right pages, in order, with title and content")


def main():
    name = sys.argv[2]
    make = {"groonga": groonga, "omega": omega, "nginx": static_pages, "sqlite": sqlite}[name]
    with tempfile.TemporaryDirectory(prefix="metafuse-engines-") as folder:
        os.chmod(folder, 0o755)
        own = pathlib.Path(folder) / name
        own.mkdir()
        block = make(own, DOCUMENTS)
        if block is None:
            print(f"SKIPPED: {name} is not installed (scripts/test --full)")
            return 77
        definitions = f"{folder}/engines.yaml"
        pathlib.Path(definitions).write_text(f"engines:\n  - {block}\n")
        check(definitions, name)
    return 0


try:
    sys.exit(main())
finally:
    stop_all()
