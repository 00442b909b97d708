#include "fetchers/answers/json_tree.h"

#include <algorithm>

#include "core/json.h"
#include "core/text.h"
#include "fetchers/answers/answer_text.h"

namespace metafuse::fetchers {
namespace {

simdjson::dom::parser& scratch_parser() {
  static thread_local simdjson::dom::parser scratch;
  return scratch;
}

constexpr std::string_view kJsonBlanks = " \t\r\n";

bool is_json_begin(std::string_view text) {
  return text.starts_with('{') || text.starts_with('[');
}

std::string_view without_guard(std::string_view text) {
  for (const std::string_view guard : {")]}'", ")]}',", "while(1);", "for(;;);", "&&&START&&&", "{}&&"})
    if (text.starts_with(guard)) {
      text = ascii_trimmed(text.substr(guard.size()));
      if (text.starts_with(',')) text = ascii_trimmed(text.substr(1));
    }
  return text;
}

/// "name.of.function(...);" without the call.
std::string_view without_call(std::string_view text) {
  if (text.starts_with("/**/")) text = ascii_trimmed(text.substr(4));
  const std::size_t open = text.find('(');
  const std::string_view name = text.substr(0, std::min(open, text.size()));
  const bool is_name =
      open != std::string_view::npos && open < 200 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_$.[]\"' ").find(c) != std::string_view::npos;
      });
  if (!is_name || is_json_begin(name)) return text;
  const std::size_t close = text.rfind(')');
  return close == std::string_view::npos || close < open
             ? text
             : ascii_trimmed(text.substr(open + 1, close - open - 1));
}

/// "{...}\n{...}\n" as "[{...},{...}]"; nothing when it is no document a line.
std::optional<std::string> lines_as_array(std::string_view text) {
  std::string out;
  std::size_t lines = 0;
  while (!text.empty()) {
    const std::string_view line = ascii_trimmed(take_until(text, '\n'));
    if (line.empty()) continue;
    const bool is_document =
        (line.front() == '{' && line.back() == '}') || (line.front() == '[' && line.back() == ']');
    if (!is_document) return std::nullopt;
    out += lines++ == 0 ? "[" : ",";
    out += line;
  }
  if (lines < 2) return std::nullopt;
  return out + "]";
}

/// The lines `data: {...}` of server-sent events as an array of their documents; nothing when the text is no
/// stream of events. What is no JSON, such as "[DONE]" at the end, is left out.
std::optional<std::string> events_as_array(std::string_view text) {
  std::string out, data;
  const auto end_event = [&] {
    const bool is_document = !data.empty() && scratch_parser().parse(data).error() == simdjson::SUCCESS;
    if (is_document) out += (out.empty() ? "[" : ",") + data;
    data.clear();
  };
  while (!text.empty()) {
    std::string_view value = take_until(text, '\n');
    if (value.ends_with('\r')) value.remove_suffix(1);
    if (value.empty()) {
      end_event();
      continue;
    }
    const bool has_colon = value.find(':') != std::string_view::npos;
    const std::string_view field = take_until(value, ':');
    if (has_colon && field.empty()) continue;  // a comment
    if (field == "data") data += std::string(data.empty() ? "" : "\n") + std::string(value);
    if (field != "data" && field != "event" && field != "id" && field != "retry") return std::nullopt;
  }
  end_event();
  if (out.empty()) return std::nullopt;
  return out + "]";
}

/// True for the four digits of "\uD800" to "\uDBFF" (`first` 8 to b) or to "\uDFFF" (c to f).
bool is_surrogate(std::string_view escape, std::string_view second_digits) {
  return escape.size() >= 6 && escape.starts_with("\\u") && (escape[2] | 0x20) == 'd' &&
         second_digits.find(static_cast<char>(escape[3] | 0x20)) != std::string_view::npos;
}

/// Halves of a character that stand alone become the replacement character. A digit's bit 0x20 is
/// set already.
std::string without_half_characters(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out += text[at++];
      continue;
    }
    const std::string_view rest = text.substr(at);
    const bool is_high = is_surrogate(rest, "89ab");
    if (is_high && is_surrogate(rest.substr(6), "cdef")) {
      out += rest.substr(0, 12);
      at += 12;
    } else if (is_high || is_surrogate(rest, "cdef")) {
      out += "\\ufffd";
      at += 6;
    } else {
      out += rest.substr(0, 2);
      at += std::min<std::size_t>(2, rest.size());
    }
  }
  return out;
}

/// The length of NaN, Infinity or -Infinity at the beginning of a text; 0 for anything else.
std::size_t size_of_no_number(std::string_view text) {
  for (const std::string_view word : {"NaN", "Infinity", "-Infinity"})
    if (text.starts_with(word)) return word.size();
  return 0;
}

/// Outside of strings, null in place of the numbers that JSON does not have, and no comma before a bracket.
std::string without_javascript(std::string_view text) {
  std::string out;
  bool is_string = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at, 9);
    if (text[at] == '"') is_string = !is_string;
    if (is_string && text[at] == '\\') {
      out += rest.substr(0, 2);
      at += std::min<std::size_t>(2, rest.size());
      continue;
    }
    const std::size_t number = is_string ? 0 : size_of_no_number(rest);
    if (number > 0) {
      out += "null";
      at += number;
      continue;
    }
    if (!is_string && (text[at] == ']' || text[at] == '}'))
      if (const std::size_t last = out.find_last_not_of(kJsonBlanks);
          last != std::string::npos && out[last] == ',')
        out.resize(last);
    out += text[at++];
  }
  return out;
}

