#include "service/search/indexed_pages.h"

#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "fetchers/engines/index/passage_source.h"

namespace metafuse::service {
namespace {

using Outcomes = std::vector<std::optional<Result<SharedPage>>>;

/// The files of the embedded indexes that the caller may search.
std::set<std::string> searched_indexes(const Exchange& exchange) {
  const LoadedEngines& engines = exchange.snapshot->engines;
  std::set<std::string> out;
  for (const LoadedDomain* domain : exchange.domains())
    for (const templates::SearchTemplate& row : domain->domain.templates)
      for (const std::string& engine : row.engines)
        if (const auto index = engines.indexes.find(engine);
            index != engines.indexes.end() && engines.may_ask(exchange.key, engine))
          out.insert(index->second);
  return out;
}

/// The documents among the addresses; no outcome for what no index holds.
Outcomes kept_pages(const Exchange& exchange, std::span<const std::string> urls, const Deadline& deadline) {
  Outcomes out(urls.size());
  for (const std::string& index : searched_indexes(exchange)) {
    const auto found = fetchers::kept_texts(index, urls, exchange.snapshot->config.tracking, deadline);
    // An index that cannot be read has no results either, so the address is of no document. One that is late
    // may hold it, and then the network must not be asked.
    const bool is_late = !found && found.error().code == Code::try_again;
    for (std::size_t i = 0; i < urls.size(); ++i) {
      if (out[i]) continue;
      if (is_late)
        out[i] = Result<SharedPage>(found.error());
      else if (found && (*found)[i])
        out[i] = Result<SharedPage>(
            std::make_shared<const ReadPage>(ReadPage{urls[i], (*found)[i]->title, (*found)[i]->text}));
    }
  }
  return out;
}

}  // namespace

std::vector<Result<SharedPage>> read_pages(PageReader& pages, const Exchange& exchange,
                                           std::span<const std::string> urls, fetchers::PageForm form,
                                           Duration timeout) {
  const Clock& clock = machine_clock();
  const Deadline deadline(clock, timeout);
  Outcomes outcomes = kept_pages(exchange, urls, deadline);
  std::vector<std::string> others;
  for (std::size_t i = 0; i < urls.size(); ++i)
    if (!outcomes[i]) others.push_back(urls[i]);
  std::vector<Result<SharedPage>> read;
  if (!others.empty()) read = pages.read(others, form, deadline.left(), exchange.sender());
  auto next = read.begin();
  std::vector<Result<SharedPage>> out;
  for (auto& outcome : outcomes) out.push_back(outcome ? std::move(*outcome) : std::move(*next++));
  return out;
}

}  // namespace metafuse::service
