#include "fusion/data/column_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/atomic_file.h"

namespace metafuse::fusion {
namespace {

constexpr mode_t kOwnerOnly = 0600;

/// A mapped part of a file, unmapped when its last holder lets go of it.
struct Mapping {
  void* bytes = MAP_FAILED;
  std::size_t size = 0;

  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (bytes != MAP_FAILED) ::munmap(bytes, size);
  }
};

/// Opens a file without a name. If the file system has no such files, opens a named one and removes the name.
int open_nameless(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kOwnerOnly);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return descriptor;
  std::string pattern = folder + "/.metafuse-columns-XXXXXX";
  const int named = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(pattern.c_str());
  return named;
}

}  // namespace

Result<std::shared_ptr<ColumnFile>> ColumnFile::open(const std::string& folder) {
  const int descriptor = open_nameless(folder);
  if (descriptor < 0) return write_error(folder, errno);
  return std::shared_ptr<ColumnFile>(new ColumnFile(descriptor, folder));
}

ColumnFile::~ColumnFile() {
  ::close(descriptor_);
}

Result<std::uint64_t> ColumnFile::append_aligned(std::span<const std::byte> bytes, std::uint64_t alignment) {
  std::uint64_t begin = 0;
  {
    const std::lock_guard lock(mutex_);
    begin = (end_ + alignment - 1) / alignment * alignment;
    end_ = begin + bytes.size();
  }
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written =
        ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(begin + done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return write_error(folder_ + " (a file of columns)", errno);
    done += static_cast<std::size_t>(written);
  }
  return begin;
}

void ColumnFile::let_go() {
  off_t begin = 0, middle = 0, end = 0;
  {
    const std::lock_guard lock(mutex_);
    begin = static_cast<off_t>(gone_);
    middle = static_cast<off_t>(leaving_);
    end = static_cast<off_t>(end_);
    gone_ = std::exchange(leaving_, end_);
  }
  // A size of 0 would mean everything up to the end of the file.
  if (end > middle) ::sync_file_range(descriptor_, middle, end - middle, SYNC_FILE_RANGE_WRITE);
  if (middle == begin) return;
  ::sync_file_range(descriptor_, begin, middle - begin,
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  ::posix_fadvise(descriptor_, begin, middle - begin, POSIX_FADV_DONTNEED);
}

void ColumnFile::advise(std::span<const std::byte> frozen, int advice) {
  // A frozen array begins at a page boundary. madvise() writes nothing, although its parameter is not const.
  if (!frozen.empty()) ::madvise(const_cast<std::byte*>(frozen.data()), frozen.size(), advice);  // NOLINT
}

void ColumnFile::expect(std::uint64_t begin, std::size_t size) const {
  ::posix_fadvise(descriptor_, static_cast<off_t>(begin), static_cast<off_t>(size), POSIX_FADV_WILLNEED);
}

Result<std::vector<std::byte>> ColumnFile::take(std::uint64_t begin, std::size_t size) const {
  std::vector<std::byte> bytes(size);
  for (std::size_t done = 0; done < size;) {
    const ssize_t got =
        ::pread(descriptor_, bytes.data() + done, size - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return fail(Code::try_again,
                  folder_ + ": cannot read a file of columns: " +
                      (got < 0 ? std::strerror(errno) : "it is shorter than what was written"));
    done += static_cast<std::size_t>(got);
  }
  ::posix_fadvise(descriptor_, static_cast<off_t>(begin), static_cast<off_t>(size), POSIX_FADV_DONTNEED);
  return bytes;
}

Result<FrozenArray<std::byte>> ColumnFile::map(std::uint64_t begin, std::size_t size) const {
  if (size == 0) return FrozenArray<std::byte>();
  auto mapping = std::make_shared<Mapping>();
  mapping->size = size;
  mapping->bytes = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor_, static_cast<off_t>(begin));
  if (mapping->bytes == MAP_FAILED)
    return fail(Code::try_again, folder_ + ": cannot map a file of columns: " + std::strerror(errno) +
                                     "; raise the limit on address space (ulimit -v)");
  // No read-ahead around a missing page: its neighbours belong to other columns and would evict pages that
  // training rounds need.
  ::madvise(mapping->bytes, size, MADV_RANDOM);
  const std::span bytes(static_cast<const std::byte*>(mapping->bytes), size);
  return FrozenArray<std::byte>(std::move(mapping), bytes);
}

Result<FrozenArray<std::byte>> ColumnFile::map_all() const {
  const std::lock_guard lock(mutex_);
  return map(0, end_);
}

Result<FrozenArray<std::byte>> ColumnFile::freeze_bytes(std::span<const std::byte> bytes) {
  // A mapping begins at a page, whose size is the kernel's choice: 4, 16 or 64 KB.
  TRY(const std::uint64_t begin, append_aligned(bytes, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))));
  return map(begin, bytes.size());
}

}  // namespace metafuse::fusion
