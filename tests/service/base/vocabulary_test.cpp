#include "service/base/vocabulary.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "core/random.h"
#include "fetchers/engines/index/local_engine.h"
#include "service/api/handlers.h"
#include "service/config/engines.h"
#include "service/search/shown_results.h"
#include "service/search/suggester.h"
#include "tests/support/command.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;
using service::is_one_error_apart;
using service::Vocabulary;

namespace {

using Groups = std::vector<std::vector<std::string>>;

const std::vector<std::string> kTitles = {"GNU Emacs",    "GNU nano",     "Vim the editor",
                                          "Image viewer", "Café au lait", "Text editor for music"};
const std::vector<service::WordCount> kWords = {{"text", 40},  {"editor", 30}, {"edition", 9}, {"image", 20},
                                                {"images", 5}, {"viewer", 8},  {"test", 50}};

/// Counts documents in an index of bags of words.
service::CountDocuments count_in(const std::vector<std::set<std::string>>& documents) {
  return [&documents](const Groups& groups) {
    return static_cast<std::size_t>(
        std::count_if(documents.begin(), documents.end(), [&](const auto& document) {
          return std::all_of(groups.begin(), groups.end(), [&](const std::vector<std::string>& group) {
            return std::any_of(group.begin(), group.end(),
                               [&](const auto& word) { return document.contains(word); });
          });
        }));
  };
}

/// Optimal string alignment distance by its recurrence.
std::size_t slow_distance(const std::u32string& a, const std::u32string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

TEST_CASE("A typing error is one letter inserted or deleted or replaced or two exchanged",
          "[service][vocabulary]") {
  Random random(5);
  const auto word = [&] {
    std::u32string out;
    for (std::uint64_t i = random.below(6); i > 0; --i) out += static_cast<char32_t>(U'a' + random.below(3));
    return out;
  };
  for (int round = 0; round < 5000; ++round) {
    const std::u32string a = word(), b = word();
    CHECK(is_one_error_apart(a, b) == (slow_distance(a, b) <= 1));
  }
}

TEST_CASE("Input is completed by titles with a word of that prefix and then by frequent words",
          "[service][vocabulary]") {
  const Vocabulary vocabulary(kTitles, kWords);
  const auto complete = [&](std::string_view prefix) { return vocabulary.complete(prefix, 8); };
  CHECK(complete("gnu") == std::vector<std::string>{"GNU nano", "GNU Emacs"});
  CHECK(complete("EDI") ==
        std::vector<std::string>{"editor", "Vim the editor", "Text editor for music", "edition"});
  CHECK(complete("cafe a") == std::vector<std::string>{"Café au lait"});
  CHECK(complete("small te") == std::vector<std::string>{"small test", "small text"});
  CHECK(complete("ext").empty());
  CHECK(complete("").empty());
  CHECK(complete("text -edi").empty());
  CHECK(vocabulary.complete("g", 1).size() == 1);
  CHECK(Vocabulary({}, {}).complete("a", 8).empty());
  const Vocabulary by_importance(kTitles, kWords, service::TitleOrder::as_given);
  CHECK(by_importance.complete("gnu", 8) == std::vector<std::string>{"GNU Emacs", "GNU nano"});
}

TEST_CASE("A title that many documents have hides no other", "[service][vocabulary]") {
  std::vector<std::string> titles(40, "Guide");
  titles.insert(titles.end(), {"Guide to rivers", "Guide to hills"});
  for (const auto order : {service::TitleOrder::by_frequency, service::TitleOrder::as_given}) {
    const std::vector<std::string> completed = Vocabulary(titles, {}, order).complete("gu", 8);
    REQUIRE(completed.size() == 3);
    CHECK(completed.front() == "Guide");
  }
}

TEST_CASE("A title whose word occurs in many documents completes before a shorter one",
          "[service][vocabulary]") {
  const std::vector<std::string> titles = {"Vidal", "Videos of my family in summer", "Video", "Video editing",
                                           "Cut a video"};
  const Vocabulary vocabulary(titles, {{"video", 40}, {"videos", 3}, {"vidal", 1}});
  CHECK(vocabulary.complete("vid", 8) == std::vector<std::string>{"Video", "Video editing",
                                                                  "Videos of my family in summer", "Vidal",
                                                                  "Cut a video", "videos"});
  CHECK(vocabulary.complete("Video", 3) ==
        std::vector<std::string>{"Video", "Video editing", "Videos of my family in summer"});
  CHECK(vocabulary.complete("video ed", 3) == std::vector<std::string>{"Video editing"});
}

TEST_CASE("A typing error is corrected to a word that occurs with the other words", "[service][vocabulary]") {
  const std::vector<std::set<std::string>> documents = {
      {"text", "editor"}, {"image", "viewer"}, {"test", "image"}, {"gnu", "emacs"}, {"images", "text"}};
  const Vocabulary vocabulary(kTitles, kWords);
  const auto correct = [&](std::string_view query) {
    const auto corrected = vocabulary.correct(query, count_in(documents));
    return corrected ? corrected->text + (corrected->is_sure ? "" : "?") : "as typed";
  };
  CHECK(correct("text editor") == "as typed");
  CHECK(correct("imgae veiwer") == "image viewer");  // two unknown words, which occur together
  CHECK(correct("txet imgae") == "text image");
  CHECK(correct("txet editor") == "text editor");   // "test" is more common but never occurs with "editor"
  CHECK(correct("test editor") == "text editor?");  // "test" is a known word but never occurs with "editor"
  CHECK(correct("image viewers") == "as typed");    // a plural is not an error
  CHECK(correct("Emasc gnu") == "emacs gnu");
  CHECK(correct("gnu \"emasc\"") == "as typed");  // quoted words are not corrected
  CHECK(correct("editr -txet site:vim.org") == "editor -txet site:vim.org");
  CHECK(correct("veiwer txet") == "viewer text?");  // never occur together
  CHECK(correct("x2 v8") == "as typed");
  CHECK(correct("qqqqq zzzzz") == "as typed");
  CHECK(Vocabulary({}, {}).correct("imgae", count_in(documents)) == std::nullopt);
}

TEST_CASE("Stop words beside other words neither make a query wrong nor are corrected",
          "[service][vocabulary]") {
  const std::vector<std::set<std::string>> documents = {
      {"mint"}, {"what", "is", "mind"}, {"then", "mint"}, {"hen"}, {"who"}};
  const Vocabulary vocabulary(
      {}, {{"mint", 2}, {"what", 50}, {"mind", 40}, {"then", 50}, {"hen", 1}, {"who", 9}});
  const std::set<std::string> stop_words = {"what", "is", "then", "who", "whom"};
  const auto correct = [&](std::string_view query) {
    const auto corrected = vocabulary.correct(
        query, count_in(documents), [&](const std::string& word) { return stop_words.contains(word); });
    return corrected ? corrected->text : "as typed";
  };
  CHECK(correct("what is mint") == "as typed");
  CHECK(correct("what is mimt") == "what is mint");
  CHECK(correct("What is mint") == "as typed");
  CHECK(correct("hen mint") == "as typed");  // "then" would ask for nothing
  CHECK(correct("who") == "as typed");       // alone, it counts
  CHECK(correct("whom") == "who");
}

TEST_CASE("A query of an embedded index is right without its stop words", "[service][vocabulary]") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 30; ++i)
    lines += "{\"url\":\"http://" + std::to_string(i) + "/\",\"title\":\"Thoughts " + std::to_string(i) +
             "\",\"text\":\"what is on the mind of the people and what is not\"}\n";
  lines += "{\"url\":\"http://mint/\",\"title\":\"Mint\",\"text\":\"A herb of gardens\"}\n";
  fetchers::IndexOptions options;
  options.language = "en";
  if (GENERATE(true, false)) options.kinds = {fetchers::WordKind::words};
  const std::string database = folder.path("x.db");
  REQUIRE(fetchers::build_local_index(database, {folder.write("d.jsonl", lines)}, options).has_value());
  const service::IndexVocabulary vocabulary(database);
  CHECK(vocabulary.correct("what is mint") == std::nullopt);
  CHECK(vocabulary.correct("what is on the mind") == std::nullopt);
  const auto corrected = vocabulary.correct("what is mnit");
  REQUIRE(corrected.has_value());
  CHECK(corrected->text == "what is mint");
  CHECK(corrected->is_sure);
}

