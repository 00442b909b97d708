#!/usr/bin/env python3
"""An index survives kill -9 of the program that writes it: it is entirely old or entirely new, and the next run continues.

usage: index_crash.py METAFUSE [KILLS]. `metafuse index` is killed this many times (default: 10; runs that end earlier do not
count) at random moments, alternately while it replaces an index and while it updates one from a folder in which some files changed.
After each kill the index must be sound (by SQLite's own check), contain only documents that were written at some time, lack none
that must be there, and answer searches. Finally an undisturbed run makes it equal to the folder, with no other file beside it.
"""
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import time

METAFUSE = os.path.abspath(sys.argv[1])
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
FILES = 400


def write(folder, i, version):
    words = " ".join(random.Random(f"{i} {version}").choices([f"word{w}" for w in range(500)], k=300))
    (folder / f"{i}.md").write_text(f"# Page {i}\n\nmark{i}x{version} {words}\n")


def command(folder, *options):
    return [METAFUSE, "index", "--database", str(folder / "pages.db"), str(folder / "pages"), *options]


def sound_titles(path):
    """The titles in an index, after checking that it is consistent."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        pages = database.execute("SELECT count(*) FROM pages").fetchone()[0]
        lists = database.execute("SELECT kind, documents, words FROM lists").fetchall()
        assert lists
        for kind, documents, words in lists:
            rows = database.execute("SELECT lengths FROM list_lengths WHERE kind=? ORDER BY first", (kind,))
            assert documents == pages, (kind, documents, pages)
            assert sum(memoryview(b"".join(row[0] for row in rows)).cast("I")) == words, kind
        return sorted(title for (title,) in database.execute("SELECT title FROM pages"))


def found(folder, word):
    done = subprocess.run([METAFUSE, "search", "--config", str(folder / "serve.yaml"), "--limit", "1000", word], capture_output=True,
                          text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def main():
    random.seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "pages").mkdir()
        for i in range(FILES):
            write(folder / "pages", i, 0)
        (folder / "t.yaml").write_text("version: 1\ndomain: d\nslots: {Q: {required: true}}\ntemplates:\n"
                                       "  - {id: all, engine: pages, query: '{Q}'}\n")
        (folder / "e.yaml").write_text("engines:\n  - {name: pages, engine: local, database: pages.db}\n")
        (folder / "serve.yaml").write_text("version: 1\ntemplates: [t.yaml]\nengines: [e.yaml]\n")
        begin = time.monotonic()
        subprocess.run(command(folder, "--update"), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        whole = time.monotonic() - begin
        expected = sound_titles(folder / "pages.db")
        assert len(expected) == FILES, len(expected)
        runs = killed = 0
        while killed < KILLS:
            assert runs < 4 * KILLS, f"{killed} of {runs} runs were killed in time"
            runs += 1
            for i in random.sample(range(FILES), 40):
                write(folder / "pages", i, runs)
            run = subprocess.Popen(command(folder, *(["--update"] if runs % 2 else [])), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, whole))
            run.kill()
            killed += run.wait() == -9
            assert sound_titles(folder / "pages.db") == expected, f"after run {runs}"
            assert "/7.md" in found(folder, "page 7"), f"after run {runs}"
        subprocess.run(command(folder, "--update"), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert sound_titles(folder / "pages.db") == expected
        mark = (folder / "pages/7.md").read_text().split()[3]
        assert "/7.md" in found(folder, mark), mark
        beside = sorted(path.name for path in folder.iterdir())
        assert [one for one in beside if one.startswith("pages.db")] == ["pages.db"], beside
    print(f"index: {killed} of {runs} runs were killed, sound after each of them")


main()
