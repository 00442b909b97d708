#include "fetchers/engines/index/vector_engine.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "core/idle_pool.h"
#include "core/text.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/number_bytes.h"
#include "fetchers/engines/index/vector_index.h"
#include "fetchers/engines/index/word_lists.h"
#include "fetchers/engines/vector/vector_rows.h"

namespace metafuse::fetchers {
namespace {

using VectorSource = VectorOptions::Source;

constexpr std::size_t kMaxQueryBytes = 16384;

Error no_vectors(const std::string& path) {
  return fail(Code::bad_config,
              path + ": this index has no vectors; build it with metafuse index --embedding lsi");
}

}  // namespace

namespace detail {

/// What a search needs to read from the file. Not thread-safe.
struct VectorReader {
  SqliteDatabase database;
  SqliteStatement row;  ///< selects a vector by its id
  ShownPages pages;
  std::optional<SqliteStatement> word;
  std::vector<WordForms> forms;  ///< for latent semantic indexing: by language
};

/// What all searches share, once loaded.
struct LoadedVectors {
  VectorMeta meta;
  VectorRows rows;
  std::vector<std::int64_t> ids;  ///< of the documents, in the order of the rows
};

}  // namespace detail

namespace {

using detail::LoadedVectors;
using detail::VectorReader;

constexpr std::int64_t kMappedBytes = std::int64_t{1} << 30;

Error damaged_row(const std::string& path) {
  return fail(Code::bad_data,
              path + ": a vector has another size than the index declares; rebuild the index");
}

Result<std::shared_ptr<const LoadedVectors>> load_vectors(const std::string& path) {
  TRY(auto database, open_index(path, kMappedBytes));
  TRY(auto meta, read_vector_meta(database, path));
  if (meta.source == VectorSource::none) return no_vectors(path);
  auto loaded = std::make_shared<LoadedVectors>(LoadedVectors{meta, VectorRows(meta.dimensions), {}});
  auto counted = database.prepare("SELECT count(*) FROM vectors");
  auto rows = database.prepare("SELECT id, row FROM vectors ORDER BY id");
  if (!counted || !rows) return not_an_index(path, "no vectors");
  TRY_VOID(counted->for_each_row(
      [&](const SqliteRow& row) { loaded->rows.reserve(static_cast<std::size_t>(row.integer(0))); }));
  std::vector<float> vector(meta.dimensions);
  TRY_VOID(rows->for_each_row([&](const SqliteRow& row) -> Result<void> {
    if (!read_half_row(row.bytes(1), vector)) return damaged_row(path);
    normalise(vector);
    loaded->rows.add(vector);
    loaded->ids.push_back(row.integer(0));
    return {};
  }));
  return std::shared_ptr<const LoadedVectors>(std::move(loaded));
}

Result<std::unique_ptr<VectorReader>> open_reader(const std::string& path, const VectorMeta& meta) {
  TRY(auto database, open_index(path, kMappedBytes));
  TRY(auto row, database.prepare("SELECT row FROM vectors WHERE id=?", true));
  TRY(auto pages, ShownPages::make(database));
  auto reader = std::make_unique<VectorReader>(
      VectorReader{std::move(database), std::move(row), std::move(pages), std::nullopt, {}});
  if (meta.source != VectorSource::lsi) return reader;
  TRY(reader->word, reader->database.prepare("SELECT row FROM lsi_words WHERE word=?", true));
  TRY(const auto shape, read_list_shape(reader->database));
  TRY(const auto languages, read_languages(reader->database));
  for (const std::string& language : languages) reader->forms.emplace_back(kind_of_vectors(shape), language);
  return reader;
}

/// The sum of the query words' rows, each times ln(1 + count).
Result<std::vector<float>> lsi_vector(VectorReader& reader, const std::string& path, std::size_t dimensions,
                                      std::string_view query) {
  std::vector<float> sum(dimensions);
  std::vector<float> numbers;
  const auto add_word = [&](std::string_view word, std::int64_t count) -> Result<void> {
    reader.word->bind(word);
    return reader.word->for_each_row([&](const SqliteRow& row) -> Result<void> {
      numbers.clear();
      if (!append_numbers(row.bytes(0), numbers) || numbers.size() != dimensions) return damaged_row(path);
      const float weight = std::log1p(static_cast<float>(count));
      for (std::size_t i = 0; i < dimensions; ++i) sum[i] += weight * numbers[i];
      return {};
    });
  };
  std::map<std::string, std::int64_t> words;
  for (WordCutter cutter(truncate_utf8(query, kMaxQueryBytes)); cutter.next();) {
    std::set<std::string> forms;  // each once, in whatever language
    for (WordForms& of_language : reader.forms)
      for (const std::string& form : of_language.of(cutter.word())) forms.insert(form);
    for (const std::string& form : forms) ++words[form];
  }
  for (const auto& [word, count] : words) TRY_VOID(add_word(word, count));
  return sum;
}

struct Scored {
  double score;
  std::int64_t id;
};

/// The exact cosines of the candidates, from their rows in half precision, best first.
Result<std::vector<Scored>> exact_scores(VectorReader& reader, const LoadedVectors& loaded,
                                         const std::vector<std::uint32_t>& candidates,
                                         std::span<const float> query, const std::string& path) {
  std::vector<Scored> scored;
  std::vector<float> vector(query.size());
  for (const std::uint32_t candidate : candidates) {
    const std::int64_t id = loaded.ids[candidate];
    reader.row.bind(id);
    TRY(const auto row, reader.row.next());
    if (!row || !read_half_row(row->bytes(0), vector)) return damaged_row(path);
    reader.row.reset();
    normalise(vector);
    scored.push_back({inner_product(vector, query), id});
  }
  std::sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  return scored;
}

}  // namespace

bool is_lsi_index(const std::string& database) {
  auto opened = open_index(database, kMappedBytes);
  if (!opened) return false;
  const auto meta = read_vector_meta(*opened, database);
  return meta && meta->source == VectorSource::lsi;
}

struct VectorEngine::Shared {
  VectorAccess access;
  std::mutex mutex;
  std::shared_future<Result<std::shared_ptr<const LoadedVectors>>> loading;
  IdlePool<std::unique_ptr<VectorReader>> pool;

