#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/model/engine.h"

// Repairs the rules of a definition whose engine now answers in another form. Results that the engine used to
// give for a query show where their addresses, titles and texts now are. A person decides about the outcome.

namespace metafuse::fetchers {

struct Repair {
  AnswerRules rules;
  RankedList list;           ///< what the rules read from the new answer
  std::size_t examples = 0;  ///< results that were known
  std::size_t found = 0;     ///< those of them that `list` has, with the same titles
};

/// Rules that find the known results in a new answer to the same query. They differ from the old rules only
/// where these no longer work.
///
/// in:     examples - results of this query with address and title, from before
/// errors: bad_data: the answer cannot be parsed; fewer than two of the examples, or less than a third, can
///         be found in it, so that rules would be a guess; the old rules still find them all
/// cost:   some hundred parses of the answer
Result<Repair> repaired_rules(const AnswerRules& old, std::string_view body, const AnswerContext& context,
                              std::span<const Hit> examples);

/// Where parts may be, by how many of the examples stand there, the best first.
struct RuleCandidates {
  std::vector<std::string> results;
  std::vector<std::string> urls;
  std::vector<std::string> formats;  ///< for AnswerRules::url_format
  std::vector<std::string> titles;
  std::vector<std::string> texts;
};

/// Texts of an example in a form in which they can be looked for.
struct ExampleTexts {
  std::string key;                                       ///< of the address
  std::string title;                                     ///< letters and digits only
  std::string text;                                      ///< the beginning, likewise
  std::vector<std::pair<std::string, std::string>> ids;  ///< a format with one hole {}, and what fills it
};

/// Letters and digits in lower case, so that markup, entities and blanks do not matter.
std::string plain_letters(std::string_view text);
/// The key of an address as it stands in an answer; empty if it is none.
std::string key_of_address(std::string_view address, const AnswerRules& rules, const AnswerContext& context);

// repair_candidates.cpp
RuleCandidates candidates_in_tree(const AnswerRules& old, std::string_view body, const AnswerContext& context,
                                  std::span<const ExampleTexts> examples);
RuleCandidates candidates_in_page(const AnswerRules& old, std::string_view body, const AnswerContext& context,
                                  std::span<const ExampleTexts> examples);

/// The keys of a definition that differ, as lines "- KEY: VALUE" and "+ KEY: VALUE".
std::string rules_difference(const AnswerRules& before, const AnswerRules& after);
/// The keys of a definition that differ, with their new values; empty for a key to be removed.
std::vector<std::pair<std::string, std::string>> changed_keys(const AnswerRules& before,
                                                              const AnswerRules& after);

}  // namespace metafuse::fetchers
