#include "service/search/template_editing.h"

#include <fstream>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/deadline.h"
#include "core/digest.h"
#include "core/encoding.h"
#include "core/json.h"
#include "core/yaml_reader.h"
#include "service/base/log.h"
#include "service/http/head.h"
#include "service/pages/errors.h"
#include "templates/expander.h"
#include "templates/template_file.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

const std::string kAdminKey = "Authorization: Bearer admin-key\r\n";

std::string keys_config(const std::string& more = "") {
  return "store: metafuse.db\nkeys:\n  - {name: admin, sha256: " + sha256_hex("admin-key") +
         ", roles: [admin, raw]}\n  - {name: small, sha256: " + sha256_hex("small-key") +
         ", roles: [admin], quota_per_day: 2}\n" + more;
}

std::string preview_of(TestServer& server, const JsonObject& body, const std::string& headers = kAdminKey) {
  return server.post("/v1/templates/pages/preview", "application/json", to_text(body), headers);
}

std::string form_of(TestServer& server, const std::string& fields) {
  return server.post("/templates/pages", "application/x-www-form-urlencoded", fields);
}

/// A file of that many templates, each with that query.
std::string file_with(int templates, const std::string& query,
                      const std::string& slots = "NAME: {required: true}") {
  std::string text = "version: 1\ndomain: pages\nslots: {" + slots + "}\ntemplates:\n";
  for (int i = 0; i < templates; ++i)
    text += fmt::format("  - {{id: t{}, engine: one, query: '{}'}}\n", i, query);
  return text;
}

std::string repeat(const std::string& text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

std::string many_slots(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += fmt::format("SLOT_{}: , ", i);
  return out + "NAME: ";
}

/// A clock that advances by one millisecond each time it is read.
class TickingClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(std::chrono::milliseconds(++looks_)); }

 private:
  mutable std::int64_t looks_ = 0;
};

}  // namespace

TEST_CASE("Only administrators may preview edited texts and live lists", "[service][security]") {
  TestServer server(TestServer::default_answer, keys_config());
  std::string edited = kTwoTemplates;
  edited.replace(edited.find("'{NAME}'"), 8, "'site:secret.example {NAME}'");
  CHECK(status_in(preview_of(server, {{"query", "ada"}}, "")) == 200);
  CHECK(status_in(preview_of(server, {{"query", "ada"}, {"text", kTwoTemplates}}, "")) ==
        200);  // the file in use
  CHECK(status_in(preview_of(server, {{"query", "ada"}, {"text", edited}}, "")) == 403);
  CHECK(status_in(preview_of(server, {{"query", "ada"}, {"live", true}}, "")) == 403);
  CHECK(server.fetcher().fetches() == 0);
  CHECK(status_in(preview_of(server, {{"query", "ada"}, {"text", edited}, {"live", true}})) == 200);
  const std::string fields = "query=ada&text=" + percent_encoded(edited);
  CHECK(status_in(form_of(server, "action=preview&" + fields)) == 403);
  CHECK(form_of(server, "action=preview&" + fields).find("Expanded queries") == std::string::npos);
  CHECK(status_in(form_of(server, "action=live&query=ada&text=" + percent_encoded(kTwoTemplates))) == 403);
  CHECK(status_in(form_of(server, "action=preview&key=admin-key&" + fields)) == 200);
  CHECK(server.fetcher().fetches() == 1);
}

