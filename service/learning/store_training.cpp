#include "service/learning/store_training.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/contract.h"
#include "fusion/data/features.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/learners/common/validation.h"
#include "fusion/training/held_out.h"
#include "service/search/list_fusion.h"

namespace metafuse::service {
namespace {

using Ids = std::vector<std::string_view>;

std::vector<Ids> ids_of(const StoredSearch& search) {
  std::vector<Ids> out;
  for (const StoredList& list : search.lists) {
    Ids& ids = out.emplace_back();
    for (const std::uint32_t document : list.documents) ids.push_back(search.documents[document]);
  }
  return out;
}

/// The largest depth of the search's lists; 0 without lists.
int depth_of(const StoredSearch& search) {
  int depth = 0;
  for (const StoredList& list : search.lists) depth = std::max(depth, list.depth);
  return depth;
}

}  // namespace

std::vector<fusion::Feature> rank_features(const StoredSearch& search) {
  std::vector<fusion::Feature> out;
  for (const StoredList& list : search.lists) {
    const auto is_same = [&](const fusion::Feature& feature) { return feature.name == list.feature; };
    if (std::none_of(out.begin(), out.end(), is_same))
      out.push_back({list.feature, fusion::FeatureKind::rank, list.depth});
  }
  return out;
}

std::size_t common_features(const StoredSearch& search, const std::vector<fusion::Feature>& features) {
  return static_cast<std::size_t>(
      std::count_if(features.begin(), features.end(), [&](const fusion::Feature& feature) {
        return std::any_of(search.lists.begin(), search.lists.end(),
                           [&](const StoredList& list) { return list.feature == feature.name; });
      }));
}

fusion::QueryInstances stored_instances(const StoredSearch& search,
                                        const std::vector<fusion::Feature>& features) {
  std::vector<std::string_view> names;
  for (const StoredList& list : search.lists) names.push_back(list.feature);
  const FeatureColumns all = feature_columns(names, features);
  const std::vector<Ids> ids = ids_of(search);
  std::vector<fusion::RankedIds> lists;  // only lists that a feature reads
  FeatureColumns columns{{}, all.count};
  for (std::size_t j = 0; j < ids.size(); ++j) {
    if (all.of_list[j] == FeatureColumns::kNone) continue;
    lists.emplace_back(ids[j]);
    columns.of_list.push_back(all.of_list[j]);
  }
  const std::vector<int> depths(lists.size(), 0);
  fusion::QueryInstances instances = fusion::collect_instances(lists, depths);
  for (std::size_t j = 0, column = 0; j < ids.size(); ++j)
    if (all.of_list[j] != FeatureColumns::kNone) set_ranks(search.lists[j].ranks, column++, instances);
  if (const int depth = depth_of(search); depth > 0)
    mask_later_windows(instances, depth);  // as when it was served
  return instances_by_feature(instances, columns);
}

std::set<std::string_view> set_aside_documents(const StoredSearch& search) {
  std::set<std::string_view> out;
  for (const std::uint32_t document : search.set_aside) out.insert(search.documents[document]);
  return out;
}

namespace {

constexpr std::size_t kHeldOutOfTen = 3;
/// How many of the latest searches decide which features a domain has.
constexpr std::size_t kSearchesThatVote = 200;
/// Age limit of the searches and clicks from which the position bias is estimated.
constexpr UnixTime kHarvestSeconds = 90 * 86400;
/// The prior weight of a click's pair relative to a judged pair, and how many compared pairs the prior
/// counts as.
constexpr double kTrustBefore = 0.5;
constexpr double kTrustWeight = 20;

/// A clicked search's pairs, kept until the rows of its documents are known.
struct PendingPairs {
  std::string query;  ///< id in the training set
  const StoredSearch* search;
  std::vector<ClickPair> pairs;
};

/// What QueryRange says of a query beside its rows.
struct Noted {
  std::vector<std::uint32_t> unasked;
  bool is_judged = false;
  bool is_of_model = false;
  std::vector<double> unlisted;
};

class Collector {
 public:
  Collector(Store& store, const StoreTrainingOptions& options, StoreTrainingReport& report)
      : store_(store), options_(options), report_(report) {}

