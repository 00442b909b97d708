#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fetchers/http/transport.h"
#include "fetchers/model/engine.h"
#include "fetchers/model/fetched_list.h"

// Answers of engines, and the ways in which engines change them.

namespace metafuse::test {

/// An engine with an answer that its definition reads.
struct RecordedCase {
  fetchers::Engine engine;
  std::string body;
  std::string url;
  RankedList list;  ///< what the definition reads

  const fetchers::AnswerRules& rules() const;
  fetchers::HttpAnswer answer() const;
  fetchers::FetchedList read(const fetchers::HttpAnswer& answer) const;
};

struct AnswerChange {
  std::string name;
  bool is_of_form = false;  ///< the results are still there
  std::function<std::optional<fetchers::HttpAnswer>(const RecordedCase&)> change;
  std::function<void(RankedList&)> change_list{};

  /// What the definition makes of the changed answer; nothing if the change does not apply to this engine, or
  /// makes no difference to it.
  std::optional<fetchers::FetchedList> applied(const RecordedCase& one) const;
};

/// Recorded answers with at least five results, one per engine.
///
/// in: folder - `search-responses` below METAFUSE_DATA
std::vector<RecordedCase> recorded_cases(const std::string& folder);
/// A JSON answer and a page of our own.
std::vector<RecordedCase> invented_cases();
std::vector<AnswerChange> answer_changes();

}  // namespace metafuse::test
