#include "fusion/learners/rankboost_plus/step.h"

#include <cmath>

namespace metafuse::fusion::rankboost_plus {
namespace {

double log_cosh(double x) {
  const double size = std::abs(x);
  return size + std::log1p(std::exp(-2.0 * size)) - std::log(2.0);
}

}  // namespace

double half_log_ratio(double a, double b, double epsilon) {
  if (a <= 0.0 || b <= 0.0) return 0.5 * std::log((a + epsilon) / (b + epsilon));
  return 0.5 * std::log(a / b);
}

double alpha_discrete(const Edges& edges, double epsilon) {
  return half_log_ratio(edges.right, edges.reversed, epsilon);
}

double alpha_continuous(const Edges& edges, double epsilon) {
  // (1 + r) / 2 and (1 - r) / 2 written as in eq. (39), which loses no digits when r is near 1.
  const double half_tied = 0.5 * edges.tied;
  return half_log_ratio(edges.right + half_tied, edges.reversed + half_tied, epsilon);
}

double alpha_plus(const Edges& edges, double accumulated, double epsilon) {
  // exp(-a) / (2 cosh a) = 1 / (1 + exp(2a)), so that a large accumulated weight overflows nothing.
  const double tied_right = edges.tied / (1.0 + std::exp(2.0 * accumulated));
  const double tied_reversed = edges.tied / (1.0 + std::exp(-2.0 * accumulated));
  return half_log_ratio(edges.right + tied_right, edges.reversed + tied_reversed, epsilon);
}

double delta_plus(const Edges& edges, double accumulated) {
  return edges.reversed - edges.right + edges.tied * std::tanh(accumulated);
}

double z_rankboost(const Edges& edges, double alpha) {
  return edges.tied + edges.right * std::exp(-alpha) + edges.reversed * std::exp(alpha);
}

double z_plus(const Edges& edges, double alpha, double accumulated) {
  return edges.right * std::exp(-alpha) + edges.reversed * std::exp(alpha) +
         edges.tied * tie_factor(alpha, accumulated);
}

double tie_factor(double alpha, double accumulated) {
  return std::exp(log_cosh(alpha + accumulated) - log_cosh(accumulated));
}

}  // namespace metafuse::fusion::rankboost_plus
