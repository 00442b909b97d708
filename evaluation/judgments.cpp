#include "evaluation/judgments.h"

#include <algorithm>

namespace metafuse::evaluation {

const Judgment* QueryJudgments::find(std::string_view document) const {
  const auto at = std::lower_bound(documents.begin(), documents.end(), document,
                                   [](const Judgment& j, std::string_view id) { return j.document < id; });
  return at != documents.end() && at->document == document ? &*at : nullptr;
}

const QueryJudgments* Judgments::find(std::string_view query) const {
  const auto at = std::lower_bound(queries.begin(), queries.end(), query,
                                   [](const QueryJudgments& q, std::string_view id) { return q.query < id; });
  return at != queries.end() && at->query == query ? &*at : nullptr;
}

}  // namespace metafuse::evaluation
