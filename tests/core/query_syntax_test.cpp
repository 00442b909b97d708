#include "core/query_syntax.h"

#include <tuple>

#include <catch2/catch.hpp>

using namespace metafuse;

TEST_CASE("A word is an operator in the case in which its syntax reads it as one", "[core][query_syntax]") {
  for (const auto& [name, word, is_operator] : {std::tuple{"lucene", "OR", true},
                                                {"lucene", "or", false},
                                                {"solr", "OR", true},
                                                {"solr", "oR", true},
                                                {"solr", "ore", false},
                                                {"plain", "OR", false}}) {
    INFO(name << ' ' << word);
    CHECK(is_operator_word(*find_query_syntax(name), word) == is_operator);
  }
}
