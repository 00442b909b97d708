#include "service/search/search_answer.h"

#include <algorithm>

namespace metafuse::service {

bool SearchAnswer::has_failures() const {
  return std::any_of(lists.begin(), lists.end(),
                     [](const fetchers::FetchedList& list) { return list.has_failed(); });
}

}  // namespace metafuse::service
