#include "cli/train_stream.h"

#include <charconv>
#include <iostream>
#include <vector>

#include "evaluation/runs/letor_file.h"
#include "fusion/learners/online/stream.h"
#include "fusion/training/registry.h"

namespace metafuse::cli {
namespace {

using fusion::online::DocumentStream;
using fusion::online::StreamCell;

Result<DocumentStream> open_stream(const StreamArguments& arguments) {
  const auto method = fusion::online::method_of(arguments.learner);
  if (!method)
    return fail(Code::usage, "the learner " + arguments.learner +
                                 " does not learn from a stream; take an online one, such as oap-bpm");
  if (arguments.options.contains("passes") || arguments.options.contains("scale"))
    return fail(Code::usage,
                "a stream is read once and its values are taken as they are; leave out --passes and "
                "--scale");
  if (arguments.resume.empty()) {
    TRY(auto settings, fusion::online::read_settings(*method, arguments.options, arguments.seed));
    return DocumentStream::start(settings);
  }
  TRY(auto model, fusion::read_model(arguments.resume));
  if (model.learner != arguments.learner)
    return fail(Code::usage,
                "--resume: that model is of the learner " + model.learner + ", not " + arguments.learner);
  if (!arguments.options.empty())
    return fail(Code::usage, "--" + arguments.options.begin()->first +
                                 ": a resumed model keeps what it started with; leave it out");
  return DocumentStream::resume(model);
}

std::string digits(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

/// Learns from one line; an empty line or a comment is nothing.
Result<void> take_line(DocumentStream& stream, const std::string& line, std::size_t number, double& loss,
                       std::size_t& count) {
  const auto first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos || line[first] == '#') return {};
  evaluation::LetorOptions options;
  options.values_are_ranks = stream.are_ranks();
  return evaluation::parse_letor_lines(
      "standard input", line + "\n", number, options, [&](const evaluation::LetorRow& row) -> Result<void> {
        std::vector<StreamCell> cells;
        for (const evaluation::LetorCell& cell : row.cells)
          cells.push_back({cell.index, cell.is_unranked, cell.value});
        auto said = stream.take(row.grade, cells);
        if (!said)
          return fail(said.error().code, "standard input:" + std::to_string(number) +
                                             ":1: " + said.error().text +
                                             "; mend the line, or skip such lines with --bad-lines skip");
        std::cout << digits(said->grade) << '\t' << digits(said->score) << std::endl;
        loss += said->rank_loss;
        ++count;
        return {};
      });
}

}  // namespace

Result<void> train_on_stream(const StreamArguments& arguments) {
  TRY(auto stream, open_stream(arguments));
  std::string line;
  double loss = 0.0;
  std::size_t count = 0;
  std::size_t skipped = 0;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
    auto taken = take_line(stream, line, number, loss, count);
    if (taken) continue;
    if (!arguments.is_skipping_bad_lines) return taken;
    ++skipped;
    std::cerr << "metafuse: " << taken.error().text << " (skipped)\n";
  }
  TRY(auto model, stream.model());
  if (auto written = fusion::write_model(arguments.model, model); !written) return written;
  std::cerr << arguments.learner << ": " << count << " documents";
  if (count > 0) std::cerr << ", mean rank loss " << loss / static_cast<double>(count);
  if (skipped > 0) std::cerr << "; " << skipped << " bad lines skipped";
  std::cerr << '\n';
  return {};
}

}  // namespace metafuse::cli
