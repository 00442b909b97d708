"""A `metafuse serve` with one domain whose lists come from the callers, for tests and pages."""
import pathlib
import subprocess
import tempfile

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
