#include "service/learning/domain_models.h"

#include <utility>

namespace metafuse::service {

Result<std::vector<DomainModels>> domain_models(std::span<const LoadedDomain* const> domains,
                                                ModelVersions& versions, Store& store) {
  std::vector<DomainModels> out;
  for (const LoadedDomain* domain : domains) {
    const std::string& name = domain->domain.name;
    TRY(auto state, versions.state(name));
    DomainModels models{name, std::move(state), std::nullopt};
    if (!models.state.challenger.empty()) {
      TRY(const auto counts, store.interleaving_counts(name, models.state.champion, models.state.challenger));
      models.score = interleaving_score(counts);
    }
    out.push_back(std::move(models));
  }
  return out;
}

}  // namespace metafuse::service
