#include "cli/training_input.h"

#include "cli/number_checks.h"

namespace metafuse::cli {

using fusion::FeedbackOptions;

void add_training_options(CLI::App& verb, TrainingOptions& options) {
  fusion::TrainingInput& input = options.input;
  auto* runs =
      verb.add_option("--runs", input.runs, "TREC runs, each FILE or NAME=FILE: one rank feature each");
  auto* qrels = verb.add_option("--qrels", input.qrels, "the judgments beside --runs");
  auto* letor = verb.add_option("--letor", input.letor, "LETOR files (SVMlight with qid)");
  auto* ranks = verb.add_option("--letor-ranks", input.letor_ranks,
                                "LETOR aggregation files: values are ranks, 1 best, NULL unranked");
  letor->excludes(runs)->excludes(qrels)->excludes(ranks);
  ranks->excludes(runs)->excludes(qrels);
  verb.add_option("--pairs", input.pairs, "general feedback: qid document_below document_above weight");
  verb.add_option("--absent", options.absent, "a feature that a --letor row does not name: zero or unranked")
      ->check(CLI::IsMember({"zero", "unranked"}))
      ->capture_default_str();
  verb.add_option("--depth", input.depth, "how far down each list counts, 0 for all of it")
      ->check(at_least_zero())
      ->capture_default_str();
  verb.add_option("--derive", input.derive, "derived features: lists,rrf,best-rank,median-rank,share");
  verb.add_option("--feedback", options.feedback, "graded or bipartite")
      ->check(CLI::IsMember({"graded", "bipartite"}))
      ->capture_default_str();
  verb.add_option("--relevance-level", input.feedback.relevance_level,
                  "the lowest relevant grade of bipartite feedback")
      ->capture_default_str();
  verb.add_option("--unjudged", options.unjudged, "unjudged documents: nonrelevant, or ignore in feedback")
      ->check(CLI::IsMember({"nonrelevant", "ignore"}))
      ->capture_default_str();
  verb.add_option("--negative-grades", options.negative_grades, "grades below 0: zero (count as 0) or keep")
      ->check(CLI::IsMember({"zero", "keep"}))
      ->capture_default_str();
  verb.add_option("--query-weights", input.query_weights,
                  "pairs (every pair weighs the same), equal (every query), documents (a query as many as it "
                  "has), or a file of: qid weight")
      ->capture_default_str();
  verb.add_option("--grade-weights", options.grade_weights,
                  "a pair weighs one, the difference of grades, or of gains")
      ->check(CLI::IsMember({"one", "difference", "gain"}))
      ->capture_default_str();
}

fusion::TrainingInput training_input(const TrainingOptions& options, unsigned threads) {
  fusion::TrainingInput input = options.input;
  input.is_absent_unranked = options.absent == "unranked";
  input.is_unjudged_ignored = options.unjudged == "ignore";
  input.are_negative_grades_kept = options.negative_grades == "keep";
  input.feedback.is_bipartite = options.feedback == "bipartite";
  input.feedback.grade_weights = options.grade_weights == "difference"
                                     ? FeedbackOptions::GradeWeights::difference
                                 : options.grade_weights == "gain" ? FeedbackOptions::GradeWeights::gain
                                                                   : FeedbackOptions::GradeWeights::one;
  input.threads = threads;
  return input;
}

}  // namespace metafuse::cli
