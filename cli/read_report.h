#pragma once

#include "fetchers/engines/index/document_files.h"

namespace metafuse::cli {

/// Prints to the standard error output how many files of each kind were read, how many were left out and why,
/// and the first files that should have been readable. Nothing if all is one kind and nothing was left out.
void print_read_report(const fetchers::ReadReport& report);

}  // namespace metafuse::cli
