// vector_search ROWS DIMENSIONS [FOLDER]: makes an embedded index of ROWS random unit vectors; prints how
// long the embedded vector engine takes to find the first 30 with one thread, and how many of these have the
// same rank in a plain scan that sums in double precision.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/random.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/vector_engine.h"
#include "fetchers/engines/vector/vector_rows.h"

namespace {

using namespace metafuse;
using namespace metafuse::fetchers;

constexpr std::size_t kQueries = 20;
constexpr std::size_t kDepth = 30;

std::vector<float> random_vector(std::uint64_t seed, std::size_t dimensions) {
  Random random(seed);
  std::vector<float> vector(dimensions);
  for (float& x : vector) x = static_cast<float>(random.normal());
  normalise(vector);
  return vector;
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

Result<void> make_index(const std::string& folder, std::size_t rows, std::size_t dimensions) {
  {
    std::ofstream out(folder + "/documents.jsonl");
    for (std::size_t i = 0; i < rows; ++i)
      out << "{\"url\":\"http://h/" << i << "\",\"title\":\"document " << i << "\"}\n";
  }
  IndexOptions options;
  options.vectors.source = VectorOptions::Source::endpoint;
  std::uint64_t next = 0;
  options.vectors.embed = [&](std::span<const std::string> texts) -> Result<std::vector<std::vector<float>>> {
    std::vector<std::vector<float>> vectors;
    for (std::size_t i = 0; i < texts.size(); ++i) vectors.push_back(random_vector(next++, dimensions));
    return vectors;
  };
  TRY_VOID(build_local_index(folder + "/index.db", {folder + "/documents.jsonl"}, options));
  return {};
}

/// The first 30 for each query by a plain scan of the rows, rounded to half precision as in the index.
std::vector<std::vector<std::pair<double, std::size_t>>> plain_scan(
    const std::vector<std::vector<float>>& queries, std::size_t rows, std::size_t dimensions) {
  std::vector<std::vector<std::pair<double, std::size_t>>> best(queries.size());
  std::vector<float> row(dimensions);
  for (std::size_t i = 0; i < rows; ++i) {
    read_half_row(half_row(random_vector(i, dimensions)), row);
    normalise(row);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      best[q].emplace_back(-inner_product(row, queries[q]), i);
      if (best[q].size() < 16 * kDepth && i + 1 < rows) continue;
      std::sort(best[q].begin(), best[q].end());
      best[q].resize(std::min(best[q].size(), kDepth));
    }
  }
  return best;
}

Result<void> run(std::size_t rows, std::size_t dimensions, const std::string& folder) {
  TRY_VOID(make_index(folder, rows, dimensions));
  std::vector<std::vector<float>> queries;
  for (std::size_t q = 0; q < kQueries; ++q)
    queries.push_back(random_vector((std::uint64_t{1} << 40) + q, dimensions));
  const Clock& clock = machine_clock();
  VectorEngine engine({folder + "/index.db", -1});
  auto begin = std::chrono::steady_clock::now();
  TRY_VOID(engine.search("x", queries[0], kDepth, 0, Deadline(clock, std::chrono::minutes(5))));
  const double first = milliseconds_since(begin);
  std::vector<double> times;
  std::vector<RankedList> lists;
  for (const auto& query : queries) {
    begin = std::chrono::steady_clock::now();
    TRY(auto list, engine.search("x", query, kDepth, 0, Deadline(clock, std::chrono::minutes(5))));
    times.push_back(milliseconds_since(begin));
    lists.push_back(std::move(list));
  }
  std::sort(times.begin(), times.end());
  const auto exact = plain_scan(queries, rows, dimensions);
  std::size_t same = 0;
  for (std::size_t q = 0; q < kQueries; ++q)
    for (std::size_t i = 0; i < lists[q].hits.size(); ++i)
      same += lists[q].hits[i].url == "http://h/" + std::to_string(exact[q][i].second);
  std::printf(
      "%zu x %zu: %.2f ms median, %.2f ms least, %.2f ms most of %zu searches; reading the rows %.0f ms; "
      "%zu of %zu results at the plain scan's rank\n",
      rows, dimensions, times[times.size() / 2], times.front(), times.back(), kQueries, first, same,
      kQueries * kDepth);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: vector_search ROWS DIMENSIONS [FOLDER]\n");
    return 64;
  }
  std::string folder = argc > 3 ? argv[3] : std::filesystem::temp_directory_path().string();
  folder += "/metafuse-vectors-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 66;
  const auto done = run(std::strtoul(argv[1], nullptr, 10), std::strtoul(argv[2], nullptr, 10), folder);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().text.c_str());
  return static_cast<int>(done.error().code);
}
