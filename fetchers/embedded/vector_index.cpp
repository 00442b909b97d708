#include "fetchers/embedded/vector_index.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "core/json.h"
#include "fetchers/vectors/lsi.h"
#include "fetchers/vectors/vector_rows.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxWords = 100'000;
constexpr std::size_t kMaxWordBytes = 64;
constexpr std::size_t kFewestDocuments = 2;  ///< a word of a single document relates it to no other
constexpr std::size_t kTextsPerRequest = 32;

/// Collects the entries of one word while the index is read word by word.
struct WordEntries {
  std::string word;
  std::vector<std::uint32_t> documents;
  std::vector<float> counts;

  void add(std::uint32_t document) {
    if (documents.empty() || documents.back() != document) {
      documents.push_back(document);
      counts.push_back(0);
    }
    counts.back() += 1;
  }
};

void keep_word(WordCounts& counts, WordEntries& entries) {
  if (entries.documents.size() >= kFewestDocuments && entries.word.size() <= kMaxWordBytes) {
    counts.words.push_back(entries.word);
    counts.documents.insert(counts.documents.end(), entries.documents.begin(), entries.documents.end());
    counts.counts.insert(counts.counts.end(), entries.counts.begin(), entries.counts.end());
    counts.begins.push_back(counts.documents.size());
  }
  entries = {};
}

/// Keeps the words with the most documents if there are too many words.
WordCounts most_frequent(WordCounts counts) {
  if (counts.words.size() <= kMaxWords) return counts;
  std::vector<std::size_t> order(counts.words.size());
  std::iota(order.begin(), order.end(), 0);
  const auto documents_of = [&](std::size_t word) { return counts.begins[word + 1] - counts.begins[word]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return documents_of(a) > documents_of(b); });
  order.resize(kMaxWords);
  std::sort(order.begin(), order.end());
  WordCounts kept;
  kept.document_count = counts.document_count;
  for (const std::size_t word : order) {
    kept.words.push_back(std::move(counts.words[word]));
    for (std::size_t i = counts.begins[word]; i < counts.begins[word + 1]; ++i) {
      kept.documents.push_back(counts.documents[i]);
      kept.counts.push_back(counts.counts[i]);
    }
    kept.begins.push_back(kept.documents.size());
  }
  return kept;
}

/// Reads the words of an index as FTS5 split them.
Result<WordCounts> read_word_counts(SqliteDatabase& database, const VectorWriting& writing) {
  TRY_VOID(database.run("CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'documents', 'instance');"));
  WordCounts counts;
  counts.document_count = writing.last_id;
  {
    TRY(auto row, database.prepare("SELECT term, doc FROM temp.words"));
    WordEntries entries;
    std::size_t seen = 0;
    while (true) {
      TRY(const bool has_row, row.step());
      if (!has_row) break;
      if (++seen % 4096 == 0 && writing.is_interrupted && writing.is_interrupted())
        return fail(Code::try_again, "interrupted");
      if (row.text(0) != entries.word) {
        keep_word(counts, entries);
        entries.word = row.text(0);
      }
      entries.add(static_cast<std::uint32_t>(row.integer(1) - 1));
    }
    keep_word(counts, entries);
  }
  TRY_VOID(database.run("DROP TABLE temp.words;"));
  return most_frequent(std::move(counts));
}

