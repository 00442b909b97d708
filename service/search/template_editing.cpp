#include "service/search/template_editing.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>

#include "core/diagnostics.h"
#include "core/digest.h"
#include "core/number.h"
#include "core/text.h"
#include "core/yaml_reader.h"
#include "service/search/search_pipeline.h"
#include "templates/template_file.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxPreviewBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxPreviewTemplates = 64;
constexpr auto kMaxPreviewParsing = std::chrono::milliseconds(250);
constexpr templates::ExpansionLimits kPreviewExpansion{64, 4096};

/// Refuses a changed domain name, which is the one part of the file that may not be edited.
Result<void> check_name(const std::string& name, const LoadedDomain& current, std::string_view text,
                        const std::string& file) {
  if (name == current.domain.name) return {};
  const auto root = parse_yaml(text, file);
  const YamlNode* node = root ? root->find("domain") : nullptr;
  Diagnostics diagnostics(file);
  diagnostics.error(node == nullptr ? Place{} : node->place,
                    "the domain is \"" + name + "\"; it must stay \"" + current.domain.name + "\"");
  return diagnostics.to_error(Code::bad_config);
}

/// Moves LINE and COLUMN from the beginning of "FILE:LINE:COLUMN: what" into the message's members.
void read_place(LineMessage& message) {
  std::string_view rest = message.text;
  std::array<std::int64_t, 2> numbers{};
  for (std::int64_t& number : numbers) {
    const std::size_t colon = rest.find(':');
    const std::size_t next = colon == std::string_view::npos ? colon : rest.find(':', colon + 1);
    if (next == std::string_view::npos || !to_integer(rest.substr(colon + 1, next - colon - 1), number) ||
        number < 1)
      return;
    rest.remove_prefix(next);
  }
  message.line = static_cast<std::size_t>(numbers[0]);
  message.column = static_cast<std::size_t>(numbers[1]);
}

}  // namespace

Result<LoadedDomain> edited_domain(const Snapshot& snapshot, const LoadedDomain& current,
                                   std::string_view text, const templates::DomainFileLimits& limits) {
  const std::string name = std::filesystem::path(current.file).filename().string();
  TRY(auto parsed, templates::parse_domain_file(text, name, limits));
  TRY_VOID(check_name(parsed.domain.name, current, text, name));
  TRY_VOID(check_engines(parsed.domain, text, name, snapshot.engines.names));
  TRY_VOID(check_rerankers(parsed.domain, text, name, snapshot.engines));
  LoadedDomain edited = current;
  edited.domain = std::move(parsed.domain);
  edited.text = text;
  edited.etag = text_etag(edited.text);
  if (edited.model) {
    std::vector<std::string> names;
    for (const fusion::Feature& feature : features_of(edited.domain)) names.push_back(feature.name);
    if (!fusion::match_features(*edited.model, names, false)) edited.model.reset();
  }
  return edited;
}

Result<LoadedDomain> previewed_domain(const Snapshot& snapshot, const LoadedDomain& current,
                                      std::string_view text, const Clock& clock) {
  if (text == current.text) return current;
  if (text.size() > kMaxPreviewBytes)
    return fail(Code::bad_config, "the file is longer than 64 KB; a preview reads no more");
  const Deadline deadline(clock, kMaxPreviewParsing);
  templates::DomainFileLimits limits;
  limits.yaml.deadline = &deadline;
  limits.max_templates = kMaxPreviewTemplates;
  return edited_domain(snapshot, current, text, limits);
}

Result<std::vector<ExpandedQuery>> preview_expansions(const Snapshot& snapshot, const LoadedDomain& edited,
                                                      const SearchRequest& request) {
  return expand_request(snapshot, edited, request, kPreviewExpansion);
}

std::vector<LineMessage> line_messages(const Error& error) {
  std::vector<LineMessage> out;
  for (std::string_view rest = error.text; !rest.empty();) {
    LineMessage message{0, 0, std::string(take_until(rest, '\n'))};
    read_place(message);
    out.push_back(std::move(message));
  }
  return out;
}

}  // namespace metafuse::service
