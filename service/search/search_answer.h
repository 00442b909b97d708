#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/query.h"
#include "fetchers/calling/fetcher.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/model/fuse.h"
#include "service/store/stored_search.h"
#include "templates/typed_query.h"

namespace metafuse::service {

/// The rank that one list gave a result.
struct Placement {
  std::size_t feature = 0;
  int rank = 0;
};

/// What an operator decided about a result's place.
enum class Decided : std::uint8_t { nothing, pinned, added };

/// A result that was folded below another one.
struct FoldedHit : Hit {
  FoldedHit(Hit hit, std::uint32_t of_window = 0) : Hit(std::move(hit)), window(of_window) {}

  std::uint32_t window = 0;  ///< FusedResult::window of the result that it was
};

/// One result of the fused ranking.
struct FusedResult {
  /// The document of a result that was added and that no list holds.
  static constexpr std::size_t kNoDocument = std::numeric_limits<std::size_t>::max();

  Hit hit;  ///< as the best-ranked list delivered it, with what it lacks taken from the others
  std::vector<Placement> placements;
  double score = 0;           ///< by the ranker
  double relative_score = 0;  ///< within [0, 1], 1 for the best; never rises from one result to the next
  /// Share of such results that are relevant, within [0, 1]; only by a calibrated model.
  std::optional<double> relevance{};
  std::size_t document = 0;    ///< index of its instance in the answer's fusion state
  std::size_t moved_from = 0;  ///< place by the model, from 1, if an online reranker ordered; else 0
  double online_score = 0;     ///< the reranker's score, if moved_from > 0
  std::optional<int> grade{};  ///< given to it by the judges of this query, if judged results come first
  Decided decided = Decided::nothing;
  std::uint32_t window = 0;  ///< which of the answer's windows it belongs to, from 0; see list_fusion.h
  /// Results of nearly equal text, folded below this one, with their keys; earlier windows first.
  std::vector<FoldedHit> alike{};
  std::vector<FoldedHit> same_site{};  ///< further results of the site, if the domain groups them
};

/// How the results were ordered.
struct FusionNote {
  std::string method;              ///< "rankboost", "rrf", ...
  std::string model;               ///< name of the model file, empty without a model
  std::string version;             ///< digest of the model file, empty without a model
  std::string templates;           ///< digest of the templates, empty if callers supplied the lists
  std::string challenger;          ///< version with which the results are interleaved, empty for none
  std::uint64_t online_steps = 0;  ///< examples that the online reranker learned from; 0 if none ordered
  std::string notice;              ///< notice for the user: why no model was used
  JsonObject choice;        ///< the candidates from which `auto` chose the model; empty for other models
  JsonObject learned_from;  ///< fusion::learned_from() of the model
};

/// Why a list of a domain with `select` was not asked for: the first lists settled the top, the search's time
/// was over, or it may send no more queries.
enum class WhyNotAsked : std::uint8_t { settled, deadline, limit };

struct NotAsked {
  std::string feature;
  std::string engine;
  WhyNotAsked why = WhyNotAsked::settled;
};

/// The fused ranking as the ranker computed it, with the keys that it refers to.
struct FusionState {
  std::vector<std::vector<std::string>> keys;  ///< by list, best first
  fusion::FusedRanking ranking;
};

/// What a request's least relevance left out.
struct RelevanceCut {
  double least = 0;
  std::size_t left_out = 0;
  double best = 0;  ///< the highest relevance that was left out
};

/// The answer to one search.
struct SearchAnswer {
  std::string domain;
  std::string query;  ///< the plain query, or the slots' values joined by spaces
  BaseQuery slots;
  templates::TypedQuery typed;
  /// By further plain query of the request.
  std::vector<std::vector<templates::Condition>> other_conditions{};
  /// Results that met the conditions of none of these queries.
  std::size_t left_out = 0;
  std::uint32_t narrowed_from = 0;           ///< if left_out > 0: the first window that had one of those
  std::vector<fusion::Feature> features;     ///< one per requested list
  std::vector<fetchers::FetchedList> lists;  ///< one per feature, failed ones empty
  std::vector<NotAsked> not_asked{};         ///< the request's other lists
  std::size_t second_stage = 0;              ///< how many lists at the end are orders by rerankers
  std::shared_ptr<const FusionState> state;  ///< used to explain results
  std::vector<FusedResult> results;          ///< all results, best first
  /// How many at the end are not shown: an operator hid them for this query, or the request's least relevance
  /// leaves them out.
  std::size_t hidden = 0;
  std::optional<RelevanceCut> cut{};  ///< only if the request has a least relevance
  int windows = 1;                    ///< windows of the domain's depth that the lists hold
  int depth = 0;                      ///< the domain's: how many ranks a window has
  std::vector<Team> teams;            ///< which model placed each result; empty without interleaving
  std::vector<std::string> suggestions;
  std::vector<std::string> matched;  ///< words of the shown passages that match the query, as they are spelt
  FusionNote fusion;
  double fetch_seconds = 0;
  double fuse_seconds = 0;

  /// Puts the first results and their teams into another order, in which each of them is once.
  void reorder(const std::vector<std::size_t>& order) {
    std::vector<FusedResult> moved;
    std::vector<Team> moved_teams;
    for (const std::size_t at : order) moved.push_back(std::move(results[at]));
    std::move(moved.begin(), moved.end(), results.begin());
    if (teams.empty()) return;
    for (const std::size_t at : order) moved_teams.push_back(teams[at]);
    std::copy(moved_teams.begin(), moved_teams.end(), teams.begin());
  }
  /// Whether results were found, but none is as relevant as the request wants.
  bool has_no_good_answer() const { return cut && cut->left_out > 0 && hidden == results.size(); }
  bool has_failures() const {
    return std::any_of(lists.begin(), lists.end(),
                       [](const fetchers::FetchedList& list) { return list.has_failed(); });
  }
  /// Whether more time might have brought more: a list failed or lacks pages, or was not asked because the
  /// time was over.
  bool is_cut_short() const {
    const auto lacks_pages = [](const fetchers::FetchedList& list) { return list.lacks_pages; };
    return has_failures() || std::any_of(lists.begin(), lists.end(), lacks_pages) ||
           std::any_of(not_asked.begin(), not_asked.end(),
                       [](const NotAsked& list) { return list.why == WhyNotAsked::deadline; });
  }
};

}  // namespace metafuse::service
