#include "service/rendered_answers.h"

#include <utility>

#include "service/shown_results.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxKeyBytes = 8192;

/// With its length before it, so that no two requests run together to one text.
void append(std::string& key, std::string_view part) {
  key += std::to_string(part.size());
  key += ':';
  key += part;
}

std::size_t bytes_of(const RenderedAnswer& answer) {
  std::size_t bytes = sizeof(RenderedAnswer) + answer.domain.size() + answer.method.size();
  for (const Header& header : answer.headers)
    bytes += sizeof(Header) + header.name.size() + header.value.size();
  for (const std::string& part : answer.frame->parts) bytes += sizeof(std::string) + part.size();
  if (answer.search == nullptr) return bytes;
  for (const std::string& document : answer.search->documents) bytes += sizeof(std::string) + document.size();
  for (const StoredList& list : answer.search->lists)
    bytes += sizeof(StoredList) + list.feature.size() + list.documents.size() * sizeof(std::uint32_t);
  return bytes + answer.search->shown.size() * sizeof(ShownResult);
}

}  // namespace

std::shared_ptr<const RenderedAnswer> RenderedAnswers::find(std::string_view key) {
  const TimePoint now = clock_.now();
  const std::lock_guard lock(mutex_);
  const auto* entry = cache_.find(key, now);
  return entry == nullptr ? nullptr : entry->value;
}

void RenderedAnswers::keep(std::string key, RenderedAnswer answer, TimePoint until) {
  const std::size_t bytes = bytes_of(answer) + 2 * key.size();
  auto shared = std::make_shared<const RenderedAnswer>(std::move(answer));
  const std::lock_guard lock(mutex_);
  cache_.keep(std::move(key), std::move(shared), until, bytes);
}

void RenderedAnswers::clear() {
  const std::lock_guard lock(mutex_);
  cache_.clear();
}

std::size_t RenderedAnswers::size() const {
  const std::lock_guard lock(mutex_);
  return cache_.size();
}

std::size_t RenderedAnswers::bytes() const {
  const std::lock_guard lock(mutex_);
  return cache_.bytes();
}

std::optional<std::string> rendered_key(const Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  const std::string_view type = request.header("Content-Type");
  const bool is_search = exchange.route == "search" && media_type(type) != "application/json";
  // Tavily's answer says how long it took
  if (!is_search && exchange.route != "v1_search") return std::nullopt;
  if (request.target.size() + request.body.size() > kMaxKeyBytes) return std::nullopt;
  std::string key = std::to_string(exchange.snapshot->generation);
  key.reserve(request.target.size() + request.body.size() + 128);
  append(key, request.method == "HEAD" ? "GET" : request.method);
  append(key, request.target);
  append(key, type);
  append(key, request.body);
  append(key, request.header("Host"));
  append(key, exchange.may(Role::raw) ? "raw" : "");
  if (const std::string_view cookie = request.header("Cookie"); !cookie.empty())
    append(key, site_cookie(read_site_cookie(cookie)));
  return key;
}

BodyFrame frame_of(std::string_view body, std::string_view search_id) {
  BodyFrame frame;
  std::size_t begin = 0;
  while (!search_id.empty()) {
    const std::size_t at = body.find(search_id, begin);
    if (at == std::string_view::npos) break;
    frame.parts.emplace_back(body.substr(begin, at - begin));
    begin = at + search_id.size();
  }
  frame.parts.emplace_back(body.substr(begin));
  return frame;
}

}  // namespace metafuse::service
