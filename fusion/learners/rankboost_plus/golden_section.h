#pragma once

namespace metafuse::fusion::rankboost_plus {

/// Where a convex function on [0, infinity) that falls at 0 is least, by a golden-section search.
///
/// out:  within 1e-9, or 64 when it falls beyond
/// cost: some 60 calls
template <class Function>
double least_place(const Function& function) {
  double high = 0.5;
  while (high < 64.0 && function(high) < function(0.5 * high)) high *= 2.0;
  constexpr double kGolden = 0.61803398874989485;
  double low = 0.0;
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  double at_left = function(left);
  double at_right = function(right);
  for (int i = 0; i < 60 && high - low > 1e-9; ++i) {
    if (at_left <= at_right) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - kGolden * (high - low);
      at_left = function(left);
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + kGolden * (high - low);
      at_right = function(right);
    }
  }
  return 0.5 * (low + high);
}

}  // namespace metafuse::fusion::rankboost_plus
