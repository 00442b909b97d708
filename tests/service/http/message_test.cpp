#include "service/http/message.h"

#include <algorithm>
#include <array>
#include <climits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/json.h"
#include "service/base/log.h"
#include "service/base/metrics.h"
#include "service/base/traces.h"
#include "service/http/head.h"
#include "service/pages/errors.h"
#include "tests/support/serve_process.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_server.h"

// Heads of answers, how much an error tells which client, and the lines of the log.

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

bool has_part(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Does `work` with `file` as standard error, and closes the file.
template <class Work>
void with_standard_error(int file, const Work& work) {
  const int kept = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  REQUIRE((kept >= 0 && file >= 0));
  ::dup2(file, STDERR_FILENO);
  work();
  ::dup2(kept, STDERR_FILENO);
  ::close(file);
  ::close(kept);
}

/// Everything that `work` writes to standard error.
template <class Work>
std::string standard_error_of(const Work& work) {
  const TemporaryFolder folder;
  const std::string path = folder.path("error");
  with_standard_error(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), work);
  return read_file(path);
}

}  // namespace

TEST_CASE("A head has no header that could inject others and has a length where there is a body",
          "[service][http][security]") {
  const auto head = [](int status, const ResponseFraming& framing, const std::string& name,
                       const std::string& value) {
    HttpResponse response;
    response.status = status;
    response.body = "body";
    response.headers = {{name, value}};
    return response_head(response, framing);
  };
  CHECK(head(200, {}, "X-A", "b") == "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 4\r\n\r\n");
  for (const char c : {'\0', '\n', '\r', '\t', '\x1f', '\x7f'}) {
    CHECK_FALSE(has_part(head(200, {}, "X-A", std::string("b") + c + "d"), "X-A"));
    CHECK_FALSE(has_part(head(200, {}, std::string("X-A") + c, "b"), "X-A"));
  }
  CHECK_FALSE(has_part(head(200, {}, "X-A: b", "c"), "X-A"));
  CHECK_FALSE(has_part(head(200, {}, "", "only"), "only"));
  CHECK(has_part(head(200, {}, "X-A", "\xC3\xA4 ~"), "X-A: \xC3\xA4 ~\r\n"));
  for (const auto& [status, has_length] :
       std::vector<std::pair<int, bool>>{{200, true}, {204, false}, {303, true}, {304, false}, {404, true}})
    CHECK(has_part(head(status, {}, "X-A", "b"), "Content-Length: 4") == has_length);
  CHECK(has_part(head(200, {true, false, true}, "X-A", "b"), "Transfer-Encoding: chunked\r\n"));
  CHECK_FALSE(has_part(head(200, {true, true, true}, "X-A", "b"), "Transfer-Encoding"));
  CHECK_FALSE(has_part(head(200, {true, false, true}, "X-A", "b"), "Content-Length"));
  CHECK(has_part(head(200, {false, false, false}, "X-A", "b"), "Connection: close\r\n"));
  CHECK(has_part(head(200, {false, true, true}, "X-A", "b"), "Connection: keep-alive\r\n"));
  CHECK_FALSE(has_part(head(200, {}, "X-A", "b"), "Connection"));
}

TEST_CASE("The JSON of a body may be nested at most 32 levels deep", "[service][http][security]") {
  const auto is_read = [](std::size_t depth) {
    HttpRequest request;
    request.body = R"({"a":)" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
    return json_body(request).has_value();
  };
  CHECK(is_read(32));
  CHECK_FALSE(is_read(33));
}

TEST_CASE("Internal errors are told to administrators and the log only", "[service][security]") {
  KeyConfig admin;
  admin.roles = {Role::admin};
  const auto told = [&](const Error& error, const KeyConfig* key) {
    Exchange exchange;
    exchange.route = "search";
    exchange.key = key;
    HttpResponse response;
    const std::string logged = standard_error_of([&] {
      Log log;
      response = failure_response(Dialect::plain, exchange, log, error);
    });
    const bool is_ours = response.status >= 500;
    CHECK(has_part(logged, "db.internal") == is_ours);
    CHECK(has_part(logged, R"("level":"error")") == is_ours);
    return std::to_string(response.status) + " " + response.body;
  };
  const std::string secret = "db.internal:5432 refused";
  CHECK(told(fail(Code::unavailable, secret), &admin) == "503 " + secret + "\n");
  CHECK(told(fail(Code::unavailable, secret), nullptr) ==
        "503 something that this request needs does not answer; try again later\n");
  CHECK(told(fail(Code::try_again, secret), nullptr) ==
        "503 something that this request needs does not answer; try again later\n");
  CHECK(told(fail(Code::internal, secret), nullptr) == "500 internal error; see the server's log\n");
  CHECK(told(fail(Code::internal, secret), &admin) == "500 " + secret + "\n");
  CHECK(told(fail(Code::usage, secret), nullptr) == "400 " + secret + "\n");
  CHECK(told(fail(Code::bad_data, secret), nullptr) == "400 " + secret + "\n");
  CHECK(told(fail(Code::bad_config, secret), nullptr) == "422 " + secret + "\n");
  CHECK(told(fail(Code::no_input, secret), nullptr) == "404 " + secret + "\n");
}

