#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <archive.h>
#include <archive_entry.h>

namespace metafuse::test {

/// The bytes of a ZIP archive with these parts.
inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& parts) {
  std::size_t bytes = 4096;
  for (const auto& [name, content] : parts) bytes += 2 * name.size() + content.size() + 512;
  std::string out(bytes, '\0');
  std::size_t used = 0;
  const std::unique_ptr<archive, decltype(&archive_write_free)> writer(archive_write_new(),
                                                                       archive_write_free);
  archive_write_set_format_zip(writer.get());
  archive_write_open_memory(writer.get(), out.data(), out.size(), &used);
  for (const auto& [name, content] : parts) {
    const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                              archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    // readers recognise formats by this part, which is therefore not compressed
    if (name == "mimetype")
      archive_write_zip_set_compression_store(writer.get());
    else
      archive_write_zip_set_compression_deflate(writer.get());
    archive_write_header(writer.get(), entry.get());
    archive_write_data(writer.get(), content.data(), content.size());
  }
  archive_write_close(writer.get());
  out.resize(used);
  return out;
}

}  // namespace metafuse::test
