#include "evaluation/runs/run_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>

#include "core/parallel.h"
#include "evaluation/runs/lines.h"
#include "evaluation/runs/plain_lines.h"
#include "evaluation/runs/topic_index.h"

namespace metafuse::evaluation {
namespace {

constexpr const char* kColumns = "a run line is: topic Q0 document rank score tag";

/// Parses the fields after the topic. `tag` is the tag that every line of the file must have.
Result<void> parse_line(const FileText& file, LineParser& parser, std::string_view tag, bool is_lenient,
                        RunLine& line) {
  const char* const begin = parser.at();
  parser.field();
  line.document = parser.field();
  const std::string_view rank = parser.field();
  const std::string_view score = parser.field();
  const std::string_view line_tag = parser.field();
  if (line_tag.empty())
    return bad_line(file, begin, std::string("too few columns or a control byte; ") + kColumns);
  if (!to_small_integer(rank, line.rank) && !to_integer(rank, line.rank))
    return bad_line(file, begin, "the rank " + shown(rank) + " is not a whole number; " + kColumns);
  if (line.rank < 0)
    return bad_line(file, begin, "the rank " + shown(rank) + " is negative; ranks count from 0 or 1");
  if (!to_double(score, line.score))
    return bad_line(file, begin, "the score " + shown(score) + " is not a number; " + kColumns);
  if (!std::isfinite(line.score))
    return bad_line(file, begin,
                    "the score " + shown(score) + " is not finite; give every document a number");
  if (is_lenient) {
    parser.skip_line();
    return {};
  }
  if (!parser.at_line_end())
    return bad_line(file, begin,
                    std::string("too many columns (ids and tags must not contain blanks); ") + kColumns);
  if (!same_id(line_tag, tag))
    return bad_line(file, begin,
                    "the tag " + shown(line_tag) + " differs from the file's first, " + shown(tag) +
                        "; put each run into a separate file");
  return {};
}

struct Argument {
  std::string name;  // empty: use the tag
  std::string path;
};

Argument split_argument(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  const bool has_name = equals != std::string::npos && equals > 0 && argument.find('/') >= equals &&
                        !std::filesystem::exists(std::filesystem::path(argument));
  if (!has_name) return {"", argument};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

/// The tag of the file's first line; empty if there is no line or it is too short, which parsing
/// then reports.
std::string_view first_tag(const TopicIndex& topics) {
  if (topics.pieces.empty()) return {};
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

bool is_run_column(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) { return FieldEnds::holds(c); });
}

Result<void> parse_run_lines(const FileText& file, std::string_view text, std::string_view tag,
                             bool is_lenient, std::vector<RunLine>& lines) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const char* const file_end = file.text.data() + file.text.size();
  while (at < end) {
    at = read_plain_lines(at, end, file_end, tag, is_lenient, lines);
    if (at >= end) break;
    LineParser parser(at, end);
    parser.field();
    if (auto parsed = parse_line(file, parser, tag, is_lenient, lines.emplace_back()); !parsed) return parsed;
    at = parser.next_line();
  }
  return {};
}

const RunTopic* Run::find(std::string_view topic) const {
  const auto at = std::ranges::lower_bound(topics, topic, {}, &RunTopic::topic);
  return at != topics.end() && at->topic == topic ? &*at : nullptr;
}

Result<RunIndex> index_run(const std::string& argument, const RunFileOptions& options) {
  const Argument parts = split_argument(argument);
  TRY(auto topics,
      index_topics(parts.path, options.may_be_empty ? WithoutLines::accepted : WithoutLines::commented));
  RunIndex run{parts.name, first_tag(topics), std::move(topics)};
  if (run.name.empty() && run.topics.pieces.empty()) run.name = std::filesystem::path(parts.path).stem();
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
                    "the document " + shown(line.document) + " occurs twice in topic " +
                        shown(run.topics.topic(topic)) + ", first in line " + first + "; remove one");
  }
  return {};
}

Result<Run> read_run(const std::string& argument, const RunFileOptions& options) {
  TRY(auto index, index_run(argument, options));
  return read_indexed(index, options);
}

Result<std::vector<Run>> read_runs(std::span<const std::string> arguments, const RunFileOptions& options,
                                   unsigned threads) {
  std::vector<Result<Run>> read(arguments.size(), Result<Run>(Run{}));
  parallel_for(arguments.size(), threads, [&](std::size_t i) { read[i] = read_run(arguments[i], options); });
  std::vector<Run> runs;
  for (auto& run : read) {
    if (!run) return run.error();
    if (const auto other = std::ranges::find(runs, run->name, &Run::name); other != runs.end())
      return fail(Code::usage, run->path + ": a run named " + shown(run->name) + " was given before (" +
                                   other->path + "); use NAME=FILE to give it another name");
    runs.push_back(std::move(*run));
  }
  return runs;
}

}  // namespace metafuse::evaluation
