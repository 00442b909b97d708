#include "service/config/config.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

/// A folder with one template and one engine file, and a configuration beside them.
struct Folder {
  test::TemporaryFolder folder;
  Folder() {
    folder.write("templates/b.yaml", "");
    folder.write("templates/a.yaml", "");
    folder.write("engines.yaml", "");
  }
  Result<ServerConfig> parse(const std::string& text) const {
    return parse_config(text, folder.path("metafuse.yaml"));
  }
};

}  // namespace

TEST_CASE("A server configuration names files relative to itself", "[service][config]") {
  const Folder f;
  const auto config = f.parse(
      "version: 1\nlisten: 127.0.0.1:9000\ndefault_domain: d\ntemplates: [templates/*.yaml]\n"
      "engines: [engines.yaml]\nmodels: models/\nstore: state/metafuse.db\nrecordings: {mode: off}\n");
  REQUIRE(config.has_value());
  CHECK(config->port == 9000);
  CHECK(config->templates ==
        std::vector{f.folder.path("templates/a.yaml"), f.folder.path("templates/b.yaml")});
  CHECK(config->engines == std::vector{f.folder.path("engines.yaml")});
  CHECK(config->models == f.folder.path("models/"));
  CHECK(config->store == f.folder.path("state/metafuse.db"));
}

TEST_CASE("Keys from the keys file are added to those of the configuration", "[service][config]") {
  const Folder f;
  const std::string digest(64, 'a');
  const auto parse = [&] {
    return f.parse("templates: [templates/*.yaml]\nkeys_file: shared.yaml\nkeys: [{name: own, sha256: " +
                   digest + "}]\n");
  };
  const auto without = parse();  // a server that gets this file from the store starts without it
  REQUIRE(without.has_value());
  CHECK(without->keys.size() == 1);
  CHECK(without->keys_file == f.folder.path("shared.yaml"));
  f.folder.write("shared.yaml", "keys:\n  - {name: team, sha256: " + digest + ", roles: [judge]}\n");
  const auto with = parse();
  REQUIRE(with.has_value());
  REQUIRE(with->keys.size() == 2);
  CHECK(std::any_of(with->keys.begin(), with->keys.end(),
                    [](const KeyConfig& key) { return key.name == "team" && key.has(Role::judge); }));
  f.folder.write("shared.yaml", "keys:\n  - {name: own, sha256: " + digest + "}\nlisten: x\n");
  const auto wrong = parse();
  REQUIRE(wrong.has_error());
  CHECK(wrong.error().text.find(f.folder.path("shared.yaml") + ":3:1: ") != std::string::npos);
  CHECK(wrong.error().text.find("two keys are named \"own\"") != std::string::npos);
}

TEST_CASE("Every mistake of a server configuration is reported at once and with its place",
          "[service][config]") {
  const Folder f;
  const auto config = f.parse(
      "version: 2\nlisten: nowhere\ntemplates: [templates/none*.yaml]\nrecordings: {mode: sometimes}\n"
      "limits: {burst: many}\nkeys: [{name: a, sha256: xyz}]\nwindow: 3\n");
  REQUIRE(config.has_error());
  const std::string& text = config.error().text;
  CHECK(config.error().code == Code::bad_config);
  for (const char* place : {":1:10: ", ":2:9: ", ":3:13: ", ":4:20: ", ":5:17: ", ":6:8: ", ":7:1: "})
    CHECK(text.find(f.folder.path("metafuse.yaml") + place) != std::string::npos);
}

TEST_CASE("A name or an origin that no client sends is refused and the right one is named",
          "[service][config]") {
  const Folder f;
  const auto mistake = [&](const std::string& line) {
    const auto config = f.parse("version: 1\ntemplates: []\n" + line + "\n");
    INFO(line);
    REQUIRE(config.has_error());
    CHECK(config.error().text.find(f.folder.path("metafuse.yaml") + ":3:") != std::string::npos);
    return config.error().text;
  };
  const auto config = f.parse(
      "version: 1\ntemplates: []\ncors_origins: ['https://app.example', 'http://[::1]:3000', "
      "'chrome-extension://abc']\nserver_names: [search.example, 'Search.example:8080', '[::1]:80', '*']\n");
  REQUIRE(config.has_value());
  CHECK(config->cors_origins.size() == 3);
  CHECK(config->server_names.size() == 4);
  CHECK(f.parse("version: 1\ntemplates: []\ncors_origins: '*'\n")->cors_origins ==
        std::vector<std::string>{"*"});
  const std::pair<std::string, std::string> corrected[] = {
      {"cors_origins: ['https://app.example/']", "write \"https://app.example\""},
      {"cors_origins: [app.example]", "write \"https://app.example\""},
      {"cors_origins: ['HTTPS://App.example']", "write \"https://app.example\""},
      {"cors_origins: ['https://app.example:443']", "write \"https://app.example\""},
      {"cors_origins: ['http://app.example:80/x?y']", "write \"http://app.example\""},
      {"cors_origins: ['https://*.example']", "write https://HOST or https://HOST:PORT"},
      {"cors_origins: ['']", "write https://HOST or https://HOST:PORT"},
      {"server_names: ['https://search.example']", "write \"search.example\""},
      {"server_names: ['search.example:8080/']", "write \"search.example:8080\""},
      {"server_names: ['*.example']", "write HOST or HOST:PORT"},
      {"server_names: ['search.example:']", "write HOST or HOST:PORT"},
      {"server_names: ['']", "write HOST or HOST:PORT"}};
  for (const auto& [line, said] : corrected) CHECK(mistake(line).find(said) != std::string::npos);
}

