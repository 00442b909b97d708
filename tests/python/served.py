"""Servers for tests and pages: a `metafuse serve` with one domain whose lists come from the callers, and one that answers
with given bytes."""
import pathlib
import socketserver
import subprocess
import tempfile
import threading

CONFIGURATION = """version: 1
listen: 127.0.0.1:0
templates: [rag.yaml]
models: models
store: rag.db
"""


class Served:
    """The server and its folder; leaving the `with` block removes both."""

    def __init__(self, domain="version: 1\ndomain: rag\nlists: [words, vectors]\n"):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        (self.folder / "models").mkdir()
        (self.folder / "metafuse.yaml").write_text(CONFIGURATION)
        (self.folder / "rag.yaml").write_text(domain)

    def __enter__(self):
        with open(self.folder / "log", "w") as log:
            self._process = subprocess.Popen(["metafuse", "serve", "--config", "metafuse.yaml"], cwd=self.folder,
                                             stdout=subprocess.PIPE, stderr=log, text=True)
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError((self.folder / "log").read_text())
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()


class Scripted:
    """Answers each request with the bytes of its path, whatever they are. If these end with `HANG`, it then waits until the
    `with` block is left; else it closes the connection. `requests` has the heads that came."""

    HANG = b"(hang)"

    def __init__(self, answers):
        self.requests = []
        self._left = threading.Event()
        scripted = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                head = b"".join(iter(self.rfile.readline, b"\r\n"))
                scripted.requests.append(head.decode())
                answer = answers[head.split()[1].decode().split("?")[0]]
                self.wfile.write(answer.removesuffix(scripted.HANG))
                if answer.endswith(scripted.HANG):
                    scripted._left.wait()

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._left.set()
        self._server.shutdown()
        self._server.server_close()
