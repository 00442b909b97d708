// Readers of engine definitions for HTTP: the keys that all such engines share, the engines whose answers are
// described by paths (JSON, HTML, XML), and other meta-search servers.

#include <algorithm>
#include <filesystem>

#include "core/json.h"
#include "core/url_text.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/definition/engine_types.h"
#include "fetchers/definition/request_template.h"

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
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

void check_path(EngineBlock& block, Format format, const Place& place, const std::string& path) {
  const auto checked = format == Format::json   ? check_key_path(path)
                       : format == Format::html ? check_html_xpath(path)
                       : format == Format::xml  ? check_xml_xpath(path)
                                                : Result<void>();
  if (!checked) block.diagnostics.error(place, checked.error().text);
}

namespace {

/// The key of a part: `title_query`, or `title_xpath` for XML and HTML answers.
std::string part_key(Format format, std::string_view part) {
  return std::string(part) + (format == Format::xml || format == Format::html ? "_xpath" : "_query");
}

void take_path(EngineBlock& block, Format format, std::string_view part, std::string& path) {
  const std::string key = part_key(format, part);
  const YamlNode* node = block.map.take(key);
  const auto text = block.map.take_string(key);
  if (!text) return;
  path = *text;
  if (!path.empty()) check_path(block, format, node->place, path);
}

/// Takes a part's path, a list of paths that are tried in turn, or `{join: [...], with: ", "}`.
void take_part(EngineBlock& block, Format format, std::string_view part, PartRule& rule) {
  const std::string key = part_key(format, part);
  const YamlNode* node = block.map.take(key);
  if (node == nullptr) return;
  PartRule read;
  if (node->is_map()) {
    YamlMap map(*node, key, block.diagnostics);
    map.take_required("join");
    read.paths = map.take_strings("join").value_or(std::vector<std::string>());
    read.separator = map.take_string("with").value_or(" ");
    read.is_joined = true;
    map.finish();
  } else {
    read.paths = block.map.take_strings(key).value_or(std::vector<std::string>());
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
  if (node->is_scalar()) {
    rules.unwraps_links = block.map.take_bool("unwrap").value_or(true);
    return;
  }
  if (!node->is_list())
    return block.diagnostics.error(node->place,
                                   "unwrap must be a list of {match: ..., parameter: ...}, or false");
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
    if (end == std::string::npos)
      return block.diagnostics.error(node->place, "url_format: a { without a closing }");
    std::string path = format.substr(at + 1, end - at - 1);
    if (path.ends_with("|_") || path.ends_with("|raw")) path.erase(path.rfind('|'));
    if (slash == std::string::npos || at < slash) {
      if (path != "lang")
        return block.diagnostics.error(
            node->place, "url_format: {" + path + "} must come after the host, in the path or query");
      continue;
    }
    check_path(block, rules.format, node->place, path);
  }
}

void take_answer_keys(EngineBlock& block, AnswerRules& rules) {
  const Format format = rules.format;
  take_path(block, format, "results", rules.results);
  take_part(block, format, "url", rules.url);
  take_part(block, format, "title", rules.title);
  take_part(block, format, "content", rules.content);
  take_part(block, format, "published", rules.published);
  take_part(block, format, "language", rules.language);
  take_part(block, format, "score", rules.score);
  take_part(block, format, "thumbnail", rules.thumbnail);
  if (rules.thumbnail.empty() && format == Format::json)
    rules.thumbnail = block.map.take_string("thumbnail").value_or("");  // its name in SearXNG's blocks
  take_part(block, format, "id", rules.id);
  take_path(block, format, "suggestion", rules.suggestion);
  if (auto prefix = block.map.take_string("url_prefix")) rules.url_prefix = *prefix;
  if (auto prefix = block.map.take_string("thumbnail_prefix")) rules.thumbnail_prefix = *prefix;
  if (auto format_text = block.map.take_string("url_format")) rules.url_format = *format_text;
  check_url_format(block, rules);
  take_unwrap(block, rules);
  if (format == Format::json || format == Format::groonga || format == Format::xml) {
    if (auto flag = block.map.take_bool("title_html_to_text")) rules.is_title_html = *flag;
    if (auto flag = block.map.take_bool("content_html_to_text")) rules.is_content_html = *flag;
    if (auto flag = block.map.take_bool("results_optional")) rules.may_lack_results = *flag;
  }
}

std::vector<int> take_statuses(EngineBlock& block, std::string_view key) {
  std::vector<int> statuses;
  const YamlNode* node = block.map.take(key);
  if (node == nullptr) return statuses;
  const std::vector<YamlNode> one = {*node};
  for (const YamlNode& item : node->is_list() ? node->items : one) {
    const bool is_status = item.is_scalar() && item.text.size() == 3 && item.text[0] >= '1' &&
                           item.text[0] <= '5' &&
                           item.text.find_first_not_of("0123456789") == std::string::npos;
    if (is_status)
      statuses.push_back(std::stoi(item.text));
    else
      block.diagnostics.error(item.place, std::string(key) + " must be a list of HTTP statuses");
  }
  return statuses;
}

void take_choices(EngineBlock& block, HttpAccess& access) {
  if (auto flag = block.map.take_bool("time_range_support")) access.has_time_range = *flag;
  if (auto url = block.map.take_string("time_range_url")) access.time_range_url = *url;
  if (block.map.take("time_range_map") != nullptr) {
    access.time_ranges = block.map.take_string_map("time_range_map");
  }
  for (const char* key : {"safe_search_support", "safesearch"})  // the second is SearXNG's name
    if (auto flag = block.map.take_bool(key)) access.has_safe_search = *flag;
  if (block.map.take("safe_search_map") != nullptr)
    access.safe_search = block.map.take_string_map("safe_search_map");
  if (auto language = block.map.take_string("lang_all")) access.default_language = *language;
}

void take_paging(EngineBlock& block, HttpAccess& access) {
  if (auto flag = block.map.take_bool("paging")) access.has_paging = *flag;
  if (auto size = block.map.take_integer("page_size", 1, 1000)) access.page_size = static_cast<int>(*size);
  if (auto first = block.map.take_integer("first_page_num", 0, 1000))
    access.first_page = static_cast<int>(*first);
  if (auto size = block.map.take_integer("results_per_page", 1, 1000))
    access.results_per_page = static_cast<int>(*size);
  if (access.results_per_page == 0 && access.page_size > 1) access.results_per_page = access.page_size;
  if (auto flag = block.map.take_bool("send_page_num_on_first_page")) access.omits_first_page_number = !*flag;
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

void take_certificates(EngineBlock& block, HttpAccess& access) {
  const YamlNode* verify = block.map.take("verify");
  if (verify == nullptr) return;
  if (verify->is_scalar() && (verify->text == "true" || verify->text == "false"))
    access.verifies_certificates = verify->text == "true";
  else if (auto file = block.map.take_string("verify"))
    access.ca_file = (std::filesystem::path(block.folder) / *file).string();
}

std::string take_base_url(EngineBlock& block, const std::string& preset) {
  const YamlNode* node = preset.empty() ? block.map.take_required("base_url") : block.map.take("base_url");
  std::string url = block.map.take_string("base_url").value_or(preset);
  while (url.ends_with('/')) url.pop_back();
  if (node != nullptr)
    if (const auto checked = check_url_template(url, false); !checked)
      block.diagnostics.error(node->place, "base_url: " + checked.error().text);
  return url;
}

void take_http_keys(EngineBlock& block, HttpAccess& access) {
  take_request_body(block, access);
  for (auto& field : take_header_fields(block, "headers")) access.headers.push_back(std::move(field));
  for (auto& field : take_header_fields(block, "cookies")) access.cookies.push_back(std::move(field));
  if (auto name = block.map.take_string("username")) access.username = *name;
  if (auto word = block.map.take_string("password")) access.password = *word;
  take_authorization(block, access);
  take_paging(block, access);
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
  access.url = block.map.take_string("search_url").value_or("");
  if (node == nullptr || !node->is_scalar()) return;
  take_chained_requests(block, access);
  const bool is_in_body = access.body.find("{query}") != std::string::npos;
  if (const auto checked = check_url_template(access.url, !is_in_body && access.steps.empty()); !checked)
    block.diagnostics.error(node->place, "search_url: " + checked.error().text);
}

void require_part(EngineBlock& block, const PartRule& part, std::string_view name, const AnswerRules& rules) {
  if (!part.empty() || (name == "url" && !rules.url_format.empty())) return;
  block.diagnostics.error(block.map.place(), "the engine \"" + block.engine.name + "\" lacks the key \"" +
                                                 part_key(rules.format, name) + "\"");
}

/// Reads an engine whose answers are described by paths. XML may define none; it is then read as RSS or Atom.
void read_by_paths(EngineBlock& block, Format format) {
  HttpAccess access;
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
    block.diagnostics.error(
        block.map.place(),
        "url_xpath and title_xpath need results_xpath; leave out all three to read RSS and Atom");
  }
  block.engine.access = std::move(access);
}

}  // namespace

