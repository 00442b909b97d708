#include <algorithm>
#include <filesystem>

#include "core/number.h"
#include "fetchers/definition/engine_types.h"

namespace metafuse::fetchers {
namespace {

std::string take_database(EngineBlock& block) {
  const std::string path = block.map.take_required_string("database");
  return path.empty() ? path : (std::filesystem::path(block.folder) / path).string();
}

void check_placeholders(EngineBlock& block, const CommandAccess& access, const YamlNode& node) {
  const auto& words = access.arguments;
  if (words.empty()) return block.diagnostics.error(node.place, "command is empty");
  if (words.front().empty() || words.front().front() != '/')
    block.diagnostics.error(node.place, "the program must be an absolute path, for example /usr/bin/locate");
  if (std::count(words.begin(), words.end(), "{{QUERY}}") == 0)
    block.diagnostics.error(node.place, "command lacks the argument \"{{QUERY}}\"");
  for (const std::string& word : words)
    if (word != "{{QUERY}}" && word.find("{{QUERY}}") != std::string::npos)
      block.diagnostics.error(node.place,
                              "\"{{QUERY}}\" must be an argument of its own, not a part of \"" + word + "\"");
}

}  // namespace

void read_local(EngineBlock& block) {
  LocalAccess access;
  access.database = take_database(block);
  const YamlNode* node = block.map.take("weights");
  for (const auto& [column, text] : block.map.take_string_map("weights")) {
    double weight = 0;
    if (to_double(text, weight) && weight >= 0 && weight <= 1e6)
      access.weights.emplace_back(column, weight);
    else
      block.diagnostics.error(node->find(column)->place,
                              "the weight of " + column + " must be a number from 0 to 1e6");
  }
  block.engine.access = std::move(access);
}

void read_sqlite(EngineBlock& block) {
  SqliteAccess access;
  access.database = take_database(block);
  access.statement = block.map.take_required_string("query_str");
  access.url_format = block.map.take_string("url_format").value_or("");
  block.map.take("limit");
  const YamlNode* node = block.map.take("query_str");
  const std::size_t first = access.statement.find_first_not_of(" \t\r\n");
  const bool is_select = first != std::string::npos && (access.statement.compare(first, 6, "SELECT") == 0 ||
                                                        access.statement.compare(first, 6, "select") == 0 ||
                                                        access.statement.compare(first, 4, "WITH") == 0 ||
                                                        access.statement.compare(first, 4, "with") == 0);
  if (node != nullptr && node->is_scalar()) {
    if (!is_select) block.diagnostics.error(node->place, "query_str must be a SELECT");
    if (access.statement.find(":query") == std::string::npos &&
        access.statement.find(":wildcard") == std::string::npos)
      block.diagnostics.error(node->place, "query_str lacks :query or :wildcard, where the query goes");
  }
  block.engine.access = std::move(access);
}

void read_command(EngineBlock& block) {
  CommandAccess access;
  if (const YamlNode* node = block.map.take_required("command")) {
    access.arguments = block.map.take_strings("command").value_or(std::vector<std::string>());
    check_placeholders(block, access, *node);
  }
  if (const YamlNode* node = block.map.take("delimiter")) {
    YamlMap map(*node, "delimiter", block.diagnostics);
    if (auto chars = map.take_string("chars")) access.delimiter = *chars;
    if (auto keys = map.take_strings("keys")) access.fields = *keys;
    map.finish();
    if (access.delimiter.empty()) block.diagnostics.error(node->place, "delimiter: chars is empty");
    if (std::find(access.fields.begin(), access.fields.end(), "url") == access.fields.end())
      block.diagnostics.error(node->place, "delimiter: keys lacks url");
  }
  access.url_prefix = block.map.take_string("url_prefix").value_or("");
  if (auto bytes = block.map.take_integer("max_output_bytes", 1, 64 << 20))
    access.max_bytes = static_cast<std::size_t>(*bytes);
  block.engine.access = std::move(access);
}

}  // namespace metafuse::fetchers
