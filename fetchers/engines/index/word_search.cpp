#include "fetchers/engines/index/word_search.h"

#include <algorithm>
#include <array>
#include <limits>

#include "fetchers/engines/index/asked_word.h"

namespace metafuse::fetchers {
namespace {

constexpr double kBoundSlack = 1 + 1e-9;  ///< exceeds the rounding error of a bound's sum

/// The best documents so far. Documents arrive in ascending order of ids, so a later one with the same score
/// ranks lower.
class BestDocuments {
 public:
  explicit BestDocuments(std::size_t count) : count_(count) {}

  bool is_full() const { return kept_.size() >= count_; }
  bool can_take(double score) const { return score > least(); }
  /// What a score must exceed.
  double least() const { return is_full() ? kept_.front().score : -std::numeric_limits<double>::infinity(); }

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

/// The places of a text of a phrase or NEAR in one document.
struct TextPlaces {
  std::vector<std::uint64_t> starts;
  std::size_t words = 1;
};

/// Whether the texts occur with at most `distance` words between the end of the first and the start
/// of the last.
bool are_near(const std::vector<TextPlaces>& texts, std::size_t distance) {
  std::vector<std::size_t> at(texts.size());
  while (true) {
    std::size_t first = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (at[i] == texts[i].starts.size()) return false;
      if (texts[i].starts[at[i]] < texts[first].starts[at[first]]) first = i;
      if (texts[i].starts[at[i]] > texts[last].starts[at[last]]) last = i;
    }
    const std::uint64_t end = texts[first].starts[at[first]] + texts[first].words;
    const std::uint64_t start = texts[last].starts[at[last]];
    if (start <= end || start - end <= distance) return true;
    ++at[first];
  }
}

/// Iterates over the windows in which a document can match.
class WindowSearch {
 public:
  WindowSearch(std::vector<std::unique_ptr<AskedWord>> words, const Condition& root,
               const DocumentLengths& lengths, const Scoring& scoring, std::size_t count)
      : words_(std::move(words)),
        root_(root),
        lengths_(lengths),
        norms_(scoring.weighting,
               {static_cast<double>(lengths.documents),
                static_cast<double>(lengths.words) / static_cast<double>(lengths.documents)}),
        weights_(words_.size()),
        is_required_(words_.size()),
        best_(count) {
    add_weights(root);
    note_required(root);
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

  /// in: ids - ascending
  Result<std::vector<bool>> matching(std::span<const std::int64_t> ids, const Deadline& deadline) {
    std::vector<bool> out;
    while (out.size() < ids.size()) {
      if (deadline.has_passed()) return fail(Code::try_again, "the deadline passed");
      const std::int64_t first = ids[out.size()] / PostingList::kWindow * PostingList::kWindow;
      TRY_VOID(read_window(static_cast<std::uint32_t>(first / PostingList::kWindow)));
      const auto place = [&](std::size_t i) { return static_cast<std::uint32_t>(ids[i] - first); };
      std::size_t end = out.size();
      wanted_ = {};
      for (; end < ids.size() && ids[end] - first < PostingList::kWindow; ++end) wanted_.add(place(end));
      sets_.clear();
      TRY_VOID(find_sets(root_));
      for (std::size_t i = out.size(); i < end; ++i) out.push_back(sets_.back().contains(place(i)));
    }
    return out;
  }

 private:
  using Kind = Condition::Kind;

  /// Reads all words of a window.
  Result<void> read_window(std::uint32_t window) {
    for (auto& word : words_) {
      word->forget();
      TRY_VOID(word->advance(window));
      if (word->window() == window) TRY_VOID(word->read());
    }
    return {};
  }

  /// The first window that can contain a match, by the current positions of the words.
  std::uint32_t first_window(const Condition& condition) const {
    std::uint32_t first = 0;
    for (const std::size_t form : condition.forms) first = std::max(first, words_[form]->window());
    if (condition.children.empty()) return first;
    first = first_window(condition.children.front());
    if (condition.kind == Kind::without || condition.kind == Kind::maybe) return first;
    for (std::size_t i = 1; i < condition.children.size(); ++i) {
      const std::uint32_t other = first_window(condition.children[i]);
      first = condition.kind == Kind::any ? std::min(first, other) : std::max(first, other);
    }
    return first;
  }

  /// The next window from `window` on that can contain a match.
  Result<std::uint32_t> next_window(std::uint32_t window) {
    while (true) {
      for (auto& word : words_) TRY_VOID(word->advance(window));
      const std::uint32_t first = std::max(window, first_window(root_));
      if (first == window || first == kNoWindow) return first;
      window = first;
    }
  }

  /// An upper bound for the scores of a window's documents; negative if none matches.
  double bound_at(const Condition& condition, std::uint32_t window) const {
    double sum = condition.forms.empty() ? -1 : 0;
    for (const std::size_t form : condition.forms) {
      if (words_[form]->window() != window) return -1;
      sum += condition.weight * words_[form]->bound(norms_);
    }
    for (std::size_t i = 0; i < condition.children.size(); ++i) {
      if (condition.kind == Kind::without && i > 0) break;
      const double bound = bound_at(condition.children[i], window);
      const bool is_required = condition.kind != Kind::any && (condition.kind != Kind::maybe || i == 0);
      if (bound >= 0)
        sum = std::max(sum, 0.0) + bound;
      else if (is_required)
        return -1;
    }
    return sum;
  }

  Result<void> rank_window(std::uint32_t window) {
    TRY(wanted_, reachable(window));
    if (wanted_.is_empty()) return {};
    sets_.clear();
    TRY_VOID(find_sets(root_));
    WindowSet matching = sets_.back();
    matching &= wanted_;
    if (matching.is_empty()) return {};
    scores_.fill(0);
    next_set_ = sets_.size();
    add_scores(root_, matching, window);
    bool is_damaged = false;
    const std::size_t first = std::size_t{window} * PostingList::kWindow;
    matching.for_each([&](std::uint32_t place) {
      is_damaged = is_damaged || first + place >= lengths_.lengths.size();
      best_.take({static_cast<std::int64_t>(first + place), scores_[place]});
    });
    return is_damaged ? Result<void>(damaged_lists("word lists")) : Result<void>();
  }

  /// Reads the words of a window, first those that can add much. Returns the documents that would be among
  /// the best if all their words counted. If there are none, some words were not read: often these are the
  /// long lists of frequent words.
  Result<WindowSet> reachable(std::uint32_t window) {
    addends_.clear();
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i]->forget();
      if (words_[i]->window() != window) continue;
      addends_.push_back({i, weights_[i] * words_[i]->bound(norms_)});
    }
    std::sort(addends_.begin(), addends_.end(),
              [](const Addend& a, const Addend& b) { return a.bound > b.bound; });
    for (std::size_t i = addends_.size(); i-- > 1;)
      addends_[i - 1].rest = (addends_[i].rest + addends_[i].bound) * kBoundSlack;
    WindowSet set = WindowSet::all();
    scores_.fill(0);
    for (const Addend& one : addends_) {
      TRY_VOID(words_[one.word]->read());
      if (is_required_[one.word]) set &= words_[one.word]->set();
      if (best_.is_full()) {
        add_word(*words_[one.word], weights_[one.word], set, window);
        set.keep_above(scores_, best_.least() / kBoundSlack - one.rest);
      }
      if (set.is_empty()) break;
    }
    return set;
  }

