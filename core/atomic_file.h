#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace metafuse {

/// Writes a whole file: beside it first, synced, then renamed, so that a reader sees the old file or the new
/// one.
/// "-" writes to standard output.
///
/// errors: no_input when the folder does not exist or may not be written, try_again when the disk is full;
///         nothing half-written stays behind
Result<void> write_file(const std::string& path, std::string_view content);

/// The error of a failed write to `path`: try_again when the disk is full, else no_input.
Error write_error(const std::string& path, int number);

}  // namespace metafuse
