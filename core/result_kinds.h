#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace metafuse {

/// What a result is: a page, or something with fields of its own.
enum class ResultKind { page, image, video, file, map, music, paper };

/// The fields of a result that only its kind has, by names of result_details(), in any order.
using Details = std::vector<std::pair<std::string, std::string>>;

struct ResultKindRow {
  ResultKind kind;
  std::string_view name;
  std::string_view searxng_template;  ///< with which SearXNG shows such results
};
/// All kinds, in the order of ResultKind.
std::span<const ResultKindRow> result_kinds();

std::string_view name_of(ResultKind kind);
std::optional<ResultKind> result_kind_named(std::string_view name);

/// How a detail's text is cleaned and written.
enum class DetailForm { text, link, number, seconds };

struct DetailRow {
  std::string_view name;
  DetailForm form;
  std::string_view searxng_name;  ///< in SearXNG's JSON; empty: not there
  std::string_view meaning;
};
/// All details that definitions may name.
std::span<const DetailRow> result_details();
/// nullptr when there is no such detail.
const DetailRow* find_detail(std::string_view name);

/// The detail of that name, or empty.
std::string_view detail(const Details& details, std::string_view name);

/// A length as SearXNG and people write it: "1:02:03" or "4:05". Empty for 0 and less.
std::string shown_length(double seconds);
/// Seconds of "1:02:03", "PT1H2M3S" or "245"; nullopt for other texts.
std::optional<double> length_in_seconds(std::string_view text);

}  // namespace metafuse
