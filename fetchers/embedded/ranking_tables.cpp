#include "fetchers/embedded/ranking_tables.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "core/utf8.h"
#include "fetchers/embedded/local_engine.h"
#include "fetchers/embedded/word_finder.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kLengthsInRow = 16384;
constexpr std::size_t kMaxDocumentId = 0xfffffffe;

Error damaged_ranking(std::string_view what) {
  return fail(Code::bad_data, fmt::format("the index's {} are damaged; rebuild the index", what));
}

/// The sum of the numbers in FTS5's column `sz`: seven bits per byte, highest first.
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

/// Reads the lengths from FTS5's own table.
Result<DocumentLengths> count_lengths(SqliteDatabase& database, const std::string& table) {
  DocumentLengths out;
  std::uint64_t checksum = 0;
  TRY(auto row, database.prepare("SELECT id, sz FROM " + table + "_docsize ORDER BY id"));
  while (true) {
    TRY(const bool has_row, row.step());
    if (!has_row) break;
    const auto id = static_cast<std::uint64_t>(row.integer(0));
    const std::uint64_t length = sum_of_sizes(row.bytes(1));
    if (id >= kMaxDocumentId || length > 0xffffffff) return damaged_ranking("document lengths");
    out.lengths.resize(static_cast<std::size_t>(id) + 1);
    out.lengths.back() = static_cast<std::uint32_t>(length);
    ++out.documents;
    out.words += length;
    checksum = (checksum ^ (id << 32) ^ length) * 0x9e3779b97f4a7c15;
  }
  out.version = fmt::format("{} {} {:x}", out.documents, out.words, checksum);
  return out;
}

/// in:     changed - number of documents changed since the common words were last determined
Result<void> write_lengths(SqliteDatabase& database, const std::string& table, std::uint64_t changed,
                           const DocumentLengths& lengths) {
  TRY(auto summary, database.prepare("INSERT OR REPLACE INTO ranking VALUES(?, ?, ?, ?, ?)"));
  summary.bind(1, table);
  summary.bind(2, lengths.version);
  summary.bind(3, static_cast<std::int64_t>(lengths.documents));
  summary.bind(4, static_cast<std::int64_t>(lengths.words));
  summary.bind(5, static_cast<std::int64_t>(changed));
  TRY_VOID(summary.step());
  TRY(auto before, database.prepare("DELETE FROM ranking_lengths WHERE words_table=?"));
  before.bind(1, table);
  TRY_VOID(before.step());
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

/// Calls `take` with the id and counts of each document that contains a word, in ascending order of ids.
/// in:     places - selects (document, column) for each occurrence of a word
template <class Take>
Result<void> for_each_document(SqliteStatement& places, std::string_view word,
                               const std::vector<std::string>& columns, const Take& take) {
  std::int64_t document = -1;
  ColumnCounts counts;
  places.bind(1, word);
  while (true) {
    auto has_row = places.step();
    if (!has_row) return has_row.error();
    const std::int64_t id = *has_row ? places.integer(0) : -1;
    if (id != document && !counts.empty()) {
      TRY_VOID(take(document, counts));
      counts.clear();
    }
    if (!*has_row) break;
    if (id < 0 || id < document) return damaged_ranking("words");
    document = id;
    const std::string_view name = places.text(1);
    const auto column =
        static_cast<std::uint32_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
    if (counts.empty() || counts.back().first != column)
      counts.emplace_back(column, 1);
    else
      ++counts.back().second;
  }
  places.reset();
  return {};
}

/// Builds a word's list from the full-text index.
Result<std::string> list_from_places(SqliteStatement& places, std::string_view word,
                                     const std::vector<std::string>& columns,
                                     const std::vector<std::uint32_t>& lengths) {
  PostingListWriter writer(lengths);
  TRY_VOID(for_each_document(places, word, columns,
                             [&](std::int64_t id, const ColumnCounts& counts) -> Result<void> {
                               if (static_cast<std::uint64_t>(id) >= lengths.size())
                                 return damaged_ranking("document lengths");
                               writer.add(static_cast<std::uint32_t>(id), writer.code_of(counts));
                               return {};
                             }));
  return writer.finish();
}

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
  TRY_VOID(write_lengths(database, table, 0, lengths));
  TRY(const auto words, common_words(database, table, options.common_word));
  TRY_VOID(database.run(create_places(table).c_str()));
  {
    TRY(auto places, database.prepare(select_places(table)));
    TRY(auto insert, database.prepare("INSERT INTO ranking_words VALUES(?, ?, ?)"));
    for (const std::string& word : words) {
      if (options.is_interrupted && options.is_interrupted()) return fail(Code::try_again, "interrupted");
      TRY(const std::string list, list_from_places(places, word, columns, lengths.lengths));
      insert.bind(1, table);
      insert.bind(2, word);
      insert.bind_bytes(3, list);
      TRY_VOID(insert.step());
      insert.reset();
    }
  }
  return database.run(("DROP TABLE temp.places_" + table + ";").c_str());
}

