#include "service/http/head.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

/// One message as bytes and the status that it must get; 0 means that the connection closes unanswered.
struct Message {
  const char* what;
  std::string bytes;
  int status;
};

const std::string kHost = "Host: localhost\r\n";

std::string get(const std::string& headers, const std::string& target = "/healthz",
                const std::string& version = "HTTP/1.1") {
  return "GET " + target + " " + version + "\r\n" + headers + "\r\n";
}

std::string post(const std::string& headers, const std::string& body) {
  return "POST /v1/search HTTP/1.1\r\n" + kHost + "Content-Type: application/json\r\n" + headers + "\r\n" +
         body;
}

std::vector<Message> request_lines() {
  return {
      {"plain", get(kHost), 200},
      {"HTTP/1.0 without Host", get("", "/healthz", "HTTP/1.0"), 200},
      {"leading empty line", "\r\n" + get(kHost), 200},
      {"two leading empty lines", "\r\n\r\n" + get(kHost), 200},
      {"three leading empty lines", "\r\n\r\n\r\n" + get(kHost), 400},
      {"query", get(kHost, "/healthz?a=1&b=%20"), 200},
      {"HEAD", "HEAD /healthz HTTP/1.1\r\n" + kHost + "\r\n", 200},
      {"no such path", get(kHost, "/nothing"), 404},
      {"method not on this path", "DELETE /healthz HTTP/1.1\r\n" + kHost + "\r\n", 405},
      {"unknown method", "BREW /healthz HTTP/1.1\r\n" + kHost + "\r\n", 501},
      {"lower-case method", "get /healthz HTTP/1.1\r\n" + kHost + "\r\n", 501},
      {"CONNECT", "CONNECT a:80 HTTP/1.1\r\n" + kHost + "\r\n", 501},
      {"TRACE", "TRACE / HTTP/1.1\r\n" + kHost + "\r\n", 501},
      {"method is no token", "G(T / HTTP/1.1\r\n" + kHost + "\r\n", 400},
      {"absolute form", get(kHost, "http://localhost/healthz"), 200},
      {"absolute form with a query", get(kHost, "HTTP://LocalHost/healthz?a=1"), 200},
      {"absolute form without a path", get(kHost, "http://localhost"), 200},
      {"absolute form with a query alone", get(kHost, "http://localhost?a=1"), 200},
      {"absolute form with a fragment", get(kHost, "http://localhost#a"), 400},
      {"absolute form with the usual port", get(kHost, "http://localhost:80/healthz"), 200},
      {"absolute form without Host's usual port", get("Host: localhost:80\r\n", "http://localhost/healthz"),
       200},
      {"absolute form with another port", get(kHost, "http://localhost:81/healthz"), 400},
      {"absolute form with a port alone", get(kHost, "http://:80/healthz"), 400},
      {"absolute form without Host", get("", "http://localhost/healthz"), 400},
      {"absolute form in HTTP/1.0 without Host", get("", "http://localhost/healthz", "HTTP/1.0"), 200},
      {"absolute form in HTTP/1.0 of a foreign host", get("", "http://evil.example/healthz", "HTTP/1.0"),
       421},
      {"absolute form in HTTP/1.0 of what is no host", get("", "http://a@b/healthz", "HTTP/1.0"), 400},
      {"absolute form of another host", get(kHost, "http://evil.example/healthz"), 400},
      {"absolute form without a host", get(kHost, "http:///healthz"), 400},
      {"another scheme", get(kHost, "ftp://localhost/healthz"), 400},
      {"no target", "GET HTTP/1.1\r\n" + kHost + "\r\n", 400},
      {"two blanks", "GET  /healthz HTTP/1.1\r\n" + kHost + "\r\n", 400},
      {"blank in target", get(kHost, "/health z"), 400},
      {"tab as separator", "GET\t/healthz\tHTTP/1.1\r\n" + kHost + "\r\n", 400},
      {"raw UTF-8 in target", get(kHost, "/search?q=\xc3\xa4"), 400},
      {"fragment in target", get(kHost, "/healthz#a"), 400},
      {"NUL in target", get(kHost, std::string("/a\0b", 4)), 400},
      {"damaged escape", get(kHost, "/search?q=%4"), 400},
      {"escaped NUL", get(kHost, "/search?q=%00"), 400},
      {"escaped bad UTF-8", get(kHost, "/search?q=%ff"), 400},
      {"asterisk for GET", get(kHost, "*"), 400},
      {"HTTP/2.0", get(kHost, "/healthz", "HTTP/2.0"), 505},
      {"HTTP/1.2", get(kHost, "/healthz", "HTTP/1.2"), 505},
      {"HTTP/0.9 simple request", "GET /healthz\r\n\r\n", 400},
      {"version in lower case", get(kHost, "/healthz", "http/1.1"), 400},
      {"version HTTP/1.1x", get(kHost, "/healthz", "HTTP/1.1x"), 400},
      {"TLS hello", std::string("\x16\x03\x01\x02\x00\x01", 6), 400},
      {"long target", get(kHost, "/" + std::string(8001, 'a')), 414},
      {"endless request line", "GET /" + std::string(20000, 'a'), 414},
  };
}

