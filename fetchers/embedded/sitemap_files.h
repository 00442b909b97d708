#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace metafuse::fetchers {

/// A file that holds one document, and what is known of it from elsewhere.
struct SourceFile {
  std::string path;
  std::string url;
  std::string date;  ///< empty when unknown
};

/// The pages that a sitemap lists, as the files of a copy of the site around it: below the sitemap's folder,
/// the URL's path, with index.html for a folder and with .html where that is what exists. A sitemap index is
/// followed into the sitemaps beside it.
///
/// out:    left_out - pages without a file, as "URL: why"
/// errors: no_input; bad_data: no XML, no sitemap, sitemaps that hold each other more than 4 deep
/// source: sitemaps.org, protocol 0.9
Result<std::vector<SourceFile>> files_of_sitemap(const std::string& path, std::vector<std::string>& left_out);

}  // namespace metafuse::fetchers