TEST_CASE("The size of a preview is limited", "[service][security]") {
  TestServer server(TestServer::default_answer, keys_config());
  const auto checked = [&](const std::string& text, int status, const std::string& said) {
    const JsonObject body{{"query", "ada"}, {"text", text}};
    const std::string answer = preview_of(server, body);
    INFO(answer.substr(0, 600));
    CHECK(status_in(answer) == status);
    CHECK(answer.find(said) != std::string::npos);
    CHECK(body_in(answer).size() <= service::max_preview_answer(to_text(body).size()));
  };
  // this once made an answer of 264 MB from 81 KB because each mistake named every slot
  checked(file_with(1, repeat("{X}", 4000), many_slots(199)), 422, "unknown slot");
  checked(file_with(1, repeat("{X}", 22'000), many_slots(199)), 422, "longer than 64 KB");
  checked(file_with(2, "{NAME}") + repeat("\n", 164'000), 422, "longer than 64 KB");
  checked(file_with(64, "{NAME}"), 200, "t63");
  checked(file_with(65, "{NAME}"), 422, "more than 64 templates");
  checked(file_with(1, "{NAME}" + std::string(4093, 'x')), 200, "adaxx");  // 4,096 bytes
  checked(file_with(1, "{NAME}" + std::string(4094, 'x')), 400, "longer than 4096 bytes");
  checked(file_with(60, repeat("{NAME}", 100)), 200, "adaada");
  const std::string wrong =
      preview_of(server, {{"query", "ada"}, {"text", file_with(1, repeat("{X}", 300))}});
  CHECK(wrong.find("more mistakes follow") != std::string::npos);
}

TEST_CASE("Reading a template file stops at its deadline", "[service][security]") {
  TickingClock clock;
  const auto parsed_within = [&](const std::string& text, int patience_ms) {
    const Deadline deadline(clock, std::chrono::milliseconds(patience_ms));
    templates::DomainFileLimits limits;
    limits.yaml.deadline = &deadline;
    return templates::parse_domain_file(text, "file", limits);
  };
  const std::string text = file_with(64, "{NAME}");
  CHECK(parsed_within(text, 10'000).has_value());
  const auto late = parsed_within(text, 100);
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().text == "file: takes too long to read; make it shorter");
}

TEST_CASE("At most a hundred mistakes of a file are named and each is shortened", "[service][security]") {
  for (const int count : {99, 100, 101, 5000}) {
    Diagnostics diagnostics("file");
    for (int i = 0; i < count; ++i) {
      diagnostics.error({static_cast<std::size_t>(count - i), 1}, std::string(10'000, 'x'));
      diagnostics.warning({1, 1}, std::string(10'000, 'x'));
    }
    const std::string text = diagnostics.to_error(Code::bad_config).text;
    const bool are_more = count > 100;
    CHECK(std::count(text.begin(), text.end(), '\n') == (are_more ? 100 : count - 1));
    CHECK(text.ends_with("more mistakes follow; correct these first") == are_more);
    CHECK(text.size() <= 101 * 520);
    CHECK(diagnostics.warnings().size() == static_cast<std::size_t>(std::min(count, 100)));
  }
}

TEST_CASE("Live lists of the editor's form are charged to the key's quota", "[service][security]") {
  TestServer server(TestServer::default_answer, keys_config());
  const std::string live = "action=live&key=small-key&query=ada&text=" + percent_encoded(kTwoTemplates);
  const std::string answer = form_of(server, live);  // three queries, and two are left
  CHECK(status_in(answer) == 429);
  CHECK(answer.find("quota") != std::string::npos);
  CHECK(server.fetcher().fetches() == 0);
}

TEST_CASE("A live preview asks only engines that its key may ask, as a search would", "[service][security]") {
  const std::string scoped = ", domains: [pages], engines: [one]}\n";
  TestServer server(TestServer::default_answer,
                    "store: metafuse.db\ntrusted_proxies: [127.0.0.1]\nkeys:\n  - {name: plain, sha256: " +
                        sha256_hex("plain-key") +
                        ", roles: [admin]}\n  - {name: scoped, sha256: " + sha256_hex("scoped-key") +
                        ", roles: [admin]" + scoped + "  - {name: other, sha256: " + sha256_hex("other-key") +
                        ", roles: [admin], engines: [three]}\n  - {name: trusted, sha256: " +
                        sha256_hex("trusted-key") + ", roles: [admin], tokens: [word]}\n",
                    kTwoTemplates, nullptr, {"x-user-token"}, {{"two", {"word"}}});
  const auto preview = [&](const std::string& key) {
    return preview_of(server, {{"query", "ada"}, {"live", true}},
                      "Authorization: Bearer " + key + "\r\nX-User-Token: ann\r\nX-Metafuse-Hops: 2\r\n");
  };
  const auto form = [&](const std::string& key) {
    return form_of(server, "action=live&query=ada&key=" + key + "&text=" + percent_encoded(kTwoTemplates));
  };
  for (const std::string key : {"plain-key", "scoped-key"}) {
    INFO(key);
    const std::string answer = preview(key);
    CHECK(status_in(answer) == 200);
    CHECK(answer.find(R"("feature":"plain@one")") != std::string::npos);
    CHECK(answer.find(R"("feature":"plain@two")") == std::string::npos);
    CHECK(form(key).find("c.example") == std::string::npos);  // only engine two finds it
    CHECK(form(key).find("d.example") != std::string::npos);
  }
  CHECK(server.fetcher().hops().front() == 2);
  CHECK(server.fetcher().senders().front() == "key plain");
  CHECK(preview("trusted-key").find(R"("feature":"plain@two")") != std::string::npos);
  CHECK(server.fetcher().forwarded() ==
        std::vector<std::pair<std::string, std::string>>{{"x-user-token", "ann"}});
  const int before = server.fetcher().fetches();
  CHECK(status_in(preview("other-key")) == 403);
  CHECK(status_in(form("other-key")) == 403);
  CHECK(server.fetcher().fetches() == before);
}

TEST_CASE("Only administrators see template versions and their authors", "[service][security]") {
  TestServer server(TestServer::default_answer, keys_config());
  std::string edited = kTwoTemplates;
  edited.replace(edited.find("Home pages"), 10, "Secret plan");
  CHECK(status_in(server.post("/v1/templates/pages", "application/yaml", edited,
                              kAdminKey + "If-Match: *\r\n", "PUT")) == 200);
  CHECK(status_in(server.post("/v1/templates/pages", "application/yaml", kTwoTemplates,
                              kAdminKey + "If-Match: *\r\n", "PUT")) == 200);
  const std::string version = form_of(server, "action=version-2&text=x");
  CHECK(status_in(version) == 403);
  CHECK(version.find("Secret plan") == std::string::npos);
  CHECK(form_of(server, "action=version-2&text=x&key=admin-key").find("Secret plan") != std::string::npos);
  CHECK(server.get("/templates/pages").find("Open version") == std::string::npos);
  CHECK(form_of(server, "action=versions&text=x").find("Open version") == std::string::npos);
  CHECK(form_of(server, "action=versions&text=x&key=admin-key").find("Open version 2") != std::string::npos);
}

TEST_CASE("A save is compared with the file on disk under a lock shared by processes",
          "[service][security]") {
  TestServer server(TestServer::default_answer, keys_config());
  const std::string etag = '"' + service::text_etag(kTwoTemplates) + '"';
  std::string on_disk = kTwoTemplates;
  on_disk.replace(on_disk.find("Home pages"), 10, "By hand");
  server.folder().write("templates/pages.yaml", on_disk);
  std::string edited = kTwoTemplates;
  edited.replace(edited.find("Home pages"), 10, "By form");
  const auto put = [&](const std::string& tag) {
    return server.post("/v1/templates/pages", "application/yaml", edited,
                       kAdminKey + "If-Match: " + tag + "\r\n", "PUT");
  };
  const auto text = [&] {
    std::ifstream in(server.folder().path("templates/pages.yaml"));
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  CHECK(status_in(put(etag)) == 412);
  CHECK(text() == on_disk);
  {
    const auto lock = FileLock::take(server.folder().path("templates"), "taken");
    REQUIRE(lock.has_value());
    CHECK(status_in(put('"' + service::text_etag(on_disk) + '"')) == 503);
    CHECK(text() == on_disk);
  }
  CHECK(status_in(put('"' + service::text_etag(on_disk) + '"')) == 200);
  CHECK(text() == edited);
}

TEST_CASE("Public answers name an engine's failure but not its message", "[service][security]") {
  TestServer server(
      [](const ExpandedQuery& query) {
        fetchers::FetchedList list = TestServer::default_answer(query);
        if (query.engine != "two") return list;
        list = {};
        list.failure = fetchers::Failure::http_status;
        list.message = "http://user:pass@db.internal:9200/ said no, see /var/lib/secret";
        return list;
      },
      keys_config());
  const std::string call =
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"web_search","arguments":{"query":"ada"}}})";
  const std::string answers[] = {
      server.get("/search?q=ada&format=json"),
      server.get("/search?q=ada"),
      server.post("/v1/search", "application/json", R"({"query":"ada","explain":true})"),
      server.get("/v1/search/stream?q=ada"),
      server.post("/mcp", "application/json", call),
  };
  for (const std::string& answer : answers) {
    INFO(answer);
    CHECK(answer.find("two") != std::string::npos);
    CHECK(answer.find("internal") == std::string::npos);
    CHECK(answer.find("secret") == std::string::npos);
  }
  CHECK(answers[2].find(R"("failure":"http_status")") != std::string::npos);
  CHECK(preview_of(server, {{"query", "ada"}, {"live", true}}).find("db.internal") != std::string::npos);
}

TEST_CASE("The message of an internal error is shown only to administrators", "[service][security]") {
  const Error broken = fail(Code::unavailable, "/var/lib/metafuse.db: disk I/O error");
  service::ServerConfig config;
  service::KeyConfig key;
  key.name = "admin";
  key.roles = {service::Role::admin};
  service::Exchange exchange;
  service::Log log;
  const auto said = [&](const Error& error) {
    return service::failure_response(service::Dialect::native, exchange, log, error).body;
  };
  CHECK(said(broken).find("metafuse.db") == std::string::npos);
  CHECK(said(fail(Code::usage, "url: send one")).find("url: send one") != std::string::npos);
  exchange.key = &key;
  CHECK(said(broken).find("metafuse.db") != std::string::npos);
}

TEST_CASE("A suggestion's link contains the suggestion with any characters in it", "[service][security]") {
  TestServer server([](const ExpandedQuery& query) {
    fetchers::FetchedList list = TestServer::default_answer(query);
    list.list.suggestions = {"AT&T", "C++", "50% #1"};
    return list;
  });
  const std::string page = server.get("/search?q=ada");
  CHECK(page.find("q=AT%26T&amp;domain=pages") != std::string::npos);
  CHECK(page.find("q=C%2B%2B&amp;") != std::string::npos);
  CHECK(page.find("q=50%25+%231&amp;") != std::string::npos);
  CHECK(page.find(">AT&amp;T</a>") != std::string::npos);
}
