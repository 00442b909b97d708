#include "fusion/letor_input.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <set>
#include <span>

#include "core/block_workers.h"
#include "evaluation/letor_file.h"
#include "fusion/derived_columns.h"
#include "fusion/features.h"
#include "fusion/input_share.h"
#include "fusion/training_set_builder.h"

namespace metafuse::fusion {
namespace {

/// The second field of a LETOR line.
std::string_view query_of_line(std::string_view line) {
  const auto fields = line.substr(0, std::min(line.find('#'), line.size()));
  const std::size_t at = fields.find("qid:");
  if (at == std::string_view::npos) return {};
  return fields.substr(at, std::min(fields.find_first_of(" \t\r", at), fields.size()) - at);
}

/// The first place at or behind `offset` where a line of another query begins.
std::size_t query_start(std::string_view text, std::size_t offset) {
  if (offset == 0 || offset >= text.size()) return std::min(offset, text.size());
  const std::size_t previous = text.rfind('\n', offset - 1);
  std::size_t at = previous == std::string_view::npos ? 0 : previous + 1;
  if (at == offset && at >= 2) {  // a line begins here: look at the one before
    const std::size_t before = text.rfind('\n', at - 2);
    at = before == std::string_view::npos ? 0 : before + 1;
  }
  const std::string_view query = query_of_line(text.substr(at, text.find('\n', at) - at));
  for (;;) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos || end + 1 >= text.size()) return text.size();
    at = end + 1;
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (at >= offset && query_of_line(line) != query) return at;
  }
}

/// The part of a file's text that is this rank's own, and the number of its first line.
struct OwnText {
  std::string_view text;
  std::size_t first_line = 1;
};

OwnText own_text(std::string_view text, const InputShare& share) {
  const std::size_t begin = query_start(text, text.size() / share.parts * share.part);
  const std::size_t end = share.part + 1 == share.parts
                              ? text.size()
                              : query_start(text, text.size() / share.parts * (share.part + 1));
  const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  return {text.substr(begin, end - begin), 1 + static_cast<std::size_t>(lines)};
}

/// The largest of all ranks' numbers.
std::size_t largest_of_ranks(Communicator* communicator, std::size_t own) {
  double largest = 0.0;
  for (const double number : numbers_of_ranks(communicator, {static_cast<double>(own)}))
    largest = std::max(largest, number);
  return static_cast<std::size_t>(largest);
}

/// errors: bad_data when two ranks hold lines of one query
Result<void> check_parts_differ(const TrainingSet& set, Communicator* communicator) {
  if (communicator == nullptr) return {};
  std::string ids;
  for (const QueryRange& query : set.queries) ids += query.id + '\n';
  std::set<std::string> seen;
  for (const std::string& part : communicator->gather(ids))
    for (std::size_t at = 0; at < part.size();) {
      const std::size_t end = part.find('\n', at);
      const std::string id = part.substr(at, end - at);
      if (!seen.insert(id).second)
        return fail(Code::bad_data,
                    "the lines of query \"" + id +
                        "\" do not stand together, so that ranks cannot share the files; sort them "
                        "by query");
      at = end + 1;
    }
  return {};
}

/// The features that stand in files which name `count` of them.
Result<std::vector<Feature>> letor_features(const TrainingInput& input, std::size_t count) {
  const bool are_ranks = !input.letor_ranks.empty();
  std::vector<Feature> features;
  if (!input.expected.empty()) {
    std::copy_if(input.expected.begin(), input.expected.end(), std::back_inserter(features),
                 [](const Feature& feature) { return !is_derived(feature); });
    if (count > features.size())
      return fail(Code::bad_data, (are_ranks ? input.letor_ranks : input.letor).front() + ": names feature " +
                                      std::to_string(count) + ", but the training input has " +
                                      std::to_string(features.size()) + "; give files of one kind");
    return features;
  }
  for (std::size_t i = 1; i <= count; ++i)
    features.push_back(
        {std::to_string(i), are_ranks ? FeatureKind::rank : FeatureKind::value, are_ranks ? input.depth : 0});
  return features;
}

Result<std::vector<Feature>> letor_derived(const TrainingInput& input, const std::vector<Feature>& features) {
  if (!input.expected.empty()) return derived_of(input.expected);
  auto derived = derived_features(input.derive, features);
  if (derived && !derived->empty() && input.letor_ranks.empty())
    return fail(Code::usage, "--derive needs rank features; use it with --runs or --letor-ranks");
  return derived;
}

/// The files of an input, read by workers that keep what they read apart.
class LetorReader {
 public:
  explicit LetorReader(const TrainingInput& input)
      : input_(input),
        files_(input.letor_ranks.empty() ? input.letor : input.letor_ranks),
        options_{!input.letor_ranks.empty()},
        workers_(std::max(input.threads, 1U)) {}

