#pragma once

#include <memory>
#include <string>
#include <vector>

// The secrets of an engine's definition, hidden wherever a text repeats them.

namespace metafuse::fetchers {

/// What is hidden: each secret in every spelling in which an engine may repeat it, the longest first, so that
/// no secret is replaced in part because it begins with another one. nullptr: nothing.
using HiddenTexts = std::shared_ptr<const std::vector<std::string>>;

/// Adds a secret as it is, percent-encoded, as in a form, and as in JSON. One that is so short that it occurs
/// in texts by chance is left out.
void add_secret(HiddenTexts& hidden, const std::string& value);

/// Replaces every hidden text by "REDACTED".
///
/// in:     hidden - as add_secret() makes it
void redact(std::string& text, const std::vector<std::string>& hidden);

/// The same; nothing is hidden if there is nothing to hide.
inline void redact(std::string& text, const HiddenTexts& hidden) {
  if (hidden != nullptr) redact(text, *hidden);
}

}  // namespace metafuse::fetchers
