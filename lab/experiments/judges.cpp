// What judges that are no people are worth, on text collections that people judged (text-collections/NAME
// with docs.jsonl, judged.jsonl and qrels). The eight lists are of unequal worth, so that there is
// something to learn: words in all fields with and without a weight of the title, in title and text alone,
// unstemmed, parts of words, cosine, and vectors by latent semantic indexing. A simulated model grades the
// first ten results of every list: 3 for what is relevant, else 0, and with a probability of 30 % another
// of its four grades, all equally likely. From its grades, from right grades of the same pool, and from the
// model's grades calibrated by 40 documents that people graded, `auto` is trained and measured by people's
// judgments; five parts, each the test once. Beside it, known items: queries made of a document's own
// words, for which only that document is relevant. Quick: one part. Normal: all parts. Full: all, 5 draws
// of the grades.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/json.h"
#include "core/json_members.h"
#include "core/random.h"
#include "core/text_file.h"
#include "evaluation/runs/judgments.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/indexed_documents.h"
#include "lab/experiments/judged_queries.h"
#include "service/learning/judge_grades.h"
#include "service/learning/recording.h"

namespace metafuse::lab::experiments {
namespace judges {
namespace {

constexpr double kJudgedDepth = 10;
constexpr double kWrongShare = 0.3;
constexpr std::size_t kCalibratedBy = 40;
constexpr std::size_t kKnownItems = 300;
constexpr std::size_t kForms = 4;
constexpr IndexedDocuments::Files kFiles = {
    "version: 1\ndomain: own\ndepth: 100\nslots:\n  QUERY: {required: true, description: a question}\n"
    "templates:\n"
    "  - {id: any, engine: weighted, query: '{QUERY|any}'}\n"
    "  - {id: flat, engine: flat, query: '{QUERY|any}'}\n"
    "  - {id: title, engine: flat, query: 'title : {QUERY|any}'}\n"
    "  - {id: text, engine: flat, query: 'text : {QUERY|any}'}\n"
    "  - {id: words, engine: words, query: '{QUERY|any}'}\n"
    "  - {id: parts, engine: parts, query: '{QUERY|any}'}\n"
    "  - {id: alike, engine: alike, query: '{QUERY}'}\n"
    "  - {id: meaning, engine: meaning, query: '{QUERY}'}\n",
    "engines:\n"
    "  - {name: weighted, engine: local, database: made, weights: {title: 3}}\n"
    "  - {name: flat, engine: local, database: made}\n"
    "  - {name: words, engine: local, database: made, tokenizer: words}\n"
    "  - {name: parts, engine: local, database: made, tokenizer: parts}\n"
    "  - {name: alike, engine: local_cosine, database: made, query_syntax: plain}\n"
    "  - {name: meaning, engine: local_vector, database: made}\n"};

struct Document {
  std::string url;
  std::vector<std::string> title;
  std::vector<std::string> text;
};

Result<std::vector<Document>> read_documents(const std::string& path) {
  std::vector<Document> documents;
  TRY_VOID(for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    TRY(const auto json, parse_json(line, path, Code::bad_data, {.first_line = number}));
    const JsonMembers members(json);
    documents.push_back({members.text_or_empty("url"), words_of(members.text_or_empty("title")),
                         words_of(members.text_or_empty("text"))});
    return {};
  }));
  return documents;
}

/// A query of a document's own words in one of four forms: its title, its rarest words, some words in a row,
/// or some words in any order. Empty if the document has too few words.
std::string own_words(const Document& document, std::size_t form,
                      const std::map<std::string, std::size_t>& documents_with, Random& random) {
  constexpr std::size_t kFewestWords = 4;
  constexpr std::size_t kInRow = 8;
  const auto& words = document.text.empty() ? document.title : document.text;
  if (form == 0) return joined(document.title);
  if (words.size() < kFewestWords) return {};
  if (form == 2) {
    const std::size_t count = std::min(kInRow, words.size());
    const auto begin = static_cast<std::ptrdiff_t>(random.below(words.size() - count + 1));
    return joined({words.begin() + begin, words.begin() + begin + static_cast<std::ptrdiff_t>(count)});
  }
  const std::set<std::string> distinct(words.begin(), words.end());
  std::vector<std::string> chosen(distinct.begin(), distinct.end());
  random.shuffle(chosen);
  if (form == 1)
    std::stable_sort(chosen.begin(), chosen.end(), [&](const std::string& a, const std::string& b) {
      return documents_with.at(a) < documents_with.at(b);
    });
  chosen.resize(std::min(kFewestWords, chosen.size()));
  return joined(chosen);
}

/// Known items: queries with the one document that each was made of.
struct KnownItems {
  std::vector<Question> queries;
  std::string qrels;
};

KnownItems known_items(const std::vector<Document>& documents, std::uint64_t seed) {
  std::map<std::string, std::size_t> documents_with;
  for (const Document& document : documents) {
    std::set<std::string> distinct(document.text.begin(), document.text.end());
    distinct.insert(document.title.begin(), document.title.end());
    for (const std::string& word : distinct) ++documents_with[word];
  }
  Random random(seed);
  KnownItems out;
  std::size_t drawn = 0;
  for (const std::size_t at : shuffled(documents.size(), random)) {
    if (out.queries.size() == kKnownItems) break;
    const std::string text = own_words(documents[at], drawn++ % kForms, documents_with, random);
    if (text.empty()) continue;
    const std::string id = "k" + std::to_string(out.queries.size());
    out.queries.push_back({id, text});
    out.qrels += fmt::format("{} 0 {} 1\n", id, documents[at].url);
  }
  return out;
}

struct Collection {
  JudgedQueries queries;
  fusion::Model of_known_items;
};

Result<JudgedQueries> with_judgments(const IndexedDocuments& indexed, const std::vector<Question>& questions,
                                     const std::string& qrels, std::uint64_t seed) {
  TRY(const auto folder, WorkFolder::make());
  RunCollection collection;
  TRY(collection.runs, indexed.record(questions, folder->path()));
  TRY(collection.judgments, evaluation::read_qrels(qrels));
  return judged_runs(std::move(collection), seed);
}

Result<std::vector<Question>> read_questions(const std::string& path) {
  TRY(const auto judged, service::read_judged_queries(path));
  std::vector<Question> questions;
  for (const auto& query : judged) {
    const auto text = query.slots.slots.find("QUERY");
    if (text == query.slots.slots.end())
      return fail(Code::bad_data, path + ": the query " + query.id + " has no slot QUERY");
    questions.push_back({query.id, text->second});
  }
  return questions;
}

Result<Collection> read_collection(const std::string& name, const ExperimentOptions& options) {
  const std::string path = options.data + "/text-collections/" + name;
  const std::string documents_file = collection_documents(options.data, name);
  TRY(const auto questions, read_questions(path + "/judged.jsonl"));
  TRY(const auto folder, WorkFolder::make());
  fetchers::IndexOptions index;
  index.kinds = {fetchers::WordKind::stems, fetchers::WordKind::words, fetchers::WordKind::parts};
  index.language = "en";
  index.has_cosine = true;
  index.files.threads = options.threads;
  index.vectors.source = fetchers::VectorOptions::Source::lsi;
  TRY(const auto indexed, IndexedDocuments::make(documents_file, folder->path("index.db"), kFiles, index));
  Collection out;
  TRY(out.queries, with_judgments(*indexed, questions, path + "/qrels", options.seed));
  TRY(const auto documents, read_documents(documents_file));
  const KnownItems items = known_items(documents, options.seed);
  TRY_VOID(write_file(folder->path("known"), items.qrels));
  TRY(const auto known, with_judgments(*indexed, items.queries, folder->path("known"), options.seed));
  TRY(out.of_known_items, train({"auto"}, known.set));
  return out;
}

/// Whether one of the lists has the document among its first ten.
bool is_pooled(const fusion::TrainingSet& set, std::size_t row) {
  for (std::size_t f = 0; f < set.matrix.features().size(); ++f)
    if (!set.matrix.is_unranked(row, f) && set.matrix.value(row, f) >= -kJudgedDepth) return true;
  return false;
}

/// The set with grades only for the pool: the model's, of which a share is wrong. What was not judged is left
/// out of the feedback, as in training from a store.
fusion::TrainingSet graded_by_model(fusion::TrainingSet set, double wrong, Random random) {
  constexpr int kGrades = service::kBestModelGrade + 1;
  for (std::size_t row = 0; row < set.grades.size(); ++row) {
    const bool is_graded = is_pooled(set, row);
    int grade = set.grades[row] >= 1.0 && is_graded ? service::kBestModelGrade : 0;
    if (is_graded && random.uniform() < wrong)
      grade = (grade + 1 + static_cast<int>(random.below(kGrades - 1))) % kGrades;
    set.grades[row] = grade;
    set.in_feedback[row] = is_graded ? 1 : 0;
  }
  for (fusion::QueryRange& query : set.queries) query.unlisted.clear();
  return set;
}

/// The model's grades as some documents that people graded say they are to be read.
fusion::TrainingSet calibrated(fusion::TrainingSet model, const fusion::TrainingSet& people, Random random) {
  std::vector<std::size_t> pool;
  for (std::size_t row = 0; row < model.grades.size(); ++row)
    if (is_pooled(model, row)) pool.push_back(row);
  random.shuffle(pool);
  std::vector<service::GradePair> pairs;
  for (std::size_t i = 0; i < std::min(kCalibratedBy, pool.size()); ++i)
    pairs.push_back({0, people.grades[pool[i]] >= 1.0 ? 1 : 0, static_cast<int>(model.grades[pool[i]])});
  const auto reading = service::read_grades(pairs);
  for (const std::size_t row : pool)
    model.grades[row] = reading.learned[static_cast<std::size_t>(model.grades[row])];
  return model;
}

/// The mean values of the columns, of a part or of a collection.
enum Column : std::size_t { kUntrained, kRight, kWrong, kWrongCalibrated, kKnown };
using Row = std::vector<double>;

/// A set that auto refuses leaves the order untrained.
Result<Row> run_part(const Collection& collection, std::size_t part, std::uint64_t seed) {
  const JudgedQueries& queries = collection.queries;
  const Trial trial(queries, divided(queries.part_of, part), "map", seed);
  const fusion::TrainingSet& people = trial.train_set;
  TRY(const auto untrained, trial.learn({"reciprocal-ranks"}));
  const auto value = [&](const fusion::TrainingSet& set) -> Result<double> {
    TRY(const auto model, trial.learn_if_accepted({"auto"}, set));
    return trial.value(model ? *model : untrained);
  };
  const Random random = Random(seed).split(part);
  const auto wrong = graded_by_model(people, kWrongShare, random);
  TRY(const double of_right, value(graded_by_model(people, 0.0, random)));
  TRY(const double of_wrong, value(wrong));
  TRY(const double of_calibrated, value(calibrated(wrong, people, random.split(1))));
  return Row{trial.value(untrained), of_right, of_wrong, of_calibrated,
             trial.value(collection.of_known_items)};
}

/// The share of what right grades gain that the model's lose; 0 where right grades gain nothing.
double share_lost(const Row& means) {
  const double gain = means[kRight] - means[kUntrained];
  return gain > 0.0 ? (means[kRight] - means[kWrong]) / gain : 0.0;
}

void describe(const std::vector<Row>& rows, Report& report) {
  Table table{
      {{"MAP", "untrained", "right grades", "30 % wrong", "calibrated", "share lost", "known items"}}};
  const auto add = [&](const std::string& name, const Row& means) {
    table.add(name, std::span(means).first(kKnown), 4);
    table.rows.back().push_back(fmt::format("{:.0f} %", 100.0 * share_lost(means)));
    table.rows.back().push_back(signed_text(means[kKnown] - means[kUntrained]));
  };
  double least = 1.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    add(kTextCollections[i], rows[i]);
    least = std::min(least, rows[i][kKnown] - rows[i][kUntrained]);
  }
  const Row means = means_of(rows);
  add("mean", means);
  report.add(table);
  report.text += "\n";
  report.judge("a model with 30 % wrong grades loses at most half of what right grades gain, in the mean",
               means[kRight] > means[kUntrained] && share_lost(means) <= 0.5,
               fmt::format("{:.0f} %", 100.0 * share_lost(means)));
  const double gain = means[kKnown] - means[kUntrained];
  report.judge("known items gain at least .01 MAP in the mean and lose at most .003 on any collection",
               gain >= 0.01 && least >= -0.003, fmt::format("{:+.4f}, lowest {:+.4f}", gain, least));
}

}  // namespace
}  // namespace judges

Result<Report> run_judges(const ExperimentOptions& options) {
  using namespace judges;
  std::vector<Row> means;
  for (const char* name : kTextCollections) {
    TRY(const auto collection, read_collection(name, options));
    TRY(const auto rows, run_parts(options, [&](std::size_t part, std::uint64_t seed) {
          return run_part(collection, part, seed);
        }));
    means.push_back(means_of(rows));
  }
  Report report{"MAP by people's judgments, on queries that nothing was learned from.\n\n"};
  describe(means, report);
  return report;
}

}  // namespace metafuse::lab::experiments
