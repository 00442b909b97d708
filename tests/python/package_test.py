"""The package metafuse against the command line, worked examples and trec_eval's known answers."""
import math
import os
import pathlib
import random
import subprocess
import sys
import sysconfig
import tempfile
import threading
import unittest
import zipfile

import metafuse
import numpy

try:
    import pandas
except ImportError:
    pandas = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = os.environ.get("METAFUSE_DATA")
KNOWN = pathlib.Path(DATA or "/nowhere") / "trec_eval-known-answers"


def random_data(queries=12, documents=20, depth=8, seed=7):
    """Three runs {query: {document: score}} and judgments, drawn at random."""
    draw = random.Random(seed)
    names = [f"d{i}" for i in range(documents)]
    runs = {run: {f"q{q}": {document: float(depth - i // 2) for i, document in enumerate(draw.sample(names, depth))}
                  for q in range(queries)} for run in ("a", "b", "c")}
    return runs, {f"q{q}": {name: draw.randrange(3) for name in names} for q in range(queries)}


def write_run(path, run):
    """A TREC run whose ranks are the order of the dict."""
    with open(path, "w") as out:
        for query, scores in run.items():
            for rank, (document, score) in enumerate(scores.items(), 1):
                out.write(f"{query} Q0 {document} {rank} {score} run\n")


def command(*arguments):
    return subprocess.run(["metafuse", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


class Fusing(unittest.TestCase):
    def test_lists_of_one_query_worked_by_hand(self):
        fused = metafuse.fuse([["d1", "d7", "d3", "d7"], ["d3", "d1"]])
        self.assertEqual([item.id for item in fused], ["d1", "d3", "d7"])
        self.assertAlmostEqual(fused[1].score, 1 / 63 + 1 / 61)

    def test_ids_come_back_as_they_were(self):
        ids, scores = numpy.array([7, 3, 9]), numpy.array([0.9, 0.5, 0.1], dtype="float32")
        self.assertEqual([item.id for item in metafuse.fuse({"vectors": (ids, scores), "words": [9, 7]})], [7, 9, 3])
        fused = metafuse.fuse([(ids, scores), {9: 3.0, 7: 1.0}], "combsum", normalise="max")
        self.assertEqual(fused[0].id, 7)
        self.assertAlmostEqual(fused[0].score, 1 + 1 / 3)
        with self.assertRaisesRegex(metafuse.UsageError, "two ids both become 1"):
            metafuse.fuse([[1, "1"]])

    def test_weights_by_name_or_order(self):
        lists = {"a": ["x", "y"], "b": ["y", "x"]}
        self.assertEqual(metafuse.fuse(lists, "rrf", weights={"b": 2})[0].id, "y")
        self.assertEqual(metafuse.fuse(lists, "rrf", weights=[2, 1])[0].id, "x")
        self.assertEqual(metafuse.fuse(lists, "rrf", weights=numpy.array([1, 2]))[0].id, "y")
        with self.assertRaisesRegex(metafuse.UsageError, "no list c; the lists are a, b"):
            metafuse.fuse(lists, weights={"c": 1})

    def test_runs_have_the_order_of_the_command_line_in_every_form(self):
        runs, qrels = random_data()
        with tempfile.TemporaryDirectory() as folder:
            for name, run in runs.items():
                write_run(f"{folder}/{name}.run", run)
            files = {name: f"{folder}/{name}.run" for name in runs}
            for method in ("rrf", "combmnz", "condorcet"):
                printed = command("fuse", "--method", method, "--runs", *(f"{n}={f}" for n, f in files.items()))
                wanted = [tuple(line.split()[:3:2]) for line in printed.splitlines()]
                of_dicts = metafuse.fuse(runs, method)
                self.assertEqual([(q, d) for q, scores in of_dicts.items() for d in scores], wanted)
                self.assertEqual(metafuse.fuse(files, method).to_dict(), of_dicts)
                if pandas is not None:
                    frames = {name: metafuse.Run(run).to_frame() for name, run in runs.items()}
                    fused = metafuse.fuse(frames, method)
                    self.assertEqual(list(zip(fused.qid, fused.docno)), wanted)
                    self.assertEqual(fused["rank"][0], 1)
                    names = {"qid": "q_id", "docno": "doc_id"}
                    others = {name: frame.rename(columns=names) for name, frame in frames.items()}
                    self.assertTrue(metafuse.fuse(others, method).equals(fused.rename(columns=names)))
            learned = metafuse.fuse(runs, "probfuse", train=qrels, depth=5)
            self.assertEqual(set(learned), set(runs["a"]))

    def test_an_empty_run_beside_runs_is_one_without_queries(self):
        runs = {"words": {"q": {"a": 2.0, "b": 1.0}}, "vectors": {"q": {"b": 0.5}}}
        self.assertEqual(list(metafuse.fuse({**runs, "none": {}})["q"]), ["b", "a"])
        self.assertEqual(list(metafuse.fuse([{}, runs["words"]])["q"]), ["a", "b"])
        model = metafuse.train(runs, {"q": {"b": 1}}, "rankboost", rounds=3)
        self.assertEqual(list(model.fuse({**runs, "words": {}}, missing="unranked")["q"]), ["b"])
        self.assertEqual([item.id for item in metafuse.fuse([{}, {"a": 1.0}])], ["a"])  # lists of one query
        partly = {"a": {"q1": {"d1": 2.0}, "q2": {}}, "b": {"q1": {"d1": 0.3}, "q2": {"d5": 1.0}}}
        self.assertEqual(list(metafuse.fuse(partly, "combsum", normalise="max")["q2"]), ["d5"])

    def test_what_is_wrong_is_said_as_the_command_line_says_it(self):
        for wrong, kind, said in (
                (lambda: metafuse.fuse([["a"]], "rff"), metafuse.UsageError, "no method \"rff\"; did you mean rrf"),
                (lambda: metafuse.fuse([["a"]], "combsum"), metafuse.UsageError, "has none; give every document a score"),
                (lambda: metafuse.fuse([{"a": math.nan}]), metafuse.UsageError, "not finite"),
                (lambda: metafuse.fuse([]), metafuse.UsageError, "no list"),
                (lambda: metafuse.fuse([{"a": "best"}]), metafuse.UsageError, "score 'best' is not a number"),
                (lambda: metafuse.fuse([[("a", None)]]), metafuse.UsageError, "score None is not a number"),
                (lambda: metafuse.fuse([["a"], {"q": {"a": 1}}]), metafuse.UsageError, "is not a number"),
                (lambda: metafuse.fuse(["abc"]), metafuse.FileError, "abc"),
                (lambda: metafuse.fuse([["a\0b"]]), metafuse.UsageError, "zero byte"),
                (lambda: metafuse.fuse([[""]]), metafuse.UsageError, "the id is empty"),
                (lambda: metafuse.fuse([["a"]], depth=3), metafuse.UsageError, "depth applies to runs"),
                (lambda: metafuse.evaluate({"q": {"d": "x"}}, {"q": {"d": 1}}), metafuse.UsageError, "is not a number"),
                (lambda: metafuse.evaluate({"q": {"d": 1}}, {"q": {"d": 0.5}}), metafuse.UsageError, "not a whole number"),
                (lambda: metafuse.evaluate({"q": ["d"]}, {"p": {"d": 1}}), metafuse.DataError, "shares no query"),
                (lambda: metafuse.Model.load("/nowhere"), OSError, "/nowhere"),
                (lambda: metafuse.train({"a": {"q": ["d"]}}, {"q": {"d": 1}}, ruonds=3), ValueError, "no option ruonds")):
            with self.subTest(said), self.assertRaisesRegex(kind, said):
                wrong()


class Threads(unittest.TestCase):
    def test_other_threads_run_while_the_library_works(self):
        # The library waits for somebody to write to the pipe. If it held the interpreter's lock, nobody
        # ever could.
        code = """
import os, sys, threading, metafuse
os.mkfifo(sys.argv[1])
def load():
    try:
        metafuse.Model.load(sys.argv[1])
    except metafuse.DataError as error:
        print(error)
worker = threading.Thread(target=load)
worker.start()
with open(sys.argv[1], "w") as pipe:
    pipe.write("{")
worker.join()
"""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", code, f"{folder}/pipe"], capture_output=True, text=True,
                                  timeout=120)
            self.assertIn("pipe:1:2: not valid JSON", done.stdout, done.stderr)

    def test_many_threads_share_a_model_and_each_has_its_own_error(self):
        runs, qrels = random_data()
        model = metafuse.train(runs, qrels, "rankboost", rounds=5)
        wanted = model.fuse(runs)
        problems = []

        def work(number):
            for _ in range(10):
                if model.fuse(runs) != wanted:
                    problems.append("another ranking")
                try:
                    metafuse.fuse([["a"]], f"none{number}")
                except metafuse.UsageError as error:
                    if f'"none{number}"' not in str(error):
                        problems.append(str(error))
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])


class Models(unittest.TestCase):
    def test_a_model_is_the_bytes_of_the_command_line(self):
        runs, qrels = random_data()
        with tempfile.TemporaryDirectory() as folder:
            for name, run in runs.items():
                write_run(f"{folder}/{name}.run", run)
            with open(f"{folder}/qrels", "w") as out:
                for query, grades in qrels.items():
                    out.writelines(f"{query} 0 {document} {grade}\n" for document, grade in grades.items())
            files = [f"{name}={folder}/{name}.run" for name in runs]
            command("train", "--runs", *files, "--qrels", f"{folder}/qrels", "--learner", "rankboost", "--rounds", 12,
                    "--query-weights", "equal", "--model", f"{folder}/m.json")
            model = metafuse.train(runs, qrels, "rankboost", rounds=12, query_weights="equal")
            self.assertEqual(model.text, pathlib.Path(folder, "m.json").read_text())
            model.save(f"{folder}/again.json")
            loaded = metafuse.Model.load(f"{folder}/again.json")
            self.assertEqual(loaded.text, model.text)
            printed = command("fuse", "--model", f"{folder}/m.json", "--runs", *files)
            self.assertEqual([(q, d) for q, scores in loaded.fuse(runs).items() for d in scores],
                             [tuple(line.split()[:3:2]) for line in printed.splitlines()])
            self.assertEqual(loaded.lists, ["a", "b", "c"])
            self.assertEqual(loaded.training["rounds"], 12)

    def test_an_explanation_adds_up_to_the_score(self):
        runs, qrels = random_data()
        model = metafuse.train(runs, qrels, "rankboost", rounds=20)
        lists = {"a": ["x", "y"], "c": ["y", "z"]}
        for item in model.fuse(lists):
            why = model.explain(lists, item.id)
            self.assertAlmostEqual(sum(share["weight"] for share in why["features"]), item.score)
        with self.assertRaisesRegex(metafuse.DataError, "not in the model other"):
            model.fuse({"other": ["x"]})
        with self.assertRaisesRegex(metafuse.UsageError, "names of its lists"):
            model.fuse([["x"]])

    def test_progress_may_stop_training_or_raise(self):
        runs, qrels = random_data()
        calls = []
        metafuse.train(runs, qrels, "rankboost", rounds=20, progress=lambda done, total: calls.append((done, total)))
        self.assertGreater(len(calls), 1)
        with self.assertRaises(metafuse.Stopped):
            metafuse.train(runs, qrels, "rankboost", progress=lambda done, total: False)

        def angry(done, total):
            raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            metafuse.train(runs, qrels, "rankboost", progress=angry)

    def test_validation_stops_early_and_auto_says_what_it_chose(self):
        runs, qrels = random_data()
        early, late = dict(list(qrels.items())[:8]), dict(list(qrels.items())[8:])
        model = metafuse.train(runs, early, "rankboost", validate=late, rounds=300, patience=5, metric="ndcg_cut_10")
        self.assertLess(len(metafuse.Model.parse(model.text).training), 100)
        self.assertIn("chosen", metafuse.train(runs, qrels).training["auto"])


class Evaluating(unittest.TestCase):
    def test_a_small_example_worked_by_hand(self):
        qrels = {"q1": {"d1": 0, "d2": 1, "d3": 0}, "q2": {"d2": 1, "d3": 1}}
        run = {"q1": {"d1": 1.0, "d2": 0.0, "d3": 1.5}, "q2": {"d1": 1.5, "d2": 0.2, "d3": 0.5}}
        result = metafuse.evaluate(run, qrels, ["map", "ndcg"])
        self.assertAlmostEqual(result.per_query["q1"]["map"], 1 / 3)
        self.assertAlmostEqual(result.per_query["q1"]["ndcg"], 1 / 2)  # 1 / log2(4)
        self.assertAlmostEqual(result.per_query["q2"]["map"], (1 / 2 + 2 / 3) / 2)
        ideal = 1 + 1 / math.log2(3)
        self.assertAlmostEqual(result.per_query["q2"]["ndcg"], (1 / math.log2(3) + 1 / 2) / ideal)
        self.assertEqual(result.values.shape, (2, 2))
        self.assertAlmostEqual(result["map"], result.values[:, 0].mean())
        kept = result.values
        del result
        self.assertAlmostEqual(kept[0, 0], 1 / 3)  # the arrays own the evaluation's memory

    def test_the_answers_that_pytrec_eval_and_ranx_publish(self):
        # The examples on both projects' front pages, with the figures given there.
        judged = {"q1": {"d1": 0, "d2": 1, "d3": 0}, "q2": {"d2": 1, "d3": 1}}
        run = {"q1": {"d1": 1.0, "d2": 0.0, "d3": 1.5}, "q2": {"d1": 1.5, "d2": 0.2, "d3": 0.5}}
        self.assertEqual(metafuse.evaluate(run, judged, ["map", "ndcg"]).per_query,
                         {"q1": {"map": 0.3333333333333333, "ndcg": 0.5},
                          "q2": {"map": 0.5833333333333333, "ndcg": 0.6934264036172708}})
        scores = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
        run = {"q_1": dict(zip(("d_12", "d_23", "d_25", "d_36", "d_32", "d_35"), scores)),
               "q_2": dict(zip(("d_12", "d_11", "d_25", "d_36", "d_22", "d_35"), scores))}
        judged = {"q_1": {"d_12": 5, "d_25": 3}, "q_2": {"d_11": 6, "d_22": 1}}
        result = metafuse.evaluate(run, judged, ["ndcg_cut_5", "map_cut_5", "recip_rank"])
        self.assertAlmostEqual(result["ndcg_cut_5"], 0.7861, places=4)
        self.assertAlmostEqual(result["map_cut_5"], 0.6416, delta=0.0001)  # truncated there, not rounded
        self.assertEqual(result["recip_rank"], 0.75)

    def test_fused_scores_are_those_that_ranxs_own_tests_state(self):
        runs = {"first": {"q1": {"a": 1, "b": 2, "c": 3}, "q2": {"a": 1, "b": 2}},
                "second": {"q1": {"a": 3, "b": 2}, "q2": {"a": 1, "c": 3}},
                "third": {"q1": {"c": 1}, "q2": {"b": 2, "c": 3}}}
        for method, options, wanted in (
                ("combmnz", {"normalise": "none"}, ((8, 8, 8), (4, 8, 12))),
                ("rrf", {}, ((1 / 63 + 1 / 61, 2 / 62, 2 / 61), (2 / 62, 1 / 61 + 1 / 62, 2 / 61))),
                ("borda", {}, ((5.5, 5.5, 7), (5, 6, 7))),
                ("isr", {}, ((20 / 9, 1, 4), (1, 2.5, 4)))):
            fused = metafuse.fuse(runs, method, **options)
            for query, scores in zip(("q1", "q2"), wanted):
                for document, score in zip("abc", scores):
                    self.assertAlmostEqual(fused[query][document], score, places=12, msg=(method, query, document))

    @unittest.skipUnless(KNOWN.is_dir(), "METAFUSE_DATA names no folder with trec_eval-known-answers")
    def test_trec_evals_known_answers_from_files_and_from_dicts(self):
        run, qrels = {}, {}
        for line in (KNOWN / "results.test").read_text().splitlines():
            topic, _, document, _, score, _ = line.split()
            run.setdefault(topic, {})[document] = float(score)
        for line in (KNOWN / "qrels.test").read_text().splitlines():
            topic, _, document, grade = line.split()
            qrels.setdefault(topic, {})[document] = int(grade)
        wanted = {}
        for line in (KNOWN / "out.test.aq").read_text().splitlines():
            name, topic, value = line.split()
            if name not in ("runid", "num_q", "relstring_20", "relstring"):
                wanted[name, topic] = value
        for data in ((run, qrels), (KNOWN / "results.test", KNOWN / "qrels.test")):
            result = metafuse.evaluate(*data, "all_trec")
            checked = 0
            for (name, topic), value in wanted.items():
                if name not in result.measures:
                    continue
                number = result[name] if topic == "all" else result.per_query[topic][name]
                self.assertEqual(f"{number:.4f}" if "." in value else f"{number:.0f}", value, (name, topic))
                checked += 1
            self.assertGreater(checked, 300)

    def test_runs_are_compared_and_methods_too(self):
        runs, qrels = random_data()
        report = metafuse.compare(runs, qrels, "map", baseline="a")
        self.assertEqual([row["run"] for row in report["comparisons"]], ["b", "c"])
        self.assertIn("| a |", metafuse.compare(runs, qrels, "map", format="markdown"))
        table = metafuse.compare_methods(runs, qrels, "map", methods=["rrf", "probfuse"], learners=["rankboost"])
        self.assertEqual([row["run"] for row in table["runs"]], ["best_run", "rrf", "probfuse", "rankboost"])
        table = metafuse.compare_methods(runs, qrels, "map", methods=["rrf"], learners=[])
        self.assertEqual([row["run"] for row in table["runs"]], ["best_run", "rrf"])
        with self.assertRaisesRegex(metafuse.UsageError, "no fusion method"):
            metafuse.compare_methods(runs, qrels, methods=["rff"])


class Wheel(unittest.TestCase):
    def test_a_wheel_builds_offline_and_its_files_are_what_it_needs(self):
        sys.path.insert(0, str(ROOT / "library" / "python"))
        import build_backend
        sys.path.pop(0)
        with tempfile.TemporaryDirectory() as folder:
            name = build_backend.build_wheel(folder)
            zipfile.ZipFile(pathlib.Path(folder, name)).extractall(f"{folder}/site")
            environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            code = ("import metafuse; print(metafuse.fuse([['x']])[0].id, metafuse.__file__); "
                    "print([line.split()[-1] for line in open('/proc/self/maps') if 'libmetafuse' in line][0])")
            done = subprocess.run([sys.executable, "-c", code], env={**environment, "PYTHONPATH": f"{folder}/site"},
                                  capture_output=True, text=True)
            self.assertEqual(done.stderr, "")
            self.assertTrue(done.stdout.startswith(f"x {folder}/site/"), done.stdout)
            self.assertIn(f"{folder}/site/metafuse/libmetafuse.so.0", done.stdout)

    def test_pip_without_a_build_says_in_one_sentence_how_to_make_one(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-B", "-c", "import build_backend; build_backend.build_wheel('.')"], cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT / "library" / "python"), "METAFUSE_BUILD": folder},
                capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn(f"metafuse is not built for Python {sysconfig.get_python_version()}: there is no {folder}/",
                          done.stderr)
            self.assertIn("scripts/setup --list scripts/packages-package.txt --target metafuse_python", done.stderr)


if __name__ == "__main__":
    unittest.main()
