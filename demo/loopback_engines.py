"""Real engines on free loopback ports, each with the same documents (url, title, text): groonga's HTTP server, Xapian Omega
behind nginx and fcgiwrap, a SQLite file. Each function returns the engine's definition, or None where it is not installed."""
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.request

OMEGA = "/usr/lib/cgi-bin/omega/omega"
running = []


def stop_all():
    for process in running:
        process.send_signal(signal.SIGTERM)
    for process in running:
        process.wait()


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


def groonga(folder, documents):
    if not shutil.which("groonga"):
        return None
    load = json.dumps([{"_key": url, "title": title, "text": text} for url, title, text in documents])
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


def omega(folder, documents):
    if not (shutil.which("nginx") and shutil.which("fcgiwrap") and shutil.which("scriptindex") and os.path.exists(OMEGA)):
        return None
    pathlib.Path(f"{folder}/script").write_text("url : field=url unique=Q boolean=Q\ntitle : field=title weight=10 index\n"
                                                "sample : field=sample weight=1 index\n")
    pathlib.Path(f"{folder}/dump").write_text(
        "\n".join(f"url={url}\ntitle={title}\nsample={text}\n" for url, title, text in documents))
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


def sqlite(folder, documents):
    database = sqlite3.connect(f"{folder}/pages.sqlite")
    database.execute("CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, title, content)")
    database.executemany("INSERT INTO page VALUES(?, ?, ?)", documents)
    database.commit()
    return (f'{{name: sqlite, engine: sqlite, database: {folder}/pages.sqlite, '
            'query_str: "SELECT url, title, content FROM page WHERE page MATCH :query ORDER BY rank LIMIT :limit"}')
