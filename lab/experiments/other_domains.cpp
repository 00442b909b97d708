// What the models of other domains are worth to a domain that has judged few queries or none. The
// demonstration's base queries are divided into domains by SECTION; half of each domain's queries test. For
// each number of own judged queries: RRF, `auto`, `auto` that starts from the models which `auto` trained on
// all queries of the other domains, and a training on these queries together with the own ones. Quick: one
// draw. Normal: 3. Full: 10.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "core/random.h"
#include "fusion/model/prior.h"
#include "fusion/training/pooling.h"
#include "fusion/training/registry.h"
#include "lab/experiments/home_pages/home_pages.h"
#include "lab/experiments/judged_queries.h"

namespace metafuse::lab::experiments {
namespace other_domains {
namespace {

constexpr std::array<std::size_t, 6> kCounts = {0, 5, 10, 20, 50, 100};
constexpr std::size_t kFewestQueries = 60;  // of a domain; sections with fewer make one domain, "others"
constexpr const char* kMeasure = "recip_rank";

enum Column : std::size_t { kRrf, kAuto, kPrior, kPooled, kColumns };
constexpr std::array<const char*, kColumns> kNames = {"RRF", "auto", "auto from other domains", "pooled"};

using Row = std::vector<double>;                              // one value per column
using RowsByCount = std::map<std::size_t, std::vector<Row>>;  // by own judged queries: one row per draw

struct Domain {
  std::string name;
  std::vector<std::size_t> queries;  ///< numbers in the recorded set
};

/// The queries by section, the largest sections first. Queries without a section belong to "no section".
std::vector<Domain> domains_of(const fusion::TrainingSet& set,
                               const std::map<std::string, std::string>& section_of) {
  std::map<std::string, std::vector<std::size_t>> by_section;
  for (std::size_t q = 0; q < set.queries.size(); ++q)
    by_section[section_of.at(set.queries[q].id)].push_back(q);
  std::vector<Domain> domains;
  Domain others{"others", {}};
  for (auto& [section, queries] : by_section)
    if (queries.size() >= kFewestQueries)
      domains.push_back({section, std::move(queries)});
    else
      others.queries.insert(others.queries.end(), queries.begin(), queries.end());
  std::sort(others.queries.begin(), others.queries.end());
  std::stable_sort(domains.begin(), domains.end(),
                   [](const Domain& a, const Domain& b) { return a.queries.size() > b.queries.size(); });
  if (others.queries.size() >= kFewestQueries) domains.push_back(std::move(others));
  return domains;
}

/// The demonstration's queries, and the section of each.
struct Recorded {
  JudgedQueries queries;
  std::vector<Domain> domains;
  std::vector<fusion::Model> models;  ///< one per domain, of all its queries
};

fusion::TrainingRequest request_of(std::uint64_t seed, const fusion::Prior* prior) {
  fusion::TrainingRequest request;
  request.seed = seed;
  request.measure.name = kMeasure;
  request.prior = prior;
  return request;
}

Result<Recorded> record(const ExperimentOptions& options) {
  TRY(const auto pages, home_pages::IndexedPages::open(options.data));
  home_pages::SampleOptions sampling;
  sampling.seed = options.seed;
  sampling.names = sampling.categories = 0;  // only queries for a topic have a section
  Recorded out;
  TRY(out.queries.set, pages->record(sampling, options.threads));
  std::map<std::string, std::string> section_of;
  for (const home_pages::JudgedQuery& query : home_pages::sample_base_queries(pages->pages(), sampling)) {
    const auto at = query.base_query.slots.find("SECTION");
    section_of[query.id] = at == query.base_query.slots.end() ? "no section" : at->second;
  }
  out.domains = domains_of(out.queries.set, section_of);
  TRY(out.models, run_all(out.domains.size(), options.threads, {}, [&](std::size_t d) {
        return train({"auto"}, fusion::select_queries(out.queries.set, out.domains[d].queries),
                     request_of(options.seed, nullptr));
      }));
  return out;
}

Result<fusion::Prior> prior_for(const Recorded& recorded, std::size_t domain) {
  std::vector<fusion::PriorSource> sources;
  for (std::size_t d = 0; d < recorded.domains.size(); ++d)
    if (d != domain) sources.push_back({recorded.domains[d].name, &recorded.models[d]});
  return fusion::prior_of(sources, recorded.queries.set.matrix.features());
}

fusion::TrainingSet queries_of_others(const Recorded& recorded, std::size_t domain) {
  std::vector<std::size_t> queries;
  for (std::size_t d = 0; d < recorded.domains.size(); ++d)
    if (d != domain)
      queries.insert(queries.end(), recorded.domains[d].queries.begin(), recorded.domains[d].queries.end());
  std::sort(queries.begin(), queries.end());
  return fusion::select_queries(recorded.queries.set, queries);
}

/// One draw of one domain: the means of the test half, for every number of own judged queries that there is.
Result<std::vector<Row>> run_draw(const Recorded& recorded, std::size_t domain, std::size_t number,
                                  std::uint64_t seed) {
  std::vector<std::size_t> drawn = recorded.domains[domain].queries;
  Random random = Random(seed).split(100 * number + domain);
  random.shuffle(drawn);
  const auto half = drawn.begin() + static_cast<std::ptrdiff_t>(drawn.size() / 2);
  Division division{{half, drawn.end()}, {drawn.begin(), half}};
  const std::vector<std::size_t> own = division.train;
  std::sort(division.test.begin(), division.test.end());
  const Trial trial(recorded.queries, std::move(division), kMeasure, seed);
  TRY(const auto prior, prior_for(recorded, domain));
  TRY(const auto rrf, train({"reciprocal-ranks"}, trial.test_set));
  const auto pooling =
      fusion::pooled_learner(*fusion::find_learner("auto"), queries_of_others(recorded, domain));
  std::vector<Row> rows;
  for (const std::size_t count : kCounts) {
    if (count > own.size()) break;
    Row& row = rows.emplace_back(kColumns, trial.value(rrf));
    row[kPrior] = row[kPooled] = trial.value(fusion::model_of(prior, trial.test_set.matrix.features()));
    if (count == 0) continue;
    std::vector<std::size_t> judged(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(count));
    std::sort(judged.begin(), judged.end());
    const fusion::TrainingSet set = fusion::select_queries(recorded.queries.set, judged);
    TRY(const auto alone, train({"auto"}, set, request_of(seed, nullptr)));
    TRY(const auto started, train({"auto"}, set, request_of(seed, &prior)));
    TRY(const auto pooled, train_with(pooling, set, request_of(seed, &prior)));
    row = {trial.value(rrf), trial.value(alone), trial.value(started), trial.value(pooled)};
  }
  return rows;
}

/// By how much one column is ahead of another, with one value per draw.
Interval lead_of(const std::vector<Row>& rows, Column column, Column over) {
  std::vector<double> leads;
  for (const Row& row : rows) leads.push_back(row[column] - row[over]);
  return interval_of(leads);
}

void describe(const std::string& name, const RowsByCount& draws, Report& report) {
  Table table{{{name + ": MRR, own judged queries"}}};
  table.rows[0].insert(table.rows[0].end(), kNames.begin(), kNames.end());
  table.rows[0].insert(table.rows[0].end(), {"ahead of auto", "pooled, ahead of auto"});
  for (const auto& [count, rows] : draws) {
    table.add(fmt::format("{} (x{})", count, rows.size()), means_of(rows), 4);
    for (const Column column : {kPrior, kPooled}) {
      const Interval lead = lead_of(rows, column, kAuto);
      table.rows.back().push_back(fmt::format("{} ± {}", signed_text(lead.mean), fixed(lead.half_width, 4)));
    }
  }
  report.add(table);
  report.text += "\n";
}

void judge(const RowsByCount& draws, Report& report) {
  const auto judge_lead = [&](std::size_t count, Column over, double goal) {
    for (const Column column : {kPrior, kPooled}) {
      const double lead = draws.contains(count) ? lead_of(draws.at(count), column, over).mean : 0.0;
      report.judge_at_least(fmt::format("with {} judged queries, \"{}\" is ahead of {} by at least {:g}",
                                        count, kNames[column], kNames[over], goal),
                            lead, goal);
    }
  };
  judge_lead(0, kRrf, 0.06);
  judge_lead(5, kAuto, 0.03);
  judge_lead(50, kAuto, -0.002);
  judge_lead(100, kAuto, -0.002);
}

}  // namespace
}  // namespace other_domains

Result<Report> run_other_domains(const ExperimentOptions& options) {
  using namespace other_domains;
  TRY(const auto recorded, record(options));
  const std::size_t draws = options.by_size<std::size_t>(1, 3, 10);
  const std::size_t domains = recorded.domains.size();
  TRY(const auto rows, run_all(draws * domains, options, [&](std::size_t i) {
        return run_draw(recorded, i % domains, i / domains, options.seed);
      }));
  Report report{
      "Mean reciprocal rank on queries that nothing was learned from; (xN): draws of so many own judged "
      "queries; ±: half of the 95 % interval over them.\nThe other domains' models are auto's, of all their "
      "queries.\n\n"};
  RowsByCount all;
  std::vector<RowsByCount> of_domains(domains);
  for (std::size_t draw = 0; draw < rows.size(); ++draw)
    for (std::size_t i = 0; i < rows[draw].size(); ++i) {
      all[kCounts[i]].push_back(rows[draw][i]);
      of_domains[draw % domains][kCounts[i]].push_back(rows[draw][i]);
    }
  describe(fmt::format("{} domains", domains), all, report);
  for (std::size_t d = 0; d < domains; ++d)
    describe(fmt::format("{} ({} queries)", recorded.domains[d].name, recorded.domains[d].queries.size()),
             of_domains[d], report);
  judge(all, report);
  return report;
}

}  // namespace metafuse::lab::experiments
