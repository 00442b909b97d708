#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/search_request.h"

namespace metafuse::service {

/// An answer's lists as JSON, for a cache shared by several processes. It holds what is needed to fuse the
/// lists again, which every process does by its own model. Requires an answer without failed lists.
///
/// {"version":2,"query","lists":[{"template","engine","text","suggestions":[...],
///  "hits":[[url,title,snippet,published,thumbnail,key,language,score or null]...]}...]}
std::string answer_text(const SearchAnswer& answer);

/// Reads what answer_text() wrote and fuses it.
///
/// in:     request - the one that was cached
/// errors: bad_data for any other text, which a cache treats as a miss
Result<SearchAnswer> read_answer_text(std::string_view text, const LoadedDomain& domain,
                                      const SearchRequest& request);

}  // namespace metafuse::service
