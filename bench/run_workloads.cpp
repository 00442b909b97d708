// run_workloads FOLDER TOPICS DEPTH RUNS POOL JUDGED SEED
//
// Writes seeded TREC runs and qrels. A topic's pool of documents is drawn from two million, and each document
// gets a normally distributed quality. Run i scores documents by quality x (0.4 ... 1.6) + noise and keeps
// the best DEPTH; in every fourth run, scores have two decimals and therefore many ties. Half of the judged
// documents are those that most runs rank among their first JUDGED / 2, the other half are random; grades 0
// to 3 depend on quality.
//   workload A: FOLDER 1000 1000 10 3000 200 1        workload B: FOLDER 50000 30 16 100 20 2
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "core/random.h"

namespace {

using metafuse::Random;

struct Shape {
  int topics, depth, runs, pool, judged;
};

struct Pool {
  std::vector<std::uint64_t> documents;
  std::vector<double> quality;
  std::vector<int> early;  // how many runs rank the document among the first judged / 2
};

Pool make_pool(const Shape& shape, Random& random) {
  Pool pool;
  while (pool.documents.size() < static_cast<std::size_t>(shape.pool)) {
    while (pool.documents.size() < static_cast<std::size_t>(shape.pool))
      pool.documents.push_back(random.below(2'000'000));
    std::sort(pool.documents.begin(), pool.documents.end());
    pool.documents.erase(std::unique(pool.documents.begin(), pool.documents.end()), pool.documents.end());
  }
  random.shuffle(pool.documents);
  for (int i = 0; i < shape.pool; ++i) pool.quality.push_back(random.normal());
  pool.early.assign(pool.documents.size(), 0);
  return pool;
}

void write_list(std::FILE* file, int topic, int run, const Shape& shape, Pool& pool, Random& random) {
  const double trust = 0.4 + 1.2 * run / std::max(1, shape.runs - 1);
  std::vector<std::pair<double, std::size_t>> list;
  for (std::size_t i = 0; i < pool.documents.size(); ++i) {
    double score = 10.0 + trust * pool.quality[i] + random.normal();
    if (run % 4 == 3) score = std::floor(score * 100.0) / 100.0;
    list.emplace_back(-score, i);
  }
  std::sort(list.begin(), list.end());
  for (int k = 0; k < shape.depth; ++k) {
    const auto& [score, i] = list[static_cast<std::size_t>(k)];
    std::fprintf(file, "%d Q0 D%07u %d %.6f sys%02d\n", topic, static_cast<unsigned>(pool.documents[i]),
                 k + 1, -score, run);
    if (k < shape.judged / 2) ++pool.early[i];
  }
}

void write_judgments(std::FILE* file, int topic, const Shape& shape, const Pool& pool, Random& random) {
  std::vector<std::size_t> order(pool.documents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pool.early[a] > pool.early[b]; });
  std::vector<std::size_t> rest(order.begin() + shape.judged / 2, order.end());
  random.shuffle(rest);
  order.resize(static_cast<std::size_t>(shape.judged / 2));
  order.insert(order.end(), rest.begin(), rest.begin() + (shape.judged - shape.judged / 2));
  for (const std::size_t i : order) {
    const double judged = pool.quality[i] + 0.5 * random.normal();
    const int grade = judged > 2.0 ? 3 : judged > 1.4 ? 2 : judged > 0.8 ? 1 : 0;
    std::fprintf(file, "%d 0 D%07u %d\n", topic, static_cast<unsigned>(pool.documents[i]), grade);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fputs("run_workloads FOLDER TOPICS DEPTH RUNS POOL JUDGED SEED\n", stderr);
    return 64;
  }
  const std::string folder = argv[1];
  const Shape shape{std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5]),
                    std::atoi(argv[6])};
  std::filesystem::create_directories(folder);
  Random random(std::strtoull(argv[7], nullptr, 10));
  std::vector<std::FILE*> files;
  for (int run = 0; run < shape.runs; ++run) {
    char name[32];
    std::snprintf(name, sizeof name, "/sys%02d.run", run);
    files.push_back(std::fopen((folder + name).c_str(), "w"));
  }
  std::FILE* qrels = std::fopen((folder + "/qrels.txt").c_str(), "w");
  if (qrels == nullptr || std::find(files.begin(), files.end(), nullptr) != files.end()) {
    std::fprintf(stderr, "%s: cannot write\n", folder.c_str());
    return 66;
  }
  for (int topic = 1; topic <= shape.topics; ++topic) {
    Pool pool = make_pool(shape, random);
    for (int run = 0; run < shape.runs; ++run)
      write_list(files[static_cast<std::size_t>(run)], topic, run, shape, pool, random);
    write_judgments(qrels, topic, shape, pool, random);
  }
  bool is_written = std::fclose(qrels) == 0;
  for (std::FILE* file : files) is_written = std::fclose(file) == 0 && is_written;
  return is_written ? 0 : 75;
}
