#include "fusion/model/score_file.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <vector>

#include "core/diagnostics.h"
#include "evaluation/runs/letor_file.h"
#include "fusion/data/features.h"
#include "fusion/model/fuse.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kBlockRows = 4096;

void append_score(std::string& text, double score) {
  char line[40];
  char* const end = std::to_chars(line, line + sizeof line - 1, score, std::chars_format::general, 17).ptr;
  *end = '\n';
  text.append(line, static_cast<std::size_t>(end + 1 - line));
}

std::string score_lines(const std::vector<double>& scores) {
  std::string text;
  for (const double score : scores) append_score(text, score);
  return text;
}

Result<void> check_features(const evaluation::LetorRow& row, std::size_t known) {
  if (row.cells.empty() || row.cells.back().index <= known) return {};
  return fail(Code::bad_data, "contains feature " + std::to_string(row.cells.back().index) +
                                  ", but the model has features up to " + std::to_string(known) +
                                  "; score files with the features that it was trained on");
}

/// Scores row by row with step tables. Adds the same parts in the same order as StepRanker::score().
class StepScorer {
 public:
  StepScorer(const Model& model, const StepRanker& ranker, bool are_ranks)
      : known_(model.features.size()), are_ranks_(are_ranks), places_(model.features.size(), kUnused) {
    for (std::size_t feature = 0; feature < known_; ++feature) {
      const StepTable& table = ranker.tables()[feature];
      if (table.thresholds.empty()) continue;
      places_[feature] = tables_.size();
      tables_.push_back(&table);
      depths_.push_back(model.features[feature].depth);
      absent_.push_back(model.is_absent_zero ? table.at(0.0) : table.unranked);
    }
    parts_ = absent_;
  }

  Result<void> take(const evaluation::LetorRow& row) {
    if (auto known = check_features(row, known_); !known) return known;
    parts_ = absent_;
    for (const evaluation::LetorCell& cell : row.cells) {
      const std::size_t place = places_[cell.index - 1];
      if (place != kUnused) parts_[place] = part_of(cell, place);
    }
    double score = 0.0;
    for (const double part : parts_) score += part;
    append_score(text_, score);
    return {};
  }

  std::string finish() { return std::move(text_); }

 private:
  static constexpr std::size_t kUnused = static_cast<std::size_t>(-1);

  double part_of(const evaluation::LetorCell& cell, std::size_t place) const {
    const StepTable& table = *tables_[place];
    if (cell.is_unranked || (are_ranks_ && depths_[place] != 0 && cell.value > depths_[place]))
      return table.unranked;
    return table.at(are_ranks_ ? -cell.value : cell.value);
  }

  std::size_t known_;
  bool are_ranks_;
  std::vector<std::size_t> places_;  // by feature: its index among the features that the model uses
  std::vector<const StepTable*> tables_;
  std::vector<int> depths_;
  std::vector<double> absent_;
  std::vector<double> parts_;
  std::string text_;
};

/// Collects rows into a block and writes their scores when it is full.
class BlockScorer {
 public:
  BlockScorer(const Model& model, bool are_ranks) : model_(model), are_ranks_(are_ranks) { restart(); }

  Result<void> take(const evaluation::LetorRow& row) {
    if (auto known = check_features(row, model_.features.size()); !known) return known;
    if (model_.is_absent_zero)
      for (std::size_t f = 0; f < model_.features.size(); ++f) block_.set(rows_, f, 0.0);
    for (const evaluation::LetorCell& cell : row.cells) set_cell(cell);
    if (++rows_ == kBlockRows) flush();
    return {};
  }

  std::string finish() {
    flush();
    return std::move(text_);
  }

 private:
  void restart() {
    block_ = FeatureMatrix(model_.features, kBlockRows);
    rows_ = 0;
  }

  void set_cell(const evaluation::LetorCell& cell) {
    const std::size_t feature = cell.index - 1;
    const int depth = model_.features[feature].depth;
    if (cell.is_unranked) {
      // NULL means unranked even where an absent cell means 0: undo the 0 that the row began with.
      if (model_.is_absent_zero) block_.clear(rows_, feature);
      return;
    }
    if (!are_ranks_)
      block_.set(rows_, feature, cell.value);
    else if (depth == 0 || cell.value <= depth)
      block_.set(rows_, feature, -cell.value);
  }

  void flush() {
    std::vector<double> scores = model_.ranker->score(block_);
    scores.resize(rows_);
    text_ += score_lines(scores);
    restart();
  }

  const Model& model_;
  bool are_ranks_;
  FeatureMatrix block_;
  std::size_t rows_ = 0;
  std::string text_;
};

/// Collects the rows of a query before scoring them, since derived features may compare its documents.
class QueryScorer {
 public:
  explicit QueryScorer(const Model& model) : model_(model) { instances_.lists = list_count(model); }

  Result<void> take(const evaluation::LetorRow& row) {
    if (auto known = check_features(row, instances_.lists); !known) return known;
    if (instances_.documents.empty() || row.query != query_) {
      flush();
      query_ = row.query;
      if (!seen_.insert(query_).second)
        return fail(Code::bad_data, "the lines of query \"" + query_ +
                                        "\" are not consecutive, but the model compares the documents "
                                        "of a query; sort them by query");
    }
    instances_.documents.emplace_back();
    instances_.ranks.resize(instances_.documents.size() * instances_.lists, 0);
    std::uint32_t* ranks = instances_.ranks.data() + instances_.ranks.size() - instances_.lists;
    for (const evaluation::LetorCell& cell : row.cells) {
      const int depth = model_.features[cell.index - 1].depth;
      if (!cell.is_unranked && (depth == 0 || cell.value <= depth))
        ranks[cell.index - 1] = static_cast<std::uint32_t>(cell.value);
    }
    return {};
  }

  std::string finish() {
    flush();
    return std::move(text_);
  }

 private:
  void flush() {
    text_ += score_lines(model_.ranker->score(feature_matrix(model_.features, instances_)));
    instances_.documents.clear();
    instances_.ranks.clear();
  }

  const Model& model_;
  QueryInstances instances_;
  std::string query_;
  std::set<std::string> seen_;
  std::string text_;
};

template <class Scorer>
Result<std::string> score_rows(Scorer scorer, const std::string& path, bool are_ranks) {
  auto read =
      evaluation::for_each_letor_row(path, {are_ranks}, [&](const evaluation::LetorRow& row) -> Result<void> {
        auto taken = scorer.take(row);
        if (!taken) return fail(taken.error().code, located(path, {row.line, 0}, taken.error().text));
        return {};
      });
  if (!read) return read.error();
  return scorer.finish();
}

}  // namespace

Result<std::string> score_letor_file(const Model& model, const std::string& path, bool are_ranks) {
  const FeatureKind kind = are_ranks ? FeatureKind::rank : FeatureKind::value;
  const auto differs = [&](const Feature& feature) { return !is_derived(feature) && feature.kind != kind; };
  if (std::any_of(model.features.begin(), model.features.end(), differs))
    return fail(Code::bad_data, path + ": the model was trained on " + (are_ranks ? "values" : "ranks") +
                                    "; use " + (are_ranks ? "--letor" : "--letor-ranks"));
  if (list_count(model) < model.features.size()) return score_rows(QueryScorer(model), path, are_ranks);
  if (const auto* steps = dynamic_cast<const StepRanker*>(model.ranker.get()))
    return score_rows(StepScorer(model, *steps, are_ranks), path, are_ranks);
  return score_rows(BlockScorer(model, are_ranks), path, are_ranks);
}

}  // namespace metafuse::fusion
