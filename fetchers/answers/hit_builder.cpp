#include "fetchers/answers/hit_builder.h"

#include <algorithm>

#include <fmt/format.h>

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

constexpr std::size_t kMaxSuggestions = 20;
constexpr std::size_t kMaxShownItems = 3;

/// True if one of the texts contains a word of the query.
bool is_of_query(const PartRule& rule, const PartOf& part_of, std::string_view query) {
  std::string texts;
  const std::string separator = "\n";
  for (const std::string& path : rule.paths)
    if (const PartText part = part_of(path, &separator); !part.is_missing())
      texts += ascii_lower(part.view()) + separator;
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
bool is_plain(const PartRule& rule) {
  return rule.paths.size() == 1 && !rule.is_joined && !changes_text(rule);
}

void note_findings(AnswerFindings* findings, const RawHit& raw) {
  if (findings == nullptr) return;
  ++findings->items;
  std::vector<std::string> texts;
  texts.emplace_back(raw.url.view());
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

/// A text as it is shown. Secrets are hidden in it before one can be cut off at its end; those that are whole
/// are hidden with the rest of the list.
std::string shown_text(std::string_view text, bool is_html, std::size_t max_bytes,
                       const AnswerContext& context) {
  if (context.secrets == nullptr) return clean_text(text, is_html, max_bytes);
  std::string out = clean_text(text, is_html, max_bytes + context.secrets->front().size());
  if (out.size() <= max_bytes) return out;
  redact(out, context.secrets);
  return std::string(ascii_trimmed(truncate_utf8(out, max_bytes)));
}

/// A detail in the one form that its row declares; empty if it is not of that form.
std::string clean_detail(std::string_view name, std::string_view text, const AnswerContext& context) {
  const DetailRow* row = find_detail(name);
  if (row == nullptr || text.empty()) return {};
  if (row->form == DetailForm::link) return linked_url(text, context.url).value_or("");
  std::string clean = shown_text(text, false, kMaxTitleBytes, context);
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

HitBuilder::HitBuilder(RankedList& list, const AnswerRules& rules, const AnswerContext& context)
    : list_(list), rules_(rules), context_(context) {
  named_.reserve(std::size(kOtherParts));
  for (const OtherPart& part : kOtherParts)
    if (const PartRule& rule = rules.*part.rule; !rule.empty())
      named_.push_back({&rule, part.text, is_plain(rule)});
}

PartText HitBuilder::changed(const PartRule& rule, PartText part) {
  if (part.is_missing() || !changes_text(rule)) return part;
  auto text = changed_text(rule, part.view());
  return text ? texts_.keep(std::move(*text)) : PartText();
}

/// Everything that the paths find, joined.
PartText HitBuilder::joined(const PartRule& rule, const PartOf& part_of) {
  PartText found;
  std::vector<std::string> texts;
  for (const std::string& path : rule.paths) {
    const PartText part = part_of(path, &rule.separator);
    if (!part.empty()) texts.emplace_back(part.view());
    if (found.is_missing()) found = part;
  }
  if (texts.empty()) return found;
  return changed(rule, texts_.keep(joined_texts(texts, rule.separator)));
}

/// The first path that finds a text, or all of them joined.
PartText HitBuilder::part(const PartRule& rule, const PartOf& part_of) {
  if (is_plain(rule)) return part_of(rule.first(), nullptr);
  if (rule.is_joined) return joined(rule, part_of);
  PartText found;
  for (const std::string& path : rule.paths) {
    const PartText part = changed(rule, part_of(path, nullptr));
    if (!part.empty() || rule.paths.size() == 1) return part;
    if (found.is_missing()) found = part;
  }
  return found;
}

/// Missing when the result lacks one of the format's parts.
PartText HitBuilder::filled(const std::string& format, const PartOf& part_of) {
  auto url = filled_format(format, [&](const std::string& path) -> std::string_view {
    return path == "lang" ? context_.language : part_of(path, nullptr).view();
  });
  return url ? texts_.keep(std::move(*url)) : PartText();
}

PartText HitBuilder::with_prefix(const std::string& prefix, PartText part) {
  return prefix.empty() || part.is_missing() ? part : texts_.keep(prefix + std::string(part.view()));
}

/// The URL by its path, or by the formats.
PartText HitBuilder::url(const PartOf& part_of) {
  PartText url;
  const bool is_format_last = rules_.url.has_fallbacks;
  if ((rules_.url_format.empty() && rules_.chosen_formats.empty()) || is_format_last) {
    url = part(rules_.url, part_of);
    if (url.empty() && is_format_last) url = PartText();
    url = with_prefix(rules_.url_prefix, url);
  }
  for (const ChosenFormat& chosen : rules_.chosen_formats)
    if (url.is_missing())
      if (const PartText value = part_of(chosen.path, nullptr);
          !value.is_missing() && value.view() == chosen.value)
        url = filled(chosen.format, part_of);
  return url.is_missing() && !rules_.url_format.empty() ? filled(rules_.url_format, part_of) : url;
}

/// Without a URL no other part is read, unless findings are wanted.
void HitBuilder::read(RawHit& raw, const PartOf& part_of) {
  raw.url = url(part_of);
  if (raw.url.is_missing() && context_.findings == nullptr) return;
  for (const NamedPart& named : named_)
    raw.*named.text = named.is_plain ? part_of(named.rule->first(), nullptr) : part(*named.rule, part_of);
  if (!rules_.match.empty()) raw.is_of_query = is_of_query(rules_.match, part_of, context_.query);
  raw.details.clear();
  for (const auto& [name, rule] : rules_.details) raw.details.push_back(part(rule, part_of));
  if (context_.ids != nullptr) raw.id = part(rules_.id, part_of);
  if (!raw.thumbnail.empty()) raw.thumbnail = with_prefix(rules_.thumbnail_prefix, raw.thumbnail);
}

void HitBuilder::append(const PartOf& part_of) {
  read(raw_, part_of);
  append(raw_, false);
  texts_.clear();
}

/// The address that a link leads to: absolute, without user name and password, behind redirects.
std::optional<std::string> HitBuilder::shown_url(std::string_view link) const {
  if (is_plain_web_url(link) && (!rules_.unwraps_links || !may_be_redirect(link))) return std::string(link);
  auto url = linked_url(link, context_.url);
  if (url && rules_.unwraps_links) url = unwrapped_url(std::move(*url), rules_.unwrap);
  return url;
}

void HitBuilder::append(const RawHit& raw, bool is_text_html) {
  note_findings(context_.findings, raw);
  if (raw.url.is_missing() || !raw.is_of_query) return;
  auto url = shown_url(raw.url.view());
  if (!url) return;
  if (context_.ids != nullptr) context_.ids->emplace_back(raw.id.view());
  const bool is_title_html = is_text_html || rules_.is_title_html;
  const bool is_content_html = is_text_html || rules_.is_content_html;
  Hit& hit = list_.hits.emplace_back(
      std::move(*url), shown_text(raw.title.view(), is_title_html, kMaxTitleBytes, context_),
      shown_text(raw.content.view(), is_content_html, kMaxSnippetBytes, context_));
  if (!raw.published.empty()) hit.published = clean_date(raw.published.view(), context_.now);
  if (!raw.language.empty()) hit.language = language_tag(raw.language.view());
  if (!raw.thumbnail.empty()) hit.thumbnail = linked_url(raw.thumbnail.view(), context_.url).value_or("");
  if (double score = 0; !raw.score.empty() && clean_number(raw.score.view(), score)) hit.score = score;
  hit.kind = rules_.kind;
  for (std::size_t i = 0; i < raw.details.size(); ++i)
    if (std::string text = clean_detail(rules_.details[i].first, raw.details[i].view(), context_);
        !text.empty())
      hit.details.emplace_back(rules_.details[i].first, std::move(text));
}

void HitBuilder::append_zipped(
    const std::function<std::vector<PartText>(const std::string& path)>& texts_at) {
  const auto all = [&](const PartRule& rule) {
    return rule.empty() ? std::vector<PartText>() : texts_at(rule.first());
  };
  const auto urls = all(rules_.url), titles = all(rules_.title), contents = all(rules_.content);
  for (std::size_t i = 0; i < urls.size(); ++i) {
    RawHit raw;
    raw.url = with_prefix(rules_.url_prefix, urls[i]);
    if (i < titles.size()) raw.title = titles[i];
    if (i < contents.size()) raw.content = contents[i];
    append(raw, false);
  }
}

void append_suggestion(RankedList& list, std::string_view text, const AnswerContext& context) {
  std::string cleaned = shown_text(text, false, kMaxTitleBytes, context);
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
