#include "service/search/template_editing.h"

#include <algorithm>
#include <filesystem>

#include "core/number.h"
#include "service/base/digest.h"
#include "service/search/expansion.h"
#include "service/search/search_pipeline.h"
#include "templates/template_file.h"

namespace metafuse::service {
namespace {

/// Engines that the file names and nobody defined.
std::string undefined_engines(const Snapshot& snapshot, const templates::Domain& domain) {
  const std::vector<std::string>& known = snapshot.engines.names;
  std::string missing;
  for (const templates::SearchTemplate& item : domain.templates)
    for (const std::string& engine : item.engines)
      if (std::find(known.begin(), known.end(), engine) == known.end())
        missing += (missing.empty() ? "" : ", ") + item.id + " names " + engine;
  return missing;
}

}  // namespace

Result<LoadedDomain> edited_domain(const Snapshot& snapshot, const LoadedDomain& current,
                                   std::string_view text) {
  const std::string name = std::filesystem::path(current.file).filename().string();
  auto parsed = templates::parse_domain_file(text, name);
  if (!parsed) return parsed.error();
  if (parsed->domain.name != current.domain.name)
    return fail(Code::bad_config, name + ": the domain is \"" + parsed->domain.name + "\"; it must stay \"" +
                                      current.domain.name + "\"");
  if (const std::string missing = undefined_engines(snapshot, parsed->domain); !missing.empty())
    return fail(Code::bad_config, name + ": engines that are not defined: " + missing);
  LoadedDomain edited = current;
  edited.domain = std::move(parsed->domain);
  edited.text = text;
  edited.etag = text_etag(edited.text);
  if (edited.model) {
    std::vector<std::string> names;
    for (const fusion::Feature& feature : features_of(edited.domain)) names.push_back(feature.name);
    if (!fusion::match_features(*edited.model, names, false)) edited.model.reset();
  }
  return edited;
}

Result<TemplatePreview> preview_templates(const Snapshot& snapshot, const LoadedDomain& edited,
                                          SearchRequest request, bool is_live, const Clock& clock) {
  Snapshot changed = snapshot;
  changed.domains[edited.domain.name] = edited;
  request.domain = edited.domain.name;
  TemplatePreview preview;
  auto expansions = expand_request(changed, request);
  if (!expansions) return expansions.error();
  preview.expansions = std::move(*expansions);
  if (is_live) {
    auto answer = search(changed, request, clock);
    if (!answer) return answer.error();
    preview.answer = std::move(*answer);
  }
  return preview;
}

std::vector<LineMessage> line_messages(const Error& error) {
  std::vector<LineMessage> out;
  std::string_view rest = error.text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    LineMessage message{0, std::string(rest.substr(0, end))};
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t colon = message.text.find(':');
    const std::size_t next = message.text.find(':', colon == std::string::npos ? colon : colon + 1);
    std::int64_t line = 0;
    if (next != std::string::npos &&
        to_integer(std::string_view(message.text).substr(colon + 1, next - colon - 1), line) && line > 0)
      message.line = static_cast<std::size_t>(line);
    out.push_back(std::move(message));
  }
  return out;
}

}  // namespace metafuse::service
