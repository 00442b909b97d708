#include "fusion/model/value_ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/number.h"
#include "fusion/model/state_fields.h"

namespace metafuse::fusion {

double ValueLine::at(double value) const {
  const double span = high - low;
  if (!(span > 0.0)) return 0.0;
  return (by_default[0] + by_default[1]) * ((std::clamp(value, low, high) - low) / span);
}

std::vector<ValueLine> value_lines(std::span<const ValueRanking> rankings, std::size_t features) {
  std::vector<ValueLine> lines(features);
  for (const ValueRanking& ranking : rankings) {
    ValueLine& line = lines[ranking.feature];
    line.low = ranking.low;
    line.high = ranking.high;
    line.by_default[ranking.q_default > 0.0 ? 1 : 0] += ranking.alpha;
    line.is_used = true;
  }
  return lines;
}

std::string describe_lines(std::span<const ValueLine> lines, const std::vector<Feature>& features) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const ValueLine& line = lines[i];
    if (line.by_default[0] == 0.0 && line.by_default[1] == 0.0) continue;
    text += fmt::format("{}\n  unranked: {}\n  from 0 at {} to {} at {}\n", features[i].name,
                        number_text(line.unranked()), number_text(line.low),
                        number_text(line.by_default[0] + line.by_default[1]), number_text(line.high));
  }
  return text;
}

JsonArray value_rankings_json(std::span<const ValueRanking> rankings) {
  JsonArray list;
  for (const ValueRanking& ranking : rankings)
    list.push_back(JsonObject{{"feature", ranking.feature},
                              {"low", ranking.low},
                              {"high", ranking.high},
                              {"q_default", ranking.q_default},
                              {"alpha", ranking.alpha}});
  return list;
}

Result<std::vector<ValueRanking>> read_value_rankings(const JsonObject& body,
                                                      const std::vector<Feature>& features) {
  StateFields fields(body);
  const JsonArray* list = fields.array("value_rankings");
  if (fields.failed()) return fields.error();
  std::vector<ValueRanking> rankings;
  for (const Json& item : *list) {
    const std::string name = fmt::format("body.value_rankings[{}]", rankings.size());
    if (!item.is_object()) return fail(Code::bad_data, name + ": must be an object; train the model again");
    StateFields own(item.get_object(), name + '.');
    ValueRanking ranking;
    ranking.feature =
        static_cast<std::uint32_t>(own.count("feature", std::numeric_limits<std::uint32_t>::max()));
    ranking.low = own.number("low");
    ranking.high = own.number("high");
    ranking.q_default = own.number("q_default");
    ranking.alpha = own.weight("alpha");
    if (own.failed()) return own.error();
    if (ranking.feature >= features.size() || ranking.low > ranking.high ||
        !std::isfinite(ranking.high - ranking.low) || (ranking.q_default != 0.0 && ranking.q_default != 1.0))
      return fail(Code::bad_data, name + ": out of range; train the model again");
    rankings.push_back(ranking);
  }
  return rankings;
}

}  // namespace metafuse::fusion
