#pragma once

// What building and updating the lists of an index share.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/list_builder.h"
#include "fetchers/engines/index/posting_list.h"
#include "fetchers/engines/index/word_lists.h"

namespace metafuse::fetchers {

/// Adds documents to a writer's list.
class ListFiller {
 public:
  explicit ListFiller(const std::vector<std::uint32_t>& lengths) : writer(lengths) {}

  void add(const WordDocument& document) {
    places_.clear();
    if (!document.places.empty()) append_places(places_, document.counts, document.places);
    if (document.counts != last_counts_) {
      last_counts_ = document.counts;
      last_code_ = writer.code_of(document.counts);
    }
    writer.add(document.id, last_code_, places_);
  }

  PostingBytes finish(bool orders_codes = true) {
    last_counts_.clear();
    return writer.finish(orders_codes);
  }

  PostingListWriter writer;

 private:
  ColumnCounts last_counts_;
  std::uint32_t last_code_ = 0;
  std::string places_;
};

/// Inserts the parts of a word's list.
/// in:     insert - "INSERT INTO list_parts VALUES(?, ?, ?)"
Result<void> insert_parts(SqliteStatement& insert, std::int64_t word, const PostingBytes& list);

/// Replaces the lengths of the documents in one kind of list, and its numbers of documents and words.
Result<void> write_lengths(SqliteDatabase& database, WordKind kind, DocumentLengths lengths);

}  // namespace metafuse::fetchers
