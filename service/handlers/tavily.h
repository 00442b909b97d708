#pragma once

#include "service/http/exchange.h"
#include "service/searcher.h"

namespace metafuse::service {

/// POST /search with JSON: Tavily's dialect.
HttpResponse tavily_search(Searcher& searcher, const Exchange& exchange);

}  // namespace metafuse::service
