"""The client against the real server."""
import json
import os
import subprocess
import threading
import unittest
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from unittest import mock

import metafuse
from served import Scripted, Served

OK = b"HTTP/1.1 200 OK\r\n"
PARTIAL = b'event: partial\ndata: {"arrived":1}\n\n'


class ClientOfServer(unittest.TestCase):
    def test_it_fuses_as_the_package_does_and_reports_feedback(self):
        lists = {"words": ["d1", "d7", "d3"], "vectors": ["d3", "d1"]}
        with Served() as served:
            client = metafuse.Client(served.url)
            self.assertTrue(client.is_ready())
            answer = client.fuse(lists, method="rrf")
            self.assertEqual([(item["id"], item["score"]) for item in answer["results"]],
                             [tuple(item) for item in metafuse.fuse(lists)])
            mine = {"words": [{"id": "d1", "title": "One", "fields": {"page": 3}}]}
            self.assertEqual(client.fuse(mine)["results"][0]["fields"], {"page": 3})
            answer = client.fuse(lists, domain="rag", query="tea", explain=True)
            self.assertIn("search_id", answer)
            client.feedback(answer["search_id"], position=1)
            client.feedback(answer["search_id"], id="d7")
            both = client.fuse_many([{"lists": lists}, {"lists": {"words": [7]}}])
            self.assertEqual(both[0]["results"][0]["id"], "d1")
            self.assertEqual(both[1]["status"], 400)
            with self.assertRaisesRegex(metafuse.ServerError, "needs an API key") as caught:
                client.models()
            self.assertEqual(caught.exception.http_status, 401)

    def test_what_is_refused_is_said_in_the_servers_words(self):
        with Served() as served:
            client = metafuse.Client(served.url + "/")
            with self.assertRaisesRegex(metafuse.ServerError, "did you mean rrf") as caught:
                client.fuse({"a": ["x"]}, method="rff")
            self.assertEqual(caught.exception.http_status, 400)
            with self.assertRaises(metafuse.ServerError) as caught:
                client.feedback("none", position=1)
            self.assertEqual(caught.exception.http_status, 404)
        with self.assertRaisesRegex(metafuse.ServerError, "is the server running there"):
            client.fuse({"a": ["x"]})
        self.assertFalse(client.is_ready())
        with self.assertRaisesRegex(metafuse.ServerError, "http://"):
            metafuse.Client("file:///etc/passwd")

    def test_documents_are_sent_in_parts_to_a_domain_with_an_index(self):
        parts = list(metafuse.client._parts([{"url": f"http://{n}/", "text": "x" * 40} for n in range(10)], most=200))
        self.assertGreater(len(parts), 3)
        self.assertTrue(all(len(part) <= 200 for part in parts))
        self.assertEqual([json.loads(line)["url"] for part in parts for line in part.splitlines()],
                         [f"http://{n}/" for n in range(10)])
        with Served() as served:
            client = metafuse.Client(served.url)
            with self.assertRaises(metafuse.ServerError) as caught:
                client.add_documents("rag", [{"url": "http://a/"}])
            self.assertEqual(caught.exception.http_status, 401)
            with self.assertRaises(metafuse.ServerError) as caught:
                client.remove_documents("rag", ["http://a/"])
            self.assertEqual(caught.exception.http_status, 401)

    def test_nothing_of_a_refused_request_is_stored(self):
        many = [{"name": f"l{i}", "results": []} for i in range(65)]
        wrong = ['"no object"', '{"domain":"rag","query":"x","lists":7}',
                 '{"domain":"rag","query":"x","lists":[{"name":"words","results":[{"title":"neither"}]}]}',
                 '{"domain":"rag","query":"x","lists":[{"name":"words","results":[{"id":"a","score":NaN}]}]}',
                 '{"domain":"rag","query":"x","lists":[{"name":"others","results":["a"]}]}',
                 '{"domain":"none","query":"x","lists":[{"name":"words","results":["a"]}]}',
                 json.dumps({"domain": "rag", "query": "x", "lists": many})]
        with Served() as served:
            def stored():
                done = subprocess.run(["metafuse", "store", "export", "--store", served.folder / "rag.db"],
                                      capture_output=True, text=True, check=True)
                return [line for line in done.stdout.splitlines() if '"kind":"search"' in line.replace(" ", "")]

            def post(body):
                request = urllib.request.Request(served.url + "/v1/fuse", body.encode(), {"Content-Type": "application/json"})
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.load(answer)
            for body in wrong:
                with self.subTest(body[:60]), self.assertRaises(urllib.error.HTTPError) as caught:
                    post(body)
                self.assertIn(caught.exception.code, (400, 404))
                caught.exception.close()
            self.assertEqual(stored(), [])
            twice = post('{"domain":"rag","query":"x","lists":[{"name":"words","results":["a","b","a"]}]}')
            self.assertEqual([item["id"] for item in twice["results"]], ["a", "b"])
            self.assertIn("names a twice", twice["notices"][0])
            self.assertEqual(len(stored()), 1)

    def test_a_model_of_other_lists_is_refused_by_name(self):
        model = metafuse.train({"mine": {"q": ["a", "b"]}, "other": {"q": ["b", "a"]}}, {"q": {"a": 1}}, "rankboost", rounds=1)
        served = Served()
        model.save(str(served.folder / "models/rag.json"))
        done = subprocess.run(["metafuse", "config", "check", served.folder / "metafuse.yaml"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout + done.stderr, "mine")
        served._folder.cleanup()

    def test_a_stream_yields_its_events_and_a_foreign_redirect_is_refused(self):
        class Answers(BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path.startswith("/v1/models"):
                    self.send_response(302)
                    self.send_header("Location", "http://127.0.0.1:1/stolen")
                    self.end_headers()
                    return
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'event: partial\ndata: {"arrived":1}\n\nevent: final\ndata: {"results":\ndata: []}\n\n')

            def log_message(self, *_):
                pass

        server = HTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = metafuse.Client(f"http://127.0.0.1:{server.server_port}", key="secret")
        self.assertEqual(list(client.stream("tea")), [("partial", {"arrived": 1}), ("final", {"results": []})])
        with self.assertRaisesRegex(metafuse.ServerError, "the server redirects to"):
            client.models()
        server.shutdown()
        server.server_close()

    def test_a_stream_that_ends_without_its_last_answer_raises(self):
        cases = {b"\r\n" + PARTIAL: "ended before its last answer",
                 b"\r\n" + PARTIAL + b'event: error\ndata: {"detail":"too late"}\n\n': "too late",
                 b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(PARTIAL), PARTIAL): "the stream ended before",
                 b"\r\nevent: final\ndata: {\n\n": "not JSON"}
        for answer, said in cases.items():
            with self.subTest(said), Scripted({"/v1/search/stream": OK + answer}) as server:
                events = metafuse.Client(server.url).stream("tea")
                if PARTIAL in answer:
                    self.assertEqual(next(events), ("partial", {"arrived": 1}))
                with self.assertRaisesRegex(metafuse.ServerError, said):
                    next(events)

    def test_a_connection_that_fails_raises_an_error_of_the_package(self):
        begun = OK + b"Content-Length: 100\r\n\r\n{"
        with Scripted({"/v1/models": begun + Scripted.HANG, "/readyz": b"what?\r\n\r\n", "/v1/feedback": begun}) as server:
            client = metafuse.Client(server.url, timeout=0.2)
            with self.assertRaisesRegex(metafuse.ServerError, "timed out"):
                client.models()
            self.assertFalse(client.is_ready())
            with self.assertRaisesRegex(metafuse.ServerError, "1 bytes read, 99 more expected"):
                client.feedback("id", position=1)

    def test_a_stream_has_the_members_of_a_search_under_its_own_names(self):
        final = OK + b"\r\nevent: final\ndata: {}\n\n"
        with Scripted({"/v1/search/stream": final}) as server:
            client = metafuse.Client(server.url)
            list(client.stream("a b", explain=False, verbatim=True, page=2, safe_search=1, engines=["one", "two"],
                               limit=None, deadline_ms=1500))
            list(client.stream(slots={"PLACE": "Berlin"}))
            asked = [request.split(" ")[1] for request in server.requests]
            with self.assertRaisesRegex(metafuse.UsageError, "no parameter depth"):
                client.stream("tea", depth=3)
        self.assertEqual(asked[0], "/v1/search/stream?q=a+b&explain=0&verbatim=1&pageno=2&safesearch=1"
                                   "&engines=one%2Ctwo&timeout_limit=1.5")
        self.assertEqual(asked[1], "/v1/search/stream?slot.PLACE=Berlin")

    def test_a_key_has_no_line_end_and_is_not_shown(self):
        with Scripted({"/v1/models": OK + b"\r\n{}"}) as server:
            metafuse.Client(server.url, key="secret\n").models()
            self.assertIn("Authorization: Bearer secret\r\n", server.requests[0])
        with self.assertRaises(metafuse.UsageError) as caught:
            metafuse.Client(key="secret\r\nX: y")
        self.assertNotIn("secret", str(caught.exception))

    def test_a_refusal_says_how_long_to_wait(self):
        refused = b'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n\r\n{"detail":"slow down"}'
        with Scripted({"/v1/models": refused, "/v1/fuse": b"HTTP/1.1 400 Bad\r\n\r\n{}"}) as server:
            with self.assertRaisesRegex(metafuse.ServerError, "slow down") as caught:
                metafuse.Client(server.url).models()
            self.assertEqual((caught.exception.http_status, caught.exception.retry_after), (429, 7))
            with self.assertRaises(metafuse.ServerError) as caught:
                metafuse.Client(server.url).fuse({})
            self.assertIsNone(caught.exception.retry_after)

    def test_a_body_that_is_too_long_is_refused_in_the_servers_words(self):
        with Served() as served:
            for size in (2 << 20, 24 << 20):
                with self.assertRaisesRegex(metafuse.ServerError, "the body is longer than") as caught:
                    metafuse.Client(served.url).rerank("vpn", ["x" * size])
                self.assertEqual(caught.exception.http_status, 413)

    def test_the_answer_of_a_server_that_stops_reading_is_read(self):
        # it closes with the body unread, which resets the connection while the client sends
        refused = b'HTTP/1.1 413 Content Too Large\r\n\r\n{"detail":"too long"}'
        with Scripted({"/v1/rerank": refused}) as server:
            with self.assertRaisesRegex(metafuse.ServerError, "too long") as caught:
                metafuse.Client(server.url).rerank("vpn", ["x" * (24 << 20)])
            self.assertEqual(caught.exception.http_status, 413)

    def test_the_key_is_not_sent_to_a_proxy_of_the_environment(self):
        with Scripted({"/v1/models": OK + b"\r\n{}"}) as server, Scripted({}) as proxy:
            with mock.patch.dict(os.environ, {"http_proxy": proxy.url, "no_proxy": ""}):
                self.assertEqual(metafuse.Client(server.url, key="secret").models(), {})
            self.assertEqual(proxy.requests, [])
            self.assertIn("Bearer secret", server.requests[0])


if __name__ == "__main__":
    unittest.main()
