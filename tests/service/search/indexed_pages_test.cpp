#include "service/search/indexed_pages.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/engines/index/local_engine.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

/// Two domains, each with an index of its own; the second engine is private.
struct IndexedDomains {
  IndexedDomains() {
    add("first", "{\"url\":\"file://localhost/own.txt\",\"title\":\"Own\",\"text\":\"own words\"}\n");
    add("second", "{\"url\":\"http://127.0.0.1:1/secret\",\"title\":\"S\",\"text\":\"secret words\"}\n");
    snapshot->engines.private_engines["second"] = {"token"};
    reader.configure({});
  }

  void add(const std::string& name, const std::string& lines) {
    const std::string database = folder.path(name + ".db");
    REQUIRE(fetchers::build_local_index(database, {folder.write(name + ".jsonl", lines)}).has_value());
    snapshot->engines.indexes[name] = database;
    LoadedDomain& domain = snapshot->domains[name];
    domain.domain.name = name;
    domain.domain.templates = {{"all", {name}, "{QUERY}"}};
  }

  /// What a caller reads at an address: the text, or why not.
  std::string read(const std::string& url, const KeyConfig* key = nullptr) {
    Exchange exchange;
    exchange.snapshot = snapshot;
    exchange.key = key;
    const std::vector<std::string> urls = {url};
    const auto pages = read_pages(reader, exchange, urls, fetchers::PageForm::text, std::chrono::seconds(5));
    REQUIRE(pages.size() == 1);
    return pages[0] ? (*pages[0])->title + ": " + (*pages[0])->text : "not read: " + pages[0].error().text;
  }

  test::TemporaryFolder folder;
  std::shared_ptr<Snapshot> snapshot = std::make_shared<Snapshot>();
  test::ManualClock clock;
  PageReader reader{clock};
};

}  // namespace

TEST_CASE("A document is read from an index by those who may search the index", "[service][pages]") {
  IndexedDomains domains;
  const std::string own = "file://localhost/own.txt", secret = "http://127.0.0.1:1/secret";
  CHECK(domains.read(own) == "Own: own words");
  CHECK(domains.read(secret).find("not public") != std::string::npos);
  CHECK(domains.read("file://localhost/etc/passwd").find("must be http or https") != std::string::npos);
  KeyConfig key;
  CHECK(domains.read(secret, &key).starts_with("not read"));
  key.tokens = {"token"};
  CHECK(domains.read(secret, &key) == "S: secret words");
  key.domains = {"first"};
  CHECK(domains.read(own, &key) == "Own: own words");
  CHECK(domains.read(secret, &key).starts_with("not read"));
  key.domains = {};
  key.engines = {"second"};
  CHECK(domains.read(own, &key).starts_with("not read"));
  CHECK(domains.read(secret, &key) == "S: secret words");
}

TEST_CASE("Documents and pages of one request come in its order", "[service][pages]") {
  IndexedDomains domains;
  domains.snapshot->engines.indexes["gone"] = domains.folder.path("gone.db");
  domains.snapshot->domains["first"].domain.templates[0].engines.push_back("gone");
  Exchange exchange;
  exchange.snapshot = domains.snapshot;
  const std::vector<std::string> urls = {"ftp://a/", "file://localhost/own.txt", "file://localhost/b"};
  const auto pages =
      read_pages(domains.reader, exchange, urls, fetchers::PageForm::markdown, std::chrono::seconds(5));
  REQUIRE(pages.size() == 3);
  CHECK(pages[0].error().text.starts_with("ftp://a/"));
  CHECK((*pages[1])->url == urls[1]);
  CHECK(pages[2].error().text.starts_with("file://localhost/b"));
}
