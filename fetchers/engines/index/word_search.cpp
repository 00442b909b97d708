#include "fetchers/engines/index/word_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cmath>
#include <map>

#include "fetchers/engines/index/local_engine.h"

namespace metafuse::fetchers {
namespace {

constexpr std::uint32_t kPostingWindow = PostingList::kWindow;
constexpr std::uint32_t kNoWindow = ~std::uint32_t{0};
constexpr double kBoundSlack = 1 + 1e-9;  ///< exceeds the rounding error of a bound's sum

constexpr double kIsElsewhere = -1;  ///< the frequency of a word that occurs only in other columns

/// How often a document contains a word, weighted by columns and added in the same order as in FTS5.
double weighted_frequency(const ColumnCounts& counts, const std::vector<double>& weights, ColumnSet columns) {
  double sum = 0;
  bool is_there = false;
  for (const auto& [column, count] : counts) {
    if (((columns >> column) & 1) == 0) continue;
    is_there = true;
    for (std::uint32_t i = 0; i < count; ++i) sum += column < weights.size() ? weights[column] : 1.0;
  }
  return is_there ? sum : kIsElsewhere;
}

/// The parameters of FTS5's bm25().
constexpr double kK1 = 1.2;
constexpr double kB = 0.75;

/// ln((n - m + .5) / (m + .5)), where m of n documents contain the word; 1e-6 if that is not positive.
double inverse_frequency(std::uint64_t documents, std::uint64_t with_word) {
  const auto n = static_cast<std::int64_t>(documents);
  const auto m = static_cast<std::int64_t>(with_word);
  const double value = std::log((static_cast<double>(n - m) + 0.5) / (static_cast<double>(m) + 0.5));
  return value <= 0 ? 1e-6 : value;
}

/// What a word contributes to a document's score.
/// source: Robertson, Zaragoza 2009, eq. (3.15), with the frequencies of columns weighted and summed up
double bm25_share(double inverse, double frequency, double length_norm) {
  return inverse * ((frequency * (kK1 + 1.0)) / (frequency + length_norm));
}

/// One word of the query during the iteration over its windows.
struct AskedWord {
  std::shared_ptr<const PostingList> list;
  PostingCursor cursor;
  double inverse;                   ///< its inverse document frequency
  std::vector<double> frequencies;  ///< by code; kIsElsewhere: not in the columns asked for
  /// The largest frequency of the codes that share each bit.
  std::array<double, PostingList::kCodeBits> most{};
  std::array<PostingCursor::Posting, kPostingWindow> postings;

  AskedWord(std::shared_ptr<const PostingList> of, const QueryWord& asked, const std::vector<double>& weights,
            std::uint64_t documents)
      : list(std::move(of)),
        cursor(*list),
        inverse(inverse_frequency(documents, list->documents_in(asked.columns))) {
    for (const PostingCode& code : list->codes) {
      const std::size_t bit = std::min(frequencies.size(), PostingList::kCodeBits - 1);
      frequencies.push_back(weighted_frequency(code.counts, weights, asked.columns));
      most[bit] = std::max(most[bit], frequencies.back());
    }
  }

  std::uint32_t window() const { return cursor.is_at_end() ? kNoWindow : cursor.window(); }

  double most_frequent() const {
    double out = 0;
    for (std::uint64_t bits = cursor.code_bits(); bits != 0; bits &= bits - 1)
      out = std::max(out, most[static_cast<std::size_t>(std::countr_zero(bits))]);
    return out;
  }
};

/// The best documents so far. Documents arrive in ascending order of ids, so a later one with the same score
/// ranks lower.
class BestDocuments {
 public:
  explicit BestDocuments(std::size_t count) : count_(count) {}

  bool can_take(double score) const { return kept_.size() < count_ || score > kept_.front().score; }

  void take(ScoredDocument document) {
    if (!can_take(document.score)) return;
    if (kept_.size() == count_) {
      std::pop_heap(kept_.begin(), kept_.end(), is_before);
      kept_.pop_back();
    }
    kept_.push_back(document);
    std::push_heap(kept_.begin(), kept_.end(), is_before);
  }

  std::vector<ScoredDocument> sorted() && {
    std::sort_heap(kept_.begin(), kept_.end(), is_before);
    return std::move(kept_);
  }

 private:
  static bool is_before(const ScoredDocument& a, const ScoredDocument& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  }

