#!/usr/bin/env python3
"""Served searches over 16 local nginx files of 30 results: CPU-milliseconds of each process, latency, throughput.

usage: bench/serve_bench.py METAFUSE [SECONDS]
Prints one table. Needs nginx and curl's libcurl only; clients are threads of this script over keep-alive connections.
"""
import http.client
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

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


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def write_engines(folder, port):
    for engine in range(ENGINES):
        results = []
        for rank in range(RESULTS):
            number = (rank * 7 + engine * 11) % 90
            results.append({"url": f"https://site{number}.example/page/{number}", "title": f"Page {number} of the site",
                            "content": "Some words that a search engine shows under the title of a result. " * 4})
        (folder / f"html/e{engine}.json").write_text(json.dumps({"results": results}))
    lines = ["engines:"]
    for engine in range(ENGINES):
        lines += [f"  - name: e{engine}", "    engine: json_engine",
                  f'    search_url: "http://127.0.0.1:{port}/e{engine}.json?q={{query}}"',
                  "    results_query: results", "    url_query: url", "    title_query: title",
                  "    content_query: content", "    timeout: 3.0"]
    (folder / "engines.yaml").write_text("\n".join(lines) + "\n")


def write_files(folder, port):
    (folder / "html").mkdir()
    (folder / "templates").mkdir()
    write_engines(folder, port)
    names = ", ".join(f"e{engine}" for engine in range(ENGINES))
    (folder / "templates/bench.yaml").write_text(
        "version: 1\ndomain: bench\nslots: {QUERY: {required: true}}\ntemplates:\n"
        f"  - {{id: plain, engine: [{names}], query: '{{QUERY}}'}}\n")
    for name, entries in (("uncached", 0), ("cached", 4096)):
        (folder / f"{name}.yaml").write_text(
            "version: 1\nlisten: 127.0.0.1:0\ntemplates: [templates/*.yaml]\nengines: [engines.yaml]\n"
            f"cache: {{entries: {entries}, seconds: 600}}\n")
    (folder / "nginx.conf").write_text(
        f"worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        "events { worker_connections 1024; }\n"
        f"http {{ access_log off; keepalive_requests 10000000; client_body_temp_path {folder}/t1; "
        f"proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; "
        f"scgi_temp_path {folder}/t5;\n"
        f"  server {{ listen 127.0.0.1:{port}; root {folder}/html; default_type application/json; }} }}\n")


def client(address, until, varies, times, bad):
    connection = http.client.HTTPConnection(*address)
    count = 0
    while time.perf_counter() < until:
        count += 1
        query = f"q{threading.get_ident()}x{count}" if varies else "q"
        begin = time.perf_counter()
        connection.request("GET", f"/search?q={query}&format=json")
        response = connection.getresponse()
        response.read()
        times.append(time.perf_counter() - begin)
        if response.status != 200:
            bad.append(response.status)


def measure(address, seconds, clients, varies):
    times, bad = [], []
    until = time.perf_counter() + seconds
    threads = [threading.Thread(target=client, args=(address, until, varies, times, bad)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(times), bad


def serve(metafuse, folder, name):
    begin = time.perf_counter()
    server = subprocess.Popen([metafuse, "serve", "--config", folder / f"{name}.yaml"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    line = server.stdout.readline().strip()
    ready_ms = (time.perf_counter() - begin) * 1e3
    host, port = line.removeprefix("http://").split(":")
    return server, (host, int(port)), ready_ms


def row(metafuse, folder, nginx, name, clients, seconds):
    server, address, ready_ms = serve(metafuse, folder, name)
    varies = name == "uncached"
    measure(address, 0.5, clients, varies)
    nginx_pids = [nginx.pid, *children(nginx.pid)]
    before = cpu_seconds([server.pid]), cpu_seconds(nginx_pids), sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    times, bad = measure(address, seconds, clients, varies)
    after = cpu_seconds([server.pid]), cpu_seconds(nginx_pids), sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    own, theirs, ours = ((b - a) * 1e3 / max(1, len(times)) for a, b in zip(before, after))
    smaps = pathlib.Path(f"/proc/{server.pid}/smaps_rollup").read_text()
    pss = next(int(line.split()[1]) for line in smaps.splitlines() if line.startswith("Pss:")) / 1024
    server.send_signal(signal.SIGTERM)
    server.wait()
    at = lambda share: times[min(len(times) - 1, int(share * len(times)))] * 1e3
    print(f"{name:9} {clients:7d} {len(times):8d} {len(times) / seconds:9.0f} {at(0.5):8.2f} {at(0.99):8.2f} "
          f"{own:12.3f} {theirs:9.3f} {ours:10.3f} {len(bad):6d} {ready_ms:8.0f} {pss:8.1f}")


def main():
    metafuse = os.path.abspath(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory(prefix="metafuse-bench-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        port = free_port()
        write_files(folder, port)
        nginx = subprocess.Popen(["/usr/sbin/nginx", "-c", folder / "nginx.conf", "-e", folder / "error.log"])
        try:
            time.sleep(0.3)
            print(f"load average at start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            print("mode      clients requests  per_sec   p50_ms   p99_ms metafuse_cpu nginx_cpu client_cpu   bad ready_ms  pss_MiB")
            for mode, clients in (("uncached", 1), ("uncached", 8), ("cached", 8)):
                row(metafuse, folder, nginx, mode, clients, seconds)
        finally:
            nginx.terminate()
            nginx.wait()


main()