TEST_CASE("Earlier queries of the domain are suggested before those of engines", "[service][suggest]") {
  service::Suggester suggester;
  for (const char* sender : {"1", "2", "3", "4", "5"})
    suggester.learn("support", {"vpn setup", "how to vpn"}, sender);
  suggester.set_asked("support", {"vpn broken", "printer"});
  CHECK(suggester.asked("support", "VPN", 8) == std::vector<std::string>{"vpn broken"});
  CHECK(suggester.asked("other", "vpn", 8).empty());
  CHECK(suggester.complete("vpn") == std::vector<std::string>{"how to vpn", "vpn setup"});
  suggester.set_asked("support", {});
  CHECK(suggester.asked("support", "vpn", 8).empty());
}

TEST_CASE("Completion answers over HTTP in both forms and for the requested domain", "[service][suggest]") {
  TestServer server;
  server.app().suggester().set_asked("pages", {"ada lovelace"});
  CHECK(body_in(server.get("/autocompleter?q=ad")) == R"(["ad",["ada lovelace"]])");
  CHECK(body_in(server.get("/autocompleter?q=ad", "X-Requested-With: XMLHttpRequest\r\n")) ==
        R"(["ada lovelace"])");
  CHECK(body_in(server.get("/suggest?q=ad&domain=none")) == R"(["ad",[]])");
}

