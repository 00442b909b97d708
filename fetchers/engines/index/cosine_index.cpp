#include "fetchers/engines/index/cosine_index.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/number_bytes.h"
#include "fetchers/engines/index/word_lists.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kLengthsPerRow = 4096;

/// Writes the lengths of all vectors, some thousand documents per row.
Result<void> write_vector_lengths(SqliteDatabase& database, const std::vector<double>& squares) {
  TRY(auto row, database.prepare("INSERT INTO cosine_lengths VALUES(?, ?)"));
  const std::size_t documents = squares.size() / kWordKinds.size();
  double sum = 0;
  for (std::size_t begin = 0; begin < documents; begin += kLengthsPerRow) {
    const std::size_t end = std::min(begin + kLengthsPerRow, documents);
    std::vector<float> lengths;
    for (std::size_t i = begin * kWordKinds.size(); i < end * kWordKinds.size(); ++i) {
      lengths.push_back(static_cast<float>(std::sqrt(squares[i])));
      sum += lengths.back() * static_cast<double>(i % 1009 + 1);
    }
    TRY_VOID(row.run(begin, SqliteBytes{bytes_of<float>(lengths)}));
  }
  TRY(auto meta, database.prepare("INSERT OR REPLACE INTO meta VALUES('cosine', ?)"));
  return meta.run(fmt::format("{} {:.17g}", documents - 1, sum));
}

}  // namespace

ColumnSet cosine_columns(const ListShape& shape) {
  ColumnSet columns = 0;
  for (std::size_t i = 0; i < shape.columns.size(); ++i)
    if (shape.columns[i] == "title" || shape.columns[i] == "text") columns |= ColumnSet{1} << i;
  return columns;
}

double part_weight(std::uint32_t count, std::size_t documents, std::size_t with_it) {
  return (1 + std::log(static_cast<double>(count))) *
         std::log1p(static_cast<double>(documents) / static_cast<double>(with_it));
}

Result<void> write_cosine(SqliteDatabase& database, const ListShape& shape, std::size_t last_id,
                          const IsInterrupted& is_interrupted) {
  TRY_VOID(drop_cosine(database));
  TRY_VOID(database.run(
      "CREATE TABLE cosine_lengths(first INTEGER PRIMARY KEY, lengths BLOB NOT NULL) WITHOUT ROWID;"));
  std::vector<double> squares((last_id + 1) * kWordKinds.size());
  std::vector<Posting> postings;
  for (std::size_t kind = 0; kind < kWordKinds.size(); ++kind) {
    const auto add_list = [&](const ListedWord&, const PostingList& list) -> Result<void> {
      TRY_VOID(check_interrupt(is_interrupted));
      if (!read_postings(list, cosine_columns(shape), postings)) return damaged_lists("word lists");
      for (const Posting& posting : postings) {
        if (posting.document > last_id) return damaged_lists("word lists");
        const double weight = part_weight(posting.count, last_id, postings.size());
        squares[posting.document * kWordKinds.size() + kind] += weight * weight;
      }
      return {};
    };
    TRY_VOID(for_each_list(database, kWordKinds[kind], add_list));
  }
  return write_vector_lengths(database, squares);
}

bool has_cosine(SqliteDatabase& database) {
  return finds_row(database, "SELECT 1 FROM meta WHERE name='cosine'");
}

Result<void> drop_cosine(SqliteDatabase& database) {
  return database.run("DROP TABLE IF EXISTS cosine_lengths; DELETE FROM meta WHERE name='cosine';");
}

}  // namespace metafuse::fetchers
