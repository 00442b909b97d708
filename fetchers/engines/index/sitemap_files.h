#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace metafuse::fetchers {

/// A file that holds one document, with what the sitemap says about it.
struct SourceFile {
  std::string path;
  std::string url;
  std::string date;     ///< empty when unknown
  std::string stamp{};  ///< see stamp_of()
};

/// The pages listed in a sitemap, as files in a copy of the site around it. A page's file is found below the
/// sitemap's folder by the path of its URL, with index.html appended for a folder, or with .html if that is
/// what exists. A sitemap index is followed into the sitemaps beside it, once into each.
///
/// out:    left_out - pages without a file, as "URL: why"
/// errors: no_input; bad_data: not XML, not a sitemap, or sitemap indexes nested more than 4 deep
/// cost:   O(bytes of the sitemaps)
/// source: sitemaps.org, protocol 0.9
Result<std::vector<SourceFile>> files_of_sitemap(const std::string& path, std::vector<std::string>& left_out);

}  // namespace metafuse::fetchers
