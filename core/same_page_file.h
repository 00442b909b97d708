#pragma once

#include <span>
#include <string_view>

namespace metafuse {

/// A file of rules that is compiled into the program.
struct SamePageFile {
  std::string_view name;
  std::string_view text;
};
/// config/same_page.yaml
std::span<const SamePageFile> same_page_files();

}  // namespace metafuse