  std::size_t count_;
  std::vector<ScoredDocument> kept_;
};

Error damaged_list() {
  return fail(Code::bad_data, "the index's word lists are damaged; rebuild the index");
}

/// A set of documents within a window, one bit each.
using WindowSet = std::bitset<kPostingWindow>;

/// Iterates over the windows in which a document can match.
class WindowSearch {
 public:
  WindowSearch(std::vector<std::unique_ptr<AskedWord>> words, const QueryNode& root,
               const DocumentLengths& lengths, std::size_t count)
      : words_(std::move(words)),
        root_(root),
        lengths_(lengths),
        average_(static_cast<double>(lengths.words) / static_cast<double>(lengths.documents)),
        found_(words_.size()),
        best_(count) {
    norms_.resize(kNormsKept);
    for (std::uint32_t length = 0; length < kNormsKept; ++length) norms_[length] = norm_of_length(length);
  }

  Result<std::vector<ScoredDocument>> run(const Deadline& deadline) {
    std::uint32_t window = 0;
    while (true) {
      if (deadline.has_passed()) return fail(Code::try_again, "the deadline passed");
      TRY(window, next_window(window));
      if (window == kNoWindow) break;
      if (best_.can_take(bound_at(root_, window) * kBoundSlack)) TRY_VOID(rank_window(window));
      ++window;
    }
    return std::move(best_).sorted();
  }

 private:
  static constexpr std::uint32_t kNormsKept = 512;

  double norm_of_length(std::uint32_t length) const {
    return kK1 * (1 - kB + kB * static_cast<double>(length) / average_);
  }
  double length_norm(std::uint32_t length) const {
    return length < kNormsKept ? norms_[length] : norm_of_length(length);
  }

  /// The first window that can contain a match, by the current positions of the cursors.
  std::uint32_t first_window(const QueryNode& node) const {
    if (node.kind == QueryNode::Kind::word) return words_[node.word]->window();
    std::uint32_t first = first_window(node.children.front());
    if (node.kind == QueryNode::Kind::without) return first;
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      const std::uint32_t other = first_window(node.children[i]);
      first = node.kind == QueryNode::Kind::all ? std::max(first, other) : std::min(first, other);
    }
    return first;
  }

  /// The next window from `window` on that can contain a match.
  Result<std::uint32_t> next_window(std::uint32_t window) {
    while (true) {
      for (auto& word : words_)
        if (!word->cursor.advance(window)) return damaged_list();
      const std::uint32_t first = std::max(window, first_window(root_));
      if (first == window || first == kNoWindow) return first;
      window = first;
    }
  }

  /// An upper bound for the scores of a window's documents; negative if none matches.
  double bound_at(const QueryNode& node, std::uint32_t window) const {
    if (node.kind == QueryNode::Kind::word) {
      const AskedWord& word = *words_[node.word];
      if (word.window() != window) return -1;
      return bm25_share(word.inverse, word.most_frequent(), length_norm(word.cursor.shortest()));
    }
    if (node.kind == QueryNode::Kind::without) return bound_at(node.children.front(), window);
    double sum = -1;
    for (const QueryNode& child : node.children) {
      const double bound = bound_at(child, window);
      if (bound >= 0)
        sum = std::max(sum, 0.0) + bound;
      else if (node.kind == QueryNode::Kind::all)
        return -1;
    }
    return sum;
  }

  Result<void> rank_window(std::uint32_t window) {
    for (std::size_t i = 0; i < words_.size(); ++i) TRY_VOID(find_word(i, window));
    const WindowSet matching = matches(root_);
    if (matching.none()) return {};
    scores_.fill(0);
    TRY_VOID(add_scores(root_, matching, window));
    const std::size_t first = std::size_t{window} * kPostingWindow;
    for (std::uint32_t place = 0; place < kPostingWindow; ++place)
      if (matching[place]) best_.take({static_cast<std::int64_t>(first + place), scores_[place]});
    return {};
  }

  Result<void> find_word(std::size_t i, std::uint32_t window) {
    AskedWord& word = *words_[i];
    found_[i].reset();
    if (word.window() != window) return {};
    if (!word.cursor.read(word.postings)) return damaged_list();
    for (std::uint32_t at = 0; at < word.cursor.documents(); ++at)
      if (word.frequencies[word.postings[at].code] >= 0) found_[i][word.postings[at].place] = true;
    return {};
  }

