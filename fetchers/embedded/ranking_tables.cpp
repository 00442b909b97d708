#include "fetchers/embedded/ranking_tables.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "fetchers/embedded/local_engine.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kLengthsInRow = 16384;
constexpr std::size_t kMaxDocumentId = 0xfffffffe;

Error damaged_ranking(std::string_view what) {
  return fail(Code::bad_data, fmt::format("the index's {} are damaged; build it anew", what));
}

/// The sum of the numbers of FTS5's `sz`: seven bits a byte, the highest first.
std::uint64_t sum_of_sizes(std::string_view bytes) {
  std::uint64_t sum = 0;
  std::uint64_t value = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    value = value << 7 | (byte & 0x7f);
    if ((byte & 0x80) != 0) continue;
    sum += value;
    value = 0;
  }
  return sum;
}

/// From FTS5's own table.
Result<DocumentLengths> count_lengths(SqliteDatabase& database, const std::string& table) {
  DocumentLengths out;
  std::uint64_t checksum = 0;
  TRY(auto row, database.prepare("SELECT id, sz FROM " + table + "_docsize ORDER BY id"));
  while (true) {
    TRY(const bool has_row, row.step());
    if (!has_row) break;
    const auto id = static_cast<std::uint64_t>(row.integer(0));
    const std::uint64_t length = sum_of_sizes(row.bytes(1));
    if (id >= kMaxDocumentId || length > 0xffffffff) return damaged_ranking("lengths of documents");
    out.lengths.resize(static_cast<std::size_t>(id) + 1);
    out.lengths.back() = static_cast<std::uint32_t>(length);
    ++out.documents;
    out.words += length;
    checksum = (checksum ^ (id << 32) ^ length) * 0x9e3779b97f4a7c15;
  }
  out.version = fmt::format("{} {} {:x}", out.documents, out.words, checksum);
  return out;
}

Result<void> write_lengths(SqliteDatabase& database, const std::string& table,
                           const DocumentLengths& lengths) {
  TRY(auto summary, database.prepare("INSERT INTO ranking VALUES(?, ?, ?, ?)"));
  summary.bind(1, table);
  summary.bind(2, lengths.version);
  summary.bind(3, static_cast<std::int64_t>(lengths.documents));
  summary.bind(4, static_cast<std::int64_t>(lengths.words));
  TRY_VOID(summary.step());
  TRY(auto row, database.prepare("INSERT INTO ranking_lengths VALUES(?, ?, ?)"));
  const auto& all = lengths.lengths;
  for (std::size_t begin = 0; begin < all.size(); begin += kLengthsInRow) {
    const std::size_t count = std::min(kLengthsInRow, all.size() - begin);
    row.bind(1, table);
    row.bind(2, static_cast<std::int64_t>(begin));
    row.bind_bytes(3, {reinterpret_cast<const char*>(all.data() + begin), count * sizeof(std::uint32_t)});
    TRY_VOID(row.step());
    row.reset();
  }
  return {};
}

/// The numbers of columns by their names.
class ColumnNumbers {
 public:
  explicit ColumnNumbers(const std::vector<std::string>& columns) : columns_(columns) {}

  std::uint32_t of(std::string_view name) const {
    const auto found = std::find(columns_.begin(), columns_.end(), name);
    return static_cast<std::uint32_t>(found - columns_.begin());
  }

 private:
  const std::vector<std::string>& columns_;
};

/// Reads one word's list from rows of (document, column) for each of its places.
class PlacesReader {
 public:
  PlacesReader(const std::vector<std::string>& columns, const std::vector<std::uint32_t>& lengths)
      : columns_(columns), writer_(lengths), last_id_(lengths.size()) {}

  Result<std::string> read(SqliteStatement& places, std::string_view word) {
    places.bind(1, word);
    while (true) {
      auto has_row = places.step();
      if (!has_row) return has_row.error();
      if (!*has_row) break;
      TRY_VOID(take(places.integer(0), columns_.of(places.text(1))));
    }
    places.reset();
    end_document();
    return writer_.finish();
  }

 private:
  Result<void> take(std::int64_t id, std::uint32_t column) {
    if (id < 0 || static_cast<std::uint64_t>(id) >= last_id_ || (!counts_.empty() && id < document_))
      return damaged_ranking("documents");
    if (id != document_) end_document();
    document_ = id;
    if (counts_.empty() || counts_.back().first != column)
      counts_.emplace_back(column, 1);
    else
      ++counts_.back().second;
    return {};
  }

  void end_document() {
    if (!counts_.empty()) writer_.add(static_cast<std::uint32_t>(document_), counts_);
    counts_.clear();
  }

  ColumnNumbers columns_;
  PostingListWriter writer_;
  std::size_t last_id_;
  std::int64_t document_ = -1;
  ColumnCounts counts_;
};

std::string create_places(const std::string& table) {
  return "CREATE VIRTUAL TABLE temp.places_" + table + " USING fts5vocab('main', '" + table +
         "', 'instance');";
}

std::string select_places(const std::string& table) {
  return "SELECT doc, col FROM temp.places_" + table + " WHERE term = ?";
}

Result<std::vector<std::string>> common_words(SqliteDatabase& database, const std::string& table,
                                              std::int64_t common_word) {
  std::vector<std::string> words;
  TRY_VOID(database.run(
      ("CREATE VIRTUAL TABLE temp.ranking_terms USING fts5vocab('main', '" + table + "', 'row');").c_str()));
  {
    TRY(auto row, database.prepare("SELECT term FROM temp.ranking_terms WHERE cnt >= ?"));
    row.bind(1, common_word);
    while (true) {
      TRY(const bool has_row, row.step());
      if (!has_row) break;
      words.emplace_back(row.text(0));
    }
  }
  TRY_VOID(database.run("DROP TABLE temp.ranking_terms;"));
  return words;
}

