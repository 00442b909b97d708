#include "tests/support/skip.h"

#include <catch2/catch.hpp>

using metafuse::test::skip;

// What the process of a test answers is checked from outside (tests/CMakeLists.txt): these are hidden, and
// run one by one.

TEST_CASE("A test that fails before it is skipped", "[.skip_after_failure]") {
  CHECK(1 == 2);
  skip("a thing that this machine lacks");
}

TEST_CASE("A test that is skipped", "[.skip_alone]") {
  skip("a thing that this machine lacks");
}

TEST_CASE("A test that passes beside one that is skipped", "[.skip_beside]") {
  CHECK(1 + 1 == 2);
}
