// fuse_lists [LISTS] [DEPTH] [SEARCHES] [blend]
//
// Processor microseconds that the fusion of one served search takes: joining the lists by id, the features,
// the model's scores and the final order. Ids look like canonical URLs; a list shares about half of its
// documents with others. Many different searches take turns, so that the branch predictor cannot remember the
// previous one (SEARCHES 1 measures the time when it can). The model is a sum of thresholded features or,
// with `blend`, what `auto` chooses most often: that sum, blended with reciprocal ranks and scaled features.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "fusion/learners/reciprocal_ranks/blend.h"
#include "fusion/model/fuse.h"
#include "fusion/model/weak_ranking.h"

namespace {

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Search {
  std::vector<std::string> pool;
  std::vector<std::vector<std::string_view>> ids;  ///< one per list
};

Search make_search(std::size_t lists, std::size_t depth, std::uint64_t seed) {
  metafuse::Random random(seed);
  Search search;
  for (std::size_t i = 0; i < lists * depth / 2 + depth; ++i)
    search.pool.push_back("example" + std::to_string(random.below(1000)) + ".org/pages/" +
                          std::to_string(random.next()));
  search.ids.resize(lists);
  for (auto& list : search.ids) {
    std::vector<std::size_t> order(search.pool.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    random.shuffle(order);
    for (std::size_t i = 0; i < depth; ++i) list.emplace_back(search.pool[order[i]]);
  }
  return search;
}

}  // namespace

int main(int count, char** arguments) {
  using namespace metafuse;
  const std::size_t lists = count > 1 ? static_cast<std::size_t>(std::atoi(arguments[1])) : 16;
  const std::size_t depth = count > 2 ? static_cast<std::size_t>(std::atoi(arguments[2])) : 30;
  const std::size_t different = count > 3 ? static_cast<std::size_t>(std::atoi(arguments[3])) : 24;
  std::vector<Search> searches;
  for (std::uint64_t seed = 1; seed <= different; ++seed) searches.push_back(make_search(lists, depth, seed));
  std::vector<fusion::Feature> features;
  std::vector<fusion::WeakRanking> rankings;
  for (std::size_t i = 0; i < lists; ++i) {
    features.push_back({"list" + std::to_string(i), fusion::FeatureKind::rank, 0});
    for (int k = 1; k <= 12; ++k)
      rankings.push_back({static_cast<std::uint32_t>(i), -static_cast<double>(k * k) / 4.0 - 1.0, 0.0,
                          0.01 * static_cast<double>(k + 1)});
  }
  fusion::Model model;
  model.learner = "rankboost";
  model.features = features;
  fusion::StepRanker steps(rankings, features);
  if (count > 4 && std::string_view(arguments[4]) == "blend") {
    std::vector<fusion::rankboost::ValueRanking> lines;
    for (std::uint32_t i = 0; i < lists; ++i) lines.push_back({i, -30.0, -1.0, 0.0, 0.5});
    model.ranker = std::make_shared<fusion::reciprocal_ranks::BlendRanker>(
        fusion::reciprocal_ranks::ReciprocalRanker(60.0, std::vector<double>(lists, 1.0),
                                                   fusion::StepRanker({}, features)),
        std::move(steps), fusion::rankboost::ValueRanker(std::move(lines), features));
  } else {
    model.ranker = std::make_shared<fusion::StepRanker>(std::move(steps));
  }
  double best = 1.0;
  std::size_t documents = 0;
  for (std::size_t part = 0; part < 1 + 5000 / different; ++part) {
    documents = 0;
    const double begin = cpu_seconds();
    for (const Search& search : searches) {
      const std::vector<fusion::RankedIds> views(search.ids.begin(), search.ids.end());
      documents += fusion::fuse(model, views).order.size();
    }
    best = std::min(best, (cpu_seconds() - begin) / static_cast<double>(different));
  }
  std::printf("lists %zu depth %zu documents %zu fuse_us %.2f\n", lists, depth, documents / different,
              best * 1e6);
  return 0;
}