Result<void> write_table(SqliteDatabase& database, const std::string& table,
                         const std::vector<std::string>& columns, const IndexOptions& options) {
  TRY(const auto lengths, count_lengths(database, table));
  TRY_VOID(write_lengths(database, table, lengths));
  TRY(const auto words, common_words(database, table, options.common_word));
  TRY_VOID(database.run(create_places(table).c_str()));
  {
    TRY(auto places, database.prepare(select_places(table)));
    TRY(auto insert, database.prepare("INSERT INTO ranking_words VALUES(?, ?, ?)"));
    PlacesReader reader(columns, lengths.lengths);
    for (const std::string& word : words) {
      if (options.is_interrupted && options.is_interrupted()) return fail(Code::try_again, "interrupted");
      TRY(const std::string list, reader.read(places, word));
      insert.bind(1, table);
      insert.bind(2, word);
      insert.bind_bytes(3, list);
      TRY_VOID(insert.step());
      insert.reset();
    }
  }
  return database.run(("DROP TABLE temp.places_" + table + ";").c_str());
}

}  // namespace

Result<void> write_ranking(SqliteDatabase& database, const IndexShape& shape, const IndexOptions& options) {
  TRY_VOID(
      database.run("DROP TABLE IF EXISTS ranking; DROP TABLE IF EXISTS ranking_lengths; DROP TABLE IF EXISTS "
                   "ranking_words;"
                   "CREATE TABLE ranking(words_table TEXT PRIMARY KEY, version TEXT NOT NULL, documents "
                   "INTEGER NOT NULL, words "
                   "INTEGER NOT NULL);"
                   "CREATE TABLE ranking_lengths(words_table TEXT, first INTEGER, lengths BLOB NOT NULL, "
                   "PRIMARY KEY(words_table, "
                   "first));"
                   "CREATE TABLE ranking_words(words_table TEXT, word TEXT, postings BLOB NOT NULL, PRIMARY "
                   "KEY(words_table, "
                   "word));"));
  for (const WordsTable& table : shape.tables)
    TRY_VOID(write_table(database, table.name, shape.columns, options));
  return {};
}

bool has_ranking(SqliteDatabase& database, const IndexShape& shape) {
  auto row = database.prepare("SELECT count(*) FROM ranking");
  if (!row) return false;
  const auto has_row = row->step();
  return has_row && *has_row && row->integer(0) == static_cast<std::int64_t>(shape.tables.size());
}

Result<std::optional<RankingReader>> RankingReader::open(SqliteDatabase& database, const std::string& table,
                                                         const std::vector<std::string>& columns) {
  auto version = database.prepare("SELECT version FROM ranking WHERE words_table=?");
  if (!version) return std::optional<RankingReader>();
  version->bind(1, table);
  TRY(const bool is_there, version->step());
  if (!is_there) return std::optional<RankingReader>();
  RankingReader reader;
  reader.table_ = table;
  reader.version_ = version->text(0);
  reader.columns_ = columns;
  TRY_VOID(database.run(create_places(table).c_str()));
  TRY(reader.places_, database.prepare(select_places(table), true));
  TRY(reader.common_,
      database.prepare("SELECT postings FROM ranking_words WHERE words_table=?1 AND word=?2", true));
  return std::optional<RankingReader>(std::move(reader));
}

Result<DocumentLengths> RankingReader::read_lengths(SqliteDatabase& database) const {
  DocumentLengths out;
  out.version = version_;
  TRY(auto summary, database.prepare("SELECT documents, words FROM ranking WHERE words_table=?"));
  summary.bind(1, table_);
  TRY_VOID(summary.step());
  out.documents = static_cast<std::uint64_t>(summary.integer(0));
  out.words = static_cast<std::uint64_t>(summary.integer(1));
  TRY(auto row,
      database.prepare("SELECT first, lengths FROM ranking_lengths WHERE words_table=? ORDER BY first"));
  row.bind(1, table_);
  while (true) {
    TRY(const bool has_row, row.step());
    if (!has_row) break;
    const std::string_view bytes = row.bytes(1);
    const std::size_t at = out.lengths.size();
    if (bytes.empty() || bytes.size() % sizeof(std::uint32_t) != 0 ||
        row.integer(0) != static_cast<std::int64_t>(at))
      return damaged_ranking("lengths of documents");
    out.lengths.resize(at + bytes.size() / sizeof(std::uint32_t));
    std::memcpy(out.lengths.data() + at, bytes.data(), bytes.size());
  }
  if (out.documents == 0 || out.words == 0 || out.documents > out.lengths.size())
    return damaged_ranking("lengths of documents");
  return out;
}

Result<std::shared_ptr<const PostingList>> RankingReader::list_of(std::string_view word,
                                                                  const DocumentLengths& lengths) {
  common_.bind(1, table_);
  common_.bind(2, word);
  TRY(const bool is_common, common_.step());
  std::string bytes = is_common ? std::string(common_.bytes(0)) : std::string();
  common_.reset();
  if (!is_common) {
    PlacesReader reader(columns_, lengths.lengths);
    TRY(bytes, reader.read(places_, word));
  }
  auto list = std::make_shared<PostingList>();
  auto read = PostingList::read(std::move(bytes));
  if (!read) return damaged_ranking("lists of words");
  *list = std::move(*read);
  return std::shared_ptr<const PostingList>(std::move(list));
}

}  // namespace metafuse::fetchers
