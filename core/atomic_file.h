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

/// Whether write_file could begin: asked before long work whose outcome goes there, so that it is not lost.
///
/// errors: no_input: a folder, a folder that is not there or may not be written
Result<void> check_writable(const std::string& path);

/// The error of a failed write to `path`: try_again when the disk is full, else no_input.
Error write_error(const std::string& path, int number);

}  // namespace metafuse
