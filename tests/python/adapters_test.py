"""The adapters for LangChain, LlamaIndex, Haystack and PyTerrier, with stand-ins for these frameworks; and AsyncClient."""
import asyncio
import json
import os
import tempfile
import unittest

import metafuse
import standins
from served import Scripted, Served

RUNS = {"words": {"q1": ["a", "b"], "q2": ["c", "d"]}, "vectors": {"q1": ["b", "a"], "q2": ["d", "c"]}}
QRELS = {"q1": {"b": 1}, "q2": {"d": 1}}


def model_file(folder):
    """A model that trusts the vectors alone."""
    path = os.path.join(folder, "model.json")
    metafuse.train(RUNS, QRELS, "rankboost", rounds=10).save(path)
    return path


class LangChain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.Document, base = standins.langchain()
        from metafuse import langchain
        cls.adapter = langchain

        class Fixed(base):
            documents: list

            def _get_relevant_documents(self, query, *, run_manager):
                return self.documents

        make = lambda *names: Fixed(documents=[cls.Document(page_content=f"text {n}", id=n, metadata={"key": n}) for n in names])
        cls.retrievers = {"words": make("a", "b"), "vectors": make("b", "c")}

    def ids(self, found):
        return [document.id for document in found]

    def test_an_ensemble_fuses_by_a_method_a_model_file_or_a_domain(self):
        ensemble = self.adapter.MetafuseEnsembleRetriever
        found = ensemble(retrievers=self.retrievers).invoke("tea")
        self.assertEqual(self.ids(found), ["b", "a", "c"])
        self.assertEqual(found[0].metadata["key"], "b")
        self.assertEqual(self.ids(ensemble(retrievers=self.retrievers, limit=1).invoke("tea")), ["b"])
        with tempfile.TemporaryDirectory() as folder:
            learned = ensemble(retrievers=self.retrievers, model=model_file(folder)).invoke("tea")
        self.assertEqual(learned[0].id, "b")
        with Served() as served:
            by_domain = ensemble(retrievers=self.retrievers, domain="rag", url=served.url).invoke("tea")
            self.assertEqual(self.ids(by_domain), ["b", "a", "c"])
            self.assertIn("search_id", by_domain[0].metadata["fusion"])
            metafuse.Client(served.url).feedback(by_domain[0].metadata["fusion"]["search_id"], position=1)
        keyed = ensemble(retrievers=self.retrievers, id_key="key")
        self.assertEqual(len(asyncio.run(keyed.ainvoke("tea"))), 3)
        with self.assertRaisesRegex(metafuse.UsageError, "give one of"):
            ensemble(retrievers=self.retrievers, model="m", method="rrf").invoke("tea")

    def test_documents_without_an_id_or_with_a_long_one_are_fused_by_a_server(self):
        fixed = type(self.retrievers["words"])
        texts = ["", "long " * 600, "short"]
        first, second = ([self.Document(page_content=text) for text in order] for order in (texts, texts[::-1]))
        second.append(self.Document(page_content="named", id="n" * 2000))
        with Served() as served:
            found = self.adapter.MetafuseEnsembleRetriever(
                retrievers={"words": fixed(documents=first), "vectors": fixed(documents=second)}, domain="rag",
                url=served.url).invoke("tea")
            self.assertEqual(sorted(document.page_content for document in found), sorted([*texts, "named"]))
            self.assertEqual({document.id for document in found}, {None, "n" * 2000})
            fusion = found[0].metadata["fusion"]
            self.assertTrue(fusion["id"].startswith("sha256:"))
            metafuse.Client(served.url).feedback(fusion["search_id"], id=fusion["id"])

    def test_a_long_query_and_long_lists_are_cut_to_what_a_server_takes(self):
        long = type(self.retrievers["words"])(documents=[self.Document(page_content=f"text {n}") for n in range(1200)])
        with Served() as served:
            ensemble = self.adapter.MetafuseEnsembleRetriever(retrievers={"words": long}, domain="rag", url=served.url)
            self.assertEqual(len(ensemble.invoke("x" + "\u00e9" * 4000)), 1000)
            self.assertEqual(len(ensemble.invoke("")), 1000)

    def test_a_server_that_does_not_answer_is_waited_for_as_long_as_said(self):
        with Scripted({path: Scripted.HANG for path in ("/v1/search", "/v1/fuse")}) as server:
            for retriever in (self.adapter.MetafuseRetriever(url=server.url, timeout=0.2),
                              self.adapter.MetafuseEnsembleRetriever(retrievers=self.retrievers, domain="rag",
                                                                     url=server.url, timeout=0.2)):
                with self.assertRaisesRegex(metafuse.ServerError, "timed out"):
                    retriever.invoke("tea")


