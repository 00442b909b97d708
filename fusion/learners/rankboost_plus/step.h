#pragma once

namespace metafuse::fusion::rankboost_plus {

/// How a binary weak ranking orders the crucial pairs under the current distribution (Connamacher et al.
/// 2020, eq. (8)): three shares that sum to 1.
struct Edges {
  double right = 0.0;     ///< epsilon plus
  double reversed = 0.0;  ///< epsilon minus
  double tied = 0.0;      ///< epsilon zero
};

/// Stands in for nothing where a logarithm is finite, and is added to both sides where it is not.
///
/// Every alpha below is 1/2 ln(a / b); with a or b zero it becomes 1/2 ln((a + e) / (b + e)).
double half_log_ratio(double a, double b, double epsilon);

/// Weight of Rb-d, eq. (14).
double alpha_discrete(const Edges& edges, double epsilon);

/// Weight of Rb-c, eq. (19).
double alpha_continuous(const Edges& edges, double epsilon);

/// Weight of RankBoost+ given the weight that the weak ranking has accumulated so far, eq. (34).
double alpha_plus(const Edges& edges, double accumulated, double epsilon);

/// Slope of E2 along the weak ranking, eq. (33); negative where a positive weight lowers E2.
double delta_plus(const Edges& edges, double accumulated);

/// Normaliser of Rb-d and Rb-c, eq. (11).
double z_rankboost(const Edges& edges, double alpha);

/// Normaliser of RankBoost+, eq. (27).
double z_plus(const Edges& edges, double alpha, double accumulated);

/// cosh(accumulated + alpha) / cosh(accumulated) without overflow: what a tie is multiplied by, eq. (25).
double tie_factor(double alpha, double accumulated);

}  // namespace metafuse::fusion::rankboost_plus
