#include "fetchers/databases/mongo_pipeline.h"

#include <algorithm>
#include <array>

namespace metafuse::fetchers {
namespace {

/// Stages and operators that write, or that run code contained in the pipeline.
constexpr std::array<std::string_view, 5> kRefusedKeys = {"$out", "$merge", "$where", "$function",
                                                          "$accumulator"};
/// Below these keys a text is a plain text; elsewhere in a pipeline, a text that begins with $ names a field.
constexpr std::array<std::string_view, 5> kQueryKeys = {"$match", "$search", "$searchMeta", "$vectorSearch",
                                                        "$geoNear"};

template <std::size_t n>
bool is_among(const std::array<std::string_view, n>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Whether any text inside the value contains the mark.
bool has_mark(const Json& value, std::string_view mark) {
  if (const auto* text = value.if_string())
    return std::string_view(*text).find(mark) != std::string_view::npos;
  if (const auto* list = value.if_array())
    return std::any_of(list->begin(), list->end(), [&](const Json& one) { return has_mark(one, mark); });
  const auto* object = value.if_object();
  return object != nullptr && std::any_of(object->begin(), object->end(),
                                          [&](const auto& member) { return has_mark(member.value(), mark); });
}

/// The first refused key; empty if there is none.
std::string_view refused_key(const Json& value) {
  if (const auto* list = value.if_array()) {
    for (const Json& one : *list)
      if (const std::string_view key = refused_key(one); !key.empty()) return key;
    return {};
  }
  const auto* object = value.if_object();
  if (object == nullptr) return {};
  for (const auto& member : *object) {
    if (is_among(kRefusedKeys, member.key())) return member.key();
    if (const std::string_view key = refused_key(member.value()); !key.empty()) return key;
  }
  return {};
}

/// A regular expression that matches exactly this text.
std::string regex_of(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}-/#").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

class Filler {
 public:
  explicit Filler(const SqlWindow& window) : window_(window) {}

  /// in:     is_query - texts are plain texts here; is_regex - they are also regular expressions
  Json filled(const Json& value, bool is_query, bool is_regex) const {
    if (const auto* text = value.if_string()) return filled_text(*text, is_query, is_regex);
    if (const auto* list = value.if_array()) {
      JsonArray out;
      for (const Json& one : *list) out.push_back(filled(one, is_query, is_regex));
      return out;
    }
    const auto* object = value.if_object();
    if (object == nullptr) return value;
    JsonObject out;
    for (const auto& member : *object) {
      const std::string_view key = member.key();
      const bool inner = key != "$expr" && (is_query || is_among(kQueryKeys, key));
      out.emplace(key, filled(member.value(), inner, key == "$regex" || (!inner && key == "regex")));
    }
    return out;
  }

 private:
  Json filled_text(std::string_view text, bool is_query, bool is_regex) const {
    if (text == "{limit}") return window_.depth;
    if (text == "{offset}") return window_.offset;
    if (text == "{end}") return window_.offset + window_.depth;
    if (text == "{vector}") {
      auto vector = parse_json(window_.vector, "vector");
      return vector ? std::move(*vector) : Json(JsonArray());
    }
    std::size_t at = text.find(kQueryMark);
    if (at == std::string_view::npos) return Json(text);
    const std::string query = is_regex ? regex_of(window_.query) : std::string(window_.query);
    std::string out;
    for (; at != std::string_view::npos; at = text.find(kQueryMark)) {
      out.append(text.substr(0, at)).append(query);
      text.remove_prefix(at + kQueryMark.size());
    }
    out += text;
    if (is_query) return Json(out);
    return JsonObject{{"$literal", out}};
  }

  static constexpr std::string_view kQueryMark = "{query}";

  const SqlWindow& window_;
};

}  // namespace

Result<void> check_pipeline(const Json& pipeline) {
  const auto* stages = pipeline.if_array();
  const bool is_list =
      stages != nullptr && !stages->empty() &&
      std::all_of(stages->begin(), stages->end(), [](const Json& stage) {
        const auto* object = stage.if_object();
        return object != nullptr && object->size() == 1 && object->begin()->key().starts_with('$');
      });
  if (!is_list) return fail(Code::bad_config, "must be a list of stages, each with one key such as $match");
  if (const std::string_view key = refused_key(pipeline); !key.empty())
    return fail(Code::bad_config,
                std::string(key) + " writes data or runs code on the server, which a search must not do");
  if (!has_mark(pipeline, "{query}") && !has_mark(pipeline, "{vector}"))
    return fail(Code::bad_config, "must contain \"{query}\" or \"{vector}\"");
  return {};
}

Json filled_pipeline(const Json& pipeline, const SqlWindow& window) {
  return Filler(window).filled(pipeline, false, false);
}

bool pipeline_skips(const Json& pipeline) {
  return has_mark(pipeline, "{offset}");
}

}  // namespace metafuse::fetchers
