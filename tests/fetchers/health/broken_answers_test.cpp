// How soon changed answers are noticed, how often unchanged ones are taken for changed, and how many
// definitions are repaired: with two invented engines, and with recorded answers if METAFUSE_DATA has them.
// For the latter, the figures are printed (`test_fetchers_health "[figures]"`).

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/random.h"
#include "core/url.h"
#include "fetchers/health/health_record.h"
#include "fetchers/health/repair.h"
#include "tests/fetchers/health/changed_answers.h"
#include "tests/support/data_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

constexpr int kGoodAnswers = 100;  ///< before an engine changes
constexpr int kWithin = 20;

/// Queries to one engine. Most find as much as the recorded one, some find less or nothing, a few fail.
struct Queries {
  Random random;
  double partial = 0.12, nothing = 0.03, failing = 0.004;
  int number = 0;

  /// The list that the engine answers the next query with: results of this query's own, some left out.
  FetchedList vary(FetchedList list, bool is_own) {
    ++number;
    list.query.text = "q" + std::to_string(number);
    const double seconds = 0.2 * std::exp(0.4 * random.normal());
    if (list.failure != Failure::timeout)
      list.elapsed = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
    const double chance = random.uniform();
    std::vector<Hit>& hits = list.list.hits;
    if (chance < nothing) {
      hits.clear();
    } else if (chance < nothing + partial && !hits.empty()) {
      random.shuffle(hits);
      hits.resize(static_cast<std::size_t>(random.below(hits.size())));
    }
    for (Hit& hit : hits) {
      if (is_own)
        hit.url += (hit.url.find('?') == std::string::npos ? "?n=" : "&n=") + std::to_string(number);
      const auto key = canonical_url_key(hit.url);
      hit.key = key ? *key : hit.url;
    }
    return list;
  }

  FetchedList good(const test::RecordedCase& one) {
    FetchedList list;
    list.query.engine = one.engine.name;
    list.list = one.list;
    if (random.uniform() < failing) {
      list.list = {};
      list.failure = random.below(2) == 0 ? Failure::timeout : Failure::http_status;
      list.status = 503;
      list.elapsed = std::chrono::seconds(3);
    }
    return vary(std::move(list), true);
  }
};

bool note(HealthRecord& record, const FetchedList& list) {
  return note_answer(record, shape_of(list, list.query.text, {}), {list.query.text, Others::nobody, false, 3},
                     1000);
}

/// The number of changed answers after which the change is noticed; 0 if it is not within kWithin.
int noticed_after(const HealthRecord& learned, Queries queries, const FetchedList& changed, bool is_own) {
  HealthRecord record = learned;
  for (int i = 1; i <= kWithin; ++i) {
    note(record, queries.vary(changed, is_own));
    if (record.is_broken()) return i;
  }
  return 0;
}

struct Noticing {
  int tried = 0, noticed = 0;
  double answers = 0;
};

std::map<std::string, Noticing> measure_noticing(const std::vector<test::RecordedCase>& cases, int runs) {
  std::map<std::string, Noticing> out;
  std::uint64_t seed = 1;
  for (const test::RecordedCase& one : cases)
    for (int run = 0; run < runs; ++run) {
      Queries queries{Random(++seed)};
      HealthRecord learned;
      for (int i = 0; i < kGoodAnswers; ++i) note(learned, queries.good(one));
      if (learned.is_broken()) continue;  // a false alarm, which is counted elsewhere
      for (const test::AnswerChange& change : test::answer_changes()) {
        const auto changed = change.applied(one);
        if (!changed) continue;
        const bool is_own = change.name.find("soft block") == std::string::npos;
        const int after = noticed_after(learned, queries, *changed, is_own);
        Noticing& row = out[change.name];
        ++row.tried;
        row.noticed += after > 0 ? 1 : 0;
        row.answers += after;
      }
    }
  return out;
}

std::pair<long, long> measure_false_alarms(const std::vector<test::RecordedCase>& cases, long answers) {
  long alarms = 0, searches = 0;
  std::uint64_t seed = 1000;
  for (const test::RecordedCase& one : cases) {
    Queries queries{Random(++seed)};
    HealthRecord record;
    for (long i = 0; i < answers; ++i, ++searches)
      if (note(record, queries.good(one)) && record.is_broken()) ++alarms;
  }
  return {alarms, searches};
}

