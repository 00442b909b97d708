#!/usr/bin/env python3
"""The requests of programs that people search with, as their code sends them, and their answers read as it reads them.

usage: requests_test.py METAFUSE. Each row of PROGRAMS names the program and where its request was read; the requests are
written from that interface. One server with an embedded index and a page to read answers all of them.
"""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request

METAFUSE = os.path.abspath(sys.argv[1])
KEY = {"Authorization": "Bearer any"}  # searching is open; programs insist on a key
DOCUMENTS = [
    {"url": "https://www.vim.org/", "title": "Vim the editor", "text": "highly configurable text editor"},
    {"url": "https://www.gnu.org/software/emacs/", "title": "GNU Emacs", "text": "extensible, customizable text editor"},
    {"url": "https://nano-editor.org/", "title": "GNU nano", "text": "small friendly text editor inspired by pico"},
]
URLS = {document["url"] for document in DOCUMENTS}


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        found = self.path == "/page"
        body = b"<title>nano</title><h1>The editor</h1><p>Small and friendly, with a help line.</p>" if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def send(base, method, path, headers=None, body=None):
    """The answer as JSON; fails for any status but 200."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"User-Agent": "test", **(headers or {})}
    if data is not None:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(base + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read().decode()
    return json.loads(text) if text else None


def searxng(base, parameters, headers=None, method="GET"):
    answer = send(base, method, "/search?" + urllib.parse.urlencode(parameters), headers)
    for member in ("results", "suggestions", "answers", "infoboxes", "corrections", "unresponsive_engines"):
        assert isinstance(answer[member], list), member
    return answer["results"]


def is_found(urls):
    urls = list(urls)
    assert urls and set(urls) <= URLS, urls


# Open WebUI: backend/open_webui/retrieval/web/searxng.py, external.py, loaders/external_web.py, models/external.py

def open_webui_searxng(base, _):
    results = searxng(base, {"q": "text editor", "format": "json", "pageno": 1, "safesearch": "1", "language": "en-US",
                             "time_range": "", "categories": "", "theme": "simple", "image_proxy": 0},
                      {"Accept": "text/html"})
    ordered = sorted(results, key=lambda result: result["score"], reverse=True)
    assert ordered == results  # it sorts again, and must not change the order
    is_found(result["url"] for result in ordered)


def open_webui_external(base, _):
    results = send(base, "POST", "/openwebui/search", KEY, {"query": "text editor", "count": 2})[:2]
    assert len(results) == 2 and all(result["title"] and result["snippet"] for result in results)
    is_found(result["link"] for result in results)


def open_webui_loader(base, page):
    read = send(base, "POST", "/openwebui/extract", KEY, {"urls": [page]})
    assert "help line" in read[0]["page_content"] and read[0]["metadata"]["source"] == page


def open_webui_reranker(base, _):
    texts = ["bread", "a text editor for programmers", "an oven"]
    answer = send(base, "POST", "/v1/rerank", KEY, {"model": "reranker", "query": "which editor?", "documents": texts, "top_n": 3})
    scores = [result["relevance_score"] for result in sorted(answer["results"], key=lambda result: result["index"])]
    assert len(scores) == 3 and scores[1] == max(scores) and scores[1] > scores[0]


# LibreChat: danny-avila/agents, src/tools/search/tavily-search.ts, tavily-scraper.ts, rerankers.ts

def librechat_search(base, _):
    answer = send(base, "POST", "/search", KEY, {
        "query": "text editor", "search_depth": "basic", "topic": "general", "max_results": 8, "safe_search": True,
        "time_range": "year", "country": "germany", "include_images": True, "include_answer": False,
        "include_raw_content": False, "include_image_descriptions": True, "include_favicon": True})
    is_found(result["url"] for result in answer["results"])
    assert answer["answer"] is None and answer["images"] == []


def librechat_extract(base, page):
    answer = send(base, "POST", "/extract", KEY, {"urls": [page], "extract_depth": "basic", "include_images": False})
    assert "help line" in answer["results"][0]["raw_content"]


def librechat_reranker(base, _):
    answer = send(base, "POST", "/v1/rerank", KEY, {
        "model": "jina-reranker-v2-base-multilingual", "query": "editor", "top_n": 2, "documents": ["an oven", "an editor"],
        "return_documents": True})
    assert answer["results"][0]["document"]["text"] == "an editor" and answer["usage"] is not None


# LobeChat: lobehub/lobe-chat, src/server/services/search/impls/searxng/client.ts

def lobechat(base, _):
    is_found(result["url"] for result in searxng(base, {"categories": "general", "engines": "google,bing", "format": "json",
                                                        "q": "text editor"}))


# Vane (Perplexica): ItzCrazyKns/Vane, src/lib/searxng.ts

def vane(base, _):
    results = searxng(base, {"format": "json", "q": "text editor", "language": "en", "pageno": "1"})
    is_found(result["url"] for result in results)
    pictures = searxng(base, {"format": "json", "q": "text editor", "engines": "bing images,google images"})
    assert not any(result["img_src"] for result in pictures)  # this index has no pictures


# n8n: @n8n/n8n-nodes-langchain, ToolSearXng, with LangChain's client

def n8n(base, _):
    results = searxng(base, {"q": "text editor", "format": "json", "numResults": "10", "pageno": "1", "language": "en",
                             "safesearch": "0"}, {"Content-Type": "application/json"}, "POST")
    is_found(result["url"] for result in results)


# Dify: docs.dify.ai, external knowledge API

def dify(base, _):
    answer = send(base, "POST", "/retrieval", KEY, {"knowledge_id": "software", "query": "text editor",
                                                    "retrieval_setting": {"top_k": 2, "score_threshold": 0.0}})
    assert len(answer["records"]) == 2
    for record in answer["records"]:
        assert record["content"] and 0 <= record["score"] <= 1 and isinstance(record["metadata"], dict)
    is_found(record["metadata"]["url"] for record in answer["records"])


# LiteLLM: BerriAI/litellm, llms/searxng and llms/perplexity, search/transformation.py

def litellm_searxng(base, _):
    is_found(result["url"] for result in searxng(base, {"q": "text editor", "format": "json", "language": "en"},
                                                 {"Content-Type": "application/json"}))


def litellm_perplexity(base, _):
    answer = send(base, "POST", "/perplexity/search", KEY, {"query": ["text editor", "friendly editor"], "max_results": 5,
                                                            "max_tokens_per_page": 1024, "country": "DE"})
    is_found(result["url"] for result in answer["results"])
    assert all({"title", "snippet", "date", "last_updated"} <= set(result) for result in answer["results"])


# Home Assistant: skye-harris/llm_intents, SearXngSearch.py; the core integration mcp is an MCP client

def home_assistant(base, _):
    answer = send(base, "GET", "/search?format=json&q=editor", {"Accept": "application/json"})
    assert all(result["title"] and result["content"] for result in answer["results"][:2])


# MCP clients: the session form over HTTP, as ChatGPT, Claude, Cursor, VS Code and Home Assistant begin it

def mcp_session(base, client, version):
    headers = {"Accept": "application/json, text/event-stream"}
    hello = send(base, "POST", "/mcp", headers, {
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}})
    headers["MCP-Protocol-Version"] = hello["result"]["protocolVersion"]
    assert headers["MCP-Protocol-Version"] == version
    data = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
    request = urllib.request.Request(base + "/mcp", data, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 202

    def call(method, **parameters):
        answer = send(base, "POST", "/mcp", headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters})
        assert "error" not in answer, answer
        return answer["result"]

    return call


def chatgpt(base, page):
    call = mcp_session(base, "openai-mcp", "2025-06-18")
    tools = {tool["name"]: tool for tool in call("tools/list")["tools"]}
    assert tools["search"]["inputSchema"]["required"] == ["query"] and tools["fetch"]["inputSchema"]["required"] == ["id"]
    found = call("tools/call", name="search", arguments={"query": "text editor"})["content"]
    assert len(found) == 1 and found[0]["type"] == "text"
    results = json.loads(found[0]["text"])["results"]
    is_found(result["url"] for result in results)
    assert all(set(result) == {"id", "title", "url"} for result in results)
    read = json.loads(call("tools/call", name="fetch", arguments={"id": page})["content"][0]["text"])
    assert set(read) == {"id", "title", "text", "url", "metadata"} and "help line" in read["text"]


def mcp_search(client, version):
    def run(base, _):
        call = mcp_session(base, client, version)
        names = [tool["name"] for tool in call("tools/list")["tools"]]
        assert "search_software" in names and "fetch_page" in names
        text = call("tools/call", name="search_software", arguments={"query": "small friendly editor"})["content"][0]["text"]
        assert "https://nano-editor.org/" in text

    return run


PROGRAMS = [
    ("Open WebUI, SearXNG", open_webui_searxng), ("Open WebUI, external search", open_webui_external),
    ("Open WebUI, external loader", open_webui_loader), ("Open WebUI, external reranker", open_webui_reranker),
    ("LibreChat, search", librechat_search), ("LibreChat, scraper", librechat_extract), ("LibreChat, reranker", librechat_reranker),
    ("LobeChat", lobechat), ("Vane", vane), ("n8n", n8n), ("Dify", dify), ("LiteLLM, SearXNG", litellm_searxng),
    ("LiteLLM, Perplexity", litellm_perplexity), ("Home Assistant, Tools for Assist", home_assistant),
    ("Home Assistant, mcp", mcp_search("mcp", "2025-06-18")), ("ChatGPT", chatgpt),
    ("Claude Code", mcp_search("claude-code", "2025-11-25")), ("Cursor", mcp_search("cursor-vscode", "2025-06-18")),
    ("VS Code", mcp_search("Visual Studio Code", "2025-11-25")),
]

TEMPLATES = """version: 1
domain: software
description: Home pages of software
slots: {TOPIC: {required: true}}
templates:
  - {id: all, engine: local, query: '{TOPIC|all}'}
  - {id: any, engine: local, query: '{TOPIC|any}'}
"""


def write_files(folder, page_port):
    (folder / "documents.jsonl").write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    subprocess.run([METAFUSE, "index", "--database", folder / "local.db", folder / "documents.jsonl"], check=True,
                   stderr=subprocess.DEVNULL)
    (folder / "t.yaml").write_text(TEMPLATES)
    (folder / "engines.yaml").write_text("engines:\n  - {name: local, engine: local, database: local.db}\n")
    (folder / "serve.yaml").write_text("version: 1\nlisten: 127.0.0.1:0\ntemplates: [t.yaml]\nengines: [engines.yaml]\n"
                                       f"fetch_pages: {{allow_private: ['127.0.0.1:{page_port}']}}\n")


def main():
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    page = f"http://127.0.0.1:{site.server_address[1]}/page"
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_files(folder, site.server_address[1])
        with subprocess.Popen([METAFUSE, "serve", "--config", folder / "serve.yaml"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as server:
            base = server.stdout.readline().strip()
            for program, run in PROGRAMS:
                try:
                    run(base, page)
                    print(f"{program}: as expected")
                except Exception as failure:  # the other programs are tried as well
                    failures += 1
                    print(f"{program}: {failure!r}")
            server.terminate()
    site.shutdown()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
