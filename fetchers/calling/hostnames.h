#pragma once

#include "core/query.h"
#include "fetchers/model/hostname_rules.h"

namespace metafuse::fetchers {

/// Removes hits, replaces hosts, and moves hits of high priority to the front of the list and those of low
/// priority to its end.
///
/// in:     rules - checked patterns
void apply_hostnames(RankedList& list, const HostnameRules& rules);

}  // namespace metafuse::fetchers
