#define CATCH_CONFIG_RUNNER
#include <iostream>

#include <catch2/catch.hpp>

#include "tests/support/skip.h"

namespace {

constexpr int kSkipped = 77;

int run_tests = 0;
int skipped_tests = 0;
bool is_skipped = false;

struct SkipCounter : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo&) override { is_skipped = false; }
  void testCaseEnded(const Catch::TestCaseStats&) override {
    ++run_tests;
    if (is_skipped) ++skipped_tests;
  }
};

CATCH_REGISTER_LISTENER(SkipCounter)

}  // namespace

void metafuse::test::skip(std::string_view what) {
  is_skipped = true;
  std::cout << "SKIPPED: " << what << std::endl;
}

int metafuse::test::status_of_tests(int failures, int run, int skipped) {
  if (failures != 0) return 1;  // their number might be kSkipped
  return run > 0 && skipped == run ? kSkipped : 0;
}

int main(int count, char** arguments) {
  const int failures = Catch::Session().run(count, arguments);
  return metafuse::test::status_of_tests(failures, run_tests, skipped_tests);
}