class LlamaIndex(unittest.TestCase):
    def test_retrievers_are_fused_and_nodes_reranked(self):
        scored, text_node, base = standins.llama_index()
        from metafuse import llama_index

        class Fixed(base):
            def __init__(self, names):
                super().__init__()
                self.names = names

            def _retrieve(self, query_bundle):
                return [scored(node=text_node(id_=name, text=f"text {name}")) for name in self.names]

        retrievers = {"words": Fixed("ab"), "vectors": Fixed("bc")}
        fused = llama_index.MetafuseFusionRetriever(retrievers)
        self.assertEqual([item.node.node_id for item in fused.retrieve("tea")], ["b", "a", "c"])
        self.assertEqual([item.node.node_id for item in asyncio.run(fused.aretrieve("tea"))], ["b", "a", "c"])
        with Served() as served:
            long = "n" * 2000
            own = scored(node=text_node(id_=long, text="long", metadata={"page": 3}, excluded_llm_metadata_keys=["page"]))

            class One(base):
                def _retrieve(self, query_bundle):
                    return [own]

            learned = llama_index.MetafuseFusionRetriever({"words": One()}, domain="rag", url=served.url)
            node = learned.retrieve("tea")[0].node
            self.assertEqual((node.node_id, node.metadata["page"]), (long, 3))
            fusion = node.metadata["fusion"]
            self.assertEqual(fusion["rank"], 1)
            metafuse.Client(served.url).feedback(fusion["search_id"], id=fusion["id"])
            self.assertEqual(node.excluded_llm_metadata_keys, ["page", "fusion"])
            self.assertEqual(node.excluded_embed_metadata_keys, ["fusion"])
            self.assertEqual((own.node.metadata, own.node.excluded_llm_metadata_keys), ({"page": 3}, ["page"]))
            nodes = [scored(node=text_node(id_=str(i), text=text)) for i, text in enumerate(["bread", "a slow vpn", "tea"])]
            rerank = llama_index.MetafuseRerank(url=served.url, top_n=2)
            ordered = rerank.postprocess_nodes(nodes, query_str="slow vpn")
            self.assertEqual([item.node.node_id for item in ordered][:1], ["1"])
            self.assertEqual(len(ordered), 2)
            self.assertEqual(rerank.postprocess_nodes([], query_str="x"), [])
            with self.assertRaises(ValueError):
                rerank.postprocess_nodes(nodes)


class Haystack(unittest.TestCase):
    def test_the_joiner_has_a_socket_per_list_and_survives_a_round_trip(self):
        document = standins.haystack()
        from metafuse import haystack
        joiner = haystack.MetafuseJoiner(["words", "vectors"], key="secret")
        self.assertEqual(list(joiner.sockets), ["words", "vectors"])
        a, b, c = (document(id=name, content=name) for name in "abc")
        found = joiner.run(words=[a, b], vectors=[b, c])["documents"]
        self.assertEqual([item.id for item in found], ["b", "a", "c"])
        self.assertGreater(found[0].score, found[1].score)
        self.assertIsNone(b.score)  # the caller's documents are left alone
        self.assertEqual(joiner.run(words=[], vectors=[c], top_k=1)["documents"][0].id, "c")
        self.assertEqual(joiner.run()["documents"], [])
        again = haystack.MetafuseJoiner.from_dict(joiner.to_dict())
        self.assertEqual((again.lists, again.key), (["words", "vectors"], None))
        with self.assertRaisesRegex(ValueError, "no list dense"):
            joiner.run(dense=[a])
        self.assertEqual(a.meta, {})
        with Served() as served:
            learned = haystack.MetafuseJoiner(["words", "vectors"], domain="rag", url=served.url)
            fusion = learned.run(words=[a, b], vectors=[b, c])["documents"][0].meta["fusion"]
            self.assertEqual((fusion["rank"], fusion["id"]), (1, "b"))
            metafuse.Client(served.url).feedback(fusion["search_id"], id="b")

    def test_a_search_says_its_id(self):
        standins.llama_index()
        from metafuse import llama_index
        answer = {"search_id": "5e", "results": [{"url": "http://a/", "title": "A", "snippet": "a", "rank": 1, "relative_score": 1}]}
        body = json.dumps(answer).encode()
        with Scripted({"/v1/search": b"HTTP/1.1 200 OK\r\n\r\n" + body}) as server:
            node = llama_index.MetafuseRetriever(server.url).retrieve("tea")[0].node
        self.assertEqual(node.metadata, {"source": "http://a/", "title": "A", "rank": 1, "search_id": "5e"})
        self.assertIn("search_id", node.excluded_llm_metadata_keys)


