#include "fusion/model/votes/vote_rankers.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "evaluation/measures/discounted_gain.h"
#include "fusion/model/state_fields.h"
#include "fusion/model/votes/strong_classifier.h"

namespace metafuse::fusion::votes {

std::vector<double> gains_of(const std::vector<double>& grades) {
  std::vector<double> gains;
  for (const double grade : grades) gains.push_back(evaluation::exponential_gain(grade));
  return gains;
}

std::vector<double> posterior_scores(std::span<const double> votes, std::span<const double> gains) {
  const std::size_t k = gains.size();
  std::vector<double> posterior(k);
  std::vector<double> scores(votes.size() / k);
  for (std::size_t d = 0; d < scores.size(); ++d) {
    standard_posterior(votes.subspan(d * k, k), posterior);
    scores[d] = bayes_score(posterior, gains);
  }
  return scores;
}

std::vector<double> MhRanker::score(const FeatureMatrix& documents) const {
  const CodedRows rows(documents, graded_.table);
  const std::vector<std::size_t> all = {classifier_.rounds.size()};
  return posterior_scores(classifier_.votes(rows, all)[0], gains_of(graded_.grades));
}

JsonObject MhRanker::body() const {
  JsonObject body = to_json(graded_);
  body["rounds"] = to_json(classifier_);
  return body;
}

std::string MhRanker::describe(const std::vector<Feature>& features) const {
  std::map<std::uint32_t, double> uses;
  for (const auto& [alpha, base] : classifier_.rounds) {
    for (const Cut& cut : base.terms) uses[cut.feature] += alpha;
    for (const TreeNode& node : base.nodes) uses[node.cut.feature] += alpha;
  }
  std::ostringstream text;
  text << "AdaBoost.MH of " << classifier_.rounds.size() << " rounds over grades";
  for (const double grade : graded_.grades) text << ' ' << grade;
  text << "\nsum of alpha over the cuts of each feature:\n";
  std::vector<std::pair<double, std::uint32_t>> order;
  for (const auto& [feature, alpha] : uses) order.emplace_back(-alpha, feature);
  std::sort(order.begin(), order.end());
  for (const auto& [alpha, feature] : order) text << features[feature].name << '\t' << -alpha << '\n';
  return text.str();
}

Result<MhRanker> read_ranker(const JsonObject& body, const std::vector<Feature>& features) {
  TRY(auto graded, read_graded_cuts(body, features.size()));
  StateFields fields(body);
  const JsonArray* rounds = fields.array("rounds");
  if (fields.failed()) return fields.error();
  TRY(auto classifier, read_classifier(*rounds, graded));
  return MhRanker(std::move(graded), std::move(classifier));
}

std::vector<double> calibrated_scores(const Calibration& calibration, std::span<const double> votes,
                                      std::size_t width, std::span<const double> gains) {
  std::vector<double> buffer(gains.size());
  std::vector<double> scores(votes.size() / width);
  for (std::size_t d = 0; d < scores.size(); ++d)
    scores[d] = calibration.score(votes.subspan(d * width, width), gains, buffer);
  return scores;
}

std::vector<std::vector<double>> votes_of(const Source& source, const FeatureMatrix& documents,
                                          const CodedRows& rows, std::span<const std::size_t> counts) {
  if (!source.is_other()) return source.classifier.votes(rows, counts);
  std::vector<double> votes = source.ranker->score(documents);
  const double span = source.high - source.low;
  for (double& vote : votes) vote = span > 0.0 ? 2.0 * (vote - source.low) / span - 1.0 : 0.0;
  return std::vector<std::vector<double>>(counts.size(), votes);
}

namespace {

Result<Source> read_source(const JsonObject& object, const GradedCuts& graded,
                           const std::vector<Feature>& features, const ReadRanker& read_other) {
  StateFields fields(object, "body.sources.");
  Source source;
  source.name = fields.text("name");
  if (object.contains("rounds")) {
    const JsonArray* rounds = fields.array("rounds");
    if (fields.failed()) return fields.error();
    TRY(source.classifier, read_classifier(*rounds, graded));
    return source;
  }
  source.low = fields.weight("low");
  source.high = fields.weight("high");
  const JsonObject* body = fields.object("body");
  if (fields.failed()) return fields.error();
  if (is_too_short(source.high - source.low))
    return fail(Code::bad_data, "body.sources: the range from \"low\" to \"high\" is almost 0");
  TRY(source.ranker, read_other(*body, features));
  return source;
}

Result<Member> read_member(const JsonObject& object, const std::vector<Source>& sources) {
  StateFields fields(object, "body.members.");
  Member member;
  member.source = fields.count("source");
  member.weight = fields.weight("weight");
  member.quality = fields.weight("quality");
  if (fields.failed()) return fields.error();
  TRY(member.calibration, read_calibration(object));
  if (member.source >= sources.size())
    return fail(Code::bad_data, "body.members.source: not one of the sources");
  const std::size_t width = sources[member.source].width();
  if ((member.calibration.regression && member.calibration.regression->width != width) ||
      (member.calibration.sigmoid && sources[member.source].is_other()))
    return fail(Code::bad_data, "body.members: a calibration does not fit its source");
  return member;
}

}  // namespace

std::vector<double> EnsembleRanker::score(const FeatureMatrix& documents) const {
  const CodedRows rows(documents, graded_.table);
  std::vector<double> scores(documents.document_count(), 0.0);
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    const std::vector<std::size_t> all = {sources_[s].classifier.rounds.size()};
    const auto votes = votes_of(sources_[s], documents, rows, all)[0];
    for (const Member& member : members_) {
      if (member.source != s) continue;
      const auto parts = calibrated_scores(member.calibration, votes, sources_[s].width(), gains_);
      for (std::size_t d = 0; d < scores.size(); ++d) scores[d] += member.weight * parts[d];
    }
  }
  return scores;
}

