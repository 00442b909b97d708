#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/definition/engine.h"
#include "fetchers/definition/engine_request.h"
#include "fetchers/fetcher.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

struct TrialOptions {
  int depth = 10;
  int page = 1;
  bool is_json = false;
  std::vector<std::string> allow_private;
  SecretLookup secret_of;
  std::optional<std::string> saved_answer;  ///< parsed instead of an answer of the engine
  std::string saved_content_type;
};

/// What a person who writes a definition wants to see.
struct Trial {
  std::string text;  ///< request, answer and parsed list
  Failure failure = Failure::none;
  std::string message;
  std::string remark;  ///< what the definition's paths did not find, though the answer holds items
};

/// Asks one engine one query, in its own syntax.
///
/// errors: bad_config: a secret that is not set, a bad allow_private. A failing engine is a Trial that
///         says so.
Result<Trial> try_engine(const Engine& engine, const std::string& query, const TrialOptions& options);

/// Asks for one page, once: for a person who begins a definition. A private host is reached where the URL
/// names it.
///
/// errors: unavailable: no answer, or a status other than 2xx; bad_config: no http or https URL
Result<HttpAnswer> fetch_page(const std::string& url);

}  // namespace metafuse::fetchers
