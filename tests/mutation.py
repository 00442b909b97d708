#!/usr/bin/env python3
"""Do the tests notice mistakes? Changes the program in one place after another and reports the changes that no test notices.

tests/mutants.jsonl lists the changes: a function, a piece of its body, what replaces it, the suite whose tests should fail, and the
Catch2 tags that select them. The function is looked for in `file`, and elsewhere if it has moved; the rest of its line may be rewritten
freely. Each change is applied, built, tested and undone. If the selected tests do not notice it, all quick tests of its suite are run. A
test that fails counts only if it fails again alone, because one that depends on the machine's load would make every change look noticed.
Survivors are printed. Results are kept in the build folder, so that an interrupted run can continue where it stopped.
With --at-once, one build serves many mutants (tests/mutation_at_once.py).

usage: tests/mutation.py [--build build/dev | --at-once FOLDER] [--only FOLDER] [--sample N --seed S] [--again] [--check]
"""
import argparse
import collections
import functools
import hashlib
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import time
import xml.etree.ElementTree

import mutation_at_once

ROOT = pathlib.Path(__file__).resolve().parent.parent
MUTANTS = ROOT / "tests" / "mutants.jsonl"
OTHERS = {"bench", "build", "fuzz", "tests"}  # folders without code under test
SECONDS = {"build": 1800, "tests": 900}
# A mutant may hang: its tests get this many times as long as they take without it, plus a minute.
PATIENCE = 4
SKIPPED = 77
# What is no code: comments, raw strings, strings, characters (not the quotes in 1'000).
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.S)
HEAD = re.compile(r"([\w:~]+|operator\W+?)\s*\(")
NO_FUNCTION = re.compile(r"\s*(?:namespace|class|struct|enum|union|extern|TEST_CASE)\b|.*[^=!<>]=[^=]", re.S)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build/dev", help="build folder, configured already (build/dev)")
    parser.add_argument("--only", default="", help="files below this folder alone")
    parser.add_argument("--sample", type=int, default=0, help="so many of them, chosen by --seed; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--builder", default="", help="what builds a target, run in the build folder (ninja -j2)")
    parser.add_argument("--at-once", default="", metavar="FOLDER", help="the quick way: one build of a copy of the tree in FOLDER")
    parser.add_argument("--seconds", type=float, default=60, help="--at-once: the tests tried on a mutant take up to so long in sum (60)")
    parser.add_argument("--full", action="store_true", help="--at-once: also the tests that the quick run leaves out")
    parser.add_argument("--mutants", default=str(MUTANTS), help="a list of mutants (tests/mutants.jsonl)")
    parser.add_argument("--minutes", type=float, default=0, help="begin no mutant after these; 0 for no end")
    parser.add_argument("--again", action="store_true", help="also those whose outcome is known")
    parser.add_argument("--check", action="store_true", help="only say which mutants fit no function any more")
    return parser.parse_args()


