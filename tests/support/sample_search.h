#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "service/learning/feedback.h"
#include "service/store/store.h"

namespace metafuse::test {

/// 2025-01-01 00:00 UTC.
inline constexpr service::UnixTime kNewYear = 1735689600;

inline std::string document_key(int number) {
  return "example.org/" + std::to_string(number);
}

/// Opens a store; the test fails if that is not possible.
inline std::unique_ptr<service::Store> opened_store(const std::string& location) {
  auto store = service::open_store(location);
  if (!store) FAIL(store.error().text);
  return std::move(*store);
}

/// Four documents, two lists, all shown in order.
inline service::StoredSearch sample_search(const std::string& domain = "shoes",
                                           service::UnixTime at = kNewYear) {
  service::StoredSearch search;
  search.id = service::new_search_id();
  search.domain = domain;
  search.slots.slots = {{"QUERY", "red \"shoes\"\n"}, {"CITY", "Z\xc3\xbcrich"}};
  search.query = service::query_digest("secret", domain, search.slots);
  search.at = at;
  search.model = "m1";
  for (int i = 0; i < 4; ++i) search.documents.push_back(document_key(i));
  search.lists = {{"a@e1", 30, false, {2, 0, 1}}, {"b@e2", 10, false, {3, 1}}, {"c@e3", 0, true, {}}};
  for (std::uint32_t i = 0; i < 4; ++i) search.shown.push_back({i, service::Team::none});
  return search;
}

}  // namespace metafuse::test
