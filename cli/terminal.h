#pragma once

// What a person at a terminal sees and a pipe does not: colours, aligned results, progress.

#include <string>
#include <string_view>

#include "core/progress.h"

namespace metafuse::cli {

enum class Style { heading, link, faint, good, warning, failure };

/// What --color says: "auto" colours terminals unless NO_COLOR is set, "always", "never".
void choose_colour(const std::string& when);

/// `text` in the colour of its style where standard output (1) or standard error (2) shows colours, else as
/// it is.
std::string styled(int stream, Style style, std::string_view text);

bool is_terminal(int stream);

/// A progress bar on standard error when that is a terminal, else an empty function. The bar is redrawn at
/// most ten times per second and wiped when done reaches total.
ProgressReport terminal_progress(std::string label);

}  // namespace metafuse::cli
