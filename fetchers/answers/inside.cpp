#include "fetchers/answers/inside.h"

#include "fetchers/answers/hit_builder.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostInnerTexts = 1000;

Result<std::string> json_behind(std::string_view body, const std::string& marker) {
  for (std::size_t at = body.find(marker); at != std::string_view::npos; at = body.find(marker, at + 1)) {
    const std::string_view found = leading_json(body.substr(at + marker.size()));
    if (!found.empty()) return std::string(found);
  }
  return fail(Code::bad_data, "the answer has no JSON after \"" + marker + "\"");
}

/// Several texts that are JSON form an array.
Result<std::string> joined_json(const Texts& texts, const std::string& where) {
  if (texts.empty()) return fail(Code::bad_data, "the answer has no JSON at \"" + where + "\"");
  if (texts.size() == 1) return texts.front();
  std::string out = "[";
  for (const std::string& text : texts) {
    const std::string_view json = leading_json(text);
    if (json.empty()) continue;
    if (out.size() > 1) out += ',';
    out += json;
  }
  return out + "]";
}

}  // namespace

std::string_view leading_json(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n=(:");
  if (begin == std::string_view::npos || (text[begin] != '{' && text[begin] != '[')) return {};
  bool is_inside_text = false;
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (is_inside_text) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        is_inside_text = false;
    } else if (c == '"') {
      is_inside_text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return text.substr(begin, i + 1 - begin);
    }
  }
  return {};
}

Result<std::string> inner_answer(const Inside& inside, std::string_view body, const AnswerContext& context) {
  std::string text(body);
  if (!inside.json_xpath.empty()) {
    TRY(const Texts texts, html_texts(inside.json_xpath, text, context, kMostInnerTexts));
    TRY(text, joined_json(texts, inside.json_xpath));
  }
  if (!inside.json_after.empty()) {
    TRY(text, json_behind(text, inside.json_after));
  }
  if (!inside.json_query.empty()) {
    TRY(const Texts texts, json_texts(inside.json_query, text, {context.url, "", ""}, kMostInnerTexts));
    TRY(text, joined_json(texts, inside.json_query));
  }
  if (!inside.html_query.empty()) {
    TRY(const Texts texts, json_texts(inside.html_query, text, {context.url, "", ""}, kMostInnerTexts));
    if (texts.empty()) return fail(Code::bad_data, "the answer has no HTML at \"" + inside.html_query + "\"");
    text = joined_texts(texts, "\n");
  }
  return text;
}

}  // namespace metafuse::fetchers
