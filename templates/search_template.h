#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace metafuse::templates {

struct Slot {
  std::string name;
  bool is_required = false;
  std::string description;
};

/// One query expansion method: how a base query becomes an engine's query.
struct SearchTemplate {
  std::string id;
  std::vector<std::string> engines;  ///< one ranking feature for each
  std::string query;                 ///< the template text as written
};

/// The search templates of one domain (one YAML file).
struct Domain {
  std::string name;
  std::string description;
  int depth = 30;
  std::vector<Slot> slots;
  std::vector<SearchTemplate> templates;
  std::vector<std::string> lists;  ///< names of the lists that callers bring to POST /v1/fuse

  const Slot* find_slot(std::string_view slot_name) const;
};

}  // namespace metafuse::templates
