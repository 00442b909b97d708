#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/base/local_files.h"
#include "service/http/exchange.h"
#include "service/learning/judging.h"

namespace metafuse::service {

/// One result as a judge sees it.
struct ResultToJudge {
  std::uint32_t position = 0;  ///< in what the search showed, from 1
  std::string url;
  std::string title;
  std::string snippet;
  std::optional<int> grade;  ///< that this judge gave before
};

/// The results of one base query, put before a judge.
struct ResultsToJudge {
  std::string search;  ///< its id
  std::string query;   ///< digest
  std::string text;
  std::vector<ResultToJudge> results;
};

/// What the page of judging shows.
struct JudgingPageState {
  bool is_off = false;        ///< the server has no store
  bool is_signed_in = false;  ///< a judge's key came along
  std::string done;           ///< what an action came to
  std::string wrong;          ///< or why not
  JudgingState state;
  JudgedPool pool;
  bool is_by_suggestion = false;       ///< the order of the queue: what tells most first; else the most asked
  std::optional<ResultsToJudge> open;  ///< without: the queue
  FileLinks files = {};                ///< for results that are files
};

/// The base query in words: its slots' values.
std::string words_of(const BaseQuery& query);

std::string judge_list_page(const Exchange& exchange);
std::string judging_page(const Exchange& exchange, const LoadedDomain& domain, const JudgingPageState& state);

}  // namespace metafuse::service
