#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/json.h"
#include "core/portable_math.h"
#include "core/random.h"
#include "core/text.h"
#include "demo/home_pages.h"

namespace metafuse::demo {
namespace {

constexpr std::size_t kTopicWords = 2;
constexpr double kOtherNumberShare = 0.35;
constexpr double kSectionShare = 0.75;

constexpr std::array<std::string_view, 33> kCommonWords = {
    "a",    "an",  "and",  "any", "all",   "are", "as",   "at",  "be",   "by",  "for",
    "from", "in",  "into", "is",  "it",    "its", "not",  "of",  "on",   "or",  "other",
    "that", "the", "this", "to",  "using", "via", "with", "you", "your", "but", "non"};

/// The KIND that a role tag gives in a base query.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kKinds = {{
    {"role::program", "program"},
    {"role::shared-lib", "library"},
    {"role::devel-lib", "library"},
    {"role::documentation", "documentation"},
    {"role::plugin", "plugin"},
    {"role::app-data", "data"},
    {"role::data", "data"},
}};

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/// The words that name the page: a query with one of them would be too easy.
std::set<std::string> own_names(const HomePage& page) {
  std::set<std::string> names(page.names.begin(), page.names.end());
  names.insert(page.project);
  const std::size_t slash = std::min(page.key.find('/'), page.key.size());
  for (const std::string& word : url_words(page.key.substr(0, slash))) names.insert(word);
  const std::size_t last = page.key.rfind('/');
  if (last == std::string::npos) return names;
  const std::string segment = page.key.substr(last + 1);
  for (const std::string& word : words_of(segment)) names.insert(word);
  for (const std::string& word : url_words(segment)) names.insert(word);
  return names;
}

/// The words of a synopsis that a query may use, each once.
std::vector<std::string> telling_words(const std::string& synopsis, const std::set<std::string>& own) {
  std::vector<std::string> telling;
  for (std::string& word : words_of(synopsis)) {
    const bool is_common = std::find(kCommonWords.begin(), kCommonWords.end(), word) != kCommonWords.end();
    const bool is_known = std::find(telling.begin(), telling.end(), word) != telling.end();
    if (word.size() >= 3 && !is_common && !is_known && own.count(word) == 0)
      telling.push_back(std::move(word));
  }
  return telling;
}

std::string kind_of(const HomePage& page) {
  for (const std::string& tag : page.tags)
    for (const auto& [role, kind] : kKinds)
      if (tag == role) return std::string(kind);
  return {};
}

