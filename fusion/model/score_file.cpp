#include <algorithm>
#include <charconv>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/diagnostics.h"
#include "evaluation/runs/letor_file.h"
#include "fusion/data/features.h"
#include "fusion/model/fuse.h"
#include "fusion/model/sum_ranker.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kBlockRows = 4096;

void append_score(std::string& text, double score) {
  char line[40];
  char* const end = std::to_chars(line, line + sizeof line - 1, score, std::chars_format::general, 17).ptr;
  *end = '\n';
  text.append(line, static_cast<std::size_t>(end + 1 - line));
}

void append_scores(std::string& text, std::span<const double> scores, std::size_t count) {
  for (const double score : scores.first(count)) append_score(text, score);
}

Result<void> check_features(const evaluation::LetorRow& row, std::size_t known) {
  if (row.cells.empty() || row.cells.back().index <= known) return {};
  return fail(Code::bad_data, "contains feature " + std::to_string(row.cells.back().index) +
                                  ", but the model has features up to " + std::to_string(known) +
                                  "; score files with the features that it was trained on");
}

/// Whether a cell's value counts: a rank below the feature's depth does not.
bool is_ranked(const evaluation::LetorCell& cell, const Feature& feature, bool are_ranks) {
  return !cell.is_unranked && (!are_ranks || feature.depth == 0 || cell.value <= feature.depth);
}

// A scorer takes the rows of a file one by one and appends their scores to a text, at once or when a later
// row or finish() completes their group.

/// Scores row by row. Adds the same parts in the same order as SumRanker::score().
class SumScorer {
 public:
  SumScorer(const Model& model, const SumRanker& ranker, bool are_ranks)
      : features_(model.features),
        ranker_(ranker),
        are_ranks_(are_ranks),
        places_(model.features.size(), kUnused) {
    for (std::size_t feature = 0; feature < features_.size(); ++feature) {
      if (!ranker.uses(feature)) continue;
      places_[feature] = absent_.size();
      absent_.push_back(model.is_absent_zero ? ranker.part(feature, 0.0) : ranker.unranked_part(feature));
    }
  }

  Result<void> take(const evaluation::LetorRow& row, std::string& text) {
    parts_ = absent_;
    for (const evaluation::LetorCell& cell : row.cells) {
      const std::size_t feature = cell.index - 1;
      const std::size_t place = places_[feature];
      if (place == kUnused) continue;
      parts_[place] = is_ranked(cell, features_[feature], are_ranks_)
                          ? ranker_.part(feature, are_ranks_ ? -cell.value : cell.value)
                          : ranker_.unranked_part(feature);
    }
    double score = 0.0;
    for (const double part : parts_) score += part;
    append_score(text, score);
    return {};
  }

  void finish(std::string&) {}

 private:
  static constexpr std::size_t kUnused = static_cast<std::size_t>(-1);

  const std::vector<Feature>& features_;
  const SumRanker& ranker_;
  bool are_ranks_;
  std::vector<std::size_t> places_;  // by feature: its index among the features that the model uses
  std::vector<double> absent_;
  std::vector<double> parts_;
};

/// Collects rows into a block and scores it when it is full.
class BlockScorer {
 public:
  BlockScorer(const Model& model, bool are_ranks)
      : model_(model), are_ranks_(are_ranks), block_(model.features, kBlockRows) {}

  Result<void> take(const evaluation::LetorRow& row, std::string& text) {
    if (model_.is_absent_zero)
      for (std::size_t f = 0; f < model_.features.size(); ++f) block_.set(rows_, f, 0.0);
    for (const evaluation::LetorCell& cell : row.cells) {
      const std::size_t feature = cell.index - 1;
      if (is_ranked(cell, model_.features[feature], are_ranks_))
        block_.set(rows_, feature, are_ranks_ ? -cell.value : cell.value);
      else
        block_.clear(rows_, feature);  // NULL means unranked even where an absent cell means 0
    }
    if (++rows_ == kBlockRows) finish(text);
    return {};
  }

  void finish(std::string& text) {
    append_scores(text, model_.ranker->score(block_), rows_);
    block_ = FeatureMatrix(model_.features, kBlockRows);
    rows_ = 0;
  }

 private:
  const Model& model_;
  bool are_ranks_;
  FeatureMatrix block_;
  std::size_t rows_ = 0;
};

/// Collects the rows of a query before scoring them, since derived features may compare its documents.
class QueryScorer {
 public:
  explicit QueryScorer(const Model& model) : model_(model) { instances_.lists = list_count(model); }

  Result<void> take(const evaluation::LetorRow& row, std::string& text) {
    if (instances_.documents.empty() || row.query != query_) {
      finish(text);
      query_ = row.query;
      if (!seen_.insert(query_).second)
        return fail(Code::bad_data, "the lines of query \"" + query_ +
                                        "\" are not consecutive, but the model compares the documents "
                                        "of a query; sort them by query");
    }
    instances_.documents.emplace_back();
    instances_.ranks.resize(instances_.documents.size() * instances_.lists, 0);
    std::uint32_t* ranks = instances_.ranks.data() + instances_.ranks.size() - instances_.lists;
    for (const evaluation::LetorCell& cell : row.cells)
      if (is_ranked(cell, model_.features[cell.index - 1], true))
        ranks[cell.index - 1] = whole_rank(cell.value);
    return {};
  }

  void finish(std::string& text) {
    const std::size_t rows = instances_.documents.size();
    append_scores(text, model_.ranker->score(feature_matrix(model_.features, instances_)), rows);
    instances_.documents.clear();
    instances_.ranks.clear();
  }

 private:
  const Model& model_;
  QueryInstances instances_;
  std::string query_;
  std::set<std::string> seen_;
};

template <class Scorer>
Result<std::string> score_rows(Scorer scorer, const std::string& path, bool are_ranks, std::size_t known) {
  std::string text;
  TRY_VOID(
      evaluation::for_each_letor_row(path, {are_ranks}, [&](const evaluation::LetorRow& row) -> Result<void> {
        auto taken = check_features(row, known);
        if (taken) taken = scorer.take(row, text);
        if (!taken) return fail(taken.error().code, located(path, {row.line, 0}, taken.error().text));
        return {};
      }));
  scorer.finish(text);
  return text;
}

}  // namespace

Result<std::string> score_letor_file(const Model& model, const std::string& path, bool are_ranks) {
  const FeatureKind kind = are_ranks ? FeatureKind::rank : FeatureKind::value;
  const auto differs = [&](const Feature& feature) { return !is_derived(feature) && feature.kind != kind; };
  if (std::any_of(model.features.begin(), model.features.end(), differs))
    return fail(Code::bad_data, path + ": the model was trained on " + (are_ranks ? "values" : "ranks") +
                                    "; use " + (are_ranks ? "--letor" : "--letor-ranks"));
  const std::size_t known = list_count(model);
  if (known < model.features.size()) return score_rows(QueryScorer(model), path, are_ranks, known);
  if (const SumRanker* sum = model.ranker->sum())
    return score_rows(SumScorer(model, *sum, are_ranks), path, are_ranks, known);
  return score_rows(BlockScorer(model, are_ranks), path, are_ranks, known);
}

}  // namespace metafuse::fusion
