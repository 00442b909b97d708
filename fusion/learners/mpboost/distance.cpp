#include "fusion/learners/mpboost/distance.h"

#include <cmath>

namespace metafuse::fusion::mpboost {

double directed_distance(Distance kind, double parameter, double difference) {
  switch (kind) {
    case Distance::ldd:
      return parameter * difference;
    case Distance::logdd:
      return std::log1p(parameter * difference);
    case Distance::logitdd:
      return 1.0 / (1.0 + std::exp(-parameter * difference));
    case Distance::constant:
      return parameter;
    case Distance::binary:
      break;
  }
  return 1.0;
}

double default_parameter(Distance kind) {
  switch (kind) {
    case Distance::ldd:
      return 0.2;
    case Distance::logdd:
      return 3.0;
    case Distance::logitdd:
      return 0.5;
    case Distance::constant:
    case Distance::binary:
      break;
  }
  return 1.0;
}

std::vector<double> parameter_grid(Distance kind) {
  switch (kind) {
    case Distance::ldd:
      return {0.05, 0.1, 0.2, 0.35, 0.5};
    case Distance::logdd:
      return {0.5, 1.0, 2.0, 3.0, 5.0, 10.0};
    case Distance::logitdd:
      return {0.25, 0.5, 1.0, 2.0};
    case Distance::constant:
    case Distance::binary:
      break;
  }
  return {1.0};
}

std::string_view distance_name(Distance kind) {
  switch (kind) {
    case Distance::ldd:
      return "ldd";
    case Distance::logdd:
      return "logdd";
    case Distance::logitdd:
      return "logitdd";
    case Distance::constant:
      return "constant";
    case Distance::binary:
      break;
  }
  return "binary";
}

}  // namespace metafuse::fusion::mpboost
