#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace metafuse::service {

/// What fills a page: values by name, and parts that repeat.
struct View {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::pair<std::string, View>> parts;

  View& set(std::string_view name, std::string_view value) {
    values.emplace_back(name, value);
    return *this;
  }
  /// The view of one more repetition of a part. Valid until the next call.
  View& add(std::string_view name) {
    parts.emplace_back(std::string(name), View());
    return parts.back().second;
  }
};

/// The HTML of a page in service/pages/, every value escaped for the place where it stands.
///
/// in:  page - "search", "error", ...; a page that does not exist is our bug
std::string render_page(std::string_view page, const View& view);

/// An embedded file of service/pages/, or an empty view.
std::string_view page_file(std::string_view name);

}  // namespace metafuse::service
