#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "fetchers/model/engine.h"

// What a definition does to the text that a path finds: a pattern, replacements, values.

namespace metafuse::fetchers {

/// errors: bad_config: not a regular expression of RE2, or one that is too large
Result<void> check_pattern(const std::string& pattern);
/// errors: bad_config: a group that the pattern does not have
Result<void> check_rewrite(const std::string& pattern, const std::string& rewrite);

/// True for a rule that changes texts.
bool changes_text(const PartRule& rule);

/// The text after the rule's replacements, pattern and values; nullopt when the pattern does not match.
///
/// in:     rule - checked
/// cost:   O(text), whatever the patterns are
std::optional<std::string> changed_text(const PartRule& rule, std::string_view text);

/// A URL by its format: a text in which each `{path}` is replaced by a part of the result, percent-encoded.
/// `{path|_}` writes underscores for blanks; `{path|raw}` keeps slashes and similar characters.
///
/// out:    nullopt when the result lacks a part
std::optional<std::string> filled_format(
    std::string_view format, const std::function<std::string_view(const std::string& path)>& part_of);

/// The groups of the first match of a pattern in a text; nullopt when it does not match.
///
/// in:     pattern - checked
std::optional<std::vector<std::string>> matched_groups(const std::string& pattern, std::string_view text);

}  // namespace metafuse::fetchers
