// The verb stream: an online learner that reads documents one by one.
#include <charconv>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/training_options.h"
#include "core/atomic_file.h"
#include "evaluation/runs/letor_file.h"
#include "lab/learners/online/learner.h"
#include "lab/program/verbs.h"

namespace metafuse::lab {
namespace {

struct StreamArguments {
  cli::LearnerChoice learner;
  std::string model;
  std::string resume;
  std::uint64_t seed = 1;
  bool skips_bad_lines = false;
};

using online::DocumentStream;
using online::StreamCell;

Result<DocumentStream> open_stream(const StreamArguments& arguments, const fusion::Learner& learner) {
  const auto method = online::method_of(learner.name);
  if (!method)
    return fusion::refused_by(learner, "does not learn from a stream; take an online one, such as oap-bpm");
  if (arguments.learner.options.contains("passes") || arguments.learner.options.contains("scale"))
    return fail(Code::usage,
                "a stream is read once and its values are taken as they are; leave out --passes and --scale");
  if (arguments.resume.empty()) {
    TRY(auto settings, online::read_settings(*method, arguments.learner.options, arguments.seed));
    return DocumentStream::start(settings);
  }
  TRY(auto model, fusion::read_model(arguments.resume));
  if (model.learner != learner.name)
    return fail(Code::usage,
                "--resume: that model was trained by the learner " + model.learner + ", not " + learner.name);
  if (!arguments.learner.options.empty())
    return fail(Code::usage, "--" + arguments.learner.options.begin()->first +
                                 ": a resumed model keeps its original setting; leave it out");
  return DocumentStream::resume(model);
}

std::string digits(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

/// Learns from one line; empty lines and comments are ignored.
Result<void> take_line(DocumentStream& stream, const std::string& line, std::size_t number, double& loss,
                       std::size_t& count) {
  const auto first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos || line[first] == '#') return {};
  return evaluation::parse_letor_lines(
      "standard input", line + "\n", number, stream.are_ranks(),
      [&](const evaluation::LetorRow& row) -> Result<void> {
        TRY_VOID(evaluation::check_trained_features("standard input", row));
        std::vector<StreamCell> cells;
        for (const evaluation::LetorCell& cell : row.cells)
          cells.push_back({cell.index, cell.is_unranked, cell.value});
        auto said = stream.take(row.grade, cells);
        if (!said)
          return fail(said.error().code, "standard input:" + std::to_string(number) +
                                             ":1: " + said.error().text +
                                             "; correct the line, or skip such lines with --bad-lines skip");
        std::cout << digits(said->grade) << '\t' << digits(said->score) << std::endl;
        loss += said->rank_loss;
        ++count;
        return {};
      });
}

/// Reads LETOR lines from standard input; prints the predicted grade and the score of each before it is
/// learned from. The model is written at the end.
///
/// errors: usage; those of the model file; bad_data with the line, unless bad lines are skipped (then each is
///         reported on standard error)
Result<void> run_stream(const StreamArguments& arguments) {
  TRY(const fusion::Learner* const learner, cli::chosen_learner(arguments.learner));
  TRY_VOID(check_writable(arguments.model));
  TRY(auto stream, open_stream(arguments, *learner));
  std::string line;
  double loss = 0.0;
  std::size_t count = 0;
  std::size_t skipped = 0;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
    auto taken = take_line(stream, line, number, loss, count);
    if (taken) continue;
    if (!arguments.skips_bad_lines) return taken;
    ++skipped;
    std::cerr << "metafuse: " << taken.error().text << " (skipped)\n";
  }
  TRY(auto model, stream.model());
  TRY_VOID(fusion::write_model(arguments.model, model));
  std::cerr << learner->name << ": " << count << " documents";
  if (count > 0) std::cerr << ", mean rank loss " << loss / static_cast<double>(count);
  if (skipped > 0) std::cerr << "; " << skipped << " bad lines skipped";
  std::cerr << '\n';
  return {};
}

}  // namespace

void add_stream(CLI::App& app, cli::Program& program) {
  auto [verb, a] = cli::add_verb(app, "stream", "learn from LETOR lines on standard input, one by one",
                                 run_stream, program);
  a.learner.table = program.learners;
  cli::add_learner_options(verb, a.learner);
  verb.get_option("--learner")->required();
  verb.add_option("--model", a.model, "the model file to write at the end")->required();
  auto* resume = verb.add_option("--resume", a.resume, "a model of the same learner to continue from");
  cli::add_choice(verb, "--bad-lines", a.skips_bad_lines, {{"skip", true}, {"fail", false}},
                  "skip (and report) bad lines, or fail");
  // A resumed model keeps its seed, as it keeps its other settings.
  cli::add_defaulted(verb, "--seed", a.seed, "seed of everything drawn at random")->excludes(resume);
  verb.footer(
      "Each line is first predicted (grade TAB score on standard output), then learned from.\n"
      "Examples:\n"
      "  metafuse stream --learner oap-bpm --grades 0,1,2 --model m.json < judged.txt\n"
      "  tail -f judged.txt | metafuse stream --learner oap-bpm --resume m.json --model m.json");
}

}  // namespace metafuse::lab
