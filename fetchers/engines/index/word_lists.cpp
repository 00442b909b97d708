#include "fetchers/engines/index/word_lists.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "core/json.h"
#include "fetchers/engines/index/list_filler.h"
#include "fetchers/engines/index/number_bytes.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kLengthsInRow = 16384;
constexpr std::size_t kMaxTermsKept = 2000;  ///< per document: the most frequent

std::string version_of(const DocumentLengths& lengths) {
  std::uint64_t checksum = lengths.lengths.size() + 1;  // of documents without words it would stay 0
  for (const std::uint32_t length : lengths.lengths) checksum = (checksum ^ length) * 0x9e3779b97f4a7c15;
  return fmt::format("{} {} {:x}", lengths.documents, lengths.words, checksum);
}

Result<void> write_languages(SqliteDatabase& database, const std::map<std::string, std::size_t>& languages) {
  std::vector<std::pair<std::size_t, std::string>> order;
  std::size_t documents = 0;
  for (const auto& [language, count] : languages) {
    order.emplace_back(count, language);
    documents += count;
  }
  std::sort(order.rbegin(), order.rend());
  JsonArray names;
  for (const auto& [count, language] : order)
    if (count * 20 >= documents) names.push_back(Json(language));
  TRY(auto insert, database.prepare("INSERT OR REPLACE INTO meta VALUES('languages', ?)"));
  return insert.run(to_text(names));
}

void append_terms(std::string& bytes, const ListBuilder::Terms& terms) {
  std::uint32_t last = 0;
  for (const auto& [word, count] : terms) {
    append_number_bytes(bytes, word - last);
    append_number_bytes(bytes, count);
    last = word;
  }
}

}  // namespace

Error damaged_lists(std::string_view what) {
  return fail(Code::bad_data, fmt::format("the index's {} are damaged; rebuild the index", what));
}

std::string build_again_with(std::string_view options) {
  return fmt::format(
      "build it again with metafuse index {} and the options that its other engines need (those of metafuse "
      "init: --update --cosine --expandable --embedding lsi), or delete it if a server reads its documents, "
      "which then does so when it starts",
      options);
}

Result<void> renew_languages(SqliteDatabase& database, const std::string& language) {
  std::map<std::string, std::size_t> languages;
  TRY(auto rows, database.prepare("SELECT language, count(*) FROM pages GROUP BY language"));
  TRY_VOID(rows.for_each_row([&](const SqliteRow& row) {
    const std::string tag(row.text(0));
    languages[tag.empty() ? language : tag.substr(0, tag.find('-'))] +=
        static_cast<std::size_t>(row.integer(1));
  }));
  return write_languages(database, languages);
}

Result<void> write_lengths(SqliteDatabase& database, WordKind kind, DocumentLengths lengths) {
  lengths.version = version_of(lengths);
  TRY(auto summary, database.prepare("INSERT OR REPLACE INTO lists VALUES(?, ?, ?, ?)"));
  TRY_VOID(summary.run(stored_number(kind), lengths.version, lengths.documents, lengths.words));
  TRY(auto before, database.prepare("DELETE FROM list_lengths WHERE kind=?"));
  TRY_VOID(before.run(stored_number(kind)));
  TRY(auto row, database.prepare("INSERT INTO list_lengths VALUES(?, ?, ?)"));
  const std::span<const std::uint32_t> all = lengths.lengths;
  for (std::size_t begin = 0; begin < all.size(); begin += kLengthsInRow) {
    const std::size_t count = std::min(kLengthsInRow, all.size() - begin);
    TRY_VOID(row.run(stored_number(kind), begin, SqliteBytes{bytes_of(all.subspan(begin, count))}));
  }
  return {};
}

Result<void> insert_parts(SqliteStatement& insert, std::int64_t word, const PostingBytes& list) {
  for (const PostingPart& part : list.parts)
    TRY_VOID(
        insert.run(part_id(word, part.first_window), SqliteBytes{part.postings}, SqliteBytes{part.places}));
  return {};
}

