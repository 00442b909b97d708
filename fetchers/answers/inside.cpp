#include "fetchers/answers/inside.h"

#include <algorithm>

#include "fetchers/answers/hit_builder.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostInnerTexts = 1000;
constexpr int kMostOpenValues = 16;  ///< brackets that do not close, each looked for up to the body's end
constexpr std::string_view kBeforeJson = " \t\r\n=(:";

/// A marker that ends before `begin` has nothing else behind it, so the next one ends behind `begin`.
Result<std::string> json_behind(std::string_view body, const std::string& marker) {
  int open_values = 0;
  for (std::size_t at = body.find(marker); at != std::string_view::npos && open_values < kMostOpenValues;) {
    const std::size_t end = at + marker.size();
    const std::size_t begin = std::min(body.find_first_not_of(kBeforeJson, end), body.size());
    const std::string_view found = leading_json(body.substr(begin));
    if (!found.empty()) return std::string(found);
    if (begin < body.size() && (body[begin] == '{' || body[begin] == '[')) ++open_values;
    at = body.find(marker, begin + 1 - marker.size());
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
  const std::size_t begin = text.find_first_not_of(kBeforeJson);
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
