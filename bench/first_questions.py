#!/usr/bin/env python3
"""What judging ten questions brings in the first minutes: from `metafuse init` on a folder to a ranking that learned.

usage: bench/first_questions.py METAFUSE FOLDER QUESTIONS.jsonl [--base-url URL]
QUESTIONS has a question a line with the addresses that answer it, as for `metafuse record`; its first ten are used. The
script does what a person does: it runs init, starts the server, asks each question, and grades its first ten results as
/judge shows them (where none of them answers, the first ten of each list). It prints the place of the best answer before
and after, as a reader sees it and by cross-validation, and the seconds of each step (grading takes a person 15 s per
question or so beside them)."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

QUESTIONS = 10
SHOWN = 10
DEEPEST = 100


class Server:
    def __init__(self, program, folder):
        self.key = (folder / "admin.key").read_text().strip()
        self.process = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0"], cwd=folder, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            sys.exit("the server did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, path, body=None):
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"} if body or "/v1/" in path else {}
        request = urllib.request.Request(self.address + path, json.dumps(body).encode() if body else None, headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def places(self, questions):
        """By question, the place of the first of the best answers, as a reader without a key sees it."""
        return [self.place(words, grades) for words, grades in questions]

    def place(self, words, grades):
        best = {url for url, grade in grades.items() if grade == max(grades.values())}
        query = urllib.parse.urlencode({"q": words, "format": "json", "limit": DEEPEST, "verbatim": 1})
        found = [result["url"] for result in self.ask("/search?" + query)["results"]]
        return next((place for place, url in enumerate(found, 1) if url in best), None)

    def judge(self, words, grades):
        for pool in ({"pool": "fused", "depth": SHOWN}, {"pool": "lists", "depth": SHOWN}):
            shown = self.ask("/v1/judgments/documents/results", {"query": words, **pool})
            given = [{"position": one["position"], "grade": grades.get(one["url"], 0)} for one in shown["results"]]
            if any(one["grade"] > 0 for one in given):
                break
        self.ask("/v1/judgments/documents/grades", {"search_id": shown["search_id"], "grades": given})
        return len(given), any(one["grade"] > 0 for one in given)

    def trained(self, answered):
        """What the page says of the domain, once it was trained from all answered questions."""
        for _ in range(300):
            now = next(one for one in self.ask("/v1/models")["models"] if one["name"] == "documents")
            if now.get("gain", {}).get("queries", 0) >= answered:
                return now
            time.sleep(1)
        sys.exit("not trained from all questions within 5 minutes")


def mean_reciprocal(places):
    return sum(1 / place for place in places if place) / len(places)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("metafuse")
    parser.add_argument("folder")
    parser.add_argument("questions")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    program = str(pathlib.Path(options.metafuse).resolve())
    lines = [json.loads(line) for line in open(options.questions)][:QUESTIONS]
    questions = [(" ".join(line["slots"].values()), {one["url"]: one["grade"] for one in line["relevant"]}) for line in lines]
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / "search"
        began = time.monotonic()
        more = ["--base-url", options.base_url] if options.base_url else []
        subprocess.run([program, "init", folder, "--documents", pathlib.Path(options.folder).resolve(), *more], check=True,
                       stdin=subprocess.DEVNULL, capture_output=True)
        indexed = time.monotonic()
        with Server(program, folder) as server:
            before = server.places(questions)
            asked = time.monotonic()
            given = [server.judge(words, grades) for words, grades in questions]
            judged = time.monotonic()
            story = server.trained(sum(is_answered for _, is_answered in given))
            learned = time.monotonic()
            after = server.places(questions)
    print("before  after  question")
    for (words, _), first, second in zip(questions, before, after):
        print(f"{first or '-':>6}  {second or '-':>5}  {words}")
    print(f"mean reciprocal rank of the best answer: {mean_reciprocal(before):.2f} before, {mean_reciprocal(after):.2f} after")
    print("the page says:", story["gain"]["text"], *story["gain"]["changes"], story.get("decision", ""), sep="\n  ")
    print(f"{sum(count for count, _ in given)} grades; init {indexed - began:.0f} s, starting and asking {asked - indexed:.1f} s, "
          f"showing and storing {judged - asked:.1f} s, until learned from {learned - judged:.0f} s")


if __name__ == "__main__":
    main()