  WindowSet matches(const QueryNode& node) const {
    if (node.kind == QueryNode::Kind::word) return found_[node.word];
    WindowSet out = matches(node.children.front());
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      const WindowSet other = matches(node.children[i]);
      if (node.kind == QueryNode::Kind::all) out &= other;
      if (node.kind == QueryNode::Kind::any) out |= other;
      if (node.kind == QueryNode::Kind::without) out &= ~other;
    }
    return out;
  }

  /// Adds the scores of a condition's words in the query's order, as FTS5 does. A word counts in a document
  /// if every condition that contains the word matches.
  Result<void> add_scores(const QueryNode& node, const WindowSet& counted, std::uint32_t window) {
    if (node.kind == QueryNode::Kind::word) return add_word(*words_[node.word], counted, window);
    for (const QueryNode& child : node.children) {
      TRY_VOID(add_scores(child, counted & matches(child), window));
      if (node.kind == QueryNode::Kind::without) break;
    }
    return {};
  }

  Result<void> add_word(const AskedWord& word, const WindowSet& counted, std::uint32_t window) {
    if (counted.none()) return {};
    const std::size_t first = std::size_t{window} * kPostingWindow;
    for (std::uint32_t i = 0; i < word.cursor.documents(); ++i) {
      const auto [place, code] = word.postings[i];
      if (!counted[place]) continue;
      if (first + place >= lengths_.lengths.size()) return damaged_list();
      const double norm = length_norm(lengths_.lengths[first + place]);
      scores_[place] += bm25_share(word.inverse, word.frequencies[code], norm);
    }
    return {};
  }

  std::vector<std::unique_ptr<AskedWord>> words_;
  const QueryNode& root_;
  const DocumentLengths& lengths_;
  double average_;
  std::vector<double> norms_;
  std::vector<WindowSet> found_;  ///< indexed by word
  std::array<double, kPostingWindow> scores_{};
  BestDocuments best_;
};

}  // namespace

Result<std::shared_ptr<const DocumentLengths>> SharedLengths::of(SqliteDatabase& database,
                                                                 const RankingReader& reader) {
  const std::lock_guard lock(mutex_);
  if (last_ == nullptr || last_->version != reader.version()) {
    TRY(auto read, reader.read_lengths(database));
    last_ = std::make_shared<const DocumentLengths>(std::move(read));
  }
  return last_;
}

Result<std::optional<WordSearch>> WordSearch::open(SqliteDatabase& database, RankedTable table,
                                                   SharedLengths& lengths) {
  // The bounds assume that containing a word never lowers a document's score.
  if (std::any_of(table.weights.begin(), table.weights.end(), [](double weight) { return !(weight >= 0); }))
    return std::optional<WordSearch>();
  WordSearch search;
  TRY(search.reader_, RankingReader::open(database, table.words.name, table.columns));
  if (!search.reader_) return std::optional<WordSearch>();
  TRY(search.lengths_, lengths.of(database, *search.reader_));
  TRY(search.finder_, WordFinder::make(table.words.tokenizer));
  search.table_ = std::move(table);
  return std::optional<WordSearch>(std::move(search));
}

Result<std::optional<std::string>> WordSearch::word_of(std::string_view text) {
  std::optional<std::string> word;
  std::int64_t words = 0;
  TRY_VOID(finder_->for_each_word(text, [&](std::string_view one, std::int64_t count) -> Result<void> {
    word = std::string(one);
    words += count;
    return {};
  }));
  return words == 1 ? std::move(word) : std::nullopt;
}

Result<std::optional<std::vector<ScoredDocument>>> WordSearch::find(std::string_view query, std::size_t count,
                                                                    const Deadline& deadline) {
  using Found = std::optional<std::vector<ScoredDocument>>;
  const auto asked = read_word_query(query, table_.columns);
  if (!asked) return Found();
  std::map<std::string, std::shared_ptr<const PostingList>, std::less<>> lists;
  std::vector<std::unique_ptr<AskedWord>> words;
  for (const QueryWord& one : asked->words) {
    TRY(const auto word, word_of(one.text));
    if (!word) return Found();
    auto& list = lists[*word];
    if (list == nullptr) {
      TRY(list, reader_->list_of(*word, *lengths_));
    }
    words.push_back(std::make_unique<AskedWord>(list, one, table_.weights, lengths_->documents));
  }
  if (count == 0) return Found(std::in_place);
  auto found = WindowSearch(std::move(words), asked->root, *lengths_, count).run(deadline);
  if (!found) return fail(found.error().code, table_.path + ": " + found.error().text);
  return Found(*std::move(found));
}

}  // namespace metafuse::fetchers
