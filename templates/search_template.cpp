#include "templates/search_template.h"

#include <algorithm>

namespace metafuse::templates {

const Slot* Domain::find_slot(std::string_view slot_name) const {
  const auto at =
      std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.name == slot_name; });
  return at == slots.end() ? nullptr : &*at;
}

}  // namespace metafuse::templates
