#include "fetchers/engines/index/asked_word.h"

#include <algorithm>
#include <bit>

#include "core/contract.h"

namespace metafuse::fetchers {
namespace {

constexpr std::uint32_t kDocumentsInWindow = PostingList::kWindow;
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
  TRY_VOID(form.is_beginning ? word->open_beginning(reader, lengths, form, scoring)
                             : word->open_list(reader, form, scoring));
  const auto documents = static_cast<double>(lengths.documents);
  word->share_.emplace(scoring.weighting,
                       Collection{documents, static_cast<double>(lengths.words) / documents},
                       word->statistics_);
  return word;
}

Result<void> AskedWord::open_list(ListReader& reader, const AskedForm& form, const Scoring& scoring) {
  TRY(const ListedWord listed, reader.find(form.text));
  id_ = listed.id;
  TRY(list_, reader.list_of(id_));
  for (const PostingCode& code : list_->codes) {
    const std::size_t bit = std::min(frequencies_.size(), PostingList::kCodeBits - 1);
    const double frequency = weighted_frequency(code.counts, scoring.column_weights, columns_);
    frequencies_.push_back(frequency);
    most_[bit] = std::max(most_[bit], frequency);
    if (frequency < 0) continue;
    statistics_.documents += code.documents;
    statistics_.frequency += frequency * code.documents;
  }
  cursor_.emplace(*list_);
  return {};
}

Result<void> AskedWord::open_beginning(ListReader& reader, const DocumentLengths& lengths,
                                       const AskedForm& form, const Scoring& scoring) {
  TRY(const auto words, reader.begin_with(form.text, kMostBeginnings));
  by_document_.assign(lengths.lengths.size(), kIsElsewhere);
  most_in_window_.assign(lengths.lengths.size() / kDocumentsInWindow + 1, kIsElsewhere);
  for (const ListedWord& listed : words) {
    TRY(const auto list, reader.list_of(listed.id));
    std::vector<double> frequencies;
    for (const PostingCode& code : list->codes)
      frequencies.push_back(weighted_frequency(code.counts, scoring.column_weights, columns_));
    PostingCursor cursor(*list);
    for (std::uint32_t window = 0; cursor.advance(window) && !cursor.is_at_end();
         window = cursor.window() + 1) {
      if (!cursor.read(postings_)) return damaged_lists("word lists");
      for (const auto& [place, code] : postings_) {
        const std::size_t id = std::size_t{cursor.window()} * kDocumentsInWindow + place;
        if (id >= by_document_.size()) return damaged_lists("word lists");
        if (frequencies[code] < 0) continue;
        by_document_[id] = std::max(by_document_[id], 0.0) + frequencies[code];
      }
    }
    if (!cursor.is_at_end()) return damaged_lists("word lists");
  }
  for (std::size_t id = 0; id < by_document_.size(); ++id) {
    if (by_document_[id] < 0) continue;
    statistics_.documents += 1;
    statistics_.frequency += by_document_[id];
    double& most = most_in_window_[id / kDocumentsInWindow];
    most = std::max(most, by_document_[id]);
  }
  return {};
}

Result<void> AskedWord::advance(std::uint32_t window) {
  if (is_beginning_) {
    for (window_ = window; window_ < most_in_window_.size() && most_in_window_[window_] < 0;) ++window_;
    if (window_ >= most_in_window_.size()) window_ = kNoWindow;
    return {};
  }
  if (!cursor_->advance(window)) return damaged_lists("word lists");
  window_ = cursor_->is_at_end() ? kNoWindow : cursor_->window();
  return {};
}

double AskedWord::most_frequent() const {
  if (is_beginning_) return most_in_window_[window_];
  double most = 0;
  for (std::uint64_t bits = cursor_->code_bits(); bits != 0; bits &= bits - 1)
    most = std::max(most, most_[static_cast<std::size_t>(std::countr_zero(bits))]);
  return most;
}

double AskedWord::bound(const LengthNorms& norms) const {
  return share(most_frequent(), norms.of(shortest()));
}

Result<void> AskedWord::read() {
  forget();
  if (is_beginning_) {
    const std::size_t first = std::size_t{window_} * kDocumentsInWindow;
    const std::size_t end = std::min(first + kDocumentsInWindow, by_document_.size());
    for (std::size_t id = first; id < end; ++id)
      if (by_document_[id] >= 0)
        documents_.push_back({static_cast<std::uint32_t>(id - first), by_document_[id]});
  } else {
    if (!cursor_->read(postings_)) return damaged_lists("word lists");
    for (const auto& [place, code] : postings_)
      if (frequencies_[code] >= 0) documents_.push_back({place, frequencies_[code]});
  }
  for (const Document& document : documents_) set_[document.place] = true;
  return {};
}

/// Moves the cursor to the places of a posting of the current window.
Result<void> AskedWord::move_places_to(std::size_t posting) {
  if (!place_cursor_) {
    TRY(place_bytes_, reader_->places_of(id_));
    place_cursor_.emplace(place_bytes_);
  }
  if (placed_window_ != window_ || posting < next_placed_) {
    if (!place_cursor_->advance(cursor_->block())) return damaged_lists("word places");
    placed_window_ = window_;
    next_placed_ = 0;
  }
  std::uint64_t between = 0;
  for (; next_placed_ < posting; ++next_placed_) between += list_->codes[postings_[next_placed_].code].places;
  std::string_view left_out;
  if (!place_cursor_->take(between, left_out)) return damaged_lists("word places");
  return {};
}

Result<void> AskedWord::places_of(std::uint32_t place, std::vector<std::uint64_t>& places) {
  require(!is_beginning_, "a word with places");
  const auto found = std::lower_bound(
      postings_.begin(), postings_.end(), place,
      [](const PostingCursor::Posting& posting, std::uint32_t wanted) { return posting.place < wanted; });
  require(found != postings_.end() && found->place == place, "a document that has the word");
  const auto posting = static_cast<std::size_t>(found - postings_.begin());
  TRY_VOID(move_places_to(posting));
  next_placed_ = posting + 1;
  const PostingCode& code = list_->codes[found->code];
  std::string_view bytes;
  if (!place_cursor_->take(code.places, bytes) || !read_places(bytes, code.counts, columns_, places))
    return damaged_lists("word places");
  return {};
}

}  // namespace metafuse::fetchers
