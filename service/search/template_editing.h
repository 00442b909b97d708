#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/search_request.h"
#include "templates/template_file.h"

namespace metafuse::service {

/// Parses a domain's edited template file as if it were in use.
///
/// in:     current - the domain that is edited; text - the whole file
/// out:    the domain with that text, but without a model that was trained on other templates
/// errors: bad_config, each mistake as "FILE:LINE:COLUMN: ..." with the file's name: first all mistakes in
///         the template language, else a changed domain name, else engines that are not defined
Result<LoadedDomain> edited_domain(const Snapshot& snapshot, const LoadedDomain& current,
                                   std::string_view text, const templates::DomainFileLimits& limits = {});

/// As edited_domain(), with the limits of a preview, which is requested at every change of the text: at most
/// 64 KB, 64 templates and 250 ms of parsing. Returns the domain itself if the text is the one in use.
Result<LoadedDomain> previewed_domain(const Snapshot& snapshot, const LoadedDomain& current,
                                      std::string_view text, const Clock& clock);

/// The largest answer to a preview: ten times its request plus 64 KB.
constexpr std::size_t max_preview_answer(std::size_t request_bytes) {
  return 10 * request_bytes + (std::size_t{64} << 10);
}

/// What an edited file makes of a base query, before the file is saved.
struct TemplatePreview {
  std::vector<ExpandedQuery> expansions;
  std::optional<SearchAnswer> answer;  ///< live lists and their fused result, if they were requested
};

/// The expanded queries of a preview.
///
/// errors: those of expand_request; usage for more than 64 queries, or one of more than 4 KB
Result<std::vector<ExpandedQuery>> preview_expansions(const Snapshot& snapshot, const LoadedDomain& edited,
                                                      const SearchRequest& request);

/// One line of an error that has several: its place in the file and its text.
struct LineMessage {
  std::size_t line = 0;  ///< 0: the whole file
  std::size_t column = 0;
  std::string text;
};
std::vector<LineMessage> line_messages(const Error& error);

}  // namespace metafuse::service