/// What engines send that is nearly JSON, as JSON: a call around it (JSONP), a guard in front of it (")]}'",
/// "while(1);"), a document per line (NDJSON) or per event (SSE) as an array of them, escapes of half a
/// character (U+FFFD), NaN, Infinity, and commas behind the last item.
///
/// in:     text - valid UTF-8 that does not parse
/// out:    nothing when it is none of these; what comes out may still not parse
std::optional<std::string> repaired_json(std::string_view text) {
  if (auto events = events_as_array(ascii_trimmed(text))) return events;
  const std::string_view inner = without_call(without_guard(ascii_trimmed(text)));
  if (auto lines = lines_as_array(inner)) return without_javascript(without_half_characters(*lines));
  std::string out = without_javascript(without_half_characters(inner));
  if (out == text) return std::nullopt;
  return out;
}

constexpr std::size_t kMostKept = std::size_t{256} << 10;

/// in: spare - bytes behind the text that may be read; with enough of them it is not copied
simdjson::simdjson_result<element> parse(std::string_view text, std::size_t spare = 0) {
  return scratch_parser().parse(text.data(), text.size(), spare < simdjson::SIMDJSON_PADDING);
}

Result<element> parse_answer_text(std::string_view body, const AnswerContext& context) {
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return fail(Code::bad_data, "the answer is empty");
  auto root = parse(body, context.spare_bytes);
  if (root.error() == simdjson::SUCCESS) return root.value_unsafe();
  const char* why = simdjson::error_message(root.error());
  const std::string text = as_valid_utf8(body, charset_of(context.content_type)).value_or(std::string(body));
  root = parse(text);
  if (root.error() != simdjson::SUCCESS)
    if (const auto repaired = repaired_json(text)) root = parse(*repaired);
  if (root.error() != simdjson::SUCCESS)
    return fail(Code::bad_data, std::string("the answer is not valid JSON: ") + why);
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

/// Where the first key of a path ends: a slash in a filter's value belongs to the value.
std::size_t end_of_key(std::string_view path) {
  const std::size_t slash = std::min(path.find('/'), path.size());
  const std::size_t open = path.find('[');
  if (open >= slash) return slash;
  for (std::size_t close = path.find(']', open); close < path.size(); close = path.find(']', close + 1))
    if (close + 1 == path.size() || path[close + 1] == '/') return close + 1;
  return slash;
}

/// `key`, or `key[member=value]`.
Key parse_key(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t equals = text.find('=', std::min(open, text.size()));
  if (!text.ends_with(']') || equals == std::string_view::npos || equals == open + 1)
    return {text, index_of(text), {}, {}};
  const std::string_view name = text.substr(0, open);
  return {name, index_of(name), text.substr(open + 1, equals - open - 1),
          text.substr(equals + 1, text.size() - equals - 2)};
}

}  // namespace

KeyPath parse_key_path(std::string_view text) {
  KeyPath path;
  while (!text.empty()) {
    const std::size_t end = end_of_key(text);
    if (end > 0) path.keys.push_back(parse_key(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!path.keys.empty() && path.keys.front().text == "$") {
    path.is_anchored = true;
    path.keys.erase(path.keys.begin());
  }
  return path;
}

bool has_member(element value, std::string_view name, std::string_view text) {
  element member;
  if (!value.is_object() || value[name].get(member) != simdjson::SUCCESS) return false;
  const auto is_it = [&](element one) {
    TextPool texts;
    const PartText found = text_of(one, texts);
    return !found.is_missing() && found.view() == text;
  };
  if (!member.is_array()) return is_it(member);
  const simdjson::dom::array list = member;
  return std::any_of(list.begin(), list.end(), is_it);
}

std::optional<element> find_first(element value, const KeyPath& path) {
  std::optional<element> found;
  find(value, path, [&](element match) {
    found = match;
    return false;
  });
  return found;
}

PartText text_of(element value, TextPool& texts) {
  switch (value.type()) {
    case element_type::STRING:
      return std::string_view(value);
    case element_type::INT64:
      return texts.keep(std::to_string(int64_t(value)));
    case element_type::UINT64:
      return texts.keep(std::to_string(uint64_t(value)));
    case element_type::DOUBLE:
      return texts.keep(to_text(Json(double(value))));
    case element_type::BOOL:
      return std::string_view(bool(value) ? "true" : "false");
    case element_type::ARRAY:
      for (const element item : simdjson::dom::array(value)) return text_of(item, texts);
      return {};
    default:
      return {};
  }
}

JsonTree::JsonTree(std::string_view body, const AnswerContext& context)
    : root_(parse_answer_text(body, context)) {}

JsonTree::~JsonTree() {
  if (scratch_parser().capacity() > kMostKept) scratch_parser() = simdjson::dom::parser();
}

}  // namespace metafuse::fetchers
