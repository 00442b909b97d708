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
constexpr std::string_view kDamaged = ".damaged";
constexpr std::size_t kRandomBytes = 8;  ///< of a name that nobody else uses
constexpr std::chrono::seconds kLongestWait{1};

/// What can be said of the path of an index before its lock is had.
Result<void> check_path(const std::string& path) {
  TRY_VOID(check_writable(path));
  std::error_code error;
  if (!std::filesystem::exists(path, error) || std::filesystem::is_regular_file(path, error)) return {};
  return fail(Code::no_input, path + ": exists and is not a regular file; name another file");
}

/// An index may replace an index or an empty file. Anything else at its path is more likely a mistyped name,
/// and is kept.
///
/// out: whether it is a file that cannot be read as a database
Result<bool> check_place(const std::string& path, bool takes_unreadable) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  if (std::filesystem::is_empty(path, error)) return false;
  TRY(auto database, open_index_file(path));
  const auto version = index_version(database);
  const bool is_unreadable = !version && version.error().code == Code::bad_data;
  if (is_unreadable && takes_unreadable) return true;
  if (is_unreadable) return fail(Code::no_input, version.error().text);
  if (!version) return version.error();
  if (version->empty())
    return fail(Code::no_input, path + ": exists and is not a document index; name another file");
  return false;
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

Result<IndexWriting> IndexWriting::begin(const std::string& database, const IndexWritingOptions& options) {
  const auto& [tell, is_interrupted, takes_unreadable] = options;
  TRY_VOID(check_path(database));
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
  // only now, because whoever had the lock may have put another file there
  TRY(writing.is_unreadable_, check_place(database, takes_unreadable));
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

Result<std::string> IndexWriting::finish() {
  const std::string aside = is_unreadable_ ? database_ + std::string(kDamaged) : std::string();
  std::error_code error;
  if (is_unreadable_) std::filesystem::rename(database_, aside, error);
  if (error) return fail(Code::try_again, aside + ": cannot be written: " + error.message());
  const auto replaced = replace_file(beside_, database_);
  if (!replaced && is_unreadable_) std::filesystem::rename(aside, database_, error);
  TRY_VOID(replaced);
  beside_.clear();
  return aside;
}

}  // namespace metafuse::fetchers
