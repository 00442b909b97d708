#pragma once

// Passages from the documents of an embedded index, and their whole texts. Its table `texts` keeps the texts
// that are longer than what `pages` shows, each compressed by zstd.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "core/sqlite_database.h"
#include "core/tracking_parameters.h"
#include "fetchers/model/passage.h"

namespace metafuse::fetchers {

inline constexpr const char* kCreateTexts =
    "CREATE TABLE texts(id INTEGER PRIMARY KEY, url TEXT NOT NULL, text BLOB NOT NULL);"
    "CREATE INDEX texts_by_url ON texts(url);";

/// Of longer texts, `texts` keeps the beginning.
inline constexpr std::size_t kKeptTextBytes = std::size_t{256} << 10;

/// The ids of documents by their addresses; 0 for one that the index does not have.
///
/// errors: those of SQLite
/// cost:   a look-up per address; one pass over all documents of some indexes of older programs
Result<std::vector<std::int64_t>> ids_of_urls(SqliteDatabase& index, std::span<const std::string> urls);

/// As ids_of_urls(), for addresses as results have them: without their tracking parameters.
///
/// cost:   for an address that the index does not have as it is, a look at those that differ in parameters,
///         at most 100
Result<std::vector<std::int64_t>> ids_of_results(SqliteDatabase& index, std::span<const std::string> urls,
                                                 const TrackingParameters& tracking);

/// A document as an index keeps it to be read.
struct KeptText {
  std::string title;
  std::string text;  ///< plain; at most its first kKeptTextBytes
};

/// The documents of an index that have given addresses.
///
/// in:     urls - as results have them
/// out:    one per address; nothing for an address that the index does not hold
/// errors: as LocalEngine::search()
/// cost:   opens the file; a look-up per address, and kKeptTextBytes for each that is found
Result<std::vector<std::optional<KeptText>>> kept_texts(const std::string& database,
                                                        std::span<const std::string> urls,
                                                        const TrackingParameters& tracking,
                                                        const Deadline& deadline);

/// Finds passages. Thread-safe.
class PassageSource {
 public:
  /// in: tracking - the parameters that the addresses of hits lack
  explicit PassageSource(std::string database, TrackingParameters tracking = default_tracking_parameters());
  ~PassageSource();
  PassageSource(const PassageSource&) = delete;
  PassageSource& operator=(const PassageSource&) = delete;

  /// in:     words - what was asked, in plain words; hits - of this index
  /// out:    one per hit; the text is empty if no word occurs, or the deadline has passed
  /// errors: as LocalEngine::search()
  /// cost:   reads at most kKeptTextBytes per hit
  Result<std::vector<Passage>> passages(std::string_view words, std::span<const Hit* const> hits,
                                        const Deadline& deadline);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace metafuse::fetchers
