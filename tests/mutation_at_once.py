"""The quick way of tests/mutation.py: one build contains many mutants; METAFUSE_MUTANT=7 in the environment switches the seventh on.

A copy of the tree is changed: the body of a function with mutants becomes `{ if (is_mutant(7)) {changed body} else {body} }`. What
lies outside of bodies of functions, in headers or in the laboratory is left to the slow way. Every test runs once with all mutants
off and reports the functions that it reaches, so that a mutant is tried only against tests that reach it: those of its suite first,
quick ones first. A mutant is killed by a test that fails twice with it and then passes without it.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import threading
import time

SWITCH = r"""#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

namespace metafuse_mutants {

struct Switch {
  int number = 0;
  unsigned char* reached = nullptr;  // a byte per mutant, in a file that all processes of a test share
};

inline const Switch& state() {
  static const Switch out = [] {
    Switch made;
    if (const char* number = std::getenv("METAFUSE_MUTANT")) made.number = std::atoi(number);
    const char* path = std::getenv("METAFUSE_REACHED");
    const int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file >= 0) {
      void* memory = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (memory != MAP_FAILED) made.reached = static_cast<unsigned char*>(memory);
      close(file);
    }
    return made;
  }();
  return out;
}

}  // namespace metafuse_mutants

constexpr bool metafuse_is_mutant(int number) {
  if (std::is_constant_evaluated()) return false;
  const auto& state = metafuse_mutants::state();
  if (state.reached) state.reached[number] = 1;
  return state.number == number;
}
"""
HEADER = "core/mutant_switch.h"
SKIPPED = 77
PATIENCE = 4  # times the duration without a mutant, and 20 seconds
ERROR = re.compile(r"^(\S+?):(\d+):\d+: (?:fatal )?error:", re.M)


def body_of(code, begin, end):
    """Where the body within the braces of a function stands; none if what was taken for a function is an initialiser."""
    if re.match(r"\s*[{,)]", code[end:]):
        return None
    return code.index("{", begin) + 1, end - 1


class Tree:
    """A copy of the source tree with mutants in it, and its build folder."""

    def __init__(self, root, folder, builder):
        self.root, self.folder, self.builder = root, folder, builder
        self.build_folder = folder / "build" / "release"
        self.lines = collections.defaultdict(list)  # file -> (first line, last line, number of the mutant)

    def write(self, name, text):
        """Keeps the time of a file that has this content already, so that nothing is built in vain."""
        path = self.folder / name
        if not path.exists() or path.read_bytes() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            path.chmod((self.root / name).stat().st_mode if (self.root / name).exists() else 0o644)

    def copy(self, changed):
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=self.root, capture_output=True, text=True,
                                check=True)
        for name in listed.stdout.splitlines():
            if name not in changed and (self.root / name).is_file():
                self.write(name, (self.root / name).read_bytes())
        for name, text in changed.items():
            self.write(name, text.encode())
        self.write(HEADER, SWITCH.encode())

    def with_switches(self, name, text, mutants, code, functions):
        """The text of a file with the mutants of each function beside its body. in: mutants - number -> mutant"""
        out, at = f'#include "{HEADER}"\n', 0
        for _, begin, end in functions:
            inside = {n: m for n, m in mutants.items() if begin <= m.places[0][1] < end}
            if not inside:
                continue
            first, last = body_of(code, begin, end)
            out += text[at:first]
            for number, mutant in inside.items():
                line = out.count("\n") + 1
                _, start, stop = mutant.places[0]
                out += f" if (metafuse_is_mutant({number})) {{{text[first:start]}{mutant.new}{text[stop:last]}}} else "
                self.lines[name].append((line, out.count("\n") + 1, number))
            out += f"{{{text[first:last]}}}"
            at = last
        return out + text[at:]

    def build(self):
        """The numbers of the mutants in whose text the compiler found an error, or None if it found others."""
        if not (self.build_folder / "build.ninja").exists():
            subprocess.run(["cmake", "--preset", "release", "-DMETAFUSE_WERROR=OFF", "-DMETAFUSE_BENCH=OFF", "-DMETAFUSE_LAB=OFF"],
                           cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run(shlex.split(self.builder), cwd=self.folder, capture_output=True, text=True)
        (self.folder / "build.log").write_text(done.stdout + done.stderr)
        if done.returncode == 0:
            return set()
        wrong = set()
        for path, line in ERROR.findall(done.stdout + done.stderr):
            name = os.path.relpath(os.path.join(self.build_folder, path), self.folder)
            wrong |= {number for first, last, number in self.lines[name] if first <= int(line) <= last}
        return wrong or None


class Test:
    def __init__(self, entry):
        properties = {p["name"]: p["value"] for p in entry["properties"]}
        self.name, self.command, self.folder = entry["name"], entry["command"], properties.get("WORKING_DIRECTORY")
        self.environment = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        for change in properties.get("ENVIRONMENT_MODIFICATION", []):  # PATH=path_list_prepend:FOLDER, the only form used
            name, folder = change.split("=path_list_prepend:")
            self.environment[name] = folder + os.pathsep + os.environ.get(name, "")
        self.is_full = "full" in properties.get("LABELS", []) and "quick" not in properties.get("LABELS", [])
        self.suite = self.name.split(":")[0].split(" ")[0]
        self.seconds, self.reached, self.passes = properties.get("TIMEOUT", 300), set(), False

    def run(self, seconds, **environment):
        """Whether it passes; one that hangs fails."""
        try:
            process = subprocess.Popen(self.command, cwd=self.folder, env=os.environ | self.environment | environment,
                                       start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        except OSError:  # not built
            return False
        try:
            return process.wait(seconds) in (0, SKIPPED)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return False

    def is_failed_by(self, number):
        patience = PATIENCE * self.seconds + 20
        return (not self.run(patience, METAFUSE_MUTANT=str(number)) and not self.run(patience, METAFUSE_MUTANT=str(number))
                and self.run(patience))

    def key(self):
        files = [pathlib.Path(word) for word in self.command if word.startswith("/")]
        return self.name + "".join(f" {file.stat().st_mtime_ns}" for file in files if file.is_file())

    def measure(self, scratch):
        """Without a mutant: its duration, whether it passes, and which mutants it reaches."""
        file = scratch / f"reached.{threading.get_ident()}"
        file.write_bytes(bytes(65536))
        begin = time.monotonic()
        self.passes = self.run(self.seconds, METAFUSE_REACHED=str(file))
        self.seconds = time.monotonic() - begin
        self.reached = {number for number, byte in enumerate(file.read_bytes()) if byte}


class Suites:
    """All tests of a build, measured. Measurements are kept as long as the executable of a test stays the same."""

    def __init__(self, tree, is_full, pool):
        listed = subprocess.run(["ctest", "--test-dir", str(tree.build_folder), "--show-only=json-v1"], capture_output=True, check=True)
        entries = [entry for entry in json.loads(listed.stdout)["tests"] if "command" in entry]
        self.tests = [test for test in map(Test, entries) if is_full or not test.is_full]
        self.file = tree.folder / "measured.json"
        kept = json.loads(self.file.read_text()) if self.file.exists() else {}
        list(pool.map(lambda test: self.take(test, kept, tree.folder), self.tests))
        kept |= {test.key(): (test.seconds, test.passes, sorted(test.reached)) for test in self.tests}
        self.file.write_text(json.dumps(kept))
        for test in self.tests:
            if not test.passes:
                print(f"left out, for it fails without a mutant: {test.name}", flush=True)

    @staticmethod
    def take(test, kept, scratch):
        if test.key() in kept:
            test.seconds, test.passes, reached = kept[test.key()]
            test.reached = set(reached)
        else:
            test.measure(scratch)

    def killer(self, number, suite, seconds):
        """The test that notices a mutant, of those that reach it and take up to so many seconds in sum; "" if none does."""
        near = [test for test in self.tests if test.passes and number in test.reached]
        near.sort(key=lambda test: (not test.suite.startswith(suite), test.seconds))
        for test in near:
            seconds -= test.seconds
            if seconds < 0:
                break
            if test.is_failed_by(number):
                return test.name
        return ""


def switchable(root, mutants, functions_of, code_of):
    """number -> mutant of those that lie within the body of a function of a .cpp file; the others are named."""
    out = {}
    for number, mutant in enumerate(mutants, 1):
        file, start, stop = mutant.places[0]
        around = [body_of(code_of(file.read_text()), begin, end) for _, begin, end in functions_of(file) if begin <= start < end]
        is_in_body = around and around[0] and around[0][0] <= start and stop <= around[0][1]
        if file.suffix == ".cpp" and file.relative_to(root).parts[0] != "lab" and is_in_body:
            out[number] = mutant
        else:
            print(f"left to the slow way: {mutant.name}")
    return out


def built(tree, mutants, functions_of, code_of):
    """Builds all mutants, without those that do not compile. out: number -> mutant"""
    while True:
        tree.lines.clear()
        by_file = collections.defaultdict(dict)
        for number, mutant in mutants.items():
            by_file[mutant.file][number] = mutant
        changed = {}
        for file, some in by_file.items():
            name, text = str(file.relative_to(tree.root)), file.read_text()
            changed[name] = tree.with_switches(name, text, some, code_of(text), functions_of(file))
        tree.copy(changed)
        wrong = tree.build()
        if wrong is None:
            raise SystemExit(f"the build fails: {tree.folder / 'build.log'}")
        for number in wrong:
            print(f"does not build: {mutants.pop(number).name}", flush=True)
        if not wrong:
            return mutants


def print_figures(outcomes):
    """in: outcomes - (folder, whether killed) of each mutant"""
    folders = collections.Counter(folder for folder, _ in outcomes)
    killed = collections.Counter(folder for folder, is_killed in outcomes if is_killed)
    for folder, number in sorted(folders.items()):
        print(f"{folder:12} {killed[folder]:4} of {number:4} killed")
    print(f"{'all':12} {killed.total():4} of {folders.total():4} killed ({100 * killed.total() / max(1, folders.total()):.0f} %)")


def sweep(options, root, mutants, functions_of, code_of):
    """Whether every mutant is killed."""
    tree = Tree(root, pathlib.Path(options.at_once), options.builder)
    kept_in = tree.folder / "outcomes.json"
    mutants = built(tree, switchable(root, mutants, functions_of, code_of), functions_of, code_of)
    known = json.loads(kept_in.read_text()) if kept_in.exists() and not options.again else {}
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        suites = Suites(tree, options.full, pool)

        def tried(number):
            mutant = mutants[number]
            test = known.get(mutant.digest()) or suites.killer(number, mutant.suite, options.seconds)
            known[mutant.digest()] = test
            name = " ".join(mutant.name.split())
            print(f"killed by {test}: {name}" if test else f"SURVIVED: {name}", flush=True)
            return str(mutant.file.relative_to(root)).split("/")[0], bool(test)

        chosen = [number for number, mutant in mutants.items()
                  if str(mutant.file.relative_to(root)).startswith(options.only)]
        for outcome in pool.map(tried, chosen):
            outcomes.append(outcome)
            kept_in.write_text(json.dumps(dict(known)))
    print_figures(outcomes)
    return all(is_killed for _, is_killed in outcomes)
