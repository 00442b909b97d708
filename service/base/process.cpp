#include "service/base/process.h"

#include <cstddef>
#include <cstdint>

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace metafuse::service {
namespace {

/// Drops the pages of one library's read-only segments.
int forget_pages(dl_phdr_info* library, std::size_t, void*) {
  const std::uintptr_t page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (library->dlpi_addr + segment.p_vaddr) / page * page;
    const std::uintptr_t end = library->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

std::string_view version() {
  return METAFUSE_VERSION;
}

void forget_start_pages() {
  ::dl_iterate_phdr(forget_pages, nullptr);
}

}  // namespace metafuse::service
