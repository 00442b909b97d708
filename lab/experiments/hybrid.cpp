// Keyword search by four templates, vector search by latent semantic indexing, their RRF and their learned
// fusion (ten-fold cross-validated) on the Cystic Fibrosis collection: 1,239 documents, 100 questions, and
// the grades of four judges. It uses only what users have: `metafuse index --embedding lsi`, search
// templates, the two embedded engines, and the fusion methods of `metafuse compare-methods`. With
// options.output, it also writes the documents, the index, the runs and the qrels, for that verb. Quick:
// without the learner auto.
#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "core/atomic_file.h"
#include "core/deadline.h"
#include "core/text_file.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/run_file.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/vector_engine.h"
#include "fusion/training/method_comparison.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/report.h"
#include "templates/expander.h"
#include "templates/template_file.h"

namespace metafuse::lab::experiments {
namespace {

constexpr int kListDepth = 100;
constexpr std::size_t kComparisonFolds = 10;
constexpr const char* kUrlBegin = "http://cystic-fibrosis.example/";
constexpr const char* kHybridMeasures = "map,ndcg_cut_10,P_10,recip_rank";
constexpr const char* kDomain =
    "version: 1\ndomain: medicine\ndepth: 100\nslots:\n  QUERY: {required: true, description: a question}\n"
    "templates:\n"
    "  - {id: any, engine: words, query: '{QUERY|any}'}\n"
    "  - {id: title, engine: words, query: 'title : {QUERY|any}'}\n"
    "  - {id: text, engine: words, query: 'text : {QUERY|any}'}\n"
    "  - {id: subjects, engine: words, query: 'subjects : {QUERY|any}'}\n"
    "  - {id: meaning, engine: vectors, query: '{QUERY}'}\n";

struct Question {
  std::string id;
  std::string text;
  std::map<std::string, int> grades;  ///< by record number: the sum of the four judges' grades, 1 to 8
};

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

/// Reads cfquery.txt, with the line tags QN (number), QU (the question, over several lines) and RD (records,
/// each with the judges' four digits).
Result<std::vector<Question>> read_questions(const std::string& path) {
  std::vector<Question> questions;
  std::string part;
  TRY_VOID(for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.size() < 3) return {};
    if (line.substr(0, 2) != "  ") part = line.substr(0, 2);
    std::istringstream words{std::string(line.substr(2))};
    std::string word, digits;
    if (part == "QN") {
      words >> word;
      questions.push_back({word, "", {}});
    } else if (questions.empty()) {
      return fail(Code::bad_data, fmt::format("{}:{}: no QN before this line", path, number));
    } else if (part == "QU") {
      while (words >> word) questions.back().text += (questions.back().text.empty() ? "" : " ") + word;
    } else if (part == "RD") {
      while (words >> word >> digits) {
        if (digits.size() != 4)
          return fail(Code::bad_data, fmt::format("{}:{}: not four grades", path, number));
        for (const char digit : digits) questions.back().grades[word] += digit - '0';
      }
    }
    return {};
  }));
  return questions;
}

std::string qrels_of(const std::vector<Question>& questions) {
  std::string out;
  for (const Question& question : questions)
    for (const auto& [record, grade] : question.grades)
      out += fmt::format("{} 0 {} {}\n", question.id, record, grade);
  return out;
}

/// Asks the two embedded engines every question.
/// out: the lines of one run per list, by its template
Result<std::map<std::string, std::string>> recorded_runs(const std::string& database,
                                                         const templates::Domain& domain,
                                                         const std::vector<Question>& questions) {
  const SteadyClock clock;
  fetchers::LocalEngine words({database, {{"title", 2}}});
  fetchers::VectorEngine vectors({database, 0, ""});
  const auto syntax_of = [](std::string_view engine) -> const QuerySyntax& {
    return *find_query_syntax(engine == "words" ? "fts5" : "plain");
  };
  std::map<std::string, std::string> runs;
  for (const Question& question : questions) {
    TRY(const auto queries, templates::expand(domain, {{{"QUERY", question.text}}}, syntax_of));
    for (const ExpandedQuery& query : queries) {
      const Deadline deadline(clock, std::chrono::seconds(30));
      TRY(const auto list, query.engine == "words" ? words.search(query.text, kListDepth, 0, deadline)
                                                   : vectors.search(query.text, {}, kListDepth, 0, deadline));
      std::string& run = runs[query.template_id];
      for (std::size_t i = 0; i < list.hits.size(); ++i)
        run += fmt::format("{} Q0 {} {} {} {}\n", question.id,
                           list.hits[i].url.substr(std::string_view(kUrlBegin).size()), i + 1,
                           kListDepth - static_cast<int>(i), query.template_id);
    }
  }
  return runs;
}

