#include <algorithm>
#include <array>
#include <future>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "core/text.h"
#include "service/http/preferences.h"
#include "service/pages/result_text.h"
#include "service/pages/texts.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;
using service::FoldedText;

namespace {

std::string marked_text(std::string_view text, const std::vector<FoldedText>& words) {
  std::string out;
  for (const service::MarkedPiece& piece : service::marked(text, words)) {
    out += piece.plain;
    if (!piece.match.empty()) out += '[' + piece.match + ']';
  }
  return out;
}

std::size_t count_of(const std::string& page, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++count;
  return count;
}

bool shows(const std::string& page, std::string_view text) {
  return page.find(text) != std::string::npos;
}

/// Forty pages in each list, ten per window.
fetchers::FetchedList forty(const ExpandedQuery&, int window) {
  std::vector<std::string> hosts;
  for (int i = 10 * window - 9; i <= std::min(10 * window, 40); ++i)
    hosts.push_back("h" + std::to_string(i) + ".example");
  return list_of(hosts);
}

}  // namespace

TEST_CASE("Matches are marked in the text as written", "[service][page]") {
  const std::vector<FoldedText> words = {FoldedText("text"), FoldedText("editor"), FoldedText("café")};
  CHECK(marked_text("A Text editor, and the CAFE.", words) == "A [Text editor], and the [CAFE].");
  CHECK(marked_text("nothing", words) == "nothing");
  CHECK(marked_text("", words) == "");
  CHECK(marked_text("texteditor <text>", words) == "texteditor <[text]>");
}

TEST_CASE("A long snippet is cut between words around most of its matches", "[service][page]") {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "word" + std::to_string(i) + ' ';
  text += "the text editor edits text. ";
  for (int i = 60; i < 99; ++i) text += "word" + std::to_string(i) + ' ';
  const std::vector<FoldedText> words = {FoldedText("text"), FoldedText("editor")};
  const std::string cut = service::excerpt(text, words, 120);
  CHECK(shows(cut, "the text editor edits text."));
  CHECK(cut.starts_with("… word"));
  CHECK(cut.ends_with("…"));
  CHECK(cut.size() <= 120 + 10);
  CHECK(service::excerpt("short", words, 120) == "short");
  // without a match it starts at the beginning; without a blank it is cut between letters
  CHECK(service::excerpt(text, {}, 20) == "word0 word1 word2…");
  std::string joined;
  for (int i = 0; i < 100; ++i) joined += "é";
  CHECK(service::excerpt(joined, {}, 21) == joined.substr(0, 20) + "…");
}

TEST_CASE("A long snippet without blanks shows its match", "[service][page]") {
  for (const auto& [filling, sentence, word] :
       {std::array<std::string, 3>{"搜索引擎", "这个编辑器很小", "编辑器"},
        {"検索する", "小さなエディタです", "エディタ"}}) {
    std::string text = "A " + filling;  // a blank far before the match
    while (text.size() < 900) text += filling;
    text += sentence;
    while (text.size() < 1800) text += filling;
    const std::string cut = service::excerpt(text, std::vector<FoldedText>{FoldedText(word)}, 240);
    CHECK(shows(cut, sentence));
    CHECK(to_valid_utf8(cut) == cut);
    CHECK(cut.size() <= 240 + 10);
  }
}

TEST_CASE("A shown address is readable and cannot look like another one", "[service][page]") {
  const auto shown = [](std::string_view url) {
    const auto address = service::readable_address(url);
    return address.host + address.path;
  };
  CHECK(shown("https://www.kde.org/") == "kde.org");
  CHECK(shown("https://kde.org/a/b.html#c") == "kde.org › a › b.html");
  CHECK(shown("https://de.example/Stra%C3%9Fe?x=1") == "de.example › Straße?x=1");
  CHECK(shown("https://a.example/%E2%80%AEgpj.exe") == "a.example › %E2%80%AEgpj.exe");
  CHECK(shown("https://a.example/b%2Fc%20d") == "a.example › b%2Fc%20d");
  CHECK(shown("mailto:a@b.example") == "mailto:a@b.example");
  // the same characters, not encoded
  CHECK(shown("https://a.example/\u202Egpj.exe") == "a.example › %E2%80%AEgpj.exe");
  CHECK(shown("https://a.example/?a=\u202E"
              "abc/ü") == "a.example?a=%E2%80%AEabc/ü");
  CHECK(shown("https://a\u202E"
              "b.example/") == "a%E2%80%AEb.example");
  CHECK(shown("https://münchen.example/straße?ü=/") == "münchen.example › straße?ü=/");
  CHECK(shown("a\u202E"
              "b c") == "a%E2%80%AEb c");
}

