#include "fusion/learners/online/learner_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "fusion/learners/common/option_reader.h"

namespace metafuse::fusion::online {
namespace {

/// "0,1,2"; ascending.
Result<std::vector<double>> parse_grades(const std::string& text) {
  std::vector<double> grades;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at <= end) {
    const char* const comma = std::find(at, end, ',');
    double grade = 0.0;
    const auto [stop, error] = std::from_chars(at, comma, grade);
    const bool is_good = error == std::errc() && stop == comma && std::isfinite(grade);
    if (!is_good || (!grades.empty() && grade <= grades.back()))
      return fail(Code::usage, "--grades " + text + ": give ascending numbers with commas, such as 0,1,2");
    grades.push_back(grade);
    at = comma + 1;
  }
  if (grades.size() < 2 || grades.size() > 1000)
    return fail(Code::usage, "--grades " + text + ": give between two grades and a thousand");
  return grades;
}

}  // namespace

std::vector<LearnerOption> options_of(OnlineMethod method) {
  std::vector<LearnerOption> options = {
      {"passes", "N", "1", "times through the documents, in a new seeded order each"},
      {"scale", "unit|none", "unit", "features scaled to [0, 1] by their training range"},
      {"grades", "LIST", "", "all grades there may be, as 0,1,2; default: those of the documents"},
      {"kernel", "linear|polynomial", "linear", "(x . x' + 1)^degree when polynomial"},
      {"degree", "N", "2", "of the polynomial kernel"},
      {"max-map", "N", "1000", "largest exact feature map of the kernel; beyond, examples are stored"},
      {"budget", "N", "500", "examples that a kernel without exact map stores, the oldest making room"}};
  if (is_ensemble(method)) {
    options.push_back({"rankers", "N", "100", "PRanks side by side"});
    options.push_back({"tau", "P", "0.3", "probability that a PRank is shown a document"});
  }
  if (method == OnlineMethod::widrow_hoff)
    options.push_back({"step", "ETA", "0.05", "step size of the gradient"});
  if (method == OnlineMethod::prank_vp)
    options.push_back({"max-votes", "N", "10000", "rules kept; beyond, the one with the fewest votes goes"});
  return options;
}

Result<LearnerSettings> read_settings(OnlineMethod method, const std::map<std::string, std::string>& options,
                                      std::uint64_t seed) {
  OptionReader reader(options);
  LearnerSettings settings;
  OnlineOptions& model = settings.model;
  model.method = method;
  model.seed = seed;
  model.rankers = reader.count("rankers", 100, 1, 100'000);
  model.tau = reader.number("tau", 0.3, 1e-6, 1.0);
  model.step = reader.number("step", 0.05, 1e-12, 1e6);
  model.max_votes = reader.count("max-votes", 10'000, 1, 10'000'000);
  model.kernel.is_polynomial = reader.choice("kernel", {"linear", "polynomial"}) == 1;
  model.kernel.degree = static_cast<int>(reader.count("degree", 2, 1, 20));
  model.kernel.max_map = reader.count("max-map", 1000, 0, 1'000'000);
  model.kernel.budget = reader.count("budget", 500, 1, 100'000);
  settings.passes = reader.count("passes", 1, 1, 1'000'000);
  settings.is_scaled = reader.choice("scale", {"unit", "none"}) == 0;
  TRY_VOID(reader.outcome());
  if (reader.has("grades")) {
    TRY(auto grades, parse_grades(reader.text("grades")));
    settings.grades = std::move(grades);
  }
  return settings;
}

}  // namespace metafuse::fusion::online
