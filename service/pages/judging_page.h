#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/base/signed_links.h"
#include "service/http/exchange.h"
#include "service/learning/judging.h"
#include "service/learning/model_comparison.h"

namespace metafuse::service {

/// One result as a judge sees it.
struct ResultToJudge {
  std::uint32_t position = 0;  ///< in the search's shown results, from 1
  std::string url;
  std::string title;
  std::string snippet;
  std::optional<int> grade;  ///< that this judge gave earlier
};

/// The results of one base query, put before a judge.
struct ResultsToJudge {
  std::string search;  ///< its id
  std::string query;   ///< digest
  std::string text;
  std::vector<ResultToJudge> results;
};

/// What the judging page shows.
struct JudgingPageState {
  bool is_off = false;        ///< the server has no store
  bool is_signed_in = false;  ///< a judge's key was sent
  std::string done;           ///< message after an action that succeeded
  std::string wrong;          ///< message after an action that failed
  LearningStory story;        ///< what the judgments brought, when the model was last trained
  JudgingState state;
  JudgedPool pool;
  /// The queue begins with the queries whose judgment would help most; else with the most asked
  bool is_by_suggestion = false;
  std::optional<ResultsToJudge> open;  ///< the query being judged; nothing shows the queue
  FileLinks files = {};                ///< for results that are files
};

/// The base query in words: the values of its slots.
std::string words_of(const BaseQuery& query);

std::string judging_page(const Exchange& exchange, const LoadedDomain& domain, const JudgingPageState& state);

}  // namespace metafuse::service
