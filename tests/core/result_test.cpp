#include "core/result.h"

#include <catch2/catch.hpp>

#include "core/contract.h"
#include "core/deadline.h"
#include "core/diagnostics.h"
#include "tests/support/manual_clock.h"

using namespace metafuse;

TEST_CASE("A result holds a value or an error", "[core][result]") {
  const Result<int> good = 3;
  const Result<int> bad = fail(Code::bad_data, "f:1: no number; write one");
  CHECK(*good == 3);
  CHECK(bad.error().code == Code::bad_data);
  bool caught = false;
  try {
    (void)bad.value();
  } catch (const ContractViolation&) {
    caught = true;
  }
  CHECK(caught);
}

TEST_CASE("Diagnostics are listed in the order of the file", "[core][diagnostics]") {
  Diagnostics diagnostics("t.yaml");
  diagnostics.error({7, 2}, "later");
  diagnostics.error({3, 9}, "earlier");
  diagnostics.warning({1, 1}, "only a hint");
  CHECK(diagnostics.to_error(Code::bad_config).text == "t.yaml:3:9: earlier\nt.yaml:7:2: later");
  CHECK(diagnostics.warnings() == std::vector<std::string>{"t.yaml:1:1: only a hint"});
}

TEST_CASE("A deadline passes when its clock has reached it", "[core][deadline]") {
  test::ManualClock clock;
  const Deadline deadline(clock, std::chrono::milliseconds(50));
  CHECK_FALSE(deadline.has_passed());
  clock.advance(std::chrono::milliseconds(20));
  CHECK(deadline.left() == std::chrono::milliseconds(30));
  clock.advance(std::chrono::milliseconds(40));
  CHECK(deadline.has_passed());
  CHECK(deadline.left() == Duration::zero());
}