  Result<fusion::TrainingSet> collect() {
    TRY(const auto judged, chosen_queries());
    TRY(const auto clicked, store_.clicks.searches(options_.domain, options_.most_clicked_searches));
    TRY_VOID(choose_features(judged, clicked));
    rules_ = options_.clicks;
    TRY_VOID(balance_positions(clicked));
    std::set<std::string_view> judged_here;
    for (const JudgedQuery& query : judged) {
      judged_here.insert(query.query);
      TRY_VOID(add_judged(query));
    }
    for (const OfflineQuery& query : options_.offline)
      if (!judged_here.contains(query.search.query)) add_offline(query);
    for (const ClickedSearch& search : clicked) TRY_VOID(add_clicked(search));
    if (!report_.has_feedback()) return fusion::TrainingSet();
    return finish();
  }

 private:
  Result<void> choose_features(const std::vector<JudgedQuery>& judged,
                               const std::vector<ClickedSearch>& clicked) {
    features_ = options_.features;
    if (features_.empty()) {
      TRY(features_, vote(judged, clicked));
    }
    if (options_.derive.empty()) return {};
    TRY(const auto derived, fusion::derived_features(options_.derive, features_));
    features_.insert(features_.end(), derived.begin(), derived.end());
    return {};
  }

  /// The features that most of the latest searches have; at a tie, those seen first.
  Result<std::vector<fusion::Feature>> vote(const std::vector<JudgedQuery>& judged,
                                            const std::vector<ClickedSearch>& clicked) {
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < std::min(clicked.size(), kSearchesThatVote); ++i)
      ids.push_back(clicked[i].search);
    for (std::size_t i = 0; i < std::min(judged.size(), kSearchesThatVote); ++i)
      ids.push_back(judged[i].search);
    std::vector<std::pair<std::vector<fusion::Feature>, std::size_t>> votes;
    const auto add_vote = [&](const StoredSearch& search) {
      auto features = rank_features(search);
      const auto at =
          std::find_if(votes.begin(), votes.end(), [&](const auto& v) { return v.first == features; });
      if (at == votes.end())
        votes.emplace_back(std::move(features), 1);
      else
        ++at->second;
    };
    for (const std::string& id : ids) {
      TRY(const StoredSearch* search, read(id));
      if (search != nullptr) add_vote(*search);
    }
    for (const OfflineQuery& query : options_.offline) add_vote(query.search);
    if (votes.empty()) return std::vector<fusion::Feature>();
    return std::max_element(votes.begin(), votes.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  /// The stored search, read once, however often it was delivered; nullptr if it no longer exists.
  ///
  /// in: id - a stored or a delivered one
  Result<const StoredSearch*> read(std::string_view id) {
    auto at = searches_.find(stored_id(id));
    if (at == searches_.end()) {
      TRY(auto search, store_.searches.find(id));
      at = searches_.emplace(stored_id(id), std::move(search)).first;
    }
    return at->second ? &*at->second : nullptr;
  }

  /// As read(); nullptr also if it has none of the features.
  Result<const StoredSearch*> find(std::string_view id) {
    TRY(const StoredSearch* search, read(id));
    return search != nullptr && common_features(*search, features_) > 0 ? search : nullptr;
  }

  /// The judged queries by the choice of judges; a query that people judged has only their judgments.
  Result<std::vector<JudgedQuery>> chosen_queries() {
    const JudgeChoice& judges = options_.judges;
    TRY(const auto all, store_.judgments.queries(options_.domain));
    auto people = of_people(all);
    if (judges.model.empty()) return people;
    report_.model = judges.model;
    auto model = of_judge(all, model_judge(judges.model));
    report_.is_model_unknown = model.empty();
    if (model.empty()) report_.models = model_judges(all);
    if (judges.is_calibrated) calibrate(people, model);
    if (judges.is_only) people.clear();
    std::vector<JudgedQuery> added;
    for (JudgedQuery& query : model)
      if (position_of(people, query.query) == people.size()) {
        of_model_.insert(query.query);
        added.push_back(std::move(query));
      }
    std::move(added.begin(), added.end(), std::back_inserter(people));
    std::sort(people.begin(), people.end(),
              [](const JudgedQuery& a, const JudgedQuery& b) { return a.query < b.query; });
    return people;
  }

  /// Whether a base query is one by which models are measured, and that is not learned from.
  bool is_kept_out(std::string_view query) const { return !options_.are_held_out_used && is_held_out(query); }

  /// Learns how to read the model's grades, without the held-out queries, by which models are measured.
  void calibrate(const std::vector<JudgedQuery>& people, const std::vector<JudgedQuery>& model) {
    auto pairs = common_grades(people, model);
    std::erase_if(pairs, [&](const GradePair& pair) { return is_kept_out(people[pair.query].query); });
    report_.calibrated_by = pairs.size();
    reading_ = read_grades(pairs);
  }

  std::map<std::string, double> learned_grades(const JudgedQuery& query) const {
    const auto grades = grades_of(query);
    std::map<std::string, double> out(grades.begin(), grades.end());
    if (!reading_ || !of_model_.contains(query.query)) return out;
    for (auto& [document, grade] : out)
      grade = reading_->learned[static_cast<std::size_t>(std::clamp(grade, 0.0, 1.0 * kBestModelGrade))];
    return out;
  }

  Result<void> add_judged(const JudgedQuery& query) {
    const bool is_of_model = of_model_.contains(query.query);
    if (is_kept_out(query.query)) {
      ++report_.held_out_queries;
      return {};
    }
    if (!options_.are_held_out_used && !is_of_model) judged_grades_.emplace(query.query, grades_of(query));
    TRY(const auto search, search_to_learn(store_, options_.domain, query, features_));
    if (!search) return leave_out();
    const std::string row = std::string(fusion::kJudgedRow) + query.query;
    add_rows(row, *search, learned_grades(query), is_of_model || options_.are_unjudged_ignored);
    noted_[row].is_of_model = is_of_model;
    ++(is_of_model ? report_.model_queries : report_.judged_queries);
    return {};
  }

  Result<void> leave_out() {
    ++report_.foreign_searches;
    return {};
  }

  /// Counts which positions were clicked, over all searches whose clicks are learned from.
  Result<void> balance_positions(const std::vector<ClickedSearch>& clicked) {
    PositionBias bias;
    if (!clicked.empty()) {
      TRY(bias, position_bias_of(store_, options_.domain, options_.now - kHarvestSeconds,
                                 options_.most_clicked_searches));
    }
    report_.has_position_bias = bias.is_known();
    rules_.balance = PositionBalance(std::move(bias));
    for (const ClickedSearch& item : clicked) {
      TRY(const StoredSearch* search, find(item.search));
      if (search != nullptr && !is_kept_out(search->query)) rules_.balance.add(*search, item.clicks);
    }
    return {};
  }

  void add_offline(const OfflineQuery& query) {
    if (is_kept_out(query.search.query)) {
      ++report_.held_out_queries;
    } else if (common_features(query.search, features_) == 0) {
      ++report_.foreign_searches;
    } else {
      add_rows(std::string(fusion::kJudgedRow) + query.search.query, query.search,
               {query.grades.begin(), query.grades.end()}, options_.are_unjudged_ignored);
      ++report_.offline_queries;
    }
  }

  Result<void> add_clicked(const ClickedSearch& clicked) {
    TRY(const StoredSearch* search, find(clicked.search));
    if (search == nullptr) return leave_out();
    const StoredSearch& found = *search;
    if (is_kept_out(found.query)) {
      ++report_.held_out_searches;
      return {};
    }
    auto pairs = click_pairs(found, clicked.clicks, rules_, options_.now);
    compare(found, pairs);
    double sum = 0;
    for (const ClickPair& pair : pairs) sum += pair.weight;
    double& used = used_by_query_[found.query];
    if (used + sum > options_.most_of_query) {
      ++report_.capped_searches;
      return {};
    }
    used += sum;
    if (sum <= 0) return {};
    // The part before '#' names the base query, so that its searches stay together when queries are split
    // into folds.
    const std::string name = std::string(fusion::kClickedRow) + found.query + '#' + clicked.search;
    add_rows(name, found, {}, false);
    pending_.push_back({name, search, std::move(pairs)});
    ++report_.clicked_searches;
    return {};
  }

  /// Counts how often clicks order two documents of a judged query as its judges do.
  void compare(const StoredSearch& search, const std::vector<ClickPair>& pairs) {
    const auto judged = judged_grades_.find(search.query);
    if (judged == judged_grades_.end()) return;
    const std::map<std::string, int>& grades = judged->second;
    for (const ClickPair& pair : pairs) {
      const auto below = grades.find(search.documents[pair.below]);
      const auto above = grades.find(search.documents[pair.above]);
      if (below == grades.end() || above == grades.end() || below->second == above->second) continue;
      ++(above->second > below->second ? report_.agreeing_pairs : report_.disagreeing_pairs);
    }
  }

  /// The weight of a click's pair relative to a judged pair: how much more often clicks are right than wrong.
  double trust() const {
    const auto right = static_cast<double>(report_.agreeing_pairs);
    const auto wrong = static_cast<double>(report_.disagreeing_pairs);
    return std::max(0.0, (right - wrong + kTrustBefore * kTrustWeight) / (right + wrong + kTrustWeight));
  }

  void add_rows(const std::string& query, const StoredSearch& search,
                const std::map<std::string, double>& grades, bool are_unjudged_ignored) {
    const auto instances = stored_instances(search, features_);
    Noted& noted = noted_[query];
    noted.unasked = unasked_features(search);
    noted.is_judged = !grades.empty();
    auto unlisted = grades;
    const auto matrix = fusion::feature_matrix(features_, instances);
    const auto set_aside = set_aside_documents(search);
    std::vector<fusion::Cell> cells;
    for (std::size_t i = 0; i < instances.documents.size(); ++i) {
      cells.clear();
      for (std::size_t f = 0; f < features_.size(); ++f)
        if (!matrix.is_unranked(i, f)) cells.push_back({static_cast<std::uint32_t>(f), matrix.value(i, f)});
      const auto grade = grades.find(std::string(instances.documents[i]));
      const bool is_judged = grade != grades.end();
      if (is_judged) unlisted.erase(grade->first);
      const bool is_ignored = set_aside.contains(instances.documents[i]);
      builder_.add({query, instances.documents[i], is_judged ? grade->second : 0.0,
                    is_judged || grades.empty() || !(is_ignored || are_unjudged_ignored), cells});
    }
    for (const auto& [document, grade] : unlisted) noted.unlisted.push_back(grade);
  }

  /// The features for which the search has no list, as a domain with `select` leaves some out.
  std::vector<std::uint32_t> unasked_features(const StoredSearch& search) const {
    std::vector<std::uint32_t> unasked;
    for (std::uint32_t f = 0; f < features_.size(); ++f)
      if (!fusion::is_derived(features_[f]) && common_features(search, {features_[f]}) == 0)
        unasked.push_back(f);
    return unasked;
  }

  Result<fusion::TrainingSet> finish() {
    TRY(auto set, builder_.finish(features_, options_.feedback));
    const std::vector<bool> are_answerable = fusion::are_answerable(set);
    for (std::size_t i = 0; i < set.queries.size(); ++i) {
      fusion::QueryRange& query = set.queries[i];
      Noted& noted = noted_[query.id];
      query.unasked = std::move(noted.unasked);
      query.is_judged = noted.is_judged;
      query.unlisted = std::move(noted.unlisted);
      if (!noted.is_of_model) continue;
      report_.answerable_model_queries += are_answerable[i] ? 1 : 0;
      if (!options_.judges.is_only) query.weight = options_.judges.weight;  // else there are no others
    }
    report_.click_trust = trust();
    for (const PendingPairs& pending : pending_) add_pairs(pending, report_.click_trust, set);
    std::sort(set.pairs.begin(), set.pairs.end(), [](const auto& a, const auto& b) {
      return a.below != b.below ? a.below < b.below : a.above < b.above;
    });
    report_.click_pairs = set.pairs.size();
    return set;
  }

  /// Adds the pairs whose two documents are rows. A document is no row if the features of its lists no
  /// longer exist.
  static void add_pairs(const PendingPairs& pending, double trust, fusion::TrainingSet& set) {
    const auto range =
        std::lower_bound(set.queries.begin(), set.queries.end(), pending.query,
                         [](const auto& query, const std::string& id) { return query.id < id; });
    if (range == set.queries.end() || range->id != pending.query) return;
    const auto row = [&](std::uint32_t document) {
      return set.documents.find_ascending(range->begin, range->end, pending.search->documents[document]);
    };
    for (const ClickPair& pair : pending.pairs) {
      const auto below = row(pair.below);
      const auto above = row(pair.above);
      if (below && above && pair.weight * trust > 0)
        set.pairs.push_back(
            {static_cast<std::uint32_t>(*below), static_cast<std::uint32_t>(*above), pair.weight * trust});
    }
  }

  Store& store_;
  const StoreTrainingOptions& options_;
  StoreTrainingReport& report_;
  std::set<std::string, std::less<>> of_model_;  ///< queries whose judgments are the model's
  std::optional<GradeReading> reading_;          ///< of the model's grades, if they are calibrated
  std::vector<fusion::Feature> features_;
  fusion::TrainingSetBuilder builder_;
  ClickRules rules_;
  std::map<std::string, std::optional<StoredSearch>, std::less<>> searches_;  ///< those read, by stored id
  /// What people judged of the queries learned from, by query and document. None if the held-out queries are
  /// learned from, too: then models are measured on all of them.
  std::map<std::string, std::map<std::string, int>> judged_grades_;
  std::map<std::string, double> used_by_query_;
  std::map<std::string, Noted> noted_;  ///< by query
  std::vector<PendingPairs> pending_;
};

}  // namespace

std::string StoreTrainingReport::unknown_model() const {
  if (!is_model_unknown) return {};
  std::string names;
  for (const std::string& judge : models)
    names += (names.empty() ? "" : ", ") + std::string(model_name(judge));
  return fmt::format("the store has no judgment of the model {}; {}", model,
                     names.empty() ? "metafuse judge makes some" : "there are some of " + names);
}

std::string StoreTrainingReport::too_little(const std::string& domain) const {
  if (is_model_unknown) return fmt::format("domain {}: {}", domain, unknown_model());
  return fmt::format("domain {}: nothing in the store to learn from ({}); judge or click results first",
                     domain, text());
}

std::string StoreTrainingReport::text() const {
  std::string of_model;
  if (!model.empty())
    of_model = fmt::format(", {} judged by the model {} only{}", model_queries, model,
                           is_model_unknown    ? " (" + unknown_model() + ")"
                           : calibrated_by > 0 ? fmt::format(" (calibrated by {} documents)", calibrated_by)
                                               : "");
  return fmt::format(
      "{} judged queries{}{} and {} clicked searches with {} pairs; held out: {} judged queries, {} clicked "
      "searches; left out: {} with other features, {} of base queries that already have their share; a "
      "click's pair "
      "counts {:.2f} of a judged one ({} agree with judgments, {} do not); position bias {}",
      judged_queries, of_model, offline_queries > 0 ? fmt::format(", {} from files", offline_queries) : "",
      clicked_searches, click_pairs, held_out_queries, held_out_searches, foreign_searches, capped_searches,
      click_trust, agreeing_pairs, disagreeing_pairs, has_position_bias ? "harvested" : "unknown");
}

bool is_held_out(std::string_view query) {
  unsigned digits = 0;
  const std::string_view head = query.substr(0, 8);
  std::from_chars(head.data(), head.data() + head.size(), digits, 16);
  return digits % 10 < kHeldOutOfTen;
}

Result<std::optional<StoredSearch>> search_to_learn(Store& store, std::string_view domain,
                                                    const JudgedQuery& query,
                                                    const std::vector<fusion::Feature>& features) {
  const auto fits = [&](const std::optional<StoredSearch>& search) {
    if (!search) return false;
    return features.empty() ? !search->lists.empty() : common_features(*search, features) > 0;
  };
  TRY(auto search, store.searches.find(query.search));
  if (fits(search)) return search;
  TRY(const auto asked, store.searches.find_query(domain, query.query));
  if (!asked) return std::optional<StoredSearch>();
  TRY(search, store.searches.find(asked->search));
  return fits(search) ? search : std::nullopt;
}

Result<fusion::TrainingSet> training_set_from_store(Store& store, const StoreTrainingOptions& options,
                                                    StoreTrainingReport* report) {
  require(options.clicks.half_life_days > 0, "a half life is positive");
  StoreTrainingReport own;
  StoreTrainingReport& used = report != nullptr ? *report : own;
  used = {};
  return Collector(store, options, used).collect();
}

}  // namespace metafuse::service
