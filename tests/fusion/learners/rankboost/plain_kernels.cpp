// The kernels compiled a second time, in their own namespace and without versions for wider SIMD.
#define METAFUSE_PLAIN_KERNELS
#define rankboost rankboost_plain
#include "fusion/learners/rankboost/kernels.cpp"
#undef rankboost

#include <vector>

#include "tests/fusion/learners/rankboost/plain_kernels.h"

namespace metafuse::test {

namespace plain = fusion::rankboost_plain;

double plain_sum(const double* numbers, std::size_t count) {
  return plain::sum_in_lanes(numbers, count);
}

double plain_potentials(const double* down, const double* up, const double* gain_and_cost, double old_factor,
                        float* before, std::int64_t* fixed, std::size_t count) {
  return plain::make_potentials({down, up, gain_and_cost[0], gain_and_cost[1]}, old_factor, before, fixed,
                                count);
}

std::int64_t plain_misordered_halves(const double* lower, std::size_t lower_documents, const double* upper,
                                     std::size_t upper_documents) {
  std::vector<double> lower_reaches(lower_documents + 3);
  std::vector<double> upper_reaches(upper_documents + 3);
  plain::set_tie_reaches(lower, lower_reaches.data(), lower_documents);
  plain::set_tie_reaches(upper, upper_reaches.data(), upper_documents);
  return plain::misordered_halves({lower, lower_reaches.data(), lower_documents},
                                  {upper, upper_reaches.data(), upper_documents});
}

void plain_separation(const double* factors, const std::uint16_t* classes, const std::uint8_t* order,
                      std::size_t count, double* state, double* added) {
  static_assert(sizeof(plain::PairFactors) == 2 * sizeof(double));
  plain::separate_several({reinterpret_cast<const plain::PairFactors*>(factors), classes, order, count},
                          *reinterpret_cast<plain::SeparationState*>(state), added);
}

}  // namespace metafuse::test
