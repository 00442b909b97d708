#include "fusion/learners/rankboost/value_ranker.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/number.h"
#include "fusion/model/state_fields.h"

namespace metafuse::fusion::rankboost {

ValueRanker::ValueRanker(std::vector<ValueRanking> rankings, const std::vector<Feature>& features)
    : rankings_(std::move(rankings)), lines_(features.size()) {
  for (const ValueRanking& ranking : rankings_) {
    Line& line = lines_[ranking.feature];
    line.low = ranking.low;
    line.high = ranking.high;
    line.by_default[ranking.q_default > 0.0 ? 1 : 0] += ranking.alpha;
    line.is_used = true;
  }
  tabulate(features);
}

double ValueRanker::part(std::size_t feature, double value) const {
  const Line& line = lines_[feature];
  const double span = line.high - line.low;
  if (!(span > 0.0)) return 0.0;
  return (line.by_default[0] + line.by_default[1]) *
         ((std::clamp(value, line.low, line.high) - line.low) / span);
}

JsonObject ValueRanker::body() const {
  JsonArray list;
  for (const ValueRanking& ranking : rankings_)
    list.push_back(JsonObject{{"feature", ranking.feature},
                              {"low", ranking.low},
                              {"high", ranking.high},
                              {"q_default", ranking.q_default},
                              {"alpha", ranking.alpha}});
  return JsonObject{{"value_rankings", std::move(list)}};
}

std::string ValueRanker::describe(const std::vector<Feature>& features) const {
  std::string text = "weak rankings: " + std::to_string(rankings_.size()) + "\n";
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    if (line.by_default[0] == 0.0 && line.by_default[1] == 0.0) continue;
    text += fmt::format("{}\n  unranked: {}\n  from 0 at {} to {} at {}\n", features[i].name,
                        number_text(line.by_default[1]), number_text(line.low),
                        number_text(line.by_default[0] + line.by_default[1]), number_text(line.high));
  }
  return text;
}

Result<std::shared_ptr<const Ranker>> read_value_ranker(const JsonObject& body,
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
    ranking.alpha = own.number("alpha");
    if (own.failed()) return own.error();
    if (ranking.feature >= features.size() || ranking.low > ranking.high ||
        (ranking.q_default != 0.0 && ranking.q_default != 1.0))
      return fail(Code::bad_data, name + ": out of range; train the model again");
    rankings.push_back(ranking);
  }
  return std::shared_ptr<const Ranker>(std::make_shared<ValueRanker>(std::move(rankings), features));
}

}  // namespace metafuse::fusion::rankboost
