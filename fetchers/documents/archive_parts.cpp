#include "fetchers/documents/archive_parts.h"

#include <clocale>
#include <memory>
#include <vector>

#include <archive.h>
#include <archive_entry.h>

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostArchiveParts = 10'000;
constexpr std::size_t kMostPartBytes = std::size_t{32} << 20;
constexpr std::size_t kMostUnpackedBytes = std::size_t{64} << 20;

Error bad_archive(struct archive* archive) {
  const char* why = archive_error_string(archive);
  return fail(Code::bad_data,
              std::string("damaged or encrypted: ") + (why == nullptr ? "not a ZIP archive" : why));
}

/// Has this thread's C library read and write names in UTF-8 while it lives, as libarchive converts names
/// by way of the locale.
class Utf8Locale {
 public:
  Utf8Locale() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = uselocale(locale_);
  }
  ~Utf8Locale() {
    if (locale_ == nullptr) return;
    uselocale(before_);
    freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t locale_, before_ = nullptr;
};

/// Unpacks the entry at which the archive stands.
Result<std::string> unpack_part(struct archive* archive, std::size_t room) {
  std::string out;
  std::vector<char> buffer(std::size_t{64} << 10);
  for (;;) {
    const la_ssize_t got = archive_read_data(archive, buffer.data(), buffer.size());
    if (got == 0) return out;
    if (got < 0) return bad_archive(archive);
    out.append(buffer.data(), static_cast<std::size_t>(got));
    if (out.size() > kMostPartBytes) return fail(Code::bad_data, "a part unpacks to more than 32 MiB");
    if (out.size() > room) return fail(Code::bad_data, "unpacks to more than 64 MiB");
  }
}

}  // namespace

Result<ArchiveParts> archive_parts(std::string_view bytes,
                                   const std::function<bool(std::string_view name)>& is_wanted) {
  const Utf8Locale utf8;
  const std::unique_ptr<struct archive, decltype(&archive_read_free)> archive(archive_read_new(),
                                                                              archive_read_free);
  archive_read_support_format_zip_seekable(archive.get());
  if (archive_read_open_memory(archive.get(), bytes.data(), bytes.size()) != ARCHIVE_OK)
    return bad_archive(archive.get());
  ArchiveParts parts;
  std::size_t total = 0;
  struct archive_entry* entry = nullptr;
  for (std::size_t count = 0;; ++count) {
    const int status = archive_read_next_header(archive.get(), &entry);
    if (status == ARCHIVE_EOF) return parts;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return bad_archive(archive.get());
    if (count >= kMostArchiveParts) return fail(Code::bad_data, "more than 10,000 parts");
    const char* name = archive_entry_pathname_utf8(entry);
    if (name == nullptr || !is_wanted(name)) continue;
    TRY(auto part, unpack_part(archive.get(), kMostUnpackedBytes - total));
    total += part.size();
    parts.insert_or_assign(name, std::move(part));
  }
}

}  // namespace metafuse::fetchers