TEST_CASE("An answer with 429 or 503 has a Retry-After in whole seconds", "[service][overload][security]") {
  const auto header = [](const HttpResponse& response, std::string_view name) {
    return std::string(response.header(name));
  };
  for (const auto& [status, wait] :
       std::vector<std::pair<int, std::string>>{{429, "1"}, {503, "1"}, {500, ""}, {403, ""}, {200, ""}})
    CHECK(header(error_response(Dialect::native, status, "x"), "Retry-After") == wait);
  for (const auto& [after, wait] : std::vector<std::pair<double, std::string>>{
           {0, "1"}, {0.2, "1"}, {1, "1"}, {1.01, "2"}, {59.5, "60"}, {60, "60"}})
    CHECK(header(refusal_response(Dialect::native, {429, "rate", "slow down", after}), "Retry-After") ==
          wait);
  CHECK(header(refusal_response(Dialect::native, {403, "role", "no"}), "Retry-After").empty());
  CHECK(header(error_response(Dialect::page, 401, "x"), "WWW-Authenticate").starts_with("Basic "));
  CHECK(header(error_response(Dialect::native, 401, "x"), "WWW-Authenticate").starts_with("Bearer "));
  CHECK(header(error_response(Dialect::native, 403, "x"), "WWW-Authenticate").empty());
}

TEST_CASE("An error is written in the dialect of its path and method and type", "[service][http]") {
  const auto spoken = [](const std::string& method, const std::string& path, std::vector<Header> headers,
                         const std::string& body = "", const std::string& query = "") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.headers = std::move(headers);
    request.body = body;
    if (!query.empty()) request.query = {{"q", query}};
    return dialect_of(request);
  };
  const Header json{"Content-Type", "application/json"};
  const Header page{"Accept", "text/html"};
  CHECK(spoken("GET", "/v1/models", {page}) == Dialect::native);
  CHECK(spoken("GET", "/v1", {page}) == Dialect::page);
  CHECK(spoken("POST", "/mcp", {json, page}) == Dialect::mcp);
  CHECK(spoken("POST", "/mcp/x", {json}) == Dialect::plain);
  CHECK(spoken("POST", "/search", {json}, "{}") == Dialect::tavily);
  CHECK(spoken("POST", "/search", {json}) == Dialect::tavily);
  CHECK(spoken("POST", "/search", {json}, "{}", "ada") == Dialect::tavily);
  CHECK(spoken("POST", "/search", {json}, "", "ada") == Dialect::plain);
  CHECK(spoken("POST", "/search", {page}, "q=ada") == Dialect::page);
  CHECK(spoken("GET", "/search", {json}) == Dialect::plain);
  CHECK(spoken("GET", "/", {page}) == Dialect::page);
  CHECK(spoken("GET", "/", {}) == Dialect::plain);
}

TEST_CASE("A log line has the client and the reason of a refusal and the severity", "[service][log]") {
  const std::string lines = standard_error_of([] {
    Log log;
    Log::RequestLine line;
    line.route = "search";
    line.method = "GET";
    line.status = 200;
    line.seconds = 0.25;
    line.bytes = 7;
    line.trace = "t";
    log.request(line);
    line.key = "ann \"a\"";
    line.refused = "rate";
    for (const int status : {429, 499, 500}) {
      line.status = status;
      log.request(line);
    }
    log.write(Log::Level::warning, "engine failed", {{"engine", "one\ntwo"}});
  });
  std::vector<JsonObject> read;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    read.push_back(parse_json(lines.substr(at, end - at), "line").value().as_object());
    at = end + 1;
  }
  REQUIRE(read.size() == 5);
  CHECK(read[0].at("level") == Json("info"));
  CHECK(read[0].at("ms") == Json(250.0));
  CHECK(read[0].at("bytes") == Json(7));
  CHECK_FALSE(read[0].contains("key"));
  CHECK_FALSE(read[0].contains("refused"));
  CHECK(read[1].at("key") == Json("ann \"a\""));
  CHECK(read[1].at("refused") == Json("rate"));
  CHECK(read[2].at("level") == Json("info"));
  CHECK(read[3].at("level") == Json("error"));
  CHECK(read[4].at("level") == Json("warning"));
  CHECK(read[4].at("engine") == Json("one\ntwo"));
}

