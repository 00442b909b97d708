#include "fusion/score_file.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "core/diagnostics.h"
#include "evaluation/letor_file.h"
#include "fusion/features.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kBlockRows = 4096;

/// Collects rows into a block and writes their scores when it is full.
class BlockScorer {
 public:
  BlockScorer(const Model& model, bool are_ranks) : model_(model), are_ranks_(are_ranks) {
    while (base_ < model.features.size() && !is_derived(model.features[base_])) ++base_;
    restart();
  }

  Result<void> take(const evaluation::LetorRow& row) {
    if (!row.cells.empty() && row.cells.back().index > base_)
      return fail(Code::bad_data, "names feature " + std::to_string(row.cells.back().index) +
                                      ", but the model knows " + std::to_string(base_) +
                                      "; score files of the kind that it was trained on");
    ranks_.assign(base_, 0);
    if (model_.is_absent_zero)
      for (std::size_t f = 0; f < base_; ++f) block_.set(rows_, f, 0.0);
    for (const evaluation::LetorCell& cell : row.cells) set_cell(cell);
    for (std::size_t f = base_; f < model_.features.size(); ++f)
      block_.set(rows_, f, derived_value(model_.features[f], ranks_));
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
      // A NULL stays unranked even where an absent cell means zero: the row starts over without it.
      if (model_.is_absent_zero) block_.clear(rows_, feature);
      return;
    }
    if (!are_ranks_) {
      block_.set(rows_, feature, cell.value);
    } else if (depth == 0 || cell.value <= depth) {
      block_.set(rows_, feature, -cell.value);
      ranks_[feature] = static_cast<std::uint32_t>(cell.value);
    }
  }

  void flush() {
    const std::vector<double> scores = model_.ranker->score(block_);
    char number[40];
    for (std::size_t row = 0; row < rows_; ++row) {
      const int length = std::snprintf(number, sizeof number, "%.17g\n", scores[row]);
      text_.append(number, static_cast<std::size_t>(length));
    }
    restart();
  }

  const Model& model_;
  bool are_ranks_;
  std::size_t base_ = 0;  // features that stand in the file; derived ones follow
  FeatureMatrix block_;
  std::size_t rows_ = 0;
  std::vector<std::uint32_t> ranks_;
  std::string text_;
};

}  // namespace

Result<std::string> score_letor_file(const Model& model, const std::string& path, bool are_ranks) {
  const FeatureKind kind = are_ranks ? FeatureKind::rank : FeatureKind::value;
  const auto differs = [&](const Feature& feature) { return !is_derived(feature) && feature.kind != kind; };
  if (std::any_of(model.features.begin(), model.features.end(), differs))
    return fail(Code::bad_data, path + ": the model was trained on " + (are_ranks ? "values" : "ranks") +
                                    "; use " + (are_ranks ? "--letor" : "--letor-ranks"));
  BlockScorer scorer(model, are_ranks);
  auto read =
      evaluation::for_each_letor_row(path, {are_ranks}, [&](const evaluation::LetorRow& row) -> Result<void> {
        auto taken = scorer.take(row);
        if (!taken) return fail(taken.error().code, located(path, {row.line, 0}, taken.error().text));
        return {};
      });
  if (!read) return read.error();
  return scorer.finish();
}

}  // namespace metafuse::fusion
