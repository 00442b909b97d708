#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <catch2/catch.hpp>

#include "tests/support/postgres_server.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

// The contract of a store: SQLite, and PostgreSQL if it is installed, must pass the same checks.

namespace metafuse::test {

inline constexpr std::int64_t kDay = 86400;

inline service::Click click_on(const service::StoredSearch& search, std::uint32_t position,
                               service::UnixTime at = kNewYear + 60) {
  service::Click click;
  click.search = search.id;
  click.position = position;
  click.domain = search.domain;
  click.team = search.shown[position].team;
  click.at = at;
  click.prefix = "p";
  return click;
}

inline void add(service::Store& store, const service::StoredSearch& search) {
  REQUIRE(store.searches.add({&search, 1}).has_value());
}

inline service::ClickOutcome add_click(service::Store& store, const service::Click& click,
                                       const service::ClickCaps& caps = {}) {
  auto outcome = store.clicks.add(click, caps);
  REQUIRE(outcome.has_value());
  return *outcome;
}

/// Runs checks, each section on a new store of SQLite.
inline void check_on_sqlite(const std::function<void(service::Store& store)>& check) {
  const TemporaryFolder folder(TemporaryFolder::in_memory());
  const auto store = opened_store(folder.path("store.db"));
  check(*store);
  CHECK(store->check().has_value());
}

/// Runs checks, each section on a new database of a PostgreSQL server, which all of them share.
inline void check_on_postgres(const std::function<void(service::Store& store)>& check) {
  static const std::shared_ptr<PostgresServer> server = PostgresServer::start();
  if (server == nullptr) return;
  const auto store = opened_store(server->new_database());
  check(*store);
  CHECK(store->check().has_value());
}

}  // namespace metafuse::test