def code_of(text):
    """A source file with blanks instead of comments, strings and preprocessor lines."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda found: re.sub(r"[^\n]", " ", found.group()), code, flags=re.M)


def functions(text):
    """The functions that a source file defines, as (name, begin, end) of head and body; members have their bare name."""
    code = code_of(text)
    out, depth, open_at, head_at = [], 0, None, 0
    for piece in re.finditer(r"[{};]", code):
        at = piece.start()
        if open_at is not None:
            depth += {"{": 1, "}": -1, ";": 0}[piece.group()]
            if depth == 0:
                out.append((*open_at, at + 1))
                open_at, head_at = None, at + 1
            continue
        head = code[head_at:at]
        name = HEAD.search(head)
        if piece.group() == "{" and name and not NO_FUNCTION.match(head[:name.start()]):
            depth, open_at = 1, (name.group(1).split("::")[-1], head_at)
        else:
            head_at = at + 1
    return out


@functools.cache
def functions_of(file):
    return functions(file.read_text())


@functools.cache
def sources():
    return [file for pattern in ("*/**/*.cpp", "*/**/*.h") for file in sorted(ROOT.glob(pattern))
            if file.relative_to(ROOT).parts[0] not in OTHERS]


class Mutant:
    def __init__(self, entry):
        self.function, self.old, self.new = entry["function"], entry["from"], entry["to"]
        self.suite, self.tests = entry["suite"], entry.get("tests", "")
        stated = ROOT / entry["file"]
        self.places = self.places_in([stated] if stated.exists() else []) or self.places_in(sources())
        self.file = self.places[0][0] if self.places else stated
        self.is_in_program = str(self.file.relative_to(ROOT)).startswith("cli/")
        self.name = f'{self.file.relative_to(ROOT)}: {self.function}: {self.old}  ->  {self.new}'

    def places_in(self, files):
        """Where the piece stands, as (file, begin, end). An empty function means outside of any, as constants are."""
        piece = re.compile(r"\s+".join(map(re.escape, self.old.split())))
        out = []
        for file in files:
            text = file.read_text()
            if self.function and self.function not in text:
                continue
            inner = [(begin, end) for name, begin, end in functions_of(file) if name == self.function or not self.function]
            for found in piece.finditer(text):
                is_inside = any(begin <= found.start() < end for begin, end in inner)
                if is_inside == bool(self.function):
                    out.append((file, *found.span()))
        return out

    def changed(self, text):
        _, begin, end = self.places[0]
        return text[:begin] + self.new + text[end:]

    def digest(self):
        """Identifies the mutant and the content of its file: a result stays valid as long as both are unchanged."""
        return hashlib.sha256(f"{self.name}\0{self.file.read_text()}".encode()).hexdigest()[:16]


class Bench:
    """A build folder in which mutants are built and tested."""

    def __init__(self, options):
        self.folder = ROOT / options.build
        self.builder = shlex.split(options.builder or "ninja -j2")
        self.backup = self.folder / "mutation.backup"
        self.report = self.folder / "mutation.xml"
        self.results = self.folder / "mutation.jsonl"
        self.seconds = dict(SECONDS)
        self.is_program_stale = False  # whether `metafuse` may contain an earlier mutant
        self.restore()

    def known(self):
        if not self.results.exists():
            return {}
        entries = [json.loads(line) for line in self.results.read_text().splitlines()]
        return {entry["digest"]: entry["outcome"] for entry in entries}

    def note(self, mutant, outcome, seconds):
        with self.results.open("a") as out:
            out.write(json.dumps({"digest": mutant.digest(), "outcome": outcome, "mutant": mutant.name,
                                  "seconds": round(seconds)}) + "\n")

    def apply(self, mutant):
        text = mutant.file.read_text()
        self.backup.write_text(json.dumps({"file": str(mutant.file), "text": text}))
        mutant.file.write_text(mutant.changed(text))

    def restore(self):
        """Undoes the change that is applied, even one left behind by an earlier run that was killed."""
        if self.backup.exists():
            kept = json.loads(self.backup.read_text())
            pathlib.Path(kept["file"]).write_text(kept["text"])
            self.backup.unlink()

    def run(self, kind, command):
        """Whether a command succeeded; one that hangs has failed."""
        try:
            return subprocess.run(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=self.seconds[kind]).returncode in (0, SKIPPED)
        except subprocess.TimeoutExpired:
            return False

    def build(self, suite, has_program):
        """in: has_program - build the mutant into `metafuse` too, which takes longer to link"""
        return self.run("build", self.builder + [f"test_{suite}"] + (["metafuse"] if has_program else []))

    def last_test(self):
        """The test that ran last according to the report, which may end in the middle of it."""
        parser = xml.etree.ElementTree.XMLPullParser(["start"])
        parser.feed(self.report.read_bytes())
        names = [element.get("name") for _, element in parser.read_events() if element.tag == "TestCase"]
        return names[-1] if names else ""

    def programs(self, suite):
        """The executables of a suite: test_SUITE, and test_SUITE_ROOM of a folder with one for each room."""
        found = [path for name in (f"test_{suite}", f"test_{suite}_*") for path in (self.folder / "tests").rglob(name)]
        return [str(path) for path in found if path.is_file() and os.access(path, os.X_OK)]

    def passes(self, suite, tests):
        return all(self.program_passes(program, tests) for program in self.programs(suite))

    def program_passes(self, program, tests):
        unreliable = ""
        while True:
            # A list of tags is a list of alternatives; each leaves out the long tests.
            wanted = ",".join(f"{tag}~[full]{unreliable}" for tag in (tests.split(",") if tests else [""]))
            if self.run("tests", [program, "--abort", "-r", "xml", "-o", str(self.report), wanted]):
                return True
            name = re.sub(r"([\\,\[\]\"*])", r"\\\1", self.last_test())
            if not name or not self.run("tests", [program, f'"{name}"']) and not self.run("tests", [program, f'"{name}"']):
                return False
            print(f"failed once, not again alone: {name}", flush=True)
            unreliable += f'~"{name}"'

    def is_sound(self, suite):
        """Whether a suite passes without a mutant; its duration determines how long it may take with one."""
        self.seconds = dict(SECONDS)
        if not self.build(suite, True):
            return False
        begin = time.monotonic()
        passes = self.passes(suite, "")
        self.seconds["tests"] = PATIENCE * (time.monotonic() - begin) + 60
        return passes

    def outcome(self, mutant):
        self.apply(mutant)
        try:
            if not self.build(mutant.suite, mutant.is_in_program or self.is_program_stale):
                return "does not build"
            self.is_program_stale = mutant.is_in_program
            if mutant.tests and not self.passes(mutant.suite, mutant.tests):
                return "killed"
            # Some tests run the program, which must contain the mutant before it counts as a survivor.
            self.is_program_stale = True
            if not self.build(mutant.suite, True):
                return "does not build"
            return "survived" if self.passes(mutant.suite, "") else "killed"
        finally:
            self.restore()


def chosen_mutants(options):
    mutants = [Mutant(json.loads(line)) for line in pathlib.Path(options.mutants).read_text().splitlines()]
    if not options.at_once:  # which builds all of them
        mutants = [m for m in mutants if str(m.file.relative_to(ROOT)).startswith(options.only)]
    lost = [m for m in mutants if len(m.places) != 1]
    for mutant in lost:
        print(f"fits {len(mutant.places)} places: {mutant.name}")
    if options.check:
        print(f"{len(mutants) - len(lost)} of {len(mutants)} mutants fit")
        sys.exit(1 if lost else 0)
    mutants = [m for m in mutants if m not in lost]
    if options.sample:
        mutants = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
    # Keep files of one suite together, so that less is rebuilt.
    return sorted(mutants, key=lambda m: (m.suite, str(m.file)))


def main():
    options = parse_arguments()
    mutants = chosen_mutants(options)
    if options.at_once:
        options.builder = options.builder or "cmake --build build/release -j2 -- -k 0"
        sys.exit(0 if mutation_at_once.sweep(options, ROOT, mutants, functions_of, code_of) else 1)
    bench = Bench(options)
    known = {} if options.again else bench.known()
    outcomes = collections.Counter()
    survivors = []
    sound = set()
    begin = time.monotonic()
    for number, mutant in enumerate(mutants, 1):
        outcome = known.get(mutant.digest())
        if outcome is None:
            if options.minutes and time.monotonic() - begin > 60 * options.minutes:
                print(f"{len(mutants) - number + 1} left for another run")
                break
            if mutant.suite not in sound:
                if not bench.is_sound(mutant.suite):
                    sys.exit(f"the tests of {mutant.suite} fail without any mutant: "
                             f"{shlex.join(['ctest', '--test-dir', options.build, '-R', mutant.suite])}")
                sound.add(mutant.suite)
            started = time.monotonic()
            outcome = bench.outcome(mutant)
            bench.note(mutant, outcome, time.monotonic() - started)
        outcomes[outcome] += 1
        if outcome != "killed":
            survivors.append(f"{outcome}: {mutant.name}")
        print(f"{number}/{len(mutants)} {outcome}: {mutant.name}", flush=True)
    print()
    for text in survivors:
        print(text)
    tried = outcomes["killed"] + outcomes["survived"]
    print(f"{outcomes['killed']} of {tried} killed ({100 * outcomes['killed'] / max(1, tried):.0f} %), "
          f"{outcomes['does not build']} do not build")
    sys.exit(1 if outcomes["survived"] else 0)


main()
