#include <algorithm>

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

Result<ListReader> ListReader::open(SqliteDatabase& database, WordKind kind) {
  ListReader reader;
  reader.kind_ = kind;
  TRY(auto summary, database.prepare("SELECT version FROM lists WHERE kind=?"));
  summary.bind(stored_number(kind));
  TRY(const auto row, summary.next());
  if (!row)
    return fail(Code::bad_config,
                fmt::format("the index was not built with {0}; build it with metafuse index "
                            "--tokenizer {0}",
                            name_of(kind)));
  reader.version_ = row->text(0);
  TRY(reader.find_,
      database.prepare("SELECT id, documents FROM list_words INDEXED BY list_words_by_word WHERE kind=? "
                       "AND word=?",
                       true));
  TRY(reader.begin_,
      database.prepare("SELECT id, word, documents FROM list_words INDEXED BY list_words_by_word WHERE "
                       "kind=? AND word>=? AND word<?",
                       true));
  TRY(reader.postings_, database.prepare("SELECT postings FROM list_words WHERE id=?", true));
  TRY(reader.places_, database.prepare("SELECT places FROM list_words WHERE id=?", true));
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

Result<std::vector<ListedWord>> ListReader::begin_with(std::string_view beginning, std::size_t most) {
  std::vector<ListedWord> words;
  begin_.bind(stored_number(kind_), beginning, std::string(beginning) + "\xf4\x8f\xbf\xbf");
  TRY_VOID(begin_.for_each_row([&](const SqliteRow& row) {
    words.push_back({row.integer(0), std::string(row.text(1)), static_cast<std::uint64_t>(row.integer(2))});
  }));
  const std::size_t kept = std::min(most, words.size());
  std::partial_sort(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(kept), words.end(),
                    [](const ListedWord& a, const ListedWord& b) {
                      return a.documents != b.documents ? a.documents > b.documents : a.text < b.text;
                    });
  words.resize(kept);
  return words;
}

Result<std::shared_ptr<const PostingList>> ListReader::list_of(std::int64_t id) {
  std::string bytes(1, '\0');  // the list of a word that does not occur
  postings_.bind(id);
  TRY_VOID(postings_.for_each_row([&](const SqliteRow& row) { bytes = row.bytes(0); }));
  auto list = PostingList::read(std::move(bytes));
  if (!list) return damaged_lists("word lists");
  return std::make_shared<const PostingList>(*std::move(list));
}

Result<std::string> ListReader::places_of(std::int64_t id) {
  std::string bytes;
  places_.bind(id);
  TRY_VOID(places_.for_each_row([&](const SqliteRow& row) { bytes = row.bytes(0); }));
  return bytes;
}

Result<void> for_each_list(
    SqliteDatabase& database, WordKind kind,
    const std::function<Result<void>(const ListedWord& word, const PostingList& list)>& take) {
  TRY(auto rows,
      database.prepare("SELECT id, word, documents, postings FROM list_words WHERE kind=? ORDER BY id"));
  rows.bind(stored_number(kind));
  return rows.for_each_row([&](const SqliteRow& row) -> Result<void> {
    const auto list = PostingList::read(std::string(row.bytes(3)));
    if (!list) return damaged_lists("word lists");
    return take({row.integer(0), std::string(row.text(1)), static_cast<std::uint64_t>(row.integer(2))},
                *list);
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
