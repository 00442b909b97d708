#include "fusion/model/model_fusion.h"

#include <algorithm>

#include "fusion/model/fuse.h"

namespace metafuse::fusion {
namespace {

/// The places in `names` of the model's rank features; derived features stand in no list.
Result<std::vector<std::size_t>> match_lists(const Model& model, std::vector<std::string> names,
                                             bool may_be_missing) {
  const std::size_t lists = names.size();
  for (const Feature& feature : model.features) {
    if (is_derived(feature)) {
      names.push_back(feature.name);
    } else if (feature.kind != FeatureKind::rank) {
      return fail(Code::bad_data, "the model's feature \"" + feature.name +
                                      "\" is a value, not a rank; use metafuse score with a LETOR file");
    }
  }
  TRY(auto matched, match_features(model, names, may_be_missing));
  matched.resize(list_count(model));
  for (std::size_t& place : matched)
    if (place >= lists) place = kMissing;
  return matched;
}

}  // namespace

Result<ScoreQuery> score_with_model(const Model& model, const std::vector<std::string>& names,
                                    bool may_be_missing) {
  TRY(auto matched, match_lists(model, names, may_be_missing));
  return ScoreQuery([model, list_of = matched](const QueryLists& query) {
    std::vector<std::vector<std::string_view>> ids(list_of.size());
    for (std::size_t i = 0; i < list_of.size(); ++i) {
      if (list_of[i] == kMissing) continue;
      for (const ListEntry& entry : query.lists[list_of[i]])
        ids[i].push_back(query.documents[entry.document]);
    }
    const FusedRanking ranking = fuse(model, std::vector<RankedIds>(ids.begin(), ids.end()));
    // Documents beyond the model's depths are in no instance: they come last.
    double least = 0.0;
    for (const double score : ranking.scores) least = std::min(least, score);
    std::vector<double> scores(query.size(), least - 1.0);
    const auto& known = ranking.instances.documents;
    for (std::size_t document = 0; document < query.size(); ++document) {
      const auto at = std::lower_bound(known.begin(), known.end(), query.documents[document]);
      if (at != known.end() && *at == query.documents[document])
        scores[document] = ranking.scores[static_cast<std::size_t>(at - known.begin())];
    }
    return scores;
  });
}

}  // namespace metafuse::fusion
