#include "fetchers/engines/http/engine_request.h"

#include <algorithm>
#include <array>

#include "core/encoding.h"
#include "core/json.h"
#include "core/text.h"
#include "fetchers/answers/part_text.h"
#include "fetchers/http/answer_headers.h"
#include "fetchers/http/request_template.h"

namespace metafuse::fetchers {
namespace {

constexpr int kAssumedPageSize = 10;
constexpr int kMostPages = 5;
constexpr const char* kRedactedToken = "REDACTED";

Duration seconds(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

std::string value_of(const StringPairs& pairs, std::string_view key) {
  for (const auto& [name, value] : pairs)
    if (name == key) return value;
  return {};
}

std::string time_range_piece(const HttpAccess& access, const FetchOptions& options) {
  const std::string value = value_of(access.time_ranges.values, options.time_range);
  if (!access.time_ranges.is_on || options.time_range.empty() || value.empty()) return {};
  constexpr std::string_view kMarker = "{time_range_val}";
  std::string piece = access.time_ranges.url;
  if (const std::size_t at = piece.find(kMarker); at != std::string::npos)
    piece.replace(at, kMarker.size(), value);
  return piece;
}

/// Turns "a,b" into "\"a\",\"b\"".
std::string json_strings(std::string_view list) {
  std::string out;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end > 0) out += (out.empty() ? "" : ",") + to_text(Json(to_valid_utf8(list.substr(0, end))));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return out;
}

/// Joins the identifiers that an earlier step found. If they are quoted, an identifier cannot break out of
/// its quotation marks.
std::string joined_ids(const std::vector<std::string>& ids, const LookupStep& step) {
  std::string out;
  for (const std::string& id : ids) {
    if (!out.empty()) out += step.separator;
    out += step.is_quoted ? to_text(Json(to_valid_utf8(id))) : id;
  }
  return out;
}

void set_found(RequestValues& values, const Found& found, const LookupStep* finder) {
  values.cursor = found.cursor;
  values.vector = found.vector;
  if (finder == nullptr) return;
  values.ids = joined_ids(found.ids, *finder);
  for (const std::string& id : found.ids)
    values.id_values += (values.id_values.empty() ? "" : ",") + to_text(Json(to_valid_utf8(id)));
  if (!found.ids.empty()) values.id = found.ids.front();
}

bool has_placeholder(const HttpAccess& access, std::string_view placeholder) {
  return access.url.find(placeholder) != std::string::npos ||
         access.body.find(placeholder) != std::string::npos;
}

/// How many results a page of the engine has. A request that says how many it wants asks for all of `depth`,
/// and so does one that lookup steps prepare.
int page_size(const HttpAccess& access, const FetchOptions& options) {
  if (has_placeholder(access, "{count}") || !access.steps.empty()) return options.depth;
  return access.paging.results_per_page > 0 ? access.paging.results_per_page : kAssumedPageSize;
}

RequestValues values_of(const HttpAccess& access, std::string_view query, const FetchOptions& options,
                        int page) {
  RequestValues values;
  const int offset = (page - 1) * page_size(access, options);
  values.query = query;
  if (page > 1 || !access.paging.omits_first_number)
    values.pageno = std::to_string((page - 1) * access.paging.page_size + access.paging.first_page);
  values.lang = language_value(access, options);
  values.locale = request_language(access, options);
  values.time_range = time_range_piece(access, options);
  if (access.safe_search.is_on)
    values.safe_search = value_of(access.safe_search.urls, std::to_string(options.safe_search));
  values.offset = std::to_string(offset);
  values.start = std::to_string(offset + 1);
  values.callers_token = callers_token(access.auth, options);
  values.count = std::to_string(options.depth);
  if (const auto groups = query_groups(access, query)) {
    std::string* const places[] = {&values.query_1, &values.query_2, &values.query_3};
    for (std::size_t i = 0; i < groups->size() && i < std::size(places); ++i) *places[i] = (*groups)[i];
  }
  if (access.body.find("{query_") == std::string::npos) return values;
  const FieldQuery parts = field_query(query);
  values.query_field = parts.field.empty() ? "*" : parts.field;
  values.query_value = parts.value;
  values.query_values = json_strings(parts.value);
  return values;
}

void set_common(EngineRequest& request, const Engine& engine, const ReadyAccess& ready) {
  const HttpAccess& access = ready.access;
  request.engine = engine.name;
  request.own_origin = ready.own_origin;
  request.own_host = ready.own_host;
  request.secrets = ready.access.secrets;
  request.username = access.username;
  request.password = access.password;
  request.ca_file = access.ca_file;
  request.certificate_file = access.certificate_file;
  request.key_file = access.key_file;
  request.proxy = access.proxy;
  request.verifies_certificates = access.verifies_certificates;
  request.timeout = seconds(engine.timeout_seconds);
  request.connect_timeout = seconds(engine.connect_seconds);
  request.first_byte_timeout = seconds(engine.first_byte_seconds);
  request.max_bytes = engine.max_bytes;
  request.max_redirects = access.max_redirects;
  request.max_connections = engine.max_connections;
  request.requests_per_second = engine.requests_per_second;
}

bool has_header(const StringPairs& headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& header) { return equal_ignoring_case(header.first, name); });
}

