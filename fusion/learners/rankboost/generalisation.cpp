#include "fusion/learners/rankboost/generalisation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace metafuse::fusion::rankboost {
namespace {

constexpr double kDelta = 0.05;

double count_at(const JsonObject& object, const char* key) {
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0.0;
}

bool is_value_ranking(const JsonObject& training) {
  const Json* options = training.if_contains("options");
  const Json* form = options != nullptr && options->is_object()
                         ? options->get_object().if_contains("weak_ranking")
                         : nullptr;
  return form != nullptr && form->is_string() && form->get_string() == "value";
}

}  // namespace

double generalisation_bound(double d, std::uint64_t rounds, std::uint64_t m, std::uint64_t n, double delta) {
  const double t = static_cast<double>(rounds) + 1.0;
  const double dimension = 2.0 * (d + 1.0) * t * std::log2(std::numbers::e * t);
  const auto part = [&](double sample) {
    const double inside = dimension * (std::log(2.0 * sample / dimension) + 1.0) + std::log(18.0 / delta);
    // Fewer documents than the dimension: the logarithm turns negative and nothing is bounded.
    return 2.0 * sample < dimension ? 1.0 : 2.0 * std::sqrt(inside / sample);
  };
  return part(static_cast<double>(m)) + part(static_cast<double>(n));
}

std::string generalisation_text(const JsonObject& training, std::uint64_t features) {
  if (!training.contains("crucial_pairs")) return {};
  const Json* single = training.if_contains("single_bipartite");
  if (single == nullptr || !single->is_object())
    return "theorem 3 does not apply: feedback is a sum over queries\n";
  if (is_value_ranking(training))
    return "theorem 3 does not apply: the weak rankings are not {0, 1}-valued\n";
  const auto below = static_cast<std::uint64_t>(count_at(single->get_object(), "below"));
  const auto above = static_cast<std::uint64_t>(count_at(single->get_object(), "above"));
  const auto rounds = static_cast<std::uint64_t>(count_at(training, "rounds"));
  const double documents = static_cast<double>(below + above);
  const double d =
      std::max(2.0, std::floor(std::log2(2.0 * static_cast<double>(features) * (documents + 1.0))));
  const double bound = generalisation_bound(d, rounds, below, above, kDelta);
  char text[200];
  std::snprintf(text, sizeof text,
                "theorem 3: |training error - true error| <= %.4g%s (d %.0f, m %llu, n %llu, delta %.2g)\n",
                bound, bound >= 1.0 ? ", vacuous" : "", d, static_cast<unsigned long long>(below),
                static_cast<unsigned long long>(above), kDelta);
  return text;
}

}  // namespace metafuse::fusion::rankboost
