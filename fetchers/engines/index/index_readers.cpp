#include "fetchers/engines/index/index_readers.h"

#include "core/number.h"

namespace metafuse::fetchers {

void read_local(EngineBlock& block) {
  auto& access = block.engine.access.emplace<LocalAccess>();
  access.database = block.required_path("database");
  block.take("order_by", access.order_by);
  block.take("tokenizer", access.tokenizer);
  const std::string& name = access.tokenizer;
  if (!name.empty() && name != "unicode61" && name != "porter" && name != "trigram")
    block.error_at("tokenizer", "tokenizer must be unicode61, porter or trigram");
  const YamlNode* node = block.map.take("weights");
  for (const auto& [column, text] : block.map.take_string_map("weights")) {
    double weight = 0;
    if (to_double(text, weight) && weight >= 0 && weight <= 1e6)
      access.weights.emplace_back(column, weight);
    else
      block.diagnostics.error(node->find(column)->place,
                              "the weight of " + column + " must be a number from 0 to 1e6");
  }
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
