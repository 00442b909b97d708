#include "fetchers/engines/index/index_writing.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "core/digest.h"
#include "core/sqlite_database.h"
#include "core/text.h"
#include "fetchers/engines/index/local_engine.h"

namespace metafuse::fetchers {
namespace {

constexpr std::string_view kBeside = ".new-";
constexpr std::size_t kRandomBytes = 8;  ///< of a name that nobody else uses
constexpr std::chrono::seconds kLongestWait{1};

/// An index may replace an index or an empty file. Anything else at its path is more likely a mistyped name,
/// and is kept.
Result<void> check_place(const std::string& path) {
  if (auto writable = check_writable(path); !writable) return writable;
  std::error_code error;
  const auto kept = [&](const std::string& what) {
    return fail(Code::no_input, path + ": exists and is " + what);
  };
  if (!std::filesystem::exists(path, error)) return {};
  if (!std::filesystem::is_regular_file(path, error)) return kept("not a regular file; name another file");
  if (std::filesystem::is_empty(path, error)) return {};
  TRY(auto database, open_index_file(path));
  const auto version = index_version(database);
  if (!version && version.error().code == Code::bad_data) return fail(Code::no_input, version.error().text);
  if (!version) return version.error();
  if (version->empty()) return kept("not a document index; name another file");
  return {};
}

/// Removes what killed programs have left beside the index. The caller holds the lock, so that nobody is
/// still writing there.
void remove_leftovers(const std::string& database) {
  const std::filesystem::path path(database);
  const std::string start = path.filename().string() + std::string(kBeside);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::vector<std::filesystem::path> left;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.size() == start.size() + 2 * kRandomBytes && name.starts_with(start) &&
        std::all_of(name.begin() + static_cast<std::ptrdiff_t>(start.size()), name.end(),
                    [](char c) { return hex_value(c) >= 0; }))
      left.push_back(at->path());
  }
  for (const auto& file : left) std::filesystem::remove(file, error);
}

}  // namespace

Result<IndexWriting> IndexWriting::begin(const std::string& database, const TellWait& tell,
                                         const IsInterrupted& is_interrupted) {
  TRY_VOID(check_place(database));
  const TimePoint end = machine_clock().now() + kLongestWait;
  bool is_told = false;
  const std::string what = "another program is writing " + database;
  auto lock = FileLock::wait(
      database + ".lock", what,
      [&] {
        if (is_interrupted && is_interrupted()) return true;
        if (!tell) return machine_clock().now() >= end;
        if (!std::exchange(is_told, true)) tell(what);
        return false;
      },
      FileAccess::usual);
  if (!lock && lock.error().code == Code::unavailable) {
    TRY_VOID(check_interrupt(is_interrupted));
    return fail(Code::try_again, what + "; try again when it has ended");
  }
  if (!lock) return lock.error();
  IndexWriting writing(database, std::move(*lock));
  remove_leftovers(database);
  return writing;
}

IndexWriting::IndexWriting(std::string database, FileLock lock)
    : database_(std::move(database)),
      beside_(database_ + std::string(kBeside) + random_hex(kRandomBytes)),
      lock_(std::move(lock)) {}

IndexWriting::~IndexWriting() {
  if (database_.empty()) return;  // moved from
  std::error_code error;
  if (!beside_.empty()) std::filesystem::remove(beside_, error);
  std::filesystem::remove(lock_path(), error);
}

Result<void> IndexWriting::finish() {
  TRY_VOID(replace_file(beside_, database_));
  beside_.clear();
  return {};
}

}  // namespace metafuse::fetchers
