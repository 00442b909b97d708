#include "fetchers/engines/index/vector_index.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "core/json.h"
#include "fetchers/engines/index/condition.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/number_bytes.h"
#include "fetchers/engines/index/word_lists.h"
#include "fetchers/engines/vector/lsi.h"
#include "fetchers/engines/vector/vector_rows.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxWords = 100'000;
constexpr std::size_t kFewestDocuments = 2;  ///< a word of a single document relates it to no other
constexpr std::size_t kTextsPerRequest = 32;

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

/// Reads the words of an index, of its first kind.
Result<WordCounts> read_word_counts(SqliteDatabase& database, const VectorWriting& writing) {
  WordCounts counts;
  counts.document_count = writing.last_id;
  TRY(const auto shape, read_list_shape(database));
  TRY(const auto languages, read_languages(database));
  const WordKind kind = kind_of_vectors(shape);
  const auto stop_forms = QueryReader(kind, languages, shape.columns).stop_forms();
  std::vector<Posting> postings;
  const auto take = [&](const ListedWord& word, const PostingList& list) -> Result<void> {
    TRY_VOID(check_interrupt(writing.is_interrupted));
    if (word.documents < kFewestDocuments || stop_forms.contains(word.text)) return {};
    if (!read_postings(list, kAllColumns, postings)) return damaged_lists("word lists");
    counts.words.push_back(word.text);
    for (const Posting& posting : postings) {
      if (posting.document == 0 || posting.document > writing.last_id) return damaged_lists("word lists");
      counts.documents.push_back(posting.document - 1);
      counts.counts.push_back(static_cast<float>(posting.count));
    }
    counts.begins.push_back(counts.documents.size());
    return {};
  };
  TRY_VOID(for_each_list(database, kind, take));
  return most_frequent(std::move(counts));
}

Result<void> write_words(SqliteDatabase& database, const WordCounts& counts, const LsiModel& model) {
  TRY_VOID(database.run("CREATE TABLE lsi_words(word TEXT PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID;"));
  TRY(auto insert, database.prepare("INSERT INTO lsi_words VALUES(?, ?)"));
  for (std::size_t word = 0; word < counts.words.size(); ++word)
    TRY_VOID(insert.run(counts.words[word], SqliteBytes{bytes_of<float>(model.row(word))}));
  return {};
}

/// Writes vectors of documents in place of those that they had. A vector of length zero gets no row.
class RowWriter {
 public:
  static Result<RowWriter> make(SqliteDatabase& database) {
    TRY_VOID(database.run("CREATE TABLE IF NOT EXISTS vectors(id INTEGER PRIMARY KEY, row BLOB NOT NULL);"));
    RowWriter writer;
    TRY(writer.insert_, database.prepare("INSERT OR REPLACE INTO vectors VALUES(?, ?)"));
    TRY(writer.remove_, database.prepare("DELETE FROM vectors WHERE id=?"));
    return writer;
  }

  Result<void> write(std::int64_t id, std::span<float> vector) {
    if (!normalise(vector)) return remove_.run(id);
    return insert_.run(id, SqliteBytes{half_row(vector)});
  }

 private:
  SqliteStatement insert_, remove_;
};

Result<std::size_t> write_lsi(SqliteDatabase& database, const VectorOptions& options,
                              const VectorWriting& writing) {
  TRY_VOID(drop_vectors(database));
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
    TRY_VOID(check_interrupt(writing.is_interrupted));
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

Result<void> write_vector_meta(SqliteDatabase& database, const VectorMeta& meta) {
  const bool is_lsi = meta.source == VectorOptions::Source::lsi;
  JsonObject object{{"source", is_lsi ? "lsi" : "endpoint"}, {"dimensions", meta.dimensions}};
  if (!is_lsi) object["model"] = meta.model;
  if (meta.folded > 0) object["folded"] = meta.folded;
  TRY(auto insert, database.prepare("INSERT OR REPLACE INTO meta VALUES('embedding', ?)"));
  return insert.run(to_text(object));
}

Error damaged_vector(const std::string& path) {
  return fail(Code::bad_data,
              path + ": a word's vector has another size than the index declares; rebuild the index");
}

/// Notes that an index is to have vectors of latent semantic indexing, even if it has too few documents yet.
Result<void> note_wanted_vectors(SqliteDatabase& database, std::size_t dimensions) {
  return database.run(
      fmt::format("INSERT OR REPLACE INTO meta VALUES('wanted_vectors', 'lsi'), ('wanted_dimensions', '{}');",
                  dimensions));
}

}  // namespace

Result<LsiWords> LsiWords::open(SqliteDatabase& database, const std::string& path, std::size_t dimensions) {
  LsiWords words;
  words.path_ = path;
  words.dimensions_ = dimensions;
  TRY(words.row_, database.prepare("SELECT row FROM lsi_words WHERE word=?", true));
  TRY(const auto shape, read_list_shape(database));
  TRY(const auto languages, read_languages(database));
  for (const std::string& language : languages) words.forms_.emplace_back(kind_of_vectors(shape), language);
  return words;
}