constexpr const char* kAccepted[] = {  // in the order of AnswerRules::Format
    "application/json",
    "application/rss+xml, application/atom+xml, application/xml, text/xml;q=0.9, */*;q=0.5",
    "text/html, application/xhtml+xml, */*;q=0.5", "application/json"};

void set_headers(EngineRequest& request, const HttpAccess& access, const FetchOptions& options,
                 AnswerRules::Format format, const std::string& content_type) {
  request.headers = access.headers;
  const auto preset = [&](const std::string& name, const std::string& value) {
    if (!has_header(request.headers, name)) request.headers.emplace_back(name, value);
  };
  preset("User-Agent", "metafuse/0.1");
  preset("Accept", kAccepted[static_cast<std::size_t>(format)]);
  const std::string language = request_language(access, options);
  if (!language.empty() && language != "all" && language != "*") preset("Accept-Language", language);
  if (!request.body.empty()) preset("Content-Type", content_type);
  add_cookies(request.headers, access.cookies);
  if (access.is_federation) request.headers.emplace_back(kHopHeader, std::to_string(options.hops + 1));
}

std::string content_type_of(const std::string& declared, const StringPairs& headers,
                            const std::string& body) {
  if (!declared.empty()) return declared;
  for (const auto& [name, value] : headers)
    if (equal_ignoring_case(name, "content-type")) return value;
  const Quoting quoting = body_quoting(body, "");
  if (quoting == Quoting::json) return "application/json";
  return quoting == Quoting::xml ? "application/xml" : "application/x-www-form-urlencoded";
}

}  // namespace

std::string callers_token(const Authorization& auth, const FetchOptions& options) {
  constexpr std::string_view kScheme = "bearer ";
  for (const auto& [name, value] : options.forwarded) {
    if (auth.callers_header.empty() || !equal_ignoring_case(name, auth.callers_header)) continue;
    const bool has_scheme = ascii_lower(value.substr(0, kScheme.size())) == kScheme;
    return std::string(ascii_trimmed(std::string_view(value).substr(has_scheme ? kScheme.size() : 0)));
  }
  return {};
}

std::string request_language(const HttpAccess& access, const FetchOptions& options) {
  const std::string& wanted = options.language;
  const bool is_tag = !wanted.empty() && wanted != "all" && wanted.size() <= 16 &&
                      std::all_of(wanted.begin(), wanted.end(), is_word_char);
  return is_tag ? wanted : access.default_language;
}

std::string language_value(const HttpAccess& access, const FetchOptions& options) {
  const std::string tag = request_language(access, options);
  const std::string language = ascii_lower(tag.substr(0, tag.find('-')));
  if (access.languages.empty()) return tag.find('-') == 2 || tag.find('-') == 3 ? language : tag;
  for (const std::string& wanted : {ascii_lower(tag), language, std::string("*")})
    for (const auto& [name, value] : access.languages)
      if (equal_ignoring_case(name, wanted)) return value;
  return access.default_language == "all" ? std::string() : access.default_language;
}

