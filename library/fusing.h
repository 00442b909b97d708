#pragma once

// What fusing the lists of one query and fusing whole runs have in common: the options that a caller may
// give, and the resulting run.

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

/// The score of a document whose list has no scores. Methods that use scores never see it, because
/// check_scores() refuses such lists; a model with score features treats the document as unranked.
constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

/// The settings that any kind of fusing may take.
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

/// Reads the caller's options into settings; only the declared options are allowed.
/// errors: usage: an option that is not declared; a value out of range
Result<FuseSettings> read_settings(const metafuse_option* options, std::size_t count,
                                   std::initializer_list<DeclareSettings> declared);

/// errors: usage, suggesting similar names
Result<const fusion::FusionMethod*> method_named(const char* name);

/// Checks that the method can work with lists without scores, if there are such.
///
/// errors: usage: it needs scores
Result<void> check_scores(const fusion::FusionMethod& method, const fusion::FusionOptions& options,
                          bool has_scores, std::string_view list);

/// The best documents of a query as a topic, whose views point into the query.
///
/// in:  order - documents, best first
///      limit - how many documents at most; 0: all
evaluation::RunTopic fused_topic(std::string_view topic, const fusion::QueryLists& query,
                                 const std::vector<double>& scores, const std::vector<std::uint32_t>& order,
                                 std::size_t limit);

/// A run that owns its texts, made of topics in ascending order.
metafuse_run* owned_run(const std::string& name, std::vector<evaluation::RunTopic> topics);

}  // namespace metafuse::library
