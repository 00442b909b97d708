#pragma once

// Which lists are worth asking for first, and when they suffice: learned from judged and clicked queries
// (fusion/training/list_ordering.h), kept in the model file, and read by searches of domains with `select`.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"

namespace metafuse::fusion {

/// Valid once made: as many gains as lists, every list at most once, everything finite.
struct ListChoice {
  std::vector<std::uint64_t> order;  ///< indices of the model's rank features, the most useful first
  std::vector<double> gains;         ///< what each adds to those before it, as a share of a query's worth
  std::uint64_t queries = 0;         ///< how many queries it was learned from
  /// By number of lists: if the first result leads the second by so much, the first so many lists of the
  /// order suffice. A number is absent if they never do.
  std::map<std::uint64_t, double> settled;

  friend bool operator==(const ListChoice&, const ListChoice&) = default;
};

/// {"order":[...],"gains":[...],"queries","settled":{"lists":[...],"leads":[...]}}: the optional member
/// "choice" of a model file.
JsonObject to_json(const ListChoice& choice);

/// The order with each list's gain, one line per list, for people.
std::string choice_text(const ListChoice& choice, const std::vector<Feature>& features);

/// in:     features - how many the model has
/// errors: bad_data that names the member: of the wrong type, of different lengths, a list that does not
///         exist or occurs twice, numbers of lists that do not rise
Result<ListChoice> read_list_choice(const JsonObject& object, std::size_t features);

}  // namespace metafuse::fusion