std::vector<Message> header_fields() {
  std::string many;
  for (int i = 0; i < 101; ++i) many += "A: b\r\n";
  return {
      {"no Host", get(""), 400},
      {"two Hosts", get(kHost + kHost), 400},
      {"two different Hosts", get(kHost + "Host: evil.example\r\n"), 400},
      {"empty Host", get("Host:\r\n"), 400},
      {"Host with a path", get("Host: localhost/a\r\n"), 400},
      {"Host with user", get("Host: a@localhost\r\n"), 400},
      {"foreign Host", get("Host: evil.example\r\n"), 421},
      {"folded line", get(kHost + "A: b\r\n c\r\n"), 400},
      {"fold first", get(" A: b\r\n" + kHost), 400},
      {"blank before colon", get("Host : localhost\r\n"), 400},
      {"no colon", get(kHost + "Nonsense\r\n"), 400},
      {"empty name", get(kHost + ": a\r\n"), 400},
      {"bare LF in header", "GET /healthz HTTP/1.1\nHost: localhost\n\n", 400},
      {"bare LF after one header", "GET /healthz HTTP/1.1\r\nHost: localhost\nA: b\r\n\r\n", 400},
      {"bare CR in value", get(kHost + "A: b\rc\r\n"), 400},
      {"NUL in value", get(kHost + std::string("A: b\0c\r\n", 8)), 400},
      {"control character in value", get(kHost + "A: b\x01\r\n"), 400},
      {"DEL in value", get(kHost + "A: b\x7f\r\n"), 400},
      {"Host of 300 bytes", get("Host: " + std::string(300, 'a') + "\r\n"), 421},
      {"Host of 301 bytes", get("Host: " + std::string(301, 'a') + "\r\n"), 400},
      {"101 header lines", get(kHost + many), 431},
      {"17 KB header", get(kHost + "A: " + std::string(17000, 'b') + "\r\n"), 431},
      {"other expectation", get(kHost + "Expect: 200-ok\r\n"), 417},
  };
}

std::vector<Message> bodies() {
  const std::string query = R"({"query":"ada"})";
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const std::string whole = "f\r\n" + query + "\r\n0\r\n\r\n";
  const auto with_length = [&](const std::string& length) {
    return post("Content-Length: " + length + "\r\n", query);
  };
  return {
      {"length", with_length("15"), 200},
      {"chunked", post(chunked, whole), 200},
      {"chunked in two", post(chunked, "1\r\n{\r\nE\r\n" + query.substr(1) + "\r\n0\r\n\r\n"), 200},
      {"empty body", post("Content-Length: 0\r\n", ""), 400},
      {"negative length", with_length("-15"), 400},
      {"length with plus", with_length("+15"), 400},
      {"length in hexadecimal", with_length("0xf"), 400},
      {"listed length", with_length("15, 15"), 400},
      {"repeated length", post("Content-Length: 15\r\nContent-Length: 15\r\n", query), 400},
      {"two lengths", post("Content-Length: 15\r\nContent-Length: 16\r\n", query), 400},
      {"empty length", with_length(""), 400},
      {"overflowing length", with_length("99999999999999999999999"), 413},
      {"length beyond the limit", with_length("2000000"), 413},
      // each with a body that would be answered if only one of the two headers counted
      {"CL.TE", post("Content-Length: 25\r\n" + chunked, whole), 400},
      {"TE.CL", post(chunked + "Content-Length: 25\r\n", whole), 400},
      {"CL.TE of what the length alone delimits", post("Content-Length: 15\r\n" + chunked, query), 400},
      {"gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n", ""), 501},
      {"chunked, identity", post("Transfer-Encoding: chunked, identity\r\n", ""), 501},
      {"xchunked", post("Transfer-Encoding: xchunked\r\n", ""), 501},
      {"chunked twice", post(chunked + chunked, whole), 400},
      {"coding with vertical tab",
       post("Transfer-Encoding: \x0b"
            "chunked\r\n",
            "0\r\n\r\n"),
       400},
      {"chunked on HTTP/1.0",
       "POST /v1/search HTTP/1.0\r\nContent-Type: application/json\r\n" + chunked + "\r\n" + whole, 400},
      {"chunk size is no number", post(chunked, "g\r\n" + query + "\r\n0\r\n\r\n"), 400},
      {"negative chunk size", post(chunked, "-1\r\n\r\n0\r\n\r\n"), 400},
      {"overflowing chunk size", post(chunked, "fffffffffffffffff\r\n"), 400},
      {"chunk without its end", post(chunked, "f\r\n" + query + "XX0\r\n\r\n"), 400},
      {"chunk ends with bare LF", post(chunked, "f\n" + query + "\n0\n\n"), 0},
      {"chunk extension of 1 KB",
       post(chunked, "f;a=" + std::string(1000, 'b') + "\r\n" + query + "\r\n0\r\n\r\n"), 400},
      {"chunks beyond the limit", post(chunked, "200000\r\n" + std::string(0x200000, ' ') + "\r\n0\r\n\r\n"),
       413},
      {"body cut short", post("Content-Length: 20\r\n", query), 0},
  };
}

