#include "service/search/typed_conditions.h"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "core/query_syntax.h"
#include "fetchers/engines/index/local_engine.h"
#include "service/base/word_match.h"
#include "service/search/list_fusion.h"
#include "service/search/search_answer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;
using service::FoldedText;

namespace {

/// The hosts of a typed search's results, joined by blanks.
std::string found_hosts(TestServer& server, const std::string& q) {
  const auto value = parse_json(body_in(server.get("/search?format=json&q=" + q)), "answer");
  REQUIRE(value.has_value());
  std::string out;
  for (const Json& result : value->as_object().at("results").as_array()) {
    std::string url(result.at("url").as_string());
    url.erase(0, url.find("//") + 2);
    out += (out.empty() ? "" : " ") + url.substr(0, url.find('/'));
  }
  return out;
}

fetchers::FetchedList editors(const ExpandedQuery&) {
  fetchers::FetchedList out;
  out.list.hits = {{"http://www.gnu.org/emacs", "GNU Emacs", "an editor", "2020-05-01", "", {}},
                   {"http://vim.org/manual.pdf", "Vim the editor", "not emacs-like", "2024-01-01", "", {}},
                   {"http://kate.kde.org/", "Kate", "a text-editor by KDE", "2024-06-01", "", {}},
                   {"http://nano.example/", "Nano, a small text editor", "like Pico", "", "", {}}};
  return out;
}

bool meets(const std::string& typed, const Hit& hit, std::string_view syntax = "plain") {
  const service::ConditionCheck check(templates::parse_typed_query(typed).conditions);
  return check.is_met(hit, {find_query_syntax(syntax)});
}

}  // namespace

TEST_CASE("Every result meets the conditions of the typed query", "[service][typed]") {
  TestServer server(editors);
  CHECK(found_hosts(server, "text+editor") == "www.gnu.org vim.org kate.kde.org nano.example");
  CHECK(found_hosts(server, "text+editor+-emacs") == "kate.kde.org nano.example");
  CHECK(found_hosts(server, "editor+-%22gnu+emacs%22") == "vim.org kate.kde.org nano.example");
  CHECK(found_hosts(server, "editor+site:kde.org") == "kate.kde.org");
  CHECK(found_hosts(server, "editor+site:kde.org+OR+site:gnu.org") == "www.gnu.org kate.kde.org");
  CHECK(found_hosts(server, "editor+-site:gnu.org+-site:vim.org/manual.pdf") == "kate.kde.org nano.example");
  CHECK(found_hosts(server, "editor+site:gnu.org/emac") == "");
  // the engines' syntax "web" supports titles, file types and phrases, so their results are trusted
  CHECK(found_hosts(server, "intitle:nano+editor") == "www.gnu.org vim.org kate.kde.org nano.example");
  // it has no dates, so a result must itself show that it is new enough
  CHECK(found_hosts(server, "editor+after:2024") == "vim.org kate.kde.org");
  CHECK(found_hosts(server, "editor+after:2024-01-02") == "kate.kde.org");
  CHECK(found_hosts(server, "editor+before:2024") == "www.gnu.org");
}

TEST_CASE("Conditions hold in every dialect", "[service][typed]") {
  TestServer server(editors);
  CHECK(body_in(server.post("/search", "application/json", R"({"query":"editor -emacs"})")).find("GNU") ==
        std::string::npos);
  CHECK(body_in(server.post("/v1/search", "application/json", R"({"query":"editor -emacs"})")).find("GNU") ==
        std::string::npos);
  CHECK(body_in(server.get("/search?q=editor+-emacs")).find("GNU") == std::string::npos);
  CHECK(body_in(server.get("/search?q=editor+-emacs&format=rss")).find("GNU") == std::string::npos);
  CHECK(body_in(server.get("/v1/search/stream?q=editor+-emacs")).find("GNU") == std::string::npos);
}

TEST_CASE("Excluded results are replaced from further pages of the lists", "[service][typed]") {
  TestServer server([](const ExpandedQuery&) {
    std::vector<std::string> hosts;
    for (int i = 0; i < 10; ++i) hosts.push_back("gnu" + std::to_string(i) + ".example");
    return list_of(hosts);
  });
  server.fetcher().set_further(
      [](const ExpandedQuery&, int page) { return list_of({"kde" + std::to_string(page) + ".example"}); });
  // without a condition, ten results need no second page of lists that have ten
  CHECK(found_hosts(server, "editor&limit=10").find("kde") == std::string::npos);
  CHECK(found_hosts(server, "editor+site:kde2.example&limit=10") == "kde2.example");
  const int before = server.fetcher().fetches();
  CHECK(found_hosts(server, "editor+site:none.example&limit=10") == "");
  CHECK(server.fetcher().fetches() - before <= 3);
}

TEST_CASE("Results are checked against conditions that the engine does not support", "[service][typed]") {
  const Hit kate{"https://kate.kde.org/index.php?x=a.pdf", "Kate", "a text-editor", "", "", {}};
  CHECK(meets("\"text editor\"", kate));
  CHECK(!meets("\"small editor\"", kate));
  CHECK(meets("\"small editor\"", kate, "web"));
  CHECK(meets("x filetype:php", kate));
  CHECK(!meets("x filetype:pdf", kate));
  CHECK(meets("x filetype:pdf", kate, "google"));
  CHECK(!meets("x -filetype:php", kate, "google"));
  CHECK(!meets("intitle:editor", kate));
  CHECK(meets("intitle:KATE", kate));
  CHECK(!meets("x after:2020", kate));
  CHECK(meets("x after:2020", kate, "google"));
  CHECK(!meets("x before:2020", {"http://a.example/", "", "", "2021-01-01T00:00:00", "", {}}, "google"));
  CHECK(service::file_type_of("http://a.example/b/Manual.PDF?x=y.html#z.txt") == "pdf");
  CHECK(service::file_type_of("http://a.example") == "");
  CHECK(service::file_type_of("http://a.example/.bashrc") == "");
}

