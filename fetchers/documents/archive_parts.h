#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"

namespace metafuse::fetchers {

/// Parts of an archive by name.
using ArchiveParts = std::map<std::string, std::string, std::less<>>;

/// Unpacks some parts of a ZIP archive into memory.
///
/// in:     is_wanted - whether a part is unpacked; the others cost nothing
/// errors: bad_data: damaged, encrypted, more than 10,000 parts, a wanted part larger than 32 MiB, or more
///         than 64 MiB of them
Result<ArchiveParts> archive_parts(std::string_view bytes,
                                   const std::function<bool(std::string_view name)>& is_wanted);

}  // namespace metafuse::fetchers
