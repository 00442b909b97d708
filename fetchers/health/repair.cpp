#include "fetchers/health/repair.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "core/json.h"
#include "core/text.h"
#include "core/url.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/guess.h"
#include "fetchers/answers/inside.h"
#include "fetchers/answers/redirect_links.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostExamples = 30;
constexpr std::size_t kTitleBytes = 80;
constexpr std::size_t kTextBytes = 40;
constexpr std::size_t kFewestTextBytes = 16;
constexpr std::size_t kMostResultsTried = 14;
constexpr std::size_t kMostPartsTried = 8;

std::string key_or_none(const std::string& url) {
  auto key = canonical_url_key(url);
  return key ? std::move(*key) : std::string();
}

/// The hole of a format with one `{path}`, and what stands before and after it.
std::vector<std::pair<std::string, std::string>> ids_of(const AnswerRules& old, const std::string& url) {
  std::vector<std::pair<std::string, std::string>> out;
  const std::string& format = old.url_format;
  const std::size_t open = format.find('{'), close = format.find('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return out;
  if (format.find('{', close) != std::string::npos) return out;
  const std::string before = format.substr(0, open), after = format.substr(close + 1);
  if (!url.starts_with(before) || !url.ends_with(after) || url.size() <= before.size() + after.size())
    return out;
  const std::size_t bar = format.find('|', open);
  const std::string filter = bar < close ? format.substr(bar, close - bar) : "";
  out.emplace_back(before + "{}" + filter + after,
                   url.substr(before.size(), url.size() - before.size() - after.size()));
  return out;
}

std::vector<ExampleTexts> example_texts(const AnswerRules& old, std::span<const Hit> examples) {
  std::vector<ExampleTexts> out;
  for (const Hit& hit : examples.first(std::min(examples.size(), kMostExamples))) {
    ExampleTexts texts;
    texts.key = key_or_none(hit.url);
    texts.title = plain_letters(hit.title).substr(0, kTitleBytes);
    texts.text = plain_letters(hit.snippet).substr(0, kTextBytes);
    if (texts.text.size() < kFewestTextBytes) texts.text.clear();
    texts.ids = ids_of(old, hit.url);
    if (!texts.key.empty()) out.push_back(std::move(texts));
  }
  return out;
}

/// How well rules read a new answer, as far as the examples tell.
struct Score {
  std::size_t urls = 0, titles = 0, texts = 0;
  std::size_t hits = 0;

  double total(std::size_t examples) const {
    const auto extra = hits > examples ? static_cast<double>(hits - examples) : 0.0;
    return 10 * static_cast<double>(urls) + 5 * static_cast<double>(titles) + 2 * static_cast<double>(texts) -
           0.5 * extra;
  }
};

class Repairer {
 public:
  Repairer(const AnswerRules& old, std::string_view body, const AnswerContext& context,
           std::vector<ExampleTexts> examples)
      : body_(body), context_(context), examples_(std::move(examples)) {
    for (std::size_t i = 0; i < examples_.size(); ++i) by_key_.emplace(examples_[i].key, i);
    best_ = old;
    best_.id = {};
    worth_ = worth_of(best_);
  }

  /// Takes the rules if they read the answer better than the best so far.
  void consider(const AnswerRules& rules) {
    const double worth = worth_of(rules);
    if (worth <= worth_) return;
    worth_ = worth;
    best_ = rules;
  }

  /// Tries every value for a part of the best rules so far.
  void try_part(PartRule AnswerRules::*part, const std::vector<std::string>& paths) {
    const AnswerRules base = best_;
    for (std::size_t i = 0; i < std::min(paths.size(), kMostPartsTried); ++i) {
      AnswerRules rules = base;
      (rules.*part).paths = {paths[i]};
      consider(rules);
    }
  }

  /// Tries lists of results with addresses and titles; they depend on each other.
  void try_lists(const AnswerRules& old, const RuleCandidates& found) {
    std::vector<std::string> lists = {old.results};
    lists.insert(lists.end(), found.results.begin(), found.results.end());
    if (lists.size() > kMostResultsTried) lists.resize(kMostResultsTried);
    for (const std::string& list : lists) {
      AnswerRules rules = old;
      rules.id = {};
      rules.results = list;
      consider(rules);
      for (std::size_t i = 0; i < std::min(found.urls.size(), kMostPartsTried); ++i) {
        AnswerRules with_url = rules;
        with_url.url.paths = {found.urls[i]};
        consider(with_url);
      }
      for (std::size_t i = 0; i < std::min(found.formats.size(), kMostPartsTried); ++i) {
        AnswerRules with_format = rules;
        with_format.url_format = found.formats[i];
        consider(with_format);
      }
    }
    try_part(&AnswerRules::title, found.titles);
    try_part(&AnswerRules::content, found.texts);
  }

  const AnswerRules& best() const { return best_; }
  Score score_of(const AnswerRules& rules, RankedList* out = nullptr) const {
    Score score;
    auto list = parse_answer(rules, body_, context_);
    if (!list) return score;
    score.hits = list->hits.size();
    std::set<std::size_t> seen;
    for (const Hit& hit : list->hits) {
      const auto key = canonical_url_key(hit.url);
      const auto at = key ? by_key_.find(*key) : by_key_.end();
      if (at == by_key_.end() || !seen.insert(at->second).second) continue;
      const ExampleTexts& example = examples_[at->second];
      ++score.urls;
      score.titles += plain_letters(hit.title).substr(0, kTitleBytes) == example.title ? 1 : 0;
      if (!example.text.empty())
        score.texts += plain_letters(hit.snippet).find(example.text) != std::string::npos ? 1 : 0;
    }
    if (out != nullptr) *out = std::move(*list);
    return score;
  }

 private:
  double worth_of(const AnswerRules& rules) const { return score_of(rules).total(examples_.size()); }

  std::string_view body_;
  const AnswerContext& context_;
  std::vector<ExampleTexts> examples_;
  std::map<std::string, std::size_t, std::less<>> by_key_;
  AnswerRules best_;
  double worth_ = 0;
};

/// The guess without examples, with what the old rules say besides.
void consider_guess(Repairer& repairer, const AnswerRules& old, std::string_view body,
                    const AnswerContext& context) {
  const auto guessed = guess_rules(body, context);
  if (!guessed || guessed->format != old.format) return;
  AnswerRules rules = old;
  rules.id = {};
  rules.results = guessed->results;
  for (const auto part : {&AnswerRules::url, &AnswerRules::title, &AnswerRules::content})
    if (!((*guessed).*part).empty()) rules.*part = (*guessed).*part;
  repairer.consider(rules);
}

std::string key_name(std::string_view part, AnswerRules::Format format) {
  return std::string(part) + (format == AnswerRules::Format::json ? "_query" : "_xpath");
}

std::string value_text(const PartRule& rule) {
  return rule.empty() ? "" : rule.first();
}

}  // namespace