TEST_CASE("The whole text in an index decides about phrases and excluded words", "[service][typed]") {
  const TemporaryFolder folder;
  const std::string database = folder.path("own.db");
  const std::string lines =
      R"({"url":"http://a.example/","title":"One","text":"much about significance tests"})"
      "\n"
      R"({"url":"http://b.example/","title":"Two","text":"tests of significance"})"
      "\n";
  REQUIRE(fetchers::build_local_index(database, {folder.write("d.jsonl", lines)}).has_value());
  service::LoadedDomain domain;
  domain.syntax_of = [](std::string_view) -> const QuerySyntax& { return *find_query_syntax("fts5"); };
  const auto found = [&](const std::string& typed) {
    fetchers::FetchedList list = list_of({"a.example", "b.example", "web.example"});
    keep_best_of_each(list.list, 0);
    service::SearchAnswer answer;
    answer.typed = templates::parse_typed_query(typed);
    service::fuse_lists(domain, {list}, answer);
    std::string urls;
    for (const service::FusedResult& result : answer.results) urls += result.hit.url;
    return urls;
  };
  const std::string phrase = "\"significance tests\"";
  CHECK(found(phrase) == "http://a.example/http://b.example/http://web.example/");
  for (const std::string& file : {folder.path("none.db"), database})
    domain.open_indexes.push_back(std::make_shared<service::IndexVocabulary>(file));
  CHECK(found(phrase) == "http://a.example/http://web.example/");
  CHECK(found("tests -significance") == "http://web.example/");
  CHECK(found("tests -much") == "http://b.example/http://web.example/");
  CHECK(found("tests -\"tests of\" " + phrase) == "http://a.example/http://web.example/");
}

TEST_CASE("Words are found regardless of case and accents and blanks", "[service][typed]") {
  const auto found = [](std::string_view text, std::string_view words) {
    std::string out;
    for (const service::TextRange& range : FoldedText(text).find(FoldedText(words)))
      out += '[' + std::string(text.substr(range.begin, range.end - range.begin)) + ']';
    return out;
  };
  CHECK(found("GNU Emacs and xemacs, emacs-gtk", "emacs") == "[Emacs][emacs]");
  CHECK(found("Café, CAFE\u0301, cafes", "cafe") == "[Café][CAFE\u0301]");
  CHECK(found("a text-editor; text   editor", "text editor") == "[text-editor][text   editor]");
  CHECK(found("C++ and C", "c++") == "[C++]");
  CHECK(found("Straße", "STRASSE") == "");  // ß does not match SS
  CHECK(found("ΣΊΣΥΦΟΣ", "σίσυφος") == "[ΣΊΣΥΦΟΣ]");
  CHECK(found("全文検索エンジン", "検索") == "[検索]");
  CHECK(found("editor", "-") == "");
  CHECK(found("", "a") == "");
}

TEST_CASE("One of several sites or file types is enough, each excluded one is too much", "[service][typed]") {
  const Hit hit{"http://a.example/x.pdf", "A title", "", "", "", {}};
  CHECK(meets("w site:b.example site:a.example filetype:doc filetype:pdf", hit));
  CHECK_FALSE(meets("w site:b.example site:c.example", hit));
  CHECK_FALSE(meets("w filetype:doc filetype:txt", hit));
  CHECK_FALSE(meets("w site:a.example filetype:doc", hit));
  CHECK_FALSE(meets("w -site:a.example -site:b.example", hit));
  CHECK(meets("w -site:b.example -filetype:doc", hit));
  CHECK(meets("w site:a.example/x.pdf", hit));
  CHECK_FALSE(meets("w site:a.example/y", hit));
}

TEST_CASE("The ending of a file has one to ten letters and digits", "[service][typed]") {
  using service::file_type_of;
  CHECK(file_type_of("http://a.example/b.abcdefghij") == "abcdefghij");
  CHECK(file_type_of("http://a.example/b.abcdefghijk") == "");
  CHECK(file_type_of("http://a.example/b.az09") == "az09");
  CHECK(file_type_of("http://a.example/b.Z") == "z");
  CHECK(file_type_of("http://a.example/a.b") == "b");
  for (const char* none : {"http://a.example/b.a_b", "http://a.example/b.a%20", "http://a.example/b.a`",
                           "http://a.example/b.a{", "http://a.example/b.a:"})
    CHECK(file_type_of(none) == "");
}

TEST_CASE("A result of several queries meets the conditions of one of them", "[service][typed]") {
  service::LoadedDomain domain;
  const auto found = [&](const std::vector<std::string>& queries) {
    service::SearchRequest request;
    request.text = queries.front();
    request.alternatives.assign(queries.begin() + 1, queries.end());
    request.synonyms = {"site:c.example x"};
    service::SearchAnswer answer;
    service::set_typed(request, answer);
    service::fuse_lists(domain, {list_of({"a.example", "b.example", "c.example"})}, answer);
    CHECK(answer.left_out == 3 - answer.results.size());
    std::string hosts;
    for (const service::FusedResult& result : answer.results) hosts += result.hit.key + ' ';
    return hosts;
  };
  CHECK(found({"x site:a.example"}) == "a.example ");
  CHECK(found({"x site:a.example", "y site:b.example"}) == "a.example b.example ");
  CHECK(found({"x -title", "y"}) == "a.example b.example c.example ");
  CHECK(found({"x -title", "y -snippet"}).empty());
}
