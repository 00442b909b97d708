#include "fetchers/http/request_template.h"

#include <algorithm>
#include <array>

#include "core/contract.h"
#include "core/encoding.h"
#include "core/json.h"
#include "core/text.h"
#include "core/url.h"

namespace metafuse::fetchers {
namespace {

struct Placeholder {
  std::string_view name;
  std::string RequestValues::*value;
  bool is_verbatim = false;
};

constexpr std::array kPlaceholders = {
    Placeholder{"query", &RequestValues::query},
    Placeholder{"pageno", &RequestValues::pageno},
    Placeholder{"lang", &RequestValues::lang},
    Placeholder{"language", &RequestValues::lang},
    Placeholder{"time_range", &RequestValues::time_range, true},
    Placeholder{"safe_search", &RequestValues::safe_search, true},
    Placeholder{"offset", &RequestValues::offset},
    Placeholder{"start", &RequestValues::start},
    Placeholder{"count", &RequestValues::count},
    Placeholder{"vector", &RequestValues::vector, true},
    Placeholder{"query_field", &RequestValues::query_field},
    Placeholder{"query_value", &RequestValues::query_value},
    Placeholder{"query_values", &RequestValues::query_values, true},
    Placeholder{"cursor", &RequestValues::cursor},
    Placeholder{"ids", &RequestValues::ids},
    Placeholder{"id_values", &RequestValues::id_values, true},
    Placeholder{"id", &RequestValues::id},
    Placeholder{"locale", &RequestValues::locale},
    Placeholder{"callers_token", &RequestValues::callers_token},
    Placeholder{"query_1", &RequestValues::query_1},
    Placeholder{"query_2", &RequestValues::query_2},
    Placeholder{"query_3", &RequestValues::query_3},
};

const Placeholder* find_placeholder(std::string_view name) {
  for (const Placeholder& placeholder : kPlaceholders)
    if (placeholder.name == name) return &placeholder;
  return nullptr;
}

std::string quoted_json(std::string_view text) {
  const std::string quoted = to_text(
      Json(first_invalid_utf8(text) == std::string_view::npos ? std::string(text) : to_valid_utf8(text)));
  return quoted.substr(1, quoted.size() - 2);
}

/// Tracks whether a position in a JSON template is inside a quoted text within a JSON string, as in
/// {"query": "search(text: \"{query}\")"}. A value there must be quoted twice; otherwise it could end the
/// inner text.
class JsonNesting {
 public:
  void follow(std::string_view text) {
    for (const char c : text) {
      if (!is_inside_) {
        is_inside_ = c == '"';
        has_inner_quote_ = has_inner_backslash_ = false;
      } else if (has_backslash_) {
        has_backslash_ = false;
        take_inner(c);
      } else if (c == '\\') {
        has_backslash_ = true;
      } else if (c == '"') {
        is_inside_ = false;
      } else {
        has_inner_backslash_ = false;
      }
    }
  }
  bool is_nested() const { return is_inside_ && has_inner_quote_; }

 private:
  /// Takes a character that the JSON string writes with a backslash.
  void take_inner(char c) {
    if (c == '"' && !has_inner_backslash_) has_inner_quote_ = !has_inner_quote_;
    has_inner_backslash_ = c == '\\' && !has_inner_backslash_;
  }

  bool is_inside_ = false;
  bool has_backslash_ = false;
  bool has_inner_quote_ = false;
  bool has_inner_backslash_ = false;
};

std::string quoted(const std::string& text, Quoting quoting) {
  if (quoting == Quoting::json) return quoted_json(text);
  if (quoting == Quoting::xml) return xml_escaped(text);
  if (quoting == Quoting::none) return text;
  return percent_encoded(text, quoting != Quoting::url_path);
}

Error unknown_placeholder(std::string_view name) {
  std::string known;
  for (const Placeholder& placeholder : kPlaceholders)
    if (!placeholder.name.starts_with("query_") && placeholder.name != "id_values")  // internal placeholders
      known += (known.empty() ? "{" : ", {") + std::string(placeholder.name) + "}";
  return fail(Code::bad_config, "unknown placeholder {" + std::string(name) + "}; use one of " + known);
}

/// True for a name that a person may have meant as one of the placeholders.
bool is_misspelt(std::string_view name) {
  constexpr std::size_t kShortest = 4;
  std::vector<std::string> known;
  for (const Placeholder& placeholder : kPlaceholders) known.emplace_back(placeholder.name);
  return name.size() >= kShortest && name.size() < 20 && !near_names(name, known).empty();
}

/// Passes the pieces of a template on in order: literal text, and placeholders as rows of the table.
template <class OnText, class OnPlaceholder>
Result<void> scan_template(std::string_view text, const OnText& on_text,
                           const OnPlaceholder& on_placeholder) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t plain = std::min(text.find_first_of("${}", at), text.size()) - at;
    if (plain > 0) on_text(text.substr(at, plain));
    at += plain;
    if (at == text.size()) break;
    const char c = text[at];
    const std::size_t end = text.find('}', at);
    if (c == '$') {  // "${NAME}" is a secret; "${{" can occur in the value of a secret that was filled in
      const bool is_secret =
          text.substr(at, 2) == "${" && text.substr(at + 2, 1) != "{" && end != std::string_view::npos;
      const std::size_t size = is_secret ? end + 1 - at : 1;
      on_text(text.substr(at, size));
      at += size;
      continue;
    }
    if (at + 1 < text.size() && text[at + 1] == c) {
      on_text(text.substr(at, 1));
      at += 2;
      continue;
    }
    if (c == '}' || end == std::string_view::npos)
      return fail(Code::bad_config,
                  std::string("a single \"") + c + "\"; write it twice for a literal brace");
    const std::string_view name = text.substr(at + 1, end - at - 1);
    const Placeholder* placeholder = find_placeholder(name);
    if (placeholder == nullptr) return unknown_placeholder(name);
    on_placeholder(*placeholder);
    at = end + 1;
  }
  return {};
}

}  // namespace

