// What can be learned from clicks alone, and what a poisoner who controls 1 % of the addresses can do. Three
// kinds of simulated users search the queries of MQ2008-agg, 1,000 searches each, on a store, click model and
// learner like a server's. The store starts with reciprocal rank fusion; after certain numbers of searches
// `auto` is trained, and its model orders the answers from then on. Quick: 5 draws. Normal: 10. Full: 20.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/random.h"
#include "fusion/data/fused_order.h"
#include "fusion/input/training_set_builder.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/judged_queries.h"
#include "service/learning/store_training.h"

namespace metafuse::lab::experiments {
namespace click_learning {
namespace {

constexpr const char* kSimulatedDomain = "simulation";
constexpr service::UnixTime kFirstSearch = 1'700'000'000;
constexpr service::UnixTime kSecondsBetween = 3600;
constexpr std::size_t kShown = 10;
constexpr std::array<std::size_t, 6> kTrainings = {50, 100, 200, 400, 700, 1000};
constexpr std::size_t kAddresses = 1000;
constexpr std::size_t kPoisoners = kAddresses / 100;
constexpr double kTolerated = 0.01;  ///< how far MAP may fall below that of RRF on the way

/// How users of one kind go down the results: for each grade (0, 1, 2), the probability of clicking a result
/// and that of stopping after the click (Hofmann, Schuth, Whiteson, de Rijke 2013, table 1).
struct UserKind {
  std::string name;
  std::array<double, 3> clicks;
  std::array<double, 3> stops;
};
const std::array<UserKind, 3> kKinds = {{{"perfect", {0.0, 0.5, 1.0}, {0.0, 0.0, 0.0}},
                                         {"navigational", {0.05, 0.5, 0.95}, {0.2, 0.5, 0.9}},
                                         {"noisy", {0.4, 0.7, 0.9}, {0.1, 0.3, 0.5}}}};

/// One of the five official parts, as the test part.
struct OfficialPart {
  std::vector<std::size_t> asked;  ///< the queries that users ask: those of the other four parts
  fusion::TrainingSet test;
  double rrf = 0;  ///< mean average precision of reciprocal rank fusion
};

/// The judged queries as stored searches and as a training set.
struct Collection {
  std::vector<service::StoredSearch> searches;  ///< per query of `set`, nothing shown yet
  fusion::TrainingSet set;                      ///< rows of a query in the order of its search's documents
  fusion::Model rrf;                            ///< reciprocal rank fusion
  std::array<OfficialPart, kFifths> parts;      ///< each is the test part in turn
};

service::StoredSearch search_of(const fusion::TrainingSet& set, const fusion::QueryRange& query) {
  service::StoredSearch search;
  search.domain = kSimulatedDomain;
  search.query = service::query_digest("simulation", kSimulatedDomain, {{{"QUERY", query.id}}}, "QUERY");
  std::map<std::string, std::size_t> rows;
  for (std::size_t row = query.begin; row < query.end; ++row) rows.emplace(set.documents[row], row);
  for (const auto& [document, row] : rows) search.documents.push_back(document);
  for (std::size_t feature = 0; feature < set.matrix.feature_count(); ++feature) {
    std::vector<std::pair<double, std::uint32_t>> ranked;
    std::uint32_t number = 0;
    for (const auto& [document, row] : rows) {
      if (!set.matrix.is_unranked(row, feature)) ranked.emplace_back(-set.matrix.value(row, feature), number);
      ++number;
    }
    std::sort(ranked.begin(), ranked.end());
    service::StoredList list{set.matrix.features()[feature].name, 0, false, {}};
    for (const auto& [rank, document] : ranked) list.documents.push_back(document);
    search.lists.push_back(std::move(list));
  }
  return search;
}

/// Adds a query with its features, as training from a store does.
void add_query(const service::StoredSearch& search, const fusion::TrainingSet& from,
               const fusion::QueryRange& query, const std::vector<fusion::Feature>& features,
               fusion::TrainingSetBuilder& builder) {
  std::map<std::string, double> grades;
  for (std::size_t row = query.begin; row < query.end; ++row)
    grades.emplace(from.documents[row], from.grades[row]);
  const auto instances = service::stored_instances(search, features);
  const auto matrix = fusion::feature_matrix(features, instances);
  for (std::size_t i = 0; i < instances.documents.size(); ++i) {
    std::vector<fusion::Cell> cells;
    for (std::size_t f = 0; f < features.size(); ++f)
      if (!matrix.is_unranked(i, f)) cells.push_back({static_cast<std::uint32_t>(f), matrix.value(i, f)});
    builder.add(
        {query.id, instances.documents[i], grades.at(std::string(instances.documents[i])), true, cells});
  }
}

double mean_precision(const fusion::TrainingSet& test, const fusion::Model& model) {
  const auto measures = evaluation::parse_measures("map");
  return QueryMeasures(test, *measures).means(model.ranker->score(test.matrix))[0];
}

Result<Collection> read_simulated_collection(const ExperimentOptions& options) {
  TRY(const auto read, read_judged_queries("MQ2008-agg", options));
  const fusion::TrainingSet& all = read.set;
  const std::vector<fusion::Feature> features =
      all.queries.empty() ? all.matrix.features()
                          : service::rank_features(search_of(all, all.queries.front()));
  Collection out;
  fusion::TrainingSetBuilder builder;
  for (const fusion::QueryRange& query : all.queries) {
    out.searches.push_back(search_of(all, query));
    add_query(out.searches.back(), all, query, features, builder);
  }
  TRY(out.set, builder.finish(features, {}));
  TRY(out.rrf, train({"reciprocal-ranks"}, out.set));
  for (std::size_t number = 0; number < kFifths; ++number) {
    Division division = divided(read.part_of, number);
    OfficialPart& part = out.parts[number];
    part.asked = std::move(division.train);
    part.test = fusion::select_queries(out.set, division.test);
    part.rrf = mean_precision(part.test, out.rrf);
  }
  return out;
}

/// A server with its users. It starts without training: with reciprocal rank fusion.
class Simulation {
 public:
  Simulation(const Collection& collection, const OfficialPart& part, const UserKind& kind, Random random,
             std::uint64_t seed, std::unique_ptr<service::Store> store)
      : collection_(collection),
        part_(part),
        kind_(kind),
        random_(random),
        seed_(seed),
        store_(std::move(store)),
        model_(collection.rrf) {}

