#include "fetchers/engines/index/word_lists.h"

#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>

#include "core/contract.h"
#include "core/json.h"
#include "fetchers/engines/index/number_bytes.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kLengthsInRow = 16384;
constexpr std::size_t kMaxTermsKept = 2000;  ///< per document: the most frequent

std::string version_of(const DocumentLengths& lengths) {
  std::uint64_t checksum = 0;
  for (const std::uint32_t length : lengths.lengths) checksum = (checksum ^ length) * 0x9e3779b97f4a7c15;
  return fmt::format("{} {} {:x}", lengths.documents, lengths.words, checksum);
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

/// Adds documents to a writer's list.
class ListFiller {
 public:
  explicit ListFiller(const std::vector<std::uint32_t>& lengths) : writer_(lengths) {}

  void add(const WordDocument& document) {
    places_.clear();
    if (!document.places.empty()) append_places(places_, document.counts, document.places);
    add(document.id, document.counts, places_);
  }

  void add(std::uint32_t id, const ColumnCounts& counts, std::string_view places) {
    if (counts != last_counts_) {
      last_counts_ = counts;
      last_code_ = writer_.code_of(counts);
    }
    writer_.add(id, last_code_, places);
  }

  std::size_t documents() const { return writer_.documents(); }

  PostingBytes finish() {
    last_counts_.clear();
    return writer_.finish();
  }

 private:
  PostingListWriter writer_;
  ColumnCounts last_counts_;
  std::uint32_t last_code_ = 0;
  std::string places_;
};

}  // namespace

Error damaged_lists(std::string_view what) {
  return fail(Code::bad_data, fmt::format("the index's {} are damaged; rebuild the index", what));
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
                   "NULL, documents INTEGER "
                   "NOT NULL, postings BLOB NOT NULL, places BLOB NOT NULL);"
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
  TRY(auto insert, database.prepare("INSERT INTO list_words VALUES(?, ?, ?, ?, ?, ?)"));
  std::vector<WordDocument> documents;
  for (std::size_t word = 0; word < builder.words(); ++word) {
    if (word % 1024 == 0) TRY_VOID(check_interrupt(is_interrupted));
    ListFiller& filler = *fillers[builder.kind_of(word)];
    builder.read(word, documents);
    builder.forget(word);
    for (const WordDocument& document : documents) filler.add(document);
    const PostingBytes list = filler.finish();
    TRY_VOID(insert.run(word + 1, stored_number(builder.kind_of(word)), builder.text_of(word),
                        documents.size(), SqliteBytes{list.postings}, SqliteBytes{list.places}));
  }
  // `documents` is part of the index so that the vocabulary can be read without the lists
  return database.run("CREATE INDEX list_words_by_word ON list_words(kind, word, documents);");
}

namespace {

/// One update of the lists of an index.
class ListUpdate {
 public:
  ListUpdate(SqliteDatabase& database, const ListShape& shape, const ChangedDocuments& changed)
      : database_(database), shape_(shape), changed_(changed), builder_(shape) {
    ids_.insert(changed.renewed.begin(), changed.renewed.end());
    for (const auto& [id, before] : changed.before) ids_.insert(id);
  }

  Result<void> run(const IsInterrupted& is_interrupted) {
    TRY(terms_, database_.prepare("INSERT INTO terms VALUES(?, ?)"));
    TRY_VOID(forget_terms());
    std::vector<std::pair<std::uint32_t, ListBuilder::Terms>> terms;
    for (const std::uint32_t id : changed_.renewed) {
      TRY(const SourceDocument document, changed_.read(id));
      builder_.add(id, document);
      if (shape_.keeps_terms) terms.emplace_back(id, builder_.terms_of_last());
    }
    for (std::size_t i = 0; i < shape_.kinds.size(); ++i) {
      TRY_VOID(check_interrupt(is_interrupted));
      TRY_VOID(update_kind(i));
    }
    for (auto& [id, of_document] : terms) {
      for (auto& [word, count] : of_document) word = ids_of_words_[word] - 1;
      std::sort(of_document.begin(), of_document.end());
      TRY_VOID(write_terms(terms_, id, of_document));
    }
    return {};
  }

 private:
  Result<void> forget_terms() {
    TRY(auto remove, database_.prepare("DELETE FROM terms WHERE id=?"));
    for (const std::uint32_t id : ids_) TRY_VOID(remove.run(id));
    return {};
  }

  /// The words of a kind that changed documents had or have, with their numbers in the builder, if
  /// they have one.
  std::map<std::string, std::size_t> words_of(std::size_t kind) {
    std::map<std::string, std::size_t> words;
    ListShape one = shape_;
    one.kinds = {shape_.kinds[kind]};
    one.keeps_terms = false;
    ListBuilder before(one);
    for (const auto& [id, document] : changed_.before) before.add(id, document);
    for (std::size_t word = 0; word < before.words(); ++word) words[before.text_of(word)] = kNone;
    for (std::size_t word = 0; word < builder_.words(); ++word)
      if (builder_.kind_of(word) == shape_.kinds[kind]) words[builder_.text_of(word)] = word;
    return words;
  }

