#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/json.h"
#include "core/query.h"
#include "fetchers/fetcher.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/model/fuse.h"
#include "service/store/stored_search.h"
#include "templates/typed_query.h"

namespace metafuse::service {

/// The pages of one list, best first, each once: position 0 has rank 1. What recordings keep and what
/// searches fuse, so that ranks mean the same in both.
struct ListKeys {
  std::vector<std::string> keys;  ///< canonical URL keys
  std::vector<std::size_t> hits;  ///< where each stands in the list
};

/// Keys of URLs seen before in the same search, of hits that came without one.
using KeyMemory = std::unordered_map<std::string, std::string>;

/// in:  depth - how far down the list counts, 0 for all of it
/// out: hits whose URL is no URL are left out and do not count as ranks
ListKeys list_keys(const RankedList& list, int depth, KeyMemory& memory);

/// Where one list ranked a result.
struct Placement {
  std::size_t feature = 0;
  int rank = 0;
};

/// One result of the fused ranking.
struct FusedResult {
  std::string key;  ///< canonical URL key
  Hit hit;          ///< as the best-ranked list delivered it
  std::vector<Placement> placements;
  double score = 0;            ///< the ranker's
  double relative_score = 0;   ///< within [0, 1], best 1; never rises down the answer
  std::size_t document = 0;    ///< its instance in the answer's fusion state
  std::size_t moved_from = 0;  ///< place by the model, from 1, where an online reranker ordered; else 0
  double online_score = 0;     ///< the reranker's, where moved_from says that one ordered
};

/// How the results were ordered.
struct FusionNote {
  std::string method;              ///< "rankboost", "rrf", ...
  std::string model;               ///< name of the model file, empty without a model
  std::string version;             ///< digest of the model file, empty without a model
  std::string templates;           ///< digest of the templates, empty where callers brought the lists
  std::string challenger;          ///< version that the results are interleaved with, empty for none
  std::uint64_t online_steps = 0;  ///< examples that the online reranker learned from; 0 when none ordered
  std::string notice;              ///< what a user should hear: why no model was used
  JsonObject choice;               ///< what `auto` chose the model among; empty for other models
};

/// The fused ranking as the ranker saw it, with the keys that it refers to.
struct FusionState {
  std::vector<std::vector<std::string>> keys;  ///< of each list, best first
  fusion::FusedRanking ranking;
};

/// The answer to one search.
struct SearchAnswer {
  std::string domain;
  std::string query;  ///< the plain query, or the slots' values joined by spaces
  BaseQuery slots;
  templates::TypedQuery typed;               ///< the conditions that every result meets
  std::size_t left_out = 0;                  ///< results of the lists that do not meet them
  std::vector<fusion::Feature> features;     ///< one for each list that was asked for
  std::vector<fetchers::FetchedList> lists;  ///< a feature each, failed ones empty
  std::shared_ptr<const FusionState> state;  ///< what explains a result
  std::vector<FusedResult> results;          ///< best first, all of them
  int windows = 1;                           ///< of the domain's depth that the lists hold
  std::vector<Team> teams;                   ///< who placed each result; empty without interleaving
  std::vector<std::string> suggestions;
  FusionNote fusion;
  double fetch_seconds = 0;
  double fuse_seconds = 0;

  bool has_failures() const;
};

}  // namespace metafuse::service
