#include "evaluation/reports/z_scores.h"

#include <cmath>
#include <map>

#include "core/diagnostics.h"
#include "evaluation/runs/line_parser.h"

namespace metafuse::evaluation {
namespace {

struct Reference {
  double mean = 0.0;
  double deviation = 0.0;
};

using References = std::map<std::pair<std::string, std::string>, Reference>;

Result<References> read_references(const std::string& path) {
  References references;
  auto read = for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    LineParser parser(line.data(), line.data() + line.size());
    const std::string query(parser.field());
    if (query.empty()) return {};
    const std::string measure(parser.field());
    Reference reference;
    if (!to_double(parser.field(), reference.mean) || !to_double(parser.field(), reference.deviation) ||
        !parser.at_line_end() || !std::isfinite(reference.mean) || !std::isfinite(reference.deviation))
      return fail(Code::bad_data, located(path, {number, 0}, "not a line `query measure mean deviation`"));
    references[{query, measure}] = reference;
    return {};
  });
  if (!read) return read.error();
  if (references.empty())
    return fail(Code::bad_data,
                path + ": holds no line `query measure mean deviation`; is it the right file?");
  return references;
}

double z_score(double value, const Reference* reference) {
  if (reference == nullptr) return kMissingZScore;
  if (reference->deviation != 0.0) return (value - reference->mean) / reference->deviation;
  return value == reference->mean ? 0.0 : kMissingZScore;
}

}  // namespace

Result<void> convert_to_z_scores(const std::string& path, const MeasureSet& set, RunEvaluation& evaluation) {
  TRY(auto references, read_references(path));
  for (std::size_t query = 0; query < evaluation.queries.size(); ++query)
    for (std::size_t column = 0; column < set.size(); ++column) {
      const auto at = references.find({evaluation.queries[query], set.names[column]});
      double& value = evaluation.values[query * set.size() + column];
      value = z_score(value, at == references.end() ? nullptr : &at->second);
    }
  summarise(evaluation, set, {});
  return {};
}

}  // namespace metafuse::evaluation
