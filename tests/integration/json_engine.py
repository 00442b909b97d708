"""A search engine on loopback that answers in JSON, for tests that bring their own engines; a module, not a program."""
import http.server

# The lines of an engine file that find the parts of a result in {"r": [{"u", "t", "c"}...]}.
DEFINITION = "engine: json_engine, results_query: r, url_query: u, title_query: t, content_query: c"


class JsonEngine(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def send(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
