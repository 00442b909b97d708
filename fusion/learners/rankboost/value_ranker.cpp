#include "fusion/learners/rankboost/value_ranker.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "core/number.h"

namespace metafuse::fusion::rankboost {
namespace {

Result<double> number_at(const JsonObject& object, const char* key, std::size_t place) {
  const Json* item = object.if_contains(key);
  double value = 0.0;
  if (item != nullptr && item->is_double())
    value = item->get_double();
  else if (item != nullptr && item->is_int64())
    value = static_cast<double>(item->get_int64());
  else
    return fail(Code::bad_data, "body: value_rankings[" + std::to_string(place) + "]: \"" + key +
                                    "\" is no number; train the model again");
  return value;
}

}  // namespace

ValueRanker::ValueRanker(std::vector<ValueRanking> rankings, std::size_t features)
    : rankings_(std::move(rankings)), lines_(features) {
  for (const ValueRanking& ranking : rankings_) {
    Line& line = lines_[ranking.feature];
    line.low = ranking.low;
    line.high = ranking.high;
    line.by_default[ranking.q_default > 0.0 ? 1 : 0] += ranking.alpha;
  }
}

double ValueRanker::part(const Line& line, const FeatureMatrix& documents, std::size_t document,
                         std::size_t feature) const {
  if (documents.is_unranked(document, feature)) return line.by_default[1];
  const double span = line.high - line.low;
  if (!(span > 0.0)) return 0.0;
  const double value = std::clamp(documents.value(document, feature), line.low, line.high);
  return (line.by_default[0] + line.by_default[1]) * ((value - line.low) / span);
}

std::vector<double> ValueRanker::score(const FeatureMatrix& documents) const {
  require(documents.feature_count() == lines_.size(), "the model's features");
  std::vector<double> scores(documents.document_count(), 0.0);
  for (std::size_t feature = 0; feature < lines_.size(); ++feature)
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += part(lines_[feature], documents, i, feature);
  return scores;
}

std::vector<double> ValueRanker::contributions(const FeatureMatrix& documents, std::size_t document) const {
  std::vector<double> parts;
  for (std::size_t feature = 0; feature < lines_.size(); ++feature)
    parts.push_back(part(lines_[feature], documents, document, feature));
  return parts;
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
    text += features[i].name + "\n  unranked: ";
    append_number(text, line.by_default[1]);
    text += "\n  from 0 at ";
    append_number(text, line.low);
    text += " to ";
    append_number(text, line.by_default[0] + line.by_default[1]);
    text += " at ";
    append_number(text, line.high);
    text += "\n";
  }
  return text;
}

Result<std::shared_ptr<const Ranker>> read_value_ranker(const JsonObject& body,
                                                        const std::vector<Feature>& features) {
  const Json* list = body.if_contains("value_rankings");
  if (list == nullptr || !list->is_array())
    return fail(Code::bad_data, "body: \"value_rankings\" is no list; train the model again");
  std::vector<ValueRanking> rankings;
  for (const Json& item : list->get_array()) {
    const std::size_t place = rankings.size();
    if (!item.is_object())
      return fail(Code::bad_data,
                  "body: value_rankings[" + std::to_string(place) + "]: no object; train again");
    double numbers[5] = {};
    constexpr const char* kKeys[5] = {"feature", "low", "high", "q_default", "alpha"};
    for (std::size_t i = 0; i < 5; ++i) {
      TRY(const auto number, number_at(item.get_object(), kKeys[i], place));
      numbers[i] = number;
    }
    if (numbers[0] < 0.0 || numbers[0] >= static_cast<double>(features.size()) ||
        numbers[0] != std::floor(numbers[0]) || numbers[1] > numbers[2] ||
        (numbers[3] != 0.0 && numbers[3] != 1.0))
      return fail(Code::bad_data,
                  "body: value_rankings[" + std::to_string(place) + "]: out of range; train the model again");
    rankings.push_back(
        {static_cast<std::uint32_t>(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4]});
  }
  return std::shared_ptr<const Ranker>(std::make_shared<ValueRanker>(std::move(rankings), features.size()));
}

}  // namespace metafuse::fusion::rankboost