  Result<void> search(bool is_poisoned, std::size_t address) {
    const std::size_t query = part_.asked[random_.below(part_.asked.size())];
    service::StoredSearch search = collection_.searches[query];
    search.id = fmt::format("{:016x}{:016x}", random_.next(), random_.next());
    search.at = kFirstSearch + static_cast<service::UnixTime>(searches_++) * kSecondsBetween;
    const std::vector<std::size_t> order = order_of(query);
    for (std::size_t i = 0; i < std::min(order.size(), kShown); ++i)
      search.shown.push_back({static_cast<std::uint32_t>(order[i]), service::Team::none});
    TRY_VOID(store_->searches.add({&search, 1}));
    return is_poisoned ? click(search, search.shown.size() - 1, address) : use(search, query, address);
  }

  /// Trains on the clicks so far and answers with that model from now on; requires a click.
  Result<void> learn() {
    service::StoreTrainingOptions options;
    options.domain = kSimulatedDomain;
    options.now = kFirstSearch + static_cast<service::UnixTime>(searches_) * kSecondsBetween;
    options.features = collection_.set.matrix.features();
    options.are_held_out_used = true;  // as a server does whose judgments cannot test a model yet
    TRY(const auto set, service::training_set_from_store(*store_, options));
    fusion::TrainingRequest request;
    request.seed = seed_;
    TRY(model_, train({"auto"}, set, request));
    return {};
  }

  /// Mean average precision on the test part minus that of reciprocal rank fusion.
  double lead() const { return mean_precision(part_.test, model_) - part_.rrf; }

 private:
  /// The documents of a query as the model orders them, numbered from the query's first.
  std::vector<std::size_t> order_of(std::size_t query) const {
    const fusion::TrainingSet own = fusion::select_queries(collection_.set, std::span(&query, 1));
    const auto scores = model_.ranker->score(own.matrix);
    const auto order = fusion::fused_order(own.matrix, 0, own.queries[0].end, scores, own.documents);
    return {order.begin(), order.end()};
  }

  Result<void> use(const service::StoredSearch& search, std::size_t query, std::size_t address) {
    const std::size_t begin = collection_.set.queries[query].begin;
    for (std::size_t position = 0; position < search.shown.size(); ++position) {
      const double given = collection_.set.grades[begin + search.shown[position].document];
      const auto grade = static_cast<std::size_t>(std::clamp(given, 0.0, 2.0));
      if (random_.uniform() >= kind_.clicks[grade]) continue;
      TRY_VOID(click(search, position, address));
      if (random_.uniform() < kind_.stops[grade]) break;
    }
    return {};
  }

  Result<void> click(const service::StoredSearch& search, std::size_t position, std::size_t address) {
    service::Click click;
    click.search = search.id;
    click.position = static_cast<std::uint32_t>(position);
    click.domain = kSimulatedDomain;
    click.at = search.at;
    click.prefix = fmt::format("address {}", address);
    TRY(const auto outcome, store_->clicks.add(click, {}));
    (void)outcome;  // a refused click is no error: the caps are part of what is measured
    return {};
  }

