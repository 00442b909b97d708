#include "fetchers/engines/index/asked_word.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/contract.h"

namespace metafuse::fetchers {
namespace {

constexpr double kIsElsewhere = -1;  ///< the frequency of a word that occurs only in other columns

/// How often a document contains a word, weighted by columns.
double weighted_frequency(const ColumnCounts& counts, const std::vector<double>& weights, ColumnSet columns) {
  double sum = 0;
  bool is_there = false;
  for (const auto& [column, count] : counts) {
    if (((columns >> column) & 1) == 0) continue;
    is_there = true;
    sum += (column < weights.size() ? weights[column] : 1.0) * count;
  }
  return is_there ? sum : kIsElsewhere;
}

}  // namespace

Result<std::unique_ptr<AskedWord>> AskedWord::open(ListReader& reader, const DocumentLengths& lengths,
                                                   const AskedForm& form, const Scoring& scoring) {
  auto word = std::make_unique<AskedWord>();
  word->reader_ = &reader;
  word->columns_ = form.columns;
  word->is_beginning_ = form.is_beginning;
  const auto documents = static_cast<double>(lengths.documents);
  if (form.is_beginning) {
    TRY(const auto words, reader.begin_with(form.text, kMostBeginnings));
    for (const std::int64_t id : words) TRY_VOID(word->open_list(reader, id, scoring, documents));
    word->statistics_.documents = documents * (1 - word->without_);
  } else {
    TRY(const ListedWord listed, reader.find(form.text));
    TRY_VOID(word->open_list(reader, listed.id, scoring, documents));
  }
  word->share_.emplace(scoring.weighting,
                       Collection{documents, static_cast<double>(lengths.words) / documents},
                       word->statistics_);
  return word;
}

Result<void> AskedWord::open_list(ListReader& reader, std::int64_t id, const Scoring& scoring,
                                  double documents) {
  TRY(auto list, reader.list_of(id));
  List opened{id, list, PostingCursor(*list), {}, {}};
  double with_it = 0;
  for (const PostingCode& code : list->codes) {
    const double frequency = weighted_frequency(code.counts, scoring.column_weights, columns_);
    if (opened.frequencies.size() < PostingList::kCodeBits) opened.most.push_back(frequency);
    opened.most.back() = std::max(opened.most.back(), frequency);
    opened.frequencies.push_back(frequency);
    if (frequency < 0) continue;
    with_it += code.documents;
    statistics_.frequency += frequency * code.documents;
  }
  statistics_.documents += with_it;
  without_ *= std::max(0.0, 1 - with_it / documents);
  lists_.push_back(std::move(opened));
  return {};
}

Result<void> AskedWord::advance(std::uint32_t window) {
  window_ = kNoWindow;
  for (List& list : lists_) {
    if (!list.cursor.advance(window)) return damaged_lists("word lists");
    if (!list.cursor.is_at_end()) window_ = std::min(window_, list.cursor.window());
  }
  return {};
}

/// The largest frequency in the window at which a list stands.
double AskedWord::most_frequent(const List& list) {
  double most = 0;
  for (std::uint64_t bits = list.cursor.code_bits(); bits != 0; bits &= bits - 1) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
    if (bit < list.most.size()) most = std::max(most, list.most[bit]);
  }
  return most;
}

double AskedWord::bound(const LengthNorms& norms) const {
  double most = 0;
  std::uint32_t shortest = ~std::uint32_t{0};
  for (const List& list : lists_) {
    if (list.cursor.is_at_end() || list.cursor.window() != window_) continue;
    most += most_frequent(list);
    shortest = std::min(shortest, list.cursor.shortest());
  }
  return share(most, norms.of(shortest));
}

Result<void> AskedWord::read() {
  forget();
  if (is_beginning_) return read_beginning();
  const List& list = lists_.front();
  documents_.resize(list.cursor.documents());
  Document* next = documents_.data();
  const bool is_read = list.cursor.visit([&](std::uint32_t place, std::uint32_t code) {
    const double frequency = list.frequencies[code];
    if (frequency < 0) return;
    *next++ = {place, frequency};
    set_.add(place);
  });
  documents_.resize(static_cast<std::size_t>(next - documents_.data()));
  return is_read ? Result<void>() : Result<void>(damaged_lists("word lists"));
}

/// Adds up how often a document has the words that begin so.
Result<void> AskedWord::read_beginning() {
  std::array<double, PostingList::kWindow> sums{};
  for (const List& list : lists_) {
    if (list.cursor.is_at_end() || list.cursor.window() != window_) continue;
    const bool is_read = list.cursor.visit([&](std::uint32_t place, std::uint32_t code) {
      if (list.frequencies[code] < 0) return;
      sums[place] += list.frequencies[code];
      set_.add(place);
    });
    if (!is_read) return damaged_lists("word lists");
  }
  set_.for_each([&](std::uint32_t place) { documents_.push_back({place, sums[place]}); });
  return {};
}

const AskedWord::Document* AskedWord::find(std::uint32_t place) const {
  if (!set_.contains(place)) return nullptr;
  return &*std::lower_bound(
      documents_.begin(), documents_.end(), place,
      [](const Document& document, std::uint32_t wanted) { return document.place < wanted; });
}

/// Moves the cursor to the places of a posting of the current window.
Result<void> AskedWord::move_places_to(std::size_t posting) {
  const List& list = lists_.front();
  if (!place_cursor_ || placed_part_ != list.cursor.part()) {
    placed_part_ = list.cursor.part();
    TRY(place_bytes_, reader_->places_of(list.id, list.list->parts[placed_part_].first_window));
    place_cursor_.emplace(place_bytes_);
    placed_window_ = kNoWindow;
  }
  if (placed_window_ != window_ || posting < next_placed_) {
    if (!place_cursor_->advance(list.cursor.block())) return damaged_lists("word places");
    placed_window_ = window_;
    next_placed_ = 0;
  }
  std::uint64_t between = 0;
  for (; next_placed_ < posting; ++next_placed_)
    between += list.list->codes[postings_[next_placed_].code].places;
  std::string_view left_out;
  if (!place_cursor_->take(between, left_out)) return damaged_lists("word places");
  return {};
}

Result<void> AskedWord::places_of(std::uint32_t place, std::vector<std::uint64_t>& places) {
  require(!is_beginning_, "a word with places");
  if (read_window_ != window_) {
    if (!lists_.front().cursor.read(postings_)) return damaged_lists("word lists");
    read_window_ = window_;
  }
  const auto found = std::lower_bound(
      postings_.begin(), postings_.end(), place,
      [](const PostingCursor::Posting& posting, std::uint32_t wanted) { return posting.place < wanted; });
  require(found != postings_.end() && found->place == place, "a document that has the word");
  const auto posting = static_cast<std::size_t>(found - postings_.begin());
  TRY_VOID(move_places_to(posting));
  next_placed_ = posting + 1;
  const PostingCode& code = lists_.front().list->codes[found->code];
  std::string_view bytes;
  if (!place_cursor_->take(code.places, bytes) || !read_places(bytes, code.counts, columns_, places))
    return damaged_lists("word places");
  return {};
}

}  // namespace metafuse::fetchers
