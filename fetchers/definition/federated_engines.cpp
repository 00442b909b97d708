#include "fetchers/definition/engine_types.h"
#include "fetchers/definition/request_template.h"

namespace metafuse::fetchers {
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

/// Another SearXNG: `base_url`, or SearXNG's `instance_urls`, of which the first is taken.
void read_searx_engine(EngineBlock& block) {
  HttpAccess access;
  preset_federation(access);
  std::string base;
  if (const YamlNode* node = block.map.take("instance_urls")) {
    const auto urls = block.map.take_strings("instance_urls").value_or(std::vector<std::string>());
    if (urls.empty()) block.diagnostics.error(node->place, "instance_urls names no instance");
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
