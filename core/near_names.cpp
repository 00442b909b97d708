#include "core/near_names.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace metafuse {
namespace {

/// The number of letters to insert, remove, replace or swap with a neighbour (Damerau 1964).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> last;
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0U : 1U), last[j + 1] + 1, row[j] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> near_names(std::string_view given, const std::vector<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(given, name);
    const bool begins_alike = given.size() >= 2 && name.starts_with(given.substr(0, 3));
    if (begins_alike || distance <= (std::max(given.size(), name.size()) + 1) / 3)
      found.emplace_back(distance, name);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (auto& [distance, name] : found) names.push_back(std::move(name));
  return names;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& known) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> near = near_names(given, known);
  if (near.size() > kShown) near.resize(kShown);
  const std::vector<std::string>& names = near.empty() ? known : near;
  if (names.empty()) return "";
  std::string text = near.empty() ? "; there are " : "; did you mean ";
  const std::string_view last = near.empty() ? " and " : " or ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? last : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace metafuse
