#include "core/yaml_reader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "core/number.h"
#include "core/text.h"
#include "core/text_file.h"

namespace metafuse {
namespace {

Place place_of_node(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {static_cast<std::size_t>(mark.line) + 1, static_cast<std::size_t>(mark.column) + 1};
}

/// Copies yaml-cpp's node graph into a YamlNode tree and enforces the limits.
class Copier {
 public:
  Copier(const YamlLimits& limits, Diagnostics& diagnostics) : limits_(limits), diagnostics_(diagnostics) {}

  YamlNode copy(const YAML::Node& node, std::size_t depth) {
    YamlNode out;
    out.place = place_of_node(node.Mark());
    if (exhausted_) return out;
    if (++nodes_ > limits_.max_nodes)
      return exhaust(out, "more than " + std::to_string(limits_.max_nodes) +
                              " values (aliases count each time they are used)");
    if (depth > limits_.max_depth)
      return exhaust(out, "nested deeper than " + std::to_string(limits_.max_depth) + " levels");
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        bytes_ += node.Scalar().size();
        if (bytes_ / kCopiesOfBytes > limits_.max_bytes)
          return exhaust(out, "more than " + std::to_string(limits_.max_bytes * kCopiesOfBytes) +
                                  " bytes of text (aliases count each time they are used)");
        copy_scalar(node, out);
        break;
      case YAML::NodeType::Sequence:
        out.kind = YamlNode::Kind::list;
        for (const YAML::Node& item : node) {
          out.items.push_back(copy(item, depth + 1));
          if (exhausted_) break;
        }
        break;
      case YAML::NodeType::Map:
        copy_map(node, out, depth);
        break;
      case YAML::NodeType::Null:
      case YAML::NodeType::Undefined:
        break;
    }
    return out;
  }

 private:
  YamlNode exhaust(YamlNode out, const std::string& why) {
    diagnostics_.error(out.place, why);
    exhausted_ = true;
    return out;
  }

  static void copy_scalar(const YAML::Node& node, YamlNode& out) {
    out.kind = YamlNode::Kind::scalar;
    out.text = node.Scalar();
    out.is_quoted = node.Tag() == "!";
  }

  void copy_map(const YAML::Node& node, YamlNode& out, std::size_t depth) {
    out.kind = YamlNode::Kind::map;
    struct Seen {
      Place first;
      std::size_t entry = 0;  ///< of the last of equal keys
    };
    std::map<std::string, Seen> seen;
    std::vector<bool> is_replaced;
    for (const auto& entry : node) {
      YamlNode key = copy(entry.first, depth + 1);
      YamlNode value = copy(entry.second, depth + 1);
      if (exhausted_) return;
      if (!key.is_scalar()) {
        diagnostics_.error(key.place, "a key must be a plain word");
        continue;
      }
      const auto [at, is_new] = seen.try_emplace(key.text, Seen{key.place, 0});
      if (!is_new && limits_.may_repeat_keys)
        is_replaced[at->second.entry] = true;
      else if (!is_new)
        diagnostics_.error(key.place, "the key \"" + key.text + "\" occurs twice (first in line " +
                                          std::to_string(at->second.first.line) + "); keep one");
      at->second.entry = out.entries.size();
      out.entries.emplace_back(std::move(key), std::move(value));
      is_replaced.push_back(false);
    }
    std::size_t entry = 0;
    std::erase_if(out.entries, [&](const YamlEntry&) { return is_replaced[entry++]; });
  }

  /// How many times the bytes that a text may have its values may have, once aliases are resolved.
  static constexpr std::size_t kCopiesOfBytes = 4;

  const YamlLimits& limits_;
  Diagnostics& diagnostics_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
  bool exhausted_ = false;
};

/// Thrown to stop yaml-cpp's parser when the deadline has passed.
struct OutOfTime {};

/// Records where documents begin and where an alias stands inside the value that it repeats, and enforces the
/// deadline: only this event-based pass can be interrupted.
/// The second pass, which builds the tree, takes about as long.
class DocumentStarts final : public YAML::EventHandler {
 public:
  explicit DocumentStarts(const Deadline* deadline) : deadline_(deadline) {}
  std::vector<Place> places;
  std::optional<Place> loop;

