#include "tests/support/skip.h"

#include <iostream>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

using metafuse::test::skip;
using metafuse::test::status_of_tests;

// What the process of a test answers is checked from outside (tests/CMakeLists.txt): those that skip are
// hidden, and run one by one and together with the one that does not.

namespace {

/// Skips the running test.
/// out:    what that printed
std::string skip_and_read() {
  const std::ostringstream printed;
  auto* const standard = std::cout.rdbuf(printed.rdbuf());
  skip("a thing that this machine lacks");
  std::cout.rdbuf(standard);
  return printed.str();
}

}  // namespace

TEST_CASE("A test that fails and is skipped", "[.skip_after_failure]") {
  CHECK(skip_and_read().empty());  // fails, because skipping says what is missing
}

TEST_CASE("A test that is skipped says what the machine lacks", "[.skip_alone]") {
  CHECK(skip_and_read() == "SKIPPED: a thing that this machine lacks\n");
}

TEST_CASE("A process of tests is skipped if all its tests are and none failed", "[core][skip_beside]") {
  CHECK(status_of_tests(0, 1, 1) == 77);
  CHECK(status_of_tests(0, 3, 3) == 77);
  CHECK(status_of_tests(0, 3, 2) == 0);
  CHECK(status_of_tests(0, 3, 0) == 0);
  CHECK(status_of_tests(0, 0, 0) == 0);
  CHECK(status_of_tests(1, 1, 1) == 1);
  CHECK(status_of_tests(77, 77, 0) == 1);
}
