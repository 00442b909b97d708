#pragma once

// What a user at a terminal sees and a pipe does not get: colours, aligned results, progress bars.

#include <string>
#include <string_view>

#include "core/progress.h"

namespace metafuse::cli {

enum class Style { heading, link, faint, good, warning, failure };

/// Applies the value of --color: "auto" (colours on terminals unless NO_COLOR is set), "always" or "never".
void choose_colour(const std::string& when);

/// `text` in the colour of its style if standard output (1) or standard error (2) shows colours;
/// otherwise unchanged.
std::string styled(int stream, Style style, std::string_view text);

bool is_terminal(int stream);

/// Each line of a text as fetchers::printable() writes it, so that nothing in it acts on a terminal.
std::string printable_lines(std::string_view text);

/// A progress bar on standard error if that is a terminal; otherwise an empty function. The bar is redrawn at
/// most ten times per second and erased when the work done reaches the total.
ProgressReport terminal_progress(std::string label);

/// From now on, a signal that ends the program (Ctrl-C, SIGTERM) only sets what was_interrupted() says, so
/// that the work can end cleanly; a second one ends the program at once.
void watch_interrupts();
bool was_interrupted();

/// Quotes a word for the shell unless it is plain.
std::string shell_word(const std::string& text);

}  // namespace metafuse::cli