void read_json_engine(EngineBlock& block) {
  read_by_paths(block, Format::json);
}

void read_xpath_engine(EngineBlock& block) {
  read_by_paths(block, Format::html);
}

void read_xml_engine(EngineBlock& block) {
  read_by_paths(block, Format::xml);
}

void read_opensearch_description(EngineBlock& block) {
  HttpAccess access;
  access.answer.format = AnswerRules::Format::xml;
  access.default_language = "*";
  access.has_paging = true;
  take_http_keys(block, access);
  const YamlNode* node = block.map.take_required("description_url");
  access.description_url = block.map.take_string("description_url").value_or("");
  if (node != nullptr && node->is_scalar())
    if (const auto checked = check_url_template(access.description_url, false); !checked)
      block.diagnostics.error(node->place, "description_url: " + checked.error().text);
  block.engine.access = std::move(access);
}

namespace {

void preset_federation(HttpAccess& access) {
  access.is_federation = true;
  access.has_paging = true;
  access.answer.format = AnswerRules::Format::json;
  access.answer.results = "$/results";
  access.answer.url = "$/url";
  access.answer.title = "$/title";
  access.answer.content = "$/content";
  access.answer.published = "$/publishedDate";
  access.answer.language = "$/language";
  access.answer.score = "$/score";
  access.answer.thumbnail = "$/thumbnail";
  access.answer.suggestion = "$/suggestions";
  access.has_time_range = true;
  access.has_safe_search = true;
  access.time_range_url = "&time_range={time_range_val}";
  access.time_ranges = {{"day", "day"}, {"week", "week"}, {"month", "month"}, {"year", "year"}};
  access.safe_search = {{"0", "&safesearch=0"}, {"1", "&safesearch=1"}, {"2", "&safesearch=2"}};
}

}  // namespace

