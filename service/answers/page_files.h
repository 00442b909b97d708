#pragma once

#include <span>
#include <string_view>

namespace metafuse::service {

/// A file of service/pages/, compiled in so that the program needs nothing beside itself.
struct PageFile {
  std::string_view name;
  std::string_view content;
};

/// All of them; the body is written by cmake/EmbedPages.cmake.
std::span<const PageFile> page_files();

}  // namespace metafuse::service
