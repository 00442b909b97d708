#include "fetchers/engines/index/index_readers.h"

#include <cmath>

#include "core/number.h"
#include "fetchers/engines/index/analysis.h"
#include "fetchers/engines/index/local_engine.h"

namespace metafuse::fetchers {

namespace {

/// expand: {documents: 10, terms: 20, weight: .4}
void read_expansion(EngineBlock& block, LocalAccess& access) {
  const YamlNode* node = block.map.take("expand");
  if (node == nullptr) return;
  Expansion& expansion = access.expansion.emplace();
  for (const auto& [key, text] : block.map.take_string_map("expand")) {
    double value = 0;
    const bool is_number = to_double(text, value);
    const bool is_whole = is_number && value >= 1 && value <= 100 && value == std::floor(value);
    const auto& place = node->find(key)->place;
    if (key == "weight" && is_number && value > 0 && value <= 10)
      expansion.weight = value;
    else if (key == "documents" && is_whole)
      expansion.documents = static_cast<std::size_t>(value);
    else if (key == "terms" && is_whole)
      expansion.terms = static_cast<std::size_t>(value);
    else if (key == "documents" || key == "terms")
      block.diagnostics.error(place, "expand's " + key + " must be a whole number from 1 to 100");
    else if (key == "weight")
      block.diagnostics.error(place, "expand's weight must be a number above 0, up to 10");
    else
      block.diagnostics.error(place, "expand has no key \"" + key + "\"; it has documents, terms and weight");
  }
}

}  // namespace

void read_local(EngineBlock& block) {
  auto& access = block.engine.access.emplace<LocalAccess>();
  access.database = block.required_path("database");
  block.take("order_by", access.order_by);
  block.take("tokenizer", access.tokenizer);
  if (!access.tokenizer.empty() && !word_kind_of(access.tokenizer))
    block.error_at("tokenizer", "tokenizer must be words, stems or parts");
  std::string weighting = "bm25";
  block.take("weighting", weighting);
  if (weighting != "bm25" && weighting != "ineb2")
    block.error_at("weighting", "weighting must be bm25 or ineb2");
  access.weighting = weighting == "ineb2" ? Weighting::ineb2 : Weighting::bm25;
  read_expansion(block, access);
  const YamlNode* node = block.map.take("weights");
  for (const auto& [column, text] : block.map.take_string_map("weights")) {
    double weight = 0;
    if (to_double(text, weight) && weight >= 0 && weight <= 1e6)
      access.weights.emplace_back(column, weight);
    else
      block.diagnostics.error(node->find(column)->place,
                              "the weight of " + column + " must be a number from 0 to 1e6");
  }
  if (const auto unknown = find_unknown_name(access)) block.error_at(unknown->key, unknown->text);
}

void read_local_cosine(EngineBlock& block) {
  block.engine.access = CosineAccess{block.required_path("database")};
}

void read_local_vector(EngineBlock& block) {
  auto& access = block.engine.access.emplace<VectorAccess>();
  access.database = block.required_path("database");
  block.take("min_score", access.min_score, -1, 1);
}

}  // namespace metafuse::fetchers
