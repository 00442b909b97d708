#include "fetchers/engines/index/index_update.h"

#include <algorithm>
#include <map>
#include <set>

#include "fetchers/engines/index/added_documents.h"
#include "fetchers/engines/index/cosine_index.h"
#include "fetchers/engines/index/word_lists.h"

namespace metafuse::fetchers {

namespace {

Result<std::int64_t> number_from(SqliteDatabase& database, const char* sql) {
  std::int64_t number = 0;
  TRY(auto rows, database.prepare(sql));
  TRY_VOID(rows.for_each_row([&](const SqliteRow& row) { number = row.integer(0); }));
  return number;
}

/// Gives the files of an index that names them by the paths they were given by their keys. Where a relative
/// path began is not known; it is likely to have been here, and else its file is read again.
Result<void> renew_file_keys(SqliteDatabase& database) {
  std::vector<std::pair<std::int64_t, std::string>> files;
  TRY(auto rows, database.prepare("SELECT id, path FROM files WHERE id > 0 AND (path NOT LIKE '/%' OR path "
                                  "LIKE '%/.%' OR path LIKE '%//%')"));
  TRY_VOID(rows.for_each_row([&](const SqliteRow& row) { files.emplace_back(row.integer(0), row.text(1)); }));
  TRY(auto rename, database.prepare("UPDATE OR IGNORE files SET path=? WHERE id=?"));
  for (const auto& [id, path] : files) TRY_VOID(rename.run(file_key(path), id));
  return {};
}

/// One update: documents that are read are inserted or kept; those that do not occur again are removed.
class IndexUpdate {
 public:
  IndexUpdate(SqliteDatabase& database, std::string path, const IndexOptions& options)
      : database_(database), path_(std::move(path)), options_(options) {}

  /// False when this index cannot be updated.
  Result<bool> begin() {
    auto sources = database_.prepare("SELECT count(*) FROM sources");
    if (!sources) return false;
    TRY(shape_, shape_of_index(database_));
    const ListShape& lists = shape_.lists;
    if (lists.kinds != wanted_kinds(options_) || lists.keeps_terms != options_.keeps_terms ||
        (!options_.language.empty() && lists.language != options_.language))
      return false;
    TRY_VOID(
        database_.run("BEGIN; CREATE TEMP TABLE seen(id INTEGER PRIMARY KEY);"
                      "CREATE TEMP TABLE gone(id INTEGER PRIMARY KEY);"
                      "CREATE TEMP TABLE known_files(id INTEGER PRIMARY KEY, position INTEGER);"));
    if (!options_.follows_added) TRY_VOID(renew_file_keys(database_));
    TRY_VOID(database_.run(kCreateLeftOut));
    TRY(writer_, DocumentWriter::make(database_, shape_, true));
    TRY(file_, database_.prepare("SELECT id, stamp, coalesce(why, '') FROM files LEFT JOIN left_out ON "
                                 "left_out.file = files.id WHERE path=?"));
    TRY(know_, database_.prepare("INSERT OR REPLACE INTO temp.known_files VALUES(?, ?)"));
    TRY(insert_file_, database_.prepare("INSERT INTO files VALUES(?, ?, '')"));
    TRY(stamp_file_, database_.prepare("UPDATE files SET stamp=? WHERE id=?"));
    TRY(leave_out_, database_.prepare("INSERT OR REPLACE INTO left_out VALUES(?, ?)"));
    TRY(take_in_, database_.prepare("DELETE FROM left_out WHERE file=?"));
    TRY(find_, database_.prepare("SELECT id, fields, file FROM sources WHERE url=?"));
    TRY(move_, database_.prepare("UPDATE sources SET file=? WHERE id=?"));
    TRY(see_, database_.prepare("INSERT OR IGNORE INTO temp.seen VALUES(?)"));
    TRY(source_, database_.prepare("SELECT fields, url, path FROM sources LEFT JOIN files ON files.id = "
                                   "sources.file WHERE sources.id=?",
                                   true));
    TRY(const auto last_id, number_from(database_, "SELECT coalesce(max(id), 0) FROM sources"));
    TRY(const auto lengths,
        number_from(database_, "SELECT coalesce(max(first + length(lengths) / 4), 1) FROM list_lengths"));
    if (last_id < 0 || last_id >= lengths) return damaged_lists("documents");
    last_id_ = static_cast<std::uint32_t>(last_id);
    TRY(last_file_, number_from(database_, "SELECT max(id) FROM files"));
    TRY(added_step_, added_step(database_));
    return true;
  }

