#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/query.h"
#include "templates/expander.h"
#include "templates/template_file.h"

/// A file of search templates: the input is the file. If it is valid, it expands a query of awkward values.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = metafuse::templates::parse_domain_file(text, "input.yaml");
  if (!file) return 0;
  metafuse::BaseQuery query;
  for (const auto& slot : file->domain.slots) query.slots[slot.name] = "some \"value\" OR [x] {y}";
  (void)metafuse::templates::expand(file->domain, query);
  return 0;
}
