#pragma once

#include <string>
#include <string_view>

#include <libxml/tree.h>

#include "core/keyed_hash.h"

namespace metafuse::fetchers {

/// Whether CSS declarations make an element invisible: not displayed, transparent, of no size, clipped, or
/// moved off the page. Comments and escapes are read as browsers read them. Colours are not compared, so text
/// in the colour of its background counts as visible.
///
/// in:     declarations - of a style attribute or of one rule
/// cost:   O(bytes)
bool hides(std::string_view declarations);

/// The classes that a style sheet makes invisible by a rule for the class alone. Rules for certain media, and
/// those with other selectors, are not looked at.
///
/// cost:   O(bytes)
void add_hidden_classes(std::string_view sheet, TextSet& classes);

}  // namespace metafuse::fetchers