TEST_CASE("The page shows matches and badges and filters and explanations without scripts",
          "[service][page]") {
  TestServer server([](const ExpandedQuery& query) {
    fetchers::FetchedList list = TestServer::default_answer(query);
    list.list.hits.front().snippet = "Ada <b>wrote</b> programs; ada";
    list.list.hits.front().published = "2024-05-01";
    list.list.hits.front().language = "pt-BR";
    list.list.hits.push_back({"http://www.files.example/a/Notes.PDF", "Notes of Ada", "", "", "", {}});
    return list;
  });
  const std::string page = body_in(server.get("/search?q=ada+-charles&slot.PLACE=Rome"));
  CHECK(shows(page, "<mark>Ada</mark> &lt;b&gt;wrote&lt;/b&gt; programs; <mark>ada</mark>"));
  CHECK(shows(page, "<i class=\"g0\">one <b>1</b></i>"));
  CHECK(shows(page, "<i class=\"g1\">two <b>1</b></i>"));
  CHECK(shows(page, "<b>files.example</b> › a › Notes.PDF"));
  CHECK(shows(page, "<span>2024-05-01 · Português (BR)</span>"));
  CHECK(shows(page, "lang=\"pt-BR\">"));
  CHECK(shows(page, "<span>pdf</span>"));
  // each filter of the search has a link that removes it
  CHECK(shows(page,
              "<a href=\"/search?q=ada&amp;slot.PLACE=Rome\"><span class=\"hidden\">Remove </span>-charles"));
  CHECK(shows(page, "/search?q=ada+-charles&amp;slot.PLACE=Rome&amp;engines=one\">one <span>4</span>"));
  CHECK(shows(
      page,
      "/search?q=ada+-charles+site%3Afiles.example&amp;slot.PLACE=Rome\">files.example <span>1</span>"));
  CHECK(shows(page, "q=ada+-charles+filetype%3Apdf"));
  CHECK(shows(page, "5 results"));
  CHECK(shows(page, "value=\"Rome\""));  // the form of slots keeps the given values
  // b is first because of three lists, and stays first without one of them
  CHECK(shows(page, "Number "));
  const std::string narrowed = body_in(server.get("/search?q=ada&engines=two"));
  CHECK(shows(narrowed, "Engine: two <span aria-hidden"));
  const std::string one_list = body_in(server.get("/search?q=ada&lists=placed%40one&format=json"));
  CHECK(count_of(one_list, "\"url\"") == 4);
  CHECK(status_in(server.get("/search?q=ada&lists=none%40one")) == 400);
}

TEST_CASE("Every page has the same number of results and a page beyond the end says so", "[service][page]") {
  TestServer server([](const ExpandedQuery& query) { return forty(query, 1); });
  server.fetcher().set_further(forty);
  for (const std::string page : {"1", "2", "4"}) {
    const std::string body = body_in(server.get("/search?q=ada&limit=10&pageno=" + page));
    CHECK(shows(body, "About 10 results"));
    CHECK(shows(body, "aria-current=\"page\">" + page + "</a>"));
  }
  const std::string beyond = body_in(server.get("/search?q=ada&limit=10&pageno=9"));
  CHECK(shows(beyond, "There is no page 9."));
  CHECK(shows(beyond, "<a href=\"/search?q=ada&amp;limit=10&amp;pageno=4\">"));
  CHECK(!shows(beyond, "Nothing was found"));
}

TEST_CASE("A page without results shows how the query was understood", "[service][page]") {
  TestServer server;
  const std::string page = body_in(server.get("/search?q=ada+lovelace+site%3Anowhere.example"));
  CHECK(shows(page, "Nothing was found for <b>ada lovelace</b>."));
  CHECK(shows(page, "4 results of the engines did not meet your conditions."));
  CHECK(shows(page, "Remove a condition above."));
}

