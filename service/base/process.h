#pragma once

#include <string_view>

namespace metafuse::service {

/// "0.1.0", from the build.
std::string_view version();

/// Gives back what only the start read of the program and its libraries: tables of symbols and relocations,
/// code that runs once. What is needed again comes back from the system's cache of files.
///
/// cost: under a millisecond; a page that is needed again about a microsecond
void forget_start_pages();

}  // namespace metafuse::service
