#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/calling/fetcher.h"
#include "fetchers/engines/http/engine_request.h"
#include "fetchers/http/transport.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

struct TrialOptions {
  int depth = 10;
  int page = 1;
  bool is_json = false;
  std::vector<std::string> allow_private;
  SecretLookup secret_of;
  StringPairs headers;                      ///< of the caller, for an engine that passes them on
  std::optional<std::string> saved_answer;  ///< parsed instead of asking the engine
  std::string saved_content_type;
};

/// What the author of a definition wants to see.
struct EngineTrial {
  std::string text;  ///< request, answer and parsed list
  Failure failure = Failure::none;
  std::string message;
  std::string remark;  ///< which parts the definition's paths did not find, although the answer has items
};

/// Sends one query, in the engine's own syntax, to one engine.
///
/// errors: bad_config: a secret that is not set, an invalid allow_private. The failure of an engine is no
///         error: the EngineTrial reports it.
Result<EngineTrial> try_engine(const Engine& engine, const std::string& query, const TrialOptions& options);

/// Sends one query as try_engine() does.
///
/// out:    the engine's last answer as it came but for secrets, with any HTTP status
/// errors: as try_engine(), and unavailable: no answer
Result<HttpAnswer> last_answer(const Engine& engine, const std::string& query, const TrialOptions& options);

/// Fetches one page without retries, for a person who starts to write a definition. A private host is allowed
/// if the URL names it.
///
/// errors: unavailable: no answer, or a status other than 2xx; bad_config: not an http or https URL
Result<HttpAnswer> fetch_page(const std::string& url);

}  // namespace metafuse::fetchers