/// A row of the table: which runs are fused, and how.
struct HybridRow {
  std::string name;
  std::vector<std::string> runs;
  std::string method;  ///< empty: no fusion, a single run
  std::string learner;
};

/// The means of the measures for one row.
Result<std::vector<double>> measured_row(const HybridRow& row, const WorkFolder& folder,
                                         const ExperimentOptions& options) {
  std::vector<std::string> paths;
  for (const std::string& run : row.runs) paths.push_back(folder.path(run + ".run"));
  TRY(const auto runs, evaluation::read_runs(paths));
  TRY(const auto judgments, evaluation::read_qrels(folder.path("qrels")));
  fusion::MethodComparisonOptions comparison;
  TRY(comparison.set, evaluation::parse_measures(kHybridMeasures));
  comparison.methods = {row.method.empty() ? "rrf" : row.method};
  if (!row.learner.empty()) comparison.learners = {row.learner};
  comparison.feedback.query_weights = fusion::FeedbackOptions::QueryWeights::equal;
  comparison.evaluation.threads = options.threads;
  comparison.folds = kComparisonFolds;
  comparison.significance.seed = options.seed;
  TRY(const auto compared, fusion::compare_methods(runs, judgments, comparison));
  const std::string wanted = !row.learner.empty() ? row.learner
                             : row.method.empty() ? "best_run"
                                                  : row.method;
  for (const evaluation::RunEvaluation& run : compared.report.runs)
    if (run.run == wanted) return run.summary;
  return fail(Code::internal, "the comparison has no row " + wanted);
}

Result<std::string> hybrid_table(const WorkFolder& folder, const ExperimentOptions& options,
                                 const std::map<std::string, std::string>& runs) {
  std::vector<std::string> all;
  for (const auto& [name, lines] : runs) all.push_back(name);
  std::vector<HybridRow> rows;
  for (const std::string name : {"any", "title", "text", "subjects", "meaning"})
    rows.push_back({name == "meaning" ? "vectors (LSI)" : "keywords: " + name, {name}, "", ""});
  rows.push_back({"RRF of keywords any and vectors", {"any", "meaning"}, "rrf", ""});
  rows.push_back({"RRF of all five", all, "rrf", ""});
  rows.push_back({"CombMNZ of all five", all, "combmnz", ""});
  std::vector<std::string> words = all;
  std::erase(words, "meaning");
  rows.push_back({"learned (RankBoost), four keyword lists", words, "rrf", "rankboost"});
  rows.push_back({"learned (RankBoost), all five", all, "rrf", "rankboost"});
  if (!options.is_quick()) rows.push_back({"learned (auto), all five", all, "rrf", "auto"});
  Table out;
  out.add({"", "MAP", "NDCG@10", "P@10", "MRR"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    TRY(const auto values, measured_row(rows[i], folder, options));
    out.add(rows[i].name, values, 4);
    if (options.progress) options.progress(i + 1, rows.size());
  }
  return out.text();
}

}  // namespace

Result<std::string> run_hybrid(const ExperimentOptions& options) {
  if (options.data.empty()) return fail(Code::usage, "give --data DIR, the folder of the data sets");
  const std::string data = options.data + "/cystic-fibrosis";
  TRY(const auto documents, documents_of(data + "/cf74-79-xml.tar.xz"));
  TRY(const auto questions, read_questions(data + "/cfquery.txt"));
  TRY(const auto folder, WorkFolder::make(options.output));
  const std::string database = folder->path("cystic-fibrosis.db");
  TRY_VOID(write_file(folder->path("documents.jsonl"), documents));
  TRY_VOID(write_file(folder->path("qrels"), qrels_of(questions)));
  fetchers::IndexOptions index;
  index.language = "en";
  index.files.threads = options.threads;
  index.vectors.source = fetchers::VectorOptions::Source::lsi;
  TRY(const auto built, fetchers::build_local_index(database, {folder->path("documents.jsonl")}, index));
  TRY(const auto domain, templates::parse_domain_file(kDomain, "medicine.yaml"));
  TRY(const auto runs, recorded_runs(database, domain.domain, questions));
  for (const auto& [name, lines] : runs) TRY_VOID(write_file(folder->path(name + ".run"), lines));
  TRY(const auto table, hybrid_table(*folder, options, runs));
  std::string text = fmt::format(
      "{} documents, {} questions, lists of {}; vectors of {} dimensions by latent semantic indexing; "
      "learned: {}-fold "
      "cross-validated\n\n{}",
      built.documents, questions.size(), kListDepth, built.dimensions, kComparisonFolds, table);
  if (!options.output.empty()) TRY_VOID(write_file(options.output + "/hybrid.txt", text));
  return text;
}

}  // namespace metafuse::lab::experiments