std::string_view bytes_of(std::span<const float> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

Result<void> write_words(SqliteDatabase& database, const WordCounts& counts, const LsiModel& model) {
  TRY_VOID(database.run("CREATE TABLE lsi_words(word TEXT PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID;"));
  TRY(auto insert, database.prepare("INSERT INTO lsi_words VALUES(?, ?)"));
  for (std::size_t word = 0; word < counts.words.size(); ++word) {
    insert.bind(1, counts.words[word]);
    insert.bind_bytes(2, bytes_of(model.row(word)));
    TRY_VOID(insert.step());
    insert.reset();
  }
  return {};
}

class RowWriter {
 public:
  static Result<RowWriter> make(SqliteDatabase& database) {
    TRY_VOID(database.run("CREATE TABLE IF NOT EXISTS vectors(id INTEGER PRIMARY KEY, row BLOB NOT NULL);"));
    TRY(auto insert, database.prepare("INSERT OR REPLACE INTO vectors VALUES(?, ?)"));
    return RowWriter(std::move(insert));
  }

  /// Writes a vector; one of length zero gets no row.
  Result<void> write(std::int64_t id, std::span<float> vector) {
    if (!normalise(vector)) return {};
    insert_.bind(1, id);
    insert_.bind_bytes(2, half_row(vector));
    TRY_VOID(insert_.step());
    insert_.reset();
    return {};
  }

 private:
  explicit RowWriter(SqliteStatement insert) : insert_(std::move(insert)) {}
  SqliteStatement insert_;
};

Result<std::size_t> write_lsi(SqliteDatabase& database, const VectorOptions& options,
                              const VectorWriting& writing) {
  TRY_VOID(database.run("DROP TABLE IF EXISTS vectors; DROP TABLE IF EXISTS lsi_words;"));
  TRY(const auto counts, read_word_counts(database, writing));
  LsiOptions training;
  training.dimensions = options.dimensions;
  training.threads = writing.threads;
  training.is_interrupted = writing.is_interrupted;
  TRY(const auto model, train_lsi(counts, training));
  TRY_VOID(write_words(database, counts, model));
  std::vector<float> vectors = document_vectors(counts, model, writing.threads);
  TRY(auto rows, RowWriter::make(database));
  for (std::size_t i = 0; i < writing.last_id; ++i)
    TRY_VOID(rows.write(static_cast<std::int64_t>(i + 1),
                        std::span(vectors).subspan(i * model.dimensions, model.dimensions)));
  return model.dimensions;
}

/// in:     known - number of dimensions of the existing rows, 0 if there are none
Result<std::size_t> write_from_endpoint(SqliteDatabase& database, const VectorOptions& options,
                                        const VectorWriting& writing, std::size_t known) {
  TRY(auto rows, RowWriter::make(database));
  std::size_t dimensions = known;
  for (std::size_t begin = 0; begin < writing.ids.size(); begin += kTextsPerRequest) {
    if (writing.is_interrupted && writing.is_interrupted()) return fail(Code::try_again, "interrupted");
    const std::size_t count = std::min(kTextsPerRequest, writing.ids.size() - begin);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) {
      TRY(auto text, writing.text_of(writing.ids[begin + i]));
      texts.push_back(std::move(text));
    }
    TRY(auto vectors, options.embed(texts));
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      if (dimensions == 0) dimensions = vectors[i].size();
      if (vectors[i].size() != dimensions || dimensions == 0 || dimensions > kMaxDimensions)
        return fail(Code::bad_data,
                    fmt::format("vectors of {} and {} dimensions; all must have the same, 1 to {}",
                                dimensions, vectors[i].size(), kMaxDimensions));
      TRY_VOID(rows.write(writing.ids[begin + i], vectors[i]));
    }
    if (writing.progress) writing.progress(begin + count, writing.ids.size());
  }
  return dimensions;
}

}  // namespace

Result<std::size_t> write_vectors(SqliteDatabase& database, const VectorOptions& options,
                                  const VectorWriting& writing) {
  const bool is_lsi = options.source == VectorOptions::Source::lsi;
  TRY(const auto before, read_vector_meta(database, "the index"));
  TRY(const std::size_t dimensions, is_lsi
                                        ? write_lsi(database, options, writing)
                                        : write_from_endpoint(database, options, writing, before.dimensions));
  TRY(auto insert, database.prepare("INSERT OR REPLACE INTO meta VALUES('embedding', ?)"));
  JsonObject meta{{"source", is_lsi ? "lsi" : "endpoint"}, {"dimensions", dimensions}};
  if (is_lsi)
    meta["stems_english"] = writing.stems_english;
  else
    meta["model"] = options.model;
  insert.bind(1, to_text(meta));
  TRY_VOID(insert.step());
  return dimensions;
}

Result<VectorMeta> read_vector_meta(SqliteDatabase& database, const std::string& path) {
  TRY(auto row, database.prepare("SELECT value FROM meta WHERE name='embedding'"));
  TRY(const bool has_row, row.step());
  VectorMeta meta;
  if (!has_row) return meta;
  TRY(const auto json, parse_json(row.text(0), path));
  const JsonObject* object = json.if_object();
  const Json* source = object == nullptr ? nullptr : object->if_contains("source");
  const Json* dimensions = object == nullptr ? nullptr : object->if_contains("dimensions");
  const bool is_lsi = source != nullptr && *source == "lsi";
  const bool is_endpoint = source != nullptr && *source == "endpoint";
  if ((!is_lsi && !is_endpoint) || dimensions == nullptr || !dimensions->is_int64() ||
      dimensions->as_int64() < 1 || dimensions->as_int64() > static_cast<std::int64_t>(kMaxDimensions))
    return fail(Code::bad_data, path + ": the description of its vectors is malformed; rebuild the index");
  meta.source = is_lsi ? VectorOptions::Source::lsi : VectorOptions::Source::endpoint;
  meta.dimensions = static_cast<std::size_t>(dimensions->as_int64());
  if (const Json* model = object->if_contains("model"); model != nullptr && model->is_string())
    meta.model = model->as_string().c_str();
  if (const Json* stems = object->if_contains("stems_english"); stems != nullptr && stems->is_bool())
    meta.stems_english = stems->as_bool();
  return meta;
}

}  // namespace metafuse::fetchers
