#include "fetchers/engines/index/index_words.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/deadline.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/condition.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/passage_source.h"
#include "fetchers/engines/index/word_lists.h"
#include "fetchers/engines/index/word_search.h"

namespace metafuse::fetchers {
namespace {

/// Quotes a word as a string of a query, in which nothing acts as an operator.
std::string as_string(std::string_view word) {
  std::string out = "\"";
  for (const char c : word) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

Result<void> read_terms(SqliteDatabase& database, const IndexWordsOptions& options, IndexWords& out) {
  TRY(auto words,
      database.prepare("SELECT word, documents FROM list_words INDEXED BY list_words_by_word WHERE kind=?1 "
                       "AND documents >= ?2 ORDER BY documents DESC LIMIT ?3"));
  words.bind(stored_number(WordKind::words), options.fewest_documents, options.most_words);
  return words.for_each_row([&](const SqliteRow& row) {
    out.words.emplace_back(row.text(0), static_cast<std::size_t>(row.integer(1)));
  });
}

/// The index's first list of words or stems; of parts if it has no other.
WordKind counted_kind(const ListShape& shape) {
  const auto found = std::find_if(shape.kinds.begin(), shape.kinds.end(),
                                  [](WordKind kind) { return kind != WordKind::parts; });
  return found == shape.kinds.end() ? shape.kinds.front() : *found;
}

}  // namespace

Result<IndexWords> read_index_words(const std::string& path, const IndexWordsOptions& options) {
  TRY(auto database, open_index_file(path));
  TRY_VOID(check_index_format(database, path));
  IndexWords out;
  std::string order = "id";
  if (!options.order_by.empty()) {
    TRY(auto known, database.prepare("SELECT 1 FROM pragma_table_info('numbers') WHERE name = ?1"));
    known.bind(options.order_by);
    TRY(const auto is_known, known.next());
    if (is_known)
      order = "(SELECT \"" + options.order_by + "\" FROM numbers WHERE numbers.id = pages.id) DESC, id";
  }
  TRY(auto titles,
      database.prepare("SELECT title FROM pages WHERE title != '' ORDER BY " + order + " LIMIT ?1"));
  titles.bind(options.most_titles);
  TRY_VOID(titles.for_each_row([&](const SqliteRow& row) { out.titles.emplace_back(row.text(0)); }));
  TRY_VOID(read_terms(database, options, out));
  return out;
}

/// What counting needs of an index.
struct IndexCounter::Reader {
  SqliteDatabase database;
  ListReader lists;
  QueryReader queries;
  std::shared_ptr<const DocumentLengths> lengths;
};

struct IndexCounter::Shared {
  std::string database;
  TrackingParameters tracking;
  FilePool<std::unique_ptr<Reader>> pool{database};
  SharedLengths lengths{};

  Result<std::unique_ptr<Reader>> open() {
    TRY(auto index, open_index(database));
    TRY(const auto shape, read_list_shape(index));
    TRY(const auto languages, read_languages(index));
    const WordKind kind = counted_kind(shape);
    TRY(auto lists, ListReader::open(index, kind));
    TRY(auto shared_lengths, lengths.of(index, lists));
    return std::make_unique<Reader>(Reader{std::move(index), std::move(lists),
                                           QueryReader(kind, languages, shape.columns),
                                           std::move(shared_lengths)});
  }
};

IndexCounter::IndexCounter(std::shared_ptr<Shared> shared, Taken reader)
    : shared_(std::move(shared)), reader_(std::move(reader)) {}
IndexCounter::IndexCounter(IndexCounter&&) noexcept = default;
IndexCounter::~IndexCounter() {
  if (reader_.handle != nullptr) shared_->pool.give_back(std::move(reader_));
}

IndexCounters::IndexCounters(const std::string& database, TrackingParameters tracking)
    : shared_(new IndexCounter::Shared{database, std::move(tracking)}) {}
IndexCounters::~IndexCounters() = default;

Result<IndexCounter> IndexCounters::take() const {
  TRY(auto reader, shared_->pool.take([&] { return shared_->open(); }));
  return IndexCounter(shared_, std::move(reader));
}

std::size_t IndexCounter::documents_with(const std::vector<std::vector<std::string>>& groups,
                                         std::size_t most) {
  std::string query;
  for (const auto& group : groups) {
    query += query.empty() ? "(" : " AND (";
    for (std::size_t i = 0; i < group.size(); ++i) query += (i > 0 ? " OR " : "") + as_string(group[i]);
    query += ')';
  }
  const auto asked = reader_.handle->queries.read(query, true);
  if (!asked) return 0;
  const Deadline deadline(machine_clock(), std::chrono::seconds(1));
  const auto found = find_best(reader_.handle->lists, *reader_.handle->lengths, *asked, {}, most, deadline);
  return found ? found->size() : 0;
}

bool IndexCounter::is_stop_word(const std::string& word) const {
  return reader_.handle->queries.is_stop_word(word);
}

Result<std::vector<std::int64_t>> IndexCounter::ids_of(std::span<const std::string> urls) {
  return ids_of_results(reader_.handle->database, urls, shared_->tracking);
}

Result<std::optional<std::vector<bool>>> IndexCounter::which_contain(std::string_view text,
                                                                     std::span<const std::int64_t> ids,
                                                                     const Deadline& deadline) {
  using Contain = std::optional<std::vector<bool>>;
  if (reader_.handle->lists.kind() == WordKind::parts) return Contain();
  TRY(const auto asked, reader_.handle->queries.read(as_string(text)));
  if (asked.is_empty) return Contain();
  TRY(auto found, find_matching(reader_.handle->lists, *reader_.handle->lengths, asked, ids, deadline));
  return Contain(std::move(found));
}

}  // namespace metafuse::fetchers
