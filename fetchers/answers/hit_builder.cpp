#include "fetchers/answers/hit_builder.h"

#include <algorithm>

#include "core/encoding.h"
#include "core/number.h"
#include "core/url_text.h"
#include "fetchers/answers/answer_text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxTitleBytes = 500;
constexpr std::size_t kMaxSnippetBytes = 2000;
constexpr std::size_t kMaxSuggestions = 20;

std::string filled_url_format(const std::string& format, const PartOf& part_of, const AnswerContext& context,
                              bool& is_complete) {
  std::string out;
  for (std::size_t at = 0; at < format.size();) {
    const std::size_t end = format[at] == '{' ? format.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      out += format[at++];
      continue;
    }
    std::string path = format.substr(at + 1, end - at - 1);
    at = end + 1;
    const bool has_underscores = path.ends_with("|_");
    if (has_underscores) path.erase(path.size() - 2);
    const auto part = path == "lang" ? PartText(std::string_view(context.language)) : part_of(path);
    if (!part || part->empty()) {
      is_complete = false;
      return {};
    }
    std::string value(part->view());
    if (has_underscores) std::replace(value.begin(), value.end(), ' ', '_');
    out += percent_encoded(value);
  }
  return out;
}

}  // namespace

RawHit read_raw_hit(const AnswerRules& rules, const PartOf& part_of, const AnswerContext& context) {
  const auto read = [&](const std::string& path) {
    return path.empty() ? PartText() : part_of(path).value_or(PartText());
  };
  RawHit hit;
  if (!rules.url_format.empty()) {
    bool is_complete = true;
    std::string url = filled_url_format(rules.url_format, part_of, context, is_complete);
    if (is_complete) hit.url = PartText(std::move(url));
  } else {
    hit.url = part_of(rules.url);
    if (hit.url) hit.url->put_before(rules.url_prefix);
  }
  if (!hit.url) return hit;
  hit.title = read(rules.title);
  hit.content = read(rules.content);
  hit.published = read(rules.published);
  hit.score = read(rules.score);
  hit.thumbnail = read(rules.thumbnail);
  if (!hit.thumbnail.empty()) hit.thumbnail.put_before(rules.thumbnail_prefix);
  return hit;
}

void append_hit(RankedList& list, const RawHit& raw, const AnswerRules& rules, const AnswerContext& context,
                bool is_text_html) {
  if (!raw.url) return;
  auto url = resolved_url(raw.url->view(), context.url);
  if (!url) return;
  Hit& hit = list.hits.emplace_back();
  hit.url = std::move(*url);
  hit.title = clean_text(raw.title.view(), is_text_html || rules.is_title_html, kMaxTitleBytes);
  hit.snippet = clean_text(raw.content.view(), is_text_html || rules.is_content_html, kMaxSnippetBytes);
  if (!raw.published.empty()) hit.published = clean_date(raw.published.view());
  if (!raw.thumbnail.empty()) hit.thumbnail = resolved_url(raw.thumbnail.view(), context.url).value_or("");
  if (double score = 0; !raw.score.empty() && to_double(raw.score.view(), score) && score - score == 0)
    hit.score = score;
}

void append_suggestion(RankedList& list, std::string_view text) {
  std::string cleaned = clean_text(text, false, kMaxTitleBytes);
  if (cleaned.empty() || list.suggestions.size() >= kMaxSuggestions) return;
  if (std::find(list.suggestions.begin(), list.suggestions.end(), cleaned) == list.suggestions.end())
    list.suggestions.push_back(std::move(cleaned));
}

Result<RankedList> parse_answer(const AnswerRules& rules, std::string_view body,
                                const AnswerContext& context) {
  switch (rules.format) {
    case AnswerRules::Format::json:
      return parse_json_answer(rules, body, context);
    case AnswerRules::Format::groonga:
      return parse_groonga_answer(rules, body, context);
    case AnswerRules::Format::xml:
      return parse_xml_answer(rules, body, context);
    case AnswerRules::Format::html:
      return parse_html_answer(rules, body, context);
  }
  return fail(Code::internal, "unknown format");
}

}  // namespace metafuse::fetchers
