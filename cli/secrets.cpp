#include "cli/secrets.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/text_file.h"

namespace metafuse::cli {
namespace {
constexpr std::size_t kMaxSecretBytes = 64 * 1024;
}

std::optional<std::string> environment_secret(std::string_view name) {
  const bool is_word = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (!is_word) return std::nullopt;
  if (const char* folder = std::getenv("CREDENTIALS_DIRECTORY")) {
    const auto path = std::filesystem::path(folder) / name;
    if (std::filesystem::is_regular_file(path))
      if (auto text = read_text(path.string(), kMaxSecretBytes)) {
        while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
        return *text;
      }
  }
  if (const char* value = std::getenv(std::string(name).c_str())) return std::string(value);
  return std::nullopt;
}

}  // namespace metafuse::cli
