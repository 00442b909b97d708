#!/usr/bin/env python3
"""Uncached searches over 16 engines by TLS 1.3 and by HTTP/2, each engine a host of its own, compared with plain HTTP.

usage: bench/tls_bench.py METAFUSE [ROUNDS]
Makes a certificate authority and certificates with openssl, and lets nginx serve 16 names below .localhost. Prints the processor
milliseconds per search on persistent connections, measured in turns, and their ratio; the handshakes of the first search and of
later ones, from nginx's log; and how connections are set up again after nginx has closed every idle one: by a full handshake or
by resumption. Needs Debian's nginx-light and openssl.
"""
import collections
import contextlib
import os
import pathlib
import statistics
import subprocess
import time

import bursts
import local_service
import usage

IDLE_SECONDS = 8


def make_certificates(folder):
    run = lambda *words: subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    run("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30", "-subj", "/CN=benchmark authority")
    run("req", *key, "-keyout", "host.key", "-out", "host.csr", "-subj", "/CN=localhost")
    names = ",".join(f"DNS:e{i}.localhost" for i in range(local_service.ENGINES))
    (folder / "names").write_text(f"subjectAltName={names}\n")
    run("x509", "-req", "-in", "host.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "host.pem",
        "-days", "30", "-extfile", "names")


def write_nginx(folder, ports):
    """Plain HTTP, TLS and HTTP/2 on one port each; host names select the files."""
    common = f"server_name ~^(?<engine>e\\d+)\\.localhost$; root {folder}/html/$engine; default_type application/json;"
    tls = (f"ssl_certificate {folder}/host.pem; ssl_certificate_key {folder}/host.key; ssl_protocols TLSv1.3; "
           "ssl_session_cache shared:bench:2m;")
    (folder / "nginx.conf").write_text(
        f"worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        "events { worker_connections 1024; }\n"
        "http { log_format handshakes '$server_port $connection_requests $ssl_session_reused $ssl_protocol $server_protocol';\n"
        f"  access_log {folder}/access.log handshakes; keepalive_requests 10000000; keepalive_timeout {IDLE_SECONDS};\n"
        f"  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; "
        f"uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;\n"
        f"  server {{ listen 127.0.0.1:{ports['plain']}; {common} }}\n"
        f"  server {{ listen 127.0.0.1:{ports['tls']} ssl; {tls} {common} }}\n"
        f"  server {{ listen 127.0.0.1:{ports['http2']} ssl http2; {tls} {common} }} }}\n")


def write_engines(folder, kind, port):
    scheme = "http" if kind == "plain" else "https"
    lines = ["engines:"]
    for i in range(local_service.ENGINES):
        lines += [f"  - name: e{i}", "    engine: json_engine",
                  f'    search_url: "{scheme}://e{i}.localhost:{port}/search.json?q={{query}}"', "    results_query: results",
                  "    url_query: url", "    title_query: title", "    content_query: content", "    timeout: 3.0",
                  f"    verify: {folder}/ca.pem"]
    (folder / "engines.yaml").write_text("\n".join(lines) + "\n")


def handshakes(folder, port, count_before):
    """Of the requests since then, how many were the first of a new connection and of a resumed one; and all requests."""
    lines = (folder / "access.log").read_text().splitlines()[count_before:]
    made = collections.Counter()
    for line in lines:
        fields = line.split(" ")
        if fields[0] != str(port):
            continue
        made["requests"] += 1
        if fields[1] == "1":
            made["resumed" if fields[2] == "r" else "new"] += 1
    return made


def logged(folder):
    return len((folder / "access.log").read_text().splitlines())


def told(made):
    return f"{made['requests']} requests, {made['new']} handshakes anew, {made['resumed']} resumed"


def main():
    program, *rounds = usage.arguments(__doc__, 1, 2)
    metafuse = os.path.abspath(program)
    rounds = int(rounds[0]) if rounds else 40
    request = lambda number: (f"GET /search?format=json&q=q{os.getpid()}x{number} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").encode()
    with local_service.engines() as (folder, _, _), contextlib.ExitStack() as stack:
        ports = {kind: local_service.free_port() for kind in ("plain", "tls", "http2")}
        make_certificates(folder)
        write_nginx(folder, ports)
        nginx = subprocess.Popen([usage.program("/usr/sbin/nginx", "nginx-light"), "-c", folder / "nginx.conf", "-e", folder / "error.log"])
        stack.callback(nginx.wait)
        stack.callback(nginx.terminate)
        time.sleep(0.5)
        subjects = []
        for kind, port in ports.items():
            write_engines(folder, kind, port)
            server, own_port, _ = stack.enter_context(local_service.server(metafuse, folder, "cache: {entries: 0}"))
            subject = bursts.Subject([server.pid], own_port, request)
            before = logged(folder)
            first = subject.burst(1)
            time.sleep(0.1)
            print(f"{kind:6} first search {1e3 * first[1][0]:7.2f} ms {1e3 * first[0]:7.2f} CPU-ms; {told(handshakes(folder, port, before))}")
            time.sleep(IDLE_SECONDS + 1)
            before = logged(folder)
            again = subject.burst(1)
            time.sleep(0.1)
            print(f"{'':6} when idle    {1e3 * again[1][0]:7.2f} ms {1e3 * again[0]:7.2f} CPU-ms; {told(handshakes(folder, port, before))}",
                  flush=True)
            subjects.append(subject)
        for subject in subjects:
            subject.burst(50)
        before = logged(folder)
        cpu, waits = bursts.in_turns(subjects, rounds, 30)
        time.sleep(0.1)
        for kind, own, own_waits in zip(ports, cpu, waits):
            ratio, low, high = bursts.ratio_interval(own, cpu[0])
            print(f"{kind:6} kept         {statistics.median(own_waits):7.2f} ms {statistics.median(own):7.3f} CPU-ms, "
                  f"{ratio:.2f} times plain ({low:.2f} to {high:.2f}); {told(handshakes(folder, ports[kind], before))}")


if __name__ == "__main__":
    main()