  /// Reads the rows once. A search waits for them only as long as its deadline allows.
  Result<std::shared_ptr<const LoadedVectors>> loaded(const Deadline& deadline) {
    std::shared_future<Result<std::shared_ptr<const LoadedVectors>>> future;
    {
      const std::lock_guard lock(mutex);
      const bool has_failed = loading.valid() &&
                              loading.wait_for(std::chrono::seconds(0)) == std::future_status::ready &&
                              !loading.get().has_value();
      if (!loading.valid() || has_failed)
        loading =
            std::async(std::launch::async, [path = access.database] { return load_vectors(path); }).share();
      future = loading;
    }
    if (future.wait_for(deadline.left()) != std::future_status::ready)
      return fail(Code::try_again, access.database + ": its vectors are still being read");
    return future.get();
  }

  Result<std::vector<float>> query_vector(VectorReader& reader, const VectorMeta& meta,
                                          std::string_view query, std::span<const float> given) const {
    if (meta.source == VectorSource::lsi) return lsi_vector(reader, access.database, meta.dimensions, query);
    if (!given.empty() && !access.model.empty() && access.model != meta.model)
      return fail(Code::bad_config,
                  fmt::format("{}: its vectors come from the model \"{}\", the query's from \"{}\"; "
                              "build the index with the same model",
                              access.database, meta.model, access.model));
    if (given.size() == meta.dimensions) return std::vector<float>(given.begin(), given.end());
    if (given.empty())
      return fail(
          Code::bad_config,
          fmt::format("{}: its vectors come from the model \"{}\"; configure its endpoint with `embedding:`",
                      access.database, meta.model));
    return fail(Code::bad_config,
                fmt::format("{}: its vectors have {} dimensions, the query's has {}; build the index "
                            "with the same model",
                            access.database, meta.dimensions, given.size()));
  }

  Result<RankedList> read_pages(VectorReader& reader, const std::vector<Scored>& scored, std::size_t offset,
                                std::size_t count) const {
    RankedList list;
    for (std::size_t i = offset; i < std::min(offset + count, scored.size()); ++i) {
      if (scored[i].score <= access.min_score) break;
      TRY(const bool is_there, reader.pages.append(scored[i].id, scored[i].score, list));
      if (!is_there) return damaged_row(access.database);
    }
    return list;
  }
};

VectorEngine::VectorEngine(VectorAccess access) : shared_(std::make_shared<Shared>()) {
  shared_->access = std::move(access);
}

VectorEngine::~VectorEngine() = default;

Result<RankedList> VectorEngine::search(std::string_view query, std::span<const float> given, int depth,
                                        int offset, const Deadline& deadline) {
  if (query.find_first_not_of(" \t\r\n") == std::string_view::npos) return RankedList{};
  TRY(const auto loaded, shared_->loaded(deadline));
  auto reader = shared_->pool.take();
  if (reader == nullptr) {
    TRY(reader, open_reader(shared_->access.database, loaded->meta));
  }
  TRY(auto vector, shared_->query_vector(*reader, loaded->meta, query, given));
  RankedList list;
  if (normalise(vector)) {
    const auto first = static_cast<std::size_t>(offset);
    const auto count = static_cast<std::size_t>(depth);
    TRY(const auto candidates, loaded->rows.candidates(vector, first + count, deadline));
    TRY(const auto scored, exact_scores(*reader, *loaded, candidates, vector, shared_->access.database));
    TRY(list, shared_->read_pages(*reader, scored, first, count));
  }
  shared_->pool.give_back(std::move(reader));
  return list;
}

}  // namespace metafuse::fetchers