/// The row of a word, valid until the next call; empty if the index does not know the word.
Result<std::span<const float>> LsiWords::row_of(const std::string& word) {
  if (const auto kept = kept_.find(word); kept != kept_.end()) return std::span<const float>(kept->second);
  last_.clear();
  row_.bind(word);
  TRY_VOID(row_.for_each_row([&](const SqliteRow& row) -> Result<void> {
    if (!append_numbers(row.bytes(0), last_) || last_.size() != dimensions_) return damaged_vector(path_);
    return {};
  }));
  constexpr std::size_t kEntryBytes = 128;
  const std::size_t bytes = last_.size() * sizeof(float) + word.size() + kEntryBytes;
  if (kept_bytes_ + bytes > most_bytes_) return std::span<const float>(last_);
  kept_bytes_ += bytes;
  return std::span<const float>(kept_.emplace(word, last_).first->second);
}

Result<std::vector<float>> LsiWords::vector_of(std::string_view text) {
  std::map<std::string, std::int64_t> counts;
  for (WordCutter cutter(text); cutter.next();) {
    std::set<std::string> forms;  // each once, in whatever language
    for (WordForms& of_language : forms_)
      for (const std::string& form : of_language.of(cutter.word())) forms.insert(form);
    for (const std::string& form : forms) ++counts[form];
  }
  std::vector<float> sum(dimensions_);
  for (const auto& [word, count] : counts) {
    const float weight = std::log1p(static_cast<float>(count));
    TRY(const auto row, row_of(word));
    for (std::size_t i = 0; i < row.size(); ++i) sum[i] += weight * row[i];
  }
  return sum;
}

Result<std::size_t> fold_in_vectors(SqliteDatabase& database, const VectorMeta& meta,
                                    const VectorWriting& writing) {
  TRY(auto words, LsiWords::open(database, "the index", meta.dimensions));
  TRY(auto rows, RowWriter::make(database));
  for (const std::int64_t id : writing.ids) {
    TRY_VOID(check_interrupt(writing.is_interrupted));
    TRY(const auto text, writing.text_of(id));
    TRY(auto vector, words.vector_of(text));
    TRY_VOID(rows.write(id, vector));
  }
  VectorMeta after = meta;
  after.folded += writing.ids.size();
  TRY_VOID(write_vector_meta(database, after));
  return after.folded;
}

Result<std::size_t> write_vectors(SqliteDatabase& database, const VectorOptions& options,
                                  const VectorWriting& writing) {
  const bool is_lsi = options.source == VectorOptions::Source::lsi;
  TRY(const auto before, read_vector_meta(database, "the index"));
  const auto written = is_lsi ? write_lsi(database, options, writing)
                              : write_from_endpoint(database, options, writing, before.dimensions);
  if (is_lsi) TRY_VOID(note_wanted_vectors(database, options.dimensions));
  const bool is_bad = !written && written.error().code == Code::bad_data;
  if (is_bad && options.is_optional) return std::size_t{0};
  // the endpoint's answer is bad, not the index
  if (is_bad && !is_lsi) return fail(Code::unavailable, written.error().text);
  TRY(const std::size_t dimensions, written);
  TRY_VOID(write_vector_meta(database, {options.source, is_lsi ? "" : options.model, dimensions, 0}));
  return dimensions;
}

bool wants_vectors(SqliteDatabase& database) {
  return finds_row(database, "SELECT 1 FROM meta WHERE name='wanted_vectors'");
}

Result<std::size_t> wanted_dimensions(SqliteDatabase& database) {
  std::size_t dimensions = VectorOptions().dimensions;
  TRY(auto rows, database.prepare("SELECT CAST(value AS INTEGER) FROM meta WHERE name='wanted_dimensions'"));
  TRY_VOID(rows.for_each_row([&](const SqliteRow& row) {
    dimensions = static_cast<std::size_t>(std::clamp<std::int64_t>(row.integer(0), 1, kMostLsiDimensions));
  }));
  return dimensions;
}

Result<void> drop_vectors(SqliteDatabase& database) {
  return database.run(
      "DROP TABLE IF EXISTS vectors; DROP TABLE IF EXISTS lsi_words; DELETE FROM meta WHERE name IN "
      "('embedding', 'wanted_vectors', 'wanted_dimensions');");
}

WordKind kind_of_vectors(const ListShape& shape) {
  const bool has_stems =
      std::find(shape.kinds.begin(), shape.kinds.end(), WordKind::stems) != shape.kinds.end();
  return has_stems ? WordKind::stems : shape.kinds.front();
}

Result<VectorMeta> read_vector_meta(SqliteDatabase& database, const std::string& path) {
  TRY(auto statement, database.prepare("SELECT value FROM meta WHERE name='embedding'"));
  TRY(const auto row, statement.next());
  VectorMeta meta;
  if (!row) return meta;
  TRY(const auto json, parse_json(row->text(0), path));
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
  if (const Json* folded = object->if_contains("folded"); folded != nullptr && folded->is_int64())
    meta.folded = static_cast<std::size_t>(std::max<std::int64_t>(0, folded->as_int64()));
  return meta;
}

}  // namespace metafuse::fetchers
