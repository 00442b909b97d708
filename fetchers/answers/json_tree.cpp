#include "fetchers/answers/json_tree.h"

#include <algorithm>

#include "core/json.h"
#include "core/utf8.h"
#include "fetchers/answers/charset.h"
#include "fetchers/answers/json_repair.h"

namespace metafuse::fetchers::parsers {
namespace {

constexpr std::size_t kMostKept = std::size_t{256} << 10;

simdjson::dom::parser& scratch_parser() {
  static thread_local simdjson::dom::parser scratch;
  return scratch;
}

simdjson::simdjson_result<element> parse(std::string_view text) {
  return scratch_parser().parse(text.data(), text.size());
}

Result<element> parse_answer_text(std::string_view body, const AnswerContext& context) {
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return fail(Code::bad_data, "the answer is empty");
  auto root = parse(body);
  if (root.error() == simdjson::SUCCESS) return root.value_unsafe();
  const char* why = simdjson::error_message(root.error());
  const std::string text = as_utf8(body, charset_of(context.content_type)).value_or(to_valid_utf8(body));
  root = parse(text);
  if (root.error() != simdjson::SUCCESS)
    if (const auto repaired = repaired_json(text)) root = parse(*repaired);
  if (root.error() != simdjson::SUCCESS)
    return fail(Code::bad_data, std::string("the answer is no JSON: ") + why);
  return root.value_unsafe();
}

std::optional<std::size_t> index_of(std::string_view key) {
  const bool is_number = !key.empty() && key.size() <= 6 && (key == "0" || key.front() != '0') &&
                         std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return std::nullopt;
  std::size_t index = 0;
  for (const char c : key) index = index * 10 + static_cast<std::size_t>(c - '0');
  return index;
}

}  // namespace

KeyPath parse_key_path(std::string_view text) {
  KeyPath path;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('/'), text.size());
    const std::string_view key = text.substr(0, end);
    if (end > 0) path.keys.push_back({key, index_of(key)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!path.keys.empty() && path.keys.front().text == "$") {
    path.is_anchored = true;
    path.keys.erase(path.keys.begin());
  }
  return path;
}

std::optional<element> find_first(element value, const KeyPath& path) {
  std::optional<element> found;
  find(value, path, [&](element match) {
    found = match;
    return false;
  });
  return found;
}

std::optional<PartText> text_of(element value) {
  switch (value.type()) {
    case element_type::STRING:
      return PartText(std::string_view(value));
    case element_type::INT64:
      return PartText(std::to_string(int64_t(value)));
    case element_type::UINT64:
      return PartText(std::to_string(uint64_t(value)));
    case element_type::DOUBLE:
      return PartText(to_text(Json(double(value))));
    case element_type::BOOL:
      return PartText(std::string_view(bool(value) ? "true" : "false"));
    case element_type::ARRAY:
      for (const element item : simdjson::dom::array(value)) return text_of(item);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

JsonTree::JsonTree(std::string_view body, const AnswerContext& context)
    : root_(parse_answer_text(body, context)) {}

JsonTree::~JsonTree() {
  if (scratch_parser().capacity() > kMostKept) scratch_parser() = simdjson::dom::parser();
}

}  // namespace metafuse::fetchers::parsers