TEST_CASE("A page that cannot be answered says why", "[service][page]") {
  TestServer server;
  for (const char* conditions : {"-ada", "site%3Aa.example", "%21%3F"})
    CHECK(shows(body_in(server.get("/search?q=" + std::string(conditions))),
                "There is nothing to search for yet"));
  const std::string uncalibrated = server.get("/search?q=ada&min_relevance=.5");
  CHECK(uncalibrated.starts_with("HTTP/1.1 400"));
  CHECK(shows(uncalibrated, "leave min_relevance out"));
  CHECK(!shows(uncalibrated, "nothing to search for"));
}

TEST_CASE("Preferences are stored in one cookie and shared by one link", "[service][preferences]") {
  using service::Preferences;
  Preferences preferences{"", "de", 2, 50, "dark", true, {{"a.example"}, {"b.example"}, {"c.example"}}};
  const std::string text =
      "language=de&safe=2&results=50&theme=dark&tab=1&sites=+a.example|-b.example|!c.example";
  CHECK(service::preferences_text(preferences) == text);
  CHECK(service::read_preferences_text(text) == preferences);
  CHECK(service::read_preferences_cookie("x=1; preferences=" + text) == preferences);
  CHECK(service::read_preferences_text("language=<b>&results=900&theme=red&safe=x&tab=2&wat=1") ==
        Preferences());
  CHECK(service::preferences_text({}) == "");

  TestServer server([](const ExpandedQuery& query) { return forty(query, 1); });
  const std::string cookie = "Cookie: preferences=results=3&theme=dark&tab=1\r\n";
  const std::string page = body_in(server.get("/search?q=ada", cookie));
  CHECK(count_of(page, "<li><h2>") == 3);
  CHECK(shows(page, "data-theme=\"dark\""));
  CHECK(count_of(page, "target=\"_blank\"") == 3);
  CHECK(count_of(body_in(server.get("/search?q=ada&limit=4", cookie)), "<li><h2>") == 4);
  // a program that sends the cookie still gets what it asks for
  CHECK(count_of(body_in(server.get("/search?q=ada&format=csv", cookie)), "Title of") == 10);

  const std::string form = body_in(server.get("/preferences", cookie));
  CHECK(shows(form, "<option value=\"dark\" selected>"));
  CHECK(shows(form, "/preferences?set=results%3D3%26theme%3Ddark%26tab%3D1"));
  const std::string offered = server.get("/preferences?set=theme%3Dlight", cookie);
  CHECK(shows(offered, "come from a link"));
  CHECK(!shows(offered, "Set-Cookie"));
  const std::string saved = server.post("/preferences", "application/x-www-form-urlencoded",
                                        "save=1&language=fr&safe=1&results=&theme=&sites=%2Ba.example",
                                        "Origin: http://localhost\r\n");
  CHECK(shows(saved, "Set-Cookie: preferences=language=fr&safe=1&sites=+a.example;"));
  CHECK(shows(saved, "Location: /preferences?saved=1"));
}

TEST_CASE("A host without a dot is blocked by the link at its results", "[service][preferences]") {
  TestServer server([](const ExpandedQuery&) { return list_of({"wiki", "a.example"}); });
  const std::string link = "/preferences?site=wiki";
  CHECK(shows(server.get("/search?q=ada"), "href=\"" + link + "\""));
  CHECK(shows(server.get(link), "name=\"block\" value=\"wiki\""));
  const std::string saved = server.post("/preferences", "application/x-www-form-urlencoded", "block=wiki",
                                        "Origin: http://localhost\r\n");
  CHECK(shows(saved, "Set-Cookie: preferences=sites=!wiki;"));
  const std::string page = body_in(server.get("/search?q=ada", "Cookie: preferences=sites=!wiki\r\n"));
  CHECK(shows(page, "http://a.example/"));
  CHECK(!shows(page, "http://wiki/"));
}

TEST_CASE("Domains are shown as tabs and slots as a form with labels and choices", "[service][page]") {
  TestServer server(TestServer::default_answer, "",
                    "version: 1\ndomain: pages\nslots:\n  FULL_NAME: {required: true}\n"
                    "  KIND: {label: Kind of page, values: [home, wiki]}\n"
                    "templates:\n  - {id: plain, engine: [one, two], query: '{FULL_NAME} [{KIND}]'}\n");
  server.folder().write("templates/other.yaml",
                        "version: 1\ndomain: other\nslots: {QUERY: {required: true}}\n"
                        "templates: [{id: t, engine: one, query: '{QUERY}'}]\n");
  const std::string home = body_in(server.get("/"));
  CHECK(shows(home, "<label for=\"slot-FULL_NAME\">Full name</label>"));
  CHECK(shows(home, "<label for=\"slot-KIND\">Kind of page</label>"));
  CHECK(shows(home, "<option>home</option><option>wiki</option>"));
  CHECK(!shows(home, "class=\"tabs\""));
  REQUIRE(server.app().reloader().reload().has_value());
  const std::string tabbed = body_in(server.get("/search?q=ada"));
  CHECK(shows(tabbed, "<a href=\"/search?q=ada&amp;domain=other\""));
  CHECK(shows(body_in(server.get("/?domain=other")), "aria-current=\"page\">other</a>"));
}

