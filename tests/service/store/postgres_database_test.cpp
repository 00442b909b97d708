#include <string>

#include <catch2/catch.hpp>

#include "service/store/store.h"
#include "tests/support/each_store.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::add;
using metafuse::test::opened_store;
using metafuse::test::sample_search;

TEST_CASE("A PostgreSQL store works again after its server was away", "[service][store]") {
  const auto server = test::PostgresServer::start();
  if (server == nullptr) return;
  const std::string url = server->new_database();
  const auto store = opened_store(url);
  const StoredSearch search = sample_search();
  add(*store, search);
  server->stop();
  const auto gone = store->searches.find(search.id);
  REQUIRE(gone.has_error());
  CHECK(gone.error().code == Code::unavailable);
  CHECK(store->searches.add({&search, 1}).error().code == Code::unavailable);
  server->restart();
  REQUIRE(store->searches.find(search.id).has_value());
  CHECK(**store->searches.find(search.id) == search);
  CHECK(**opened_store(url)->searches.find(search.id) == search);
}
