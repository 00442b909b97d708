// How well the vocabulary of an index (service/base/vocabulary.h) corrects queries with one typing error and
// leaves correct ones alone. The queries are titles of text collections (text-collections/NAME/docs.jsonl,
// also compressed) and those of the demonstration (packages.txt), whichever the data have. Quick: 200 queries
// instead of 1,200.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/json.h"
#include "core/random.h"
#include "core/text.h"
#include "fetchers/engines/index/index_words.h"
#include "fetchers/engines/index/local_engine.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/home_pages/home_pages.h"
#include "service/base/vocabulary.h"

namespace metafuse::lab::experiments {
namespace {

constexpr std::size_t kShortestWord = 4;
constexpr std::size_t kMostCounted = 200;

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
  std::size_t right = 0, touched = 0;  ///< queries without an error; searched as something else
  /// Queries with one error; whose correction is searched, or at least told; searched as something else.
  std::size_t mistyped = 0, corrected = 0, told = 0, wrong = 0;
};

/// An index, and queries that are right in it.
struct SpeltIndex {
  std::string name;
  std::string database;
  std::vector<std::string> queries;
};

SpellingCounts count_corrections(const service::Vocabulary& vocabulary, fetchers::IndexCounter& counter,
                                 const std::vector<std::string>& queries, std::uint64_t seed) {
  Random random(seed);
  SpellingCounts counts;
  /// The query that is searched, and the one that is told.
  const auto corrected = [&](const std::string& query) {
    const auto out = vocabulary.correct(
        query,
        [&](const std::vector<std::vector<std::string>>& groups) {
          return counter.documents_with(groups, kMostCounted);
        },
        [&](const std::string& word) { return counter.is_stop_word(word); });
    const std::string told = out ? out->text : query;
    return std::pair(out && out->is_sure ? told : query, told);
  };
  for (const std::string& query : queries) {
    ++counts.right;
    counts.touched += corrected(query).first != query ? 1 : 0;
    const auto words = words_to_mistype(query);
    if (words.empty()) continue;
    const Word word = words[random.below(words.size())];
    std::string wrong = query;
    wrong.replace(word.begin, word.size, mistyped(query.substr(word.begin, word.size), random));
    ++counts.mistyped;
    const auto [searched, told] = corrected(wrong);
    counts.corrected += searched == query ? 1 : 0;
    counts.told += told == query ? 1 : 0;
    counts.wrong += searched != query && searched != wrong ? 1 : 0;
  }
  return counts;
}

std::string percent(std::size_t part, std::size_t of) {
  return of == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(of));
}

/// Indexes a collection as `metafuse init` does, and draws queries from its titles.
Result<SpeltIndex> open_collection(const std::string& name, const WorkFolder& folder,
                                   const ExperimentOptions& options) {
  SpeltIndex out{name, folder.path(name + ".db"), {}};
  fetchers::IndexOptions indexing;
  indexing.kinds = {fetchers::WordKind::words};
  TRY_VOID(fetchers::build_local_index(out.database, {collection_documents(options.data, name)}, indexing));
  TRY(const auto words, fetchers::read_index_words(out.database, {.fewest_documents = 1}));
  for (const std::string& title : words.titles)
    if (std::string query = joined(words_of(title)); query.find(' ') != std::string::npos)
      out.queries.push_back(std::move(query));
  Random random(options.seed);
  random.shuffle(out.queries);
  out.queries.resize(std::min<std::size_t>(out.queries.size(), options.is_quick() ? 200 : 1200));
  return out;
}

/// The demonstration's index with its base queries.
SpeltIndex demonstration(const home_pages::IndexedPages& pages, const ExperimentOptions& options) {
  SpeltIndex out{"home pages", pages.database(), {}};
  home_pages::SampleOptions sampling;
  sampling.seed = options.seed;
  if (options.is_quick()) sampling.count = 200;
  for (const home_pages::JudgedQuery& query : home_pages::sample_base_queries(pages.pages(), sampling))
    out.queries.push_back(ascii_lower(query.base_query.slots.at("TOPIC")));
  return out;
}

/// Adds one index's figures.
Result<void> measure(const SpeltIndex& index, const ExperimentOptions& options, Table& table) {
  TRY(const auto words, fetchers::read_index_words(index.database, {.fewest_documents = 1}));
  const service::Vocabulary vocabulary(words.titles, words.words);
  TRY(auto counter, fetchers::IndexCounters(index.database).take());
  const SpellingCounts counts = count_corrections(vocabulary, counter, index.queries, options.seed);
  table.add({index.name, std::to_string(vocabulary.titles()), std::to_string(vocabulary.words()),
             std::to_string(counts.mistyped), percent(counts.corrected, counts.mistyped),
             percent(counts.told, counts.mistyped), percent(counts.wrong, counts.mistyped),
             std::to_string(counts.right), percent(counts.touched, counts.right)});
  return {};
}

}  // namespace

Result<Report> run_spelling(const ExperimentOptions& options) {
  Table table{{{"", "titles", "words", "mistyped queries", "searched as meant", "or told",
                "as something else", "right queries", "searched as something else"}}};
  TRY(const auto folder, WorkFolder::make());
  std::error_code error;
  for (const char* name : kTextCollections) {
    if (!std::filesystem::exists(collection_documents(options.data, name), error)) continue;
    TRY(const auto index, open_collection(name, *folder, options));
    if (index.queries.empty()) continue;  // its documents have no titles
    TRY_VOID(measure(index, options, table));
  }
  if (table.rows.size() == 1 || std::filesystem::exists(options.data + "/packages.txt", error)) {
    TRY(const auto pages, home_pages::IndexedPages::open(options.data));
    TRY_VOID(measure(demonstration(*pages, options), options, table));
  }
  Report report;
  report.add(table);
  return report;
}

}  // namespace metafuse::lab::experiments