std::string plain_letters(std::string_view text) {
  std::string out;
  for (const char c : clean_text(text.substr(0, 4000), true, 1000))
    if (is_ascii_letter_or_digit(c) || static_cast<unsigned char>(c) >= 0x80) out += ascii_lower(c);
  return out;
}

std::string key_of_address(std::string_view address, const AnswerRules& rules, const AnswerContext& context) {
  if (address.size() < 2 || address.size() > 8000 || address.front() == '#') return {};
  const auto url = resolved_url(rules.url_prefix + std::string(address), context.url);
  if (!url) return {};
  return key_or_none(rules.unwraps_links ? unwrapped_url(*url, rules.unwrap) : *url);
}

Result<Repair> repaired_rules(const AnswerRules& old, std::string_view body, const AnswerContext& context,
                              std::span<const Hit> examples) {
  std::string inner;
  std::string_view looked_at = body;
  if (!old.inside.empty()) {
    TRY(inner, inner_answer(old.inside, body, context));
    looked_at = inner;
  }
  auto texts = example_texts(old, examples);
  const std::size_t count = texts.size();
  if (count < 2) return fail(Code::bad_data, "fewer than two known results; nothing to look for");
  Repairer repairer(old, body, context, texts);
  const Score before = repairer.score_of(old);
  if (before.urls == count && before.titles == count)
    return fail(Code::bad_data, "the definition finds all known results; there is nothing to repair");
  consider_guess(repairer, old, looked_at, context);
  repairer.try_lists(old, old.format == AnswerRules::Format::html
                              ? candidates_in_page(old, looked_at, context, texts)
                              : candidates_in_tree(old, looked_at, context, texts));
  Repair out{repairer.best(), {}, count, 0};
  const Score after = repairer.score_of(out.rules, &out.list);
  out.found = std::min(after.urls, after.titles);
  if (after.urls < 2 || after.titles < 2 || 3 * out.found < count)
    return fail(Code::bad_data,
                fmt::format("of {} known results {} can be found in the new answer; rules would be a guess",
                            count, out.found));
  return out;
}

std::vector<std::pair<std::string, std::string>> changed_keys(const AnswerRules& before,
                                                              const AnswerRules& after) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto note = [&](const std::string& key, const std::string& was, const std::string& is) {
    if (was != is) out.emplace_back(key, is);
  };
  note(key_name("results", after.format), before.results, after.results);
  note("url_format", before.url_format, after.url_format);
  for (const ResultPart& part : kResultParts)
    note(key_name(part.name, after.format), value_text(before.*part.rule), value_text(after.*part.rule));
  return out;
}

std::string rules_difference(const AnswerRules& before, const AnswerRules& after) {
  std::string out;
  const auto back = changed_keys(after, before);
  for (const auto& [key, value] : changed_keys(before, after)) {
    const auto old =
        std::find_if(back.begin(), back.end(), [&](const auto& one) { return one.first == key; });
    if (old != back.end() && !old->second.empty())
      out += "- " + key + ": " + to_text(Json(old->second)) + "\n";
    if (!value.empty()) out += "+ " + key + ": " + to_text(Json(value)) + "\n";
  }
  return out;
}

}  // namespace metafuse::fetchers