  bool needs_rebuild() const { return needs_rebuild_; }

  /// Keeps the documents of a file that is as it was, and says what was left out of it; nullopt for others.
  /// Asked in the order of the files.
  std::optional<std::string> known(const std::string& path, const std::string& stamp) {
    const std::int64_t position = ++asked_;
    auto file = stored_file(path);
    if (!file || stamp.empty() || file->stamp != stamp) {
      positions_[path] = position;
      return std::nullopt;
    }
    static_cast<void>(know_.run(file->number, position));
    return std::move(file->left_out);
  }

  /// Notes what was left out of a file, or has the next update read it again if that may have changed then.
  Result<void> leave_out(const LeftOutFile& file) {
    const std::string key = file_key(file.path);
    if (file.stamp.empty() || conflicting_.contains(key)) {
      TRY(const auto stored, stored_file(key));
      return stamp_file_.run(std::string_view(), stored.number);
    }
    TRY(const auto number, number_of(key, file.stamp));
    return leave_out_.run(number, file.why);
  }

  /// As TakeDocument.
  Result<Taken> take(const SourceDocument& document) {
    if (const auto checked = check_document(document); !checked) return Refusal{checked.error().text};
    const auto fields = new_fields(shape_, document);
    if (!fields) {
      conflicting_.insert(document.file);
      return Refusal{fields.error().text};
    }
    needs_rebuild_ = needs_rebuild_ || !fields->empty();
    if (!needs_rebuild_) TRY_VOID(put(document));
    return Taken();
  }

  /// Keeps the documents that are not read again.
  void keep_others() { keeps_others_ = true; }

  /// Takes what programs added or removed; it comes after the documents of files.
  Result<void> apply(const std::vector<AddedDocuments::Change>& changes) {
    TRY(auto remove, database_.prepare("INSERT OR IGNORE INTO temp.gone SELECT id FROM sources WHERE url=?"));
    for (const AddedDocuments::Change& change : changes) {
      TRY_VOID(check_interrupt(options_.is_interrupted));
      TRY_VOID(change.document ? take_added(change) : remove.run(change.url));
      added_step_ = std::max(added_step_, change.step);
    }
    return {};
  }

  /// Writes what follows from the changes, unless the index then needs_rebuild().
  Result<IndexReport> finish() {
    TRY_VOID(remove_unseen());
    // what a document did not go with may be gone
    needs_rebuild_ = !conflicting_.empty() && !before_.empty();
    if (needs_rebuild_) return report_;
    TRY_VOID(note_added_step(database_, added_step_));
    TRY_VOID(renew_lists());
    if (!is_untouched()) TRY_VOID(renew_languages(database_, shape_.lists.language));
    TRY_VOID(renew_cosine());
    TRY(report_.dimensions, renew_vectors());
    TRY(const auto count, count_documents(database_));
    if (count == 0 && !options_.follows_added) return fail(Code::bad_data, path_ + ": no document to index");
    TRY_VOID(database_.run("COMMIT;"));
    report_.documents = count;
    report_.columns = shape_.lists.columns;
    report_.language = shape_.lists.language;
    report_.is_update = true;
    return report_;
  }

 private:
  struct StoredFile {
    std::int64_t number = 0;
    std::string stamp;
    std::string left_out;  ///< of its documents: why; empty if nothing was
  };
  struct Stored {
    std::uint32_t id;
    std::string fields;
    std::int64_t file;
  };

  /// out:    number 0 for a file that the index does not know
  Result<StoredFile> stored_file(const std::string& path) {
    StoredFile file;
    file_.bind(path);
    TRY_VOID(file_.for_each_row([&](const SqliteRow& row) {
      file = {row.integer(0), std::string(row.text(1)), std::string(row.text(2))};
    }));
    return file;
  }

  /// The number of a file whose documents are being read.
  Result<std::int64_t> number_of(const std::string& path, const std::string& stamp) {
    const auto [known, is_new] = files_.try_emplace(path, 0);
    if (!is_new || path.empty()) return known->second;
    TRY(auto file, stored_file(path));
    if (file.number == 0) {
      file.number = ++last_file_;
      TRY_VOID(insert_file_.run(file.number, path));
    }
    known->second = file.number;
    TRY_VOID(take_in_.run(file.number));
    TRY_VOID(stamp_file_.run(stamp, file.number));
    return file.number;
  }

