// How well the vocabulary of the demonstration's index (service/base/vocabulary.h) corrects queries with one
// typing error and leaves correct ones alone, and how fast it completes prefixes of titles. Quick: 200
// queries instead of 1,200.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/json.h"
#include "core/random.h"
#include "core/text.h"
#include "fetchers/engines/index/index_words.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/home_pages/home_pages.h"
#include "service/base/vocabulary.h"

namespace metafuse::lab::experiments {
namespace {

constexpr std::size_t kShortestWord = 4;
constexpr std::size_t kMostCounted = 200;
constexpr std::size_t kPrefixes = 20000;
constexpr std::size_t kOffers = 8;

using Steady = std::chrono::steady_clock;

double ms_since(Steady::time_point begin) {
  return std::chrono::duration<double, std::milli>(Steady::now() - begin).count();
}

char random_letter(Random& random) {
  return static_cast<char>('a' + random.below(26));
}

/// A word with one typing error, each kind equally likely: a letter missing, added, replaced, or exchanged
/// with its neighbour.
std::string mistyped(const std::string& word, Random& random) {
  while (true) {
    std::string out = word;
    const auto at = static_cast<std::size_t>(random.below(word.size()));
    switch (random.below(4)) {
      case 0:
        out.erase(at, 1);
        break;
      case 1:
        out.insert(at, 1, random_letter(random));
        break;
      case 2:
        out[at] = random_letter(random);
        break;
      default:
        if (at + 1 < out.size()) std::swap(out[at], out[at + 1]);
    }
    if (out != word) return out;
  }
}

struct Word {
  std::size_t begin = 0, size = 0;
};

/// The words of at least four characters that consist only of letters.
std::vector<Word> words_to_mistype(const std::string& query) {
  std::vector<Word> out;
  for (std::size_t begin = 0; begin < query.size();) {
    const std::size_t end = std::min(query.find(' ', begin), query.size());
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    if (end - begin >= kShortestWord &&
        std::all_of(query.begin() + static_cast<std::ptrdiff_t>(begin),
                    query.begin() + static_cast<std::ptrdiff_t>(end), is_letter))
      out.push_back({begin, end - begin});
    begin = end + 1;
  }
  return out;
}

struct SpellingCounts {
  std::size_t right = 0, touched = 0;                     ///< queries without an error
  std::size_t mistyped = 0, corrected = 0, as_typed = 0;  ///< queries with one error
  double slowest_ms = 0, total_ms = 0;
};

struct CompletionTimes {
  std::size_t prefixes = 0;
  double mean_ms = 0, p99_ms = 0, slowest_ms = 0;
};

SpellingCounts count_corrections(const service::Vocabulary& vocabulary, fetchers::IndexCounter& counter,
                                 const std::vector<std::string>& queries, std::uint64_t seed) {
  Random random(seed);
  SpellingCounts counts;
  const auto corrected = [&](const std::string& query) {
    const auto begin = Steady::now();
    auto out = vocabulary.correct(query, [&](const std::vector<std::vector<std::string>>& groups) {
      return counter.documents_with(groups, kMostCounted);
    });
    const double ms = ms_since(begin);
    counts.total_ms += ms;
    counts.slowest_ms = std::max(counts.slowest_ms, ms);
    return out.value_or(query);
  };
  for (const std::string& query : queries) {
    ++counts.right;
    counts.touched += corrected(query) != query ? 1 : 0;
    const auto words = words_to_mistype(query);
    if (words.empty()) continue;
    const Word word = words[random.below(words.size())];
    std::string wrong = query;
    wrong.replace(word.begin, word.size, mistyped(query.substr(word.begin, word.size), random));
    ++counts.mistyped;
    const std::string mended = corrected(wrong);
    counts.corrected += mended == query ? 1 : 0;
    counts.as_typed += mended == wrong ? 1 : 0;
  }
  return counts;
}

/// Times completions of prefixes of any length of random titles.
CompletionTimes time_completions(const service::Vocabulary& vocabulary,
                                 const std::vector<std::string>& titles, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> times;
  for (std::size_t i = 0; i < kPrefixes; ++i) {
    const std::string& title = titles[random.below(titles.size())];
    const std::string prefix = title.substr(0, 1 + random.below(title.size()));
    const auto begin = Steady::now();
    (void)vocabulary.complete(prefix, kOffers);
    times.push_back(ms_since(begin));
  }
  std::sort(times.begin(), times.end());
  CompletionTimes out{times.size(), 0, times[times.size() * 99 / 100], times.back()};
  for (const double ms : times) out.mean_ms += ms / static_cast<double>(times.size());
  return out;
}

double percent(std::size_t part, std::size_t of) {
  return of == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(of);
}

}  // namespace

Result<std::string> run_spelling(const ExperimentOptions& options) {
  TRY(const auto pages, home_pages::IndexedPages::open(options.data));
  TRY(const auto words, fetchers::read_index_words(pages->database()));
  const auto begin = Steady::now();
  const service::Vocabulary vocabulary(words.titles, words.words);
  const double made_ms = ms_since(begin);
  TRY(auto counter, fetchers::IndexCounter::open(pages->database()));
  home_pages::SampleOptions sampling;
  sampling.seed = options.seed;
  if (options.is_quick()) sampling.count = 200;
  std::vector<std::string> queries;
  for (const home_pages::JudgedQuery& query : home_pages::sample_base_queries(pages->pages(), sampling))
    queries.push_back(ascii_lower(query.base_query.slots.at("TOPIC")));
  const SpellingCounts counts = count_corrections(vocabulary, counter, queries, options.seed);
  const CompletionTimes times = time_completions(vocabulary, words.titles, options.seed);
  if (!options.output.empty())
    TRY_VOID(write_file(options.output + "/spelling.json",
                        to_pretty_text(JsonObject{{"titles", vocabulary.titles()},
                                                  {"words", vocabulary.words()},
                                                  {"right", counts.right},
                                                  {"touched", counts.touched},
                                                  {"mistyped", counts.mistyped},
                                                  {"corrected", counts.corrected},
                                                  {"as_typed", counts.as_typed}})));
  return fmt::format(
      "{} titles, {} words, {:.1f} MB, made in {:.0f} ms\n\n"
      "queries with one typing error   {:>6}\n"
      "  corrected                     {:>6}  {:5.1f} %\n"
      "  left as typed                 {:>6}  {:5.1f} %\n"
      "queries without one             {:>6}\n"
      "  changed                       {:>6}  {:5.1f} %\n"
      "a correction takes {:.2f} ms, at most {:.1f} ms\n\n"
      "completing {} prefixes of titles takes {:.3f} ms each, 99 % below {:.3f} ms, at most {:.2f} ms\n",
      vocabulary.titles(), vocabulary.words(), static_cast<double>(vocabulary.bytes()) / 1e6, made_ms,
      counts.mistyped, counts.corrected, percent(counts.corrected, counts.mistyped), counts.as_typed,
      percent(counts.as_typed, counts.mistyped), counts.right, counts.touched,
      percent(counts.touched, counts.right),
      counts.total_ms / static_cast<double>(counts.right + counts.mistyped), counts.slowest_ms,
      times.prefixes, times.mean_ms, times.p99_ms, times.slowest_ms);
}

}  // namespace metafuse::lab::experiments
