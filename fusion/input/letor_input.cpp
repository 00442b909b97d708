#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "core/parallel.h"
#include "core/text_file.h"
#include "evaluation/runs/letor_file.h"
#include "fusion/data/features.h"
#include "fusion/input/input_files.h"
#include "fusion/input/training_set_builder.h"

// Reads LETOR and aggregation files as training sets. Each worker parses blocks of lines into a builder of
// its own. Under MPI, each process reads its share of the bytes of every file; if the lines of a query are
// scattered, it reads all bytes and keeps its share of the queries.
namespace metafuse::fusion {
namespace {

/// The `qid:...` field of a LETOR line.
std::string_view query_of_line(std::string_view line) {
  const auto fields = line.substr(0, std::min(line.find('#'), line.size()));
  const std::size_t at = fields.find("qid:");
  if (at == std::string_view::npos) return {};
  return fields.substr(at, std::min(fields.find_first_of(" \t\r", at), fields.size()) - at);
}

/// The first offset at or after `offset` where a line of another query begins.
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

/// Begin and end of the part of a file's text that belongs to this process.
std::pair<std::size_t, std::size_t> own_part(std::string_view text, const InputShare& share) {
  const std::size_t part = text.size() / share.parts;
  return {query_start(text, part * share.part),
          share.part + 1 == share.parts ? text.size() : query_start(text, part * (share.part + 1))};
}

std::uint64_t digest_of(std::string_view query) {
  std::uint64_t state = 0xcbf29ce484222325U;
  for (const char c : query) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return state ^ state >> 32;
}

/// Whether two processes hold lines of the same query (or, very rarely, of two queries with equal digests).
bool is_a_query_shared(const TrainingSet& set, Communicator* communicator) {
  if (communicator == nullptr) return false;
  std::vector<std::uint64_t> digests;
  for (const QueryRange& query : set.queries) digests.push_back(digest_of(query.id));
  digests = numbers_of_processes(communicator, std::move(digests));
  std::ranges::sort(digests);
  return std::ranges::adjacent_find(digests) != digests.end();
}

bool are_ranks(const TrainingInput& input) {
  return !input.letor_ranks.empty();
}

const std::vector<std::string>& files_of(const TrainingInput& input) {
  return are_ranks(input) ? input.letor_ranks : input.letor;
}

/// The features of files in which the highest feature number is `count`.
Result<std::vector<Feature>> letor_features(const TrainingInput& input, std::size_t count) {
  std::vector<Feature> features;
  if (!input.expected.empty()) {
    std::copy_if(input.expected.begin(), input.expected.end(), std::back_inserter(features),
                 [](const Feature& feature) { return !is_derived(feature); });
    if (count > features.size())
      return fail(Code::bad_data, files_of(input).front() + ": contains feature " + std::to_string(count) +
                                      ", but the training input has " + std::to_string(features.size()) +
                                      "; give files with the same features");
    return features;
  }
  if (count == 0)
    return fail(Code::bad_data, files_of(input).front() +
                                    ": no line has a feature; write each one as NUMBER:VALUE behind the qid");
  for (std::size_t i = 1; i <= count; ++i)
    if (are_ranks(input))
      features.push_back({std::to_string(i), FeatureKind::rank, input.depth});
    else
      features.push_back({std::to_string(i), FeatureKind::value, 0});
  return features;
}

Result<std::vector<Feature>> letor_derived(const TrainingInput& input, const std::vector<Feature>& features) {
  if (!input.expected.empty()) return derived_of(input.expected);
  auto derived = derived_features(input.derive, features);
  if (derived && !derived->empty() && !are_ranks(input))
    return fail(Code::usage, "--derive needs rank features; use it with --runs or --letor-ranks");
  return derived;
}

bool is_packed(const std::string& path) {
  char head[8] = {};
  std::ifstream file(path, std::ios::binary);
  file.read(head, sizeof head);
  return is_compressed({head, static_cast<std::size_t>(file.gcount())});
}

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

/// How many bytes of unpacked files a process reads, which is its share of the parts; 0 if a file's size is
/// unknown. A byte order mark and the exact end of a process's part are not counted.
std::size_t bytes_to_read(const std::vector<std::string>& files, std::size_t parts) {
  std::size_t total = 0;
  for (const std::string& file : files) {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(file, unknown) || is_packed(file)) return 0;
    total += static_cast<std::size_t>(std::filesystem::file_size(file, unknown)) / parts;
    if (unknown) return 0;
  }
  return total;
}

/// The files of an input, read by several workers that each keep their rows separately.
class LetorReader {
 public:
  LetorReader(const TrainingInput& input, bool is_by_query)
      : files_(files_of(input)),
        share_(input.communicator),
        is_by_query_(is_by_query),
        are_ranks_(are_ranks(input)),
        workers_(std::max(input.threads, 1U)),
        progress_(input.progress, bytes_to_read(files_, is_by_query ? 1 : share_.parts)) {}

  /// Passes every row of this process's part of every file to `take`, with the number of the worker that
  /// parsed it.
  template <class Take>
  Result<void> for_each_row(const Take& take) {
    for (const std::string& file : files_) TRY_VOID(read_file(file, take));
    return {};
  }

  unsigned workers() const { return workers_; }

