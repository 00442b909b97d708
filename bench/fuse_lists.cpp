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
#include <string_view>
#include <vector>

#include "bench/searches.h"
#include "fusion/learners/reciprocal_ranks/learner.h"
#include "fusion/model/sum_ranker.h"

namespace {

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

int main(int count, char** arguments) {
  using namespace metafuse;
  const std::size_t lists = count > 1 ? static_cast<std::size_t>(std::atoi(arguments[1])) : 16;
  const std::size_t depth = count > 2 ? static_cast<std::size_t>(std::atoi(arguments[2])) : 30;
  const std::size_t different = count > 3 ? static_cast<std::size_t>(std::atoi(arguments[3])) : 24;
  const std::vector<bench::Search> searches = bench::make_searches(different, lists, depth);
  fusion::Model model = bench::step_model(lists);
  if (count > 4 && std::string_view(arguments[4]) == "blend") {
    std::vector<fusion::ValueRanking> lines;
    for (std::uint32_t i = 0; i < lists; ++i) lines.push_back({i, -30.0, -1.0, 0.0, 0.5});
    fusion::SumParts parts = bench::step_ranker(model.features).parts();
    parts.fused = fusion::FusedPart{60.0, std::vector<double>(lists, 1.0), {}};
    parts.values = std::move(lines);
    model.ranker = std::make_shared<fusion::SumRanker>(std::move(parts), model.features);
  }
  double best = 1.0;
  std::size_t documents = 0;
  for (std::size_t part = 0; part < 1 + 5000 / different; ++part) {
    documents = 0;
    const double begin = cpu_seconds();
    for (const bench::Search& search : searches) documents += bench::fuse_search(model, search).order.size();
    best = std::min(best, (cpu_seconds() - begin) / static_cast<double>(different));
  }
  std::printf("lists %zu depth %zu documents %zu fuse_us %.2f\n", lists, depth, documents / different,
              best * 1e6);
  return 0;
}
