#include "evaluation/runs/run_file.h"

#include <algorithm>
#include <filesystem>

#include "core/parallel.h"
#include "evaluation/runs/id_table.h"
#include "evaluation/runs/line_parser.h"

namespace metafuse::evaluation {
namespace {

struct Argument {
  std::string name;  // empty: the tag
  std::string path;
};

Argument split_argument(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  const bool has_name = equals != std::string::npos && equals > 0 && argument.find('/') >= equals &&
                        !std::filesystem::exists(std::filesystem::path(argument));
  if (!has_name) return {"", argument};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

/// The tag of the file's first line, or empty when that line is too short (then parsing says so).
std::string_view first_tag(const TopicIndex& topics) {
  const char* first = topics.pieces.front().lines.data();
  for (const TopicPiece& piece : topics.pieces) first = std::min(first, piece.lines.data());
  LineParser parser(first, topics.file.text.data() + topics.file.text.size());
  std::string_view field;
  for (int column = 0; column < 6; ++column) field = parser.field();
  return field;
}

Result<Run> read_indexed(const RunIndex& index, const RunFileOptions& options) {
  Run run;
  run.name = index.name;
  run.path = index.topics.file.path;
  run.storage = index.topics.file.storage;
  run.topics.reserve(index.topics.topic_count());
  std::vector<RunLine> lines;
  for (std::size_t topic = 0; topic < index.topics.topic_count(); ++topic) {
    TRY_VOID(parse_run_topic(index, topic, options, lines));
    TRY_VOID(check_documents_differ(index, topic, lines));
    sort_as_listed(lines);
    RunTopic list{index.topics.topic(topic), {}};
    list.entries.reserve(lines.size());
    for (const RunLine& line : lines) list.entries.push_back({line.document, line.score});
    run.topics.push_back(std::move(list));
  }
  return run;
}

}  // namespace

const RunTopic* Run::find(std::string_view topic) const {
  const auto at = std::lower_bound(topics.begin(), topics.end(), topic,
                                   [](const RunTopic& t, std::string_view id) { return t.topic < id; });
  return at != topics.end() && at->topic == topic ? &*at : nullptr;
}

Result<RunIndex> index_run(const std::string& argument) {
  const Argument parts = split_argument(argument);
  TRY(auto topics, index_topics(parts.path));
  RunIndex run{parts.name, first_tag(topics), std::move(topics)};
  if (run.name.empty()) run.name = run.tag;
  return run;
}

Result<void> parse_run_topic(const RunIndex& run, std::size_t topic, const RunFileOptions& options,
                             std::vector<RunLine>& lines) {
  lines.clear();
  for (const TopicPiece& piece : run.topics.pieces_of(topic))
    if (auto parsed = parse_run_lines(run.topics.file, piece.lines, run.tag, options.is_lenient, lines);
        !parsed)
      return parsed;
  return {};
}

void sort_as_listed(std::vector<RunLine>& lines) {
  const auto before = [](const RunLine& a, const RunLine& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.document < b.document;
  };
  if (!std::is_sorted(lines.begin(), lines.end(), before)) std::sort(lines.begin(), lines.end(), before);
}

Result<void> check_documents_differ(const RunIndex& run, std::size_t topic,
                                    const std::vector<RunLine>& lines) {
  thread_local IdTable seen;
  seen.clear();
  for (const RunLine& line : lines) {
    bool is_new = false;
    const std::uint32_t number = seen.insert(line.document, is_new);
    if (is_new) continue;
    const auto first = std::to_string(run.topics.file.line_of(lines[number].document.data()));
    return bad_line(run.topics.file, line.document.data(),
                    "the document " + shown(line.document) + " stands twice in topic " +
                        shown(run.topics.topic(topic)) + ", first in line " + first + "; remove one");
  }
  return {};
}

Result<Run> read_run(const std::string& argument, const RunFileOptions& options) {
  TRY(auto index, index_run(argument));
  return read_indexed(index, options);
}

Result<std::vector<Run>> read_runs(std::span<const std::string> arguments, const RunFileOptions& options,
                                   unsigned threads) {
  std::vector<Result<Run>> read(arguments.size(), Result<Run>(Run{}));
  parallel_for(arguments.size(), threads, [&](std::size_t i) { read[i] = read_run(arguments[i], options); });
  std::vector<Run> runs;
  for (auto& run : read) {
    if (!run) return run.error();
    for (const Run& other : runs)
      if (other.name == run->name)
        return fail(Code::usage, run->path + ": a run named " + shown(run->name) + " was given before (" +
                                     other.path + "); say NAME=FILE to name it otherwise");
    runs.push_back(std::move(*run));
  }
  return runs;
}

}  // namespace metafuse::evaluation
