#include "fetchers/engines/index/vector_engine.h"

#include <algorithm>
#include <future>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/file_version.h"
#include "core/idle_pool.h"
#include "core/text.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/vector_index.h"
#include "fetchers/engines/index/word_lists.h"
#include "fetchers/engines/vector/vector_rows.h"

namespace metafuse::fetchers {
namespace {

using VectorSource = VectorOptions::Source;

constexpr std::size_t kMaxQueryBytes = 16384;

Error no_vectors(const std::string& path) {
  return fail(Code::bad_config, path + ": this index has no vectors; " + build_again_with("--embedding lsi"));
}

}  // namespace

namespace detail {

/// What a search needs to read from the file. Not thread-safe.
struct VectorReader {
  SqliteDatabase database;
  SqliteStatement row;  ///< selects a vector by its id
  ShownPages pages;
  std::optional<LsiWords> words;  ///< for latent semantic indexing
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
  // latent semantic indexing has not found words in common yet: no document is like a query
  if (meta.source == VectorSource::none && wants_vectors(database))
    return std::make_shared<const LoadedVectors>(LoadedVectors{meta, VectorRows(1), {}});
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
  SqliteStatement row;
  if (meta.source != VectorSource::none) {
    TRY(row, database.prepare("SELECT row FROM vectors WHERE id=?", true));
  }
  TRY(auto pages, ShownPages::make(database));
  auto reader = std::make_unique<VectorReader>(
      VectorReader{std::move(database), std::move(row), std::move(pages), std::nullopt});
  if (meta.source != VectorSource::lsi) return reader;
  TRY(reader->words, LsiWords::open(reader->database, path, meta.dimensions));
  return reader;
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

namespace detail {

using Loaded = Result<std::shared_ptr<const LoadedVectors>>;

/// One version of the file, with what was read from it.
struct VectorFile {
  std::uint64_t version = 0;
  std::shared_future<Loaded> loading;
  IdlePool<std::unique_ptr<VectorReader>> pool{};

  bool is_read() const { return loading.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  bool has_failed() const { return is_read() && !loading.get().has_value(); }
};

}  // namespace detail

using detail::VectorFile;

struct VectorEngine::Shared {
  VectorAccess access;
  FileVersion file{access.database};
  std::mutex mutex{};
  std::shared_ptr<VectorFile> newest{};
  std::shared_ptr<VectorFile> before{};  ///< searched until the newest has been read

  /// The version to search, whose rows are read once. While a new version is being read, searches that find
  /// an idle reader of the one before use that.
  std::shared_ptr<VectorFile> current() {
    const std::uint64_t version = file.now();
    const std::lock_guard lock(mutex);
    const bool is_outdated = newest == nullptr || (newest->is_read() && newest->version != version);
    if (is_outdated || newest->has_failed()) {
      if (newest != nullptr && !newest->has_failed()) before = newest;
      newest = std::make_shared<VectorFile>();
      newest->version = version;
      newest->loading =
          std::async(std::launch::async, [path = access.database] { return load_vectors(path); }).share();
    }
    if (newest->is_read()) before = nullptr;
    return newest;
  }

  std::shared_ptr<VectorFile> one_before() {
    const std::lock_guard lock(mutex);
    return before;
  }

  /// A version whose rows have been read, with an idle reader if there is one. A search waits for the rows
  /// only as long as its deadline allows.
  Result<std::pair<std::shared_ptr<VectorFile>, std::unique_ptr<VectorReader>>> open(
      const Deadline& deadline) {
    while (true) {
      auto version = current();
      if (!version->is_read())
        if (auto old = one_before(); old != nullptr)
          if (auto reader = old->pool.take(); reader != nullptr) return std::pair(old, std::move(reader));
      if (version->loading.wait_for(deadline.left()) != std::future_status::ready)
        return fail(Code::try_again, access.database + ": its vectors are still being read");
      TRY(const auto loaded, version->loading.get());
      if (auto reader = version->pool.take(); reader != nullptr) return std::pair(version, std::move(reader));
      TRY(auto reader, open_reader(access.database, loaded->meta));
      // otherwise the reader may have opened a file other than the one that the rows were read from
      if (file.now() == version->version) return std::pair(version, std::move(reader));
    }
  }

  Result<std::vector<float>> query_vector(VectorReader& reader, const VectorMeta& meta,
                                          std::string_view query, std::span<const float> given) const {
    if (meta.source == VectorSource::lsi)
      return reader.words->vector_of(truncate_utf8(query, kMaxQueryBytes));
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

VectorEngine::VectorEngine(VectorAccess access) : shared_(new Shared{std::move(access)}) {}

VectorEngine::~VectorEngine() = default;

Result<RankedList> VectorEngine::search(std::string_view query, std::span<const float> given, int depth,
                                        int offset, const Deadline& deadline) {
  if (query.find_first_not_of(" \t\r\n") == std::string_view::npos) return RankedList{};
  TRY(auto opened, shared_->open(deadline));
  auto& [version, reader] = opened;
  TRY(const auto loaded, version->loading.get());
  std::vector<float> vector;
  if (!loaded->ids.empty()) {
    TRY(vector, shared_->query_vector(*reader, loaded->meta, query, given));
  }
  RankedList list;
  if (normalise(vector)) {
    const auto first = static_cast<std::size_t>(offset);
    const auto count = static_cast<std::size_t>(depth);
    TRY(const auto candidates, loaded->rows.candidates(vector, first + count, deadline));
    TRY(const auto scored, exact_scores(*reader, *loaded, candidates, vector, shared_->access.database));
    TRY(list, shared_->read_pages(*reader, scored, first, count));
  }
  version->pool.give_back(std::move(reader));
  return list;
}

}  // namespace metafuse::fetchers
