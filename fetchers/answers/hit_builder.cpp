#include "fetchers/answers/hit_builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/encoding.h"
#include "core/languages.h"
#include "core/text.h"
#include "core/url.h"
#include "fetchers/answers/answer_dates.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/inside.h"
#include "fetchers/answers/part_text.h"
#include "fetchers/answers/redirect_links.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxTitleBytes = 500;
constexpr std::size_t kMaxSnippetBytes = 2000;
constexpr std::size_t kMaxSuggestions = 20;
constexpr std::size_t kMaxShownItems = 3;

/// An identifier as a part of a path: what has a meaning there stays, what would end the path does not.
std::string path_encoded(std::string_view text) {
  constexpr std::string_view kKept = "/:@!$&'()*+,;=";
  std::string out;
  for (const char c : text)
    out += kKept.find(c) != std::string_view::npos ? std::string(1, c) : percent_encoded({&c, 1});
  return out;
}

/// nullopt when the result lacks one of the parts.
std::optional<PartText> filled_url_format(const std::string& format, const PartOf& part_of,
                                          const AnswerContext& context) {
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
    const bool is_raw = path.ends_with("|raw");
    if (has_underscores || is_raw) path.erase(path.rfind('|'));
    const auto part = path == "lang" ? PartText(std::string_view(context.language)) : part_of(path, nullptr);
    if (!part || part->empty()) return std::nullopt;
    std::string value(part->view());
    if (has_underscores) std::replace(value.begin(), value.end(), ' ', '_');
    out += is_raw ? path_encoded(value) : percent_encoded(value);
  }
  return PartText(std::move(out));
}

std::optional<PartText> changed_part(const PartRule& rule, std::optional<PartText> part) {
  if (!part || !changes_text(rule)) return part;
  auto text = changed_text(rule, part->view());
  if (!text) return std::nullopt;
  return PartText(std::move(*text));
}

/// Everything that the paths find, joined.
std::optional<PartText> read_joined_part(const PartRule& rule, const PartOf& part_of) {
  std::optional<PartText> found;
  std::vector<std::string> texts;
  for (const std::string& path : rule.paths) {
    auto part = part_of(path, &rule.separator);
    if (part && !part->empty()) texts.emplace_back(part->view());
    if (!found) found = std::move(part);
  }
  if (!texts.empty()) return changed_part(rule, PartText(joined_texts(texts, rule.separator)));
  return found;
}

/// The first path that finds a text, or all of them joined.
std::optional<PartText> read_part(const PartRule& rule, const PartOf& part_of) {
  if (rule.is_joined) return read_joined_part(rule, part_of);
  std::optional<PartText> found;
  for (const std::string& path : rule.paths) {
    auto part = changed_part(rule, part_of(path, nullptr));
    if (part && (!part->empty() || rule.paths.size() == 1)) return part;
    if (!found) found = std::move(part);
  }
  return found;
}

/// True if one of the texts contains a word of the query.
bool is_of_query(const PartRule& rule, const PartOf& part_of, std::string_view query) {
  std::string texts;
  const std::string separator = "\n";
  for (const std::string& path : rule.paths)
    if (const auto part = part_of(path, &separator)) texts += ascii_lower(part->view()) + separator;
  const std::string words = ascii_lower(query);
  for (std::string_view rest = words; !rest.empty();)
    if (const std::string_view word = take_until(rest, ' ');
        !word.empty() && texts.find(word) != std::string::npos)
      return true;
  return words.find_first_not_of(' ') == std::string::npos;
}

/// The parts behind the URL in kResultParts, in its order.
struct OtherPart {
  PartRule AnswerRules::*rule;
  PartText RawHit::*text;
};
constexpr OtherPart kOtherParts[] = {
    {&AnswerRules::title, &RawHit::title},         {&AnswerRules::content, &RawHit::content},
    {&AnswerRules::published, &RawHit::published}, {&AnswerRules::language, &RawHit::language},
    {&AnswerRules::score, &RawHit::score},         {&AnswerRules::thumbnail, &RawHit::thumbnail}};

