#include "fetchers/definition/definition_edit.h"

#include <algorithm>
#include <vector>

#include "core/json.h"
#include "core/text.h"
#include "core/yaml_reader.h"
#include "fetchers/definition/block_edit.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/health/repair.h"

namespace metafuse::fetchers {
namespace {

Error by_hand(const std::string& name, const std::string& why) {
  return fail(Code::bad_config, name + ": " + why + "; write the lines above into the definition by hand");
}

std::vector<std::string> file_lines(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) out.emplace_back(take_until(text, '\n'));
  return out;
}

/// The last line of a node, counted from 1.
std::size_t last_line(const YamlNode& node) {
  std::size_t line = static_cast<std::size_t>(node.place.line);
  for (const YamlNode& item : node.items) line = std::max(line, last_line(item));
  for (const YamlEntry& entry : node.entries) line = std::max(line, last_line(entry.second));
  return line;
}

/// Edits the lines of one block; lines keep their numbers until the text is joined.
class BlockLines {
 public:
  BlockLines(std::vector<std::string> lines, const YamlNode& block)
      : lines_(std::move(lines)), block_(block) {
    indent_ = static_cast<std::size_t>(block.entries.front().first.place.column) - 1;
  }

  void set(const std::string& key, const std::string& value) {
    const std::string line =
        value.empty() ? "" : std::string(indent_, ' ') + key + ": " + to_text(Json(value));
    for (const YamlEntry& entry : block_.entries) {
      if (entry.first.text != key) continue;
      const auto first = static_cast<std::size_t>(entry.first.place.line);
      const std::string head = first == static_cast<std::size_t>(block_.entries.front().first.place.line)
                                   ? lines_[first - 1].substr(0, indent_)
                                   : std::string();
      for (std::size_t at = first; at <= last_line(entry.second) && at <= lines_.size(); ++at)
        removed_.push_back(at);
      replaced_.emplace_back(first, head.empty() ? line : head + std::string(ascii_trimmed(line)));
      return;
    }
    if (!line.empty()) replaced_.emplace_back(last_line(block_), line);
  }

  std::string text() const {
    std::string out;
    for (std::size_t at = 1; at <= lines_.size(); ++at) {
      if (std::find(removed_.begin(), removed_.end(), at) == removed_.end()) out += lines_[at - 1] + '\n';
      for (const auto& [line, text] : replaced_)
        if (line == at && !text.empty()) out += text + '\n';
    }
    return out;
  }

 private:
  std::vector<std::string> lines_;
  const YamlNode& block_;
  std::size_t indent_ = 0;
  std::vector<std::size_t> removed_;
  std::vector<std::pair<std::size_t, std::string>> replaced_;  ///< line after which a text comes
};

const YamlNode* block_of(const YamlNode& root, const std::string& engine) {
  const YamlNode* list = root.find("engines");
  if (list == nullptr) return nullptr;
  for (const YamlNode& block : list->items)
    if (block.is_map() && text_below(block, "name") == engine) return &block;
  return nullptr;
}

}  // namespace

Result<std::string> with_repaired_rules(std::string_view text, const std::string& name, const Engine& engine,
                                        const AnswerRules& rules) {
  TRY(const auto root, parse_yaml(text, name, {.may_repeat_keys = true}));
  const YamlNode* block = block_of(root, engine.name);
  if (block == nullptr) return by_hand(name, "the block of " + engine.name + " was not found");
  const auto lines = file_lines(text);
  const auto first = static_cast<std::size_t>(block->entries.front().first.place.line);
  const auto is_on_one_line =
      block->entries.size() > 1 && static_cast<std::size_t>(block->entries[1].first.place.line) == first;
  if (is_on_one_line || first > lines.size()) return by_hand(name, "the block is written in braces");
  const auto* access = std::get_if<HttpAccess>(&engine.access);
  if (access == nullptr) return by_hand(name, "the engine is not asked over HTTP");
  BlockLines edited(lines, *block);
  for (const auto& [key, value] : changed_keys(access->answer, rules)) edited.set(key, value);
  std::string out = edited.text();
  const auto read = parse_engine_file(out, name);
  if (!read) return by_hand(name, "the edited file would not be valid (" + read.error().text + ")");
  const Engine* found = find_engine(read->engines, engine.name);
  const auto* now = found == nullptr ? nullptr : std::get_if<HttpAccess>(&found->access);
  if (now == nullptr || !changed_keys(now->answer, rules).empty())
    return by_hand(name, "the edited definition would not be read as proposed");
  return out;
}

}  // namespace metafuse::fetchers
