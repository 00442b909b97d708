#!/usr/bin/env python3
"""Traces reach a collector by OTLP over HTTP: complete, with the caller's trace id, and without the searched words.

usage: traces.py METAFUSE. A collector in this script receives what a server sends, refuses the first batch with 503, and
later disappears while the server keeps running.
"""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import json_engine

METAFUSE = os.path.abspath(sys.argv[1])
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SECRET = "unmistakable"


class Engine(json_engine.JsonEngine):
    def do_GET(self):
        if self.path.startswith("/bad"):
            return self.send(500, b"{}")
        self.send(200, json.dumps({"r": [{"u": "http://a.example/", "t": "t", "c": "c"}]}).encode())


class Collector(json_engine.JsonEngine):
    bodies = []
    refusals = 1
    is_gone = False

    def do_POST(self):
        if Collector.is_gone:  # open connections outlive a Python server
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Content-Type"] == "application/json" and self.path == "/v1/traces"
        if Collector.refusals > 0:
            Collector.refusals -= 1
            return self.send(503, b"{}")
        Collector.bodies.append(body)
        self.send(200, b"{}")

    @classmethod
    def spans(cls):
        out = []
        for body in cls.bodies:
            for resource in json.loads(body)["resourceSpans"]:
                names = {one["key"]: one["value"]["stringValue"] for one in resource["resource"]["attributes"]}
                assert names["service.name"] == "metafuse" and names["service.instance.id"], names
                for scope in resource["scopeSpans"]:
                    out += scope["spans"]
        return out


def start(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_address[1]


def get(base, path, **headers):
    with urllib.request.urlopen(urllib.request.Request(base + path, headers=headers), timeout=30) as answer:
        return answer.headers, answer.read()


def wait_for(is_there, what):
    for _ in range(600):
        if is_there():
            return
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within 30 seconds")


def check(spans):
    """Checks the spans of one search from a caller that records its trace."""
    ours = [span for span in spans if span["traceId"] == TRACE]
    by_name = {span["name"]: span for span in ours}
    assert len(by_name) == len(ours) == 7, [span["name"] for span in ours]
    attributes = {name: {one["key"]: one["value"]["stringValue"] for one in span["attributes"]} for name, span in by_name.items()}
    root, search, fetch = by_name["GET search"], by_name["search"], by_name["fetch"]
    assert root["parentSpanId"] == CALLER and root["kind"] == 2 and attributes["GET search"]["http.response.status_code"] == "200"
    assert search["parentSpanId"] == root["spanId"] and attributes["search"]["metafuse.domain"] == "d"
    assert len(attributes["search"]["metafuse.templates"]) == 12 and attributes["search"]["metafuse.method"] == "rrf"
    for name in ("expand", "fetch", "fuse"):
        assert by_name[name]["parentSpanId"] == search["spanId"], name
    for name, outcome in (("engine good", "ok"), ("engine bad", "http_status")):
        span = by_name[name]
        assert span["parentSpanId"] == fetch["spanId"] and span["kind"] == 3, span
        assert attributes[name]["metafuse.template"] == "all" and attributes[name]["metafuse.outcome"] == outcome, attributes[name]
        assert ("status" in span) == (outcome != "ok")
    for span in ours:
        begin, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        assert abs(begin / 1e9 - time.time()) < 600 and begin <= end, span
        parent = next((one for one in ours if one["spanId"] == span.get("parentSpanId")), None)
        if parent:
            assert int(parent["startTimeUnixNano"]) <= begin and end <= int(parent["endTimeUnixNano"]), (span, parent)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        _, engine = start(Engine)
        collector, port = start(Collector)
        (folder / "t.yaml").write_text("version: 1\ndomain: d\nslots: {Q: {required: true}}\ntemplates:\n"
                                       "  - {id: all, engine: [good, bad], query: '{Q}'}\n")
        (folder / "e.yaml").write_text("engines:\n" + "".join(
            f"  - {{name: {one}, search_url: \"http://127.0.0.1:{engine}/{one}?q={{query}}\", {json_engine.DEFINITION}}}\n"
            for one in ("good", "bad")))
        (folder / "s.yaml").write_text("version: 1\nlisten: 127.0.0.1:0\ntemplates: [t.yaml]\nengines: [e.yaml]\n"
                                       "trusted_proxies: [127.0.0.1]\n"
                                       f"traces: {{url: \"http://127.0.0.1:{port}/v1/traces\", share: 0}}\n")
        server = subprocess.Popen([METAFUSE, "serve", "--config", "s.yaml"], cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        base = server.stdout.readline().strip()
        headers, _ = get(base, f"/search?q={SECRET}&format=json", traceparent=f"00-{TRACE}-{CALLER}-01")
        assert headers["traceparent"].startswith(f"00-{TRACE}-") and CALLER not in headers["traceparent"]
        # Nothing is recorded for callers without trace headers, or for one whose trace is not recorded.
        get(base, "/search?q=other&format=json")
        get(base, "/search?q=third&format=json", traceparent=f"00-{'1' * 32}-{CALLER}-00")
        wait_for(lambda: len(Collector.spans()) >= 7, "the spans of one search, after a refusal")
        check(Collector.spans())
        assert len(Collector.spans()) == 7 and Collector.refusals == 0
        assert SECRET.encode() not in b"".join(Collector.bodies)
        # A collector that is gone must not slow anybody down, and the spans that it misses are counted.
        Collector.is_gone = True
        collector.shutdown()
        collector.server_close()
        for i in range(20):
            get(base, f"/search?q=q{i}&format=json", traceparent=f"00-{TRACE}-{CALLER}-01")
        wait_for(lambda: b"metafuse_spans_dropped_total 140" in get(base, "/metrics")[1], "spans that were dropped")
        assert b"metafuse_spans_sent_total 7" in get(base, "/metrics")[1]
        server.terminate()
        assert server.wait(20) == 0
    print("traces: one search of 7 spans, a refusal, and a collector that went away")


main()
