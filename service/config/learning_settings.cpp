#include "service/config/settings.h"

// Reads the configuration's `learning:`, how models are trained from feedback.

namespace metafuse::service {
namespace {

constexpr Setting<LearningConfig> kLearning[] = {
    {"retrain_hours", &LearningConfig::retrain_hours, 0, 24 * 365,
     "hours between trainings; 0 trains only on command"},
    {"retrain_on_change", &LearningConfig::is_trained_on_change, 0, 0,
     "train within seconds after judgments or clicks"},
    {"automatic_promotion", &LearningConfig::is_promotion_automatic, 0, 0,
     "a challenger becomes the champion if it is better on held-out judgments or, while these are few, if "
     "cross-validation does not show it to be worse"},
    {"judged_first", &LearningConfig::are_judged_first, 0, 0,
     "whether a judged query shows highly graded results first and those of grade 0 last"},
    {"judge_model", &LearningConfig::judge_model, 0, 0,
     "a language model whose judgments (`metafuse judge`) are learned from, too; by default only people's "
     "are"},
    {"judge_weight", &LearningConfig::judge_weight, 0.001, 10,
     "what a query that only the model judged counts, in relation to one that people judged"},
    {"judge_only", &LearningConfig::is_judge_only, 0, 0,
     "whether only the model's judgments are learned from, and people's kept for measuring"},
    {"judge_calibrated", &LearningConfig::is_judge_calibrated, 0, 0,
     "whether the model's grades are read as their comparison with people's grades says"},
    {"other_domains", &LearningConfig::is_started_from_others, 0, 0,
     "whether what other domains have learned serves a domain without a model, and is what training starts "
     "from"},
    {"interleave_share", &LearningConfig::interleave_share, 0, 1,
     "share of searches that compare champion and challenger"},
    {"click_half_life_days", &LearningConfig::click_half_life_days, 0.01, 3650,
     "age in days at which a click counts half"},
    {"clicks_per_address", &LearningConfig::clicks_per_address, 0, 1e9,
     "weight of clicks that counts per day from one address prefix"},
    {"clicks_per_key", &LearningConfig::clicks_per_key, 0, 1e9,
     "weight of clicks that counts per day from one API key"},
    {"online_reranker", &LearningConfig::has_online_reranker, 0, 0,
     "whether feedback changes the order at once"},
};

}  // namespace

void read_learning(const YamlNode& node, const char* key, ConfigReading& reading) {
  LearningConfig& out = reading.config.learning;
  YamlMap map(node, key, reading.diagnostics);
  read_settings(map, kLearning, out, reading);
  map.finish();
  const bool has_weight = out.judge_weight != LearningConfig{}.judge_weight;
  if (out.judge_model.empty() && (has_weight || out.is_judge_only || out.is_judge_calibrated))
    reading.diagnostics.error(node.place,
                              "learning: judge_weight, judge_only and judge_calibrated need the model's "
                              "name; add `judge_model: NAME`");
}

void describe_learning(std::string& out) {
  describe_settings(out, "learning.", kLearning);
}

}  // namespace metafuse::service
