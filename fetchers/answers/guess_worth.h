#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// How well values that stand at one path in all items of a list fit each part of a result: by what the keys
// of the path say, and by what the values look like. A worth of 0 means that they do not fit.

namespace metafuse::fetchers {

/// The values at one path in the items of a list.
struct Part {
  std::vector<std::string> keys;
  std::vector<std::string> values;
  std::vector<std::size_t> items;  ///< the number of the item that has each value
  bool is_chosen = false;          ///< the first address was chosen among several values of an item
};

/// "$/a/b" of a part.
std::string path_of(const Part& part);
/// A key in lower case without prefixes, - and _.
std::string plain_key(std::string_view key);
bool is_address(std::string_view text);
/// Whether a key says that what is below it leads to other pages than the result.
bool leads_elsewhere(std::string_view key);
bool holds_markup(const std::string& text);

/// The share of items whose value `holds` accepts.
template <class Holds>
double share_of(const Part& part, std::size_t items, const Holds& holds) {
  return static_cast<double>(std::count_if(part.values.begin(), part.values.end(), holds)) /
         static_cast<double>(std::max<std::size_t>(items, 1));
}

double url_worth(const Part& part, std::size_t items);
double title_worth(const Part& part, std::size_t items);
/// What the keys alone say about a title.
double title_key_worth(const Part& part);
double text_worth(const Part& part, std::size_t items);
double date_worth(const Part& part, std::size_t items);
double language_worth(const Part& part, std::size_t items);
double picture_worth(const Part& part, std::size_t items);
/// Of a value that identifies an item, and from which its URL may be built.
double id_worth(const Part& part, std::size_t items);

// If no key says what the texts are, their appearance decides: titles are short, distinct, and not codes.

double title_looks(const Part& part, std::size_t items);
double text_looks(const Part& part, std::size_t items);

}  // namespace metafuse::fetchers
