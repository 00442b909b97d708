#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/result.h"

namespace metafuse::lab::experiments::online {

/// A stream of examples to learn from, and examples to test on.
struct Sample {
  std::vector<double> train;  ///< examples x inputs
  std::vector<int> train_ranks;
  std::vector<double> test;
  std::vector<int> test_ranks;
  std::vector<int> ideal_test_ranks;  ///< the predictions of the best rule, if it is known
};

/// One experiment of Harrington 2003: how a trial is drawn, which settings are compared, and the
/// published figures.
struct Task {
  std::string name;
  std::string note;  ///< how the data differ from the paper's
  std::size_t inputs = 0;
  int ranks = 0;
  bool is_polynomial = false;  ///< kernel (x . x' + 1)^2
  std::vector<double> taus;
  std::vector<double> steps;
  std::size_t trials = 0;
  std::map<std::string, std::string> published;  ///< the paper's figures, by row name
  std::function<Sample(Random&)> draw;
};

/// Sec. 4.1: the unit square, five ranks, noise of standard deviation .125.
Task synthetic_task(std::size_t trials);

/// How the three ratings other than the target become an instance; the paper does not say.
struct CysticFibrosisForm {
  /// Sort the ratings, which forgets who gave which; otherwise they keep the file's order.
  bool is_sorted = false;
  /// Subtract 2 from the ranks 1 to 3, so that the middle is 0, as the paper does for EachMovie.
  bool is_centred = false;
};

/// Sec. 4.2 (b): four judges per pair, one of them the target.
/// errors: no_input or bad_data for DATA/cystic-fibrosis/cfquery.txt
Result<Task> cystic_fibrosis_task(const std::string& data, std::size_t trials, CysticFibrosisForm form);

/// Sec. 4.2 (c), with MovieLens 100K instead of EachMovie.
/// errors: no_input or bad_data for DATA/movielens-100k/u.data (or u.data.xz)
Result<Task> movielens_task(const std::string& data, std::size_t trials);

}  // namespace metafuse::lab::experiments::online
