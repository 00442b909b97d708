// Builds the embedded engine's index in a file beside the old one, which then takes its place, so that a
// search sees either the old index or the whole new one. An update works on a copy of the old index in the
// same way.

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/digest.h"
#include "core/keyed_hash.h"
#include "core/text.h"
#include "fetchers/engines/index/added_documents.h"
#include "fetchers/engines/index/cosine_index.h"
#include "fetchers/engines/index/document_files.h"
#include "fetchers/engines/index/index_update.h"
#include "fetchers/engines/index/index_writing.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/passage_source.h"
#include "fetchers/engines/index/word_lists.h"

namespace metafuse::fetchers {
namespace {

constexpr const char* kCreateIndexMeta =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT);"
    "INSERT INTO meta VALUES('format','metafuse-index'),('version','{}');";
constexpr const char* kCreatePages =
    "CREATE TABLE pages(id INTEGER PRIMARY KEY, url TEXT NOT NULL, title TEXT NOT NULL, snippet TEXT NOT "
    "NULL, "
    "published TEXT NOT NULL, language TEXT NOT NULL, fingerprint INTEGER NOT NULL);";
/// Of an index whose documents are not found by `sources`.
constexpr const char* kCreatePagesByUrl = "CREATE INDEX pages_by_url ON pages(url);";
constexpr const char* kCreateSources =
    "CREATE TABLE files(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL);"
    "INSERT INTO files VALUES(0, '', '');"
    "CREATE TABLE sources(id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, file INTEGER NOT NULL, fields "
    "BLOB NOT NULL); CREATE INDEX sources_by_file ON sources(file);";
constexpr std::size_t kProgressEvery = 1000;

/// Collects each document once: the last with a given URL, in the position of the first.
class Collector {
 public:
  Taken take(SourceDocument document) {
    if (const auto checked = check_document(document); !checked) return Refusal{checked.error().text};
    if (const auto goes = widen(document); !goes) {
      conflicting_.insert(document.file);
      return Refusal{goes.error().text};
    }
    const std::string stamp = std::exchange(document.stamp, {});
    if (!document.file.empty()) stamps.emplace(document.file, stamp);
    keep(std::move(document));
    return {};
  }

  /// Has the fields of what programs added, so that the documents of files have to go with them.
  Result<void> begin_with_fields_of(const std::vector<AddedDocuments::Change>& changes) {
    for (const AddedDocuments::Change& change : changes)
      if (change.document) TRY_VOID(widen(*change.document));
    return {};
  }

  /// Takes what programs added; what they removed was never taken. Documents that do not go with the others
  /// are left out.
  void take_added(const std::vector<AddedDocuments::Change>& changes, std::vector<LeftOutFile>& refused) {
    for (const AddedDocuments::Change& change : changes) {
      added_step = std::max(added_step, change.step);
      if (!change.document) continue;
      if (const auto refusal = take(*change.document))
        refused.push_back(left_out_change(change, refusal->why));
    }
  }

  /// Notes what was left out of a file, or has the next update read it again if that may have changed then.
  void leave_out(const LeftOutFile& file) {
    const std::string key = file_key(file.path);
    if (file.stamp.empty() || conflicting_.contains(key)) return forget_stamp(key);
    stamps.emplace(key, file.stamp);
    left_out[key] = file.why;
  }

  std::vector<SourceDocument> documents;
  std::map<std::string, std::string> stamps;    ///< of the files, as they were when they were read
  std::map<std::string, std::string> left_out;  ///< of some of these files: why
  IndexShape shape;
  std::size_t replaced = 0;
  std::int64_t added_step = 0;

 private:
  Result<void> widen(const SourceDocument& document) {
    TRY(const auto fields, new_fields(shape, document));
    shape.lists.columns.insert(shape.lists.columns.end(), fields.texts.begin(), fields.texts.end());
    shape.numbers.insert(shape.numbers.end(), fields.numbers.begin(), fields.numbers.end());
    return {};
  }

  /// Has a file read again by the next update.
  void forget_stamp(const std::string& file) {
    if (const auto stamp = stamps.find(file); stamp != stamps.end()) stamp->second.clear();
  }

