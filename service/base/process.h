#pragma once

#include <string_view>

namespace metafuse::service {

/// "0.1.0", from the build.
std::string_view version();

/// Gives back memory pages of the program and its libraries that were needed only for the start: symbol and
/// relocation tables, and code that runs once. The system reads a page that is needed again from its
/// page cache.
///
/// cost: under a millisecond; about a microsecond per page that is needed again
void forget_start_pages();

}  // namespace metafuse::service
