#!/usr/bin/env python3
"""Asks real engines on loopback through their engine types: groonga, Xapian Omega behind nginx and fcgiwrap, nginx, SQLite.

usage: real_engines.py METAFUSE. Each server takes a free port and a folder of its own; what is not installed is SKIPPED."""
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

METAFUSE = sys.argv[1]
OMEGA = "/usr/lib/cgi-bin/omega/omega"
DOCUMENTS = [
    ("http://browser.example/", "Web browser", "a fast browser for reading pages of the web"),
    ("http://editor.example/", "Text editor", "edits texts and programs"),
    ("http://mail.example/", "Mail reader", "reads mail and news, no browser"),
    ("http://paint.example/", "Paint program", "draws pictures"),
]
EXPECTED = {  # query -> pages in any order, for engines with words and AND
    "browser": {"http://browser.example/", "http://mail.example/"},
    "program": {"http://paint.example/"},
}
running = []


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url):
    for _ in range(200):
        try:
            return urllib.request.urlopen(url, timeout=5).read()
        except urllib.error.HTTPError:
            return b""
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"FAILED: no answer at {url}")


def start(*command, **more):
    running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more))
    return running[-1]


def groonga(folder):
    if not shutil.which("groonga"):
        return None
    load = json.dumps([{"_key": url, "title": title, "text": text} for url, title, text in DOCUMENTS])
    schema = f"""table_create Pages TABLE_HASH_KEY ShortText
column_create Pages title COLUMN_SCALAR ShortText
column_create Pages text COLUMN_SCALAR Text
table_create Terms TABLE_PAT_KEY ShortText --default_tokenizer TokenBigram --normalizer NormalizerAuto
column_create Terms of_title COLUMN_INDEX|WITH_POSITION Pages title
column_create Terms of_text COLUMN_INDEX|WITH_POSITION Pages text
load --table Pages
{load}
"""
    subprocess.run(["groonga", "-n", f"{folder}/groonga.db"], input=schema, text=True, check=True, capture_output=True)
    port = free_port()
    start("groonga", "-s", "--protocol", "http", "--bind-address", "127.0.0.1", "-p", str(port), f"{folder}/groonga.db")
    wait_for(f"http://127.0.0.1:{port}/d/status")
    return f'{{name: groonga, engine: groonga, base_url: "http://127.0.0.1:{port}", table: Pages, match_columns: "title * 10 || text"}}'


def nginx(folder, locations, name):
    port = free_port()
    pathlib.Path(f"{folder}/{name}.conf").write_text(
        f"daemon off; pid {folder}/{name}.pid; error_log /dev/null; worker_processes 1;\n"
        "events { worker_connections 64; }\n"
        f"http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;"
        f" uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n"
        f" server {{ listen 127.0.0.1:{port}; {locations} }} }}\n")
    start("nginx", "-c", f"{folder}/{name}.conf", "-p", str(folder))
    return port


def omega(folder):
    if not (shutil.which("nginx") and shutil.which("fcgiwrap") and shutil.which("scriptindex") and os.path.exists(OMEGA)):
        return None
    pathlib.Path(f"{folder}/script").write_text("url : field=url unique=Q boolean=Q\ntitle : field=title weight=10 index\n"
                                                "sample : field=sample weight=1 index\n")
    pathlib.Path(f"{folder}/dump").write_text(
        "\n".join(f"url={url}\ntitle={title}\nsample={text}\n" for url, title, text in DOCUMENTS))
    os.makedirs(f"{folder}/omega-data")
    subprocess.run(["scriptindex", f"{folder}/omega-data/default", f"{folder}/script", f"{folder}/dump"], check=True,
                   capture_output=True)
    pathlib.Path(f"{folder}/omega-settings").write_text(
        f"database_dir {folder}/omega-data\ntemplate_dir /usr/share/xapian-omega/templates\nlog_dir {folder}\ncdb_dir {folder}\n")
    start("fcgiwrap", "-s", f"unix:{folder}/fcgi.sock")
    for _ in range(200):
        if os.path.exists(f"{folder}/fcgi.sock"):
            break
        time.sleep(0.02)
    os.chmod(folder, 0o755)
    os.chmod(f"{folder}/fcgi.sock", 0o777)
    port = nginx(folder, "location /omega { fastcgi_pass unix:" + f"{folder}/fcgi.sock;"
                 " fastcgi_param QUERY_STRING $query_string; fastcgi_param REQUEST_METHOD $request_method;"
                 f" fastcgi_param SCRIPT_FILENAME {OMEGA}; fastcgi_param OMEGA_CONFIG_FILE {folder}/omega-settings; }}", "omega")
    wait_for(f"http://127.0.0.1:{port}/omega?FMT=xml")
    return f'{{name: omega, engine: omega, base_url: "http://127.0.0.1:{port}/omega", database: default}}'


def static_pages(folder):
    if not shutil.which("nginx"):
        return None
    os.makedirs(f"{folder}/www")
    for query, urls in EXPECTED.items():
        hits = [(url, title, text) for url, title, text in DOCUMENTS if url in urls]
        items = "".join(f"<li><a href='{url}'>{title}</a><p>{text}</p></li>" for url, title, text in hits)
        pathlib.Path(f"{folder}/www/{query}.html").write_text(f"<meta charset=utf-8><ul>{items}</ul>")
    os.chmod(folder, 0o755)
    port = nginx(folder, f"root {folder}/www;", "static")
    wait_for(f"http://127.0.0.1:{port}/browser.html")
    return (f'{{name: nginx, engine: xpath, search_url: "http://127.0.0.1:{port}/{{query}}.html", results_xpath: "//li", '
            'url_xpath: "./a/@href", title_xpath: "./a", content_xpath: "./p"}')


def sqlite(folder):
    database = sqlite3.connect(f"{folder}/pages.sqlite")
    database.execute("CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, title, content)")
    database.executemany("INSERT INTO page VALUES(?, ?, ?)", DOCUMENTS)
    database.commit()
    return (f'{{name: sqlite, engine: sqlite, database: {folder}/pages.sqlite, '
            'query_str: "SELECT url, title, content FROM page WHERE page MATCH :query ORDER BY rank LIMIT :limit"}')


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
    with tempfile.TemporaryDirectory(prefix="metafuse-engines-") as folder:
        names, missing = [], []
        lines = ["engines:"]
        for make in (groonga, omega, static_pages, sqlite):
            own = pathlib.Path(folder) / make.__name__
            own.mkdir()
            os.chmod(folder, 0o755)
            block = make(own)
            if block is None:
                missing.append(make.__name__)
                continue
            lines.append("  - " + block)
            names.append(block.split(",")[0].removeprefix("{name: "))
        definitions = f"{folder}/engines.yaml"
        pathlib.Path(definitions).write_text("\n".join(lines) + "\n")
        for name in names:
            check(definitions, name)
        if missing:
            print("SKIPPED: not installed: " + ", ".join(missing))


try:
    main()
finally:
    for process in running:
        process.send_signal(signal.SIGTERM)
    for process in running:
        process.wait()