TEST_CASE("Many log lines arrive whole and in order in few writes", "[service][log]") {
  constexpr int kLines = 200;
  int ends[2];  // a packet is one write
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  with_standard_error(ends[1], [] {
    Log log;
    for (int i = 0; i < kLines; ++i) log.write(Log::Level::info, "line", {{"number", i}});
  });
  std::array<char, PIPE_BUF + 1> packet;
  int writes = 0;
  int lines = 0;
  for (ssize_t got; (got = ::read(ends[0], packet.data(), packet.size())) > 0; ++writes) {
    std::string_view text(packet.data(), static_cast<std::size_t>(got));
    CHECK(text.size() <= PIPE_BUF);
    CHECK(text.ends_with('\n'));
    for (; !text.empty(); text.remove_prefix(text.find('\n') + 1))
      CHECK(parse_json(text.substr(0, text.find('\n')), "line").value().at("number") == Json(lines++));
  }
  ::close(ends[0]);
  CHECK(lines == kLines);
  CHECK(writes < kLines / 4);
}

TEST_CASE("A request is answered once and is logged once unless it is a probe", "[service][log][http]") {
  struct Counting final : Responder {
    void send(HttpResponse response) override {
      ++sent;
      last = std::move(response);
    }
    void begin(HttpResponse) override { ++begun; }
    void write(std::string) override {}
    void end() override { ++ended; }
    int sent = 0, begun = 0, ended = 0;
    HttpResponse last;
  };
  const auto lines = [](std::string_view route, const std::string& cache_control) {
    Exchange exchange;
    exchange.snapshot = std::make_shared<Snapshot>();
    exchange.route = route;
    return standard_error_of([&] {
      Counting responder;
      const Clock& clock = machine_clock();
      Telemetry telemetry;
      Reply reply(exchange, responder, clock, telemetry);
      HttpResponse response = make_response(200, "text/plain", "a");
      if (!cache_control.empty()) response.set("Cache-Control", cache_control);
      reply.end();  // no stream was begun
      reply.send(response);
      reply.send(response);
      reply.end();
      CHECK(responder.sent == 1);
      CHECK(responder.ended == 0);
      CHECK(responder.last.header("Cache-Control") == (cache_control.empty() ? "no-store" : cache_control));
      CHECK(responder.last.header("Strict-Transport-Security").empty());

      Counting streamed;
      Reply pieces(exchange, streamed, clock, telemetry);
      pieces.begin(response);
      pieces.send(response);
      pieces.end();
      pieces.end();
      CHECK(streamed.sent == 0);
      CHECK(streamed.ended == 1);
    });
  };
  const auto count = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  CHECK(count(lines("search", "")) == 2);
  CHECK(count(lines("static", "max-age=60")) == 2);
  for (const char* probe : {"healthz", "readyz", "metrics"}) CHECK(lines(probe, "").empty());
}

TEST_CASE("A forked process draws identifiers of its own", "[service][security]") {
  random_hex(16);
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string drawn = random_hex(16);
    static_cast<void>(!::write(ends[1], drawn.data(), drawn.size()));
    ::_exit(0);
  }
  const std::string own = random_hex(16);
  std::string others(32, ' ');
  CHECK(::read(ends[0], others.data(), others.size()) == 32);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK(own.size() == 32);
  CHECK(own != others);
}

TEST_CASE("A well-formed trace context is continued", "[service][http]") {
  const std::string trace = "0af7651916cd43dd8448eb211c80319c";
  const std::string span = "b7ad6b7169203331";
  const auto is_kept = [&](const std::string& incoming) {
    const std::string next = next_traceparent(incoming, 0);
    CHECK(next.size() == 55);
    CHECK(next.substr(36, 16) != span);
    return incoming.size() >= 35 && next.substr(0, 36) == incoming.substr(0, 36);
  };
  CHECK(is_kept("00-" + trace + "-" + span + "-01"));
  // only a trusted caller may have a trace recorded that the share leaves out
  CHECK(next_traceparent("00-" + trace + "-" + span + "-01", 0, true).ends_with("-01"));
  CHECK(next_traceparent("00-" + trace + "-" + span + "-00", 1, true).ends_with("-00"));
  CHECK(next_traceparent("00-" + trace + "-" + span + "-01", 0).ends_with("-00"));
  CHECK(next_traceparent("00-" + trace + "-" + span + "-01", 1).ends_with("-01"));
  CHECK(next_traceparent("00-" + trace + "-" + span + "-00", 1).ends_with("-00"));
  CHECK(next_traceparent("", 1).ends_with("-01"));
  CHECK(next_traceparent("", 0).ends_with("-00"));
  for (const std::string& unseparated :
       {"00-" + trace + "a" + span + "-01", "00-" + trace + "-" + span + "a01"})
    CHECK(next_traceparent(unseparated, 0).substr(3, 32) != trace);
  for (const std::string& bad :
       {"01-" + trace + "-" + span + "-01", "00-" + std::string(32, '0') + "-" + span + "-01",
        "00-" + trace + "-" + std::string(16, '0') + "-01", "00-" + trace + "-" + span + "-0g",
        "00-" + trace + "-" + span + "-01x", "00-" + trace + "-" + span + "_01",
        "00-" + trace + "_" + span + "-01", "00-" + trace.substr(1) + "G-" + span + "-01",
        "00-" + trace + "-" + span.substr(1) + "G-01"}) {
    INFO(bad);
    CHECK_FALSE(is_kept(bad));
  }
}