/// Counts for a person who writes a definition.
void note_findings(AnswerFindings* findings, const RawHit& raw) {
  if (findings == nullptr) return;
  ++findings->items;
  std::vector<std::string> texts;
  texts.emplace_back(raw.url ? raw.url->view() : std::string_view());
  for (const OtherPart& part : kOtherParts) texts.emplace_back((raw.*part.text).view());
  for (const PartText& detail : raw.details) texts.emplace_back(detail.view());
  findings->with.resize(std::max(findings->with.size(), texts.size()));
  for (std::size_t i = 0; i < texts.size(); ++i) findings->with[i] += texts[i].empty() ? 0 : 1;
  if (findings->first.size() < kMaxShownItems) findings->first.push_back(std::move(texts));
}

/// The absolute URL of a link in an answer, without user name and password.
std::optional<std::string> linked_url(std::string_view link, const std::string& base) {
  auto url = resolved_url(link, base);
  if (!url || url->find('@') == std::string::npos) return url;
  const std::size_t begin = std::min(url->find("://"), url->size() - 3) + 3;
  const std::size_t end = std::min(url->find_first_of("/?#", begin), url->size());
  const std::size_t at = url->rfind('@', end);
  if (at != std::string::npos && at >= begin && at < end) url->erase(begin, at + 1 - begin);
  return url;
}

/// A detail in the one form that its row declares; empty if it is not of that form.
std::string clean_detail(std::string_view name, std::string_view text, const std::string& base) {
  const DetailRow* row = find_detail(name);
  if (row == nullptr || text.empty()) return {};
  if (row->form == DetailForm::link) return linked_url(text, base).value_or("");
  std::string clean = clean_text(text, false, kMaxTitleBytes);
  if (double number = 0; row->form == DetailForm::number)
    return clean_number(clean, number) ? fmt::format("{:.10g}", number) : std::string();
  if (row->form != DetailForm::seconds) return clean;
  const auto seconds = length_in_seconds(clean);
  return seconds ? fmt::format("{:.10g}", *seconds) : std::string();
}

}  // namespace

Error parsed_too_long() {
  return fail(Code::bad_data, "reading the answer takes too long");
}

std::string joined_texts(const std::vector<std::string>& texts, std::string_view separator) {
  return fmt::format("{}", fmt::join(texts, separator));
}

RawHit read_raw_hit(const AnswerRules& rules, const PartOf& part_of, const AnswerContext& context) {
  const auto read = [&](const PartRule& rule) { return read_part(rule, part_of).value_or(PartText()); };
  RawHit hit;
  const bool is_format_last = rules.url.has_fallbacks;
  if ((rules.url_format.empty() && rules.chosen_formats.empty()) || is_format_last) {
    hit.url = read_part(rules.url, part_of);
    if (hit.url && hit.url->empty() && is_format_last) hit.url.reset();
    if (hit.url) hit.url->put_before(rules.url_prefix);
  }
  for (const ChosenFormat& chosen : rules.chosen_formats)
    if (const auto value = hit.url ? std::nullopt : part_of(chosen.path, nullptr))
      if (value->view() == chosen.value) hit.url = filled_url_format(chosen.format, part_of, context);
  if (!hit.url && !rules.url_format.empty()) hit.url = filled_url_format(rules.url_format, part_of, context);
  if (!hit.url && context.findings == nullptr) return hit;
  for (const OtherPart& part : kOtherParts) hit.*part.text = read(rules.*part.rule);
  if (!rules.match.empty()) hit.is_of_query = is_of_query(rules.match, part_of, context.query);
  for (const auto& [name, rule] : rules.details) hit.details.push_back(read(rule));
  if (context.ids != nullptr) hit.id = read(rules.id);
  if (!hit.thumbnail.empty()) hit.thumbnail.put_before(rules.thumbnail_prefix);
  return hit;
}

