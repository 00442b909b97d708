#!/usr/bin/env python3
"""Records answers of real engines into tests/data/recorded: groonga, Xapian Omega and nginx's folder listing as Debian packages
them, on loopback, over documents of our own.

usage: record_answers.py [FOLDER]. The packages are groonga-bin, xapian-omega, fcgiwrap and nginx-light. Ports are replaced by 8080
and times by fixed ones, so that another run gives the same bytes."""
import json
import pathlib
import re
import sys
import tempfile
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
from loopback_engines import groonga, nginx, omega, stop_all, wait_for

DOCUMENTS = [
    ("http://otter.example/rivers", "Otters & rivers", "Where otters swim, and why a river <needs> them"),
    ("http://otter.example/food", "What otters eat", "Fish, crabs, and now and then a frog"),
    ("http://beaver.example/dams", "Beavers' dams", "How a beaver changes a river; otters profit"),
    ("http://heron.example/", "The heron", "It waits at the river for fish \u2013 patiently"),
    ("http://mole.example/", "The mole", "Digs, and avoids water"),
]


def base_url(definition):
    return re.search(r'base_url: "([^"]+)"', definition).group(1)


def answer(url):
    text = urllib.request.urlopen(url, timeout=10).read().decode()
    return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8080", text)


def groonga_answer(folder):
    query = {"table": "Pages", "match_columns": "title * 10 || text", "query": "otters", "limit": "10",
             "output_columns": "_key,title,text,_score", "sort_keys": "-_score"}
    text = answer(f"{base_url(groonga(folder, DOCUMENTS))}/d/select?{urllib.parse.urlencode(query)}")
    head, body = json.loads(text)
    head[1:3] = [1700000000.0, 0.001]  # when it was asked, and how long that took
    return json.dumps([head, body], ensure_ascii=False) + "\n"


def omega_answer(folder):
    return re.sub(r"\d+\.\d+(?=</time|\" ?seconds)", "0.001",
                  answer(f"{base_url(omega(folder, DOCUMENTS))}?DB=default&P=otters&FMT=xml&HITSPERPAGE=10"))


def nginx_answer(folder):
    shelf = pathlib.Path(folder, "www", "manuals")
    shelf.mkdir(parents=True)
    for name in ("heron.txt", "mole.txt", "otters.html"):
        (shelf / name).write_text("a manual\n")
    pathlib.Path(folder).chmod(0o755)
    port = nginx(folder, f"root {folder}/www; autoindex on; autoindex_format json;", "listing")
    wait_for(f"http://127.0.0.1:{port}/manuals/")
    listing = json.loads(answer(f"http://127.0.0.1:{port}/manuals/"))
    for file in listing:
        file["mtime"] = "Tue, 14 Nov 2023 22:13:20 GMT"
    return json.dumps(listing, indent=1) + "\n"


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests" / "data" / "recorded"
    target.mkdir(parents=True, exist_ok=True)
    try:
        for name, record in (("groonga.json", groonga_answer), ("omega.xml", omega_answer), ("nginx.json", nginx_answer)):
            with tempfile.TemporaryDirectory(prefix="metafuse-record-", ignore_cleanup_errors=True) as folder:
                pathlib.Path(folder).chmod(0o755)
                (target / name).write_text(record(folder))
    finally:
        stop_all()


if __name__ == "__main__":
    main()