class PyTerrier(unittest.TestCase):
    def test_an_estimator_learns_from_judged_topics(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        transformer, check = standins.pyterrier()
        from metafuse import pyterrier
        check(pyterrier.MetafuseFusion)

        class Fixed(transformer):
            def __init__(self, run):
                self.run = run

            def transform(self, inp):
                rows = [(qid, docno, 10.0 - i) for qid in inp.qid for i, docno in enumerate(self.run.get(qid, []))]
                return pandas.DataFrame(rows, columns=["qid", "docno", "score"])

        pipelines = {name: Fixed(run) for name, run in RUNS.items()}
        topics = pandas.DataFrame({"qid": ["q1", "q2"], "query": ["one", "two"]})
        qrels = pandas.DataFrame({"qid": ["q1", "q2"], "docno": ["b", "d"], "label": [1, 1]})
        fused = pyterrier.MetafuseFusion(pipelines, learner="rankboost", rounds=10)
        before = fused(topics)
        self.assertEqual(list(before.columns), ["qid", "query", "docno", "score", "rank"])
        self.assertEqual(len(before), 4)
        self.assertIs(fused.fit(topics, qrels, None, None), fused)
        after = fused(topics)
        self.assertEqual(list(after[after["rank"] == 0].docno), ["b", "d"])
        self.assertEqual(len(pyterrier.MetafuseFusion({"none": Fixed({})})(topics)), 0)


class Asyncio(unittest.TestCase):
    def test_requests_run_at_once_and_refusals_are_raised(self):
        async def use(url):
            client = metafuse.AsyncClient(url)
            lists = {"words": ["d1", "d7"], "vectors": ["d7"]}
            answers = await asyncio.gather(*(client.fuse(lists, method="rrf") for _ in range(8)))
            self.assertEqual({answer["results"][0]["id"] for answer in answers}, {"d7"})
            self.assertTrue(await client.is_ready())
            order = await client.rerank("vpn", ["bread", "a vpn"])
            self.assertEqual(order[0]["index"], 1)
            self.assertEqual((await client.fuse_many([{"lists": lists}]))[0]["results"][0]["id"], "d7")
            for call in (client.add_documents("rag", iter([{"url": "http://a/"}])), client.remove_documents("rag", ["http://a/"])):
                with self.assertRaisesRegex(metafuse.ServerError, "needs an API key"):
                    await call
            with self.assertRaises(metafuse.ServerError):
                await client.search("x")
            with self.assertRaises(metafuse.ServerError):
                async for _ in client.stream("x"):
                    pass

        with Served() as served:
            asyncio.run(use(served.url))

    def test_a_stream_can_be_cancelled_while_it_waits(self):
        problems = []

        async def use(server):
            asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
            arrived = asyncio.Event()

            async def read():
                async for _ in metafuse.AsyncClient(server.url, timeout=0.5).stream("tea"):
                    arrived.set()

            reader = asyncio.create_task(read())
            await arrived.wait()
            reader.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await reader

        events = b'HTTP/1.1 200 OK\r\n\r\nevent: partial\ndata: {}\n\n'
        with Scripted({"/v1/search/stream": events + Scripted.HANG}) as server:
            asyncio.run(use(server))
        self.assertEqual(problems, [])


if __name__ == "__main__":
    unittest.main()