/// Another SearXNG instance: `base_url`, or the first of SearXNG's `instance_urls`.
void read_searx_engine(EngineBlock& block) {
  HttpAccess access;
  preset_federation(access);
  std::string base;
  if (const YamlNode* node = block.map.take("instance_urls")) {
    const auto urls = block.map.take_strings("instance_urls").value_or(std::vector<std::string>());
    if (urls.empty()) block.diagnostics.error(node->place, "instance_urls is empty; give at least one URL");
    if (!urls.empty()) base = urls.front();
    while (base.ends_with('/')) base.pop_back();
    if (base.ends_with("/search")) base.erase(base.size() - 7);
    if (const auto checked = check_url_template(base, false); !urls.empty() && !checked)
      block.diagnostics.error(node->place, "instance_urls: " + checked.error().text);
  } else {
    base = take_base_url(block);
  }
  access.url =
      base + "/search?q={query}&format=json&pageno={pageno}&language={lang}{time_range}{safe_search}";
  take_http_keys(block, access);
  block.engine.access = std::move(access);
}

void read_metafuse(EngineBlock& block) {
  HttpAccess access;
  preset_federation(access);
  access.url =
      take_base_url(block) +
      "/search?q={query}&format=json&pageno={pageno}&limit={count}&language={lang}{time_range}{safe_search}";
  if (const auto domain = block.map.take_string("domain"))
    access.url += "&domain=" + with_doubled_braces(*domain);
  take_http_keys(block, access);
  block.engine.access = std::move(access);
}

}  // namespace metafuse::fetchers
