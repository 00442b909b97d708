"""A server over 16 local nginx files of 30 results, for the benchmarks that need one; a module, not a program.

Needs Debian's nginx-light.
"""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

import usage

ENGINES = 16
RESULTS = 30
TICK = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_seconds(pids):
    total = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def with_children(process):
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [process.pid, *map(int, children)]


def proportional_mib(pid, kind="Pss"):
    """All of a process's memory; with "Pss_Anon", only what it wrote itself, whatever other processes share its libraries."""
    smaps = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in smaps.splitlines() if line.startswith(kind + ":")) / 1024


def write_engines(folder, port):
    for engine in range(ENGINES):
        results = []
        for rank in range(RESULTS):
            number = (rank * 7 + engine * 11) % 90
            results.append({"url": f"https://site{number}.example/page/{number}", "title": f"Page {number} of the site",
                            "content": "Some words that a search engine shows under the title of a result. " * 4})
        (folder / f"html/e{engine}").mkdir()
        (folder / f"html/e{engine}/search.json").write_text(json.dumps({"results": results}))
    lines = ["engines:"]
    for engine in range(ENGINES):
        lines += [f"  - name: e{engine}", "    engine: json_engine",
                  f'    search_url: "http://127.0.0.1:{port}/e{engine}/search.json?q={{query}}"',
                  "    results_query: results", "    url_query: url", "    title_query: title",
                  "    content_query: content", "    timeout: 3.0"]
    (folder / "engines.yaml").write_text("\n".join(lines) + "\n")


def write_template(folder):
    """A domain that asks all engines."""
    (folder / "templates").mkdir()
    names = ", ".join(f"e{engine}" for engine in range(ENGINES))
    (folder / "templates/bench.yaml").write_text(
        "version: 1\ndomain: bench\nslots: {QUERY: {required: true}}\ntemplates:\n"
        f"  - {{id: plain, engine: [{names}], query: '{{QUERY}}'}}\n")


def write_files(folder, port):
    (folder / "html").mkdir()
    write_engines(folder, port)
    write_template(folder)
    (folder / "nginx.conf").write_text(
        f"worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        "events { worker_connections 1024; }\n"
        f"http {{ access_log off; keepalive_requests 10000000; client_body_temp_path {folder}/t1; "
        f"proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; "
        f"scgi_temp_path {folder}/t5;\n"
        f"  server {{ listen 127.0.0.1:{port}; root {folder}/html; default_type application/json; }} }}\n")


@contextlib.contextmanager
def engines():
    """A folder with everything that a server's configuration names, and a running nginx whose port is in its files."""
    print(f"load average at start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="metafuse-bench-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        port = free_port()
        write_files(folder, port)
        nginx = subprocess.Popen([usage.program("/usr/sbin/nginx", "nginx-light"), "-c", folder / "nginx.conf", "-e", folder / "error.log"])
        try:
            time.sleep(0.3)
            yield folder, port, nginx
        finally:
            nginx.terminate()
            nginx.wait()


@contextlib.contextmanager
def server(metafuse, folder, settings):
    """A running server with these YAML settings in addition to the common ones: its process, port, and milliseconds until ready. Its
    log is server.log in the folder."""
    (folder / "serve.yaml").write_text(
        f"version: 1\nlisten: 127.0.0.1:0\ntemplates: [templates/*.yaml]\nengines: [engines.yaml]\n{settings}\n")
    begin = time.perf_counter()
    with open(folder / "server.log", "w") as log:
        process = subprocess.Popen([metafuse, "serve", "--config", folder / "serve.yaml"], stdout=subprocess.PIPE,
                                   stderr=log, text=True)
    try:
        line = process.stdout.readline().strip()
        ready_ms = (time.perf_counter() - begin) * 1e3
        yield process, int(line.rsplit(":", 1)[1]), ready_ms
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def start_load(build, port, rate, seconds, connections, target):
    """Starts bench/load_client, which prints one JSON object."""
    return subprocess.Popen([build / "bench/load_client", str(port), f"{rate:g}", f"{seconds:g}", str(connections), target],
                            stdout=subprocess.PIPE, text=True)


def outcome(client):
    """The output of start_load, once the client has ended."""
    text = client.communicate()[0]
    return json.loads(text) if text else sys.exit("load_client ended without a word")
