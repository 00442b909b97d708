#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/learners/rankboost/loss_and_bound.h"
#include "fusion/training/registry.h"
#include "tests/support/random_training_set.h"

using namespace metafuse;
using namespace metafuse::fusion;
using namespace metafuse::fusion::rankboost;

namespace {

/// Queries with these numbers of documents; each pair of grades in a query has its own weight.
Feedback graded_feedback(Random& random, const std::vector<std::size_t>& sizes, std::uint32_t grades) {
  Feedback feedback;
  for (const std::size_t size : sizes) {
    QueryFeedback query;
    query.begin = feedback.classes.size();
    query.end = query.begin + size;
    query.classes = grades;
    query.table = feedback.weights.size();
    query.first_class = feedback.members.size();
    feedback.members.resize(query.first_class + grades, 0);
    for (std::size_t i = 0; i < grades * grades; ++i)
      feedback.weights.push_back(i / grades < i % grades ? 1e-6 * random.uniform() : 0.0);
    for (std::size_t i = 0; i < size; ++i) {
      const bool is_unjudged = random.uniform() < 0.1;
      feedback.classes.push_back(is_unjudged ? Feedback::kNone
                                             : static_cast<std::uint16_t>(random.below(grades)));
      if (is_unjudged) continue;
      ++feedback.members[query.first_class + feedback.classes.back()];
      ++feedback.used_documents;
    }
    feedback.queries.push_back(query);
  }
  return feedback;
}

/// Eq. (21), computed pair by pair.
double loss_by_definition(const Feedback& feedback, const std::vector<double>& scores) {
  double loss = 0.0;
  for (const QueryFeedback& query : feedback.queries)
    for (std::size_t low = query.begin; low < query.end; ++low)
      for (std::size_t high = query.begin; high < query.end; ++high) {
        const std::uint16_t lower = feedback.classes[low];
        const std::uint16_t upper = feedback.classes[high];
        if (lower == Feedback::kNone || upper == Feedback::kNone || lower >= upper) continue;
        const double weight = feedback.weights[query.table + lower * query.classes + upper];
        if (is_tie(scores[low], scores[high]))
          loss += 0.5 * weight;
        else if (scores[low] > scores[high])
          loss += weight;
      }
  return loss;
}

}  // namespace

TEST_CASE("The ranking loss equals the sum over all pairs in queries of any size", "[fusion][rankboost]") {
  Random random(21);
  for (int attempt = 0; attempt < 40; ++attempt) {
    // The last query has too many pairs, and the first too few documents, to compare documents one by one.
    const Feedback feedback =
        graded_feedback(random, {3, 5, 17, 40, 130, 700}, 2 + static_cast<std::uint32_t>(attempt) % 4);
    std::vector<double> scores;
    for (std::size_t row = 0; row < feedback.classes.size(); ++row) {
      // Few values, so that there are ties, exact ones, near ones and differences just too large to tie.
      const double base = static_cast<double>(random.below(12)) * 1.7 - 6.0;
      const double step = random.uniform() < 0.2 ? 4e-13 : random.uniform() < 0.2 ? 3e-11 : 0.0;
      scores.push_back(base + step * std::max(1.0, std::abs(base)));
    }
    REQUIRE(ranking_loss(feedback, scores) == Approx(loss_by_definition(feedback, scores)).epsilon(1e-10));
  }
}

TEST_CASE("A trace of every third round has the same lines as the whole trace", "[fusion][rankboost]") {
  Random random(22);
  int compared = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const TrainingSet set = test::random_training_set(random, {4, 12, 4});
    TrainingRequest request;
    request.train = &set;
    request.options = {{"rounds", "20"}};
    const auto all = find_learner("rankboost")->train(request);
    if (!all) continue;  // no crucial pair
    for (const char* flat : {"0", "4"}) {
      request.options["stop-when-flat"] = flat;
      request.trace.every = 1;
      const auto whole = find_learner("rankboost")->train(request);
      request.trace.every = 3;
      const auto few = find_learner("rankboost")->train(request);
      REQUIRE(few->trace.size() == whole->trace.size() / 3);
      for (std::size_t i = 0; i < few->trace.size(); ++i, ++compared)
        REQUIRE(to_text(few->trace[i]) == to_text(whole->trace[3 * i + 2]));
    }
  }
  CHECK(compared > 20);
}