struct RankingState {
  std::uint64_t documents = 0, changed = 0;
};

/// nullopt for an index without ranking tables.
Result<std::optional<RankingState>> ranking_state(SqliteDatabase& database, const std::string& table) {
  using State = std::optional<RankingState>;
  auto row = database.prepare("SELECT documents, changed FROM ranking WHERE words_table=?");
  if (!row) return State();
  row->bind(1, table);
  TRY(const bool has_row, row->step());
  if (!has_row) return State();
  return State({static_cast<std::uint64_t>(row->integer(0)), static_cast<std::uint64_t>(row->integer(1))});
}

/// Inserts renewed documents into a temporary full-text table, temp.renewed.
Result<void> index_renewed(SqliteDatabase& database, const WordsTable& table,
                           const std::vector<std::string>& columns, const ChangedDocuments& changed) {
  const std::string names = joined_columns(columns);
  TRY_VOID(database.run(
      ("CREATE VIRTUAL TABLE temp.renewed USING fts5(" + names + ", content='', tokenize='" +
       std::string(tokenizer_arguments(table.tokenizer)) +
       "'); CREATE VIRTUAL TABLE temp.renewed_places USING fts5vocab('temp', 'renewed', 'instance');")
          .c_str()));
  TRY(auto insert, database.prepare("INSERT INTO temp.renewed(rowid, " + names + ") VALUES(?, " +
                                    joined_columns(columns, true) + ")"));
  for (const std::int64_t id : changed.renewed) {
    TRY(const SourceDocument document, changed.read(id));
    insert.bind(1, id);
    for (std::size_t i = 0; i < columns.size(); ++i)
      insert.bind(static_cast<int>(i) + 2, to_valid_utf8(field_of(document, columns[i])));
    TRY_VOID(insert.step());
    insert.reset();
  }
  return {};
}

/// Rewrites a list: changed documents are removed from it, and added as they are in temp.renewed.
class ListRenewal {
 public:
  ListRenewal(SqliteDatabase& database, const std::vector<std::string>& columns,
              const std::vector<std::uint32_t>& lengths, const ChangedDocuments& changed)
      : database_(database), columns_(columns), lengths_(lengths), changed_(changed.renewed) {
    changed_.insert(changed_.end(), changed.removed.begin(), changed.removed.end());
    std::sort(changed_.begin(), changed_.end());
  }

  Result<std::string> renew(std::string_view word, std::string before) {
    PostingListWriter writer(lengths_);
    std::vector<Entry> entries;
    if (!read_kept(std::move(before), writer, entries)) return damaged_ranking("word lists");
    const auto kept = static_cast<std::ptrdiff_t>(entries.size());
    if (!places_) {
      TRY(auto places, database_.prepare("SELECT doc, col FROM temp.renewed_places WHERE term = ?"));
      places_.emplace(std::move(places));
    }
    TRY_VOID(for_each_document(*places_, word, columns_,
                               [&](std::int64_t id, const ColumnCounts& counts) -> Result<void> {
                                 entries.emplace_back(static_cast<std::uint32_t>(id), writer.code_of(counts));
                                 return {};
                               }));
    std::inplace_merge(entries.begin(), entries.begin() + kept, entries.end());
    for (const auto& [id, code] : entries) {
      if (id >= lengths_.size()) return damaged_ranking("document lengths");
      writer.add(id, code);
    }
    return writer.finish();
  }

 private:
  using Entry = std::pair<std::uint32_t, std::uint32_t>;  // document, code

