#include "tests/fetchers/health/changed_answers.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/json.h"
#include "core/text.h"
#include "core/text_file.h"
#include "fetchers/calling/read_answer.h"
#include "fetchers/definition/catalogue.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/http/engine_request.h"

namespace metafuse::test {
namespace {

using namespace metafuse::fetchers;

/// Recorded answers with at least five results, and the definitions of the catalogue that read them.
constexpr std::pair<const char*, const char*> kRecorded[] = {
    {"brave-web/brave.json", "brave"},
    {"google-cse/google_pse.json", "google-cse"},
    {"searxng/searxng.json", "searxng"},
    {"serper/serper.json", "serper"},
    {"serply/serply.json", "serply"},
    {"serpstack/serpstack.json", "serpstack"},
    {"searchapi/searchapi.json", "searchapi"},
    {"serpapi-google/search_coffee.json", "serpapi"},
    {"searsia/exampleSearchResult.json", "searsia"},
    {"mediawiki/search_chess_set_10.json", "wikipedia"},
    {"mediawiki/opensearch_newyork_10.json", "wikipedia-titles"},
    {"mediawiki/prefixsearch_ba_10.json", "wikipedia-prefix"},
    {"mediawiki/geosearch_new_york_10.json", "wikipedia-nearby"},
    {"crossref/works_field_queries-1.json", "crossref"},
    {"openalex/works.json", "openalex"},
    {"arxiv-atom/q_testing_s0_m10_bc5a6c384fe9.atom.xml", "arxiv"},
    {"pubmed-eutils/ft_search_entrez-2.json", "pmc"},
    {"stack-exchange/questions.json", "stackexchange"},
    {"reddit/search.json", "reddit"},
    {"rubygems/search.json", "rubygems"},
    {"semantic-scholar/paper_search-1.json", "semantic-scholar"},
    {"europe-pmc/search_cancer.json", "europe-pmc"},
    {"dblp/publ_test.json", "dblp"},
    {"doaj/articles_license_cc_by.json", "doaj"},
    {"openaire/graph_v3_search.json", "openaire"},
    {"scopus/search_ecology.json", "scopus"},
    {"solr/plos_climate_change_fields.json", "plos"},
    {"biorxiv-html/owls.html", "biorxiv"},
    {"baidu-xueshu/search.json", "baidu-xueshu"},
    {"html-serp/google-scholar/scholar_search_fastpaper.html", "google-scholar"},
    {"openlibrary/free_search.json", "openlibrary"},
    {"internet-archive/advanced_search.json", "internet-archive"},
    {"newsapi/top_headlines.json", "newsapi"},
    {"guardian/search_newest.json", "guardian"},
    {"nyt/article_search.json", "nyt"},
    {"pelias/madison_square_garden.json", "pelias"},
    {"overpass/way-02.json", "overpass"},
    {"flickr/photos.json", "flickr"},
    {"pexels/search_red_flower_page2.json", "pexels"},
    {"youtube-data/search_by_keywords_p1.json", "youtube"},
    {"youtube-data/search_channels.json", "youtube-channels"},
    {"peertube/search_fsf_p1.json", "peertube"},
    {"peertube/sepiasearch_kde.json", "sepia-search"},
    {"media-ccc/events_search_linux.json", "media-ccc"},
    {"soundcloud/search_tracks_p1.json", "soundcloud"},
    {"bandcamp/search_best_friends_basement.html", "bandcamp"},
    {"jira/search_issues.json", "jira"},
    {"box/search_query_200.json", "box"},
    {"algolia/query_financial.json", "algolia"},
    {"html-serp/bing/search_results.html", "bing"},
    {"html-serp/brave/javascript_tutorial.html", "brave-page"},
    {"html-serp/duckduckgo/search_results.html", "duckduckgo"},
    {"html-serp/google/raw_simpsons.html", "google"},
    {"html-serp/startpage/javascript_tutorial.html", "startpage"},
    {"html-serp/mojeek/javascript_tutorial.html", "mojeek"},
    {"html-serp/yahoo/javascript_tutorial.html", "yahoo"},
    {"html-serp/yandex/search_results.html", "yandex"},
    {"html-serp/baidu/search_results.html", "baidu-page"},
    {"html-serp/ecosia/search_results.html", "ecosia"},
    {"html-serp/pypi/search.html", "pypi"}};

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";

/// Another name, always the same for the same one.
std::string renamed(std::string_view name) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  std::string out = "n";
  for (int i = 0; i < 7; ++i, hash /= 26) out += kLetters[hash % 26];
  return out;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// Calls `change` for the value of every attribute of a name in a page.
template <class Change>
std::string with_attributes(const std::string& page, const std::string& name, const Change& change) {
  std::string out;
  std::size_t done = 0;
  const std::string mark = " " + name + "=";
  for (std::size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, done)) {
    const std::size_t begin = at + mark.size() + 1;
    const char quote = page[std::min(begin - 1, page.size() - 1)];
    const std::size_t end = quote == '"' || quote == '\'' ? page.find(quote, begin) : std::string::npos;
    if (end == std::string::npos) {
      out += page.substr(done, begin - done);
      done = begin;
      continue;
    }
    out += page.substr(done, begin - done) + change(page.substr(begin, end - begin));
    done = end;
  }
  return out + page.substr(std::min(done, page.size()));
}

std::string with_classes_renamed(const std::string& page, bool keeps_first) {
  return with_attributes(page, "class", [&](const std::string& words) {
    std::string out;
    std::string_view rest = words;
    for (bool is_first = true; !rest.empty(); is_first = false) {
      const std::string word(take_until(rest, ' '));
      if (!out.empty()) out += ' ';
      out += word.empty() || (keeps_first && is_first) ? word : renamed(word);
    }
    return out;
  });
}

std::string last_key(const PartRule& rule) {
  if (rule.empty()) return {};
  std::string path = rule.first();
  for (;;) {
    const std::size_t slash = path.rfind('/');
    std::string key = slash == std::string::npos ? path : path.substr(slash + 1);
    key = key.substr(0, key.find('['));
    const bool is_name = !key.empty() && key != "*" && key != "$" && !is_ascii_digit(key[0]);
    if (is_name || slash == std::string::npos) return is_name ? key : "";
    path.resize(slash);
  }
}

/// A tree in which `change` has replaced the members of some names.
template <class Change>
Json with_members(const Json& value, const Change& change) {
  if (const JsonArray* array = value.if_array()) {
    JsonArray out;
    for (const Json& item : *array) out.push_back(with_members(item, change));
    return out;
  }
  const JsonObject* object = value.if_object();
  if (object == nullptr) return value;
  JsonObject out;
  for (const auto& member : *object) {
    auto [key, inner] = change(std::string(member.key()), with_members(member.value(), change));
    out[key] = std::move(inner);
  }
  return out;
}

using Body = std::optional<std::string>;

Body json_changed(const RecordedCase& one,
                  const std::function<std::pair<std::string, Json>(std::string, Json)>& change) {
  if (one.rules().format != AnswerRules::Format::json || !one.rules().inside.empty()) return std::nullopt;
  const auto tree = parse_json(one.body, "answer");
  if (!tree) return std::nullopt;
  return to_text(with_members(*tree, change));
}

Body keys_renamed(const RecordedCase& one, const std::set<std::string>& names) {
  if (one.rules().format == AnswerRules::Format::xml) {
    std::string body = one.body;
    for (const std::string& name : names) {
      if (name.empty() || name[0] == '@' || name[0] == '.') continue;
      for (const char* end : {">", " "}) {
        body = replaced(body, "<" + name + end, "<" + renamed(name) + end);
        body = replaced(body, "</" + name + end, "</" + renamed(name) + end);
      }
    }
    return body;
  }
  return json_changed(one, [&](std::string key, Json value) {
    return std::pair(names.contains(key) && !key.empty() ? renamed(key) : key, std::move(value));
  });
}

Body value_nested(const RecordedCase& one, const std::string& name, const std::string& below) {
  return json_changed(one, [&](std::string key, Json value) {
    if (key == name && value.is_string()) value = JsonObject{{below, std::move(value)}};
    return std::pair(std::move(key), std::move(value));
  });
}

bool is_page(const RecordedCase& one) {
  return one.rules().format == AnswerRules::Format::html;
}

Body page_only(const RecordedCase& one, const std::function<std::string(const std::string&)>& change) {
  if (!is_page(one)) return std::nullopt;
  return change(one.body);
}

std::string key_of_list(const RecordedCase& one) {
  return last_key(PartRule(one.rules().results));
}

Body wrapped(const RecordedCase& one) {
  if (is_page(one)) return replaced(one.body, "<body", "<body><div id=\"app\"><main></main></div");
  if (one.rules().format == AnswerRules::Format::xml) return std::nullopt;
  return "{\"status\":\"ok\",\"payload\":" + one.body + "}";
}

Body items_wrapped(const RecordedCase& one) {
  const std::string title = last_key(one.rules().title);
  return json_changed(one, [&](std::string key, Json value) {
    if (JsonArray* array = value.if_array())
      for (Json& item : *array)
        if (const JsonObject* object = item.if_object(); object != nullptr && object->contains(title))
          item = JsonObject{{"node", item}, {"cursor", "c"}};
    return std::pair(std::move(key), std::move(value));
  });
}

HttpAnswer answer_with(const RecordedCase& one, std::string body, int status = 200, std::string type = {}) {
  HttpAnswer answer;
  answer.status = status;
  answer.url = one.url;
  answer.body = std::move(body);
  if (type.empty()) type = is_page(one) ? "text/html; charset=utf-8" : "";
  if (!type.empty()) answer.headers = {{"content-type", type}};
  return answer;
}

/// A change of the answer's form, which a new definition can follow.
AnswerChange form(std::string name, std::function<Body(const RecordedCase&)> change) {
  return {std::move(name), true, [change](const RecordedCase& one) -> std::optional<HttpAnswer> {
            auto body = change(one);
            if (!body) return std::nullopt;
            return answer_with(one, std::move(*body));
          }};
}

AnswerChange page(std::string name, std::string text, int status = 200) {
  return {std::move(name), false, [text, status](const RecordedCase& one) -> std::optional<HttpAnswer> {
            return answer_with(
                one, "<!DOCTYPE html><html><head><title>x</title></head><body>" + text + "</body></html>",
                status, "text/html; charset=utf-8");
          }};
}

AnswerChange failing(std::string name, Failure failure) {
  return {std::move(name), false, [failure](const RecordedCase& one) -> std::optional<HttpAnswer> {
            HttpAnswer answer = answer_with(one, "", 0);
            answer.failure = failure;
            return answer;
          }};
}

std::vector<AnswerChange> changes_of_form() {
  return {
      form("classes or keys of results renamed",
           [](const RecordedCase& one) {
             if (is_page(one)) return Body(with_classes_renamed(one.body, false));
             return keys_renamed(one, {last_key(one.rules().url), last_key(one.rules().title),
                                       last_key(one.rules().content)});
           }),
      form("some classes or the list's key renamed",
           [](const RecordedCase& one) {
             if (is_page(one)) return Body(with_classes_renamed(one.body, true));
             return keys_renamed(one, {key_of_list(one)});
           }),
      form("key of the address renamed",
           [](const RecordedCase& one) { return keys_renamed(one, {last_key(one.rules().url)}); }),
      form("key of the title renamed",
           [](const RecordedCase& one) { return keys_renamed(one, {last_key(one.rules().title)}); }),
      form("address moved below another key",
           [](const RecordedCase& one) { return value_nested(one, last_key(one.rules().url), "href"); }),
      form("title moved below another key",
           [](const RecordedCase& one) { return value_nested(one, last_key(one.rules().title), "text"); }),
      form("answer wrapped", wrapped),
      form("each result wrapped", items_wrapped),
      form("other elements",
           [](const RecordedCase& one) {
             return page_only(one, [](const std::string& text) {
               return replaced(
                   replaced(replaced(replaced(text, "<li", "<article"), "</li>", "</article>"), "<h3", "<h4"),
                   "</h3>", "</h4>");
             });
           }),
      form("divisions become sections",
           [](const RecordedCase& one) {
             return page_only(one, [](const std::string& text) {
               return replaced(replaced(text, "<div", "<section"), "</div>", "</section>");
             });
           }),
  };
}

std::vector<AnswerChange> changes_of_behaviour() {
  std::vector<AnswerChange> out = {
      page("consent page",
           "<form action=\"https://consent.google.com/save\"><p>Before you continue to search"
           "</p><button>Accept all</button></form>"),
      page("another site's consent page",
           "<div id=\"cmp\"><h1>We value your privacy</h1><p>Our partners "
           "store cookies.</p><button>Agree</button></div>"),
      page("CAPTCHA", "<form id=\"challenge-form\"><div class=\"g-recaptcha\"></div></form>"),
      page("login page", "<form action=\"/login\"><input name=\"user\"><input type=\"password\"></form>"),
      page("page of maintenance", "<h1>Back soon</h1>"),
      page("403 page", "<h1>Forbidden</h1>", 403),
      page("404 page", "<h1>Not found</h1>", 404),
      page("429", "slow down", 429),
      page("500", "error", 500),
      failing("no connection", Failure::refused),
      failing("no answer in time", Failure::timeout),
  };
  out.push_back({"empty 200", false, [](const RecordedCase& one) -> std::optional<HttpAnswer> {
                   return answer_with(one, is_page(one) ? "<html><body></body></html>" : "{}");
                 }});
  out.push_back({"no bytes", false,
                 [](const RecordedCase& one) -> std::optional<HttpAnswer> { return answer_with(one, ""); }});
  return out;
}

std::string digest_of(const RankedList& list) {
  std::string out;
  for (const Hit& hit : list.hits) out += hit.url + '\n' + hit.title + '\n' + hit.snippet + '\n';
  return out;
}

/// Changes of the list itself, as an engine makes them that serves programs worse than people.
std::vector<AnswerChange> changes_of_list() {
  const auto list = [](std::string name, std::function<void(RankedList&)> change) {
    AnswerChange out{std::move(name), false, {}};
    out.change_list = std::move(change);
    return out;
  };
  return {list("half the results", [](RankedList& read) { read.hits.resize((read.hits.size() + 1) / 2); }),
          list("texts left out",
               [](RankedList& read) {
                 for (Hit& hit : read.hits) hit.snippet.clear();
               }),
          list("counting links",
               [](RankedList& read) {
                 for (Hit& hit : read.hits) hit.url = "https://count.example/go/" + renamed(hit.url);
               }),
          list("soft block: the same foreign results for every query", [](RankedList& read) {
            read.hits.resize(std::min<std::size_t>(read.hits.size(), 8));
            for (std::size_t i = 0; i < read.hits.size(); ++i) {
              read.hits[i].url = "https://popular.example/fixed/" + std::to_string(i);
              read.hits[i].title = "What everybody reads today, number " + std::to_string(i);
              read.hits[i].snippet = "News of the day for readers everywhere.";
            }
          })};
}

}  // namespace

