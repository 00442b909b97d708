#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"

namespace metafuse::fetchers {

/// Scores texts that are in no index by what their words mean in an index with latent semantic indexing: the
/// cosine of each text's vector with the query's. Only the first 4 KiB of a text count.
///
/// in:     database - one for which is_lsi_index() holds
/// out:    one score per text, at least 0; 0 if the index knows none of its words, or none of the query's
/// errors: those of open_index(); bad_config: the index has no such vectors; bad_data: it is damaged;
///         try_again: the deadline has passed
/// cost:   one look-up per different word of all texts, and `dimensions` additions per word of each; 8 MiB
Result<std::vector<double>> score_meaning(const std::string& database, std::string_view query,
                                          std::span<const std::string_view> texts, const Deadline& deadline);

}  // namespace metafuse::fetchers
