// How much of SearXNG's own settings, and of settings.yml files of real instances, is served. The files are
// not part of the project: METAFUSE_DATA names a folder with them.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "fetchers/definition/block_edit.h"
#include "fetchers/definition/engine_file.h"

namespace metafuse::fetchers {
namespace {

struct Served {
  std::size_t all = 0, served = 0;
  std::string missing;

  void count(const std::string& name, bool is_served) {
    ++all;
    served += is_served ? 1 : 0;
    if (!is_served) missing += (missing.empty() ? "" : ", ") + name;
  }
};

/// Every default of SearXNG by its name alone, as a user writes it, together with those that are on.
std::pair<Served, Served> served_defaults() {
  std::pair<Served, Served> out;
  for (const YamlNode& block : searxng_defaults()) {
    const std::string name = text_below(block, "name");
    const auto file =
        parse_engine_file("general: {}\nengines:\n  - name: \"" + name + "\"\n", "settings.yml");
    const bool is_served = file.has_value() && file->engines.size() == 1;
    const bool is_on = block.find("disabled") == nullptr && block.find("inactive") == nullptr;
    out.first.count(name, is_served);
    if (is_on) out.second.count(name, is_served);
  }
  return out;
}

}  // namespace

TEST_CASE("Nearly all of SearXNG's default engines are served by their names", "[fetchers][searxng]") {
  const auto [all, on] = served_defaults();
  std::cout << all.served << " of " << all.all << " default engines of SearXNG are served, " << on.served
            << " of " << on.all << " of those that are on; not: " << all.missing << "\n";
  CHECK(all.all == 345);
  CHECK(on.all == 85);
  CHECK(all.served >= 300);
  CHECK(on.served >= 80);
}

TEST_CASE("Every settings.yml of a real instance loads", "[fetchers][searxng][data]") {
  const char* data = std::getenv("METAFUSE_DATA");
  const std::filesystem::path folder = std::filesystem::path(data == nullptr ? "" : data) / "settings-files";
  if (data == nullptr || !std::filesystem::exists(folder)) {
    WARN("skipped: METAFUSE_DATA names no folder with settings-files/*.yml");
    return;
  }
  Served files, enabled;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yml") continue;
    INFO(entry.path().string());
    const auto file = read_engine_file(entry.path().string());
    if (!file) UNSCOPED_INFO(file.error().text);
    CHECK(file.has_value());
    files.count(entry.path().filename().string(), file.has_value());
    if (!file) continue;
    for (const Engine& engine : file->engines)
      if (!engine.is_disabled) enabled.count(engine.name, true);
    for (const RefusedBlock& block : file->refused)
      if (!block.is_disabled) enabled.count(block.name, false);
  }
  std::cout << files.served << " of " << files.all << " settings.yml files load; " << enabled.served << " of "
            << enabled.all << " enabled engines in them are served; not: " << enabled.missing << "\n";
  CHECK(enabled.served * 10 >= enabled.all * 9);
}

}  // namespace metafuse::fetchers