TEST_CASE("Engines with the same index share its vocabulary", "[service][vocabulary]") {
  const TemporaryFolder folder;
  service::ServerConfig config;
  config.engines = {folder.write("engines.yaml",
                                 "engines:\n  - {name: a, engine: local, database: one.db}\n"
                                 "  - {name: b, engine: local, database: one.db, tokenizer: porter}\n"
                                 "  - {name: c, engine: local, database: other.db}\n")};
  const auto engines =
      service::load_engines(config, [](std::string_view) { return std::optional<std::string>(); });
  REQUIRE(engines.has_value());
  CHECK(engines->vocabularies.at("a") == engines->vocabularies.at("b"));
  CHECK(engines->vocabularies.at("a") != engines->vocabularies.at("c"));
}

namespace {

/// A domain with a private index and a public one.
std::shared_ptr<const service::Snapshot> half_private_snapshot(const TemporaryFolder& folder) {
  const auto index = [&](const std::string& name, const std::string& document) {
    const std::string file = folder.write(name + ".jsonl", document + "\n");
    REQUIRE(run_metafuse({"index", "--database", folder.path(name + ".db"), file}).status == 0);
  };
  index("private", R"({"url":"http://p.example/","title":"Otter secret merger plan","text":"confidential"})");
  index("public", R"({"url":"http://a.example/","title":"Otter river","text":"An otter lives in a river"})");
  folder.write("engines.yaml",
               "engines:\n  - {name: private, engine: local, database: private.db, tokens: [sesame]}\n"
               "  - {name: public, engine: local, database: public.db}\n");
  folder.write("t.yaml",
               "version: 1\ndomain: d\nslots: {Q: {required: true}}\n"
               "templates: [{id: all, engine: [private, public], query: '{Q|all}'}]\n");
  const std::string config =
      folder.write("metafuse.yaml", "version: 1\ntemplates: [t.yaml]\nengines: [engines.yaml]\n");
  const auto load = [](const service::ServerConfig& read) {
    return service::load_engines(read, [](std::string_view) { return std::optional<std::string>(); });
  };
  const auto snapshot = service::load_snapshot(service::read_config(config).value(), load);
  INFO((snapshot ? "" : snapshot.error().text));
  REQUIRE(snapshot.has_value());
  return *snapshot;
}

}  // namespace

TEST_CASE("A private index completes and corrects only for keys that may ask it",
          "[service][vocabulary][suggest][security]") {
  const TemporaryFolder folder;
  service::Exchange exchange;
  exchange.snapshot = half_private_snapshot(folder);
  exchange.request.query = {{"q", "ott"}};
  const auto suggests_secret = [&] {
    const std::string body = service::handle_autocompleter(service::Suggester(), exchange).body;
    CHECK(body.find("Otter river") != std::string::npos);
    return body.find("Otter secret merger plan") != std::string::npos;
  };
  const auto correction = [&] {
    const service::LoadedDomain& domain = *exchange.find_domain("d");
    const auto corrected =
        service::corrected_query(domain, service::usable_vocabularies(exchange, domain), "confidentil");
    return corrected ? corrected->text : "";
  };
  service::KeyConfig insider, limited;
  insider.tokens = limited.tokens = {"sesame"};
  limited.engines = {"public"};
  // Whether a text contains a phrase is only told by indexes that anybody may search.
  const auto& open_indexes = exchange.find_domain("d")->open_indexes;
  REQUIRE(open_indexes.size() == 1);
  CHECK(open_indexes.front()->database() == folder.path("public.db"));
  CHECK_FALSE(suggests_secret());
  CHECK(correction() == "");
  exchange.key = &limited;
  CHECK_FALSE(suggests_secret());
  CHECK(correction() == "");
  exchange.key = &insider;
  CHECK(suggests_secret());
  CHECK(correction() == "confidential");
}

TEST_CASE("Completion and correction keep their limits", "[service][vocabulary]") {
  const std::string longest(120, 'x');
  const Vocabulary vocabulary({longest, longest + "x", "abc def"}, {{"cat", 40}, {"zebra", 9}, {"a9c", 9}});
  CHECK(vocabulary.complete("xx", 8) == std::vector<std::string>{longest});
  const auto typed = [](std::size_t bytes) { return std::string(bytes - 7, ' ') + "abc def"; };
  CHECK(vocabulary.complete(typed(200), 8) == std::vector<std::string>{"abc def"});
  CHECK(vocabulary.complete(typed(201), 8).empty());
  const std::vector<std::set<std::string>> documents = {{"cat"}, {"zebra"}, {"a9c"}};
  const auto correct = [&](const std::string& query) {
    const auto corrected = vocabulary.correct(query, count_in(documents));
    return corrected ? corrected->text : "as typed";
  };
  CHECK(correct("caz") == "cat");  // three letters are the fewest
  CHECK(correct("zebrz") == "zebra");
  CHECK(correct("at") == "as typed");
  CHECK(correct("a0c") == "as typed");  // words with digits are names
  CHECK(correct("a8c") == "as typed");
  CHECK(correct(std::string(195, ' ') + "zebrz").ends_with("zebra"));
  CHECK(correct(std::string(196, ' ') + "zebrz") == "as typed");
}

TEST_CASE("Up to three doubtful words are corrected at once", "[service][vocabulary]") {
  const std::vector<service::WordCount> words = {{"lemon", 9}, {"otter", 9}, {"river", 9}, {"tiger", 9}};
  const std::vector<std::set<std::string>> documents = {{"lemon", "otter", "river", "tiger"}};
  const Vocabulary vocabulary({}, words);
  const auto correct = [&](const std::string& query) {
    const auto corrected = vocabulary.correct(query, count_in(documents));
    return corrected ? corrected->text + (corrected->is_sure ? "" : "?") : "as typed";
  };
  CHECK(correct("lemno") == "lemon");
  CHECK(correct("lemno ottre") == "lemon otter");
  CHECK(correct("lemno ottre rivre") == "lemon otter river");
  CHECK(correct("lemno ottre rivre tigre") == "lemon otter river tiger?");
}
