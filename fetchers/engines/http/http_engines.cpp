// Readers of engine definitions for HTTP: the keys that all such engines share, the engines whose answers are
// described by paths (JSON, HTML, XML), and other meta-search servers.

#include <algorithm>

#include "core/field_value.h"
#include "core/json.h"
#include "core/private_key.h"
#include "core/text_file.h"
#include "core/url.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/answers/part_text.h"
#include "fetchers/answers/redirect_links.h"
#include "fetchers/engines/http/http_readers.h"
#include "fetchers/http/request_template.h"

namespace metafuse::fetchers {
namespace {
using Format = AnswerRules::Format;
}  // namespace

bool is_header_name(std::string_view text) {
  return is_made_of(text, kLettersAndDigits, "!#$%&'*+-.^_`|~");
}

void check_path(EngineBlock& block, Format format, const Place& place, const std::string& path) {
  if (const auto checked = check_answer_path(format, path); !checked)
    block.diagnostics.error(place, checked.error().text);
}

namespace {

/// The key of a part: `title_query`, or `title_xpath` for XML and HTML answers.
std::string path_key(Format format, std::string_view part) {
  return std::string(part) + (format == Format::xml || format == Format::html ? "_xpath" : "_query");
}

void take_path(EngineBlock& block, Format format, std::string_view part, std::string& path) {
  const std::string key = path_key(format, part);
  const YamlNode* node = block.map.take(key);
  block.take(key, path);
  if (node != nullptr && !path.empty()) check_path(block, format, node->place, path);
}

/// Takes `values`, `replace` and similar maps in which the order counts.
StringPairs take_pairs(EngineBlock& block, std::string_view key) {
  return block.map.take_string_map(key);
}

/// Takes `{join: [...], with: ", "}` or `{path: ...}`, either with pattern, take, replace and values.
void take_part_map(EngineBlock& block, const YamlNode& node, const std::string& key, PartRule& read) {
  EngineBlock part = block.inner(node, key);
  if (part.map.take("join") != nullptr) {
    read.paths = part.texts("join");
    read.separator = part.text("with", " ");
    read.is_joined = true;
  } else if (const YamlNode* path = part.map.take_required("path")) {
    read.paths = part.texts("path");
    read.has_fallbacks = path->is_list();
  }
  part.take("pattern", read.pattern);
  if (!read.pattern.empty()) part.check("pattern", check_pattern(read.pattern));
  part.take("take", read.taken);
  const bool is_pattern_right = !read.pattern.empty() && check_pattern(read.pattern).has_value();
  if (!read.taken.empty() && read.pattern.empty())
    part.error_at("take", key + ": take needs a pattern");
  else if (!read.taken.empty() && is_pattern_right)
    part.check("take", check_rewrite(read.pattern, read.taken));
  read.replaced = take_pairs(part, "replace");
  for (const auto& [pattern, replacement] : read.replaced) {
    const auto checked = check_pattern(pattern);
    const auto rewrite = checked ? check_rewrite(pattern, replacement) : Result<void>();
    if (!checked || !rewrite)
      part.error_at("replace", key + ": replace: " + (checked ? rewrite.error().text : checked.error().text));
  }
  read.values = take_pairs(part, "values");
  part.map.finish();
}

/// Takes a part's path, a list of paths that are tried in turn, or `{join: [...], with: ", "}`.
void take_part(EngineBlock& block, Format format, std::string_view part, PartRule& rule) {
  const std::string key = path_key(format, part);
  const YamlNode* node = block.map.take(key);
  if (node == nullptr) return;
  PartRule read;
  if (node->is_map()) {
    take_part_map(block, *node, key, read);
  } else {
    read.paths = block.texts(key);
    read.has_fallbacks = node->is_list();
  }
  std::erase(read.paths, "");
  for (const std::string& path : read.paths) check_path(block, format, node->place, path);
  rule = std::move(read);
}

/// Takes `unwrap`: rules for redirect links that are tried before the built-in ones, or false to leave all
/// links alone.
void take_unwrap(EngineBlock& block, AnswerRules& rules) {
  const YamlNode* node = block.map.take("unwrap");
  if (node == nullptr) return;
  if (node->is_scalar()) return block.take("unwrap", rules.unwraps_links);
  if (!node->is_list())
    return block.error_at("unwrap", "unwrap must be a list of {match: ..., parameter: ...}, or false");
  for (const YamlNode& item : node->items) {
    YamlMap map(item, "an unwrap rule", block.diagnostics);
    UnwrapRule rule{map.take_required_string("match"), map.take_required_string("parameter")};
    if (item.is_map()) map.finish();
    if (const auto checked = check_unwrap_rule(rule); !checked && item.is_map())
      block.diagnostics.error(item.place, checked.error().text);
    rules.unwrap.push_back(std::move(rule));
  }
}

/// Checks the paths inside "https://host/{path}".
void check_url_format(EngineBlock& block, const AnswerRules& rules, const std::string& format) {
  const YamlNode* node = block.map.take("url_format");
  if (node == nullptr) return;
  const std::size_t slash = format.find('/', std::min(format.find("://") + 3, format.size()));
  for (std::size_t at = format.find('{'); at != std::string::npos; at = format.find('{', at + 1)) {
    const std::size_t end = format.find('}', at);
    if (end == std::string::npos) return block.error_at("url_format", "url_format: a { without a closing }");
    std::string path = format.substr(at + 1, end - at - 1);
    if (path.ends_with("|_") || path.ends_with("|raw")) path.erase(path.rfind('|'));
    if (slash == std::string::npos || at < slash) {
      if (path != "lang")
        return block.error_at("url_format",
                              "url_format: {" + path + "} must come after the host, in the path or query");
      continue;
    }
    check_path(block, rules.format, node->place, path);
  }
}

/// Takes `url_format`: a text, or a list of `{when: PATH, is: VALUE, format: TEXT}` with a text at its end.
void take_url_formats(EngineBlock& block, AnswerRules& rules) {
  const YamlNode* node = block.map.take("url_format");
  if (node == nullptr) return;
  if (!node->is_list()) {
    block.take("url_format", rules.url_format);
    return check_url_format(block, rules, rules.url_format);
  }
  for (const YamlNode& item : node->items) {
    if (item.is_scalar()) {
      rules.url_format = item.text;
      check_url_format(block, rules, item.text);
      continue;
    }
    EngineBlock chosen = block.inner(item, "an url_format");
    if (!item.is_map()) continue;
    ChosenFormat format{chosen.map.take_required_string("when"), chosen.text("is"),
                        chosen.map.take_required_string("format")};
    chosen.map.finish();
    check_path(block, rules.format, item.place, format.path);
    check_url_format(block, rules, format.format);
    rules.chosen_formats.push_back(std::move(format));
  }
}

/// Takes the keys that say where JSON or HTML is inside an answer.
void take_inside(EngineBlock& block, AnswerRules& rules) {
  if (rules.format == Format::html) {
    block.take("html_query", rules.inside.html_query);
    if (!rules.inside.html_query.empty())
      block.check("html_query", check_answer_path(Format::json, rules.inside.html_query));
  }
  if (rules.format != Format::json) return;
  block.take("json_after", rules.inside.json_after);
  block.take("json_xpath", rules.inside.json_xpath);
  block.take("json_query", rules.inside.json_query);
  if (!rules.inside.json_xpath.empty())
    block.check("json_xpath", check_answer_path(Format::html, rules.inside.json_xpath));
  if (!rules.inside.json_query.empty())
    block.check("json_query", check_answer_path(Format::json, rules.inside.json_query));
}

/// Takes `kind`, and the parts that only results of a kind have: `image_query`, `length_query` and so on.
void take_kind(EngineBlock& block, AnswerRules& rules) {
  const std::string name = block.text("kind", "page");
  if (const auto kind = result_kind_named(name)) {
    rules.kind = *kind;
  } else {
    std::string known;
    for (const ResultKindRow& row : result_kinds())
      known += (known.empty() ? "" : ", ") + std::string(row.name);
    block.error_at("kind", "kind must be one of " + known);
  }
  for (const DetailRow& row : result_details()) {
    PartRule rule;
    take_part(block, rules.format, row.name, rule);
    if (!rule.empty()) rules.details.emplace_back(row.name, std::move(rule));
  }
}

void take_answer_keys(EngineBlock& block, AnswerRules& rules) {
  const Format format = rules.format;
  take_inside(block, rules);
  take_path(block, format, "results", rules.results);
  for (const ResultPart& part : kResultParts) take_part(block, format, part.name, rules.*part.rule);
  if (rules.thumbnail.empty() && format == Format::json)
    rules.thumbnail = block.text("thumbnail");  // its name in SearXNG's blocks
  take_part(block, format, "id", rules.id);
  take_kind(block, rules);
  rules.match.paths = block.texts("results_match");
  for (const std::string& path : rules.match.paths)
    check_path(block, format, block.map.take("results_match")->place, path);
  take_path(block, format, "suggestion", rules.suggestion);
  block.take("url_prefix", rules.url_prefix);
  block.take("thumbnail_prefix", rules.thumbnail_prefix);
  take_url_formats(block, rules);
  take_unwrap(block, rules);
  if (format == Format::html) return;
  block.take("title_html_to_text", rules.is_title_html);
  block.take("content_html_to_text", rules.is_content_html);
  block.take("results_optional", rules.may_lack_results);
}

std::vector<int> take_statuses(EngineBlock& block, std::string_view key) {
  std::vector<int> statuses;
  const YamlNode* node = block.map.take(key);
  if (node == nullptr) return statuses;
  const std::vector<YamlNode> one = {*node};
  for (const YamlNode& item : node->is_list() ? node->items : one) {
    const std::string& text = item.text;  // empty unless it is a scalar
    const bool is_status = text.size() == 3 && text[0] >= '1' && text[0] <= '5' &&
                           text.find_first_not_of("0123456789") == std::string::npos;
    if (is_status)
      statuses.push_back(std::stoi(text));
    else
      block.diagnostics.error(item.place, std::string(key) + " must be a list of HTTP statuses");
  }
  return statuses;
}

void take_choices(EngineBlock& block, HttpAccess& access) {
  block.take("time_range_support", access.time_ranges.is_on);
  block.take("time_range_url", access.time_ranges.url);
  if (block.map.take("time_range_map") != nullptr)
    access.time_ranges.values = block.map.take_string_map("time_range_map");
  block.take("safe_search_support", access.safe_search.is_on);
  block.take("safesearch", access.safe_search.is_on);  // SearXNG's name
  if (block.map.take("safe_search_map") != nullptr)
    access.safe_search.urls = block.map.take_string_map("safe_search_map");
  block.take("lang_all", access.default_language);
  access.languages = take_pairs(block, "lang_map");
  block.take("query_pattern", access.query_pattern);
  if (!access.query_pattern.empty()) block.check("query_pattern", check_pattern(access.query_pattern));
  access.query_values = take_pairs(block, "query_values");
}

void take_paging(EngineBlock& block, Paging& paging) {
  block.take("paging", paging.is_on);
  block.take("page_size", paging.page_size, 1, 1000);
  block.take("first_page_num", paging.first_page, 0, 1000);
  block.take("results_per_page", paging.results_per_page, 1, 1000);
  if (paging.results_per_page == 0 && paging.page_size > 1) paging.results_per_page = paging.page_size;
  if (auto flag = block.map.take_bool("send_page_num_on_first_page")) paging.omits_first_number = !*flag;
}

}  // namespace

StringPairs take_header_fields(EngineBlock& block, std::string_view key) {
  const YamlNode* node = block.map.take(key);
  StringPairs fields = block.map.take_string_map(key);
  for (const auto& [name, value] : fields)
    if (!is_header_name(name) || !is_field_value(value)) {
      const YamlNode* place = node == nullptr ? nullptr : node->find(name);
      block.diagnostics.error(
          place == nullptr ? block.map.place() : place->place,
          std::string(key) + ": \"" + name + "\" or its value is not valid in an HTTP header");
    }
  return fields;
}

void take_key_header(EngineBlock& block, HttpAccess& access, std::string_view header, std::string_view before,
                     std::string_view key) {
  if (const std::string value = block.text(key); !value.empty())
    access.headers.emplace_back(std::string(header), std::string(before) + value);
}

namespace {

/// Reads a required file now, so that a mistake is found before the first search; empty if it cannot be read.
std::string text_of_file(EngineBlock& block, std::string_view key, std::string& path, const char* what) {
  constexpr std::size_t kMaxPemBytes = std::size_t{1} << 20;
  path = block.required_path(key);
  if (path.empty()) return {};
  auto text = read_text(path, kMaxPemBytes);
  if (!text) block.error_at(key, std::string(what) + ": " + text.error().text);
  return text ? std::move(*text) : std::string();
}

}  // namespace

void take_certificates(EngineBlock& block, HttpAccess& access) {
  if (const YamlNode* verify = block.map.take("verify"); verify != nullptr && as_bool(*verify))
    access.verifies_certificates = *as_bool(*verify);
  else if (verify != nullptr)
    text_of_file(block, "verify", access.ca_file, "verify");
  const YamlNode* own = block.map.take("client_certificate");
  if (own == nullptr) return;
  EngineBlock reading = block.inner(*own, "client_certificate");
  if (!own->is_map()) return;
  constexpr const char* kClient = "client_certificate";
  const std::string certificate = text_of_file(reading, "certificate", access.certificate_file, kClient);
  const std::string key = text_of_file(reading, "key", access.key_file, kClient);
  if (!certificate.empty() && !key.empty())
    if (const auto checked = check_key_of_certificate(certificate, key); !checked)
      reading.error("client_certificate: " + checked.error().text);
  reading.map.finish();
}

void take_proxy(EngineBlock& block, HttpAccess& access) {
  std::string proxy = block.text("proxy");
  if (proxy.empty() || proxy == "direct") return;
  const std::size_t end = proxy.find("://");
  const std::string scheme = proxy.substr(0, std::min(end, proxy.size()));
  const bool is_known = scheme == "http" || scheme == "https" || scheme == "socks5" || scheme == "tor";
  const std::string rest = end == std::string::npos ? std::string() : proxy.substr(end + 3);
  const std::size_t at = rest.rfind('@');
  const auto parts = parts_of_url("http://" + rest.substr(at == std::string::npos ? 0 : at + 1) + "/");
  block.check("proxy", is_known && parts && parts->path_and_query == "/",
              "must be http://, https://, socks5:// or tor:// with a host and a port, or `direct`");
  access.proxy = std::move(proxy);
}

std::string take_base_url(EngineBlock& block, const std::string& preset) {
  if (preset.empty()) block.map.take_required("base_url");
  std::string url = block.text("base_url", preset);
  while (url.ends_with('/')) url.pop_back();
  block.check("base_url", check_url_template(url, false));
  return url;
}

void take_http_keys(EngineBlock& block, HttpAccess& access) {
  take_request_limits(block);
  take_request_body(block, access);
  for (auto& field : take_header_fields(block, "headers")) access.headers.push_back(std::move(field));
  for (auto& field : take_header_fields(block, "cookies")) access.cookies.push_back(std::move(field));
  block.take("username", access.username);
  block.take("password", access.password);
  take_authorization(block, access);
  take_paging(block, access.paging);
  take_choices(block, access);
  access.no_result_statuses = take_statuses(block, "no_result_for_http_status");
  if (auto count = block.map.take_integer("soft_max_redirects", 0, 10))
    access.max_redirects = std::min(3, *count == 0 ? 3 : static_cast<int>(*count));
  take_certificates(block, access);
  take_proxy(block, access);
  block.take("keep_cookies", access.keeps_cookies);
  block.take("price", access.price, 0, 1e6);
  take_answer_keys(block, access.answer);
  if (access.body.find("{callers_token}") != std::string::npos && access.auth.callers_header.empty())
    block.error("{callers_token} needs `auth: {callers_token: HEADER}`, the header that has the token");
}

namespace {

void take_search_url(EngineBlock& block, HttpAccess& access) {
  const YamlNode* node = block.map.take_required("search_url");
  block.take("search_url", access.url);
  if (node == nullptr || !node->is_scalar()) return;
  take_chained_requests(block, access);
  const bool is_elsewhere = access.body.find("{query") != std::string::npos || !access.steps.empty() ||
                            !access.answer.match.empty();
  block.check("search_url", check_url_template(access.url, !is_elsewhere));
}

void require_part(EngineBlock& block, const PartRule& part, std::string_view name, const AnswerRules& rules) {
  if (!part.empty() || (name == "url" && (!rules.url_format.empty() || !rules.chosen_formats.empty())))
    return;
  block.error("the engine \"" + block.engine.name + "\" lacks the key \"" + path_key(rules.format, name) +
              "\"");
}

/// A feed is read by what RSS and Atom call its parts; paths would have no effect.
void refuse_paths_of_feed(EngineBlock& block) {
  std::vector<std::string> keys = {"id_xpath",           "suggestion_xpath",    "thumbnail_prefix",
                                   "url_format",         "results_match",       "results_optional",
                                   "title_html_to_text", "content_html_to_text"};
  for (const ResultPart& part : kResultParts) keys.push_back(path_key(Format::xml, part.name));
  for (const DetailRow& row : result_details()) keys.push_back(path_key(Format::xml, row.name));
  for (const std::string& key : keys)
    if (block.map.take(key) != nullptr)
      block.error_at(key, key + " needs results_xpath; without both, the answer is read as RSS or Atom");
}

}  // namespace

std::optional<Format> path_format(std::string_view type) {
  if (type == "json_engine") return Format::json;
  if (type == "xml_engine") return Format::xml;
  if (type == "xpath") return Format::html;
  return std::nullopt;
}

/// Reads an engine whose answers are described by paths. XML may define none; it is then read as RSS or Atom.
void read_by_paths(EngineBlock& block) {
  const Format format = *path_format(block.engine.type);
  auto& access = block.engine.access.emplace<HttpAccess>();
  access.answer.format = format;
  if (format != Format::json) access.default_language = "en";
  take_http_keys(block, access);
  take_search_url(block, access);
  const AnswerRules& rules = access.answer;
  const bool is_feed = format == Format::xml && rules.results.empty();
  if (is_feed) return refuse_paths_of_feed(block);
  require_part(block, rules.url, "url", rules);
  require_part(block, rules.title, "title", rules);
}

void read_opensearch_description(EngineBlock& block) {
  auto& access = block.engine.access.emplace<HttpAccess>();
  access.answer.format = Format::xml;
  access.default_language = "*";
  access.paging.is_on = true;
  take_http_keys(block, access);
  block.map.take_required("description_url");
  block.take("description_url", access.description_url);
  block.check("description_url", check_url_template(access.description_url, false));
}

namespace {

HttpAccess& federated_access(EngineBlock& block) {
  auto& access = block.engine.access.emplace<HttpAccess>();
  access.is_federation = true;
  access.paging.is_on = true;
  access.answer.results = "$/results";
  for (const ResultPart& part : kResultParts) access.answer.*part.rule = "$/" + std::string(part.name);
  access.answer.published = "$/publishedDate";
  access.answer.suggestion = "$/suggestions";
  access.time_ranges.is_on = true;
  access.safe_search.is_on = true;
  access.time_ranges.url = "&time_range={time_range_val}";
  access.time_ranges.values = {{"day", "day"}, {"week", "week"}, {"month", "month"}, {"year", "year"}};
  access.safe_search.urls = {{"0", "&safesearch=0"}, {"1", "&safesearch=1"}, {"2", "&safesearch=2"}};
  return access;
}

}  // namespace

/// Another SearXNG instance: `base_url`, or the first of SearXNG's `instance_urls`.
void read_searx_engine(EngineBlock& block) {
  HttpAccess& access = federated_access(block);
  std::string base;
  if (block.map.take("instance_urls") != nullptr) {
    const auto urls = block.texts("instance_urls");
    if (urls.empty()) block.error_at("instance_urls", "instance_urls is empty; give at least one URL");
    if (!urls.empty()) base = urls.front();
    while (base.ends_with('/')) base.pop_back();
    if (base.ends_with("/search")) base.erase(base.size() - 7);
    if (const auto checked = check_url_template(base, false); !urls.empty() && !checked)
      block.error_at("instance_urls", "instance_urls: " + checked.error().text);
  } else {
    base = take_base_url(block);
  }
  access.url =
      base + "/search?q={query}&format=json&pageno={pageno}&language={locale}{time_range}{safe_search}";
  take_http_keys(block, access);
}

void read_metafuse(EngineBlock& block) {
  HttpAccess& access = federated_access(block);
  access.url = take_base_url(block) +
               "/search?q={query}&format=json&pageno={pageno}&limit={count}&language={locale}{time_range}{"
               "safe_search}";
  if (const auto domain = block.map.take_string("domain"))
    access.url += "&domain=" + with_doubled_braces(*domain);
  take_http_keys(block, access);
}

}  // namespace metafuse::fetchers
