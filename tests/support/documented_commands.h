#pragma once

// Runs the examples of a page as a reader would type them: every block fenced by ```sh, in order.

#include <filesystem>
#include <string>
#include <vector>

#include "core/text_file.h"
#include "tests/support/command.h"

namespace metafuse::test {

inline std::vector<std::string> shell_blocks(const std::string& path) {
  std::vector<std::string> blocks;
  bool is_inside = false;
  const auto read = for_each_line(path, [&](std::string_view line, std::size_t) -> Result<void> {
    if (line == "```sh") {
      blocks.emplace_back();
      is_inside = true;
    } else if (line == "```") {
      is_inside = false;
    } else if (is_inside) {
      blocks.back() += std::string(line) + "\n";
    }
    return {};
  });
  if (!read) throw std::runtime_error(read.error().text);
  return blocks;
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// Runs commands in `folder` with this build's metafuse on the PATH; stops at the first that fails. `metafuse
/// serve` runs in the background, on a free port that replaces 8080.
inline CommandResult run_documented(const std::string& commands, const TemporaryFolder& folder) {
  std::filesystem::create_directories(folder.path("bin"));
  std::error_code error;
  std::filesystem::create_symlink(METAFUSE_EXECUTABLE, folder.path("bin/metafuse"), error);
  const std::string serve = "metafuse serve >'" + folder.path("address") + "' 2>'" + folder.path("log") +
                            "' &\nserver=$!\ntrap 'kill $server' EXIT\n"
                            "while [ ! -s '" +
                            folder.path("address") +
                            "' ]; do kill -0 $server; sleep 0.1; done\n"
                            "address=$(head -n 1 '" +
                            folder.path("address") + "')\n";
  std::string script = replaced("\n" + commands, "\nmetafuse serve\n", "\n" + serve);
  script = replaced(script, "http://127.0.0.1:8080", "$address");
  const std::string lead = "set -e\nunset METAFUSE_CONFIG XDG_CONFIG_HOME\nexport HOME='" + folder.path() +
                           "' METAFUSE_LISTEN=127.0.0.1:0 PATH='" + folder.path("bin") + "':\"$PATH\"\ncd '" +
                           folder.path() + "'\n";
  return run_command({"sh", folder.write("commands.sh", lead + script)});
}

}  // namespace metafuse::test
