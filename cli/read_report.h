#pragma once

#include <string>

#include "fetchers/engines/index/local_engine.h"

namespace metafuse::cli {

/// Prints to the standard error output how many documents repeat an address, how many files of each kind were
/// read, how many were left out and why, and the first files that should have been readable. No table if all
/// is one kind and nothing was left out.
void print_read_report(const fetchers::IndexReport& indexed);

/// Prints to the standard error output what is waited for; for IndexOptions::tell_wait.
void print_wait(const std::string& what);

}  // namespace metafuse::cli
