#include "fetchers/recording/har_archive.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "core/atomic_file.h"
#include "core/json.h"
#include "core/text_file.h"
#include "fetchers/recording/har_entry.h"
#include "fetchers/recording/json_members.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxArchiveBytes = std::size_t{4} << 30;
constexpr std::string_view kHead =
    "{\"log\":{\"version\":\"1.2\",\"creator\":{\"name\":\"metafuse\",\"version\":\"1\"},\"entries\":[\n";
constexpr std::string_view kTail = "\n]}}\n";

/// Calls take(entry, place) for every entry of a HAR file.
template <class Take>
Result<void> for_each_entry(const std::string& path, const Take& take) {
  auto text = open_text(path);
  if (!text) return text.error();
  TRY(auto json, parse_json(text->text, path, Code::bad_data, {kMaxArchiveBytes, 64}));
  const JsonObject* root = json.if_object();
  const JsonObject* log = root == nullptr ? nullptr : object_in(*root, "log");
  const Json* entries = log == nullptr ? nullptr : log->if_contains("entries");
  if (entries == nullptr || !entries->is_array())
    return fail(Code::bad_data, path + ": no HAR file (log.entries)");
  std::size_t number = 0;
  for (const Json& entry : entries->as_array())
    if (auto taken = take(entry, path + ": entry " + std::to_string(++number)); !taken) return taken;
  return {};
}

/// The journal's last line may be cut where a process was killed: such a line is left out.
template <class Take>
Result<void> for_each_journal_entry(const std::string& path, const Take& take) {
  return for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.empty() || line.back() != '}') return {};
    const std::string place = path + ":" + std::to_string(number);
    auto json = parse_json(line, place);
    if (!json) return {};
    return take(*json, place, line);
  });
}

}  // namespace

Result<std::unique_ptr<HarWriter>> HarWriter::open(const std::string& path) {
  std::unique_ptr<HarWriter> writer(new HarWriter(path));
  std::error_code ignored;
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, ignored);
  writer->journal_ = ::open((path + ".part").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (writer->journal_ < 0) return fail(Code::no_input, path + ".part: " + std::strerror(errno));
  return writer;
}

HarWriter::~HarWriter() {
  static_cast<void>(close());
}

void HarWriter::append(const HttpRequest& request, const HttpAnswer& answer) {
  const std::string line = har_entry(request, answer) + "\n";
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at < line.size() && journal_ >= 0;) {
    const ssize_t written = ::write(journal_, line.data() + at, line.size() - at);
    if (written < 0 && errno != EINTR) return;
    at += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
}

Result<void> HarWriter::close() {
  const std::lock_guard lock(mutex_);
  if (journal_ < 0) return {};
  ::close(journal_);
  journal_ = -1;
  std::vector<std::string> order;
  std::unordered_map<std::string, std::string> lines;
  const auto keep = [&](const Json& json, const std::string& place, std::string_view line) -> Result<void> {
    TRY(auto exchange, read_har_entry(json, place));
    if (!lines.contains(exchange.key)) order.push_back(exchange.key);
    lines[exchange.key] = line;
    return {};
  };
  if (std::filesystem::exists(path_)) {
    auto read = for_each_entry(
        path_, [&](const Json& json, const std::string& place) { return keep(json, place, to_text(json)); });
    if (!read) return read;
  }
  if (auto read = for_each_journal_entry(path_ + ".part", keep); !read) return read;
  std::string text(kHead);
  for (std::size_t i = 0; i < order.size(); ++i) text += (i == 0 ? "" : ",\n") + lines[order[i]];
  text += kTail;
  if (auto written = write_file(path_, text); !written) return written;
  std::error_code ignored;
  std::filesystem::remove(path_ + ".part", ignored);
  return {};
}

Result<HarArchive> HarArchive::read(const std::string& path) {
  HarArchive archive;
  const auto keep = [&](const Json& json, const std::string& place) -> Result<void> {
    TRY(auto exchange, read_har_entry(json, place));
    archive.answers_.insert_or_assign(std::move(exchange.key), std::move(exchange.answer));
    return {};
  };
  const bool has_journal = std::filesystem::exists(path + ".part");
  if (!has_journal || std::filesystem::exists(path)) TRY_VOID(for_each_entry(path, keep));
  if (has_journal)
    if (auto read = for_each_journal_entry(
            path + ".part",
            [&](const Json& json, const std::string& place, std::string_view) { return keep(json, place); });
        !read)
      return read.error();
  return archive;
}

const HttpAnswer* HarArchive::find(const std::string& key) const {
  const auto found = answers_.find(key);
  return found == answers_.end() ? nullptr : &found->second;
}

}  // namespace metafuse::fetchers