  void keep(SourceDocument document) {
    const auto [entry, is_new] = position_.emplace(document.url, documents.size());
    if (is_new) {
      documents.push_back(std::move(document));
      return;
    }
    SourceDocument& before = documents[entry->second];
    if (before.file != document.file)  // both are read by each update, so that the last of them always counts
      for (const std::string& file : {before.file, document.file}) forget_stamp(file);
    before = std::move(document);
    ++replaced;
  }

  TextMap<std::size_t> position_;      ///< of each address, in documents
  std::set<std::string> conflicting_;  ///< files with a document whose fields do not go with those of others
};

Result<void> create_tables(SqliteDatabase& database, const IndexShape& shape, const IndexOptions& options) {
  std::string sql = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;" +
                    fmt::format(kCreateIndexMeta, kIndexVersion) + kCreatePages + kCreateTexts;
  if (!shape.numbers.empty())
    sql += "CREATE TABLE numbers(id INTEGER PRIMARY KEY, " + joined_columns(shape.numbers) + ");";
  sql += options.updates ? std::string(kCreateSources) + kCreateLeftOut : kCreatePagesByUrl;
  TRY_VOID(database.run(sql));
  return create_lists(database, shape.lists);
}

/// The language of most documents, by what they state, their texts, and the stop words of short ones.
std::string language_of_most(const std::vector<SourceDocument>& documents) {
  constexpr std::size_t kLookedAt = 200;
  std::map<std::string, std::size_t> count;
  const std::size_t step = documents.size() / kLookedAt + 1;
  for (std::size_t i = 0; i < documents.size(); i += step) {
    const std::string language = language_of(documents[i], "");
    ++count[language.empty() ? language_by_stop_words(text_of(documents[i])) : language];
  }
  count.erase("");
  const auto most = std::max_element(count.begin(), count.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == count.end() ? std::string() : most->first;
}

/// Writes the files of the documents, and what was left out of them.
/// out:    their numbers
Result<std::map<std::string, std::int64_t>> insert_files(SqliteDatabase& database,
                                                         const Collector& collected) {
  std::map<std::string, std::int64_t> numbers = {{"", 0}};
  TRY(auto insert, database.prepare("INSERT INTO files VALUES(?, ?, ?)"));
  TRY(auto leave_out, database.prepare("INSERT INTO left_out VALUES(?, ?)"));
  for (const auto& [path, stamp] : collected.stamps) {
    const auto number = static_cast<std::int64_t>(numbers.size());
    TRY_VOID(insert.run(number, path, stamp));
    numbers.emplace(path, number);
    const auto left_out = collected.left_out.find(path);
    if (left_out != collected.left_out.end()) TRY_VOID(leave_out.run(number, left_out->second));
  }
  return numbers;
}

Result<void> insert_all(SqliteDatabase& database, const Collector& collected, const IndexShape& shape,
                        const IndexOptions& options) {
  std::map<std::string, std::int64_t> files;
  if (options.updates) {
    TRY(files, insert_files(database, collected));
  }
  TRY(auto writer, DocumentWriter::make(database, shape, options.updates));
  TRY(auto terms, database.prepare("INSERT INTO terms VALUES(?, ?)"));
  ListBuilder builder(shape.lists);
  for (std::size_t i = 0; i < collected.documents.size(); ++i) {
    const auto id = static_cast<std::uint32_t>(i + 1);
    TRY_VOID(writer.insert(id, collected.documents[i], files[collected.documents[i].file]));
    builder.add(id, collected.documents[i]);
    if (shape.lists.keeps_terms) TRY_VOID(write_terms(terms, id, builder.terms_of_last()));
    TRY_VOID(check_interrupt(options.is_interrupted));
    if (options.progress && (i + 1) % kProgressEvery == 0)
      options.progress(i + 1, collected.documents.size());
  }
  if (options.progress) options.progress(collected.documents.size(), collected.documents.size());
  TRY_VOID(write_lists(database, shape.lists, builder, options.is_interrupted));
  if (!options.has_cosine) return {};
  return write_cosine(database, shape.lists, collected.documents.size(), options.is_interrupted);
}

/// out:    the number of dimensions of the vectors, 0 if none are wanted
Result<std::size_t> add_vectors(SqliteDatabase& database, const Collector& collected,
                                const IndexOptions& options) {
  if (options.vectors.source == VectorOptions::Source::none) return std::size_t{0};
  VectorWriting writing = vector_writing(options);
  writing.last_id = collected.documents.size();
  for (std::size_t i = 1; i <= writing.last_id; ++i) writing.ids.push_back(static_cast<std::int64_t>(i));
  writing.text_of = [&](std::int64_t id) -> Result<std::string> {
    return text_of(collected.documents[static_cast<std::size_t>(id - 1)]);
  };
  return write_vectors(database, options.vectors, writing);
}

/// out:    as add_vectors
Result<std::size_t> write_index(const std::string& path, const Collector& collected, const IndexShape& shape,
                                const IndexOptions& options) {
  TRY(auto database, SqliteDatabase::open(path, {.mode = SqliteMode::create}));
  TRY_VOID(create_tables(database, shape, options));
  TRY_VOID(note_added_step(database, collected.added_step));
  TRY_VOID(insert_all(database, collected, shape, options));
  TRY(const std::size_t dimensions, add_vectors(database, collected, options));
  TRY_VOID(database.run("COMMIT;"));
  return dimensions;
}

/// " (all 3 files were left out; the first: FILE: why)"
std::string why_none(const ReadReport& read) {
  if (read.left_out.empty()) return {};
  const LeftOutFile& first = read.left_out.front();
  return fmt::format(" (files left out: {}; the first: {}: {})", read.left_out.size(), first.path, first.why);
}

using Changes = std::vector<AddedDocuments::Change>;

/// Writes a new index of what was collected.
Result<IndexReport> write_new(const std::string& path, Collector collected, const IndexOptions& options) {
  IndexShape shape = collected.shape;
  shape.lists.kinds = wanted_kinds(options);
  shape.lists.keeps_terms = options.keeps_terms;
  shape.lists.language = options.language.empty() ? language_of_most(collected.documents) : options.language;
  const auto dimensions = write_index(path, collected, shape, options);
  if (!dimensions) return fail(dimensions.error().code, "cannot write the index: " + dimensions.error().text);
  IndexReport report;
  report.documents = collected.documents.size();
  report.replaced = collected.replaced;
  report.columns = std::move(shape.lists.columns);
  report.language = std::move(shape.lists.language);
  report.dimensions = *dimensions;
  return report;
}

/// Builds the whole index in a new file.
Result<IndexReport> build_anew(const std::string& path, const std::vector<std::string>& documents,
                               const Changes& added, const IndexOptions& options) {
  Collector collected;
  TRY_VOID(collected.begin_with_fields_of(added));
  TRY(auto read, read_all(documents, options.files, options, urls_of(added),
                          [&](SourceDocument one) { return collected.take(std::move(one)); }));
  for (const LeftOutFile& file : read.left_out) collected.leave_out(file);
  collected.take_added(added, read.left_out);
  if (collected.documents.empty())
    return fail(
        Code::bad_data,
        documents.front() + ": no document to index" + why_none(read) +
            "; give files such as HTML, Markdown, text, PDF, Office, mail, CSV or JSON lines, or a folder "
            "that contains some");
  TRY(auto report, write_new(path, std::move(collected), options));
  report.read = std::move(read);
  return report;
}

/// Builds the index again from the documents that it keeps and all that programs added.
Result<IndexReport> build_from_kept(const std::string& path, const std::string& index, const Changes& added,
                                    const IndexOptions& options) {
  Collector collected;
  const auto others = urls_of(added);
  TRY(auto database, open_index(index));
  TRY(auto rows, database.prepare("SELECT url, fields, path FROM sources LEFT JOIN files ON files.id = "
                                  "sources.file ORDER BY sources.id"));
  TRY_VOID(rows.for_each_row([&](const SqliteRow& row) -> Result<void> {
    if (others.contains(std::string(row.text(0)))) return {};
    TRY(auto document, kept_document(row.bytes(1), index));
    document.url = row.text(0);
    document.file = row.text(2);
    if (const auto refusal = collected.take(std::move(document))) return fail(Code::bad_data, refusal->why);
    return {};
  }));
  ReadReport read;
  collected.take_added(added, read.left_out);
  TRY(auto report, write_new(path, std::move(collected), options));
  report.read = std::move(read);
  return report;
}

/// Updates a copy of the index; nullopt if it cannot be updated.
Result<std::optional<IndexReport>> update_copy(const std::string& database, const std::string& beside,
                                               const std::vector<std::string>& documents,
                                               const Changes& added, const IndexOptions& options) {
  std::error_code error;
  if (!options.updates || options.is_damaged || !other_version(database).empty() ||
      !std::filesystem::exists(database, error) || std::filesystem::is_empty(database, error))
    return std::optional<IndexReport>();
  std::filesystem::copy_file(database, beside, error);
  if (error) return fail(Code::try_again, beside + ": " + error.message());
  TRY(auto report, update_index(beside, documents, added, options));
  if (!report) std::filesystem::remove(beside, error);
  return report;
}

Result<IndexReport> write_beside(const std::string& database, const std::string& beside,
                                 const std::vector<std::string>& documents, const IndexOptions& options) {
  Changes added;
  TRY(auto added_documents, AddedDocuments::open_if_there(database));
  if (added_documents) {
    TRY(added, added_documents->since(0));
  }
  auto updated = update_copy(database, beside, documents, added, options);
  const bool is_damaged = !updated && updated.error().code == Code::bad_data;
  if (!updated && !is_damaged) return updated.error();
  if (updated && *updated) return std::move(**updated);
  std::error_code error;
  if (is_damaged) std::filesystem::remove(beside, error);
  auto built = build_anew(beside, documents, added, options);
  if (!built && built.error().code == Code::bad_data && std::filesystem::exists(database, error))
    return fail(Code::bad_data, built.error().text + "; the index is left as it was");
  TRY(auto report, std::move(built));
  report.other_version = other_version(database);
  report.was_damaged = is_damaged || options.is_damaged;
  return report;
}

bool keeps_documents(SqliteDatabase& database) {
  return finds_row(database, "SELECT 1 FROM sqlite_master WHERE name='sources'");
}

/// Documents can only be added to an index that keeps them.
Result<void> check_keeps_documents(SqliteDatabase& database, const std::string& path) {
  if (keeps_documents(database)) return {};
  return fail(Code::bad_config, path +
                                    ": this index does not keep its documents, so that none can be added; "
                                    "build it again with metafuse index --update");
}

/// Vectors of an endpoint need the endpoint.
Result<void> check_embedding(const std::string& path, const IndexOptions& options) {
  if (options.vectors.source == VectorOptions::Source::endpoint && !options.vectors.embed)
    return fail(Code::bad_config, path +
                                      ": an endpoint makes its vectors; name it with `embedding:` at the "
                                      "engine of type local_vector");
  return {};
}

/// Writes the index beside with what is new; nullopt if there is nothing.
Result<std::optional<IndexReport>> follow_beside(const std::string& database, const std::string& beside,
                                                 AddedDocuments& added, IndexOptions options) {
  constexpr std::size_t kMostAtOnce = 20'000;
  std::error_code error;
  if (!std::filesystem::exists(database, error)) {
    TRY(const auto all, added.since(0));
    if (std::none_of(all.begin(), all.end(), [](const auto& one) { return one.document.has_value(); }))
      return std::optional<IndexReport>();
    TRY(auto report, build_anew(beside, {}, all, options));
    return std::optional<IndexReport>(std::move(report));
  }
  TRY(auto before, open_index(database));
  TRY_VOID(check_keeps_documents(before, database));
  TRY(const std::int64_t step, added_step(before));
  TRY(const auto news, added.since(step, kMostAtOnce));
  if (news.empty() && options.defers_training) return std::optional<IndexReport>();
  TRY(auto report, update_copy(database, beside, {}, news, options));
  if (report) report->has_more = news.size() >= kMostAtOnce;
  if (report) return report;
  TRY(const auto all, added.since(0));
  TRY(auto anew, build_from_kept(beside, database, all, options));
  return std::optional<IndexReport>(std::move(anew));
}

}  // namespace

IndexOptions options_of_init() {
  IndexOptions options;
  options.updates = true;
  options.has_cosine = true;
  options.keeps_terms = true;
  options.vectors.source = VectorOptions::Source::lsi;
  options.vectors.is_optional = true;
  return options;
}

Result<IndexOptions> options_to_update(const std::string& database) {
  std::error_code error;
  if (!std::filesystem::exists(database, error) || std::filesystem::is_empty(database, error))
    return options_of_init();
  IndexOptions options;
  options.updates = true;
  options.vectors.is_optional = true;
  TRY(auto index, open_index_file(database));
  TRY(const std::string version, index_version(index));
  if (version.empty()) TRY_VOID(check_index_format(index, database));
  TRY(const auto shape, read_list_shape(index));
  options.kinds = shape.kinds;
  // one that was found may have no stems, and cannot be asked for; it is found again
  if (check_language(shape.language)) options.language = shape.language;
  options.keeps_terms = shape.keeps_terms;
  options.has_cosine = has_cosine(index);
  TRY(const auto meta, read_vector_meta(index, database));
  options.vectors.source = meta.source;
  options.vectors.model = meta.model;
  TRY(options.vectors.dimensions, wanted_dimensions(index));
  if (meta.source == VectorOptions::Source::none && wants_vectors(index))
    options.vectors.source = VectorOptions::Source::lsi;
  return options;
}

bool is_damaged_index(const std::string& database) {
  const auto is_damage = [](const Error& error) { return error.code == Code::bad_data; };
  auto index = open_index_file(database);
  if (!index) return is_damage(index.error());
  const auto version = index_version(*index);
  if (!version) return is_damage(version.error());
  const auto options = options_to_update(database);
  return *version == kIndexVersion && !options && is_damage(options.error());
}

Result<IndexFacts> facts_of_index(const std::string& database) {
  IndexFacts facts;
  std::error_code error;
  if (!std::filesystem::exists(database, error)) return facts;
  TRY(auto index, open_index(database));
  TRY(facts.added_step, added_step(index));
  TRY(facts.documents, count_documents(index));
  TRY(const auto meta, read_vector_meta(index, database));
  const bool has_none = meta.source == VectorOptions::Source::none && wants_vectors(index);
  facts.folded = has_none ? facts.documents : meta.folded;
  return facts;
}

Result<std::string> content_version(const std::string& database) {
  TRY(auto index, open_index(database));
  std::string all;
  const auto add = [&](const char* sql) -> Result<void> {
    TRY(auto rows, index.prepare(sql));
    return rows.for_each_row([&](const SqliteRow& row) { (all += row.text(0)) += '\n'; });
  };
  TRY_VOID(add("SELECT name || ' ' || coalesce(value, '') FROM meta ORDER BY name"));
  TRY_VOID(add("SELECT kind || ' ' || version FROM lists ORDER BY kind"));
  // A version of lists counts words, and does not say which. File 0 is what programs added.
  const bool has_files = finds_row(index, "SELECT 1 FROM sqlite_master WHERE name='files'");
  if (has_files) TRY_VOID(add("SELECT id || ' ' || stamp FROM files ORDER BY id"));
  if (has_files && !finds_row(index, "SELECT 1 FROM files WHERE id > 0 AND stamp = ''"))
    return sha256_hex(all);
  std::error_code error;
  const auto written = std::filesystem::last_write_time(database, error).time_since_epoch().count();
  return sha256_hex(all + std::to_string(written));
}

Result<bool> takes_documents(const std::string& database) {
  std::error_code error;
  if (!std::filesystem::exists(database, error)) return true;
  TRY(auto index, open_index(database));
  return keeps_documents(index);
}

Result<std::optional<IndexReport>> follow_added_documents(const std::string& database,
                                                          const FollowOptions& following) {
  TRY(auto added, AddedDocuments::open_if_there(database));
  if (!added) return std::optional<IndexReport>();
  TRY(auto writing, IndexWriting::begin(database, {.is_interrupted = following.is_interrupted}));
  TRY(auto options, options_to_update(database));
  options.follows_added = true;
  options.defers_training = following.defers_training;
  options.vectors.embed = following.embed;
  options.files.threads = following.threads;
  options.is_interrupted = following.is_interrupted;
  TRY_VOID(check_embedding(database, options));
  TRY(auto report, follow_beside(database, writing.path(), *added, std::move(options)));
  if (report) TRY_VOID(writing.finish());
  return report;
}

Result<IndexReport> build_local_index(const std::string& database, const std::vector<std::string>& documents,
                                      const IndexOptions& options) {
  if (!options.language.empty()) TRY_VOID(check_language(options.language));
  TRY_VOID(check_embedding(database, options));
  TRY(auto writing,
      IndexWriting::begin(database, {options.tell_wait, options.is_interrupted, options.is_damaged}));
  TRY(auto report, write_beside(database, writing.path(), documents, options));
  TRY(report.put_aside, writing.finish());
  return report;
}

}  // namespace metafuse::fetchers
