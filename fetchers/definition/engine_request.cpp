#include "fetchers/definition/engine_request.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <pugixml.hpp>

#include "core/ascii.h"
#include "core/encoding.h"
#include "core/json.h"
#include "core/url_text.h"
#include "core/utf8.h"
#include "fetchers/definition/request_template.h"

namespace metafuse::fetchers {
namespace {

constexpr int kAssumedPageSize = 10;
constexpr int kMostPages = 5;
constexpr std::string_view kRedacted = "REDACTED";

Duration seconds(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

/// Replaces every "${NAME}". False when a secret is not set; `missing` is its name then.
bool fill_secrets(std::string& text, const SecretLookup& secret_of, std::string& missing) {
  for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) return true;
    const std::string name = text.substr(at + 2, end - at - 2);
    const auto value = secret_of ? secret_of(name) : std::optional<std::string>(kRedacted);
    if (!value) {
      missing = name;
      return false;
    }
    text.replace(at, end + 1 - at, *value);
    at += value->size();
  }
  return true;
}

bool fill_all(HttpAccess& access, const SecretLookup& secret_of, std::string& missing) {
  const auto fill_url = [&](std::string& text) {
    const SecretLookup encoded = [&](std::string_view name) -> std::optional<std::string> {
      const auto value = secret_of ? secret_of(name) : std::optional<std::string>(kRedacted);
      return value ? std::optional(percent_encoded(*value)) : std::nullopt;
    };
    return fill_secrets(text, encoded, missing);
  };
  const auto fill = [&](std::string& text) { return fill_secrets(text, secret_of, missing); };
  const auto fill_body = [&](std::string& text) {
    const SecretLookup doubled = [&](std::string_view name) -> std::optional<std::string> {
      const auto value = secret_of ? secret_of(name) : std::optional<std::string>(kRedacted);
      return value ? std::optional(with_doubled_braces(*value)) : std::nullopt;
    };
    return fill_secrets(text, doubled, missing);
  };
  bool is_filled = fill_url(access.url) && fill_url(access.description_url) && fill_body(access.body) &&
                   fill(access.username) && fill(access.password);
  for (StringPairs* fields : {&access.headers, &access.cookies})
    for (auto& [name, value] : *fields) is_filled = is_filled && fill(value);
  return is_filled;
}

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

/// Values of URL parameters that are secrets by their names.
std::string without_secret_parameters(std::string url) {
  constexpr std::array<std::string_view, 7> kNames = {
      "key=", "api_key=", "apikey=", "token=", "access_token=", "password=", "secret="};
  for (std::size_t at = url.find('?'); at != std::string::npos; at = url.find('&', at + 1)) {
    const auto name = std::find_if(kNames.begin(), kNames.end(), [&](std::string_view one) {
      return url.compare(at + 1, one.size(), one) == 0;
    });
    if (name == kNames.end()) continue;
    const std::size_t begin = at + 1 + name->size();
    const std::size_t end = std::min(url.find_first_of("&#", begin), url.size());
    url.replace(begin, end - begin, kRedacted);
  }
  return url;
}

std::string value_of(const StringPairs& pairs, std::string_view key) {
  for (const auto& [name, value] : pairs)
    if (name == key) return value;
  return {};
}

std::string time_range_piece(const HttpAccess& access, const FetchOptions& options) {
  const std::string value = value_of(access.time_ranges, options.time_range);
  if (!access.has_time_range || options.time_range.empty() || value.empty()) return {};
  constexpr std::string_view kMarker = "{time_range_val}";
  std::string piece = access.time_range_url;
  if (const std::size_t at = piece.find(kMarker); at != std::string::npos)
    piece.replace(at, kMarker.size(), value);
  return piece;
}

/// "a,b" as "\"a\",\"b\"".
std::string json_strings(std::string_view list) {
  std::string out;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end > 0) out += (out.empty() ? "" : ",") + to_text(Json(to_valid_utf8(list.substr(0, end))));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return out;
}

RequestValues values_of(const HttpAccess& access, std::string_view query, const FetchOptions& options,
                        int page) {
  RequestValues values;
  const int offset = (options.page - 1) * options.depth;
  values.query = query;
  values.pageno = std::to_string((page - 1) * access.page_size + access.first_page);
  values.lang = request_language(access, options);
  values.time_range = time_range_piece(access, options);
  if (access.has_safe_search)
    values.safe_search = value_of(access.safe_search, std::to_string(options.safe_search));
  values.offset = std::to_string(offset);
  values.start = std::to_string(offset + 1);
  values.count = std::to_string(options.depth);
  if (access.body.find("{query_") == std::string::npos) return values;
  const FieldQuery parts = field_query(query);
  values.query_field = parts.field.empty() ? "*" : parts.field;
  values.query_value = parts.value;
  values.query_values = json_strings(parts.value);
  return values;
}

