#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/json.h"
#include "fetchers/engines/index/number_bytes.h"
#include "fetchers/engines/index/word_lists.h"

namespace metafuse::fetchers {
namespace {

Result<std::string> meta_text(SqliteDatabase& database, std::string_view name) {
  TRY(auto statement, database.prepare("SELECT value FROM meta WHERE name=?"));
  statement.bind(name);
  TRY(const auto row, statement.next());
  if (!row) return damaged_lists("descriptions");
  return std::string(row->text(0));
}

Result<std::int64_t> meta_number(SqliteDatabase& database, std::string_view name) {
  TRY(const auto text, meta_text(database, name));
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return damaged_lists("descriptions");
  return number;
}

Result<std::vector<std::string>> texts_of(const Json* value) {
  std::vector<std::string> texts;
  const JsonArray* array = value == nullptr ? nullptr : value->if_array();
  if (array == nullptr) return damaged_lists("descriptions");
  for (const Json& text : *array) {
    if (!text.is_string()) return damaged_lists("descriptions");
    texts.emplace_back(text.as_string());
  }
  return texts;
}

}  // namespace

Result<ListShape> read_list_shape(SqliteDatabase& database) {
  TRY(const auto text, meta_text(database, "lists"));
  TRY(const auto json, parse_json(text, "the index"));
  const JsonObject* about = json.if_object();
  if (about == nullptr) return damaged_lists("descriptions");
  ListShape shape;
  const Json* language = about->if_contains("language");
  const Json* keeps_terms = about->if_contains("keeps_terms");
  if (language == nullptr || !language->is_string() || keeps_terms == nullptr || !keeps_terms->is_bool())
    return damaged_lists("descriptions");
  shape.language = std::string(language->as_string());
  shape.keeps_terms = keeps_terms->as_bool();
  TRY(shape.columns, texts_of(about->if_contains("columns")));
  TRY(const auto kinds, texts_of(about->if_contains("kinds")));
  shape.kinds.clear();
  for (const std::string& name : kinds) {
    const auto kind = word_kind_of(name);
    if (!kind) return damaged_lists("descriptions");
    shape.kinds.push_back(*kind);
  }
  if (shape.kinds.empty() || shape.columns.empty() || shape.columns.size() > 64)
    return damaged_lists("descriptions");
  return shape;
}

Result<std::vector<std::string>> read_languages(SqliteDatabase& database) {
  TRY(const auto text, meta_text(database, "languages"));
  TRY(const auto json, parse_json(text, "the index"));
  return texts_of(&json);
}

Result<std::size_t> count_documents(SqliteDatabase& database) {
  TRY(auto count, database.prepare("SELECT documents FROM lists LIMIT 1"));
  TRY(const auto row, count.next());
  if (!row) return damaged_lists("descriptions");
  return static_cast<std::size_t>(row->integer(0));
}

namespace {

constexpr std::string_view kPartsOfWord =
    "SELECT id, postings FROM list_parts WHERE id BETWEEN ? AND ? ORDER BY id";

/// The list of a word with these codes.
Result<PostingList> read_list(SqliteStatement& parts, std::int64_t word, std::string_view codes) {
  auto list = PostingList::read(codes);
  if (!list) return damaged_lists("word lists");
  parts.bind(part_id(word, 0), part_id(word + 1, 0) - 1);
  TRY_VOID(parts.for_each_row([&](const SqliteRow& row) -> Result<void> {
    if (!list->add_part(first_window_of(row.integer(0)), row.bytes(1))) return damaged_lists("word lists");
    return {};
  }));
  return *std::move(list);
}

}  // namespace

Result<ListReader> ListReader::open(SqliteDatabase& database, WordKind kind) {
  ListReader reader;
  reader.kind_ = kind;
  TRY(auto summary, database.prepare("SELECT version FROM lists WHERE kind=?"));
  summary.bind(stored_number(kind));
  TRY(const auto row, summary.next());
  if (!row)
    return fail(Code::bad_config,
                fmt::format("the index was not built with {}; {}", name_of(kind),
                            build_again_with(fmt::format("--tokenizer {}", name_of(kind)))));
  reader.version_ = row->text(0);
  TRY(reader.find_,
      database.prepare("SELECT id, documents FROM list_words INDEXED BY list_words_by_word WHERE kind=? "
                       "AND word=?",
                       true));
  TRY(const auto frequent, meta_number(database, "frequent"));
  const auto begin_with = [&](std::string_view index, std::int64_t fewest) {
    return database.prepare(fmt::format("SELECT id, documents FROM list_words INDEXED BY {} WHERE kind=? AND "
                                        "word>=? AND word<? AND documents >= {} ORDER BY word",
                                        index, fewest),
                            true);
  };
  TRY(reader.begin_, begin_with("list_words_by_word", 0));
  TRY(reader.begin_frequent_, begin_with("list_words_frequent", frequent));
  TRY(reader.codes_, database.prepare("SELECT codes FROM list_words WHERE id=?", true));
  TRY(reader.parts_, database.prepare(kPartsOfWord, true));
  TRY(reader.places_, database.prepare("SELECT places FROM list_parts WHERE id=?", true));
  return reader;
}

Result<DocumentLengths> ListReader::read_lengths(SqliteDatabase& database) const {
  DocumentLengths out;
  out.version = version_;
  TRY(auto summary, database.prepare("SELECT documents, words FROM lists WHERE kind=?"));
  summary.bind(stored_number(kind_));
  TRY_VOID(summary.for_each_row([&](const SqliteRow& row) {
    out.documents = static_cast<std::uint64_t>(row.integer(0));
    out.words = static_cast<std::uint64_t>(row.integer(1));
  }));
  TRY(auto rows, database.prepare("SELECT first, lengths FROM list_lengths WHERE kind=? ORDER BY first"));
  rows.bind(stored_number(kind_));
  TRY_VOID(rows.for_each_row([&](const SqliteRow& row) -> Result<void> {
    if (row.bytes(1).empty() || row.integer(0) != static_cast<std::int64_t>(out.lengths.size()) ||
        !append_numbers(row.bytes(1), out.lengths))
      return damaged_lists("document lengths");
    return {};
  }));
  if (out.documents == 0 ? out.words > 0 : out.documents >= out.lengths.size())
    return damaged_lists("document lengths");
  return out;
}

Result<ListedWord> ListReader::find(std::string_view word) {
  ListedWord out{0, std::string(word), 0};
  find_.bind(stored_number(kind_), word);
  TRY_VOID(find_.for_each_row([&](const SqliteRow& row) {
    out.id = row.integer(0);
    out.documents = static_cast<std::uint64_t>(row.integer(1));
  }));
  return out;
}

Result<std::vector<std::int64_t>> ListReader::begin_with(std::string_view beginning, std::size_t most) {
  struct Word {
    std::int64_t documents;
    std::size_t place;  ///< in alphabetical order
    std::int64_t id;
  };
  std::vector<Word> words;
  const auto read = [&](SqliteStatement& statement) {
    words.clear();
    statement.bind(stored_number(kind_), beginning, std::string(beginning) + "\xf4\x8f\xbf\xbf");
    return statement.for_each_row([&](const SqliteRow& row) {
      words.push_back({row.integer(1), words.size(), row.integer(0)});
    });
  };
  TRY_VOID(read(begin_frequent_));
  if (words.size() < most) TRY_VOID(read(begin_));
  const std::size_t kept = std::min(most, words.size());
  std::partial_sort(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(kept), words.end(),
                    [](const Word& a, const Word& b) {
                      return a.documents != b.documents ? a.documents > b.documents : a.place < b.place;
                    });
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < kept; ++i) ids.push_back(words[i].id);
  return ids;
}

