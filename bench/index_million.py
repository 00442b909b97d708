#!/usr/bin/env python3
"""The embedded index with many documents: how fast it is built and updated, and how fast it answers.

usage: bench/index_million.py METAFUSE WORK_FOLDER [DOCUMENTS] [--xapian]
Makes DOCUMENTS (1,000,000) documents with a title of 5 words and a text of 40, drawn from 200,000 words by Zipf's law, in a hundred
files of JSON lines in WORK_FOLDER. Prints documents per second of `metafuse index --update` for a new index and after one file
changed, with processor seconds and peak memory. Then a server without a cache answers 1,000 searches of each kind, one after
another: one, two and three words, which are as frequent as in the documents, by BM25 and by I(n_e)B2; phrases of two words;
beginnings of words; and three words expanded by their best results. Prints milliseconds per search, both elapsed and of the server's
processor time, which other work on the machine hardly changes; and those of the first searches three seconds
after the start, and after the index was replaced. --xapian does the same with Xapian's library in this process: a
database on disk with English stems and positions, the words joined by OR, BM25 and I(n_e)B2, phrases, and feedback from ten
documents. Needs Debian's python3-numpy, and python3-xapian for Xapian.
"""
import http.client
import json
import os
import pathlib
import resource
import shutil
import subprocess
import time
import urllib.parse

import usage

ARGUMENTS = usage.arguments(__doc__, 2, 4)
np = usage.module("numpy", "Debian's python3-numpy has it for /usr/bin/python3")

FILES, WORDS, SEARCHES = 100, 200_000, 1000


class Words:
    """Draws words by Zipf's law."""

    def __init__(self, seed):
        self.numbers = np.random.default_rng(seed)
        shares = 1 / np.arange(1, WORDS + 1)
        self.sums = np.cumsum(shares / shares.sum())

    def texts(self, count, words):
        drawn = np.searchsorted(self.sums, self.numbers.random((count, words))).clip(max=WORDS - 1)
        return [" ".join(f"w{word}" for word in row) for row in drawn]


def write_file(path, first, count, seed):
    words = Words(seed)
    with open(path, "w") as out:
        for i, (title, text) in enumerate(zip(words.texts(count, 5), words.texts(count, 40))):
            out.write(json.dumps({"url": f"https://site.example/page/{first + i}", "title": title, "text": text}) + "\n")


def index(program, folder, count, what):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    subprocess.run([program, "index", "--database", folder / "pages.db", "--update", "--expandable", "--language", "en", *sorted(folder.glob("*.jsonl"))], check=True,
                   stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    took = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{what}: {count:,} documents in {took:.1f} s ({count / took:,.0f} per second; {cpu:.1f} s of processor time, "
          f"{count / cpu:,.0f} per second of it), index {(folder / 'pages.db').stat().st_size >> 20} MiB, "
          f"largest memory so far {after.ru_maxrss >> 10} MiB", flush=True)


def processor_ms(process):
    """Milliseconds of processor time of all threads of a process."""
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in pathlib.Path(f"/proc/{process}/task").iterdir()) / 1e6


def spread(times):
    times = sorted(times)
    return f"median {times[len(times) // 2]:.1f} ms, p99 {times[len(times) * 99 // 100]:.1f} ms, most {times[-1]:.1f} ms"


TEMPLATES = {"all": "{Q}", "any": "{Q|any}", "phrase": "{Q|phrase}", "begins": "{Q|first}*"}
ENGINES = {"bm25": "", "ineb2": ", weighting: ineb2", "expanded": ", weighting: ineb2, expand: {}"}
KINDS = [("words 1", "bm25", "all", 1), ("words 2", "bm25", "all", 2), ("words 3", "bm25", "all", 3),
         ("words 1, I(n_e)B2", "ineb2", "any", 1), ("words 2, I(n_e)B2", "ineb2", "any", 2), ("words 3, I(n_e)B2", "ineb2", "any", 3),
         ("phrase", "bm25", "phrase", 2), ("beginning", "bm25", "begins", 1), ("words 3, expanded", "expanded", "any", 3)]


