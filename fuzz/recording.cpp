#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fetchers/recording/har_archive.h"
#include "tests/support/temporary_folder.h"

/// The input is first a recording, then the journal that an interrupted recording leaves beside it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metafuse;
  static const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string file = folder.write("archive.har", text);
  (void)fetchers::HarArchive::read(file);
  folder.write("archive.har", R"({"log":{"entries":[]}})");
  folder.write("archive.har.part", text);
  (void)fetchers::HarArchive::read(file);
  std::filesystem::remove(folder.path("archive.har.part"));
  return 0;
}
