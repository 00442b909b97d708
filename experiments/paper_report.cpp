#include "experiments/paper_report.h"

#include <algorithm>
#include <filesystem>

#include "core/atomic_file.h"
#include "evaluation/reports/svg_plot.h"

namespace metafuse::experiments {
namespace {

const char* verdict_name(Claim::Verdict verdict) {
  switch (verdict) {
    case Claim::Verdict::confirmed:
      return "confirmed";
    case Claim::Verdict::not_confirmed:
      return "not confirmed";
    case Claim::Verdict::untestable:
      break;
  }
  return "cannot be tested here";
}

}  // namespace

Claim judged(std::string text, bool holds, std::string evidence) {
  return {std::move(text), holds ? Claim::Verdict::confirmed : Claim::Verdict::not_confirmed,
          std::move(evidence)};
}

Claim untestable(std::string text, std::string reason) {
  return {std::move(text), Claim::Verdict::untestable, std::move(reason)};
}

Result<std::string> deliver(PaperReport report, const ExperimentOptions& options) {
  std::string text = report.text;
  JsonArray claims;
  std::vector<std::string> sentences;
  if (!report.claims.empty()) text += "The paper's claims\n";
  for (const Claim& claim : report.claims) {
    sentences.push_back(std::string(verdict_name(claim.verdict)) + ": " + claim.text + " (" + claim.evidence +
                        ")");
    text += "- " + sentences.back() + "\n";
    claims.push_back(JsonObject{
        {"claim", claim.text}, {"verdict", verdict_name(claim.verdict)}, {"evidence", claim.evidence}});
  }
  if (options.output.empty()) return text;
  report.json["claims"] = std::move(claims);
  report.json["seed"] = options.seed;
  const std::string base = options.output + "/" + report.name;
  TRY_VOID(write_file(base + ".txt", text));
  TRY_VOID(write_file(base + ".json", to_pretty_text(Json(report.json))));
  if (auto done = write_file(base + ".html",
                             evaluation::html_page(report.title, report.text, report.plots, sentences));
      !done)
    return done.error();
  return text;
}

std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - row[c].size(), ' ');
      text += c == 0 ? row[c] + pad : "  " + pad + row[c];
    }
    text += '\n';
  }
  return text + '\n';
}

}  // namespace metafuse::experiments