Result<std::shared_ptr<const PostingList>> ListReader::list_of(std::int64_t id) {
  std::string codes(1, '\0');  // of a word that does not occur
  codes_.bind(id);
  TRY_VOID(codes_.for_each_row([&](const SqliteRow& row) { codes = row.bytes(0); }));
  TRY(auto list, read_list(parts_, id, codes));
  return std::make_shared<const PostingList>(std::move(list));
}

Result<std::string> ListReader::places_of(std::int64_t id, std::uint32_t first_window) {
  std::string bytes;
  places_.bind(part_id(id, first_window));
  TRY_VOID(places_.for_each_row([&](const SqliteRow& row) { bytes = row.bytes(0); }));
  return bytes;
}

Result<void> for_each_list(
    SqliteDatabase& database, WordKind kind,
    const std::function<Result<void>(const ListedWord& word, const PostingList& list)>& take) {
  TRY(auto parts, database.prepare(kPartsOfWord));
  TRY(auto rows,
      database.prepare("SELECT id, word, documents, codes FROM list_words WHERE kind=? ORDER BY id"));
  rows.bind(stored_number(kind));
  return rows.for_each_row([&](const SqliteRow& row) -> Result<void> {
    TRY(const auto list, read_list(parts, row.integer(0), row.bytes(3)));
    return take({row.integer(0), std::string(row.text(1)), static_cast<std::uint64_t>(row.integer(2))}, list);
  });
}

bool read_postings(const PostingList& list, ColumnSet columns, std::vector<Posting>& out) {
  out.clear();
  std::vector<std::uint32_t> counts;
  for (const PostingCode& code : list.codes) {
    std::uint32_t sum = 0;
    for (const auto& [column, count] : code.counts) sum += ((columns >> column) & 1) != 0 ? count : 0;
    counts.push_back(sum);
  }
  PostingCursor cursor(list);
  std::vector<PostingCursor::Posting> postings;
  for (std::uint32_t window = 0; cursor.advance(window); window = cursor.window() + 1) {
    if (cursor.is_at_end()) return true;
    if (!cursor.read(postings)) return false;
    for (const auto& [place, code] : postings)
      if (counts[code] > 0) out.push_back({cursor.window() * PostingList::kWindow + place, counts[code]});
  }
  return false;
}

Result<std::shared_ptr<const DocumentLengths>> SharedLengths::of(SqliteDatabase& database,
                                                                 const ListReader& reader) {
  const std::lock_guard lock(mutex_);
  if (last_ == nullptr || last_->version != reader.version()) {
    TRY(auto read, reader.read_lengths(database));
    last_ = std::make_shared<const DocumentLengths>(std::move(read));
  }
  return last_;
}

}  // namespace metafuse::fetchers
