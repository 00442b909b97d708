#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace metafuse::fusion::mpboost {

/// The directed distance functions of Zhu et al. 2009, sec. 3.2, and what they are compared with.
enum class Distance {
  binary,    ///< eq. (2)
  ldd,       ///< linear, eq. (6)
  logdd,     ///< logarithmic, eq. (7)
  logitdd,   ///< logistic, eq. (8)
  constant,  ///< the same for all pairs: tells what of MPBoost's gain is the size of its steps
  table,     ///< a table of one's own
};

/// dist of a pair whose ratings differ by `difference` (the higher less the lower one, so positive).
///
/// in:     parameter - alpha, lambda, beta or the constant; of no effect for binary. Not for tables.
double directed_distance(Distance kind, double parameter, double difference);

/// The parameter used when nothing else is said.
///
/// Differs from Zhu et al. 2009, fig. 2, whose lambda is 3: with it mean |dist| is far above 1 on graded
/// feedback, against condition (9), and boosting diverges.
double default_parameter(Distance kind);

/// The parameters tried on validation data; one where there is nothing to choose.
///
/// Differs from Zhu et al. 2009, whose lambdas go to 10, for the same reason.
std::vector<double> parameter_grid(Distance kind);

std::string_view distance_name(Distance kind);

/// Distances of one's own by the two grades of a pair, the lower one first.
using DistanceTable = std::map<std::pair<double, double>, double>;

/// Reads a file of lines `LOW HIGH DISTANCE`; `#` begins a comment. DISTANCE is a positive number, or a
/// directed distance function with its parameter, such as `logdd:0.35`, which is applied to HIGH - LOW: so
/// the functions may be mixed, as Zhu et al. 2009 propose for future work.
///
/// errors: no_input; bad_data, naming file and line: not three fields, LOW not below HIGH, a distance that is
///         not positive, two lines for the same grades
Result<DistanceTable> read_distance_table(const std::string& path);

}  // namespace metafuse::fusion::mpboost
