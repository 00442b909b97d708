#pragma once

#include <CLI/CLI.hpp>

namespace metafuse::cli {

/// Checks of an option's number whose refusal says in a few words what would do.
CLI::Validator at_least_zero();
CLI::Validator above_zero();

/// CLI11 lets -1 and 2^64 wrap around in an option that counts, and NaN and infinity pass in one that
/// measures: refuses them in every option of every verb.
void check_all_numbers(CLI::App& app);

}  // namespace metafuse::cli
