#include "fetchers/engines/index/local_engine.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file_pool.h"
#include "fetchers/engines/index/condition.h"
#include "fetchers/engines/index/expansion.h"
#include "fetchers/engines/index/word_lists.h"
#include "fetchers/engines/index/word_search.h"

namespace metafuse::fetchers {
namespace {

constexpr std::string_view kIfDamaged =
    "delete it and build it again with metafuse index and the options that its engines need (those of "
    "metafuse init: --update --cosine --expandable --embedding lsi); a server that reads its documents does "
    "that by itself, unless an endpoint makes its vectors";

}  // namespace

Error not_an_index(const std::string& path, const std::string& why) {
  return fail(Code::bad_data, path + ": not a document index (" + why + "); build one with metafuse index");
}

Result<SqliteDatabase> open_index_file(const std::string& path) {
  return SqliteDatabase::open(path, {.if_damaged = kIfDamaged});
}

Result<SqliteDatabase> open_index(const std::string& path, std::int64_t mapped_bytes) {
  auto database = open_index_file(path);
  if (!database)
    return fail(database.error().code, database.error().text + "; build the index with metafuse index");
  TRY_VOID(check_index_format(*database, path));
  // Nobody writes into an index: it is replaced by a rename. So its lock can be kept, which SQLite would
  // otherwise take, and look for a journal, for each document that is looked up.
  TRY_VOID(database->run(fmt::format(
      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA mmap_size={}; PRAGMA cache_size=-4096;", mapped_bytes)));
  return database;
}

Result<void> check_index(const std::string& path) {
  TRY(auto database, open_index(path));
  TRY(auto check, database.prepare("PRAGMA quick_check(1)"));
  TRY(const auto row, check.next());
  if (row && row->text(0) == "ok") return {};
  return fail(Code::bad_data, fmt::format("{}: damaged ({}); {}", path, row ? row->text(0) : "", kIfDamaged));
}

Result<std::string> index_version(SqliteDatabase& database) {
  std::string version;
  // asked first, so that an error of the other statement means that the file cannot be read
  TRY(auto columns,
      database.prepare("SELECT 1 FROM pragma_table_info('meta') WHERE name IN ('name', 'value') LIMIT 1, 1"));
  TRY(const auto has_meta, columns.next());
  if (!has_meta) return version;
  TRY(auto meta, database.prepare("SELECT value FROM meta WHERE name='version' AND EXISTS "
                                  "(SELECT 1 FROM meta WHERE name='format' AND value='metafuse-index')"));
  TRY_VOID(meta.for_each_row([&](const SqliteRow& row) { version = row.text(0); }));
  return version;
}

Result<void> check_index_format(SqliteDatabase& database, const std::string& path) {
  TRY(const std::string version, index_version(database));
  if (version.empty()) return not_an_index(path, "it has no format entry");
  if (version != kIndexVersion)
    return fail(Code::bad_data,
                fmt::format("{}: an index of version {}, and this program reads version {}; build it "
                            "again with metafuse index",
                            path, version, kIndexVersion));
  return {};
}

bool finds_row(SqliteDatabase& database, std::string_view sql) {
  auto statement = database.prepare(sql);
  if (!statement) return false;
  const auto row = statement->next();
  return row && *row;
}

namespace {

Hit indexed_hit(const SqliteRow& row, double score) {
  Hit hit;
  hit.url = row.text(0);
  hit.title = row.text(1);
  hit.snippet = row.text(2);
  hit.published = row.text(3);
  hit.language = row.text(4);
  hit.fingerprint = static_cast<std::uint64_t>(row.integer(5));
  hit.score = score;
  return hit;
}

}  // namespace

Result<ShownPages> ShownPages::make(SqliteDatabase& database) {
  ShownPages pages;
  TRY(pages.page_,
      database.prepare("SELECT url, title, snippet, published, language, fingerprint FROM pages WHERE id=?",
                       true));
  return pages;
}

Result<bool> ShownPages::append(std::int64_t id, double score, RankedList& list) {
  const std::size_t before = list.hits.size();
  page_.bind(id);
  TRY_VOID(page_.for_each_row([&](const SqliteRow& row) { list.hits.push_back(indexed_hit(row, score)); }));
  return list.hits.size() > before;
}

namespace detail {

/// A connection and what searches on it need.
struct LocalConnection {
  SqliteDatabase database;
  ShownPages pages;
  ListReader lists;
  QueryReader queries;
  Scoring scoring;
  std::shared_ptr<const DocumentLengths> lengths;
  std::optional<Expander> expander;
  std::optional<SqliteStatement> number;  ///< that orders results, of a document
};

}  // namespace detail

namespace {

using Connection = detail::LocalConnection;

/// The weights of all columns, in the index's order.
Result<std::vector<double>> column_weights(const ListShape& shape, const LocalAccess& access) {
  std::vector<double> weights(shape.columns.size(), 1);
  for (const auto& [name, value] : access.weights) {
    const auto column = std::find(shape.columns.begin(), shape.columns.end(), name);
    if (column == shape.columns.end())
      return fail(Code::bad_config,
                  fmt::format("{}: there is a weight for \"{}\", but the index has the columns {}",
                              access.database, name, fmt::join(shape.columns, ", ")));
    weights[static_cast<std::size_t>(column - shape.columns.begin())] = value;
  }
  return weights;
}

Result<SqliteStatement> ordering_number(SqliteDatabase& database, const LocalAccess& access) {
  TRY(auto known,
      database.prepare("SELECT 1 FROM pragma_table_info('numbers') WHERE name = ?1 AND name <> 'id'"));
  known.bind(access.order_by);
  TRY(const auto is_known, known.next());
  if (!is_known)
    return fail(Code::bad_config, access.database + ": order_by is \"" + access.order_by +
                                      "\", but the documents have no numeric field with that name");
  const std::string number = '"' + access.order_by + '"';
  return database.prepare("SELECT " + number + " FROM numbers WHERE id=? AND " + number + " IS NOT NULL",
                          true);
}

/// The kind of list that the engine asks for, else the index's first.
Result<WordKind> wanted_kind(const ListShape& shape, const LocalAccess& access) {
  if (access.tokenizer.empty()) return shape.kinds.front();
  const auto kind = word_kind_of(access.tokenizer);
  if (kind && std::find(shape.kinds.begin(), shape.kinds.end(), *kind) != shape.kinds.end()) return *kind;
  return fail(Code::bad_config,
              fmt::format("{}: the index was not built with the tokenizer {}; {}", access.database,
                          access.tokenizer, build_again_with("--tokenizer " + access.tokenizer)));
}

Result<std::unique_ptr<Connection>> connect(const LocalAccess& access, SharedLengths& lengths) {
  TRY(auto database, open_index(access.database));
  TRY(const auto shape, read_list_shape(database));
  TRY(const auto languages, read_languages(database));
  TRY(const auto kind, wanted_kind(shape, access));
  TRY(auto weights, column_weights(shape, access));
  TRY(auto pages, ShownPages::make(database));
  TRY(auto lists, ListReader::open(database, kind));
  TRY(auto shared_lengths, lengths.of(database, lists));
  std::optional<SqliteStatement> number;
  if (!access.order_by.empty()) {
    TRY(number, ordering_number(database, access));
  }
  std::optional<Expander> expander;
  if (access.expansion) {
    if (kind != shape.kinds.front())
      return fail(Code::bad_config, fmt::format("{}: expand: works with the index's first list, {}",
                                                access.database, name_of(shape.kinds.front())));
    TRY(expander, Expander::open(database, access.database));
  }
  return std::make_unique<Connection>(Connection{std::move(database),
                                                 std::move(pages),
                                                 std::move(lists),
                                                 QueryReader(kind, languages, shape.columns),
                                                 {access.weighting, std::move(weights)},
                                                 std::move(shared_lengths),
                                                 std::move(expander),
                                                 std::move(number)});
}

/// The documents with the highest numbers; those without one are left out. The score becomes the number.
Result<std::vector<ScoredDocument>> ordered_by_number(SqliteStatement& number,
                                                      const std::vector<ScoredDocument>& found) {
  std::vector<ScoredDocument> ordered;
  for (const ScoredDocument& document : found) {
    number.bind(document.id);
    TRY_VOID(number.for_each_row([&](const SqliteRow& row) {
      ordered.push_back({document.id, row.number(0)});
    }));
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const ScoredDocument& a, const ScoredDocument& b) { return a.score > b.score; });
  return ordered;
}

Result<std::vector<ScoredDocument>> find(Connection& connection, const LocalAccess& access,
                                         std::string_view query, std::size_t count,
                                         const Deadline& deadline) {
  TRY(auto asked, connection.queries.read(query));
  const auto best = [&](std::size_t most) {
    return find_best(connection.lists, *connection.lengths, asked, connection.scoring, most, deadline);
  };
  if (connection.number) {
    TRY(const auto found, best(kAllDocuments));
    return ordered_by_number(*connection.number, found);
  }
  if (connection.expander) {
    TRY(const auto first, best(access.expansion->documents));
    TRY(asked, connection.expander->expanded(asked, first, *access.expansion, *connection.lengths,
                                             connection.queries.stop_forms()));
  }
  return best(count);
}

}  // namespace

std::optional<UnknownName> find_unknown_name(const LocalAccess& access) {
  if (access.weights.empty() && access.tokenizer.empty() && access.order_by.empty()) return std::nullopt;
  auto database = open_index(access.database);
  if (!database) return std::nullopt;
  const auto shape = read_list_shape(*database);
  if (!shape) return std::nullopt;
  const auto unknown = [](std::string_view key, const auto& result) {
    return !result && result.error().code == Code::bad_config
               ? std::optional<UnknownName>({key, result.error().text})
               : std::nullopt;
  };
  if (auto found = unknown("weights", column_weights(*shape, access))) return found;
  if (auto found = unknown("tokenizer", wanted_kind(*shape, access))) return found;
  if (access.order_by.empty()) return std::nullopt;
  return unknown("order_by", ordering_number(*database, access));
}

struct LocalEngine::Shared {
  LocalAccess access;
  FilePool<std::unique_ptr<Connection>> pool{access.database};
  SharedLengths lengths{};
};

LocalEngine::LocalEngine(LocalAccess access) : shared_(new Shared{std::move(access)}) {}

LocalEngine::~LocalEngine() = default;

Result<RankedList> LocalEngine::search(std::string_view query, int depth, int offset,
                                       const Deadline& deadline) {
  if (query.find_first_not_of(" \t\r\n") == std::string_view::npos) return RankedList{};
  TRY(auto taken, shared_->pool.take([&] { return connect(shared_->access, shared_->lengths); }));
  auto& connection = taken.handle;
  connection->database.set_deadline(&deadline);
  const auto first = static_cast<std::size_t>(offset);
  const std::size_t end = first + static_cast<std::size_t>(depth);
  const auto found = find(*connection, shared_->access, query, end, deadline);
  RankedList list;
  for (std::size_t i = first; found && i < std::min(end, found->size()); ++i)
    TRY_VOID(connection->pages.append((*found)[i].id, (*found)[i].score, list));
  connection->database.set_deadline(nullptr);
  if (!found) return fail(found.error().code, shared_->access.database + ": " + found.error().text);
  // after a failed search the connection's statements may be in the middle of a row
  shared_->pool.give_back(std::move(taken));
  return list;
}

}  // namespace metafuse::fetchers
