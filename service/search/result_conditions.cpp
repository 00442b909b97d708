#include "service/search/result_conditions.h"

#include "core/text.h"
#include "service/search/shown_results.h"

namespace metafuse::service {
namespace {

/// Conditions in a form that is quick to check for each result.
class ResultCheck {
 public:
  ResultCheck(const ResultConditions& conditions, UnixTime now)
      : wanted_(conditions),
        included_(conditions.included),
        excluded_(conditions.excluded),
        since_(conditions.days > 0 ? iso_day(now - conditions.days * kSecondsPerDay) : ""),
        phrase_(ascii_lower(conditions.phrase)) {}

  bool passes(const FusedResult& result) const {
    const double score = result.relevance.value_or(result.relative_score);
    if (result.decided == Decided::nothing && score < wanted_.least_score) return false;
    return passes_site(result.hit) && passes_date(result.hit) && passes_phrase(result.hit);
  }

 private:
  bool passes_site(const Hit& hit) const {
    if (wanted_.included.empty() && wanted_.excluded.empty()) return true;
    const PageAddress page(hit.url);
    return (wanted_.included.empty() || included_.contains(page)) && !excluded_.contains(page);
  }
  bool passes_date(const Hit& hit) const {
    const std::string day = hit.published.substr(0, 10);
    if (!wanted_.start_date.empty() && (day.empty() || day < wanted_.start_date)) return false;
    if (!wanted_.end_date.empty() && (day.empty() || day > wanted_.end_date)) return false;
    return since_.empty() || day.empty() || day >= since_;
  }
  bool passes_phrase(const Hit& hit) const {
    return phrase_.empty() || ascii_lower(hit.title + "\n" + hit.snippet).find(phrase_) != std::string::npos;
  }

  const ResultConditions& wanted_;
  SiteSet included_, excluded_;
  std::string since_, phrase_;
};

}  // namespace

bool ResultConditions::is_set() const {
  return !included.empty() || !excluded.empty() || !start_date.empty() || !end_date.empty() || days > 0 ||
         !phrase.empty() || least_score > 0;
}

std::vector<std::size_t> wanted_positions(const SearchAnswer& answer, const ResultConditions& conditions,
                                          UnixTime now) {
  const ResultCheck check(conditions, now);
  std::vector<std::size_t> out;
  for (std::size_t at = 0; at < answer.results.size() - answer.hidden; ++at)
    if (check.passes(answer.results[at])) out.push_back(at);
  return out;
}

}  // namespace metafuse::service