bool has_placeholder(const HttpAccess& access, std::string_view placeholder) {
  return access.url.find(placeholder) != std::string::npos ||
         access.body.find(placeholder) != std::string::npos;
}

void set_common(HttpRequest& request, const Engine& engine, const ReadyAccess& ready) {
  const HttpAccess& access = ready.access;
  request.engine = engine.name;
  request.own_origin = ready.own_origin;
  request.own_host = ready.own_host;
  request.username = access.username;
  request.password = access.password;
  request.ca_file = access.ca_file;
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
                     [&](const auto& header) { return ascii_lower(header.first) == ascii_lower(name); });
}

void set_headers(HttpRequest& request, const HttpAccess& access, const FetchOptions& options,
                 const std::string& content_type) {
  request.headers = access.headers;
  const auto preset = [&](const std::string& name, const std::string& value) {
    if (!has_header(request.headers, name)) request.headers.emplace_back(name, value);
  };
  preset("User-Agent", "metafuse/0.1");
  switch (access.answer.format) {
    case AnswerRules::Format::json:
    case AnswerRules::Format::groonga:
      preset("Accept", "application/json");
      break;
    case AnswerRules::Format::xml:
      preset("Accept",
             "application/rss+xml, application/atom+xml, application/xml, text/xml;q=0.9, */*;q=0.5");
      break;
    case AnswerRules::Format::html:
      preset("Accept", "text/html, application/xhtml+xml, */*;q=0.5");
      break;
  }
  const std::string language = request_language(access, options);
  if (!language.empty() && language != "all" && language != "*") preset("Accept-Language", language);
  if (!request.body.empty()) preset("Content-Type", content_type);
  if (!access.cookies.empty()) {
    std::string cookie;
    for (const auto& [name, value] : access.cookies)
      cookie += (cookie.empty() ? "" : "; ") + name + "=" + value;
    request.headers.emplace_back("Cookie", cookie);
  }
  if (access.is_federation) request.headers.emplace_back(kHopHeader, std::to_string(options.hops + 1));
}

std::string content_type_of(const HttpAccess& access) {
  if (!access.content_type.empty()) return access.content_type;
  for (const auto& [name, value] : access.headers)
    if (ascii_lower(name) == "content-type") return value;
  switch (body_quoting(access.body, "")) {
    case Quoting::json:
      return "application/json";
    case Quoting::xml:
      return "application/xml";
    default:
      return "application/x-www-form-urlencoded";
  }
}

}  // namespace

Result<ReadyAccess> ready_access(const Engine& engine, const SecretLookup& secret_of) {
  const auto& access = std::get<HttpAccess>(engine.access);
  ReadyAccess ready{access, access, {}, {}};
  std::string missing;
  fill_all(ready.redacted, nullptr, missing);
  if (!fill_all(ready.access, secret_of, missing))
    return fail(Code::bad_config, "the engine \"" + engine.name + "\" needs the secret " + missing +
                                      "; set the environment variable or put a file of that name into the "
                                      "credentials folder");
  const std::string& literal = access.description_url.empty() ? access.url : access.description_url;
  const std::size_t host_end = literal.find_first_of("/?", std::min(literal.find("://") + 3, literal.size()));
  const std::string host = literal.substr(0, host_end);
  if (host.find('{') == std::string::npos)
    if (const auto parts = parts_of_url(host + "/")) ready.own_origin = parts->origin();
  return ready;
}

std::string request_language(const HttpAccess& access, const FetchOptions& options) {
  const std::string& wanted = options.language;
  const bool is_tag = !wanted.empty() && wanted != "all" && wanted.size() <= 16 &&
                      std::all_of(wanted.begin(), wanted.end(), is_word_char);
  return is_tag ? wanted : access.default_language;
}