  /// Takes a document that a program added. One that does not go with the others of the index is left out, or
  /// has the index built again if that reads the files too: it then comes before their documents.
  Result<void> take_added(const AddedDocuments::Change& change) {
    const auto fields = new_fields(shape_, *change.document);
    Taken refusal;
    if (fields) {
      TRY(refusal, take(*change.document));
    } else {
      needs_rebuild_ = needs_rebuild_ || !keeps_others_;
      refusal = Refusal{fields.error().text};
    }
    if (refusal) report_.read.left_out.push_back(left_out_change(change, refusal->why));
    return {};
  }

  /// Adds a document that goes with the others, or replaces the one with its address.
  Result<void> put(const SourceDocument& document) {
    TRY(const std::int64_t file, number_of(document.file, document.stamp));
    find_.bind(document.url);
    TRY(const auto found, find_.next());
    if (!found) {
      find_.reset();
      return add(document, file);
    }
    const Stored stored{static_cast<std::uint32_t>(found->integer(0)), std::string(found->bytes(1)),
                        found->integer(2)};
    find_.reset();
    TRY_VOID(see_.run(stored.id));
    if (stored.file != file) {
      TRY_VOID(forget_stamps(stored.file, file));
      TRY(const bool is_passed_over, comes_before_known(document.file, stored.file));
      if (is_passed_over) return {};
      TRY_VOID(move_.run(file, stored.id));
    }
    return stored.fields == kept_fields(document) ? Result<void>() : replace(stored, document, file);
  }

  Result<void> add(const SourceDocument& document, std::int64_t file) {
    const std::uint32_t id = ++last_id_;
    TRY_VOID(see_.run(id));
    TRY_VOID(writer_.insert(id, document, file));
    renewed_.insert(id);
    ++report_.added;
    return {};
  }

  /// If two files have a document, each update reads both, so that the last of them always counts.
  Result<void> forget_stamps(std::int64_t a, std::int64_t b) {
    if (a != 0 && b != 0)
      for (const std::int64_t one : {a, b}) TRY_VOID(stamp_file_.run(std::string_view(), one));
    return {};
  }

  /// Whether a file that is not read again comes after another, so that its document counts.
  Result<bool> comes_before_known(const std::string& path, std::int64_t known) {
    const auto position = positions_.find(path);
    if (position == positions_.end()) return false;
    TRY(auto behind, database_.prepare("SELECT 1 FROM temp.known_files WHERE id=? AND position > ?"));
    behind.bind(known, position->second);
    TRY(const auto row, behind.next());
    return row.has_value();
  }

  Result<void> replace(const Stored& stored, const SourceDocument& document, std::int64_t file) {
    TRY(auto old, kept_document(stored.fields, path_));
    TRY_VOID(writer_.remove(stored.id));
    TRY_VOID(writer_.insert(stored.id, document, file));
    // of a document that was read twice, the index has the words of neither
    if (!renewed_.insert(stored.id).second) return {};
    before_.emplace(stored.id, std::move(old));
    ++report_.changed;
    return {};
  }

  Result<void> remove_unseen() {
    if (!keeps_others_)
      TRY_VOID(
          database_.run("INSERT OR IGNORE INTO temp.gone SELECT sources.id FROM files CROSS JOIN sources "
                        "ON sources.file = files.id WHERE files.id NOT IN (SELECT id FROM "
                        "temp.known_files) AND sources.id NOT IN (SELECT id FROM temp.seen);"));
    std::vector<Stored> gone;
    TRY(auto rows,
        database_.prepare("SELECT id, fields, file FROM sources WHERE id IN (SELECT id FROM temp.gone)"));
    TRY_VOID(rows.for_each_row([&](const SqliteRow& row) {
      gone.push_back({static_cast<std::uint32_t>(row.integer(0)), std::string(row.bytes(1)), row.integer(2)});
    }));
    std::set<std::int64_t> files;
    for (const Stored& one : gone) {
      TRY(auto document, kept_document(one.fields, path_));
      TRY_VOID(writer_.remove(one.id));
      before_.emplace(one.id, std::move(document));
      files.insert(one.file);
      ++report_.removed;
    }
    if (!keeps_others_) TRY_VOID(forget_left_out(files));
    TRY(auto remove,
        database_.prepare("DELETE FROM files WHERE id=?1 AND id > 0 AND NOT EXISTS (SELECT 1 FROM sources "
                          "WHERE file=?1) AND NOT EXISTS (SELECT 1 FROM left_out WHERE file=?1)"));
    for (const std::int64_t file : files) TRY_VOID(remove.run(file));
    return {};
  }

