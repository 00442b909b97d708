#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fetchers/model/engine.h"
#include "tests/support/word_dice.h"

// Random documents and queries, and the slow reference of searches by words.

namespace metafuse::test {

/// The words of each column of a document.
using Columns = std::vector<std::vector<std::string>>;
inline const std::vector<std::string> kColumns = {"title", "text", "tags"};

/// A condition on documents, with its text as a query.
struct Asked {
  enum class Kind { word, beginning, phrase, near, all, any, without };

  Kind kind = Kind::word;
  std::vector<std::string> words;
  std::set<std::size_t> columns = {0, 1, 2};
  std::vector<Asked> children;
  std::string text;
};

/// The slow reference: looks at every word of every document.
class SlowSearch {
 public:
  SlowSearch(const std::map<std::string, Columns>& documents, fetchers::Weighting weighting,
             std::vector<double> weights)
      : documents_(documents), weighting_(weighting), weights_(std::move(weights)) {
    for (const auto& [url, columns] : documents) average_ += length_of(columns);
    average_ /= static_cast<double>(documents.size());
  }

  /// The score of each document that matches.
  std::map<std::string, double> search(const Asked& asked) const {
    std::map<std::string, double> scores;
    for (const auto& [url, columns] : documents_)
      if (matches(columns, asked)) scores[url] = score(columns, asked);
    return scores;
  }

 private:
  static double length_of(const Columns& columns) {
    std::size_t sum = 0;
    for (const auto& words : columns) sum += words.size();
    return static_cast<double>(sum);
  }

  /// How often a word occurs, weighted; below 0 if it does not.
  double frequency(const Columns& columns, const std::string& word, bool is_beginning,
                   const std::set<std::size_t>& wanted) const {
    double sum = -1;
    for (const std::size_t column : wanted)
      for (const std::string& one : columns[column])
        if (is_beginning ? one.starts_with(word) : one == word) sum = std::max(sum, 0.0) + weights_[column];
    return sum;
  }

  static bool has_phrase_at(const std::vector<std::string>& column, std::size_t at,
                            const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (at + i >= column.size() || column[at + i] != words[i]) return false;
    return true;
  }

  /// Tries all pairs of a first and a last place.
  static bool is_near(const std::vector<std::string>& column, const std::vector<std::string>& words,
                      std::size_t distance) {
    for (std::size_t first = 0; first < column.size(); ++first)
      for (std::size_t last = first; last < column.size() && last <= first + distance + 1; ++last) {
        const auto begin = column.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = column.begin() + static_cast<std::ptrdiff_t>(last) + 1;
        if (std::all_of(words.begin(), words.end(),
                        [&](const std::string& word) { return std::find(begin, end, word) != end; }))
          return true;
      }
    return false;
  }

  bool matches(const Columns& columns, const Asked& asked) const {
    using Kind = Asked::Kind;
    const auto child_matches = [&](const Asked& child) { return matches(columns, child); };
    switch (asked.kind) {
      case Kind::word:
      case Kind::beginning:
        return frequency(columns, asked.words[0], asked.kind == Kind::beginning, asked.columns) >= 0;
      case Kind::phrase:
        for (const std::size_t column : asked.columns)
          for (std::size_t at = 0; at < columns[column].size(); ++at)
            if (has_phrase_at(columns[column], at, asked.words)) return true;
        return false;
      case Kind::near:
        return std::any_of(asked.columns.begin(), asked.columns.end(),
                           [&](std::size_t column) { return is_near(columns[column], asked.words, 2); });
      case Kind::all:
        return std::all_of(asked.children.begin(), asked.children.end(), child_matches);
      case Kind::any:
        return std::any_of(asked.children.begin(), asked.children.end(), child_matches);
      case Kind::without:
        break;
    }
    return child_matches(asked.children[0]) && !child_matches(asked.children[1]);
  }

  double score(const Columns& columns, const Asked& asked) const {
    if (!matches(columns, asked)) return 0;
    double sum = 0;
    for (const std::string& word : asked.words)
      sum += share(columns, word, asked.kind == Asked::Kind::beginning, asked.columns);
    for (const Asked& child : asked.children) {
      sum += score(columns, child);
      if (asked.kind == Asked::Kind::without) break;
    }
    return sum;
  }

  /// The number of documents with the word, and its frequency in all of them. A beginning counts as if its
  /// words were independent.
  std::pair<double, double> statistics(const std::string& word, bool is_beginning,
                                       const std::set<std::size_t>& wanted) const {
    const auto [known, is_new] = statistics_.try_emplace({word, is_beginning, wanted});
    if (!is_new) return known->second;
    auto& [with_word, total] = known->second;
    for (const auto& [url, columns] : documents_) {
      const double there = frequency(columns, word, false, wanted);
      with_word += there >= 0 ? 1 : 0;
      total += std::max(0.0, there);
    }
    if (!is_beginning) return known->second;
    std::set<std::string> words;
    for (const auto& [url, columns] : documents_)
      for (const auto& column : columns)
        for (const std::string& one : column)
          if (one.starts_with(word)) words.insert(one);
    const auto all = static_cast<double>(documents_.size());
    double without = 1;
    total = 0;
    for (const std::string& one : words) {
      const auto [with_one, frequency_of_one] = statistics(one, false, wanted);
      without *= 1 - with_one / all;
      total += frequency_of_one;
    }
    with_word = all * (1 - without);
    return known->second;
  }

