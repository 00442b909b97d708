#include "service/search/search_spans.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "service/base/dates.h"

namespace metafuse::service {
namespace {

Span list_span(const fetchers::FetchedList& list, const Span& fetch) {
  const std::string outcome(list.has_failed() ? fetchers::name_of(list.failure) : "ok");
  return {fetch.trace,
          new_span_id(),
          fetch.id,
          "engine " + list.query.engine,
          Span::Kind::client,
          fetch.begin,
          std::min(fetch.end, fetch.begin + list.elapsed),
          {{"metafuse.engine", list.query.engine},
           {"metafuse.template", list.query.template_id},
           {"metafuse.outcome", outcome},
           {"metafuse.results", fmt::format("{}", list.list.hits.size())}},
          list.has_failed()};
}

}  // namespace

std::vector<Span> search_spans(std::string_view traceparent, const SearchAnswer& answer, bool was_cached,
                               const SearchTimes& times) {
  const TraceContext request = trace_context(traceparent);
  const auto part = [&](std::string name, const std::string& parent, TimePoint begin, TimePoint end) {
    return Span{std::string(request.trace), new_span_id(), parent, std::move(name),
                Span::Kind::internal,       begin,         end};
  };
  std::vector<Span> spans;
  spans.push_back(part("search", std::string(request.span), times.began, times.answered));
  const std::string search = spans.front().id;
  spans.front().attributes = {{"metafuse.domain", answer.domain},
                              {"metafuse.method", answer.fusion.method},
                              {"metafuse.model", answer.fusion.version},
                              {"metafuse.templates", answer.fusion.templates},
                              {"metafuse.cache", was_cached ? "hit" : "miss"}};
  spans.push_back(part("expand", search, times.began, times.expanded));
  if (was_cached) return spans;
  const TimePoint fused = times.answered;
  const TimePoint fetched = std::max(times.asked, fused - duration_of(answer.fuse_seconds));
  const TimePoint asked = std::max(times.asked, fetched - duration_of(answer.fetch_seconds));
  const Span fetch = part("fetch", search, asked, fetched);
  spans.push_back(fetch);
  for (const fetchers::FetchedList& list : answer.lists) spans.push_back(list_span(list, fetch));
  spans.push_back(part("fuse", search, fetched, fused));
  return spans;
}

}  // namespace metafuse::service