Result<std::vector<TemplatePiece>> parse_request_template(std::string_view text) {
  std::vector<TemplatePiece> pieces(1);
  const auto scanned = scan_template(
      text, [&](std::string_view plain) { pieces.back().text += plain; },
      [&](const Placeholder& placeholder) {
        pieces.push_back({std::string(placeholder.name), true});
        pieces.emplace_back();
      });
  if (!scanned) return scanned.error();
  return pieces;
}

Result<std::string> body_template(std::string_view text) {
  const auto as_it_stands = parse_request_template(text);
  if (as_it_stands) return std::string(text);
  if (ascii_trimmed(text).starts_with("{{")) return as_it_stands.error();
  std::string out;
  while (!text.empty()) {
    const std::size_t brace = std::min(text.find_first_of("{}"), text.size());
    out += text.substr(0, brace);
    text.remove_prefix(brace);
    if (text.empty()) break;
    const std::size_t end = text.find_first_of("{}", 1);
    const bool is_group = text.front() == '{' && end != std::string_view::npos && text[end] == '}';
    const std::string_view name = is_group ? text.substr(1, end - 1) : std::string_view();
    const bool is_secret = is_group && out.ends_with('$');
    const bool is_kept = is_secret || (is_group && find_placeholder(name) != nullptr);
    if (!is_kept && is_misspelt(name)) return unknown_placeholder(name);
    out += is_kept ? text.substr(0, end + 1) : std::string_view(text.front() == '{' ? "{{" : "}}");
    text.remove_prefix(is_kept ? end + 1 : 1);
  }
  return out;
}

std::string fill_request_template(std::string_view text, const RequestValues& values, Quoting quoting) {
  std::string out;
  out.reserve(text.size() + values.query.size() + 32);
  JsonNesting nesting;
  const auto scanned = scan_template(
      text,
      [&](std::string_view plain) {
        out += plain;
        if (quoting == Quoting::json) nesting.follow(plain);
      },
      [&](const Placeholder& placeholder) {
        const std::string& value = values.*(placeholder.value);
        const bool is_nested = nesting.is_nested() && !placeholder.is_verbatim;
        out +=
            quoted(is_nested ? quoted_json(value) : value, placeholder.is_verbatim ? Quoting::none : quoting);
      });
  require(scanned.has_value(), "a checked template");
  return out;
}

std::string fill_url_template(std::string_view url, const RequestValues& values) {
  const std::size_t mark = std::min(url.find('?'), url.size());
  return fill_request_template(url.substr(0, mark), values, Quoting::url_path) +
         fill_request_template(url.substr(mark), values, Quoting::url_query);
}

Quoting body_quoting(std::string_view body, std::string_view content_type) {
  const std::string type = ascii_lower(content_type);
  if (type.find("json") != std::string::npos) return Quoting::json;
  if (type.find("xml") != std::string::npos) return Quoting::xml;
  if (type.find("form") != std::string::npos) return Quoting::form;
  const bool is_plain = type.starts_with("text/plain");
  if (!type.empty() && !is_plain) return Quoting::none;
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return Quoting::none;
  const bool is_value = is_plain && body[first] == '{' && body.substr(first, 2) != "{{";  // a placeholder
  if (body[first] == '<') return Quoting::xml;
  if (!is_value && (body[first] == '{' || body[first] == '[' || body[first] == '"')) return Quoting::json;
  return is_plain ? Quoting::none : Quoting::form;
}

std::string with_doubled_braces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '{' || c == '}') out += c;
  }
  return out;
}

Result<void> check_url_template(std::string_view url, bool needs_query) {
  TRY(const auto pieces, parse_request_template(url));
  std::string sample;
  bool has_query = false;
  for (const TemplatePiece& piece : pieces) {
    const bool is_in_path = sample.find('/', sample.find("://") + 3) != std::string::npos ||
                            sample.find('?') != std::string::npos;
    if (piece.is_placeholder && !is_in_path && piece.text != "lang" && piece.text != "language")
      return fail(Code::bad_config,
                  "{" + piece.text +
                      "} before the path would let a query choose the host; move it into the path or query");
    if (piece.text == "callers_token" && piece.is_placeholder)
      return fail(Code::bad_config, "{callers_token} in an address would stay in logs; put it into the body");
    sample += piece.is_placeholder ? (is_in_path ? "1" : "en") : piece.text;
    has_query = has_query || (piece.is_placeholder && piece.text.starts_with("query"));
  }
  if (!parts_of_url(sample))
    return fail(Code::bad_config,
                "not a valid http or https URL (put credentials into username and password)");
  if (needs_query && !has_query) return fail(Code::bad_config, "the URL must contain {query}");
  return {};
}

}  // namespace metafuse::fetchers
