#pragma once

#include <string_view>
#include <vector>

namespace metafuse::fusion::mpboost {

/// The directed distance functions of Zhu et al. 2009, sec. 3.2, and the binary label that they replace.
enum class Distance {
  binary,    ///< eq. (2)
  ldd,       ///< linear, eq. (6)
  logdd,     ///< logarithmic, eq. (7)
  logitdd,   ///< logistic, eq. (8)
  constant,  ///< the parameter for every pair: a control that tells what smaller steps alone are worth
};

/// dist of a pair whose ratings differ by `difference` (the higher less the lower one, so positive).
///
/// in:     parameter - alpha, lambda or beta; of no effect for binary
double directed_distance(Distance kind, double parameter, double difference);

/// The parameter used when nothing else is said: those of fig. 2.
double default_parameter(Distance kind);

/// The parameters tried on validation data; one for binary.
std::vector<double> parameter_grid(Distance kind);

std::string_view distance_name(Distance kind);

}  // namespace metafuse::fusion::mpboost
