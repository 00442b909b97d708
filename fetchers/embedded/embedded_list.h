#pragma once

#include "core/deadline.h"
#include "fetchers/embedded/embedded_search.h"
#include "fetchers/fetcher.h"
#include "fetchers/recording/har_archive.h"

namespace metafuse::fetchers {

/// Asks an engine that is no HTTP engine, in this thread.
///
/// in:  writer - where the exchange is recorded, or nullptr
/// out: fetched - its query is asked; the rest is set
void search_embedded(EmbeddedEngine& engine, const FetchOptions& options, const Clock& clock,
                     HarWriter* writer, FetchedList& fetched);

/// The same from a recording.
void replay_embedded(const HarArchive& archive, const FetchOptions& options, FetchedList& fetched);

}  // namespace metafuse::fetchers
