#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// The text of an engine file in which one engine's definition has other rules. Only the lines of the keys
/// that differ change.
///
/// in:     text, name - the file; engine - as it is read from the file
/// errors: bad_config: the block is written in braces or takes its rules from elsewhere, or the edited text
///         would not be read as these rules; then it must be changed by hand
Result<std::string> with_repaired_rules(std::string_view text, const std::string& name, const Engine& engine,
                                        const AnswerRules& rules);

}  // namespace metafuse::fetchers
