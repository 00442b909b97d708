#include "lab/learners/adaboost_mh/histogram.h"

#include <algorithm>
#include <cstring>

#include "core/parallel.h"
#include "core/simd.h"

namespace metafuse::lab::adaboost_mh {
namespace {

/// The number of features summed at a time, so that an addition need not wait for the previous one to the
/// same cell.
constexpr std::size_t kFeatureGroup = 8;
constexpr std::size_t kMostCodes = 256;  // of a feature with one byte per document
using Lanes __attribute__((vector_size(32))) = double;

inline void load(Lanes& lanes, const double* numbers) {
  std::memcpy(&lanes, numbers, sizeof lanes);
}

inline void store(double* numbers, const Lanes& lanes) {
  std::memcpy(numbers, &lanes, sizeof lanes);
}

struct SummedColumns {
  const std::uint8_t* codes[kFeatureGroup];
  double* sums[kFeatureGroup];
};

/// What to add to the cells of the columns.
struct AddedRows {
  const std::uint32_t* documents;
  std::size_t count;
  const double* weights;
  const std::int8_t* signs;  // by document, for all documents; or null
  double factor;
};

/// Adds the weights of four labels at a time.
inline void add_lanes(const SummedColumns& columns, const AddedRows& rows, std::size_t stride) {
  for (std::size_t i = 0; i < rows.count; ++i) {
    const std::size_t document = rows.documents[i];
    Lanes weight;
    load(weight, rows.weights + document * stride);
    if (rows.signs != nullptr) weight *= rows.factor * rows.signs[document];
    for (std::size_t f = 0; f < kFeatureGroup; ++f) {
      double* sum = columns.sums[f] + columns.codes[f][document] * stride;
      Lanes cell;
      load(cell, sum);
      store(sum, cell + weight);
    }
  }
}

METAFUSE_CLONES void add_rows(const SummedColumns& columns, const AddedRows& rows, std::size_t stride) {
  if (stride == 4)
    add_lanes(columns, rows, 4);
  else
    add_lanes(columns, rows, stride);
}

/// The worth of every cut of a feature, by its index: the sum over labels of |total - 2 x the sum below
/// the cut|.
METAFUSE_CLONES double scan(const double* cells, std::size_t cuts, const double* totals, std::size_t stride,
                            double* worths) {
  alignas(64) double moved[kMostCodes * 4];
  // The last loop reads four worths at a time.
  std::fill(worths, worths + (cuts + 3) / 4 * 4, -1.0);
  std::fill(worths, worths + cuts, 0.0);
  for (std::size_t first = 0; first < stride; first += 4) {
    Lanes total;
    load(total, totals + first);
    Lanes below{};
    for (std::size_t index = 0; index < cuts; ++index) {
      Lanes cell;
      load(cell, cells + index * stride + first);
      below += cell;
      const Lanes difference = total - 2.0 * below;
      store(moved + 4 * index, difference < 0.0 ? -difference : difference);
    }
    for (std::size_t index = 0; index < cuts; ++index) {
      const double* four = moved + 4 * index;
      worths[index] = (((worths[index] + four[0]) + four[1]) + four[2]) + four[3];
    }
  }
  Lanes most = {-1.0, -1.0, -1.0, -1.0};
  for (std::size_t index = 0; index < cuts; index += 4) {
    Lanes four;
    load(four, worths + index);
    most = four > most ? four : most;
  }
  return std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
}

METAFUSE_CLONES void subtract(double* from, const double* what, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) from[i] -= what[i];
}

METAFUSE_CLONES void negate(double* numbers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = -numbers[i];
}

}  // namespace

struct Histogram::Addends {
  const SignedWeights& weights;
  std::span<const std::uint32_t> documents;
  std::span<const std::int8_t> signs = {};
  double factor = 1.0;
};

/// Finds the best cut of a histogram: first the greatest worth of each feature, then the first cut close to
/// the greatest of all.
class Histogram::Search {
 public:
  Search(const Histogram& histogram, std::span<const double> totals)
      : histogram_(histogram), totals_(totals), most_(histogram.feature_count(), -1.0) {}

  void look_at(std::size_t feature) {
    double worths[kMostCodes];
    most_[feature] = worths_of(feature, worths);
  }

  BestCut best() const {
    const double most = most_.empty() ? -1.0 : *std::max_element(most_.begin(), most_.end());
    if (most < 0.0) return {};
    const double enough = most - 1e-9 * most;
    std::size_t feature = 0;
    while (most_[feature] < enough) ++feature;
    double worths[kMostCodes];
    worths_of(feature, worths);
    std::size_t index = cuts(feature) - 1;
    while (worths[index] < enough) --index;
    return {true, {static_cast<std::uint32_t>(feature), static_cast<std::uint8_t>(index)}, worths[index]};
  }