  double share(const Columns& columns, const std::string& word, bool is_beginning,
               const std::set<std::size_t>& wanted) const {
    const double here = frequency(columns, word, is_beginning, wanted);
    if (here < 0) return 0;
    const auto all = static_cast<double>(documents_.size());
    const auto [with_word, total] = statistics(word, is_beginning, wanted);
    const double relative = length_of(columns) / average_;
    if (weighting_ == fetchers::Weighting::bm25) {
      const double inverse = std::max(1e-6, std::log((all - with_word + .5) / (with_word + .5)));
      return inverse * here * 2.2 / (here + 1.2 * (.25 + .75 * relative));
    }
    const double normalised = here * std::log2(1 + 1 / relative);
    const double expected = all * (1 - std::pow((all - 1) / all, total));
    return normalised * std::log2((all + 1) / (expected + .5)) * (total + 1) / (with_word * (normalised + 1));
  }

  const std::map<std::string, Columns>& documents_;
  fetchers::Weighting weighting_;
  std::vector<double> weights_;
  double average_ = 0;
  mutable std::map<std::tuple<std::string, bool, std::set<std::size_t>>, std::pair<double, double>>
      statistics_;
};

inline std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

inline std::string url_of(int number) {
  return "http://" + std::to_string(number) + "/";
}

inline Columns random_document(WordDice& dice) {
  // only a few different lengths, so that many documents have the same score
  return {split(dice.words(dice.below(4))),
          split(dice.words(1 + 3 * dice.below(dice.below(30) == 0 ? 40 : 4))),
          split(dice.below(3) == 0 ? dice.words(2) : "")};
}

inline std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

inline std::string as_lines(const std::map<std::string, Columns>& documents) {
  std::string lines;
  for (const auto& [url, columns] : documents)
    lines += "{\"url\":\"" + url + "\",\"title\":\"" + joined(columns[0]) + "\",\"text\":\"" +
             joined(columns[1]) + "\",\"tags\":\"" + joined(columns[2]) + "\"}\n";
  return lines;
}

inline Asked random_leaf(WordDice& dice) {
  Asked asked;
  const std::string word = dice.word();
  asked.words = {word};
  asked.text = dice.below(5) == 0 ? '"' + word + '"' : word;
  const std::size_t kind = dice.below(10);
  if (kind == 0) {
    asked.kind = Asked::Kind::beginning;
    asked.text = word + "*";
  } else if (kind <= 2) {
    asked.kind = Asked::Kind::phrase;
    asked.words.push_back(dice.word());
    asked.text = '"' + joined(asked.words) + '"';
  } else if (kind == 3) {
    asked.kind = Asked::Kind::near;
    for (int i = 0; i < 2; ++i)
      if (const std::string other = dice.word();
          std::count(asked.words.begin(), asked.words.end(), other) == 0)
        asked.words.push_back(other);
    if (asked.words.size() == 1) asked.kind = Asked::Kind::word;
    asked.text = "NEAR(" + joined(asked.words) + ", " + std::to_string(4 - asked.words.size()) + ")";
    // the distance is counted between the end of the first and the start of the last of these words
    if (asked.words.size() != 2) asked.kind = Asked::Kind::word, asked.words.resize(1), asked.text = word;
  }
  switch (dice.below(6)) {
    case 0:
      asked.columns = {0};
      asked.text = "title : " + asked.text;
      break;
    case 1:
      asked.columns = {0, 2};
      asked.text = "{title tags} : " + asked.text;
      break;
    case 2:
      asked.columns = {0, 1};
      asked.text = "- tags : " + asked.text;
      break;
    default:
      break;
  }
  return asked;
}

inline Asked random_query(WordDice& dice, int depth) {
  if (depth == 0 || dice.below(4) == 0) return random_leaf(dice);
  Asked asked;
  const std::array<const char*, 4> between = {" ", " AND ", " OR ", " NOT "};
  const std::size_t kind = dice.below(4);
  asked.kind = kind <= 1 ? Asked::Kind::all : kind == 2 ? Asked::Kind::any : Asked::Kind::without;
  const std::size_t count = kind == 3 ? 2 : 2 + dice.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    asked.children.push_back(random_query(dice, depth - 1));
    asked.text += (i > 0 ? between[kind] : "") + asked.children.back().text;
  }
  asked.text = "(" + asked.text + ")";
  return asked;
}

}  // namespace metafuse::test