Result<void> create_lists(SqliteDatabase& database, const ListShape& shape) {
  TRY_VOID(
      database.run("CREATE TABLE lists(kind INTEGER PRIMARY KEY, version TEXT NOT NULL, documents INTEGER "
                   "NOT NULL, words INTEGER "
                   "NOT NULL);"
                   "CREATE TABLE list_lengths(kind INTEGER, first INTEGER, lengths BLOB NOT NULL, PRIMARY "
                   "KEY(kind, first)) "
                   "WITHOUT ROWID;"
                   "CREATE TABLE list_words(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, word TEXT NOT "
                   "NULL, documents INTEGER NOT NULL, codes BLOB NOT NULL);"
                   "CREATE TABLE list_parts(id INTEGER PRIMARY KEY, postings BLOB NOT NULL, places BLOB NOT "
                   "NULL);"
                   "CREATE TABLE terms(id INTEGER PRIMARY KEY, terms BLOB NOT NULL);"));
  JsonObject about;
  about["language"] = shape.language;
  about["keeps_terms"] = shape.keeps_terms;
  JsonArray kinds;
  for (const WordKind kind : shape.kinds) kinds.push_back(Json(std::string(name_of(kind))));
  about["kinds"] = std::move(kinds);
  JsonArray columns;
  for (const std::string& column : shape.columns) columns.push_back(Json(column));
  about["columns"] = std::move(columns);
  TRY(auto insert, database.prepare("INSERT INTO meta VALUES('lists', ?)"));
  return insert.run(to_text(about));
}

Result<void> write_terms(SqliteStatement& insert, std::uint32_t id, const ListBuilder::Terms& terms) {
  ListBuilder::Terms kept = terms;
  if (kept.size() > kMaxTermsKept) {
    std::nth_element(kept.begin(), kept.begin() + kMaxTermsKept, kept.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    kept.resize(kMaxTermsKept);
    std::sort(kept.begin(), kept.end());
  }
  for (auto& [word, count] : kept) ++word;  // ids begin with 1
  std::string bytes;
  append_terms(bytes, kept);
  return insert.run(id, SqliteBytes{bytes});
}

namespace {

/// Creates the indexes of `list_words`. `documents` is part of them so that the vocabulary can be read
/// without the lists. The second is of frequent words only: those of the most documents among all that begin
/// alike are mostly found there.
Result<void> create_word_indexes(SqliteDatabase& database, const ListShape& shape) {
  constexpr std::size_t kFrequentWords = 20'000;  ///< of each kind at least, if there are so many
  TRY(auto rank,
      database.prepare("SELECT documents FROM list_words WHERE kind=? ORDER BY documents DESC LIMIT 1 "
                       "OFFSET ?"));
  std::optional<std::int64_t> fewest;
  for (const WordKind kind : shape.kinds) {
    rank.bind(stored_number(kind), kFrequentWords);
    std::int64_t documents = 0;
    TRY_VOID(rank.for_each_row([&](const SqliteRow& row) { documents = row.integer(0); }));
    fewest = std::min(fewest.value_or(documents), documents);
  }
  TRY(auto note, database.prepare("INSERT INTO meta VALUES('frequent', ?)"));
  TRY_VOID(note.run(fewest.value_or(0)));
  return database.run(
      fmt::format("CREATE INDEX list_words_by_word ON list_words(kind, word, documents);"
                  "CREATE INDEX list_words_frequent ON list_words(kind, word, documents) "
                  "WHERE documents >= {};",
                  fewest.value_or(0)));
}

}  // namespace

Result<void> write_lists(SqliteDatabase& database, const ListShape& shape, ListBuilder& builder,
                         const IsInterrupted& is_interrupted) {
  std::map<WordKind, std::unique_ptr<ListFiller>> fillers;
  for (std::size_t i = 0; i < shape.kinds.size(); ++i) {
    DocumentLengths lengths;
    lengths.lengths = builder.lengths(i);
    for (const auto& [language, documents] : builder.languages()) lengths.documents += documents;
    for (const std::uint32_t length : lengths.lengths) lengths.words += length;
    TRY_VOID(write_lengths(database, shape.kinds[i], std::move(lengths)));
    fillers[shape.kinds[i]] = std::make_unique<ListFiller>(builder.lengths(i));
  }
  TRY_VOID(write_languages(database, builder.languages()));
  TRY(auto insert, database.prepare("INSERT INTO list_words VALUES(?, ?, ?, ?, ?)"));
  TRY(auto insert_part, database.prepare("INSERT INTO list_parts VALUES(?, ?, ?)"));
  for (std::size_t word = 0; word < builder.words(); ++word) {
    if (word % 1024 == 0) TRY_VOID(check_interrupt(is_interrupted));
    ListFiller& filler = *fillers[builder.kind_of(word)];
    builder.read(word, [&](const WordDocument& document) { filler.add(document); });
    builder.forget(word);
    const PostingBytes list = filler.finish();
    const auto id = static_cast<std::int64_t>(word + 1);
    TRY_VOID(insert.run(id, stored_number(builder.kind_of(word)), builder.text_of(word), list.documents,
                        SqliteBytes{list.codes}));
    TRY_VOID(insert_parts(insert_part, id, list));
  }
  return create_word_indexes(database, shape);
}

}  // namespace metafuse::fetchers
