#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace metafuse::service {

struct ViewPart;

/// What fills a page: values by name, and parts that repeat.
struct View {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<ViewPart> parts;

  View& set(std::string_view name, std::string_view value) {
    values.emplace_back(name, value);
    return *this;
  }
  /// The view of one more repetition of a part. Valid until the next call.
  View& add(std::string_view name);
};

/// One repetition of a part. (A pair with a view cannot stand in a view: clang wants pairs' members
/// complete.)
struct ViewPart {
  std::string name;
  View view;
};

inline View& View::add(std::string_view name) {
  parts.push_back({std::string(name), View()});
  return parts.back().view;
}

/// The HTML of a page in service/pages/, every value escaped for the place where it stands.
///
/// in:  page - "search", "error", ...; a page that does not exist is our bug
std::string render_page(std::string_view page, const View& view);

/// An embedded file of service/pages/, or an empty view.
std::string_view page_file(std::string_view name);

}  // namespace metafuse::service