TEST_CASE("The last bit of a trace context's flags says whether the trace is recorded", "[service][http]") {
  const std::string ids = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-";
  for (const char* flags : {"01", "03", "0b", "0d", "0f", "ff"}) CHECK(trace_context(ids + flags).is_sampled);
  for (const char* flags : {"00", "02", "0a", "0c", "0e", "10"})
    CHECK_FALSE(trace_context(ids + flags).is_sampled);
}

TEST_CASE("Entity tags are compared weakly with If-None-Match and strongly with If-Match",
          "[service][http]") {
  using enum EtagComparison;
  for (const char* header : {"a1", "\"a1\"", "*", "\"b\", \"a1\"", " \"a1\" ,\"b\""}) {
    INFO(header);
    CHECK(names_etag(header, "a1", strong));
    CHECK(names_etag(header, "a1", weak));
  }
  for (const char* header : {"W/\"a1\"", "\"b\", W/\"a1\""}) {
    INFO(header);
    CHECK_FALSE(names_etag(header, "a1", strong));
    CHECK(names_etag(header, "a1", weak));
  }
  for (const char* header : {"", "\"b\"", "W/\"b\"", "\"a1", "w/\"a1\"", "\"a1\"x"}) {
    INFO(header);
    CHECK_FALSE(names_etag(header, "a1", strong));
    CHECK_FALSE(names_etag(header, "a1", weak));
  }
}

TEST_CASE("A file that the browser has already is not sent again", "[service][http]") {
  TestServer server;
  for (const std::string path : {"/static/metafuse.css", "/v1/templates/pages"}) {
    INFO(path);
    const std::string first = server.get(path);
    const std::size_t at = first.find("ETag: ") + 6;
    const std::string etag = first.substr(at, first.find('\r', at) - at);
    for (const std::string& header : {etag, "W/" + etag, "\"other\", " + etag, std::string("*")}) {
      const std::string again = server.get(path, "If-None-Match: " + header + "\r\n");
      CHECK(status_in(again) == 304);
      CHECK(body_in(again).empty());
      CHECK(has_part(again, "ETag: " + etag));
    }
    CHECK(status_in(server.get(path, "If-None-Match: \"other\"\r\n")) == 200);
  }
}

TEST_CASE("The client behind proxies is the last address that is not a trusted proxy",
          "[service][access][security]") {
  const std::vector<AddressRange> proxies = {parse_address_range("10.0.0.0/8").value()};
  const auto client = [&](const std::string& forwarded) {
    HttpRequest request;
    request.peer = "10.0.0.1";
    request.headers = {{"X-Forwarded-For", forwarded}};
    return client_address(proxies, request);
  };
  CHECK(client("192.0.2.1, 192.0.2.7") == "192.0.2.7");
  CHECK(client("192.0.2.7, 10.9.9.9, 10.0.0.2") == "192.0.2.7");
  CHECK(client("2001:db8::7") == "2001:db8::7");  // with several colons nothing is a port
  CHECK(client("192.0.2.7:80") == "192.0.2.7");
  CHECK(client("192.0.2.7, ") == "10.0.0.1");  // an empty entry ends the chain
  CHECK(client("192.0.2.7, , 10.0.0.2") == "10.0.0.2");
  const auto is_https = [&](const std::string& peer, const std::string& said) {
    HttpRequest request;
    request.peer = peer;
    request.headers = {{"X-Forwarded-Proto", said}};
    return came_by_https(proxies, request);
  };
  CHECK(is_https("10.0.0.1", "https"));
  CHECK(is_https("10.0.0.1", "http, HTTPS"));
  CHECK_FALSE(is_https("10.0.0.1", "https, http"));
  CHECK_FALSE(is_https("192.0.2.7", "https"));
}