void append_hit(RankedList& list, const RawHit& raw, const AnswerRules& rules, const AnswerContext& context,
                bool is_text_html) {
  note_findings(context.findings, raw);
  if (!raw.url || !raw.is_of_query) return;
  auto url = linked_url(raw.url->view(), context.url);
  if (!url) return;
  if (context.ids != nullptr) context.ids->emplace_back(raw.id.view());
  Hit& hit = list.hits.emplace_back();
  hit.url = rules.unwraps_links ? unwrapped_url(std::move(*url), rules.unwrap) : std::move(*url);
  hit.title = clean_text(raw.title.view(), is_text_html || rules.is_title_html, kMaxTitleBytes);
  hit.snippet = clean_text(raw.content.view(), is_text_html || rules.is_content_html, kMaxSnippetBytes);
  if (!raw.published.empty()) hit.published = clean_date(raw.published.view(), context.now);
  if (!raw.language.empty()) hit.language = language_tag(raw.language.view());
  if (!raw.thumbnail.empty()) hit.thumbnail = linked_url(raw.thumbnail.view(), context.url).value_or("");
  if (double score = 0; !raw.score.empty() && clean_number(raw.score.view(), score)) hit.score = score;
  hit.kind = rules.kind;
  for (std::size_t i = 0; i < raw.details.size(); ++i)
    if (std::string text = clean_detail(rules.details[i].first, raw.details[i].view(), context.url);
        !text.empty())
      hit.details.emplace_back(rules.details[i].first, std::move(text));
}

void append_zipped(RankedList& list, const AnswerRules& rules, const AnswerContext& context,
                   const std::function<std::vector<PartText>(const std::string& path)>& texts_at) {
  const auto all = [&](const PartRule& rule) {
    return rule.empty() ? std::vector<PartText>() : texts_at(rule.first());
  };
  auto urls = all(rules.url), titles = all(rules.title), contents = all(rules.content);
  for (std::size_t i = 0; i < urls.size(); ++i) {
    RawHit raw;
    raw.url = std::move(urls[i]);
    raw.url->put_before(rules.url_prefix);
    if (i < titles.size()) raw.title = std::move(titles[i]);
    if (i < contents.size()) raw.content = std::move(contents[i]);
    append_hit(list, raw, rules, context, false);
  }
}

void append_suggestion(RankedList& list, std::string_view text) {
  std::string cleaned = clean_text(text, false, kMaxTitleBytes);
  if (cleaned.empty() || list.suggestions.size() >= kMaxSuggestions) return;
  if (std::find(list.suggestions.begin(), list.suggestions.end(), cleaned) == list.suggestions.end())
    list.suggestions.push_back(std::move(cleaned));
}

namespace {

struct AnswerFormat {
  ParseAnswer* parse;
  FindTexts* texts;
  CheckPath* check;
};

const AnswerFormat& answer_format(AnswerRules::Format format) {
  static constexpr AnswerFormat kFormats[] = {
      // in the order of AnswerRules::Format
      {parse_json_answer, json_texts, check_key_path},
      {parse_xml_answer, xml_texts, check_xml_xpath},
      {parse_html_answer, html_texts, check_html_xpath},
      {parse_groonga_answer, json_texts, [](const std::string&) -> Result<void> { return {}; }}};
  return kFormats[static_cast<std::size_t>(format)];
}

}  // namespace

Result<RankedList> parse_answer(const AnswerRules& rules, std::string_view body,
                                const AnswerContext& context) {
  if (rules.inside.empty()) return answer_format(rules.format).parse(rules, body, context);
  TRY(const std::string inner, inner_answer(rules.inside, body, context));
  AnswerContext inner_context = context;
  inner_context.content_type.clear();
  inner_context.spare_bytes = 0;
  return answer_format(rules.format).parse(rules, inner, inner_context);
}

Result<Texts> answer_texts(AnswerRules::Format format, const std::string& path, std::string_view body,
                           const AnswerContext& context, std::size_t most) {
  TRY(Texts texts, answer_format(format).texts(path, body, context, most));
  std::erase(texts, "");
  if (texts.size() > most) texts.resize(most);
  return texts;
}

Result<void> check_answer_path(AnswerRules::Format format, const std::string& path) {
  return answer_format(format).check(path);
}

}  // namespace metafuse::fetchers
