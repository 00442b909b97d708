#include "fusion/learners/rankboost/separation_kernels.h"

#include "core/clones.h"

namespace metafuse::fusion::rankboost {

void separate_two(const MovingDocuments& documents, SeparationState& state, double* added) {
  double cost = state.cost[0];
  double gain = state.gain[1];
  const double step = state.by_down[1][0];
  for (std::size_t k = 0; k < documents.count; ++k) {
    const PairFactors& document = documents.factors[documents.order[k]];
    added[k] = document.up * cost + document.down * gain;
    cost -= step * document.down;
    gain -= step * document.up;
  }
  state.cost[0] = cost;
  state.gain[1] = gain;
}

METAFUSE_CLONES void separate_several(const MovingDocuments& documents, SeparationState& state,
                                      double* added) {
  using Lanes __attribute__((vector_size(64), may_alias)) = double;
  Lanes cost = *reinterpret_cast<const Lanes*>(state.cost);
  Lanes gain = *reinterpret_cast<const Lanes*>(state.gain);
  for (std::size_t k = 0; k < documents.count; ++k) {
    const std::size_t row = documents.order[k];
    const PairFactors& document = documents.factors[row];
    const std::size_t place = documents.classes[row] % kKernelClasses;
    *reinterpret_cast<Lanes*>(state.cost) = cost;
    *reinterpret_cast<Lanes*>(state.gain) = gain;
    added[k] = document.up * state.cost[place] + document.down * state.gain[place];
    cost -= document.down * *reinterpret_cast<const Lanes*>(state.by_down[place]);
    gain -= document.up * *reinterpret_cast<const Lanes*>(state.by_up[place]);
  }
  *reinterpret_cast<Lanes*>(state.cost) = cost;
  *reinterpret_cast<Lanes*>(state.gain) = gain;
}

}  // namespace metafuse::fusion::rankboost
