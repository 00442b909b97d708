#include "fusion/learners/similarity/similarity.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "fusion/data/features.h"
#include "fusion/learners/common/feedback_grades.h"
#include "fusion/learners/rankboost/feedback.h"

namespace metafuse::fusion::similarity {

std::vector<Viewer> viewers_of(const FeatureMatrix& matrix) {
  std::vector<Viewer> viewers(matrix.feature_count());
  for (std::size_t f = 0; f < viewers.size(); ++f) {
    Viewer& viewer = viewers[f];
    for (std::size_t x = 0; x < matrix.document_count(); ++x) {
      if (matrix.is_unranked(x, f)) continue;
      viewer.values.push_back(matrix.value(x, f));
      viewer.mean += viewer.values.back();
    }
    viewer.rated = viewer.values.size();
    if (viewer.rated == 0) continue;
    const auto rated = static_cast<double>(viewer.rated);
    viewer.mean /= rated;
    double squares = 0.0;
    for (const double value : viewer.values) squares += (value - viewer.mean) * (value - viewer.mean);
    viewer.deviation = std::sqrt(squares / rated);
    std::sort(viewer.values.begin(), viewer.values.end());
    viewer.values.erase(std::unique(viewer.values.begin(), viewer.values.end()), viewer.values.end());
    viewer.lowest = viewer.values.front();
    if (viewer.values.size() == 1) viewer.deviation = 0.0;
  }
  return viewers;
}

namespace {

/// The offset that turns a feature's values into ratings: in a list, a rank counts D + 1 - rank.
double rating_offset(const Feature& feature, const Viewer& viewer) {
  if (feature.kind != FeatureKind::rank) return 0.0;
  return 1.0 + (feature.depth > 0 ? feature.depth : -viewer.lowest);
}

/// The products of which the cosines are made: of ratings and grades over the documents in feedback, and of
/// the ratings and of the grades with themselves.
class Products {
 public:
  Products(const TrainingSet& set, Viewers which)
      : set_(set), viewers_(viewers_of(set.matrix)), documents_(judged_documents(set)) {
    for (const std::size_t x : documents_) add_grade(x, 1.0);
    products_.resize(viewers_.size());
    squares_.resize(viewers_.size());
    for (std::size_t f = 0; f < viewers_.size(); ++f) {
      const Feature& feature = set.matrix.features()[f];
      offsets_.push_back(rating_offset(feature, viewers_[f]));
      if (which == Viewers::lists && is_derived(feature)) continue;
      rated_by_.push_back(f);
      for (const std::size_t x : documents_) add_product(x, f, 1.0);
      for (std::size_t x = 0; x < set.matrix.document_count(); ++x)
        if (!set.matrix.is_unranked(x, f)) squares_[f] += rating(x, f) * rating(x, f);
    }
  }

  const std::vector<Viewer>& viewers() const { return viewers_; }
  const std::vector<std::size_t>& documents() const { return documents_; }
  double mean_grade() const { return count_ > 0.0 ? grades_ / count_ : 0.0; }
  double cosine(std::size_t f) const {
    if (products_[f] == 0.0 || squares_[f] <= 0.0 || grade_squares_ <= 0.0) return 0.0;
    return products_[f] / (std::sqrt(squares_[f]) * std::sqrt(grade_squares_));
  }

  /// The grade that is predicted for a document of the feedback from the grades of the others. The document's
  /// own grade is taken out of the products, and put back afterwards.
  double predicted_without(std::size_t x) {
    const auto saved = std::tuple(count_, grades_, grade_squares_, products_);
    add_grade(x, -1.0);
    for (const std::size_t f : rated_by_) add_product(x, f, -1.0);
    double sum = 0.0;
    double deviation = 0.0;
    for (const std::size_t f : rated_by_) {
      const double here = cosine(f);
      sum += std::abs(here);
      if (!set_.matrix.is_unranked(x, f)) deviation += here * (set_.matrix.value(x, f) - viewers_[f].mean);
    }
    const double predicted = mean_grade() + (sum > 0.0 ? deviation / sum : 0.0);
    std::tie(count_, grades_, grade_squares_, products_) = saved;
    return predicted;
  }

 private:
  double rating(std::size_t x, std::size_t f) const { return set_.matrix.value(x, f) + offsets_[f]; }
  void add_grade(std::size_t x, double sign) {
    const double grade = feedback_grade(set_, x);
    count_ += sign;
    grades_ += sign * grade;
    grade_squares_ += sign * grade * grade;
  }
  void add_product(std::size_t x, std::size_t f, double sign) {
    if (!set_.matrix.is_unranked(x, f)) products_[f] += sign * feedback_grade(set_, x) * rating(x, f);
  }

  const TrainingSet& set_;
  std::vector<Viewer> viewers_;
  std::vector<std::size_t> documents_;
  std::vector<std::size_t> rated_by_;  // the features that count as viewers
  std::vector<double> offsets_;
  std::vector<double> products_;  // one per feature, as is the next
  std::vector<double> squares_;
  double count_ = 0.0;
  double grades_ = 0.0;
  double grade_squares_ = 0.0;
};

}  // namespace

Result<LinearRanker> vector_similarity(const TrainingSet& set, Viewers which) {
  TRY_VOID(rankboost::make_feedback(set));
  const Products products(set, which);
  const std::vector<Viewer>& viewers = products.viewers();
  double sum = 0.0;
  for (std::size_t f = 0; f < viewers.size(); ++f) sum += std::abs(products.cosine(f));
  double offset = products.mean_grade();
  std::vector<LinearTerm> terms;
  for (std::size_t f = 0; f < viewers.size(); ++f) {
    if (products.cosine(f) == 0.0) continue;
    const double weight = products.cosine(f) / sum;
    offset -= weight * viewers[f].mean;
    terms.push_back({static_cast<std::uint32_t>(f), weight, viewers[f].mean});  // no deviation if unrated
  }
  return LinearRanker(offset, std::move(terms), viewers.size());
}

std::vector<double> leave_one_out(const TrainingSet& set, std::vector<double> scores, Viewers which) {
  Products products(set, which);
  for (const std::size_t x : products.documents()) scores[x] = products.predicted_without(x);
  return scores;
}

}  // namespace metafuse::fusion::similarity
