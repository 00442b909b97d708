// ltr_workloads NAME QUERIES DOCUMENTS FEATURES SEED FILE | ltr_workloads meta SEED FILE
//
// Writes a seeded SVMlight file. NAME is only for the messages; the usual sizes are small (100 100 20),
// medium (1000 100 46) and large (5000 120 136). Features have at most 255 distinct values; some are
// zero-inflated, coarse, or not monotone in the grade. Grades 0-4 have shares of about 52, 32, 13, 2 and 1 %.
// `meta` writes 1000 base queries with 16 lists of 30 and one relevant document each; features are 31 - rank,
// and absent if a list did not return the document.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "core/random.h"

namespace {

using metafuse::Random;

struct File {
  std::FILE* handle;
  std::string line;
};

std::vector<float> normals(Random& random, std::size_t count) {
  std::vector<float> out(count);
  for (float& value : out) value = static_cast<float>(random.normal());
  return out;
}

/// The position of every value among the quantile edges, of which there are at most `levels`.
std::vector<std::uint8_t> quantile_codes(const std::vector<float>& values, std::size_t levels) {
  std::vector<float> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  std::vector<float> edges;
  for (std::size_t j = 1; j < levels; ++j) {
    const float edge = sorted[j * (sorted.size() - 1) / levels];
    if (edges.empty() || edges.back() != edge) edges.push_back(edge);
  }
  std::vector<std::uint8_t> codes(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    codes[i] =
        static_cast<std::uint8_t>(std::upper_bound(edges.begin(), edges.end(), values[i]) - edges.begin());
  return codes;
}

void write_ltr(std::FILE* out, std::size_t queries, std::size_t documents, std::size_t features,
               std::uint64_t seed) {
  Random random(seed);
  const std::size_t rows = queries * documents;
  const std::vector<float> relevance = normals(random, rows);
  const std::vector<float> effect = normals(random, queries);
  std::vector<float> noisy = relevance;
  for (float& value : noisy) value += 0.5F * static_cast<float>(random.normal());
  std::vector<float> sorted = noisy;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> grades(rows, 0);
  for (const double share : {0.52, 0.84, 0.97, 0.99}) {
    const float cut = sorted[static_cast<std::size_t>(share * static_cast<double>(rows - 1))];
    for (std::size_t i = 0; i < rows; ++i) grades[i] += noisy[i] > cut ? 1 : 0;
  }
  constexpr double kStrength[6] = {0.05, 0.6, 0.3, 0.0, 0.45, 0.2};
  constexpr std::size_t kLevels[6] = {255, 255, 64, 255, 255, 16};
  std::vector<std::vector<std::uint8_t>> codes;
  for (std::size_t f = 0; f < features; ++f) {
    const std::size_t kind = f % 6;
    const double strength = kStrength[kind] * (0.5 + random.uniform());
    std::vector<float> x = normals(random, rows);
    for (std::size_t i = 0; i < rows; ++i) {
      x[i] += static_cast<float>(strength) * relevance[i] +
              0.3F * effect[i / documents] * static_cast<float>(f % 2);
      if (f % 7 == 3) x[i] = -std::abs(x[i] - 0.7F);
      if (kind == 4) x[i] = std::max(x[i], 0.3F);
    }
    codes.push_back(quantile_codes(x, kLevels[kind]));
  }
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (a / documents != b / documents) return a / documents < b / documents;
    return grades[a] < grades[b];
  });
  std::vector<std::vector<std::string>> texts(6);
  for (std::size_t kind = 0; kind < 6; ++kind)
    for (int k = 0; k < 256; ++k) {
      char text[32];
      std::snprintf(text, sizeof text, "%g", k / static_cast<double>(kLevels[kind]));
      texts[kind].emplace_back(text);
    }
  std::string line;
  for (const std::size_t row : order) {
    line = std::to_string(grades[row]) + " qid:" + std::to_string(row / documents + 1);
    for (std::size_t f = 0; f < features; ++f)
      line.append(" ").append(std::to_string(f + 1)).append(":").append(texts[f % 6][codes[f][row]]);
    line += " # d" + std::to_string(row) + "\n";
    std::fwrite(line.data(), 1, line.size(), out);
  }
}

void write_meta(std::FILE* out, std::uint64_t seed) {
  constexpr std::size_t kLists = 16;
  constexpr std::size_t kDepth = 30;
  constexpr std::size_t kPool = 400;
  constexpr std::size_t kMost = 150;
  Random random(seed);
  double quality[kLists];
  for (double& q : quality) q = 0.6 + 1.4 * random.uniform();
  for (std::size_t query = 1; query <= 1000; ++query) {
    const std::vector<float> appeal = normals(random, kPool);
    const std::size_t answer = random.below(kPool);
    std::vector<std::vector<int>> ranks(kPool, std::vector<int>(kLists, 0));
    std::vector<bool> is_listed(kPool, false);
    for (std::size_t list = 0; list < kLists; ++list) {
      std::vector<std::pair<double, std::size_t>> scored;
      for (std::size_t u = 0; u < kPool; ++u)
        scored.emplace_back(-(quality[list] * 0.6 * static_cast<double>(appeal[u]) + random.normal() +
                              (u == answer ? 1.5 * quality[list] : 0.0)),
                            u);
      std::sort(scored.begin(), scored.end());
      for (std::size_t j = 0; j < kDepth; ++j) {
        ranks[scored[j].second][list] = static_cast<int>(j) + 1;
        is_listed[scored[j].second] = true;
      }
    }
    is_listed[answer] = false;
    std::vector<std::size_t> kept;
    for (std::size_t u = 0; u < kPool; ++u)
      if (is_listed[u]) kept.push_back(u);
    random.shuffle(kept);
    if (kept.size() > kMost - 1) kept.resize(kMost - 1);
    kept.push_back(answer);
    for (const std::size_t u : kept) {
      std::fprintf(out, "%d qid:%zu", u == answer ? 1 : 0, query);
      for (std::size_t list = 0; list < kLists; ++list)
        if (ranks[u][list] > 0)
          std::fprintf(out, " %zu:%d", list + 1, static_cast<int>(kDepth) + 1 - ranks[u][list]);
      std::fprintf(out, " # d%zu\n", u);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const bool is_meta = name == "meta" && argc == 4;
  if (!is_meta && argc != 7) {
    std::fprintf(stderr, "usage: ltr_workloads NAME QUERIES DOCUMENTS FEATURES SEED FILE | meta SEED FILE\n");
    return 64;
  }
  std::FILE* out = std::fopen(argv[argc - 1], "wb");
  if (out == nullptr) {
    std::fprintf(stderr, "%s: cannot write\n", argv[argc - 1]);
    return 66;
  }
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  if (is_meta)
    write_meta(out, number(2));
  else
    write_ltr(out, number(2), number(3), number(4), number(5));
  return std::fclose(out) == 0 ? 0 : 75;
}