 private:
  std::size_t cuts(std::size_t feature) const { return histogram_.codes(feature) - 1; }
  double worths_of(std::size_t feature, double* worths) const {
    if (cuts(feature) == 0) return -1.0;
    return scan(histogram_.cell(feature, 0), cuts(feature), totals_.data(), histogram_.stride(), worths);
  }

  const Histogram& histogram_;
  std::span<const double> totals_;
  std::vector<double> most_;
};

Histogram::Histogram(const CodedFeatures& features, std::size_t stride, unsigned threads)
    : features_(&features), stride_(stride), threads_(threads) {
  std::size_t cells = 0;
  for (std::size_t f = 0; f < features.feature_count(); ++f) {
    starts_.push_back(cells);
    cells += codes(f);
  }
  starts_.push_back(cells);
  sums_.resize(cells * (stride / 4));
}

void Histogram::for_each_group(std::size_t documents,
                               const std::function<void(std::size_t, std::size_t)>& work) const {
  // If there are fewer additions than this, starting a thread costs more than it saves.
  constexpr std::size_t kWorthThreads = 1U << 18;
  const bool is_worth = documents * feature_count() >= kWorthThreads;
  parallel_for((feature_count() + kFeatureGroup - 1) / kFeatureGroup, is_worth ? threads_ : 1,
               [&](std::size_t group) {
                 work(group * kFeatureGroup, std::min((group + 1) * kFeatureGroup, feature_count()));
               });
}

void Histogram::add(std::size_t first, std::size_t last, const Addends& addends) {
  // A group that is not full repeats its last feature; the extra sums are not used.
  std::vector<Four> unused(last - first < kFeatureGroup ? codes(last - 1) * (stride_ / 4) : 0);
  for (std::size_t label = 0; label < stride_; label += 4) {
    SummedColumns columns;
    for (std::size_t f = 0; f < kFeatureGroup; ++f) {
      columns.codes[f] = features_->bytes(std::min(first + f, last - 1));
      columns.sums[f] = (first + f < last ? cells(first + f) : unused[0].numbers) + label;
    }
    add_rows(columns,
             {addends.documents.data(), addends.documents.size(), addends.weights.values.data() + label,
              addends.signs.empty() ? nullptr : addends.signs.data(), addends.factor},
             stride_);
  }
}

BestCut Histogram::fill(const WeightedDocuments& part) {
  Search search(*this, part.totals);
  for_each_group(part.documents.size(), [&](std::size_t first, std::size_t last) {
    std::fill_n(cells(first), cell_count(first, last), 0.0);
    add(first, last, {part.weights, part.documents});
    for (std::size_t f = first; f < last; ++f) search.look_at(f);
  });
  return search.best();
}

std::pair<BestCut, BestCut> Histogram::split_off(Histogram& whole, const WeightedDocuments& part,
                                                 std::span<const double> rest_totals) {
  Search search(*this, part.totals);
  Search rest(whole, rest_totals);
  for_each_group(part.documents.size(), [&](std::size_t first, std::size_t last) {
    std::fill_n(cells(first), cell_count(first, last), 0.0);
    add(first, last, {part.weights, part.documents});
    subtract(whole.cells(first), cells(first), cell_count(first, last));
    for (std::size_t f = first; f < last; ++f) {
      search.look_at(f);
      rest.look_at(f);
    }
  });
  return {search.best(), rest.best()};
}

BestCut Histogram::change_signs(const WeightedDocuments& part, std::span<const std::int8_t> from,
                                std::span<const std::int8_t> to) {
  std::vector<std::uint32_t> kept(part.documents.size());
  std::vector<std::uint32_t> changed(part.documents.size());
  std::size_t kept_count = 0;
  std::size_t changed_count = 0;
  for (const std::uint32_t document : part.documents) {
    const bool is_kept = from[document] == to[document];
    kept[kept_count] = changed[changed_count] = document;
    kept_count += is_kept ? 1 : 0;
    changed_count += is_kept ? 0 : 1;
  }
  // If most signs change, negates all sums and then corrects those of the unchanged documents.
  const bool is_negated = changed_count > kept_count;
  const std::span<const std::uint32_t> fewer =
      is_negated ? std::span(kept).first(kept_count) : std::span(changed).first(changed_count);
  Search search(*this, part.totals);
  for_each_group(fewer.size(), [&](std::size_t first, std::size_t last) {
    if (is_negated) negate(cells(first), cell_count(first, last));
    add(first, last, {part.weights, fewer, to, 2.0});
    for (std::size_t f = first; f < last; ++f) search.look_at(f);
  });
  return search.best();
}

}  // namespace metafuse::lab::adaboost_mh
