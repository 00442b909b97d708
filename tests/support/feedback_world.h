#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "service/learning/promotion.h"
#include "service/learning/store_training.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

namespace metafuse::test {

inline service::Click click_at(std::uint32_t position, double weight = 1, service::UnixTime at = kNewYear) {
  service::Click click;
  click.position = position;
  click.weight = weight;
  click.at = at;
  return click;
}

/// Ten documents, some of them relevant. Engine "good" ranks the relevant ones first, "bad" ranks them last,
/// "noise" ranks at random. Users see the documents in the order of `shown`.
struct FeedbackWorld {
  TemporaryFolder folder{TemporaryFolder::in_memory()};
  std::unique_ptr<service::Store> store = service::open_store(folder.path("store.db")).value();
  Random random{11};
  service::ClickCaps no_caps{1e9, 1e9};
  int searches = 0;

  /// Stores a search whose third result was clicked.
  service::StoredSearch add_clicked(const std::string& query) {
    service::StoredSearch search = sample_search();
    search.query = query;
    REQUIRE(store->searches.add({&search, 1}).has_value());
    add_click(search, 2);
    return search;
  }
  void add_click(const service::StoredSearch& search, std::uint32_t position) {
    service::Click click = click_at(position);
    click.search = search.id;
    click.domain = "shoes";
    REQUIRE(store->clicks.add(click, no_caps).has_value());
  }

  service::StoredSearch search(std::set<std::uint32_t>& relevant, const std::string& query) {
    service::StoredSearch out;
    out.id = service::new_search_id();
    out.domain = "shoes";
    out.query = query;
    out.at = kNewYear;
    std::vector<std::uint32_t> documents;
    for (std::uint32_t i = 0; i < 10; ++i) {
      out.documents.push_back(document_key(searches * 10 + static_cast<int>(i)));
      documents.push_back(i);
    }
    out.slots.slots = {{"QUERY", "name " + std::to_string(searches)}};
    ++searches;
    random.shuffle(documents);
    relevant.clear();
    relevant.insert(documents.begin(), documents.begin() + 3);
    const auto list = [&](std::string name, double quality) {
      std::vector<std::pair<double, std::uint32_t>> scored;
      for (const std::uint32_t d : documents)
        scored.emplace_back(-(relevant.contains(d) ? quality : 0.0) - random.uniform(), d);
      std::sort(scored.begin(), scored.end());
      service::StoredList made{std::move(name), 10, false, {}};
      for (const auto& [score, d] : scored) made.documents.push_back(d);
      return made;
    };
    out.lists = {list("bad@b", -0.6), list("good@g", 0.6), list("noise@n", 0)};
    // Users are shown the bad engine's order.
    for (const std::uint32_t d : out.lists[0].documents) out.shown.push_back({d, service::Team::none});
    return out;
  }

  std::string new_query() {
    return service::query_digest("secret", "shoes", {{{"Q", std::to_string(searches)}}});
  }

  /// A user looks at position k with probability 1/k and clicks a relevant result there with probability 0.8,
  /// any other with 0.1.
  void search_and_click() {
    std::set<std::uint32_t> relevant;
    const service::StoredSearch made = search(relevant, new_query());
    REQUIRE(store->searches.add({&made, 1}).has_value());
    for (std::uint32_t position = 0; position < made.shown.size(); ++position) {
      const bool is_seen = random.uniform() * (position + 1) < 1;
      const bool is_wanted = relevant.contains(made.shown[position].document);
      if (!is_seen || random.uniform() >= (is_wanted ? 0.8 : 0.1)) continue;
      add_click(made, position);
    }
  }

  void judge(bool is_held_out_wanted) {
    std::string query = new_query();
    for (int salt = 0; service::is_held_out(query) != is_held_out_wanted; ++salt)
      query = service::query_digest("salt", "shoes",
                                    {{{"Q", std::to_string(searches) + "/" + std::to_string(salt)}}});
    std::set<std::uint32_t> relevant;
    const service::StoredSearch made = search(relevant, query);
    REQUIRE(store->searches.add({&made, 1}).has_value());
    for (std::uint32_t d = 0; d < 10; ++d)
      REQUIRE(store->judgments
                  .set({"shoes", query, made.documents[d], "ann", relevant.contains(d) ? 1 : 0, made.id,
                        kNewYear})
                  .has_value());
  }

  service::RetrainOptions options() const {
    service::RetrainOptions out;
    out.training.domain = "shoes";
    out.training.now = kNewYear;
    out.learner = "rankboost";
    out.options = {{"rounds", "20"}};
    return out;
  }
};

}  // namespace metafuse::test