  const Collection& collection_;
  const OfficialPart& part_;
  const UserKind& kind_;
  Random random_;
  std::uint64_t seed_;
  std::unique_ptr<service::Store> store_;
  fusion::Model model_;
  std::size_t searches_ = 0;
};

/// MAP on the test queries minus that of RRF, after each number of searches in kTrainings.
using Way = std::array<double, kTrainings.size()>;

/// in: is_poisoned - in addition to the users, once every hundred searches one more address clicks on the
///     last result of as many searches as the daily cap allows
Result<Way> run_way(const Collection& collection, const UserKind& kind, std::uint64_t number,
                    bool is_poisoned, const ExperimentOptions& options) {
  TRY(const auto folder, WorkFolder::make());
  TRY(auto store, service::open_store(folder->path("store.db")));
  Simulation simulation(collection, collection.parts[number % kFifths], kind,
                        Random(options.seed).split(number), options.seed, std::move(store));
  Way way{};
  std::size_t done = 0;
  for (std::size_t step = 0; step < kTrainings.size(); ++step) {
    for (; done < kTrainings[step]; ++done) {
      TRY_VOID(simulation.search(false, done));
      if (!is_poisoned || done % (kAddresses / kPoisoners) != 0) continue;
      for (int i = 0; i < static_cast<int>(service::ClickCaps().per_prefix); ++i)
        TRY_VOID(simulation.search(true, kAddresses + done));
    }
    TRY_VOID(simulation.learn());
    way[step] = simulation.lead();
  }
  return way;
}

/// The leads after the training of that number.
/// in: ways - one per draw
std::vector<double> leads_at(const std::vector<Way>& ways, std::size_t step) {
  std::vector<double> out;
  for (const Way& way : ways) out.push_back(way[step]);
  return out;
}

void describe(const UserKind& kind, const std::vector<Way>& honest, const std::vector<Way>& poisoned,
              Table& table, Report& report) {
  double lowest = 1.0;
  for (std::size_t step = 0; step < kTrainings.size(); ++step) {
    const auto leads = leads_at(honest, step);
    const Interval lead = interval_of(leads);
    lowest = std::min(lowest, least_of(leads));
    const auto with_poisoner = leads_at(poisoned, step);
    table.add({fmt::format("{}, {}", kind.name, kTrainings[step]), to_text(lead, 4),
               signed_text(least_of(leads)), signed_text(mean_of(with_poisoner)),
               signed_text(least_of(with_poisoner)), fixed(lead.deviation, 4)});
  }
  const auto end = leads_at(honest, kTrainings.size() - 1);
  const double noise = interval_of(end).deviation;
  const double moved = mean_of(leads_at(poisoned, kTrainings.size() - 1)) - mean_of(end);
  report.judge(kind.name + ": after 1,000 searches the model of clicks alone is ahead of RRF",
               mean_of(end) > 0.0, signed_text(mean_of(end)));
  report.judge(fmt::format("{}: no model on the way is more than {} below RRF", kind.name, kTolerated),
               lowest >= -kTolerated, "lowest " + signed_text(lowest));
  report.judge(kind.name + ": a poisoner with 1 % of the addresses moves the model by no more than the noise",
               std::abs(moved) <= noise, fmt::format("{:+.4f}, noise {:.4f}", moved, noise));
}

}  // namespace
}  // namespace click_learning

Result<Report> run_click_learning(const ExperimentOptions& options) {
  using namespace click_learning;
  const std::size_t draws = kFifths * options.by_size<std::size_t>(1, 2, 4);
  TRY(const auto collection, read_simulated_collection(options));
  Report report;
  Table table;
  table.add({"users, searches", "MAP - RRF", "lowest draw", "with a poisoner", "lowest draw", "noise"});
  for (const UserKind& kind : kKinds) {
    TRY(const auto ways, run_all(2 * draws, options, [&](std::size_t i) {
          return run_way(collection, kind, i % draws, i >= draws, options);
        }));
    const auto poisoned = ways.begin() + static_cast<std::ptrdiff_t>(draws);
    describe(kind, {ways.begin(), poisoned}, {poisoned, ways.end()}, table, report);
  }
  const double rrf = mean_by(collection.parts, [](const OfficialPart& part) { return part.rrf; });
  report.text = fmt::format(
      "MQ2008-agg: users ask queries of four official parts, models are measured on the fifth, each part in "
      "its turn;\nRRF has {:.4f} in the mean; {} draws. ± is half of the 95 % interval over the draws, noise "
      "their standard\ndeviation. Poisoner: of {} addresses {} click on the last result as often as a day's "
      "cap lets them.\n\n",
      rrf, draws, kAddresses, kPoisoners);
  report.add(table);
  return report;
}

}  // namespace metafuse::lab::experiments