class Server:
    """A server without a cache, with a domain for each engine and template."""

    def __init__(self, program, folder):
        domains = []
        for engine in ENGINES:
            for template, query in TEMPLATES.items():
                domains.append(f"{engine}-{template}.yaml")
                (folder / domains[-1]).write_text(f"version: 1\ndomain: {engine}-{template}\nslots: {{Q: {{required: true}}}}\ntemplates:\n"
                                                  f"  - {{id: all, engine: {engine}, query: '{query}'}}\n")
        (folder / "e.yaml").write_text("engines:\n" + "".join(
            f"  - {{name: {name}, engine: local, database: pages.db, timeout: 60{keys}}}\n" for name, keys in ENGINES.items()))
        (folder / "s.yaml").write_text(f"version: 1\nlisten: 127.0.0.1:0\ntemplates: [{', '.join(domains)}]\nengines: [e.yaml]\n"
                                       "deadline: 60\ndefault_domain: bm25-all\ncache: {entries: 0}\nlearned_wait: {enabled: false}\n")
        self.process = subprocess.Popen([program, "serve", "--config", "s.yaml"], cwd=folder, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", int(self.process.stdout.readline().rsplit(":", 1)[1]))

    def search(self, engine, template, query):
        """Milliseconds by the clock and of processor time, and whether something was found."""
        before, begin = processor_ms(self.process.pid), time.monotonic()
        self.connection.request("GET", f"/search?format=json&domain={engine}-{template}&q=" + urllib.parse.quote(query))
        answer = self.connection.getresponse()
        body = json.loads(answer.read())
        took = (time.monotonic() - begin) * 1000
        assert answer.status == 200 and not body.get("unresponsive_engines"), body
        return took, processor_ms(self.process.pid) - before, bool(body["results"])

    def show_first(self, when):
        took, processor, _ = self.search("ineb2", "any", "w7 w300 w9000")
        print(f"the first search {when}: {took:.1f} ms by the clock, {processor:.1f} ms of processor time", flush=True)


def search(program, folder):
    server = Server(program, folder)
    try:
        time.sleep(3)
        server.show_first("after the start")
        for name, engine, template, words in KINDS:
            searches = [server.search(engine, template, query) for query in Words(words).texts(SEARCHES, words)]
            times, processor, found = zip(*searches)
            print(f"search, {name}: by the clock {spread(times)}; processor {spread(processor)}; "
                  f"{sum(found)} of {len(times)} found something", flush=True)
        shutil.copy(folder / "pages.db", folder / "new.db")
        os.rename(folder / "new.db", folder / "pages.db")
        time.sleep(3)
        server.show_first("after a new index")
        server.show_first("behind it")
    finally:
        server.process.terminate()
        server.process.wait()


def xapian_index(folder, count):
    xapian = usage.module("xapian", "Debian's python3-xapian has it for /usr/bin/python3")
    before, begin = time.process_time(), time.monotonic()
    database = xapian.WritableDatabase(str(folder / "xapian"), xapian.DB_CREATE_OR_OVERWRITE)
    terms = xapian.TermGenerator()
    terms.set_stemmer(xapian.Stem("en"))
    for path in sorted(folder.glob("*.jsonl")):
        for line in open(path):
            document = json.loads(line)
            item = xapian.Document()
            terms.set_document(item)
            terms.index_text(document["title"])
            terms.increase_termpos()
            terms.index_text(document["text"])
            item.set_data(document["url"])
            database.add_document(item)
    database.commit()
    took, processor = time.monotonic() - begin, time.process_time() - before
    size = sum(path.stat().st_size for path in (folder / "xapian").iterdir())
    print(f"Xapian, built: {count:,} documents in {took:.1f} s ({processor:.1f} s of processor time, {count / processor:,.0f} per second "
          f"of it), index {size >> 20} MiB", flush=True)


def xapian_search(folder):
    xapian = usage.module("xapian", "Debian's python3-xapian has it for /usr/bin/python3")
    database = xapian.Database(str(folder / "xapian"))
    parser = xapian.QueryParser()
    parser.set_stemmer(xapian.Stem("en"))
    parser.set_stemming_strategy(parser.STEM_SOME)
    parser.set_database(database)
    for name, engine, template, words in KINDS:
        if template == "begins":
            continue
        times, processor = [], []
        for text in Words(words).texts(SEARCHES, words):
            before, begin = time.process_time(), time.monotonic()
            enquire = xapian.Enquire(database)
            if engine != "bm25":
                enquire.set_weighting_scheme(xapian.IneB2Weight())
            query = parser.parse_query(f'"{text}"' if template == "phrase" else text)
            enquire.set_query(query)
            found = enquire.get_mset(0, 30)
            if engine == "expanded":
                best = xapian.RSet()
                for match in list(found)[:10]:
                    best.add_document(match.docid)
                more = [term.term.decode() for term in enquire.get_eset(20, best)]
                enquire.set_query(xapian.Query(xapian.Query.OP_OR, query, xapian.Query(xapian.Query.OP_OR, more)))
                found = enquire.get_mset(0, 30)
            for match in found:
                match.document.get_data()
            times.append((time.monotonic() - begin) * 1000)
            processor.append((time.process_time() - before) * 1000)
        print(f"Xapian, {name}: by the clock {spread(times)}; processor {spread(processor)}", flush=True)


def main():
    has_xapian = "--xapian" in ARGUMENTS
    arguments = [argument for argument in ARGUMENTS if argument != "--xapian"]
    program, folder = os.path.abspath(arguments[0]), pathlib.Path(arguments[1]).resolve()
    documents = int(arguments[2]) if len(arguments) > 2 else 1_000_000
    folder.mkdir(parents=True, exist_ok=True)
    print(f"load average at start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    share = documents // FILES
    for i in range(FILES):
        write_file(folder / f"{i:03}.jsonl", i * share, share, i)
    index(program, folder, share * FILES, "built")
    write_file(folder / "007.jsonl", 7 * share, share, FILES)
    index(program, folder, share, "one file of a hundred changed")
    search(program, folder)
    if has_xapian:
        xapian_index(folder, share * FILES)
        xapian_search(folder)


main()
