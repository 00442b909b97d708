#include "cli/read_report.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/documents/file_kinds.h"

namespace metafuse::cli {
namespace {

constexpr std::size_t kMostReasons = 3;
constexpr std::size_t kMostFilesNamed = 10;
constexpr std::size_t kMostReasonBytes = 90;

/// Reasons with their numbers of files, the most frequent first.
std::string counted_reasons(const std::map<std::string, std::size_t>& reasons) {
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [why, count] : reasons) order.emplace_back(count, why);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (std::size_t i = 0; i < std::min(order.size(), kMostReasons); ++i) {
    const auto& [count, why] = order[i];
    out += fmt::format("{}{}{}{}", out.empty() ? "" : "; ", truncate_utf8(why, kMostReasonBytes),
                       why.size() > kMostReasonBytes ? "..." : "",
                       order.size() > 1 ? fmt::format(" ({})", count) : "");
  }
  return order.size() > kMostReasons ? out + "; ..." : out;
}

/// Whether all files of its kind are left out for this reason.
bool is_kind_left_out(const fetchers::LeftOutFile& file) {
  const auto kinds = fetchers::file_kinds();
  return std::any_of(kinds.begin(), kinds.end(), [&](const fetchers::FileKind& row) {
    return row.name == file.kind && row.left_out == file.why;
  });
}

}  // namespace

void print_read_report(const fetchers::IndexReport& indexed) {
  const fetchers::ReadReport& report = indexed.read;
  if (indexed.replaced > 0)
    std::cerr << fmt::format("metafuse: {} documents repeat an earlier url; the last one counts\n",
                             indexed.replaced);
  if (report.files.size() < 2 && report.left_out.empty()) return;
  std::map<std::string, std::map<std::string, std::size_t>> left_out;
  for (const fetchers::LeftOutFile& file : report.left_out) ++left_out[file.kind][file.why];
  std::cerr << fmt::format("{:<18} {:>6} {:>9}  {}\n", "kind", "read", "left out", "why");
  for (const fetchers::FileKind& kind : fetchers::file_kinds()) {
    const std::string name(kind.name);
    const auto read = report.files.find(name);
    const std::size_t read_count = read == report.files.end() ? 0 : read->second;
    std::size_t left_count = 0;
    for (const auto& [why, count] : left_out[name]) left_count += count;
    if (read_count + left_count == 0) continue;
    std::cerr << fmt::format("{:<18} {:>6} {:>9}  {}\n", name, read_count, left_count,
                             fetchers::printable(counted_reasons(left_out[name])));
  }
  std::size_t named = 0;
  for (const fetchers::LeftOutFile& file : report.left_out) {
    if (is_kind_left_out(file) || file.why.starts_with("a symbolic link") || file.why == "empty") continue;
    if (++named <= kMostFilesNamed)
      std::cerr << fmt::format("left out: {}\n", fetchers::printable(file.path + ": " + file.why));
  }
  if (named > kMostFilesNamed) std::cerr << fmt::format("left out: {} more files\n", named - kMostFilesNamed);
}

void print_wait(const std::string& what) {
  std::cerr << "metafuse: " << what << "; waiting for it to end" << std::endl;
}

}  // namespace metafuse::cli
