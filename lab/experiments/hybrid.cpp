// Keyword search by four templates, vector search by latent semantic indexing, their RRF and their learned
// fusion (ten-fold cross-validated) on the Cystic Fibrosis collection: 1,239 documents, 100 questions, and
// the grades of four judges. It uses only what users have: `metafuse index --embedding lsi`, search
// templates, the two embedded engines, and the fusion methods of `metafuse compare-methods`. With
// options.output, it also writes the documents, the index, the runs and the qrels, for that verb. Quick:
// without the learner auto.
#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "core/atomic_file.h"
#include "core/text_file.h"
#include "evaluation/runs/judgments.h"
#include "fusion/training/method_comparison.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/indexed_documents.h"

namespace metafuse::lab::experiments {
namespace {

constexpr const char* kUrlBegin = "http://cystic-fibrosis.example/";
constexpr IndexedDocuments::Files kFiles = {
    "version: 1\ndomain: medicine\ndepth: 100\nslots:\n  QUERY: {required: true, description: a question}\n"
    "templates:\n"
    "  - {id: any, engine: words, query: '{QUERY|any}'}\n"
    "  - {id: title, engine: words, query: 'title : {QUERY|any}'}\n"
    "  - {id: text, engine: words, query: 'text : {QUERY|any}'}\n"
    "  - {id: subjects, engine: words, query: 'subjects : {QUERY|any}'}\n"
    "  - {id: meaning, engine: vectors, query: '{QUERY}'}\n",
    "engines:\n"
    "  - {name: words, engine: local, database: made, weights: {title: 2}}\n"
    "  - {name: vectors, engine: local_vector, database: made}\n"};

/// The files of a tar archive (POSIX.1-2001). Each has a header of 512 bytes, with the name at offset 0 and
/// the size in octal at 124; then its bytes follow, padded to a multiple of 512.
Result<std::vector<std::string_view>> files_of_tar(std::string_view archive, const std::string& path) {
  constexpr std::size_t kBlock = 512;
  std::vector<std::string_view> files;
  for (std::size_t at = 0; at + kBlock <= archive.size() && archive[at] != '\0';) {
    std::size_t size = 0;
    const char* const digits = archive.data() + at + 124;
    const auto read = std::from_chars(digits, digits + 11, size, 8);
    if (read.ec != std::errc() || at + kBlock + size > archive.size())
      return fail(Code::bad_data, path + ": not a tar archive; use the file as distributed");
    const char kind = archive[at + 156];
    if (kind == '0' || kind == '\0') files.push_back(archive.substr(at + kBlock, size));
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
  return files;
}

std::string topics_of_record(const pugi::xml_node& record) {
  std::string out;
  for (const char* part : {"MAJORSUBJ", "MINORSUBJ"})
    for (const pugi::xml_node& topic : record.child(part).children("TOPIC")) {
      const std::string_view text = topic.text().as_string();
      out += (out.empty() ? "" : "; ") + std::string(text.substr(0, text.find(':')));
    }
  return out;
}

/// The records as JSON lines, to be indexed.
Result<std::string> documents_of(const std::string& path) {
  TRY(const auto archive, read_text(path, std::size_t{64} << 20));
  TRY(const auto files, files_of_tar(archive, path));
  std::string out;
  for (const std::string_view file : files) {
    pugi::xml_document document;
    if (!document.load_buffer(file.data(), file.size()))
      return fail(Code::bad_data, path + ": a file in it is not valid XML; use the file as distributed");
    for (const pugi::xml_node& record : document.document_element().children("RECORD")) {
      const pugi::xml_node abstract =
          record.child("ABSTRACT") ? record.child("ABSTRACT") : record.child("EXTRACT");
      const int number = record.child("RECORDNUM").text().as_int();
      const Json line = JsonObject{{"url", kUrlBegin + std::to_string(number)},
                                   {"title", record.child("TITLE").text().as_string()},
                                   {"text", abstract.text().as_string()},
                                   {"subjects", topics_of_record(record)}};
      out += metafuse::to_text(line) + "\n";
    }
  }
  return out;
}

/// The judgments as qrels: the sum of the four judges' grades, 1 to 8.
std::string qrels_of(const std::vector<CysticQuestion>& questions) {
  std::string out;
  for (const CysticQuestion& each : questions) {
    std::map<std::string, int> grades;
    for (const auto& [record, judges] : each.judged)
      grades[record] += std::accumulate(judges.begin(), judges.end(), 0);
    for (const auto& [record, grade] : grades)
      out += fmt::format("{} 0 {}{} {}\n", each.id, kUrlBegin, record, grade);
  }
  return out;
}

/// A row of the table: which runs are fused, and how.
struct HybridRow {
  std::string name;
  std::vector<std::string> runs;
  std::string method = {};  ///< empty: no fusion, a single run
  std::string learner = {};
  bool is_quick = true;
};
const std::vector<std::string> kAllRuns = {"any", "title", "text", "subjects", "meaning"};
const HybridRow kRows[] = {
    {"keywords: any", {"any"}},
    {"keywords: title", {"title"}},
    {"keywords: text", {"text"}},
    {"keywords: subjects", {"subjects"}},
    {"vectors (LSI)", {"meaning"}},
    {"RRF of keywords any and vectors", {"any", "meaning"}, "rrf"},
    {"RRF of all five", kAllRuns, "rrf"},
    {"CombMNZ of all five", kAllRuns, "combmnz"},
    {"learned (RankBoost), four keyword lists", {"any", "title", "text", "subjects"}, "rrf", "rankboost"},
    {"learned (RankBoost), all five", kAllRuns, "rrf", "rankboost"},
    {"learned (auto), all five", kAllRuns, "rrf", "auto", false},
};

/// The means of the measures for one row.
Result<std::vector<double>> measured_row(const HybridRow& row, const std::vector<evaluation::Run>& runs,
                                         const evaluation::Judgments& judgments,
                                         fusion::MethodComparisonOptions comparison) {
  std::vector<evaluation::Run> fused;
  for (const evaluation::Run& run : runs)
    if (std::find(row.runs.begin(), row.runs.end(), run.name) != row.runs.end()) fused.push_back(run);
  comparison.methods = {row.method.empty() ? "rrf" : row.method};
  if (!row.learner.empty()) comparison.learners = {row.learner};
  TRY(const auto compared, fusion::compare_methods(fused, judgments, comparison));
  const std::string wanted = row.learner + (row.learner.empty() ? row.method : "");
  for (const evaluation::RunEvaluation& run : compared.report.runs)
    if (run.run == (wanted.empty() ? "best_run" : wanted)) return run.summary;
  return fail(Code::internal, "the comparison has no row " + wanted);
}

}  // namespace

Result<Report> run_hybrid(const ExperimentOptions& options) {
  const std::string data = options.data + "/cystic-fibrosis";
  TRY(const auto documents, documents_of(data + "/cf74-79-xml.tar.xz"));
  TRY(const auto questions, read_cystic_questions(options.data));
  TRY(const auto folder, WorkFolder::make(options.output));
  TRY_VOID(write_file(folder->path("documents.jsonl"), documents));
  TRY_VOID(write_file(folder->path("qrels"), qrels_of(questions)));
  fetchers::IndexOptions index;
  index.language = "en";
  index.files.threads = options.threads;
  index.vectors.source = fetchers::VectorOptions::Source::lsi;
  TRY(const auto indexed, IndexedDocuments::make(folder->path("documents.jsonl"),
                                                 folder->path("cystic-fibrosis.db"), kFiles, index));
  std::vector<Question> asked;
  for (const CysticQuestion& each : questions) asked.push_back({each.id, each.text});
  TRY(const auto runs, indexed->record(asked, folder->path()));
  TRY(const auto judgments, evaluation::read_qrels(folder->path("qrels")));
  fusion::MethodComparisonOptions comparison;
  TRY(comparison.set, evaluation::parse_measures("map,ndcg_cut_10,P_10,recip_rank"));
  comparison.feedback.query_weights = fusion::FeedbackOptions::QueryWeights::equal;
  comparison.evaluation.threads = options.threads;
  comparison.folds = 10;
  comparison.significance.seed = options.seed;
  Figures figures{"", {"MAP", "NDCG@10", "P@10", "MRR"}};
  for (const HybridRow& row : kRows) {
    if (!row.is_quick && options.is_quick()) continue;
    TRY(auto values, measured_row(row, runs, judgments, comparison));
    figures.add(row.name, std::move(values));
    if (options.progress) options.progress(figures.rows.size(), std::size(kRows));
  }
  Report report{fmt::format(
      "{} documents, {} questions, lists of {}; vectors of {} dimensions by latent semantic indexing; "
      "learned: {}-fold cross-validated\n\n",
      indexed->report().documents, questions.size(), indexed->domain().depth, indexed->report().dimensions,
      comparison.folds)};
  report.add(figures.table(4));
  return report;
}

}  // namespace metafuse::lab::experiments
