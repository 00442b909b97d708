// Readers of engine definitions for HTTP: the keys that all such engines share, the engines whose answers are
// described by paths (JSON, HTML, XML), and other meta-search servers.

#include <algorithm>
#include <filesystem>

#include "core/json.h"
#include "core/url.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/answers/redirect_links.h"
#include "fetchers/engines/http/http_readers.h"
#include "fetchers/http/request_template.h"

namespace metafuse::fetchers {
namespace {

using Format = AnswerRules::Format;

bool is_header_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  });
}

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

/// Takes a part's path, a list of paths that are tried in turn, or `{join: [...], with: ", "}`.
void take_part(EngineBlock& block, Format format, std::string_view part, PartRule& rule) {
  const std::string key = path_key(format, part);
  const YamlNode* node = block.map.take(key);
  if (node == nullptr) return;
  PartRule read;
  if (node->is_map()) {
    EngineBlock joined = block.inner(*node, key);
    joined.map.take_required("join");
    read.paths = joined.texts("join");
    read.separator = joined.text("with", " ");
    read.is_joined = true;
    joined.map.finish();
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
void check_url_format(EngineBlock& block, const AnswerRules& rules) {
  const YamlNode* node = block.map.take("url_format");
  if (node == nullptr) return;
  const std::string& format = rules.url_format;
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

void take_answer_keys(EngineBlock& block, AnswerRules& rules) {
  const Format format = rules.format;
  take_path(block, format, "results", rules.results);
  for (const ResultPart& part : kResultParts) take_part(block, format, part.name, rules.*part.rule);
  if (rules.thumbnail.empty() && format == Format::json)
    rules.thumbnail = block.text("thumbnail");  // its name in SearXNG's blocks
  take_part(block, format, "id", rules.id);
  take_path(block, format, "suggestion", rules.suggestion);
  block.take("url_prefix", rules.url_prefix);
  block.take("thumbnail_prefix", rules.thumbnail_prefix);
  block.take("url_format", rules.url_format);
  check_url_format(block, rules);
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
    if (!is_header_name(name) || !is_header_value(value)) {
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

void take_certificates(EngineBlock& block, HttpAccess& access) {
  const YamlNode* verify = block.map.take("verify");
  if (verify == nullptr) return;
  if (verify->is_scalar() && (verify->text == "true" || verify->text == "false"))
    access.verifies_certificates = verify->text == "true";
  else if (auto file = block.map.take_string("verify"))
    access.ca_file = (std::filesystem::path(block.folder) / *file).string();
}

std::string take_base_url(EngineBlock& block, const std::string& preset) {
  if (preset.empty()) block.map.take_required("base_url");
  std::string url = block.text("base_url", preset);
  while (url.ends_with('/')) url.pop_back();
  block.check("base_url", check_url_template(url, false));
  return url;
}

void take_http_keys(EngineBlock& block, HttpAccess& access) {
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
  take_answer_keys(block, access.answer);
}

namespace {

void take_search_url(EngineBlock& block, HttpAccess& access) {
  const YamlNode* node = block.map.take_required("search_url");
  block.take("search_url", access.url);
  if (node == nullptr || !node->is_scalar()) return;
  take_chained_requests(block, access);
  const bool is_in_body = access.body.find("{query}") != std::string::npos;
  block.check("search_url", check_url_template(access.url, !is_in_body && access.steps.empty()));
}

void require_part(EngineBlock& block, const PartRule& part, std::string_view name, const AnswerRules& rules) {
  if (!part.empty() || (name == "url" && !rules.url_format.empty())) return;
  block.error("the engine \"" + block.engine.name + "\" lacks the key \"" + path_key(rules.format, name) +
              "\"");
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
  if (!is_feed) {
    require_part(block, rules.url, "url", rules);
    require_part(block, rules.title, "title", rules);
  } else if (!rules.url.empty() || !rules.title.empty()) {
    block.error("url_xpath and title_xpath need results_xpath; leave out all three to read RSS and Atom");
  }
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
      base + "/search?q={query}&format=json&pageno={pageno}&language={lang}{time_range}{safe_search}";
  take_http_keys(block, access);
}

void read_metafuse(EngineBlock& block) {
  HttpAccess& access = federated_access(block);
  access.url =
      take_base_url(block) +
      "/search?q={query}&format=json&pageno={pageno}&limit={count}&language={lang}{time_range}{safe_search}";
  if (const auto domain = block.map.take_string("domain"))
    access.url += "&domain=" + with_doubled_braces(*domain);
  take_http_keys(block, access);
}

}  // namespace metafuse::fetchers