struct Repairs {
  int tried = 0, proposed = 0, right = 0;
  long addresses = 0, right_addresses = 0;
};

/// Tries to repair every change of form that loses results, with the old results as examples.
std::map<std::string, Repairs> measure_repairs(const std::vector<test::RecordedCase>& cases) {
  std::map<std::string, Repairs> out;
  for (const test::RecordedCase& one : cases)
    for (const test::AnswerChange& change : test::answer_changes()) {
      if (!change.is_of_form || !change.applied(one)) continue;
      Repairs& row = out[change.name];
      ++row.tried;
      const HttpAnswer answer = *change.change(one);
      const AnswerContext context{answer.url, std::string(answer.header("content-type")), "en"};
      const auto repaired = repaired_rules(one.rules(), answer.body, context, one.list.hits);
      if (!repaired) continue;
      ++row.proposed;
      std::set<std::string> before, after;
      for (const Hit& hit : one.list.hits) before.insert(hit.url);
      for (const Hit& hit : repaired->list.hits) after.insert(hit.url);
      long right = 0;
      for (const std::string& url : after) right += before.contains(url) ? 1 : 0;
      row.addresses += static_cast<long>(after.size());
      row.right_addresses += right;
      row.right += static_cast<double>(right) >= 0.9 * static_cast<double>(before.size()) ? 1 : 0;
    }
  return out;
}

}  // namespace

TEST_CASE("Every change of an engine's answers is noticed within 20 queries", "[fetchers][health]") {
  const auto rows = measure_noticing(test::invented_cases(), 5);
  CHECK(rows.size() >= 23);
  for (const auto& [name, row] : rows) {
    INFO(name);
    CHECK(row.noticed == row.tried);
  }
}

TEST_CASE("An engine whose answers stay as they were is not suspected", "[fetchers][health]") {
  const auto [alarms, searches] = measure_false_alarms(test::invented_cases(), 5000);
  CHECK(searches == 10'000);
  CHECK(alarms <= 1);
}

TEST_CASE("Changed forms of answers are repaired by the results of before", "[fetchers][health]") {
  for (const auto& [name, row] : measure_repairs(test::invented_cases())) {
    INFO(name);
    CHECK(row.right == row.tried);
    CHECK(row.right_addresses == row.addresses);
  }
}

TEST_CASE("Figures: changes of recorded answers noticed and repaired, and false alarms",
          "[fetchers][health][figures][full]") {
  const auto folder = test::data_folder("search-responses", test::kAnswersSource);
  if (!folder) return;
  const auto cases = test::recorded_cases(*folder);
  CHECK(cases.size() >= 40);
  Noticing all;
  for (const auto& [name, row] : measure_noticing(cases, 5)) {
    std::cout << fmt::format("{:<60} {:>4} of {:>4} noticed, after {:.1f}\n", name, row.noticed, row.tried,
                             row.answers / std::max(1, row.noticed));
    all.tried += row.tried;
    all.noticed += row.noticed;
  }
  std::cout << fmt::format("{} engines, {} changes: {} noticed within {} queries\n", cases.size(), all.tried,
                           all.noticed, kWithin);
  CHECK(all.noticed * 100 >= all.tried * 99);
  const auto [alarms, searches] = measure_false_alarms(cases, 2000);
  std::cout << fmt::format("{} false alarms in {} searches\n", alarms, searches);
  CHECK(alarms * 10'000 <= searches);
  Repairs total;
  for (const auto& [name, row] : measure_repairs(cases)) {
    std::cout << fmt::format("{:<60} {:>3} of {:>3} repaired ({} proposed), {} of {} addresses right\n", name,
                             row.right, row.tried, row.proposed, row.right_addresses, row.addresses);
    total.tried += row.tried;
    total.right += row.right;
    total.addresses += row.addresses;
    total.right_addresses += row.right_addresses;
  }
  std::cout << fmt::format("{} of {} repaired, {} of {} addresses right\n", total.right, total.tried,
                           total.right_addresses, total.addresses);
  CHECK(total.right * 10 >= total.tried * 7);
  CHECK(total.right_addresses * 100 >= total.addresses * 98);
}
