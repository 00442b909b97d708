// Reads `engine: mongodb`: a pipeline written in the definition, or one built for one of four ways to search.

#include "fetchers/databases/mongo_pipeline.h"
#include "fetchers/definition/engine_types.h"

namespace metafuse::fetchers {
namespace {

Json stage(std::string_view name, Json body) {
  JsonObject out;
  out.emplace(name, std::move(body));
  return out;
}

/// Appends the stages that store the relevance as the field `score` and select the window.
void end_pipeline(JsonArray& stages, std::string_view score, bool is_sorted) {
  if (!score.empty()) stages.push_back(stage("$addFields", {{"score", {{"$meta", score}}}}));
  if (is_sorted) stages.push_back(stage("$sort", {{"score", -1}, {"_id", 1}}));
  stages.push_back(stage("$skip", "{offset}"));
  stages.push_back(stage("$limit", "{limit}"));
}

JsonObject take_filter(EngineBlock& block) {
  const YamlNode* node = block.map.take("filter");
  if (node == nullptr) return {};
  const Json filter = json_of(*node);
  if (const auto* object = filter.if_object()) return *object;
  block.error_at("filter", "filter must be a map, as for find()");
  return {};
}

/// source: MongoDB's manual, "$text": the first stage, on a collection with a text index
JsonArray text_pipeline(EngineBlock& block) {
  JsonObject match = take_filter(block);
  JsonObject words{{"$search", "{query}"}};
  if (const auto language = block.map.take_string("language")) words["$language"] = *language;
  match["$text"] = words;
  JsonArray stages{stage("$match", match)};
  end_pipeline(stages, "textScore", true);
  return stages;
}

/// As SearXNG searches: documents whose field equals the query, or contains it.
JsonArray field_pipeline(EngineBlock& block) {
  JsonObject match = take_filter(block);
  const std::string key = block.map.take_required_string("key");
  const bool is_exact = block.map.take_bool("exact_match_only").value_or(true);
  match[key] = is_exact ? Json("{query}") : Json{{"$regex", "{query}"}, {"$options", "i"}};
  JsonArray stages{stage("$match", match)};
  end_pipeline(stages, "", false);
  return stages;
}

/// source: Atlas' manual, "$vectorSearch"
JsonArray vector_pipeline(EngineBlock& block) {
  const std::string field = block.text("vector_field", "embedding");
  JsonObject search{{"index", block.text("index", "vector_index")},
                    {"path", field},
                    {"queryVector", "{vector}"},
                    {"numCandidates", block.map.take_integer("num_candidates", 1, 10000).value_or(300)},
                    {"limit", "{end}"}};
  if (JsonObject filter = take_filter(block); !filter.empty()) search["filter"] = std::move(filter);
  JsonArray stages{stage("$vectorSearch", search)};
  end_pipeline(stages, "vectorSearchScore", false);
  stages.push_back(stage("$unset", Json(field)));
  return stages;
}

/// source: Atlas' manual, "$search", the operator `text`
JsonArray atlas_pipeline(EngineBlock& block) {
  const auto path = block.map.take_strings("search_fields");
  const Json where = path ? Json(JsonArray(path->begin(), path->end())) : JsonObject{{"wildcard", "*"}};
  JsonArray stages{stage("$search", {{"index", block.text("index", "default")},
                                     {"text", {{"query", "{query}"}, {"path", where}}}})};
  if (JsonObject filter = take_filter(block); !filter.empty())
    stages.push_back(stage("$match", std::move(filter)));
  end_pipeline(stages, "searchScore", false);
  return stages;
}

JsonArray made_pipeline(EngineBlock& block) {
  const std::string way = block.text("search", block.map.take("key") != nullptr ? "field" : "text");
  if (way == "field") return field_pipeline(block);
  if (way == "vector") return vector_pipeline(block);
  if (way == "atlas") return atlas_pipeline(block);
  if (way != "text") block.error_at("search", "search must be one of text, field, vector, atlas");
  return text_pipeline(block);
}

Json take_pipeline(EngineBlock& block) {
  const YamlNode* own = block.map.take("pipeline");
  if (own == nullptr) return made_pipeline(block);
  if (block.map.take("search") != nullptr)
    block.error_at("search", "search and pipeline exclude each other; keep one");
  Json pipeline = json_of(*own);
  if (const auto checked = check_pipeline(pipeline); !checked)
    block.error_at("pipeline", "pipeline: " + checked.error().text);
  return pipeline;
}

}  // namespace

void read_mongodb(EngineBlock& block) {
  auto& access = block.engine.access.emplace<DatabaseAccess>();
  access.server = DatabaseAccess::Server::mongodb;
  access.host = "127.0.0.1";
  block.take("connection", access.connection);
  take_server(block, access);
  access.database = block.map.take_required_string("database");
  access.collection = block.map.take_required_string("collection");
  block.take("url_format", access.url_format);
  if (const YamlNode* node = block.map.take("columns")) {
    YamlMap map(*node, "columns", block.diagnostics);
    for (const char* column : {"url", "title", "content", "published", "language", "score"})
      if (auto path = map.take_string(column)) access.columns.emplace_back(column, std::move(*path));
    map.finish();
  }
  block.map.take("results_per_page");  // a SearXNG key without effect: the depth limits the results
  access.statement = to_text(take_pipeline(block));
}

}  // namespace metafuse::fetchers
