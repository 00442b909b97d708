#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/query.h"
#include "experiments/home_pages/package_index.h"

namespace metafuse::experiments::home_pages {

/// A base query whose answer is known.
struct JudgedQuery {
  std::string id;
  BaseQuery base_query;  ///< TOPIC, and where known SECTION and KIND
  std::string answer;    ///< the URL of the home page
};

struct SampleOptions {
  std::size_t count = 1200;
  std::uint64_t seed = 1;
};

/// Base queries as a person might ask them who half remembers what a program is for.
///
/// A home page and one of its synopses are drawn. TOPIC is two of the synopsis' words; for about a third of
/// the queries one of them is said in the singular instead of the plural or the other way round, because
/// people do not remember the exact words. SECTION is one of the page's sections, in three of four queries.
/// KIND is what the tags call it: program, library, documentation, plugin, data. What would give the answer
/// away is never in a query: names of its packages, the words of its host, the last part of its path; and at
/// least one more word of the synopsis is left out.
///
/// out:  `count` queries of different home pages (fewer when the index has not enough), the same for a seed
/// and
///       an index on every machine
/// cost: O(count) draws
std::vector<JudgedQuery> sample_base_queries(const std::vector<HomePage>& pages,
                                             const SampleOptions& options);

/// The queries for `metafuse record`, one JSON object a line.
std::string to_query_lines(const std::vector<JudgedQuery>& queries);

/// A word in the plural when it looks like a singular, and the other way round.
std::string other_number(const std::string& word);

}  // namespace metafuse::experiments::home_pages
