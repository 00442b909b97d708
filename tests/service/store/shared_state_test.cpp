#include "service/store/shared_state.h"

#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "tests/support/each_store.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::add;
using metafuse::test::add_click;
using metafuse::test::click_on;
using metafuse::test::kDay;
using metafuse::test::kNewYear;
using metafuse::test::sample_search;

namespace {

void check_template_versions(Store& store) {
  const auto save = [&](const std::string& domain, const std::string& text) {
    auto number = store.templates.add({domain, 0, text, "ann", kNewYear});
    REQUIRE(number.has_value());
    return *number;
  };
  CHECK(save("shoes", "one: 1\n") == 1);
  CHECK(save("shoes", "two: 2\n") == 2);
  CHECK(save("shoes", "two: 2\n") == 2);
  CHECK(save("hats", "") == 1);
  CHECK(save("shoes", "one: 1\n") == 3);
  const auto versions = store.templates.all("shoes");
  REQUIRE(versions->size() == 3);
  CHECK((*versions)[0] == TemplateVersion{"shoes", 3, "", "ann", kNewYear});
  CHECK((**store.templates.find("shoes", 1)).text == "one: 1\n");
  CHECK((**store.templates.find("hats", 1)).text.empty());
  CHECK_FALSE(store.templates.find("hats", 2)->has_value());
  CHECK(store.templates.all("hats")->size() == 1);
  CHECK_FALSE(store.templates.find("shoes", 4)->has_value());
  // A server that numbers its version is told if another was faster, and its version is not kept.
  CHECK(*store.templates.add({"shoes", 4, "four: 4\n", "ann", kNewYear}) == 4);
  for (const std::uint32_t number : {4U, 6U}) {
    const auto overtaken = store.templates.add({"shoes", number, "five: 5\n", "bob", kNewYear});
    REQUIRE(overtaken.has_error());
    CHECK(overtaken.error().code == Code::try_again);
  }
  CHECK(store.templates.all("shoes")->size() == 4);
  CHECK(*store.templates.add({"shoes", 5, "five: 5\n", "bob", kNewYear}) == 5);
}

void check_shared_files(Store& store) {
  const auto change = [&](const std::string& known, const std::optional<std::string>& text) {
    const SharedChange one{"keys/a", known.empty() ? "" : sha256_hex(known), text};
    return *store.shared.change_files({&one, 1});
  };
  CHECK_FALSE(change("one", "two"));  // there is no file yet
  CHECK(change("", "one"));
  CHECK_FALSE(change("", "two"));  // there is one now
  CHECK_FALSE(change("two", "three"));
  CHECK(change("one", "two"));
  CHECK(store.shared.files(0)->at(0).text == "two");
  CHECK(change("two", std::nullopt));
  CHECK_FALSE(change("two", "three"));
  CHECK(change("", "one"));  // a removed file may be made again
}

void check_secrets_and_usage(Store& store) {
  const auto secret = store.privacy.secret();
  REQUIRE(secret.has_value());
  CHECK(secret->size() == 64);
  CHECK(*store.privacy.secret() == *secret);
  const auto first = store.privacy.daily_salt(20000);
  CHECK(*store.privacy.daily_salt(20000) == *first);
  CHECK(*first != *secret);
  const StoredSearch search = sample_search();
  add(store, search);
  add_click(store, click_on(search, 0, 20000 * kDay + 5));
  CHECK((*store.clicks.of(search.id))[0].prefix == "p");
  const auto next = store.privacy.daily_salt(20001);
  CHECK(*next != *first);
  REQUIRE(store.privacy.forget_addresses(20001).has_value());
  CHECK((*store.clicks.of(search.id))[0].prefix == "p");  // yesterday's popular queries need it
  CHECK(*store.privacy.daily_salt(20000) == *first);      // for servers whose clocks are behind
  // no click waits until the hashes of earlier ones are gone
  CHECK(*store.privacy.daily_salt(20002) != *first);
  CHECK((*store.clicks.of(search.id))[0].prefix == "p");
  REQUIRE(store.privacy.forget_addresses(20002).has_value());
  CHECK((*store.clicks.of(search.id))[0].prefix.empty());
  CHECK(*store.privacy.daily_salt(20000) != *first);
  CHECK(*store.privacy.daily_salt(20001) == *next);

  CHECK(*store.shared.add_usage("ann", 1, 5) == 5);
  CHECK(*store.shared.add_usage("ann", 1, 7) == 12);
  CHECK(*store.shared.add_usage("bob", 1, 1) == 1);
  CHECK(*store.shared.add_usage("ann", 2, 1) == 1);
}

void check_shared_state(Store& store) {
  SECTION("Template versions") {
    check_template_versions(store);
  }
  SECTION("Shared files") {
    check_shared_files(store);
  }
  SECTION("Secrets and usage") {
    check_secrets_and_usage(store);
  }
}

}  // namespace

TEST_CASE("The SQLite store meets the contract of shared state", "[service][store]") {
  test::check_on_sqlite(check_shared_state);
}

TEST_CASE("The PostgreSQL store meets the contract of shared state", "[service][store]") {
  test::check_on_postgres(check_shared_state);
}