int status_for(TestServer& server, const Message& message) {
  RawClient client(server.port());
  client.send(message.bytes);
  client.finish_sending();
  return status_in(client.read_all());
}

void check_all(const std::vector<Message>& messages) {
  TestServer server;
  for (const Message& message : messages) {
    INFO(message.what);
    CHECK(status_for(server, message) == message.status);
  }
  CHECK(status_in(server.get("/healthz")) == 200);
}

}  // namespace

TEST_CASE("Each malformed request line gets its exact status", "[service][http]") {
  check_all(request_lines());
}

TEST_CASE("Each malformed header field gets its exact status", "[service][http]") {
  check_all(header_fields());
}

TEST_CASE("Each malformed body gets its exact status", "[service][http]") {
  check_all(bodies());
}

TEST_CASE("A framing error closes the connection so that no request can be smuggled", "[service][http]") {
  TestServer server;
  RawClient client(server.port());
  client.send(post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n") +
              get(kHost, "/metrics"));
  const std::string all = client.read_all();
  CHECK(status_in(all) == 400);
  CHECK(all.find("metafuse_http") == std::string::npos);
  CHECK(all.find("HTTP/1.1", 8) == std::string::npos);
}

TEST_CASE("Pipelined requests are answered in order on one connection", "[service][http]") {
  TestServer server;
  RawClient client(server.port());
  client.send(get(kHost) + get(kHost, "/nothing") + post("Content-Length: 15\r\n", R"({"query":"ada"})") +
              get(kHost));
  CHECK(status_in(client.read_response()) == 200);
  CHECK(status_in(client.read_response()) == 404);
  CHECK(status_in(client.read_response()) == 200);
  CHECK(status_in(client.read_response()) == 200);
}

TEST_CASE("The server answers Expect: 100-continue before the body is sent", "[service][http]") {
  TestServer server;
  RawClient client(server.port());
  client.send("POST /v1/search HTTP/1.1\r\n" + kHost +
              "Content-Type: application/json\r\nContent-Length: 15\r\nExpect: 100-continue\r\n\r\n");
  CHECK(client.read_response().starts_with("HTTP/1.1 100 Continue\r\n\r\n"));
  client.send(R"({"query":"ada"})");
  CHECK(status_in(client.read_response()) == 200);
  RawClient old(server.port());
  old.send("POST /v1/search HTTP/1.0\r\n" + kHost +
           "Content-Type: application/json\r\nContent-Length: 15\r\nExpect: 100-continue\r\n\r\n" +
           R"({"query":"ada"})");
  CHECK(status_in(old.read_response()) == 200);
}

TEST_CASE("A slow head is cut at one deadline even if its bytes keep trickling in", "[service][http]") {
  TestServer server(TestServer::default_answer, "limits: {header_seconds: 0.2, body_seconds: 0.2}\n");
  RawClient header(server.port());
  header.send("GET /healthz HTTP/1.1\r\nHo");
  CHECK(status_in(header.read_all()) == 408);
  RawClient body(server.port());
  body.send("POST /v1/search HTTP/1.1\r\n" + kHost +
            "Content-Type: application/json\r\nContent-Length: 15\r\n\r\n{");
  CHECK(status_in(body.read_all()) == 408);
}

TEST_CASE("No value of a request can inject response headers", "[service][http]") {
  TestServer server;
  const std::string answer = server.get("/search?q=a%0d%0aX-Evil:%201&format=rss&domain=b%0d%0aX-Evil:%201");
  CHECK(answer.find("\nX-Evil: 1") == std::string::npos);
  const std::string traced =
      server.get("/healthz", "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n");
  CHECK(traced.find("traceparent: 00-0af7651916cd43dd8448eb211c80319c-") != std::string::npos);
}

TEST_CASE("Every answer has the security headers", "[service][http]") {
  TestServer server;
  for (const char* target : {"/", "/search?q=a", "/search?q=a&format=json", "/nothing", "/metrics"}) {
    const std::string answer = server.get(target);
    CHECK(answer.find("Content-Security-Policy: default-src 'none'") != std::string::npos);
    CHECK(answer.find("X-Content-Type-Options: nosniff") != std::string::npos);
    CHECK(answer.find("unsafe-inline") == std::string::npos);
  }
}

TEST_CASE("Percent-decoding refuses what two readers could read differently", "[service][http]") {
  CHECK(service::percent_decode("a%20b+c", true) == "a b c");
  CHECK(service::percent_decode("a+b", false) == "a+b");
  for (const char* bad : {"%", "%1", "%zz", "%00", "%c0%af", "%ed%a0%80"})
    CHECK_FALSE(service::percent_decode(bad, true).has_value());
  CHECK_FALSE(service::percent_decode(std::string_view("%41", 2), true).has_value());
  CHECK(service::percent_decode("%41", true) == "A");
}
