#pragma once

#include <string_view>

namespace metafuse::test {

/// Notes that the running test lacks something of this machine, and prints what. The test returns after it.
/// If nothing failed and every test of the process was skipped, the process ends with status 77, which ctest
/// reports as skipped; a check that failed before or elsewhere is still a failure.
///
/// in:     what - one sentence on how to get what is missing
void skip(std::string_view what);

/// The status with which a process of tests ends.
///
/// in:     failures - as Catch2 counts them; run, skipped - tests
int status_of_tests(int failures, int run, int skipped);

}  // namespace metafuse::test
