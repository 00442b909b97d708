#pragma once

namespace metafuse::cli {

/// Keeps the numbers 0 to 2 for the standard streams: where the caller closed one (`>&-`), the next file to
/// be opened would take its number, and what was meant for the stream would end in the file. Using such a
/// stream still fails.
void hold_standard_streams();

}  // namespace metafuse::cli