TEST_CASE("The base URL of documents needs a scheme", "[service][config]") {
  const auto read = [](const std::string& base) {
    return parse_config(
        "version: 1\ntemplates: []\ndocuments: [{index: i.db, folders: [/], base_url: \"" + base + "\"}]\n",
        "serve.yaml");
  };
  CHECK(read("https://docs.example/").has_value());
  const auto refused = read("docs.example/");
  REQUIRE(refused.has_error());
  CHECK(refused.error().text.find("documents: base_url \"docs.example/\": begin with https://") !=
        std::string::npos);
}

TEST_CASE("What is learned from a model's judgments needs the model's name", "[service][config]") {
  const auto read = [](const std::string& learning) {
    return parse_config("version: 1\ntemplates: []\nlearning: {" + learning + "}\n", "serve.yaml");
  };
  for (const std::string key : {"judge_weight: 0.5", "judge_only: true", "judge_calibrated: true"}) {
    INFO(key);
    const auto refused = read(key);
    REQUIRE(refused.has_error());
    CHECK(refused.error().text.find("add `judge_model: NAME`") != std::string::npos);
    CHECK(read(key + ", judge_model: small").has_value());
  }
}

TEST_CASE("A key needs a digest and a valid last day and a unique name",
          "[service][config][keys][security]") {
  const Folder f;
  const std::string digest(64, 'a');
  const auto mistake = [&](const std::string& keys) {
    const auto config = f.parse("templates: []\nkeys: [" + keys + "]\n");
    return config.has_error() ? config.error().text : std::string();
  };
  const auto key = [&](const std::string& name, const std::string& sha, const std::string& more = "") {
    return "{name: " + name + ", sha256: '" + sha + "'" + more + "}";
  };
  const auto is_read = [&](const std::string& keys) {
    const std::string text = mistake(keys);
    return text.find("sha256 must be 64") == std::string::npos &&
           text.find("expires must be a date") == std::string::npos &&
           text.find("two keys are named") == std::string::npos;
  };
  CHECK(is_read(key("a", digest)));
  CHECK(is_read(key("a", std::string(64, 'F'))));
  for (const std::string& bad :
       {digest.substr(1), digest + "a", digest.substr(1) + "g", digest.substr(1) + " "})
    CHECK(mistake(key("a", bad)).find("sha256 must be 64") != std::string::npos);
  CHECK(is_read(key("a", digest, ", expires: 2027-01-31")));
  for (const std::string bad : {"2027-1-31", "2027-02-30", "2027-01-31T10:00", "31.01.2027", "soon"})
    CHECK(mistake(key("a", digest, ", expires: '" + bad + "'")).find("expires must be a date") !=
          std::string::npos);
  CHECK(is_read(key("a", digest) + ", " + key("b", digest)));
  CHECK(mistake(key("a", digest) + ", " + key("a", std::string(64, 'b'))).find("two keys are named") !=
        std::string::npos);
  CHECK(mistake(key("a", digest, ", roles: [search, king]")).find("unknown role \"king\"") !=
        std::string::npos);
}

TEST_CASE("Listen addresses are host and port", "[service][config]") {
  CHECK(parse_listen("[::1]:0")->host == "::1");
  CHECK(parse_listen("localhost:80")->port == 80);
  for (const char* bad : {"", ":80", "a", "a:", "a:x", "a:70000", "::1:80", "[::1:80", "a:80x"})
    CHECK(parse_listen(bad).has_error());
}

TEST_CASE("An index is read by one entry of documents", "[service][config]") {
  const auto read = [](const std::string& second) {
    return parse_config(
        "version: 1\ntemplates: []\ndocuments:\n  - {index: i.db, folders: [/]}\n  - {index: " + second +
            ", folders: [/tmp]}\n",
        "serve.yaml");
  };
  CHECK(read("j.db").has_value());
  const auto refused = read("./i.db");
  REQUIRE(refused.has_error());
  CHECK(refused.error().text.find("serve.yaml:5:5: documents: another entry reads \"i.db\"") !=
        std::string::npos);
}

TEST_CASE("The reference of the configuration has every key, and no default that is refused",
          "[service][config]") {
  const std::string reference = config_reference();
  for (const char* key : {"documents[].index: ", "documents[].folders: ", "documents[].every: ",
                          "documents[].base_url: ", "limits.requests_per_second: "})
    CHECK(reference.find(key) != std::string::npos);
  CHECK(reference.find("default -") == std::string::npos);
}
