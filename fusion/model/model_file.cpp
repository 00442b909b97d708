#include "fusion/model/model_file.h"

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/contract.h"
#include "core/json_members.h"
#include "core/text_file.h"
#include "fusion/data/features.h"

namespace metafuse::fusion {
namespace {

constexpr std::string_view kFormat = "metafuse-model";
constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxModelBytes = std::size_t{1} << 30;

Error bad(std::string_view name, std::string_view what) {
  return fail(Code::bad_data, std::string(name) + ": " + std::string(what) + "; train the model again");
}

/// Checks that derived features come after the lists that they are computed from, and that they exist.
Result<void> check_derived(const std::vector<Feature>& features, std::string_view name) {
  const auto first = std::find_if(features.begin(), features.end(), is_derived);
  if (first == features.end()) return {};
  if (std::any_of(features.begin(), first,
                  [](const Feature& feature) { return feature.kind != FeatureKind::rank; }))
    return bad(name, "features: a derived feature is computed from ranks, and not all that come first are");
  TRY(const auto known, derived_features(kDerivedNames, std::vector<Feature>(features.begin(), first)));
  std::set<std::string> names;
  for (const Feature& feature : known) names.insert(feature.name);
  for (auto feature = first; feature != features.end(); ++feature) {
    const std::string where = "features[" + std::to_string(feature - features.begin()) + "]";
    if (!is_derived(*feature))
      return bad(name, where + ": a list comes after a derived feature; lists must come first");
    if (!names.contains(feature->name))
      return bad(name, where + ": \"" + feature->name + "\" is not a derived feature of the preceding lists");
  }
  return {};
}

/// Reads an optional member of a model.
///
/// in:     read - makes the value from the member's object
template <class Read>
auto read_optional(const JsonObject& root, std::string_view member, std::string_view name, const Read& read)
    -> Result<std::optional<typename std::invoke_result_t<Read, const JsonObject&>::value_type>> {
  using Value = typename std::invoke_result_t<Read, const JsonObject&>::value_type;
  if (!root.contains(member)) return std::optional<Value>();
  const JsonObject* object = JsonMembers(root).object(member);
  if (object == nullptr) return bad(name, fmt::format("\"{}\" must be an object", member));
  auto value = read(*object);
  if (!value) return fail(value.error().code, std::string(name) + ": " + value.error().text);
  return std::optional<Value>(std::move(*value));
}

Result<std::vector<Feature>> read_features(const JsonObject& root, std::string_view name) {
  const Json* list = root.if_contains("features");
  if (list == nullptr || !list->is_array()) return bad(name, "\"features\" must be a list");
  std::vector<Feature> features;
  std::set<std::string> seen;
  for (const Json& item : list->get_array()) {
    const std::string where = "features[" + std::to_string(features.size()) + "]";
    const JsonMembers members(item);
    if (!members.is_object()) return bad(name, where + " must be an object");
    const auto* text = members.text("name");
    const auto* kind = members.text("kind");
    const std::int64_t* depth = members.integer("depth");
    if (text == nullptr || text->empty()) return bad(name, where + " has no name");
    if (kind == nullptr || (*kind != "rank" && *kind != "value"))
      return bad(name, where + ": \"kind\" must be \"rank\" or \"value\"");
    if (depth == nullptr || *depth < 0 || *depth > 1'000'000'000)
      return bad(name, where + ": \"depth\" must be a whole number of at least 0");
    if (!seen.insert(std::string(*text)).second)
      return bad(name, where + ": the name \"" + std::string(*text) + "\" occurs twice");
    features.push_back({std::string(*text), *kind == "rank" ? FeatureKind::rank : FeatureKind::value,
                        static_cast<int>(*depth)});
  }
  TRY_VOID(check_derived(features, name));
  return features;
}

Result<void> check_header(const JsonMembers& members, std::string_view name) {
  const auto* format = members.text("format");
  if (format == nullptr || *format != kFormat)
    return fail(Code::bad_data, std::string(name) +
                                    ": not a metafuse model (no \"format\":\"metafuse-model\"); give a file "
                                    "that metafuse train wrote");
  const std::int64_t* version = members.integer("version");
  if (version == nullptr || *version < 1)
    return bad(name, "\"version\" must be a whole number of at least 1");
  if (*version > kVersion)
    return fail(Code::bad_data, std::string(name) + ": written by a later metafuse (format version " +
                                    std::to_string(*version) + ", this one reads up to " +
                                    std::to_string(kVersion) + "); use that one");
  return {};
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 8; ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > 8) text += " and " + std::to_string(names.size() - 8) + " more";
  return text;
}

}  // namespace

std::vector<double> Ranker::score_instances(const std::vector<Feature>& features,
                                            const QueryInstances& instances) const {
  return score(feature_matrix(features, instances));
}

std::string model_text(const Model& model) {
  require(model.ranker != nullptr, "a model has a ranker");
  JsonArray features;
  for (const Feature& feature : model.features)
    features.push_back(JsonObject{{"name", feature.name},
                                  {"kind", feature.kind == FeatureKind::rank ? "rank" : "value"},
                                  {"depth", feature.depth}});
  JsonObject root;
  root["format"] = kFormat;
  root["version"] = kVersion;
  root["learner"] = model.learner;
  root["features"] = std::move(features);
  root["unranked"] = model.is_absent_zero ? "null" : "absent";
  root["body"] = model.ranker->body();
  if (model.relevance) root["relevance"] = to_json(*model.relevance);
  if (model.choice) root["choice"] = to_json(*model.choice);
  root["training"] = model.training;
  return to_pretty_text(root);
}

Result<Model> parse_model(std::string_view text, std::string_view name, const ReadRanker& read_body) {
  JsonLimits limits;
  limits.max_bytes = kMaxModelBytes;
  TRY(const auto document, parse_json(text, name, Code::bad_data, limits));
  const JsonObject* root = document.if_object();
  if (root == nullptr) return bad(name, "not a JSON object");
  const JsonMembers members(*root);
  TRY_VOID(check_header(members, name));
  Model model;
  TRY(auto features, read_features(*root, name));
  model.features = std::move(features);
  const auto* unranked = members.text("unranked");
  if (unranked == nullptr || (*unranked != "absent" && *unranked != "null"))
    return bad(name, "\"unranked\" must be \"absent\" or \"null\"");
  model.is_absent_zero = *unranked == "null";
  const auto* learner_name = members.text("learner");
  if (learner_name == nullptr) return bad(name, "\"learner\" must be a name");
  model.learner = *learner_name;
  const JsonObject* body = members.object("body");
  if (body == nullptr) return bad(name, "\"body\" must be an object");
  auto ranker = read_body(*body, model.features);
  if (!ranker) return fail(ranker.error().code, std::string(name) + ": " + ranker.error().text);
  model.ranker = std::move(*ranker);
  TRY(model.relevance, read_optional(*root, "relevance", name, read_relevance_curve));
  TRY(model.choice, read_optional(*root, "choice", name, [&](const JsonObject& object) {
        return read_list_choice(object, count_lists(model.features));
      }));
  if (const JsonObject* training = members.object("training")) model.training = *training;
  return model;
}

Result<Model> read_model(const std::string& path, const ReadRanker& read_body) {
  TRY(const auto text, read_text(path, kMaxModelBytes));
  return parse_model(text, path, read_body);
}

Result<void> write_model(const std::string& path, const Model& model) {
  return write_file(path, model_text(model));
}

Result<std::vector<std::size_t>> match_features(const Model& model, const std::vector<std::string>& names,
                                                bool may_be_missing) {
  std::vector<std::size_t> places;
  std::vector<std::string> missing;
  std::vector<std::string> unknown;
  for (const Feature& feature : model.features) {
    const auto at = std::find(names.begin(), names.end(), feature.name);
    places.push_back(at == names.end() ? kMissing : static_cast<std::size_t>(at - names.begin()));
    if (at == names.end()) missing.push_back(feature.name);
  }
  for (const std::string& name : names)
    if (std::none_of(model.features.begin(), model.features.end(),
                     [&](const Feature& feature) { return feature.name == name; }))
      unknown.push_back(name);
  if ((!missing.empty() && !may_be_missing) || !unknown.empty()) {
    std::string text = "the lists do not match the model:";
    if (!missing.empty()) text += " missing " + joined(missing);
    if (!unknown.empty())
      text += std::string(missing.empty() ? "" : ";") + " not in the model " + joined(unknown);
    return fail(Code::bad_data, text + "; give the lists that the model was trained on");
  }
  return places;
}

}  // namespace metafuse::fusion
