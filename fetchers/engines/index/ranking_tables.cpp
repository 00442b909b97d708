#include "fetchers/engines/index/ranking_tables.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/number_bytes.h"
#include "fetchers/engines/index/word_finder.h"

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
  TRY(auto rows, database.prepare("SELECT id, sz FROM " + table + "_docsize ORDER BY id"));
  TRY_VOID(rows.for_each_row([&](const SqliteRow& row) -> Result<void> {
    const auto id = static_cast<std::uint64_t>(row.integer(0));
    const std::uint64_t length = sum_of_sizes(row.bytes(1));
    if (id >= kMaxDocumentId || length > 0xffffffff) return damaged_ranking("document lengths");
    out.lengths.resize(static_cast<std::size_t>(id) + 1);
    out.lengths.back() = static_cast<std::uint32_t>(length);
    ++out.documents;
    out.words += length;
    checksum = (checksum ^ (id << 32) ^ length) * 0x9e3779b97f4a7c15;
    return {};
  }));
  out.version = fmt::format("{} {} {:x}", out.documents, out.words, checksum);
  return out;
}

/// in:     changed - number of documents changed since the common words were last determined
Result<void> write_lengths(SqliteDatabase& database, const std::string& table, std::uint64_t changed,
                           const DocumentLengths& lengths) {
  TRY(auto summary, database.prepare("INSERT OR REPLACE INTO ranking VALUES(?, ?, ?, ?, ?)"));
  TRY_VOID(summary.run(table, lengths.version, lengths.documents, lengths.words, changed));
  TRY(auto before, database.prepare("DELETE FROM ranking_lengths WHERE words_table=?"));
  TRY_VOID(before.run(table));
  TRY(auto row, database.prepare("INSERT INTO ranking_lengths VALUES(?, ?, ?)"));
  const std::span<const std::uint32_t> all = lengths.lengths;
  for (std::size_t begin = 0; begin < all.size(); begin += kLengthsInRow) {
    const std::size_t count = std::min(kLengthsInRow, all.size() - begin);
    TRY_VOID(row.run(table, begin, SqliteBytes{bytes_of(all.subspan(begin, count))}));
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
  places.bind(word);
  const auto take_place = [&](const SqliteRow& row) -> Result<void> {
    const std::int64_t id = row.integer(0);
    if (id < 0 || id < document) return damaged_ranking("words");
    if (id != document && !counts.empty()) {
      TRY_VOID(take(document, counts));
      counts.clear();
    }
    document = id;
    const std::string_view name = row.text(1);
    const auto column =
        static_cast<std::uint32_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
    if (counts.empty() || counts.back().first != column)
      counts.emplace_back(column, 1);
    else
      ++counts.back().second;
    return {};
  };
  TRY_VOID(places.for_each_row(take_place));
  return counts.empty() ? Result<void>() : take(document, counts);
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
  TRY_VOID(database.run("CREATE VIRTUAL TABLE temp.ranking_terms USING fts5vocab('main', '" + table +
                        "', 'row');"));
  {
    TRY(auto rows, database.prepare("SELECT term FROM temp.ranking_terms WHERE cnt >= ?"));
    rows.bind(common_word);
    TRY_VOID(rows.for_each_row([&](const SqliteRow& row) { words.emplace_back(row.text(0)); }));
  }
  TRY_VOID(database.run("DROP TABLE temp.ranking_terms;"));
  return words;
}

Result<void> write_table(SqliteDatabase& database, const std::string& table,
                         const std::vector<std::string>& columns, const IndexOptions& options) {
  TRY(const auto lengths, count_lengths(database, table));
  TRY_VOID(write_lengths(database, table, 0, lengths));
  TRY(const auto words, common_words(database, table, options.common_word));
  TRY_VOID(database.run(create_places(table)));
  {
    TRY(auto places, database.prepare(select_places(table)));
    TRY(auto insert, database.prepare("INSERT INTO ranking_words VALUES(?, ?, ?)"));
    for (const std::string& word : words) {
      TRY_VOID(check_interrupt(options.is_interrupted));
      TRY(const std::string list, list_from_places(places, word, columns, lengths.lengths));
      TRY_VOID(insert.run(table, word, SqliteBytes{list}));
    }
  }
  return database.run("DROP TABLE temp.places_" + table + ";");
}

struct RankingState {
  std::uint64_t documents = 0, changed = 0;
};

/// nullopt for an index without ranking tables.
Result<std::optional<RankingState>> ranking_state(SqliteDatabase& database, const std::string& table) {
  using State = std::optional<RankingState>;
  auto statement = database.prepare("SELECT documents, changed FROM ranking WHERE words_table=?");
  if (!statement) return State();
  statement->bind(table);
  TRY(const auto row, statement->next());
  if (!row) return State();
  return State({static_cast<std::uint64_t>(row->integer(0)), static_cast<std::uint64_t>(row->integer(1))});
}

/// Inserts renewed documents into a temporary full-text table, temp.renewed.
Result<void> index_renewed(SqliteDatabase& database, const WordsTable& table,
                           const std::vector<std::string>& columns, const ChangedDocuments& changed) {
  const std::string names = joined_columns(columns);
  TRY_VOID(database.run(fmt::format(
      "CREATE VIRTUAL TABLE temp.renewed USING fts5({}, content='', tokenize='{}'); CREATE VIRTUAL "
      "TABLE temp.renewed_places USING fts5vocab('temp', 'renewed', 'instance');",
      names, tokenizer_arguments(table.tokenizer))));
  TRY(auto insert, database.prepare("INSERT INTO temp.renewed(rowid, " + names + ") VALUES(?, " +
                                    joined_columns(columns, true) + ")"));
  for (const std::int64_t id : changed.renewed) {
    TRY(const SourceDocument document, changed.read(id));
    bind_words(insert, id, document, columns);
    TRY_VOID(insert.run());
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
      TRY(places_, database_.prepare("SELECT doc, col FROM temp.renewed_places WHERE term = ?"));
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
    TRY_VOID(check_interrupt(options.is_interrupted));
    words.bind(table, last);
    TRY(const auto row, words.next());
    if (!row) return {};
    last = row->integer(0);
    const std::string word(row->text(1));
    std::string before(row->bytes(2));
    words.reset();
    TRY(const std::string after, renewal.renew(word, std::move(before)));
    TRY_VOID(update.run(SqliteBytes{after}, last));
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
  auto statement = database.prepare("SELECT version FROM ranking WHERE words_table=?");
  if (!statement) return std::optional<RankingReader>();
  statement->bind(table);
  TRY(const auto version, statement->next());
  if (!version) return std::optional<RankingReader>();
  RankingReader reader;
  reader.table_ = table;
  reader.version_ = version->text(0);
  reader.columns_ = columns;
  TRY_VOID(database.run(create_places(table)));
  TRY(reader.places_, database.prepare(select_places(table), true));
  TRY(reader.common_,
      database.prepare("SELECT postings FROM ranking_words WHERE words_table=?1 AND word=?2", true));
  return std::optional<RankingReader>(std::move(reader));
}

Result<DocumentLengths> RankingReader::read_lengths(SqliteDatabase& database) const {
  DocumentLengths out;
  out.version = version_;
  TRY(auto summary, database.prepare("SELECT documents, words FROM ranking WHERE words_table=?"));
  summary.bind(table_);
  TRY_VOID(summary.for_each_row([&](const SqliteRow& row) {
    out.documents = static_cast<std::uint64_t>(row.integer(0));
    out.words = static_cast<std::uint64_t>(row.integer(1));
  }));
  TRY(auto rows,
      database.prepare("SELECT first, lengths FROM ranking_lengths WHERE words_table=? ORDER BY first"));
  rows.bind(table_);
  TRY_VOID(rows.for_each_row([&](const SqliteRow& row) -> Result<void> {
    if (row.bytes(1).empty() || row.integer(0) != static_cast<std::int64_t>(out.lengths.size()) ||
        !append_numbers(row.bytes(1), out.lengths))
      return damaged_ranking("document lengths");
    return {};
  }));
  if (out.documents == 0 || out.words == 0 || out.documents > out.lengths.size())
    return damaged_ranking("document lengths");
  return out;
}

Result<std::shared_ptr<const PostingList>> RankingReader::list_of(std::string_view word,
                                                                  const DocumentLengths& lengths) {
  common_.bind(table_, word);
  TRY(const auto row, common_.next());
  const bool is_common = row.has_value();
  std::string bytes = is_common ? std::string(row->bytes(0)) : std::string();
  common_.reset();
  if (!is_common) {
    TRY(bytes, list_from_places(places_, word, columns_, lengths.lengths));
  }
  auto list = PostingList::read(std::move(bytes));
  if (!list) return damaged_ranking("word lists");
  return std::make_shared<const PostingList>(*std::move(list));
}

}  // namespace metafuse::fetchers
