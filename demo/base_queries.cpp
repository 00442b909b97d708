#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
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

/// The words of a synopsis in lower case; hyphens, apostrophes and the signs of C++ and C# may be inside
/// a word.
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
  query.answer = page.url;
  query.base_query.slots["TOPIC"] = draw_topic(words, own, random);
  const bool has_section = random.uniform() < kSectionShare && !page.sections.empty();
  if (has_section) query.base_query.slots["SECTION"] = page.sections[random.below(page.sections.size())];
  if (const std::string kind = kind_of(page); !kind.empty()) query.base_query.slots["KIND"] = kind;
  return true;
}

}  // namespace

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
  Random random(options.seed);
  // To draw without replacement by weight, take the largest u^(1/weight) with uniform u (Efraimidis and
  // Spirakis 2006); the logarithm does not change the order.
  std::vector<std::pair<double, std::size_t>> order(pages.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double weight = std::sqrt(1.0 + static_cast<double>(pages[i].dependants));
    order[i] = {portable_log(1.0 - random.uniform()) / weight, i};
  }
  std::sort(order.begin(), order.end(), std::greater<>());
  std::vector<JudgedQuery> queries;
  for (const auto& [key, page] : order) {
    if (queries.size() == options.count) break;
    JudgedQuery query;
    if (!draw_query(pages[page], random, query)) continue;
    query.id = fmt::format("q{:04}", queries.size() + 1);
    queries.push_back(std::move(query));
  }
  return queries;
}

std::string to_query_lines(const std::vector<JudgedQuery>& queries) {
  std::string out;
  for (const JudgedQuery& query : queries) {
    JsonObject slots;
    for (const auto& [name, value] : query.base_query.slots) slots[name] = value;
    const JsonObject line{{"id", query.id},
                          {"slots", slots},
                          {"relevant", JsonArray{JsonObject{{"url", query.answer}, {"grade", 1}}}}};
    out += metafuse::to_text(line) + '\n';
  }
  return out;
}

}  // namespace metafuse::demo