// The model ranks the first result of plain@one first; RRF ranks b first, which is in all three lists.
TEST_CASE("A search that asks for RRF is fused by RRF and is not stored", "[service][page]") {
  TestServer server(TestServer::default_answer, "store: metafuse.db\n");
  server.folder().write("models/pages.json", R"({"format":"metafuse-model","version":1,"learner":"rankboost",
"features":[{"name":"plain@one","kind":"rank","depth":10},{"name":"plain@two","kind":"rank","depth":10},
{"name":"placed@one","kind":"rank","depth":10}],"unranked":"absent",
"body":{"weak_rankings":[{"feature":0,"rank":1,"q_default":0,"alpha":1}]},"training":{}})");
  REQUIRE(server.app().reloader().reload().has_value());
  const auto search = [&](const std::string& more) {
    return parse_json(body_in(server.get("/search?q=ada&format=json" + more)), "a").value().as_object();
  };
  const JsonObject learned = search("");
  const JsonObject plain = search("&fusion=rrf");
  const auto first = [](const JsonObject& answer) {
    return std::string(answer.at("results").at(0).at("url").as_string());
  };
  CHECK(first(learned) == "http://a.example/");
  CHECK(first(plain) == "http://b.example/");
  CHECK(first(search("&fusion=model")) == "http://a.example/");  // the two have separate cache entries
  CHECK(learned.at("fusion").at("method") == "rankboost");
  CHECK(plain.at("fusion").at("method") == "rrf");
  CHECK(learned.at("fusion").as_object().contains("search_id"));
  CHECK_FALSE(plain.at("fusion").as_object().contains("search_id"));
  CHECK(status_in(server.get("/search?q=ada&fusion=borda")) == 400);
  const std::string page = body_in(server.get("/search?q=ada&fusion=rrf&limit=2"));
  CHECK(shows(page, "fusion=rrf&amp;limit=2&amp;pageno=2"));
  CHECK(shows(page, "as the request asks"));
  // what such searches read is made once
  const auto snapshot = server.app().reloader().snapshot();
  CHECK(snapshot->without_models() == snapshot->without_models());
  CHECK_FALSE(snapshot->without_models()->find_domain("pages")->model.has_value());
  CHECK(snapshot->find_domain("pages")->model.has_value());
}

TEST_CASE("Labels name lists in badges and legend and reasons", "[service][page]") {
  TestServer server(
      TestServer::default_answer, "",
      "version: 1\ndomain: pages\ndepth: 10\nexamples: [ada lovelace]\nslots: {NAME: {required: true}}\n"
      "templates:\n  - {id: plain, label: plain words, engine: [one, two], query: '{NAME}'}\n"
      "  - {id: named, label: names, engine: one, query: '\"{NAME}\"'}\n");
  const std::string page = body_in(server.get("/search?q=ada"));
  CHECK(shows(page, "<i class=\"g1\">plain words (two) <b>1</b></i>"));
  CHECK(shows(page, "<i class=\"g2\">names</i> <code>named@one</code>"));
  // b is second in two lists and first in one, whose reciprocal rank weighs most
  CHECK(shows(page, "Number 1 by “plain words (two)” counts most"));
  CHECK(shows(page, "It is also number 2 by “plain words (one)”, 2 by “names”."));
  CHECK(shows(page, "<td>names<td>2"));
  CHECK(shows(body_in(server.get("/")),
              "<a href=\"/search?q=ada+lovelace&amp;domain=pages\">ada lovelace</a>"));
}