 private:
  template <class Take>
  Result<void> read_file(const std::string& path, const Take& take) {
    std::atomic<bool> has_rows{false};
    const auto take_lines = [&](unsigned worker, std::string_view lines,
                                std::size_t first_line) -> Result<void> {
      progress_.add(lines.size());
      return evaluation::parse_letor_lines(path, lines, first_line, are_ranks_,
                                           [&](const evaluation::LetorRow& row) -> Result<void> {
                                             if (!has_rows) has_rows = true;
                                             if (!is_own(row)) return {};
                                             TRY_VOID(evaluation::check_trained_features(path, row));
                                             return take(worker, row);
                                           });
    };
    if (share_.parts > 1 && !is_by_query_) return read_own_part(path, take_lines);
    TRY_VOID(for_each_block_on_workers(path, workers_, take_lines));
    if (!has_rows) return evaluation::no_letor_row(path);
    return {};
  }

  bool is_own(const evaluation::LetorRow& row) const {
    return !is_by_query_ || digest_of(row.query) % share_.parts == share_.part;
  }

  template <class TakeLines>
  Result<void> read_own_part(const std::string& path, const TakeLines& take_lines) {
    TRY(const auto file, open_text(path));
    const auto [begin, end] = own_part(file.text, share_);
    const std::string_view own = file.text.substr(begin, end - begin);
    for (std::size_t at = 0; at < own.size();) {
      const std::size_t last = own.find('\n', std::min(at + kBlockBytes, own.size() - 1));
      const std::string_view lines = own.substr(at, last == std::string_view::npos ? last : last + 1 - at);
      // The line number only matters in an error message. Earlier parts are not read just to count lines, so
      // a rejected block is parsed again with the right number.
      if (auto read = take_lines(0, lines, 1); !read) {
        auto again = take_lines(0, lines, file.line_of(lines.data()));
        return again ? read : again;
      }
      at += lines.size();
    }
    return {};
  }

  const std::vector<std::string>& files_;
  InputShare share_;
  bool is_by_query_;  // each process reads every line but keeps only those of its own queries
  bool are_ranks_;
  unsigned workers_;
  SharedProgress progress_;
};

/// Collects the rows of one worker.
class RowTaker {
 public:
  RowTaker(const TrainingInput& input, std::shared_ptr<MemoryBudget> budget)
      : input_(&input),
        are_ranks_(are_ranks(input)),
        depth_(input.expected.empty() ? input.depth : input.expected.front().depth),
        builder_(std::move(budget)) {}

  Result<void> take(const evaluation::LetorRow& row) {
    if (!row.cells.empty()) feature_count_ = std::max<std::size_t>(feature_count_, row.cells.back().index);
    cells_.clear();
    for (const evaluation::LetorCell& cell : row.cells) take_cell(cell);
    builder_.add({row.query, row.document, kept_grade(row.grade, *input_), true, cells_});
    return builder_.keep_within_budget();
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

/// Finds where a duplicate document occurs the second time. Reads the files again, because one line among
/// millions is hard to find by its id alone.
Error duplicate_in_files(const TrainingInput& input, const QueryDocument& twice, const Error& found) {
  bool is_seen = false;
  for (const std::string& file : files_of(input)) {
    if (file == "-") return found;
    auto read = evaluation::for_each_letor_row(
        file, are_ranks(input), [&](const evaluation::LetorRow& row) -> Result<void> {
          if (row.query != twice.query || row.document != twice.document) return {};
          if (!std::exchange(is_seen, true)) return {};
          return fail(Code::bad_data, file + ":" + std::to_string(row.line) + ": " + found.text);
        });
    if (!read) return read.error();
  }
  return found;
}

Result<TrainingSet> read_rows(const TrainingInput& input, bool is_by_query) {
  LetorReader reader(input, is_by_query);
  std::shared_ptr<MemoryBudget> budget;
  if (input.limit) {
    TRY(budget, MemoryBudget::open(*input.limit, reader.workers()));
  }
  std::vector<RowTaker> takers;
  for (unsigned worker = 0; worker < reader.workers(); ++worker) takers.emplace_back(input, budget);
  auto read = reader.for_each_row(
      [&](unsigned worker, const evaluation::LetorRow& row) { return takers[worker].take(row); });
  if (!read) return read.error();
  std::size_t count = takers.front().feature_count();
  TrainingSetBuilder builder = std::move(takers.front().builder());
  for (RowTaker& taker : std::span(takers).subspan(1)) {
    count = std::max(count, taker.feature_count());
    builder.append(std::move(taker.builder()));
  }
  count = std::ranges::max(numbers_of_processes(input.communicator, std::vector{count}));
  TRY(const auto features, letor_features(input, count));
  TRY(const auto derived, letor_derived(input, features));
  auto set = builder.finish(features, input.feedback, !are_ranks(input) && !input.is_absent_unranked,
                            reader.workers());
  if (const auto& twice = builder.twice()) return duplicate_in_files(input, *twice, set.error());
  if (!set) return set;
  add_derived_columns(*set, derived);
  return set;
}

}  // namespace

Result<TrainingSet> read_from_letor(const TrainingInput& input, TrainingInputReport& report) {
  // A packed file cannot be read from the middle: every process unpacks it and keeps its own queries.
  const bool is_by_query = input.communicator != nullptr && std::ranges::any_of(files_of(input), is_packed);
  auto set = read_rows(input, is_by_query);
  if (set && !is_by_query && is_a_query_shared(*set, input.communicator)) set = read_rows(input, true);
  if (set) report.judged_queries = set->queries.size();
  return set;
}

}  // namespace metafuse::fusion
