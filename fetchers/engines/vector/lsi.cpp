#include "fetchers/engines/vector/lsi.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

#include "core/parallel.h"
#include "core/random.h"
#include "core/simd.h"
#include "fetchers/engines/vector/vector_rows.h"

namespace metafuse::fetchers {
namespace {

using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::size_t kRowsPerTask = 256;
constexpr float kSmallestShare = 1e-6F;  ///< of the largest eigenvalue; smaller ones are rounding errors

Eigen::Index eigen_index(std::size_t i) {
  return static_cast<Eigen::Index>(i);
}

METAFUSE_CLONES void add_scaled(float* sum, float factor, const float* row, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += factor * row[i];
}

/// 1 + sum over documents of p ln p / ln (N + 1), where p is the document's share of the word's occurrences.
///
/// Dumais 1991 divides by ln N instead. A word that occurs equally often in all documents would then have
/// weight zero, and a collection of few documents might get no vectors at all.
///
/// source: Dumais 1991, "entropy"
std::vector<float> global_weights(const WordCounts& counts) {
  const double most = std::log(static_cast<double>(counts.document_count + 1));
  std::vector<float> weights;
  for (std::size_t word = 0; word < counts.words.size(); ++word) {
    double total = 0;
    for (std::size_t i = counts.begins[word]; i < counts.begins[word + 1]; ++i) total += counts.counts[i];
    double entropy = 0;
    for (std::size_t i = counts.begins[word]; i < counts.begins[word + 1]; ++i) {
      const double share = counts.counts[i] / total;
      entropy -= share * std::log(share);
    }
    weights.push_back(static_cast<float>(std::max(0.0, 1 - entropy / most)));
  }
  return weights;
}

/// The documents x words matrix by rows. It is also read by columns, directly from WordCounts.
struct Rows {
  std::vector<std::size_t> begins;
  std::vector<std::uint32_t> words;
  std::vector<float> values;  ///< ln(1 + count)
};

Rows rows_of(const WordCounts& counts) {
  Rows rows;
  rows.begins.assign(counts.document_count + 1, 0);
  for (const std::uint32_t document : counts.documents) ++rows.begins[document + 1];
  for (std::size_t i = 0; i < counts.document_count; ++i) rows.begins[i + 1] += rows.begins[i];
  rows.words.resize(counts.documents.size());
  rows.values.resize(counts.documents.size());
  std::vector<std::size_t> next(rows.begins.begin(), rows.begins.end() - 1);
  for (std::size_t word = 0; word < counts.words.size(); ++word)
    for (std::size_t i = counts.begins[word]; i < counts.begins[word + 1]; ++i) {
      const std::size_t at = next[counts.documents[i]]++;
      rows.words[at] = static_cast<std::uint32_t>(word);
      rows.values[at] = std::log1p(counts.counts[i]);
    }
  return rows;
}

void for_each_row(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work) {
  parallel_for((count + kRowsPerTask - 1) / kRowsPerTask, threads, [&](std::size_t task) {
    const std::size_t end = std::min(count, (task + 1) * kRowsPerTask);
    for (std::size_t i = task * kRowsPerTask; i < end; ++i) work(i);
  });
}

/// Products with the weighted matrix of the documents used for training: every step-th document.
class TrainingMatrix {
 public:
  TrainingMatrix(const WordCounts& counts, const Rows& rows, const std::vector<float>& weights,
                 const LsiOptions& options)
      : counts_(counts), rows_(rows), weights_(weights), threads_(options.threads) {
    step_ =
        (counts.document_count + options.max_documents - 1) / std::max<std::size_t>(1, options.max_documents);
    step_ = std::max<std::size_t>(1, step_);
    documents_ = (counts.document_count + step_ - 1) / step_;
    for (std::size_t i = 0; i < documents_; ++i) {
      double squares = 0;
      for (std::size_t at = rows.begins[i * step_]; at < rows.begins[i * step_ + 1]; ++at) {
        const double value = rows.values[at] * weights[rows.words[at]];
        squares += value * value;
      }
      scales_.push_back(squares > 0 ? static_cast<float>(1 / std::sqrt(squares)) : 0.0F);
    }
  }

  std::size_t documents() const { return documents_; }

  /// The matrix times a matrix of words x columns; the result has documents x columns.
  RowMatrix times(const RowMatrix& right) const {
    RowMatrix product = RowMatrix::Zero(eigen_index(documents_), right.cols());
    for_each_row(documents_, threads_, [&](std::size_t i) {
      float* sum = product.data() + i * static_cast<std::size_t>(right.cols());
      for (std::size_t at = rows_.begins[i * step_]; at < rows_.begins[i * step_ + 1]; ++at) {
        const std::uint32_t word = rows_.words[at];
        add_scaled(sum, rows_.values[at] * weights_[word] * scales_[i],
                   right.data() + word * static_cast<std::size_t>(right.cols()),
                   static_cast<std::size_t>(right.cols()));
      }
    });
    return product;
  }

