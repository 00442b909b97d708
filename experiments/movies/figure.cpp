#include "experiments/movies/figure.h"

#include <algorithm>
#include <numeric>

#include "core/parallel.h"

namespace metafuse::experiments::movies {
namespace {

std::vector<std::size_t> shuffled_viewers(const Ratings& ratings, Random random) {
  std::vector<std::size_t> viewers(ratings.viewer_count());
  std::iota(viewers.begin(), viewers.end(), std::size_t{0});
  random.shuffle(viewers);
  return viewers;
}

void add_task(Setting& setting, const Ratings& ratings, const std::vector<std::size_t>& features,
              std::size_t target, Random random) {
  Task task = make_task(ratings, features, target, random);
  if (has_feedback(task)) setting.tasks.push_back(std::move(task));
}

struct Bin {
  std::size_t least, most;
};
const std::vector<Bin> kBins = {{20, 40}, {41, 60}, {61, 100}, {101, 1000}};

std::vector<std::size_t> in_bin(const Ratings& ratings, const std::vector<std::size_t>& viewers,
                                const Bin& bin) {
  std::vector<std::size_t> chosen;
  for (const std::size_t viewer : viewers)
    if (const std::size_t count = ratings.rated[viewer].size(); count >= bin.least && count <= bin.most)
      chosen.push_back(viewer);
  return chosen;
}

double mean_density(const Ratings& ratings, const std::vector<std::size_t>& viewers) {
  double sum = 0.0;
  for (const std::size_t viewer : viewers) sum += static_cast<double>(ratings.rated[viewer].size());
  return viewers.empty() ? 0.0 : sum / static_cast<double>(viewers.size());
}

std::string label_of(const Bin& bin) {
  return std::to_string(bin.least) + (bin.most >= 1000 ? "+" : "-" + std::to_string(bin.most));
}

}  // namespace

std::vector<Method> paper_methods() {
  return {Method::rankboost, Method::vector_similarity, Method::nearest_neighbour, Method::regression,
          Method::random_guessing};
}

Figure feature_counts(const Ratings& ratings, const Sizes& sizes, Random random) {
  Figure figure{"number of features", "features", paper_methods(), {}, {}};
  figure.methods.insert(figure.methods.end(),
                        {Method::normalised_regression, Method::ten_neighbours, Method::rankboost_with_vsim});
  const std::vector<std::size_t> counts = {100, 200, 500, 750};
  for (const std::size_t count : counts)
    figure.settings.push_back({std::to_string(count), static_cast<double>(count), {}});
  for (std::size_t split = 0; split < sizes.splits; ++split) {
    const std::vector<std::size_t> viewers = shuffled_viewers(ratings, random.split(split));
    const std::size_t end = std::min(viewers.size(), counts.back() + sizes.targets);
    for (std::size_t i = counts.back(); i < end; ++i)
      for (std::size_t c = 0; c < counts.size(); ++c)
        add_task(figure.settings[c], ratings,
                 {viewers.begin(), viewers.begin() + static_cast<std::ptrdiff_t>(counts[c])}, viewers[i],
                 random.split(1000 + split).split(viewers[i]));
  }
  return figure;
}

Figure feature_density(const Ratings& ratings, const Sizes& sizes, Random random) {
  Figure figure{"density of features", "mean number of movies that a feature ranks", paper_methods(), {}, {}};
  for (const Bin& bin : kBins)
    figure.settings.push_back(
        {label_of(bin), mean_density(ratings, in_bin(ratings, shuffled_viewers(ratings, random), bin)), {}});
  for (std::size_t split = 0; split < sizes.splits; ++split) {
    const std::vector<std::size_t> viewers = shuffled_viewers(ratings, random.split(split));
    const auto cut =
        viewers.begin() + static_cast<std::ptrdiff_t>(std::min(sizes.targets, viewers.size() / 4));
    const std::vector<std::size_t> rest(cut, viewers.end());
    for (std::size_t b = 0; b < kBins.size(); ++b) {
      std::vector<std::size_t> features = in_bin(ratings, rest, kBins[b]);
      features.resize(std::min<std::size_t>(features.size(), 80));
      for (auto target = viewers.begin(); target != cut; ++target)
        add_task(figure.settings[b], ratings, features, *target, random.split(1000 + split).split(*target));
    }
  }
  return figure;
}

Figure feedback_density(const Ratings& ratings, const Sizes& sizes, Random random) {
  Figure figure{"density of feedback", "mean number of movies that a target ranks", paper_methods(), {}, {}};
  for (const Bin& bin : kBins)
    figure.settings.push_back(
        {label_of(bin), mean_density(ratings, in_bin(ratings, shuffled_viewers(ratings, random), bin)), {}});
  for (std::size_t split = 0; split < sizes.splits; ++split) {
    const std::vector<std::size_t> viewers = shuffled_viewers(ratings, random.split(split));
    const std::vector<std::size_t> features(viewers.begin(), viewers.begin() + 500);
    const std::vector<std::size_t> rest(viewers.begin() + 500, viewers.end());
    for (std::size_t b = 0; b < kBins.size(); ++b) {
      const std::vector<std::size_t> targets = in_bin(ratings, rest, kBins[b]);
      for (std::size_t i = 0; i < std::min(targets.size(), sizes.targets / 2); ++i)
        add_task(figure.settings[b], ratings, features, targets[i],
                 random.split(1000 + split).split(targets[i]));
    }
  }
  return figure;
}

Figure classification(const Ratings& ratings, const Sizes& sizes, Random random) {
  Figure figure{"bipartite feedback",
                "features",
                {Method::rankboost, Method::rankboost_bipartite, Method::adaboost},
                {{"500", 500.0, {}}},
                {}};
  for (std::size_t split = 0; split < sizes.splits; ++split) {
    const std::vector<std::size_t> viewers = shuffled_viewers(ratings, random.split(split));
    for (std::size_t i = 500; i < std::min(viewers.size(), 500 + sizes.targets); ++i)
      add_task(figure.settings[0], ratings, {viewers.begin(), viewers.begin() + 500}, viewers[i],
               random.split(1000 + split).split(viewers[i]));
  }
  return figure;
}

std::size_t task_count(const Figure& figure) {
  std::size_t count = 0;
  for (const Setting& setting : figure.settings) count += setting.tasks.size();
  return count;
}

Result<void> measure_figure(Figure& figure, const Ratings& ratings, unsigned threads,
                            ProgressCounter& progress) {
  figure.values.assign(figure.settings.size(), {});
  for (std::size_t s = 0; s < figure.settings.size(); ++s) {
    const std::vector<Task>& tasks = figure.settings[s].tasks;
    std::vector<Result<std::vector<Values>>> results(tasks.size(), std::vector<Values>{});
    parallel_for(tasks.size(), threads, [&](std::size_t t) {
      results[t] = run_methods(ratings, tasks[t], figure.methods);
      progress.add();
    });
    figure.values[s].assign(figure.methods.size(), {});
    for (const auto& result : results) {
      if (!result) return result.error();
      for (std::size_t m = 0; m < figure.methods.size(); ++m) figure.values[s][m].push_back((*result)[m]);
    }
  }
  return {};
}

}  // namespace metafuse::experiments::movies
