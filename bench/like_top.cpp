// like_top [RESULTS] [SEARCHES]
//
// Processor microseconds that `rerank: like-top` takes for one search: titles of 8 words and snippets of 25,
// drawn by Zipf's law from 20,000 words. Many different searches take turns, so that neither caches nor the
// branch predictor remember the previous one.
#include "service/search/like_top.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

namespace {

using metafuse::service::FusedResult;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Texts {
 public:
  Texts() {
    for (int i = 0; i < 20'000; ++i) {
      std::string word;
      for (int n = i + 7; n > 0; n /= 17) word += static_cast<char>('a' + n % 17 + (n % 3));
      words_.push_back(word + std::to_string(i % 10));
    }
  }

  std::string text(int length) {
    std::string out;
    for (int i = 0; i < length; ++i) {
      const double where = std::pow(20'000.0, std::uniform_real_distribution<>()(random_)) - 1;
      out += words_[static_cast<std::size_t>(where)] + ' ';
    }
    return out;
  }

 private:
  std::vector<std::string> words_;
  std::mt19937 random_{1};
};

}  // namespace

int main(int count, char** arguments) {
  const std::size_t size = count > 1 ? static_cast<std::size_t>(std::atoi(arguments[1])) : 200;
  const std::size_t different = count > 2 ? static_cast<std::size_t>(std::atoi(arguments[2])) : 24;
  Texts texts;
  std::vector<std::vector<FusedResult>> searches(different, std::vector<FusedResult>(size));
  for (auto& results : searches)
    for (FusedResult& result : results) {
      result.hit.title = texts.text(8);
      result.hit.snippet = texts.text(25);
    }
  double best = 1.0;
  double sum = 0;
  for (int part = 0; part < 40; ++part) {
    const double begin = cpu_seconds();
    for (const auto& results : searches) sum += metafuse::service::likeness_to_top(results).back();
    best = std::min(best, (cpu_seconds() - begin) / static_cast<double>(different));
  }
  std::printf("results %zu like_top_us %.1f (%.3f)\n", size, best * 1e6, sum);
  return 0;
}