  bool read_kept(std::string before, PostingListWriter& writer, std::vector<Entry>& entries) {
    const auto list = PostingList::read(std::move(before));
    if (!list) return false;
    std::vector<std::uint32_t> codes;
    for (const PostingCode& code : list->codes) codes.push_back(writer.code_of(code.counts));
    auto changed = changed_.begin();
    PostingCursor cursor(*list);
    for (std::uint32_t window = 0;; window = cursor.window() + 1) {
      if (!cursor.advance(window)) return false;
      if (cursor.is_at_end()) return true;
      if (!cursor.read(postings_)) return false;
      const std::uint32_t first = cursor.window() * PostingList::kWindow;
      for (std::uint32_t i = 0; i < cursor.documents(); ++i) {
        const std::uint32_t id = first + postings_[i].place;
        while (changed != changed_.end() && *changed < id) ++changed;
        if (changed == changed_.end() || *changed != id) entries.emplace_back(id, codes[postings_[i].code]);
      }
    }
  }

  SqliteDatabase& database_;
  const std::vector<std::string>& columns_;
  const std::vector<std::uint32_t>& lengths_;
  std::vector<std::int64_t> changed_;
  std::optional<SqliteStatement> places_;
  std::array<PostingCursor::Posting, PostingList::kWindow> postings_;
};

Result<void> renew_lists(SqliteDatabase& database, const std::string& table,
                         const std::vector<std::string>& columns, const std::vector<std::uint32_t>& lengths,
                         const ChangedDocuments& changed, const IndexOptions& options) {
  TRY(auto words,
      database.prepare("SELECT rowid, word, postings FROM ranking_words WHERE words_table=? AND rowid>? "
                       "ORDER BY rowid LIMIT 1"));
  TRY(auto update, database.prepare("UPDATE ranking_words SET postings=? WHERE rowid=?"));
  ListRenewal renewal(database, columns, lengths, changed);
  for (std::int64_t last = 0;;) {
    if (options.is_interrupted && options.is_interrupted()) return fail(Code::try_again, "interrupted");
    words.bind(1, table);
    words.bind(2, last);
    TRY(const bool has_row, words.step());
    if (!has_row) return {};
    last = words.integer(0);
    const std::string word(words.text(1));
    std::string before(words.bytes(2));
    words.reset();
    TRY(const std::string after, renewal.renew(word, std::move(before)));
    update.bind_bytes(1, after);
    update.bind(2, last);
    TRY_VOID(update.step());
    update.reset();
  }
}

}  // namespace

Result<void> write_ranking(SqliteDatabase& database, const IndexShape& shape, const IndexOptions& options) {
  TRY_VOID(
      database.run("DROP TABLE IF EXISTS ranking; DROP TABLE IF EXISTS ranking_lengths; DROP TABLE IF EXISTS "
                   "ranking_words;"
                   "CREATE TABLE ranking(words_table TEXT PRIMARY KEY, version TEXT NOT NULL, documents "
                   "INTEGER NOT NULL, words "
                   "INTEGER NOT NULL, changed INTEGER NOT NULL);"
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

Result<void> update_ranking(SqliteDatabase& database, const IndexShape& shape, const IndexOptions& options,
                            const ChangedDocuments& changed) {
  const std::size_t count = changed.renewed.size() + changed.removed.size();
  std::vector<RankingState> states;
  for (const WordsTable& table : shape.tables) {
    TRY(const auto state, ranking_state(database, table.name));
    // once a fifth has changed, other words may be the common ones
    if (!state || (state->changed + count) * 5 > state->documents)
      return write_ranking(database, shape, options);
    states.push_back(*state);
  }
  if (count == 0) return {};
  for (std::size_t i = 0; i < shape.tables.size(); ++i) {
    const WordsTable& table = shape.tables[i];
    TRY(const auto lengths, count_lengths(database, table.name));
    TRY_VOID(write_lengths(database, table.name, states[i].changed + count, lengths));
    TRY_VOID(index_renewed(database, table, shape.columns, changed));
    TRY_VOID(renew_lists(database, table.name, shape.columns, lengths.lengths, changed, options));
    TRY_VOID(database.run("DROP TABLE temp.renewed_places; DROP TABLE temp.renewed;"));
  }
  return {};
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
      return damaged_ranking("document lengths");
    out.lengths.resize(at + bytes.size() / sizeof(std::uint32_t));
    std::memcpy(out.lengths.data() + at, bytes.data(), bytes.size());
  }
  if (out.documents == 0 || out.words == 0 || out.documents > out.lengths.size())
    return damaged_ranking("document lengths");
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
    TRY(bytes, list_from_places(places_, word, columns_, lengths.lengths));
  }
  auto list = std::make_shared<PostingList>();
  auto read = PostingList::read(std::move(bytes));
  if (!read) return damaged_ranking("word lists");
  *list = std::move(*read);
  return std::shared_ptr<const PostingList>(std::move(list));
}

}  // namespace metafuse::fetchers
