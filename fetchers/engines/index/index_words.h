#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "core/file_pool.h"
#include "core/result.h"
#include "core/tracking_parameters.h"

namespace metafuse::fetchers {

/// The vocabulary of an embedded index, for completing and correcting queries.
struct IndexWords {
  std::vector<std::string> titles;  ///< in the order of the documents, or by their numbers
  /// Folded word, number of documents that contain it.
  std::vector<std::pair<std::string, std::size_t>> words;
};

struct IndexWordsOptions {
  std::string order_by{};  ///< a number of the documents: the title with the largest comes first
  std::size_t most_titles = 200'000;
  std::size_t most_words = 100'000;
  /// That contain a word: if it is only one, the word may be a typing error.
  std::size_t fewest_documents = 2;
};

/// in:     database - an index built by `metafuse index`
/// out:    no words if the index has no list of whole words
/// errors: no_input, bad_data: as LocalEngine::search()
/// cost:   one pass over the titles and one over the index's terms; about 50 ms for 30,000 documents
Result<IndexWords> read_index_words(const std::string& database, const IndexWordsOptions& options = {});

/// Tells which and how many documents of an embedded index contain given words. Not thread-safe.
class IndexCounter {
 public:
  ~IndexCounter();
  IndexCounter(IndexCounter&&) noexcept;

  /// The number of documents that contain at least one word of every group, stop words too, at most `most`.
  /// Also 0 if the index cannot tell.
  std::size_t documents_with(const std::vector<std::vector<std::string>>& groups, std::size_t most);

  /// Whether searches leave a word out if others are asked for.
  bool is_stop_word(const std::string& word) const;

  /// As ids_of_results().
  Result<std::vector<std::int64_t>> ids_of(std::span<const std::string> urls);

  /// Which documents contain a word, or words one behind the other, in any of their columns. Words count in
  /// the forms of the index's list: stems, if it has them.
  ///
  /// in:     ids - ascending, each once
  /// out:    one per id; nullopt if the text has no word, or the index only has parts of words
  /// errors: try_again: the deadline passed; bad_data: damaged; those of SQLite
  Result<std::optional<std::vector<bool>>> which_contain(std::string_view text,
                                                         std::span<const std::int64_t> ids,
                                                         const Deadline& deadline);

 private:
  friend class IndexCounters;
  struct Reader;
  struct Shared;
  using Taken = FilePool<std::unique_ptr<Reader>>::Taken;

  IndexCounter(std::shared_ptr<Shared> shared, Taken reader);

  std::shared_ptr<Shared> shared_;  ///< gets the reader back
  Taken reader_;
};

/// The counters of one index. Each keeps the file open for the next one that is taken, until the file is
/// replaced. Thread-safe.
class IndexCounters {
 public:
  /// in: tracking - the parameters that the addresses of results lack
  explicit IndexCounters(const std::string& database,
                         TrackingParameters tracking = default_tracking_parameters());
  ~IndexCounters();

  /// errors: as read_index_words()
  /// cost:   opens the file if all open counters are taken, or the file was replaced
  Result<IndexCounter> take() const;

 private:
  std::shared_ptr<IndexCounter::Shared> shared_;
};

}  // namespace metafuse::fetchers
