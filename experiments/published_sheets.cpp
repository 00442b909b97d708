#include "experiments/published_sheets.h"

#include <cstdlib>

#include "core/text_file.h"

namespace metafuse::experiments {
namespace {

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',')
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  }
  return cells;
}

}  // namespace

Result<PublishedNdcg> read_published_ndcg(const std::string& path) {
  PublishedNdcg published;
  std::string sheet;
  bool is_ndcg = false;
  auto done = for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    const std::vector<std::string> cells = cells_of(line);
    if (cells[0] == "# sheet" && cells.size() > 1) {
      sheet = cells[1];
    } else if (cells[0] == "Folds") {
      is_ndcg = cells.size() > 10 && cells[1] == "NDCG@1";
    } else if (cells[0] == "average" && is_ndcg && !sheet.empty() && cells.size() > 10) {
      std::vector<double> means;
      for (std::size_t k = 1; k <= 10; ++k) {
        char* end = nullptr;
        means.push_back(std::strtod(cells[k].c_str(), &end));
        if (end == cells[k].c_str())
          return fail(Code::bad_data, path + ":" + std::to_string(number) + ":1: \"" + cells[k] +
                                          "\" is no number; take the sheet as converted");
      }
      published.emplace_back(std::move(sheet), std::move(means));
      sheet.clear();  // the first table of a sheet is the test set's
    }
    return {};
  });
  if (!done) return done.error();
  return published;
}

}  // namespace metafuse::experiments
