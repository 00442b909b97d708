#pragma once

#include <span>
#include <string>
#include <string_view>

#include "templates/slot_value.h"

namespace metafuse::templates {

/// A row of the table of filters: `{SLOT|name}`.
struct Filter {
  std::string_view name;
  std::string_view meaning;
  /// Writes operators or quotes of its own, so it cannot stand inside a query's quotes.
  bool writes_operators = false;
  SlotValue (*apply)(SlotValue value) = nullptr;
};

/// All filters, in the order of the docs.
std::span<const Filter> filters();

/// nullptr when there is none of that name.
const Filter* find_filter(std::string_view name);

}  // namespace metafuse::templates