JsonObject EnsembleRanker::body() const {
  JsonArray sources;
  for (const Source& source : sources_) {
    if (source.is_other())
      sources.push_back(JsonObject{{"name", source.name},
                                   {"body", source.ranker->body()},
                                   {"low", source.low},
                                   {"high", source.high}});
    else
      sources.push_back(JsonObject{{"name", source.name}, {"rounds", to_json(source.classifier)}});
  }
  JsonArray members;
  for (const Member& member : members_) {
    JsonObject object = to_json(member.calibration);
    object["source"] = member.source;
    object["weight"] = member.weight;
    object["quality"] = member.quality;
    members.push_back(std::move(object));
  }
  JsonObject body = to_json(graded_);
  body["sources"] = std::move(sources);
  body["members"] = std::move(members);
  return body;
}

std::string EnsembleRanker::describe(const std::vector<Feature>&) const {
  std::ostringstream text;
  text << "ensemble of " << members_.size() << " calibrated scores from " << sources_.size()
       << " classifiers\n";
  std::vector<const Member*> order;
  for (const Member& member : members_) order.push_back(&member);
  std::stable_sort(order.begin(), order.end(),
                   [](const Member* a, const Member* b) { return a->weight > b->weight; });
  text << "heaviest members: weight, classifier, calibration, NDCG@10 on validation\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(20, order.size()); ++i)
    text << order[i]->weight << '\t' << sources_[order[i]->source].name << '\t' << order[i]->calibration.name
         << '\t' << order[i]->quality << '\n';
  return text.str();
}

Result<SharedRanker> read_ensemble(const JsonObject& body, const std::vector<Feature>& features,
                                   const ReadRanker& read_other) {
  TRY(auto graded, read_graded_cuts(body, features.size()));
  StateFields fields(body);
  const JsonArray* source_items = fields.array("sources");
  const JsonArray* member_items = fields.array("members");
  if (fields.failed()) return fields.error();
  std::vector<Source> sources;
  for (const Json& item : *source_items) {
    if (!item.is_object()) return fail(Code::bad_data, "body.sources: must be objects");
    TRY(auto source, read_source(item.get_object(), graded, features, read_other));
    sources.push_back(std::move(source));
  }
  std::vector<Member> members;
  for (const Json& item : *member_items) {
    if (!item.is_object()) return fail(Code::bad_data, "body.members: must be objects");
    TRY(auto member, read_member(item.get_object(), sources));
    members.push_back(std::move(member));
  }
  return std::make_shared<EnsembleRanker>(std::move(graded), std::move(sources), std::move(members));
}

}  // namespace metafuse::fusion::votes
