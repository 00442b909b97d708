#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "fetchers/answers/readable_page.h"
#include "service/http/exchange.h"
#include "service/search/page_reader.h"

namespace metafuse::service {

/// Reads pages and documents for a caller.
///
/// A document of an embedded index is answered from the text that the index keeps, and neither the network
/// nor its file is asked; so documents can be read whose addresses nobody can reach. Its address may lack
/// tracking parameters, as results show it. That holds for the indexes that the caller may search: those of
/// the engines in the templates of its key's domains. All other addresses are read by `pages`.
///
/// in:     as PageReader::read()
/// out:    as PageReader::read(); of a document, `url` as it was asked for, and plain text in either form. An
///         address gets try_again if it may be in an index that did not answer in time.
/// cost:   up to kKeptTextBytes per document; else as PageReader::read()
std::vector<Result<SharedPage>> read_pages(PageReader& pages, const Exchange& exchange,
                                           std::span<const std::string> urls, fetchers::PageForm form,
                                           Duration timeout);

}  // namespace metafuse::service
