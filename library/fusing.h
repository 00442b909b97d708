#pragma once

// What fusing the lists of one query and fusing whole runs share: what a caller may tell them, and the run
// that comes out.

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel.h"
#include "fusion/unsupervised/fuse_runs.h"
#include "library/handles.h"

namespace metafuse::library {

/// Of a document whose list has no scores: no method that looks at scores sees it (check_scores), and a model
/// whose features are scores takes it as unranked.
constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

/// What every way of fusing may be told.
struct FuseSettings {
  fusion::FusionOptions method;
  std::size_t depth = 0;
  std::size_t limit = 0;
  unsigned threads = hardware_threads();
  int relevance_level = 1;
  std::string tag = "metafuse";
  bool may_be_missing = false;
};

using DeclareSettings = void (*)(fusion::OptionTable&, FuseSettings&);

void declare_limit(fusion::OptionTable& table, FuseSettings& settings);
void declare_method(fusion::OptionTable& table, FuseSettings& settings);
void declare_output(fusion::OptionTable& table, FuseSettings& settings);

/// What a caller tells, of the options that are declared.
/// errors: usage: an option that is not declared; a value out of range
Result<FuseSettings> read_settings(const metafuse_option* options, std::size_t count,
                                   std::initializer_list<DeclareSettings> declared);

/// errors: usage, with near names
Result<const fusion::FusionMethod*> method_named(const char* name);

/// Whether the method can work with lists that have no scores.
///
/// errors: usage: it cannot
Result<void> check_scores(const fusion::FusionMethod& method, const fusion::FusionOptions& options,
                          bool has_scores, std::string_view list);

/// The best documents as a topic of views into the query.
///
/// in:  order - documents, best first
///      limit - how many of them at most, 0 for all
evaluation::RunTopic fused_topic(std::string_view topic, const fusion::QueryLists& query,
                                 const std::vector<double>& scores, const std::vector<std::uint32_t>& order,
                                 std::size_t limit);

/// Topics, ascending, as a run that owns its texts.
metafuse_run* owned_run(const std::string& name, std::vector<evaluation::RunTopic> topics);

}  // namespace metafuse::library
