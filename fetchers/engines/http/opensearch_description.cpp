#include "fetchers/engines/http/opensearch_description.h"

#include <array>

#include <pugixml.hpp>

#include "core/text.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/http/request_template.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxDescriptionBytes = 256 * 1024;

struct Parameter {
  std::string_view name;
  std::string_view placeholder;
};
constexpr std::array kParameters = {
    Parameter{"searchTerms", "{query}"}, Parameter{"count", "{count}"},
    Parameter{"startPage", "{pageno}"},  Parameter{"language", "{lang}"},
    Parameter{"inputEncoding", "UTF-8"}, Parameter{"outputEncoding", "UTF-8"}};

/// Translates "{searchTerms}" to "{query}" and so on; empty when a required parameter is unknown.
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

/// How preferable answers of a type are; 0 for those that cannot be read.
int preference(std::string_view type, const AnswerRules& rules) {
  if (type.find("atom+xml") != std::string_view::npos) return 3;
  if (type.find("rss+xml") != std::string_view::npos) return 4;
  if (type == "application/xml" || type == "text/xml") return rules.results.empty() ? 0 : 2;
  return 0;
}

}  // namespace

Result<void> apply_description(ReadyAccess& ready, std::string_view text) {
  if (text.size() > kMaxDescriptionBytes)
    return fail(Code::bad_data, "the description document is larger than 256 KB");
  const std::string valid = to_valid_utf8(text);
  pugi::xml_document document;
  if (!document.load_buffer(valid.data(), valid.size()) ||
      without_prefix(document.document_element().name()) != "OpenSearchDescription")
    return fail(Code::bad_data, "no OpenSearch description document at " + ready.redacted.description_url);
  int best = 0;
  std::string found;
  for (const pugi::xml_node& node : document.document_element().children()) {
    if (without_prefix(node.name()) != "Url") continue;
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
                "the description document offers no RSS or Atom search that needs only a query");
  ready.access.url = found;
  ready.redacted.url = found;
  return {};
}

}  // namespace metafuse::fetchers
