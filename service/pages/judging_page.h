#pragma once

#include <optional>
#include <string>
#include <vector>

#include "service/api/judgments.h"
#include "service/base/signed_links.h"
#include "service/http/exchange.h"
#include "service/judges/judge_report.h"
#include "service/learning/model_comparison.h"
#include "service/pages/page.h"

namespace metafuse::service {

/// What the judging page shows.
struct JudgingPageState : FormState {
  LearningStory story;  ///< what the judgments brought, when the model was last trained
  JudgingState state;
  std::vector<JudgeReport> models;  ///< what language models' grades are worth
  JudgedPool pool;
  std::optional<ResultsToJudge> open;  ///< the query being judged; nothing shows the queue
  std::string typed_query = {};        ///< what was typed and not opened
  BaseQuery typed_slots = {};          ///< beside it
  std::string typed_file = {};         ///< what was typed and not imported
  FileLinks files = {};                ///< for results that are files
  PictureLinks pictures = {};          ///< for the pictures of results
};

std::string judging_page(const Exchange& exchange, const LoadedDomain& domain, const JudgingPageState& state);

}  // namespace metafuse::service
