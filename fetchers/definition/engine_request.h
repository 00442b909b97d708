#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/definition/engine.h"
#include "fetchers/fetcher.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

inline constexpr std::string_view kHopHeader = "X-Metafuse-Hops";
inline constexpr int kMostHops = 2;

using SecretLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// An HTTP engine with its secrets filled in, and as it may be written down.
struct ReadyAccess {
  HttpAccess access;
  HttpAccess redacted;
  std::string
      own_origin;  ///< "host:port" as it stands in the definition, empty where the host has a placeholder
  std::shared_ptr<const OwnHost> own_host{};
};

/// in:     secret_of - nullptr: secrets are not needed (replay), their place is filled with a marker
/// errors: bad_config naming the engine and the secret that is not set
Result<ReadyAccess> ready_access(const Engine& engine, const SecretLookup& secret_of);

/// The text with every "${NAME}" replaced.
///
/// errors: bad_config naming the engine and the secret that is not set
Result<std::string> with_secrets(std::string text, const Engine& engine, const SecretLookup& secret_of);

/// Which pages of the engine make one page of `depth` results.
struct PagePlan {
  int first = 1;
  int count = 1;               ///< at most
  int skipped = 0;             ///< results before the wanted window, where pages follow by cursor
  bool is_sequential = false;  ///< the next page is asked for when the one before was not enough
  bool is_beyond_end = false;  ///< the engine has no such page
};
PagePlan plan_pages(const HttpAccess& access, const FetchOptions& options);

/// "field:value", where a field's name stands before the first colon.
struct FieldQuery {
  std::string field;  ///< empty when the query names none
  std::string value;
};
FieldQuery field_query(std::string_view query);

/// What earlier answers of the same search found.
struct Found {
  std::string cursor;            ///< of the next page; empty on the first
  std::vector<std::string> ids;  ///< of the step before
  std::string vector{};          ///< of the query, where the engine needs one: "[0.25,-0.5]"
};

/// The request for one page of the engine's results.
HttpRequest build_request(const Engine& engine, const ReadyAccess& ready, std::string_view query,
                          const FetchOptions& options, int page, const Found& found = {});
/// The request of one of the steps before.
///
/// in: step - below access.steps.size()
HttpRequest build_step_request(const Engine& engine, const ReadyAccess& ready, std::string_view query,
                               const FetchOptions& options, std::size_t step, const Found& found);
/// The request for the engine's description document.
HttpRequest build_description_request(const Engine& engine, const ReadyAccess& ready);

/// Fills the access's URL from an OpenSearch description document.
///
/// errors: bad_data: no such document, no RSS, Atom or JSON answers among its URLs, a URL that wants more
/// than a query
Result<void> apply_description(ReadyAccess& ready, std::string_view document);

/// The language that {lang} becomes.
std::string request_language(const HttpAccess& access, const FetchOptions& options);

}  // namespace metafuse::fetchers