  /// Appends the sets of a condition's descendants, and then its own: where it matches.
  Result<void> find_sets(const Condition& condition) {
    WindowSet set;
    for (std::size_t i = 0; i < condition.children.size(); ++i) {
      TRY_VOID(find_sets(condition.children[i]));
      const WindowSet& other = sets_.back();
      if (i == 0)
        set = other;
      else if (condition.kind == Kind::any)
        set |= other;
      else if (condition.kind == Kind::without)
        set.remove(other);
      else if (condition.kind != Kind::maybe)
        set &= other;
    }
    for (std::size_t i = 0; i < condition.forms.size(); ++i) {
      if (i == 0)
        set = words_[condition.forms[i]]->set();
      else
        set &= words_[condition.forms[i]]->set();
    }
    if (condition.kind == Kind::phrase || condition.kind == Kind::near) TRY_VOID(keep_placed(condition, set));
    sets_.push_back(set);
    return {};
  }

  /// Keeps the wanted documents in which the words of a phrase or NEAR stand as they have to.
  Result<void> keep_placed(const Condition& condition, WindowSet& set) {
    WindowSet placed;
    Result<void> done;
    set &= wanted_;
    set.for_each([&](std::uint32_t document) {
      if (!done) return;
      const auto is_there = is_placed(condition, document);
      if (!is_there)
        done = is_there.error();
      else if (*is_there)
        placed.add(document);
    });
    set = placed;
    return done;
  }

  /// Whether the words of a phrase or NEAR stand in a document as they have to.
  Result<bool> is_placed(const Condition& condition, std::uint32_t document) {
    if (condition.kind == Kind::phrase) {
      TRY(const TextPlaces places, places_of(condition, document));
      return !places.starts.empty();
    }
    std::vector<TextPlaces> texts;
    for (const Condition& child : condition.children) {
      TRY(auto places, places_of(child, document));
      texts.push_back(std::move(places));
    }
    return are_near(texts, condition.distance);
  }

