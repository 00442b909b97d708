#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/keyed_hash.h"
#include "fetchers/model/fetched_list.h"

// What an engine's answers look like, and in which ways one answer differs from those before it. A site that
// was redesigned, or that sends a page of its own instead of results, often still gives a readable answer:
// only its shape tells.

namespace metafuse::fetchers {

/// A way in which an answer differs from the engine's earlier ones.
enum class Oddity : std::uint8_t {
  empty,           ///< no results, although other engines find many or the engine usually does
  known_empty,     ///< no results for a query that had some
  few,             ///< far fewer results
  untitled,        ///< more results without a title
  textless,        ///< more results without a text, or much shorter texts
  odd_titles,      ///< titles of another length, or all the same
  odd_links,       ///< links to other hosts, or of another length
  other_language,  ///< texts in another language
  off_topic,       ///< results that do not contain the words of the query
  repeated,        ///< the results of an earlier, different query
  apart,           ///< nothing that other engines find, too
  refused,         ///< a page for humans, a refusal, 401, 403, 429
  unreadable,      ///< nothing where the definition looks
  gone,            ///< no connection, or an HTTP error
  slow,            ///< no answer in time, or a much later one
  any              ///< at least one of the above
};
inline constexpr std::size_t kOddities = static_cast<std::size_t>(Oddity::any) + 1;

/// A few words for people, such as "no results".
std::string_view words_of(Oddity oddity);

class Oddities {
 public:
  void set(Oddity oddity) {
    bits_.set(static_cast<std::size_t>(oddity));
    bits_.set(static_cast<std::size_t>(Oddity::any));
  }
  bool has(Oddity oddity) const { return bits_.test(static_cast<std::size_t>(oddity)); }
  bool has_any() const { return has(Oddity::any); }

 private:
  std::bitset<kOddities> bits_;
};

/// What is known about an engine's health; `/engines` and metrics print these names.
enum class HealthState : std::uint8_t { works, empty, blocked, changed, slow, gone };
inline constexpr std::size_t kHealthStates = static_cast<std::size_t>(HealthState::gone) + 1;

std::string_view name_of(HealthState state);
std::optional<HealthState> health_state_of(std::string_view name);
/// The state that an oddity is a sign of.
HealthState state_behind(Oddity oddity);

/// The figures of an answer that are compared with those of earlier answers.
enum class Figure : std::uint8_t {
  results,
  with_title,   ///< share of the results
  with_text,    ///< share of the results
  title_bytes,  ///< mean
  text_bytes,   ///< mean
  distinct,     ///< share of the titles that occur once
  url_bytes,    ///< mean
  top_host,     ///< share of the results from the commonest host
  on_topic,     ///< share of the results that contain a word of the query
  shared,       ///< share of the results that other lists of the same search have, too
  seconds
};
inline constexpr std::size_t kFigures = static_cast<std::size_t>(Figure::seconds) + 1;

struct AnswerShape {
  Failure failure = Failure::none;
  int status = 0;                            ///< of HTTP, if the failure is one
  bool is_engines_fault = false;             ///< the failure; otherwise a query's or our own
  std::optional<double> values[kFigures]{};  ///< nothing where an answer cannot tell
  std::vector<std::string> hosts{};          ///< of each result
  std::vector<std::string> keys{};           ///< of the first results
  std::string language{};                    ///< of the texts; empty if it is not clear

  std::optional<double> value(Figure figure) const { return values[static_cast<std::size_t>(figure)]; }
  void set(Figure figure, double value) { values[static_cast<std::size_t>(figure)] = value; }
  std::size_t results() const { return static_cast<std::size_t>(value(Figure::results).value_or(0)); }
};

/// What the other engines of the same search found.
enum class Others : std::uint8_t { nobody, little, much };

/// What all engines of one search found, so that each list is compared with those of the other engines
/// without going through them again. Refers to the lists, which must outlive it.
class SearchFinds {
 public:
  /// Nobody was asked.
  SearchFinds() = default;
  /// cost:   O(hits of the lists)
  explicit SearchFinds(std::span<const FetchedList> lists);

  /// Whether at least half of the other engines have results.
  Others besides(std::string_view engine) const;
  /// Whether another engine found a key.
  bool has_besides(std::string_view engine, std::string_view key) const;
  /// How many different keys the other engines found.
  std::size_t keys_besides(std::string_view engine) const;

 private:
  struct Finder {
    std::string_view engine;  ///< the first that found the key
    bool is_only_one = true;
  };
  struct EngineFinds {
    std::size_t own_keys = 0;  ///< that no other engine found
    bool has_answered = false, has_found = false;
  };

  TextViewMap<Finder> keys_;
  TextViewMap<EngineFinds> engines_;
  std::size_t answered_ = 0, found_ = 0;  ///< engines
};

/// in:     query - as it was sent, for Figure::on_topic; finds - of the same search
/// cost:   O(bytes of the list)
AnswerShape shape_of(const FetchedList& list, std::string_view query, const SearchFinds& finds);

}  // namespace metafuse::fetchers