  /// The transposed matrix times a matrix of documents x columns; the result has words x columns.
  RowMatrix transposed_times(const RowMatrix& right) const {
    RowMatrix product = RowMatrix::Zero(eigen_index(counts_.words.size()), right.cols());
    for_each_row(counts_.words.size(), threads_, [&](std::size_t word) {
      float* sum = product.data() + word * static_cast<std::size_t>(right.cols());
      for (std::size_t at = counts_.begins[word]; at < counts_.begins[word + 1]; ++at) {
        const std::size_t document = counts_.documents[at];
        if (document % step_ != 0) continue;
        add_scaled(sum, std::log1p(counts_.counts[at]) * weights_[word] * scales_[document / step_],
                   right.data() + document / step_ * static_cast<std::size_t>(right.cols()),
                   static_cast<std::size_t>(right.cols()));
      }
    });
    return product;
  }

 private:
  const WordCounts& counts_;
  const Rows& rows_;
  const std::vector<float>& weights_;
  unsigned threads_;
  std::size_t step_ = 1;
  std::size_t documents_ = 0;
  std::vector<float> scales_;
};

RowMatrix orthonormal(const RowMatrix& matrix) {
  const Eigen::HouseholderQR<Eigen::MatrixXf> factors{Eigen::MatrixXf(matrix)};
  return factors.householderQ() * Eigen::MatrixXf::Identity(matrix.rows(), matrix.cols());
}

RowMatrix random_matrix(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  Random random(seed);
  RowMatrix matrix(eigen_index(rows), eigen_index(columns));
  for (Eigen::Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = static_cast<float>(random.normal());
  return matrix;
}

/// The first columns of basis x eigenvectors, largest eigenvalue first. The largest entry of each column is
/// made positive, so that the signs do not depend on the solver.
RowMatrix leading_directions(const RowMatrix& basis, const RowMatrix& image, std::size_t dimensions) {
  const Eigen::MatrixXd wide = image.cast<double>();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved(wide.transpose() * wide);
  const Eigen::VectorXd& values = solved.eigenvalues();  // ascending
  const Eigen::Index most = std::min(eigen_index(dimensions), values.size());
  const double largest = values(values.size() - 1);
  Eigen::Index kept = 0;
  while (kept < most && values(values.size() - 1 - kept) > largest * static_cast<double>(kSmallestShare))
    ++kept;
  const Eigen::MatrixXd chosen = solved.eigenvectors().rightCols(kept).rowwise().reverse();
  RowMatrix directions = basis * chosen.cast<float>();
  for (Eigen::Index column = 0; column < kept; ++column) {
    Eigen::Index at = 0;
    directions.col(column).cwiseAbs().maxCoeff(&at);
    if (directions(at, column) < 0) directions.col(column) *= -1;
  }
  return directions;
}

}  // namespace

Result<LsiModel> train_lsi(const WordCounts& counts, const LsiOptions& options) {
  if (counts.words.empty() || counts.document_count == 0)
    return fail(Code::bad_data,
                "no word occurs in two documents; latent semantic indexing needs more documents");
  const std::vector<float> weights = global_weights(counts);
  const Rows rows = rows_of(counts);
  const TrainingMatrix matrix(counts, rows, weights, options);
  const std::size_t columns =
      std::min({options.dimensions + options.oversampling, counts.words.size(), matrix.documents()});
  RowMatrix basis = orthonormal(random_matrix(counts.words.size(), columns, options.seed));
  for (std::size_t i = 0; i < options.iterations; ++i) {
    TRY_VOID(check_interrupt(options.is_interrupted));
    basis = orthonormal(matrix.transposed_times(matrix.times(basis)));
  }
  const RowMatrix directions = leading_directions(basis, matrix.times(basis), options.dimensions);
  if (directions.cols() == 0)
    return fail(Code::bad_data,
                "the documents have no word in common; latent semantic indexing needs more documents");
  LsiModel model;
  model.dimensions = static_cast<std::size_t>(directions.cols());
  model.rows.resize(counts.words.size() * model.dimensions);
  for (std::size_t word = 0; word < counts.words.size(); ++word)
    for (std::size_t i = 0; i < model.dimensions; ++i)
      model.rows[word * model.dimensions + i] = weights[word] * directions(eigen_index(word), eigen_index(i));
  return model;
}

std::vector<float> document_vectors(const WordCounts& counts, const LsiModel& model, unsigned threads) {
  const Rows rows = rows_of(counts);
  std::vector<float> vectors(counts.document_count * model.dimensions);
  for_each_row(counts.document_count, threads, [&](std::size_t i) {
    const std::span<float> sum(vectors.data() + i * model.dimensions, model.dimensions);
    for (std::size_t at = rows.begins[i]; at < rows.begins[i + 1]; ++at)
      add_scaled(sum.data(), rows.values[at], model.row(rows.words[at]).data(), sum.size());
    if (!normalise(sum)) std::fill(sum.begin(), sum.end(), 0.0F);
  });
  return vectors;
}

}  // namespace metafuse::fetchers
