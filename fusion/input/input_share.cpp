#include "fusion/input/input_share.h"

#include <algorithm>
#include <iterator>

#include "fusion/data/features.h"

namespace metafuse::fusion {

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end;
  }
  return fields;
}

std::vector<Feature> derived_of(const std::vector<Feature>& expected) {
  std::vector<Feature> derived;
  std::copy_if(expected.begin(), expected.end(), std::back_inserter(derived), is_derived);
  return derived;
}

}  // namespace metafuse::fusion
