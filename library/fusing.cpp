// Options and results that all kinds of fusing share; see fusing.h.
#include "library/fusing.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/near_names.h"
#include "core/number.h"

namespace metafuse::library {
namespace {

Result<std::vector<double>> weights_of(const std::string& text) {
  std::vector<double> weights;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    double weight = 0.0;
    if (!to_double(std::string_view(text).substr(at, end - at), weight))
      return fail(Code::usage, fmt::format("weights {}: give numbers separated by commas", text));
    weights.push_back(weight);
    at = end + 1;
  }
  return weights;
}

}  // namespace

using evaluation::RunTopic;
using fusion::FusionMethod;
using fusion::FusionOptions;
using fusion::QueryLists;

void declare_limit(fusion::OptionTable& table, FuseSettings& settings) {
  table.count("limit", settings.limit, 0, 1U << 31, "documents in the result, 0 for all");
}

void declare_method(fusion::OptionTable& table, FuseSettings& settings) {
  table.number_or_none("k", settings.method.k, 0.0, 1e9, "the method's parameter", "the method's");
  table.custom({"normalise", "NAME", "the method's", "how scores are made comparable"},
               [&settings](const std::string& given) -> Result<void> {
                 settings.method.normalise = fusion::normalisation_of(given);
                 if (settings.method.normalise) return {};
                 return fusion::refused_option("normalise", given, fusion::normalisation_names());
               });
  table.custom({"weights", "W,...", "1", "a weight for each list"},
               [&settings](const std::string& given) -> Result<void> {
                 TRY(settings.method.weights, weights_of(given));
                 return {};
               });
}

void declare_output(fusion::OptionTable& table, FuseSettings& settings) {
  table.count("threads", settings.threads, 1, 1024, "threads to use");
  table.custom({"tag", "NAME", "metafuse", "the name of the result"},
               [&settings](const std::string& given) -> Result<void> {
                 settings.tag = given;
                 return {};
               });
}

Result<FuseSettings> read_settings(const metafuse_option* options, std::size_t count,
                                   std::initializer_list<DeclareSettings> declared) {
  FuseSettings settings;
  fusion::OptionTable table;
  for (const DeclareSettings declare : declared) declare(table, settings);
  TRY(const auto given, options_of(options, count));
  TRY_VOID(read_options(table, given));
  return settings;
}

Result<const FusionMethod*> method_named(const char* name) {
  TRY_VOID(check_given(name, "method"));
  const FusionMethod* const method = fusion::find_fusion_method(name);
  if (method != nullptr) return method;
  std::vector<std::string> names;
  for (const FusionMethod& row : fusion::fusion_methods()) names.push_back(row.name);
  return fail(Code::usage, fmt::format("no method \"{}\"{}", name, did_you_mean(name, names)));
}

Result<void> check_scores(const FusionMethod& method, const FusionOptions& options, bool has_scores,
                          std::string_view list) {
  using fusion::Normalisation;
  const Normalisation normalise = options.normalise.value_or(method.default_normalise);
  if (has_scores || !method.uses_scores || normalise == Normalisation::rank ||
      normalise == Normalisation::borda)
    return {};
  return fail(Code::usage, fmt::format("the method {} needs scores, and \"{}\" has none; give every document "
                                       "a score, or use a method based on ranks",
                                       method.name, list));
}

RunTopic fused_topic(std::string_view topic, const QueryLists& query, const std::vector<double>& scores,
                     const std::vector<std::uint32_t>& order, std::size_t limit) {
  RunTopic out{topic, {}};
  const std::size_t count = limit > 0 ? std::min(limit, order.size()) : order.size();
  for (std::size_t i = 0; i < count; ++i)
    out.entries.push_back({query.documents[order[i]], scores[order[i]]});
  return out;
}

metafuse_run* owned_run(const std::string& name, std::vector<RunTopic> topics) {
  auto run = std::make_unique<metafuse_run>();
  run->run.name = name;
  for (RunTopic& topic : topics) {
    topic.topic = run->texts.keep(topic.topic);
    for (evaluation::RunEntry& entry : topic.entries) entry.document = run->texts.keep(entry.document);
    run->queries.insert(topic.topic);
  }
  run->run.topics = std::move(topics);
  return run.release();
}

}  // namespace metafuse::library
