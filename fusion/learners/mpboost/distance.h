#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace metafuse::fusion::mpboost {

/// The directed distance functions of Zhu et al. 2009, sec. 3.2, and alternatives for comparison.
enum class Distance {
  binary,   ///< eq. (2)
  ldd,      ///< linear, eq. (6)
  logdd,    ///< logarithmic, eq. (7)
  logitdd,  ///< logistic, eq. (8)
  /// The same for all pairs: shows how much of MPBoost's gain is due to the size of its steps.
  constant,
  table,  ///< a table given by the user
};

/// The distance of a pair whose ratings differ by `difference` (higher minus lower, so positive).
///
/// in: parameter - alpha, lambda, beta or the constant; ignored for binary. Not for tables.
double directed_distance(Distance kind, double parameter, double difference);

/// The parameter used if none is given.
///
/// Differs from Zhu et al. 2009, fig. 2, where lambda is 3: on graded feedback this makes mean |dist| far
/// larger than 1, which violates condition (9), and boosting diverges.
double default_parameter(Distance kind);

/// The parameters tried on validation data; a single one if there is nothing to choose.
///
/// Differs from Zhu et al. 2009, whose lambdas go up to 10, for the same reason.
std::vector<double> parameter_grid(Distance kind);

std::string_view distance_name(Distance kind);

/// The user's distances, by the two grades of a pair, lower grade first.
using DistanceTable = std::map<std::pair<double, double>, double>;

/// Reads a file of lines `LOW HIGH DISTANCE`; a line that begins with `#` is a comment. DISTANCE is a
/// positive number, or a directed distance function with its parameter, such as `logdd:0.35`, which is
/// applied to HIGH - LOW. Functions may thus be mixed, which Zhu et al. 2009 propose as future work.
///
/// errors: no_input; bad_data, naming file and line: not three fields, LOW not below HIGH, a distance that is
///         not positive, two lines for the same grades
Result<DistanceTable> read_distance_table(const std::string& path);

}  // namespace metafuse::fusion::mpboost