/// Draws two of the words, in the order of the synopsis.
std::string draw_topic(const std::vector<std::string>& words, const std::set<std::string>& own,
                       Random& random) {
  std::vector<std::size_t> places(words.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  random.shuffle(places);
  std::sort(places.begin(), places.begin() + kTopicWords);
  const bool is_changed = random.uniform() < kOtherNumberShare;
  const std::size_t changed = static_cast<std::size_t>(random.below(kTopicWords));
  std::string topic;
  for (std::size_t i = 0; i < kTopicWords; ++i) {
    const std::string& word = words[places[i]];
    const std::string other = other_number(word);
    topic += (i > 0 ? " " : "") + (is_changed && i == changed && own.count(other) == 0 ? other : word);
  }
  return topic;
}

/// Draws a query for the page; false if the drawn synopsis says too little.
bool draw_query(const HomePage& page, Random& random, JudgedQuery& query) {
  if (page.synopses.empty()) return false;
  const std::set<std::string> own = own_names(page);
  const std::string& synopsis = page.synopses[random.below(page.synopses.size())];
  const std::vector<std::string> words = telling_words(synopsis, own);
  if (words.size() <= kTopicWords) return false;
  query.answers = {page.url};
  query.base_query.slots["TOPIC"] = draw_topic(words, own, random);
  const bool has_section = random.uniform() < kSectionShare && !page.sections.empty();
  if (has_section) query.base_query.slots["SECTION"] = page.sections[random.below(page.sections.size())];
  if (const std::string kind = kind_of(page); !kind.empty()) query.base_query.slots["KIND"] = kind;
  return true;
}

/// Draws all numbers without replacement by weight: those with the largest u^(1/weight) for uniform u come
/// first (Efraimidis and Spirakis 2006); the logarithm does not change the order.
std::vector<std::size_t> drawn_by_weight(const std::vector<double>& weights, Random& random) {
  std::vector<std::pair<double, std::size_t>> order(weights.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = {portable_log(1.0 - random.uniform()) / weights[i], i};
  std::sort(order.begin(), order.end(), std::greater<>());
  std::vector<std::size_t> out;
  for (const auto& [key, number] : order) out.push_back(number);
  return out;
}

/// People look for what others use.
std::vector<double> weights_of(const std::vector<HomePage>& pages) {
  std::vector<double> out;
  for (const HomePage& page : pages) out.push_back(std::sqrt(1.0 + static_cast<double>(page.dependants)));
  return out;
}

/// Queries for projects by their names, which people ask for as often as they meet them. A name that several
/// pages have is not asked for.
std::vector<JudgedQuery> name_queries(const std::vector<HomePage>& pages, std::size_t count, Random random) {
  std::map<std::string_view, std::size_t> pages_named;
  std::vector<double> weights;
  for (const HomePage& page : pages) {
    ++pages_named[page.project];
    weights.push_back(1.0 + static_cast<double>(page.dependants + page.known));
  }
  std::vector<JudgedQuery> out;
  for (const std::size_t number : drawn_by_weight(weights, random)) {
    if (out.size() == count) break;
    const HomePage& page = pages[number];
    if (pages_named.at(page.project) == 1) out.push_back({"", {{{"TOPIC", page.project}}}, {page.url}});
  }
  return out;
}

/// Queries for categories, each once in the singular or the plural of its last word.
std::vector<JudgedQuery> category_queries(const std::vector<HomePage>& pages, std::size_t count,
                                          Random random) {
  const auto categories = categories_of(pages);
  std::vector<double> weights;
  for (const Category& category : categories)
    weights.push_back(static_cast<double>(pages[category.programs.front()].known));
  std::vector<JudgedQuery> out;
  for (const std::size_t number : drawn_by_weight(weights, random)) {
    if (out.size() == count) break;
    const Category& category = categories[number];
    const std::size_t last = category.words.rfind(' ') + 1;
    const bool is_changed = random.uniform() < kOtherNumberShare;
    JudgedQuery query;
    query.base_query.slots["TOPIC"] =
        is_changed ? category.words.substr(0, last) + other_number(category.words.substr(last))
                   : category.words;
    for (const std::size_t page : category.programs) query.answers.push_back(pages[page].url);
    out.push_back(std::move(query));
  }
  return out;
}

}  // namespace

std::vector<std::string> words_of(const std::string& synopsis) {
  constexpr std::string_view kInside = "+#'-";
  std::vector<std::string> words;
  std::string word;
  for (std::size_t i = 0; i <= synopsis.size(); ++i) {
    const char c = ascii_lower(i < synopsis.size() ? synopsis[i] : ' ');
    if (is_letter_or_digit(c) || (!word.empty() && kInside.find(c) != std::string_view::npos)) {
      word += c;
      continue;
    }
    while (!word.empty() && (word.back() == '-' || word.back() == '\'')) word.pop_back();
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  }
  return words;
}

std::string other_number(const std::string& word) {
  const auto ends = [&](std::string_view end) { return word.size() > end.size() + 1 && word.ends_with(end); };
  if (ends("ies")) return word.substr(0, word.size() - 3) + 'y';
  if (ends("sses") || ends("xes") || ends("ches") || ends("shes")) return word.substr(0, word.size() - 2);
  if (ends("s") && !ends("ss") && !ends("us") && !ends("is")) return word.substr(0, word.size() - 1);
  if (ends("s") || ends("x") || ends("ch") || ends("sh")) return word + "es";
  constexpr std::string_view kVowels = "aeiou";
  if (ends("y") && kVowels.find(word[word.size() - 2]) == std::string_view::npos)
    return word.substr(0, word.size() - 1) + "ies";
  return word.back() >= 'a' && word.back() <= 'z' ? word + 's' : word;
}

std::vector<JudgedQuery> sample_base_queries(const std::vector<HomePage>& pages,
                                             const SampleOptions& options) {
  const Random seeds(options.seed);
  const auto share = [&](double of) {
    return static_cast<std::size_t>(of * static_cast<double>(options.count));
  };
  std::vector<JudgedQuery> queries = name_queries(pages, share(options.names), seeds.split(1));
  for (JudgedQuery& query : category_queries(pages, share(options.categories), seeds.split(2)))
    queries.push_back(std::move(query));
  Random random = seeds.split(3);
  for (const std::size_t page : drawn_by_weight(weights_of(pages), random)) {
    if (queries.size() == options.count) break;
    JudgedQuery query;
    if (draw_query(pages[page], random, query)) queries.push_back(std::move(query));
  }
  random.shuffle(queries);
  for (std::size_t i = 0; i < queries.size(); ++i) queries[i].id = fmt::format("q{:04}", i + 1);
  return queries;
}

std::string to_query_lines(const std::vector<JudgedQuery>& queries) {
  std::string out;
  for (const JudgedQuery& query : queries) {
    JsonObject slots;
    for (const auto& [name, value] : query.base_query.slots) slots[name] = value;
    JsonArray relevant;
    for (const std::string& url : query.answers) relevant.push_back(JsonObject{{"url", url}, {"grade", 1}});
    const JsonObject line{{"id", query.id}, {"slots", slots}, {"relevant", std::move(relevant)}};
    out += metafuse::to_text(line) + '\n';
  }
  return out;
}

}  // namespace metafuse::demo