  /// Every row of every file, or of this rank's part of them, with the worker that it came to.
  template <class Take>
  Result<void> for_each_row(const Take& take) {
    for (const std::string& file : files_)
      if (auto read = read_file(file, take); !read) return read;
    return {};
  }

  bool are_ranks() const { return options_.values_are_ranks; }
  unsigned workers() const { return workers_; }

 private:
  template <class Take>
  Result<void> read_file(const std::string& path, const Take& take) {
    std::atomic<bool> has_rows{false};
    const auto take_lines = [&](unsigned worker, std::string_view lines,
                                std::size_t first_line) -> Result<void> {
      return evaluation::parse_letor_lines(path, lines, first_line, options_,
                                           [&](const evaluation::LetorRow& row) -> Result<void> {
                                             if (!has_rows) has_rows = true;
                                             take(worker, row);
                                             return {};
                                           });
    };
    const InputShare share(input_.communicator);
    if (share.parts > 1) {
      const auto file = open_text(path);
      if (!file) return file.error();
      const OwnText own = own_text(file->text, share);
      return take_lines(0, own.text, own.first_line);
    }
    if (auto read = for_each_block_on_workers(path, workers_, take_lines); !read) return read;
    if (!has_rows) return evaluation::no_letor_row(path);
    return {};
  }

  const TrainingInput& input_;
  const std::vector<std::string>& files_;
  evaluation::LetorOptions options_;
  unsigned workers_;
};

/// What one worker makes of its rows.
class RowTaker {
 public:
  explicit RowTaker(const TrainingInput& input)
      : input_(&input),
        are_ranks_(!input.letor_ranks.empty()),
        depth_(input.expected.empty() ? input.depth : input.expected.front().depth) {}

  void take(const evaluation::LetorRow& row) {
    if (!row.cells.empty()) feature_count_ = std::max<std::size_t>(feature_count_, row.cells.back().index);
    cells_.clear();
    for (const evaluation::LetorCell& cell : row.cells) take_cell(cell);
    builder_.add({row.query, row.document, kept_grade(row.grade, *input_), true, cells_});
  }

  std::size_t feature_count() const { return feature_count_; }
  TrainingSetBuilder& builder() { return builder_; }

 private:
  void take_cell(const evaluation::LetorCell& cell) {
    if (!are_ranks_)
      cells_.push_back(
          {cell.index - 1, cell.is_unranked ? std::numeric_limits<double>::quiet_NaN() : cell.value});
    else if (!cell.is_unranked && (depth_ == 0 || cell.value <= depth_))
      cells_.push_back({cell.index - 1, -cell.value});
  }

  const TrainingInput* input_;
  bool are_ranks_;
  int depth_;
  std::size_t feature_count_ = 0;
  std::vector<Cell> cells_;
  TrainingSetBuilder builder_;
};

/// Says where the document of a refused input stood a second time. Reads the files once more, which is worth
/// it: a line of millions is hard to find by its id.
Error duplicate_in_files(const TrainingInput& input, const Error& found) {
  const bool are_ranks = !input.letor_ranks.empty();
  std::set<std::pair<std::string, std::string>> seen;
  for (const std::string& file : are_ranks ? input.letor_ranks : input.letor) {
    if (file == "-") return found;
    auto read = evaluation::for_each_letor_row(
        file, {are_ranks}, [&](const evaluation::LetorRow& row) -> Result<void> {
          if (row.document.empty() || seen.emplace(row.query, row.document).second) return {};
          return fail(Code::bad_data, file + ":" + std::to_string(row.line) + ": " + found.text);
        });
    if (!read) return read.error();
  }
  return found;
}

}  // namespace

Result<TrainingSet> read_from_letor(const TrainingInput& input, TrainingInputReport& report) {
  LetorReader reader(input);
  std::vector<RowTaker> takers;
  for (unsigned worker = 0; worker < reader.workers(); ++worker) takers.emplace_back(input);
  auto read = reader.for_each_row(
      [&](unsigned worker, const evaluation::LetorRow& row) { takers[worker].take(row); });
  if (!read) return read.error();
  std::size_t count = takers.front().feature_count();
  TrainingSetBuilder builder = std::move(takers.front().builder());
  for (RowTaker& taker : std::span(takers).subspan(1)) {
    count = std::max(count, taker.feature_count());
    builder.append(std::move(taker.builder()));
  }
  const auto features = letor_features(input, largest_of_ranks(input.communicator, count));
  if (!features) return features.error();
  const auto derived = letor_derived(input, *features);
  if (!derived) return derived.error();
  auto set = builder.finish(*features, input.feedback, !reader.are_ranks() && !input.is_absent_unranked,
                            reader.workers());
  if (!set) return duplicate_in_files(input, set.error());
  add_derived_columns(*set, *derived);
  if (auto apart = check_parts_differ(*set, input.communicator); !apart) return apart.error();
  report.judged_queries = set->queries.size();
  return set;
}

}  // namespace metafuse::fusion