  /// Forgets what was left out of files that were not read this time, nor known.
  ///
  /// out:    files - these too
  Result<void> forget_left_out(std::set<std::int64_t>& files) {
    std::set<std::int64_t> lost;
    TRY(auto rows,
        database_.prepare("SELECT file FROM left_out WHERE file NOT IN (SELECT id FROM temp.known_files)"));
    TRY_VOID(rows.for_each_row([&](const SqliteRow& row) { lost.insert(row.integer(0)); }));
    for (const auto& [path, number] : files_) lost.erase(number);
    for (const std::int64_t file : lost) TRY_VOID(take_in_.run(file));
    files.merge(lost);
    return {};
  }

  bool is_untouched() const { return renewed_.empty() && before_.empty(); }

  Result<void> renew_lists() {
    return update_lists(
        database_, shape_.lists,
        {{renewed_.begin(), renewed_.end()}, before_, [this](std::uint32_t id) { return source_of(id); }},
        options_.is_interrupted);
  }

  /// The cosine tables are rewritten if anything has changed.
  Result<void> renew_cosine() {
    if (!options_.has_cosine) return drop_cosine(database_);
    if (has_cosine(database_) && is_untouched()) return {};
    return write_cosine(database_, shape_.lists, static_cast<std::size_t>(last_id_), options_.is_interrupted);
  }

  /// Latent semantic indexing starts anew if anything has changed, unless it is to wait with that; an
  /// endpoint is only asked for new documents.
  Result<std::size_t> renew_vectors() {
    TRY(const auto meta, read_vector_meta(database_, path_));
    const VectorOptions& wanted = options_.vectors;
    if (wanted.source == VectorOptions::Source::none) {
      // Otherwise searches would find vectors of documents that no longer exist.
      TRY_VOID(drop_vectors(database_));
      return std::size_t{0};
    }
    TRY(const std::size_t dimensions, wanted_dimensions(database_));
    const bool is_lsi = wanted.source == VectorOptions::Source::lsi;
    const bool is_same_kind = meta.source == wanted.source && meta.model == wanted.model &&
                              (!is_lsi || dimensions == wanted.dimensions);
    const bool is_due = options_.follows_added && !options_.defers_training;
    if (is_same_kind && is_untouched() && !(is_due && meta.folded > 0)) return meta.dimensions;
    if (!is_same_kind && options_.follows_added && options_.defers_training) {
      TRY(report_.folded, count_documents(database_));
      return meta.dimensions;
    }
    VectorWriting writing = vector_writing(options_);
    writing.last_id = static_cast<std::size_t>(last_id_);
    writing.text_of = [this](std::int64_t id) -> Result<std::string> {
      TRY(const auto document, source_of(id));
      return text_of(document);
    };
    writing.ids.assign(renewed_.begin(), renewed_.end());
    const bool is_endpoint = wanted.source == VectorOptions::Source::endpoint;
    if (is_same_kind && (is_endpoint || options_.defers_training)) {
      TRY_VOID(database_.run("DELETE FROM vectors WHERE id NOT IN (SELECT id FROM pages);"));
      if (!is_endpoint) {
        TRY(report_.folded, fold_in_vectors(database_, meta, writing));
        return meta.dimensions;
      }
    } else {
      TRY_VOID(drop_vectors(database_));
      writing.ids.clear();
      TRY(auto rows, database_.prepare("SELECT id FROM pages ORDER BY id"));
      TRY_VOID(rows.for_each_row([&](const SqliteRow& row) { writing.ids.push_back(row.integer(0)); }));
    }
    return write_vectors(database_, wanted, writing);
  }