  Result<DocumentLengths> new_lengths(std::size_t kind) {
    TRY(const auto reader, ListReader::open(database_, shape_.kinds[kind]));
    TRY(auto lengths, reader.read_lengths(database_));
    const auto& renewed = builder_.lengths(kind);
    lengths.lengths.resize(std::max(lengths.lengths.size(), renewed.size()));
    for (const std::uint32_t id : ids_) {
      if (id >= lengths.lengths.size()) return damaged_lists("document lengths");
      lengths.lengths[id] = id < renewed.size() ? renewed[id] : 0;
    }
    lengths.words = 0;
    for (const std::uint32_t length : lengths.lengths) lengths.words += length;
    TRY(auto count, database_.prepare("SELECT count(*) FROM pages"));
    TRY_VOID(count.for_each_row(
        [&](const SqliteRow& row) { lengths.documents = static_cast<std::uint64_t>(row.integer(0)); }));
    return lengths;
  }

  Result<void> update_kind(std::size_t kind) {
    TRY(const auto lengths, new_lengths(kind));
    TRY(auto find, database_.prepare("SELECT id FROM list_words WHERE kind=? AND word=?"));
    TRY(auto read, database_.prepare("SELECT postings, places FROM list_words WHERE id=?"));
    TRY(auto insert, database_.prepare("INSERT OR REPLACE INTO list_words VALUES(?, ?, ?, ?, ?, ?)"));
    TRY(auto remove, database_.prepare("DELETE FROM list_words WHERE id=?"));
    TRY(auto last, database_.prepare("SELECT coalesce(max(id), 0) FROM list_words"));
    TRY(const auto row, last.next());
    std::int64_t last_id = row->integer(0);
    last.reset();
    ListFiller filler(lengths.lengths);
    for (const auto& [word, number] : words_of(kind)) {
      std::int64_t id = 0;
      find.bind(stored_number(shape_.kinds[kind]), word);
      TRY_VOID(find.for_each_row([&](const SqliteRow& found) { id = found.integer(0); }));
      PostingBytes before;
      read.bind(id);
      TRY_VOID(read.for_each_row([&](const SqliteRow& found) {
        before.postings = found.bytes(0);
        before.places = found.bytes(1);
      }));
      TRY_VOID(fill(filler, std::move(before), number));
      const std::size_t documents = filler.documents();
      const PostingBytes list = filler.finish();
      if (documents == 0) {
        TRY_VOID(remove.run(id));
        continue;
      }
      if (id == 0) id = ++last_id;
      TRY_VOID(insert.run(id, stored_number(shape_.kinds[kind]), word, documents, SqliteBytes{list.postings},
                          SqliteBytes{list.places}));
      if (number != kNone) ids_of_words_[static_cast<std::uint32_t>(number)] = static_cast<std::uint32_t>(id);
    }
    return write_lengths(database_, shape_.kinds[kind], lengths);
  }

  /// Fills in what is kept of a list, and the renewed documents.
  Result<void> fill(ListFiller& filler, PostingBytes before, std::size_t number) {
    std::vector<WordDocument> renewed;
    if (number != kNone) builder_.read(number, renewed);
    auto next = renewed.begin();
    const auto take_until_id = [&](std::uint32_t id) {
      for (; next != renewed.end() && next->id < id; ++next) filler.add(*next);
    };
    if (!before.postings.empty()) {
      const auto list = PostingList::read(std::move(before.postings));
      if (!list) return damaged_lists("word lists");
      PostingCursor cursor(*list);
      PlaceCursor places(before.places);
      std::vector<PostingCursor::Posting> postings;
      for (std::uint32_t window = 0;; window = cursor.window() + 1) {
        if (!cursor.advance(window)) return damaged_lists("word lists");
        if (cursor.is_at_end()) break;
        const bool has_places = !before.places.empty();
        if (!cursor.read(postings) || (has_places && !places.advance(cursor.block())))
          return damaged_lists("word lists");
        for (const auto& [place, code] : postings) {
          const std::uint32_t id = cursor.window() * PostingList::kWindow + place;
          std::string_view bytes;
          if (has_places && !places.take(list->codes[code].places, bytes)) return damaged_lists("word lists");
          if (ids_.contains(id)) continue;
          take_until_id(id);
          filler.add(id, list->codes[code].counts, bytes);
        }
      }
    }
    take_until_id(~std::uint32_t{0});
    return {};
  }

  static constexpr std::size_t kNone = ~std::size_t{0};

  SqliteDatabase& database_;
  const ListShape& shape_;
  const ChangedDocuments& changed_;
  ListBuilder builder_;
  std::set<std::uint32_t> ids_;  ///< of all changed documents
  SqliteStatement terms_;
  std::map<std::uint32_t, std::uint32_t> ids_of_words_;  ///< by their numbers in the builder
};

}  // namespace

Result<void> update_lists(SqliteDatabase& database, const ListShape& shape, const ChangedDocuments& changed,
                          const IsInterrupted& is_interrupted) {
  if (changed.renewed.empty() && changed.before.empty()) return {};
  return ListUpdate(database, shape, changed).run(is_interrupted);
}

}  // namespace metafuse::fetchers