  void OnDocumentStart(const YAML::Mark& mark) override { places.push_back(place_of_node(mark)); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override { check_time(); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check_time();
    if (!loop && open_.contains(anchor)) loop = place_of_node(mark);
  }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {
    check_time();
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  void begin(YAML::anchor_t anchor) {
    check_time();
    levels_.push_back(anchor);
    if (anchor != YAML::NullAnchor) open_.insert(anchor);
  }
  void end() {
    open_.erase(levels_.back());
    levels_.pop_back();
  }
  void check_time() const {
    if (deadline_ != nullptr && deadline_->has_passed()) throw OutOfTime();
  }
  const Deadline* deadline_;
  std::vector<YAML::anchor_t> levels_;  ///< of the values that have begun, outermost first
  std::set<YAML::anchor_t> open_;       ///< those of them that have an anchor
};

/// Reports a second document, and a loop. YAML::LoadAll must not be used: it reads a document that begins
/// with a comma as endlessly many, until memory runs out.
void check_document(std::string_view text, const Deadline* deadline, Diagnostics& diagnostics) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  DocumentStarts starts(deadline);
  if (!parser.HandleNextDocument(starts)) return;
  if (starts.loop)
    diagnostics.error(*starts.loop, "an alias inside the value that it repeats, a loop; write the value out");
  else if (parser.HandleNextDocument(starts))
    diagnostics.error(starts.places.size() > 1 ? starts.places[1] : Place{},
                      "a second YAML document or a misplaced character; keep one document per file");
}

std::string shown(double number) {
  std::ostringstream out;
  out << number;
  return out.str();
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const auto& entry : entries)
    if (entry.first.text == key) return &entry.second;
  return nullptr;
}

Result<YamlNode> parse_yaml(std::string_view text, std::string_view name, const YamlLimits& limits) {
  Diagnostics diagnostics{std::string(name)};
  if (text.size() > limits.max_bytes)
    return fail(Code::bad_config, std::string(name) + ": larger than " + std::to_string(limits.max_bytes) +
                                      " bytes; leave out what is not used, or split it into several files");
  if (const std::size_t bad = first_invalid_utf8(text); bad != std::string_view::npos) {
    const auto line = static_cast<std::size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n'));
    return fail(Code::bad_config, located(name, {line + 1, 0}, "not valid UTF-8; save the file as UTF-8"));
  }
  YamlNode root;
  try {
    check_document(text, limits.deadline, diagnostics);
    if (diagnostics.has_errors()) return diagnostics.to_error(Code::bad_config);
    root = Copier(limits, diagnostics).copy(YAML::Load(std::string(text)), 0);
  } catch (const OutOfTime&) {
    return fail(Code::bad_config, std::string(name) + ": takes too long to read; make it shorter");
  } catch (const YAML::DeepRecursion& error) {  // whose own message is "bad file"
    diagnostics.error(place_of_node(error.mark),
                      "nested deeper than " + std::to_string(limits.max_depth) + " levels");
  } catch (const YAML::Exception& error) {
    diagnostics.error(place_of_node(error.mark), "not valid YAML: " + error.msg);
  }
  if (diagnostics.has_errors()) return diagnostics.to_error(Code::bad_config);
  return root;
}

Result<std::string> read_config_text(const std::string& path, std::size_t max_bytes) {
  auto text = read_text(path, max_bytes);
  if (!text && text.error().code == Code::bad_data) return fail(Code::bad_config, text.error().text);
  return text;
}

Result<YamlNode> read_yaml(const std::string& path, const YamlLimits& limits) {
  TRY(const auto text, read_config_text(path, limits.max_bytes));
  return parse_yaml(text, path, limits);
}

YamlMap::YamlMap(const YamlNode& node, std::string_view what, Diagnostics& diagnostics)
    : node_(&node), what_(what), diagnostics_(&diagnostics) {
  if (!node.is_map()) diagnostics.error(node.place, what_ + " must be a map of keys and values");
}

const YamlNode* YamlMap::take(std::string_view key) {
  if (std::find(taken_.begin(), taken_.end(), key) == taken_.end()) taken_.emplace_back(key);
  return node_->find(key);
}

const YamlNode* YamlMap::take_required(std::string_view key) {
  const YamlNode* value = take(key);
  if (value == nullptr && node_->is_map())
    diagnostics_->error(node_->place, what_ + " lacks the key \"" + std::string(key) + "\"");
  return value;
}

std::optional<std::string> yaml_string(const YamlNode& node, std::string_view what,
                                       Diagnostics& diagnostics) {
  if (node.is_scalar()) return node.text;
  diagnostics.error(node.place, std::string(what) + " must be a string");
  return std::nullopt;
}

std::optional<std::string> YamlMap::take_string(std::string_view key) {
  const YamlNode* value = take(key);
  if (value == nullptr) return std::nullopt;
  return yaml_string(*value, key, *diagnostics_);
}

std::string YamlMap::take_required_string(std::string_view key) {
  const YamlNode* value = take_required(key);
  if (value == nullptr) return {};
  auto text = yaml_string(*value, key, *diagnostics_);
  if (text && text->empty()) diagnostics_->error(value->place, std::string(key) + " is empty");
  return text.value_or("");
}

std::optional<bool> as_bool(const YamlNode& node) {
  if (!node.is_scalar() || node.is_quoted) return std::nullopt;
  const std::string word = ascii_lower(node.text);
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
}

std::optional<bool> YamlMap::take_bool(std::string_view key) {
  const YamlNode* value = take(key);
  if (value == nullptr) return std::nullopt;
  const auto is_true = as_bool(*value);
  if (!is_true) diagnostics_->error(value->place, std::string(key) + " must be true or false");
  return is_true;
}

std::optional<double> YamlMap::take_number(std::string_view key, double low, double high) {
  const YamlNode* value = take(key);
  if (value == nullptr) return std::nullopt;
  double number = 0.0;
  if (value->is_scalar() && !value->is_quoted && to_double(value->text, number) && number >= low &&
      number <= high && std::isfinite(number))
    return number;
  diagnostics_->error(value->place,
                      std::string(key) + " must be a number from " + shown(low) + " to " + shown(high));
  return std::nullopt;
}

std::optional<long long> YamlMap::take_integer(std::string_view key, long long low, long long high) {
  const YamlNode* value = take(key);
  if (value == nullptr) return std::nullopt;
  std::int64_t number = 0;
  if (value->is_scalar() && !value->is_quoted && to_integer(value->text, number) && number >= low &&
      number <= high)
    return number;
  diagnostics_->error(value->place, std::string(key) + " must be a whole number from " + std::to_string(low) +
                                        " to " + std::to_string(high));
  return std::nullopt;
}

std::optional<std::vector<std::string>> YamlMap::take_strings(std::string_view key) {
  const YamlNode* value = take(key);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> out;
  if (value->is_scalar()) return std::vector<std::string>{value->text};
  if (!value->is_list()) {
    diagnostics_->error(value->place, std::string(key) + " must be a list of strings");
    return std::nullopt;
  }
  for (const YamlNode& item : value->items)
    if (auto text = yaml_string(item, key, *diagnostics_)) out.push_back(std::move(*text));
  return out;
}

std::vector<std::pair<std::string, std::string>> YamlMap::take_string_map(std::string_view key) {
  std::vector<std::pair<std::string, std::string>> out;
  const YamlNode* value = take(key);
  if (value == nullptr) return out;
  if (!value->is_map()) {
    diagnostics_->error(value->place, std::string(key) + " must be a map of strings");
    return out;
  }
  for (const auto& [name, item] : value->entries)
    if (auto text = yaml_string(item, key, *diagnostics_)) out.emplace_back(name.text, std::move(*text));
  return out;
}

void YamlMap::finish(const std::vector<std::string>& known) {
  const auto contains = [](const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  for (const auto& [key, value] : node_->entries) {
    if (contains(taken_, key.text)) continue;
    if (contains(known, key.text)) {
      diagnostics_->warning(key.place, "the key \"" + key.text + "\" has no effect here");
      continue;
    }
    // Comparing names takes time. An error beyond the last that is kept only says that there are more.
    if (diagnostics_->is_full()) return diagnostics_->error(key.place, "unknown keys");
    const std::string help = near_names(key.text, taken_).empty()
                                 ? fmt::format("; known keys are {}", fmt::join(taken_, ", "))
                                 : did_you_mean(key.text, taken_) + "?";
    diagnostics_->error(key.place, fmt::format("unknown key \"{}\" in {}{}", key.text, what_, help));
  }
}

}  // namespace metafuse