  /// The current version of a document.
  Result<SourceDocument> source_of(std::int64_t id) {
    source_.bind(id);
    TRY(const auto row, source_.next());
    auto document = kept_document(row ? row->bytes(0) : std::string_view(), path_);
    if (document && row) {
      document->url = row->text(1);
      document->file = row->text(2);
    }
    source_.reset();
    return document;
  }

  SqliteDatabase& database_;
  std::string path_;
  const IndexOptions& options_;
  IndexShape shape_;
  DocumentWriter writer_;
  SqliteStatement file_, know_, insert_file_, stamp_file_, leave_out_, take_in_, find_, move_, see_, source_;
  std::map<std::string, std::int64_t> files_;      ///< numbers of those whose documents were read
  std::int64_t asked_ = 0;                         ///< how many files known() was asked about
  std::map<std::string, std::int64_t> positions_;  ///< in their order, of those that are read
  std::set<std::uint32_t> renewed_;
  std::map<std::uint32_t, SourceDocument> before_;  ///< changed and removed documents as they were
  std::uint32_t last_id_ = 0;
  std::int64_t last_file_ = 0, added_step_ = 0;
  bool needs_rebuild_ = false, keeps_others_ = false;
  std::set<std::string> conflicting_;  ///< files with a document whose fields do not go with those of others
  IndexReport report_;
};

}  // namespace

std::string text_of(const SourceDocument& document) {
  return std::string(field_of(document, "title")) + '\n' + std::string(field_of(document, "text"));
}

VectorWriting vector_writing(const IndexOptions& options) {
  VectorWriting writing;
  writing.threads = options.files.threads;
  writing.is_interrupted = options.is_interrupted;
  writing.progress = options.progress;
  return writing;
}

std::string other_version(const std::string& path) {
  auto database = open_index_file(path);
  const auto version = database ? index_version(*database) : Result<std::string>();
  return version && *version != kIndexVersion ? *version : std::string();
}

std::vector<WordKind> wanted_kinds(const IndexOptions& options) {
  std::vector<WordKind> kinds;
  const auto add = [&](WordKind kind) {
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  };
  for (const WordKind kind : options.kinds) add(kind);
  if (options.has_cosine)
    for (const WordKind kind : kWordKinds) add(kind);
  return kinds;
}

LeftOutFile left_out_change(const AddedDocuments::Change& change, const std::string& why) {
  LeftOutFile out;
  out.path = change.url;
  out.kind = "added";
  out.why = why;
  return out;
}

Result<ReadReport> read_all(const std::vector<std::string>& paths, const DocumentFileOptions& files,
                            const IndexOptions& options, const std::set<std::string>& others,
                            const TakeDocument& take) {
  ReadReport report;
  for (const std::string& path : paths) {
    TRY(const auto here, read_documents(path, files, [&](SourceDocument document) -> Result<Taken> {
          TRY_VOID(check_interrupt(options.is_interrupted));
          if (others.contains(document.url)) return Taken();
          return take(std::move(document));
        }));
    report.add(here);
  }
  return report;
}

Result<std::optional<IndexReport>> update_index(const std::string& path,
                                                const std::vector<std::string>& documents,
                                                const std::vector<AddedDocuments::Change>& added,
                                                const IndexOptions& options) {
  TRY(auto database, SqliteDatabase::open(path, {.mode = SqliteMode::create}));
  TRY_VOID(database.run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536;"));
  IndexUpdate update(database, path, options);
  TRY(const bool can_update, update.begin());
  if (!can_update) return std::optional<IndexReport>();
  DocumentFileOptions files = options.files;
  files.known = [&](const std::string& file, const std::string& stamp) { return update.known(file, stamp); };
  if (options.follows_added) update.keep_others();
  auto read = read_all(documents, files, options, urls_of(added),
                       [&](const SourceDocument& one) { return update.take(one); });
  // building it anew says what is wrong, or that nothing is
  if (!read && read.error().code == Code::bad_data) return std::optional<IndexReport>();
  if (!read) return read.error();
  for (const LeftOutFile& file : read->left_out) TRY_VOID(update.leave_out(file));
  TRY_VOID(update.apply(added));
  if (update.needs_rebuild()) return std::optional<IndexReport>();
  TRY(auto report, update.finish());
  if (update.needs_rebuild()) return std::optional<IndexReport>();
  report.read.add(*read);
  return std::optional<IndexReport>(std::move(report));
}

}  // namespace metafuse::fetchers
