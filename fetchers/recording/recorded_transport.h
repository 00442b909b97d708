#pragma once

#include <memory>

#include "fetchers/http/transport.h"
#include "fetchers/recording/har_archive.h"

namespace metafuse::fetchers {

/// Sends through `inner` and records. The writer must outlive it.
std::unique_ptr<Transport> make_recording_transport(std::unique_ptr<Transport> inner, HarWriter& writer);
/// Answers from an archive, which must outlive it; what is not there fails with not_recorded and names the
/// request.
std::unique_ptr<Transport> make_replay_transport(const HarArchive& archive);

}  // namespace metafuse::fetchers
