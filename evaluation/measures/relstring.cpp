#include "evaluation/measures/relstring.h"

#include <algorithm>

namespace metafuse::evaluation {

std::string relstring_of(const JudgedRanking& ranking, double length) {
  std::string text = "'";
  const auto end = std::min(static_cast<std::size_t>(std::max(0.0, length)), ranking.grades.size());
  for (std::size_t i = 0; i < end; ++i) {
    const int grade = ranking.grades[i];
    if (grade > 9)
      text += '>';
    else if (grade >= 0)
      text += static_cast<char>('0' + grade);
    else
      text += grade == kNotPooled ? '-' : '.';
  }
  return text + "'";
}

std::optional<double> relstring_length(const MeasureSet& set) {
  for (const MeasureRequest& request : set.requests)
    if (request.measure->name == "relstring") return request.parameters.values[0];
  return std::nullopt;
}

}  // namespace metafuse::evaluation