const AnswerRules& RecordedCase::rules() const {
  return std::get<HttpAccess>(engine.access).answer;
}

FetchedList RecordedCase::read(const HttpAnswer& answer) const {
  const auto& access = std::get<HttpAccess>(engine.access);
  FetchedList out = read_answer(engine, access, answer, {.language = "en"});
  out.query.engine = engine.name;
  return out;
}

HttpAnswer RecordedCase::answer() const {
  return answer_with(*this, body);
}

std::vector<RecordedCase> recorded_cases(const std::string& folder) {
  std::map<std::string, Engine> engines;
  for (const CatalogueEntry& entry : catalogue())
    if (auto file = parse_engine_file("engines:\n" + std::string(entry.text), "catalogue.yaml"))
      engines.emplace(entry.name, file->engines.front());
  std::vector<RecordedCase> out;
  for (const auto& [file, name] : kRecorded) {
    const auto engine = engines.find(name);
    const auto body = read_text(folder + "/" + file, std::size_t{1} << 24);
    if (engine == engines.end() || !body) continue;
    const auto ready = ready_access(engine->second, SecretLookup());
    if (!ready) continue;
    RecordedCase one{engine->second, *body, "", {}};
    const Clock& clock = machine_clock();
    one.url = build_request(engine->second, *ready, "x", {.deadline = Deadline(clock, Duration(0))}, 1).url;
    one.list = one.read(one.answer()).list;
    if (one.list.hits.size() >= 5) out.push_back(std::move(one));
  }
  return out;
}

