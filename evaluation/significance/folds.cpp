#include "evaluation/significance/folds.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "core/diagnostics.h"
#include "core/random.h"
#include "core/text_file.h"

namespace metafuse::evaluation {
namespace {

constexpr std::size_t kMostFolds = 1000;

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

Result<void> take_line(std::string_view line, std::map<std::string, std::size_t, std::less<>>& folds) {
  const std::string_view query = next_word(line);
  const std::string_view number = next_word(line);
  std::size_t fold = 0;
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), fold);
  if (number.empty() || !next_word(line).empty())
    return fail(Code::bad_data, "a line needs two columns: query and fold");
  if (status != std::errc{} || end != number.data() + number.size() || fold < 1 || fold > kMostFolds)
    return fail(Code::bad_data, "the fold must be a whole number from 1 to 1000");
  if (!folds.emplace(query, fold - 1).second)
    return fail(Code::bad_data, "the query " + std::string(query) + " stands twice; keep one line");
  return {};
}

}  // namespace

Result<Folds> random_folds(std::span<const std::string_view> queries, std::size_t count, std::uint64_t seed) {
  if (count < 2) return fail(Code::usage, "cross-validation needs at least 2 folds");
  if (queries.size() < count)
    return fail(Code::usage, "cross-validation in " + std::to_string(count) +
                                 " folds needs as many queries; there are " + std::to_string(queries.size()));
  std::vector<std::size_t> order(queries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return queries[a] < queries[b]; });
  Random(seed).shuffle(order);
  Folds folds{count, std::vector<std::size_t>(queries.size())};
  for (std::size_t i = 0; i < order.size(); ++i) folds.fold_of[order[i]] = i % count;
  return folds;
}

Result<Folds> read_folds(const std::string& path, std::span<const std::string_view> queries) {
  std::map<std::string, std::size_t, std::less<>> by_query;
  auto read = for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return {};
    auto taken = take_line(line, by_query);
    if (!taken) return fail(taken.error().code, located(path, {number, 0}, taken.error().text));
    return {};
  });
  if (!read) return read.error();
  Folds folds;
  for (const std::string_view query : queries) {
    const auto at = by_query.find(query);
    if (at == by_query.end())
      return fail(Code::bad_data,
                  path + ": names no fold for the query " + std::string(query) + "; add a line");
    folds.fold_of.push_back(at->second);
    folds.count = std::max(folds.count, at->second + 1);
  }
  std::vector<std::size_t> sizes(folds.count, 0);
  for (const std::size_t fold : folds.fold_of) ++sizes[fold];
  if (folds.count < 2 || std::count(sizes.begin(), sizes.end(), 0U) > 0)
    return fail(Code::bad_data, path + ": the folds must be 1, 2, ... without a gap, and at least two");
  return folds;
}

}  // namespace metafuse::evaluation
