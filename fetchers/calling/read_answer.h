#pragma once

// From an engine's answer to its list, or to the reason why it holds none.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fetchers/answers/work_end.h"
#include "fetchers/calling/fetcher.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

FetchedList failed(Failure failure, std::string message, Blame blame = Blame::nobody,
                   std::optional<Duration> retry_after = {});

/// The engine, if it or the connection to it caused the failure.
Blame blame_for(const HttpAnswer& answer);

/// The pause that an answer asks for because there were too many requests.
std::optional<Duration> wished_pause(const HttpAnswer& answer);

bool is_page(AnswerRules::Format format, const HttpAnswer& answer);

/// What an answer without a list says, without secrets: ": " and its first words; empty if it says nothing.
std::string said(const HttpAccess& access, const HttpAnswer& answer);

/// Hides the secrets of an engine's definition in a text that repeats what the engine said.
void hide_secrets(std::string& text, const HttpAccess& access);

/// Judges an answer by its status: the reason why it holds no list, or nullopt if it should be parsed.
std::optional<FetchedList> judged(const HttpAccess& access, const HttpAnswer& answer, bool is_html);

/// What is known of a request when its answer is read.
struct AnswerOf {
  std::string language{};          ///< the value of {lang}
  std::vector<std::string> ids{};  ///< from an earlier step; the results are put into their order
  WorkEnd end{};                   ///< when parsing must end; an answer that takes longer is bad_answer
  std::string query{};
  std::int64_t now = 0;  ///< seconds since 1970; the answer's own `Date` counts before it
};

/// Checks the status, recognises pages that ask for a human, and parses the answer.
///
/// out:    the list or the reason why there is none; the query and the time are left to the caller
FetchedList read_answer(const Engine& engine, const HttpAccess& access, const HttpAnswer& answer,
                        AnswerOf of);

}  // namespace metafuse::fetchers