TEST_CASE("An operator's name and logo and colour and footer are on every page", "[service][page]") {
  TemporaryFolder pictures;
  pictures.write("owl.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
  TestServer server(TestServer::default_answer,
                    "branding: {name: \"Owls & Co\", logo: " + pictures.path("owl.svg") +
                        ", colour: \"#102030\", footer: \"<Ask us>\"}\n");
  for (const std::string path : {"/", "/search?q=ada", "/preferences", "/judge", "/docs"}) {
    const std::string page = body_in(server.get(path));
    CHECK(shows(page, "Owls &amp; Co</title>"));
    CHECK(shows(page, "<img src=\"/static/logo.svg\" alt=\"Owls &amp; Co\""));
    CHECK(shows(page, "<p>&lt;Ask us&gt;</p>"));
    CHECK(shows(page, "/static/brand.css"));
  }
  CHECK(shows(server.get("/static/logo.svg"), "Content-Type: image/svg+xml"));
  CHECK(shows(server.get("/static/brand.css"), ":root{--brand:#102030;--mark:#102030}"));
  CHECK(shows(server.get("/opensearch.xml"), "<ShortName>Owls &amp; Co</ShortName>"));
  TestServer plain;
  CHECK(shows(body_in(plain.get("/")), "<title>metafuse</title>"));
  CHECK(status_in(plain.get("/static/logo.svg")) == 404);
  CHECK(status_in(plain.get("/static/brand.css")) == 404);
}

TEST_CASE("Pages are in the language of the preferences or else of the browser", "[service][page]") {
  TestServer server;
  const auto page = [&](const std::string& headers) { return body_in(server.get("/search?q=ada", headers)); };
  CHECK(shows(page(""), "<html lang=\"en\">"));
  CHECK(shows(page("Accept-Language: de-AT,en;q=0.5\r\n"), "4 Ergebnisse"));
  CHECK(shows(page("Accept-Language: en;q=0.1,zh-CN;q=0.2\r\n"), "4 条结果"));
  CHECK(shows(page("Accept-Language: tlh, x;q=y, *;q=0\r\n"), "4 results"));
  CHECK(shows(page("Accept-Language: de\r\nCookie: preferences=page=fr\r\n"), "4 résultats"));
  CHECK(shows(page("Accept-Language: es\r\nCookie: preferences=page=xx\r\n"), "4 resultados"));
  CHECK(shows(body_in(server.get("/preferences", "Accept-Language: de\r\n")), "<h1>Einstellungen</h1>"));
}

TEST_CASE("No translation lacks a text or changes its marks", "[service][page]") {
  const auto marks_of = [](std::string_view text) {
    std::set<std::string> out;
    for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1))
      if (const std::size_t end = text.find('}', at); end != std::string_view::npos)
        out.emplace(text.substr(at, end - at));
    return out;
  };
  const service::Texts& english = service::texts_in("en");
  REQUIRE(service::all_texts().size() == 5);
  for (const service::Texts& texts : service::all_texts()) {
    CAPTURE(texts.tag);
    CHECK(texts.raw("tag") == texts.tag);
    CHECK(texts.texts.size() == english.texts.size());
    for (const auto& [key, text] : english.texts) {
      CAPTURE(key);
      const auto at = texts.texts.find(key);
      REQUIRE(at != texts.texts.end());
      CHECK(!at->second.empty());
      CHECK(marks_of(at->second) == marks_of(text));
      CHECK(at->second.find('"') == std::string::npos);  // texts stand in attributes too
      CHECK(std::count(at->second.begin(), at->second.end(), '<') ==
            std::count(text.begin(), text.end(), '<'));
    }
  }
  CHECK(service::texts_in("fr").counted("summary", 0) == "0 résultat");
  CHECK(service::texts_in("de").counted("summary", 0) == "0 Ergebnisse");
  CHECK(service::texts_in("zh").counted("summary", 1) == "1 条结果");
}

TEST_CASE("A page begins with half of the lists if its reader can complete it", "[service][page]") {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  TestServer server([released](const ExpandedQuery& query) {
    if (query.template_id != "placed") return TestServer::default_answer(query);
    released.wait();
    return list_of({"late.example"});
  });
  RawClient client(server.port());
  client.send(
      "GET /search?q=ada HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: completes=1\r\n\r\n");
  const std::string early = client.read_until("</footer>");
  CHECK(shows(early, "More results are on their way."));
  CHECK(shows(early, "data-lost=\"The other results did not arrive"));  // if nothing completes the page
  CHECK(shows(early, "<noscript>The other results did not arrive"));
  CHECK(shows(early, "a.example"));
  CHECK(!shows(early, "late.example"));
  CHECK(!shows(early, "</html>"));
  release.set_value();
  const std::string rest = client.read_all();
  CHECK(shows(rest, "<template id=\"whole\">"));
  CHECK(shows(rest, "late.example"));
  CHECK(!shows(rest, "More results are on their way."));
  CHECK(shows(rest, "</template></body></html>"));
  // a browser without the script, and every program, waits for the whole answer
  CHECK(!shows(server.get("/search?q=charles"), "<template"));
}