namespace {

/// Pages reached by a cursor must be fetched from the first one on.
PagePlan plan_by_cursor(const HttpAccess& access, const FetchOptions& options) {
  PagePlan plan;
  const int size = page_size(access, options);
  plan.skipped = (options.page - 1) * options.depth;
  plan.is_beyond_end = plan.skipped >= kMostPages * size;
  plan.count = std::clamp((plan.skipped + options.depth + size - 1) / size, 1, kMostPages);
  plan.is_sequential = true;
  return plan;
}

/// The first step, or the request that uses its identifiers, selects the window.
PagePlan plan_of_steps(const HttpAccess& access, const FetchOptions& options) {
  const LookupStep& step = access.steps.front();
  PagePlan plan;
  plan.first = options.page;
  const auto has = [&](std::string_view name) {
    return step.url.find(name) != std::string::npos || step.body.find(name) != std::string::npos ||
           has_placeholder(access, name);
  };
  plan.is_beyond_end = options.page > 1 && !has("{pageno}") && !has("{offset}") && !has("{start}");
  return plan;
}

}  // namespace

std::optional<std::vector<std::string>> query_groups(const HttpAccess& access, std::string_view query) {
  if (access.query_pattern.empty()) return std::nullopt;
  auto groups = matched_groups(access.query_pattern, query);
  if (!groups) return std::nullopt;
  for (std::string& group : *groups)
    if (const std::string value = value_of(access.query_values, ascii_lower(group)); !value.empty())
      group = value;
  return groups;
}

PagePlan plan_pages(const HttpAccess& access, const FetchOptions& options, int seen_size) {
  if (access.paging.next.is_followed()) return plan_by_cursor(access, options);
  if (!access.steps.empty()) return plan_of_steps(access, options);
  PagePlan plan;
  const bool has_own_window = has_placeholder(access, "{count}");
  const bool has_offset = has_placeholder(access, "{offset}") || has_placeholder(access, "{start}");
  plan.first = options.page;
  if (has_own_window && has_offset) return plan;
  if (!access.paging.is_on || (!has_placeholder(access, "{pageno}") && !has_offset)) {
    plan.is_beyond_end = options.page > 1;
    return plan;
  }
  if (has_own_window) return plan;
  const int size = page_size(access, options);
  plan.is_sequential = access.paging.results_per_page == 0;
  // Earlier windows ended where theirs did: within a page, or behind the most pages of one window.
  const int depth = std::min(options.depth, kMostPages * size);
  const int begin = (options.page - 1) * depth;
  // An offset leads to the same result whatever the size of pages is; a number counts pages as they are.
  const int real_size = plan.is_sequential && !has_offset ? std::max(size, seen_size) : size;
  plan.first = begin / real_size + 1;
  plan.skipped = begin % real_size;
  plan.count = std::min((plan.skipped + depth + size - 1) / size, kMostPages + (plan.skipped > 0 ? 1 : 0));
  return plan;
}

FieldQuery field_query(std::string_view query) {
  const std::size_t colon = query.find(':');
  const bool has_field =
      colon != std::string_view::npos && colon > 0 && colon + 1 < query.size() && query[colon + 1] != ' ' &&
      query[colon + 1] != '/' &&
      std::all_of(query.begin(), query.begin() + static_cast<std::ptrdiff_t>(colon),
                  [](char c) { return is_word_char(c) || c == '_' || c == '.' || c == '@'; });
  if (!has_field) return {"", std::string(query)};
  return {std::string(query.substr(0, colon)), std::string(query.substr(colon + 1))};
}