  /// Where a word or phrase begins in a document.
  Result<TextPlaces> places_of(const Condition& text, std::uint32_t document) {
    TextPlaces out;
    out.words = text.forms.size();
    TRY_VOID(words_[text.forms.front()]->places_of(document, out.starts));
    std::vector<std::uint64_t> next;
    for (std::size_t i = 1; i < text.forms.size() && !out.starts.empty(); ++i) {
      TRY_VOID(words_[text.forms[i]]->places_of(document, next));
      std::erase_if(out.starts, [&](std::uint64_t start) {
        return !std::binary_search(next.begin(), next.end(), start + i);
      });
    }
    return out;
  }

  /// Adds the scores of a condition's words to the documents where all conditions around it match. Takes the
  /// sets in the reverse of the order in which find_sets() appended them.
  void add_scores(const Condition& condition, const WindowSet& around, std::uint32_t window) {
    WindowSet counted = around;
    counted &= sets_[--next_set_];
    for (const std::size_t form : condition.forms) add_word(*words_[form], condition.weight, counted, window);
    for (std::size_t i = condition.children.size(); i-- > 0;) {
      const bool is_excluded = condition.kind == Kind::without && i > 0;
      add_scores(condition.children[i], is_excluded ? WindowSet() : counted, window);
    }
  }

  void add_word(const AskedWord& word, double weight, const WindowSet& counted, std::uint32_t window) {
    constexpr std::size_t kFew = 16;  ///< that are rather looked up
    const std::size_t first = std::size_t{window} * PostingList::kWindow;
    const auto add = [&](const AskedWord::Document& document) {
      if (first + document.place < lengths_.lengths.size())
        scores_[document.place] +=
            weight * word.share(document.frequency, norms_.of(lengths_.lengths[first + document.place]));
    };
    if (counted.size() > kFew) {
      for (const AskedWord::Document& document : word.documents())
        if (counted.contains(document.place)) add(document);
      return;
    }
    counted.for_each([&](std::uint32_t place) {
      if (const AskedWord::Document* document = word.find(place)) add(*document);
    });
  }

  /// Adds up how much each word can count in a condition.
  void add_weights(const Condition& condition) {
    for (const std::size_t form : condition.forms) weights_[form] += condition.weight;
    for (const Condition& child : condition.children) add_weights(child);
  }

  /// Notes the words that every match has.
  void note_required(const Condition& condition) {
    for (const std::size_t form : condition.forms) is_required_[form] = true;
    if (condition.kind == Kind::any && condition.children.size() > 1) return;
    const bool has_all = condition.kind == Kind::all || condition.kind == Kind::near;
    for (std::size_t i = 0; i < condition.children.size() && (i == 0 || has_all); ++i)
      note_required(condition.children[i]);
  }

  struct Addend {
    std::size_t word;
    double bound;     ///< what it adds to a document of the window at most
    double rest = 0;  ///< what all behind it add at most
  };

  std::vector<std::unique_ptr<AskedWord>> words_;
  const Condition& root_;
  const DocumentLengths& lengths_;
  LengthNorms norms_;
  std::vector<double> weights_;  ///< of each word, in all places of the condition together
  std::vector<bool> is_required_;
  std::vector<Addend> addends_;
  WindowSet wanted_;  ///< the documents of the window that are looked at
  std::vector<WindowSet> sets_;
  std::size_t next_set_ = 0;
  std::array<double, PostingList::kWindow> scores_{};
  BestDocuments best_;
};

Result<std::vector<std::unique_ptr<AskedWord>>> open_words(ListReader& reader, const DocumentLengths& lengths,
                                                           const AskedQuery& asked, const Scoring& scoring,
                                                           const Deadline& deadline) {
  std::vector<std::unique_ptr<AskedWord>> words;
  for (const AskedForm& form : asked.forms) {
    if (deadline.has_passed()) return fail(Code::try_again, "the deadline passed");
    TRY(auto word, AskedWord::open(reader, lengths, form, scoring));
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace

Result<std::vector<ScoredDocument>> find_best(ListReader& reader, const DocumentLengths& lengths,
                                              const AskedQuery& asked, const Scoring& scoring,
                                              std::size_t count, const Deadline& deadline) {
  if (asked.is_empty || count == 0) return std::vector<ScoredDocument>();
  TRY(auto words, open_words(reader, lengths, asked, scoring, deadline));
  return WindowSearch(std::move(words), asked.root, lengths, scoring, count).run(deadline);
}

Result<std::vector<bool>> find_matching(ListReader& reader, const DocumentLengths& lengths,
                                        const AskedQuery& asked, std::span<const std::int64_t> ids,
                                        const Deadline& deadline) {
  if (asked.is_empty) return std::vector<bool>(ids.size());
  const Scoring scoring;
  TRY(auto words, open_words(reader, lengths, asked, scoring, deadline));
  return WindowSearch(std::move(words), asked.root, lengths, scoring, 0).matching(ids, deadline);
}

}  // namespace metafuse::fetchers