PagePlan plan_pages(const HttpAccess& access, const FetchOptions& options) {
  PagePlan plan;
  const bool has_own_window = has_placeholder(access, "{count}");
  const bool has_offset = has_placeholder(access, "{offset}") || has_placeholder(access, "{start}");
  plan.first = options.page;
  if (has_own_window && has_offset) return plan;
  if (!access.has_paging || (!has_placeholder(access, "{pageno}") && !has_offset)) {
    plan.is_beyond_end = options.page > 1;
    return plan;
  }
  if (has_own_window) return plan;
  const int size = access.results_per_page > 0 ? access.results_per_page : kAssumedPageSize;
  plan.count = std::clamp((options.depth + size - 1) / size, 1, kMostPages);
  plan.first = (options.page - 1) * plan.count + 1;
  plan.is_sequential = access.results_per_page == 0;
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

HttpRequest build_request(const Engine& engine, const ReadyAccess& ready, std::string_view query,
                          const FetchOptions& options, int page) {
  HttpRequest request;
  set_common(request, engine, ready);
  const std::string content_type = content_type_of(ready.access);
  const Quoting quoting = body_quoting(ready.access.body, content_type);
  const RequestValues values = values_of(ready.access, query, options, page);
  request.method = ready.access.method;
  request.url = fill_url_template(ready.access.url, values);
  request.record_url = without_secret_parameters(
      ready.redacted.url == ready.access.url ? request.url : fill_url_template(ready.redacted.url, values));
  if (request.method == "POST") {
    request.body = fill_request_template(ready.access.body, values, quoting);
    request.record_body = fill_request_template(ready.redacted.body, values, quoting);
  }
  set_headers(request, ready.access, options, content_type);
  return request;
}

HttpRequest build_description_request(const Engine& engine, const ReadyAccess& ready) {
  HttpRequest request;
  set_common(request, engine, ready);
  request.url = ready.access.description_url;
  request.record_url = without_secret_parameters(ready.redacted.description_url);
  request.headers = ready.access.headers;
  request.headers.emplace_back("Accept", "application/opensearchdescription+xml, application/xml");
  return request;
}

namespace {

constexpr std::size_t kMaxDescriptionBytes = 256 * 1024;

std::string_view local_name(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  const std::size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

struct Parameter {
  std::string_view name;
  std::string_view placeholder;
};
constexpr std::array kParameters = {
    Parameter{"searchTerms", "{query}"}, Parameter{"count", "{count}"},
    Parameter{"startPage", "{pageno}"},  Parameter{"language", "{lang}"},
    Parameter{"inputEncoding", "UTF-8"}, Parameter{"outputEncoding", "UTF-8"}};

/// "{searchTerms}" as "{query}" and so on; empty when a required parameter is none that we know.
///
/// source: OpenSearch 1.1 draft 6, URL template syntax
std::string translated(std::string_view text, int index_offset) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    const std::size_t close = text.find('}', open);
    if (open == std::string_view::npos || close == std::string_view::npos) return out + std::string(text);
    out += text.substr(0, open);
    std::string_view name = text.substr(open + 1, close - open - 1);
    text.remove_prefix(close + 1);
    const bool is_optional = name.ends_with('?');
    if (is_optional) name.remove_suffix(1);
    bool is_known = name == "startIndex";
    if (is_known) out += index_offset == 0 ? "{offset}" : "{start}";
    for (const Parameter& parameter : kParameters)
      if (parameter.name == name) {
        out += parameter.placeholder;
        is_known = true;
      }
    if (!is_known && !is_optional) return {};
  }
  return out;
}

/// How gladly answers of a type are read; 0 for those that cannot be.
int preference(std::string_view type, const AnswerRules& rules) {
  if (type.find("atom+xml") != std::string_view::npos) return 3;
  if (type.find("rss+xml") != std::string_view::npos) return 4;
  if (type == "application/xml" || type == "text/xml") return rules.results.empty() ? 0 : 2;
  return 0;
}

}  // namespace

Result<void> apply_description(ReadyAccess& ready, std::string_view text) {
  if (text.size() > kMaxDescriptionBytes)
    return fail(Code::bad_data, "a description document of more than 256 KB");
  const std::string valid = to_valid_utf8(text);
  pugi::xml_document document;
  if (!document.load_buffer(valid.data(), valid.size()) ||
      local_name(document.document_element()) != "OpenSearchDescription")
    return fail(Code::bad_data, "no OpenSearch description document at " + ready.redacted.description_url);
  int best = 0;
  std::string found;
  for (const pugi::xml_node& node : document.document_element().children()) {
    if (local_name(node) != "Url") continue;
    const std::string_view rel = node.attribute("rel").as_string("results");
    const int worth = preference(node.attribute("type").as_string(), ready.access.answer);
    if (worth <= best || rel.find("results") == std::string_view::npos) continue;
    std::string url =
        translated(node.attribute("template").as_string(), node.attribute("indexOffset").as_int(1));
    if (url.empty() || !check_url_template(url, true)) continue;
    best = worth;
    found = std::move(url);
  }
  if (found.empty())
    return fail(Code::bad_data,
                "the description document names no RSS or Atom answers that need a query only");
  ready.access.url = found;
  ready.redacted.url = found;
  return {};
}

}  // namespace metafuse::fetchers