TEST_CASE("What an operator hid is not shown while lists are on their way either", "[service][page]") {
  TestServer server(TestServer::default_answer, "store: state.db\nkeys: [{name: a, roles: [admin], sha256: " +
                                                    sha256_hex("admin-key") + "}]\n");
  const std::string key = "X-API-Key: admin-key\r\n";
  const std::string saved = server.post("/v1/curation/pages", "application/json",
                                        R"({"queries":[{"query":"ada","hidden":["http://b.example/"]},)"
                                        R"({"query":"charles","hidden":["http://b.example/"]}]})",
                                        key + "If-Match: *\r\n", "PUT");
  INFO(saved);
  REQUIRE(status_in(saved) == 200);
  const std::string stream = server.get("/v1/search/stream?q=ada");
  CHECK(shows(stream, "event: partial"));
  CHECK(shows(stream, "a.example"));
  CHECK_FALSE(shows(stream, "\"url\":\"http://b.example/\""));
  const std::string page = server.get("/search?q=charles", "Cookie: completes=1\r\n");
  CHECK(shows(page, "<template id=\"whole\">"));
  CHECK(shows(page, "a.example"));
  CHECK_FALSE(shows(page, "href=\"http://b.example/\""));
}

TEST_CASE("Pictures are a grid and films and music have their lengths on the page",
          "[service][page][kinds]") {
  // a page, three pictures with a small picture or their own, a film, a piece of music
  static std::vector<Hit> hits;
  hits.clear();
  const auto add = [](ResultKind kind, const std::string& thumbnail, const Details& details) {
    Hit hit;
    hit.url = "http://h" + std::to_string(hits.size()) + ".example/";
    hit.title = "Otter";
    hit.kind = kind;
    hit.thumbnail = thumbnail;
    hit.details = details;
    hits.push_back(hit);
  };
  add(ResultKind::page, "", {});
  add(ResultKind::image, "http://p.example/1.png", {{"resolution", "640 x 480"}, {"format", "png"}});
  add(ResultKind::image, "", {{"image", "http://p.example/2.png"}});
  add(ResultKind::image, "http://p.example/3.png", {});
  add(ResultKind::image, "http://p.example/4.png", {});
  add(ResultKind::video, "http://p.example/5.png", {{"length", "222"}, {"author", "Ada"}});
  add(ResultKind::music, "", {{"length", "3723"}, {"album", "<i>Rivers</i>"}});
  const auto answer = [](const ExpandedQuery&) {
    fetchers::FetchedList list;
    list.list.hits = hits;
    return list;
  };
  TestServer with(answer, "pictures: {thumbnails: true}\n");
  const std::string page = body_in(with.get("/search?q=otter"));
  CHECK(shows(page, "<ol class=\"results grid\""));
  CHECK(count_of(page, "<li class=\"image\"><a class=\"thumbnail\" href=\"http://h") == 4);
  CHECK(shows(page, "thumbnail=http%3A%2F%2Fp.example%2F2.png"));
  CHECK(shows(page, "<span>640 x 480 · png</span>"));
  CHECK(shows(page, "height=\"72\"><b>3:42</b></a>"));
  CHECK(shows(page, "<span>Ada</span>"));
  CHECK(shows(page, "<span>1:02:03 · &lt;i&gt;Rivers&lt;/i&gt;</span>"));
  CHECK(count_of(page, "<li>") > 0);

  hits.resize(3);
  hits.push_back(hits.front());
  hits.back().url = "http://last.example/";  // two of four: no grid
  TestServer half(answer, "pictures: {thumbnails: true}\n");
  CHECK(shows(body_in(half.get("/search?q=otter")), "<ol class=\"results\""));
  hits.erase(hits.begin());
  TestServer without(answer);
  const std::string plain = body_in(without.get("/search?q=otter"));
  CHECK(shows(plain, "<ol class=\"results\""));
  CHECK_FALSE(shows(plain, "class=\"thumbnail\""));
  CHECK_FALSE(shows(plain, "p.example"));
}
