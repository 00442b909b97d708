#include "service/cache/shared_answers.h"

#include "service/base/digest.h"
#include "service/cache/answer_text.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;

/// Appends the part after its length, so that different requests never make the same key.
void append_part(std::string& key, std::string_view part) {
  key += std::to_string(part.size());
  key += ':';
  key += part;
}

}  // namespace

SharedAnswers::SharedAnswers(RedisAddress address, Duration lifetime, const Clock& clock)
    : redis_(std::move(address), clock), lifetime_(lifetime) {}

std::optional<SearchAnswer> SharedAnswers::find(const std::string& key, const LoadedDomain& domain,
                                                const SearchRequest& request) {
  const auto text = redis_.get(key);
  if (!text) return std::nullopt;
  auto answer = read_answer_text(*text, domain, request);
  if (answer.has_error()) return std::nullopt;
  return std::move(*answer);
}

void SharedAnswers::keep(const std::string& key, const SearchAnswer& answer) {
  if (answer.has_failures() || lifetime_ <= Duration::zero()) return;
  const std::string text = answer_text(answer);
  if (text.size() <= kMostBytes) redis_.set(key, text, lifetime_);
}

std::string shared_key(const LoadedDomain& domain, const SearchRequest& request) {
  std::string key;
  append_part(key, domain.domain.name);
  append_part(key, domain.etag);
  append_part(key, domain.engines_digest);
  append_part(key, request.text);
  append_part(key, std::to_string(request.slots.slots.size()));
  for (const auto& [name, value] : request.slots.slots) {
    append_part(key, name);
    append_part(key, value);
  }
  append_part(key, std::to_string(request.variants.size()));
  for (const QueryVariant& variant : request.variants) {
    append_part(key, variant.is_raw ? "raw" : "clean");
    append_part(key, variant.template_id);
    append_part(key, variant.text);
  }
  append_part(key, std::to_string(request.engines.size()));
  for (const std::string& engine : request.engines) append_part(key, engine);
  append_part(key, std::to_string(request.lists.size()));
  for (const std::string& list : request.lists) append_part(key, list);
  append_part(key, std::to_string(request.depth) + ' ' + std::to_string(request.safe_search));
  append_part(key, request.language);
  append_part(key, request.time_range);
  if (request.windows > 1) append_part(key, "windows " + std::to_string(request.windows));
  return "metafuse:3:" + sha256_hex(key);
}

}  // namespace metafuse::service