std::vector<RecordedCase> invented_cases() {
  const auto file = parse_engine_file(R"(engines:
  - {name: api, engine: json_engine, search_url: "https://api.example/s?q={query}", results_query: $/data/items,
     url_query: $/link, title_query: $/name, content_query: $/summary}
  - {name: page, engine: xpath, search_url: "https://page.example/s?q={query}",
     results_xpath: "//div[contains(concat(' ', @class, ' '), ' result ')]", url_xpath: ".//h3/a/@href",
     title_xpath: ".//h3", content_xpath: ".//p[@class='text']"}
)",
                                      "invented.yaml");
  const char* kTitles[] = {"Otters of northern rivers", "How beavers build dams",
                           "The heron's patience",      "Kingfishers in winter",
                           "A field guide to newts",    "Salmon and their journeys"};
  JsonArray items;
  std::string page = "<html><body><div class=\"top bar\"><a href=\"/about\">About</a></div><div id=\"list\">";
  int number = 0;
  for (const char* title : kTitles) {
    const std::string url = "https://site" + std::to_string(++number) + ".example/pages/" + renamed(title);
    const std::string text = std::string(title) + ", told at some length for those who live near water.";
    items.push_back(JsonObject{{"id", number}, {"link", url}, {"name", title}, {"summary", text}});
    page += "<div class=\"result card\"><h3 class=\"head\"><a class=\"to\" href=\"" + url + "\">" + title +
            "</a></h3><p class=\"text\">" + text + "</p></div>";
  }
  page += "</div></body></html>";
  std::vector<RecordedCase> out = {{file->engines[0],
                                    to_text(JsonObject{{"data", JsonObject{{"items", items}}}}),
                                    "https://api.example/s",
                                    {}},
                                   {file->engines[1], page, "https://page.example/s", {}}};
  for (RecordedCase& one : out) one.list = one.read(one.answer()).list;
  return out;
}

std::vector<AnswerChange> answer_changes() {
  std::vector<AnswerChange> out = changes_of_form();
  for (const auto& more : {changes_of_behaviour(), changes_of_list()})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

std::optional<FetchedList> AnswerChange::applied(const RecordedCase& one) const {
  if (change_list) {
    FetchedList out = one.read(one.answer());
    change_list(out.list);
    if (digest_of(out.list) == digest_of(one.list)) return std::nullopt;
    return out;
  }
  const auto answer = change(one);
  if (!answer) return std::nullopt;
  FetchedList out = one.read(*answer);
  if (!out.has_failed() && digest_of(out.list) == digest_of(one.list)) return std::nullopt;
  if (out.failure == Failure::timeout) out.elapsed = std::chrono::seconds(3);
  return out;
}

}  // namespace metafuse::test
