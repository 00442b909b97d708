#pragma once

// One word of a query while its windows are visited.

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/engines/index/condition.h"
#include "fetchers/engines/index/weighting.h"
#include "fetchers/engines/index/word_lists.h"
#include "fetchers/engines/index/word_search.h"

namespace metafuse::fetchers {

/// A set of documents within a window, one bit each.
using WindowSet = std::bitset<PostingList::kWindow>;
inline constexpr std::uint32_t kNoWindow = ~std::uint32_t{0};

class AskedWord {
 public:
  /// A document of the current window.
  struct Document {
    std::uint32_t place;  ///< within the window
    double frequency;     ///< weighted by columns
  };

  /// errors: bad_data: damaged; those of SQLite
  static Result<std::unique_ptr<AskedWord>> open(ListReader& reader, const DocumentLengths& lengths,
                                                 const AskedForm& form, const Scoring& scoring);

  /// The first window with the word that is not before the one asked for last; kNoWindow at the end.
  std::uint32_t window() const { return window_; }
  Result<void> advance(std::uint32_t window);

  /// At least the share of any document of the current window.
  double bound(const LengthNorms& norms) const;
  double share(double frequency, double norm) const { return share_->of(frequency, norm); }

  /// Reads the documents of the current window that have the word in the columns asked for.
  Result<void> read();
  const std::vector<Document>& documents() const { return documents_; }
  const WindowSet& set() const { return set_; }
  void forget() {
    documents_.clear();
    set_.reset();
  }

  /// The word's places in a document of the current window that has the word, in the columns asked for.
  /// Requires a word that is not a beginning.
  Result<void> places_of(std::uint32_t place, std::vector<std::uint64_t>& places);

 private:
  Result<void> open_list(ListReader& reader, const AskedForm& form, const Scoring& scoring);
  Result<void> open_beginning(ListReader& reader, const DocumentLengths& lengths, const AskedForm& form,
                              const Scoring& scoring);
  Result<void> move_places_to(std::size_t posting);
  double most_frequent() const;
  std::uint32_t shortest() const { return is_beginning_ ? 1 : cursor_->shortest(); }

  ListReader* reader_ = nullptr;
  ColumnSet columns_ = kAllColumns;
  std::uint32_t window_ = 0;
  std::optional<WordShare> share_;
  WordStatistics statistics_;
  std::vector<Document> documents_;
  WindowSet set_;

  // of a word with a list
  std::int64_t id_ = 0;
  std::shared_ptr<const PostingList> list_;
  std::optional<PostingCursor> cursor_;
  std::vector<double> frequencies_;  ///< by code; below 0: not in the columns asked for
  /// The largest frequency of the codes that share each bit.
  std::array<double, PostingList::kCodeBits> most_{};
  std::vector<PostingCursor::Posting> postings_;
  std::string place_bytes_;
  std::optional<PlaceCursor> place_cursor_;
  std::uint32_t placed_window_ = kNoWindow;  ///< where place_cursor_ stands
  std::size_t next_placed_ = 0;              ///< the posting of that window whose places it takes next

  // of a beginning: all its words together
  bool is_beginning_ = false;
  std::vector<double> by_document_;     ///< frequency; below 0: none
  std::vector<double> most_in_window_;  ///< below 0: none
};

}  // namespace metafuse::fetchers
