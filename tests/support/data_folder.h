#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

namespace metafuse::test {

/// A folder of the real data sets below $METAFUSE_DATA; if it is missing, prints so and returns nullopt. A
/// test that needs it then returns, and ctest reports it as skipped.
inline std::optional<std::string> data_folder(std::string_view name) {
  const char* root = std::getenv("METAFUSE_DATA");
  if (root != nullptr) {
    const auto folder = std::filesystem::path(root) / name;
    if (std::filesystem::exists(folder)) return folder.string();
  }
  std::cout << "SKIPPED: set METAFUSE_DATA to a folder that holds " << name << '\n';
  return std::nullopt;
}

}  // namespace metafuse::test
