#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "experiments/experiment.h"

namespace metafuse::experiments {

/// A statement of a paper and what became of it here.
struct Claim {
  enum class Verdict { confirmed, not_confirmed, untestable };

  std::string text;
  Verdict verdict = Verdict::untestable;
  std::string evidence;  ///< the numbers, or why it cannot be tested
};

/// Confirmed when `holds`.
Claim judged(std::string text, bool holds, std::string evidence);
/// Cannot be tested here, because of `reason`.
Claim untestable(std::string text, std::string reason);

/// What an experiment hands over.
struct PaperReport {
  std::string name;   ///< of the experiment, and so of its files
  std::string title;  ///< of the page
  std::string text;   ///< tables
  std::vector<Claim> claims;
  JsonObject json;  ///< the numbers; the claims are added
  std::vector<std::string> plots;
};

/// Appends the claims to the tables and writes NAME.txt, NAME.json and NAME.html into options.output, if any.
///
/// out:    the text
/// errors: those of writing
Result<std::string> deliver(PaperReport report, const ExperimentOptions& options);

/// Rows of equally many cells in columns: the first flush left, the others flush right.
std::string columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace metafuse::experiments