namespace {

/// The templates of one request: the engine's own, a step's, or the next page's.
struct Templates {
  const std::string& method;
  const std::string& url;
  const std::string& body;
  const std::string& redacted_url;
  const std::string& redacted_body;
  std::string content_type;
  AnswerRules::Format format;
};

EngineRequest filled_request(const Engine& engine, const ReadyAccess& ready, const Templates& templates,
                             const RequestValues& values, const FetchOptions& options) {
  EngineRequest request;
  set_common(request, engine, ready);
  request.sender = options.sender;
  const Quoting quoting = body_quoting(templates.body, templates.content_type);
  request.method = templates.method;
  request.url = fill_url_template(templates.url, values);
  request.record_url = without_secret_parameters(templates.redacted_url == templates.url
                                                     ? request.url
                                                     : fill_url_template(templates.redacted_url, values));
  if (request.method == "POST") {
    request.body = fill_request_template(templates.body, values, quoting);
    RequestValues shown = values;
    if (!shown.callers_token.empty()) shown.callers_token = kRedactedToken;
    request.record_body = fill_request_template(templates.redacted_body, shown, quoting);
  }
  set_headers(request, ready.access, options, templates.format, templates.content_type);
  const std::pair<std::string_view, const std::string*> inserted[] = {
      {"{ids}", &values.ids}, {"{lang}", &values.lang}, {"{locale}", &values.locale}};
  for (auto& [name, value] : request.headers)
    for (const auto& [placeholder, text] : inserted)
      if (const std::size_t at = value.find(placeholder); at != std::string::npos)
        value.replace(at, placeholder.size(), *text);
  return request;
}

}  // namespace

EngineRequest build_request(const Engine& engine, const ReadyAccess& ready, std::string_view query,
                            const FetchOptions& options, int page, const Found& found) {
  const HttpAccess& access = ready.access;
  const bool is_next = !found.cursor.empty() && !found.is_address;
  const auto chosen = [&](const HttpAccess& from, std::string NextPage::*next,
                          std::string HttpAccess::*own) -> const std::string& {
    return is_next && !(from.paging.next.*next).empty() ? from.paging.next.*next : from.*own;
  };
  RequestValues values = values_of(access, query, options, page);
  set_found(values, found, access.steps.empty() ? nullptr : &access.steps.back());
  const std::string& body = chosen(access, &NextPage::body, &HttpAccess::body);
  EngineRequest request =
      filled_request(engine, ready,
                     {chosen(access, &NextPage::method, &HttpAccess::method),
                      chosen(access, &NextPage::url, &HttpAccess::url), body,
                      chosen(ready.redacted, &NextPage::url, &HttpAccess::url),
                      chosen(ready.redacted, &NextPage::body, &HttpAccess::body),
                      content_type_of(access.content_type, access.headers, body), access.answer.format},
                     values, options);
  if (found.is_address) {
    request.method = "GET";
    request.url = found.cursor;
    request.record_url = without_secret_parameters(found.cursor);
    redact(request.record_url, access.secrets);
    request.body.clear();
    request.record_body.clear();
  }
  return request;
}

EngineRequest build_step_request(const Engine& engine, const ReadyAccess& ready, std::string_view query,
                                 const FetchOptions& options, std::size_t index, const Found& found) {
  const HttpAccess& access = ready.access;
  const LookupStep& step = access.steps[index];
  const LookupStep& redacted = ready.redacted.steps[index];
  RequestValues values = values_of(access, query, options, options.page);
  set_found(values, found, index == 0 ? nullptr : &access.steps[index - 1]);
  return filled_request(engine, ready,
                        {step.method, step.url, step.body, redacted.url, redacted.body,
                         content_type_of(step.content_type, {}, step.body), step.format},
                        values, options);
}

EngineRequest build_description_request(const Engine& engine, const ReadyAccess& ready) {
  EngineRequest request;
  set_common(request, engine, ready);
  request.url = ready.access.description_url;
  request.record_url = without_secret_parameters(ready.redacted.description_url);
  request.headers = ready.access.headers;
  request.headers.emplace_back("Accept", "application/opensearchdescription+xml, application/xml");
  return request;
}

}  // namespace metafuse::fetchers
