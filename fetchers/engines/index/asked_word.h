#pragma once

// One word of a query while its windows are visited.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/engines/index/condition.h"
#include "fetchers/engines/index/weighting.h"
#include "fetchers/engines/index/window_set.h"
#include "fetchers/engines/index/word_lists.h"
#include "fetchers/engines/index/word_search.h"

namespace metafuse::fetchers {

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
  /// A document of the current window; nullptr if it does not have the word.
  const Document* find(std::uint32_t place) const;
  const WindowSet& set() const { return set_; }
  void forget() {
    documents_.clear();
    set_ = {};
  }

  /// The word's places in a document of the current window that has the word, in the columns asked for.
  /// Requires a word that is not a beginning.
  Result<void> places_of(std::uint32_t place, std::vector<std::uint64_t>& places);

 private:
  /// A list, and how often its codes say that a document has the word.
  struct List {
    std::int64_t id = 0;
    std::shared_ptr<const PostingList> list;
    PostingCursor cursor;
    std::vector<double> frequencies;  ///< by code; below 0: not in the columns asked for
    /// The largest frequency of the codes that share each bit.
    std::vector<double> most;
  };

  Result<void> open_list(ListReader& reader, std::int64_t id, const Scoring& scoring, double documents);
  Result<void> move_places_to(std::size_t posting);
  static double most_frequent(const List& list);
  Result<void> read_beginning();

  ListReader* reader_ = nullptr;
  ColumnSet columns_ = kAllColumns;
  bool is_beginning_ = false;
  std::vector<List> lists_;  ///< one, or those of all words that begin so
  std::uint32_t window_ = 0;
  std::optional<WordShare> share_;
  WordStatistics statistics_;
  double without_ = 1;  ///< the share of documents that have none of the words, if these are independent
  std::vector<Document> documents_;
  WindowSet set_;

  // of a word that is no beginning
  std::vector<PostingCursor::Posting> postings_;
  std::uint32_t read_window_ = kNoWindow;  ///< whose postings these are
  std::string place_bytes_;
  std::optional<PlaceCursor> place_cursor_;
  std::size_t placed_part_ = 0;              ///< of the list, whose places place_cursor_ reads
  std::uint32_t placed_window_ = kNoWindow;  ///< where it stands
  std::size_t next_placed_ = 0;              ///< the posting of that window whose places it takes next
};

}  // namespace metafuse::fetchers
