#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "tests/support/skip.h"

namespace metafuse::test {

/// A folder of the real data sets below $METAFUSE_DATA; if it is missing, skips the test and returns nullopt.
///
/// in:     source - where to get it
inline std::optional<std::string> data_folder(std::string_view name, std::string_view source) {
  const char* root = std::getenv("METAFUSE_DATA");
  if (root != nullptr) {
    const auto folder = std::filesystem::path(root) / name;
    if (std::filesystem::exists(folder)) return folder.string();
  }
  skip("set METAFUSE_DATA to a folder that holds " + std::string(name) + ": " + std::string(source));
  return std::nullopt;
}

/// Their licences forbid publishing them together.
constexpr std::string_view kAnswersSource =
    "one answer of each engine, saved by curl in the file that the test names";

}  // namespace metafuse::test
