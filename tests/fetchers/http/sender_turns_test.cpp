#include "fetchers/http/sender_turns.h"

#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace metafuse;
using namespace metafuse::fetchers;
using std::chrono::milliseconds;

namespace {

constexpr TimePoint kBegin{std::chrono::hours(1)};

/// The items that are taken at a moment, in their order.
std::string taken(SenderTurns<char>& turns, int connections, TimePoint now = kBegin) {
  std::string out;
  while (const auto item = turns.take(connections, now)) out += *item;
  return out;
}

void push(SenderTurns<char>& turns, const std::string& sender, const std::string& items,
          TimePoint now = kBegin) {
  for (const char item : items) turns.push(sender, item, now);
}

}  // namespace

TEST_CASE("One sender's requests start in their order and may have all connections",
          "[fetchers][transport][limits]") {
  SenderTurns<char> turns;
  push(turns, "a", "123456");
  CHECK(taken(turns, 4) == "1234");
  CHECK(turns.waiting_of("a") == 2);
  turns.end("a");
  CHECK(taken(turns, 4) == "5");
  CHECK(turns.has_waiting());
}

TEST_CASE("The sender with the fewest connections is next, before those who wait longer",
          "[fetchers][transport][limits]") {
  SenderTurns<char> turns;
  push(turns, "crowd", "123456");
  CHECK(taken(turns, 2) == "12");
  push(turns, "late", "ab");
  turns.end("crowd");
  CHECK(taken(turns, 2) == "a");
  turns.end("late");
  CHECK(taken(turns, 2) == "b");
  turns.end("late");
  CHECK(taken(turns, 3) == "3");
}

TEST_CASE("While several senders use an engine, a quarter of its connections is kept free of any single one",
          "[fetchers][transport][limits]") {
  SenderTurns<char> turns;
  push(turns, "a", "x");
  push(turns, "crowd", "123456789");
  CHECK(taken(turns, 8) == "x123456");
  CHECK(turns.next_turn(8, kBegin) == kBegin + milliseconds(1000));
  push(turns, "b", "y", kBegin + milliseconds(500));
  CHECK(taken(turns, 8, kBegin + milliseconds(500)) == "y");
  turns.end("a");
  CHECK(taken(turns, 8, kBegin + milliseconds(1499)) == "");
  CHECK(taken(turns, 8, kBegin + milliseconds(1500)) == "7");  // the others seem to be gone
  SECTION("but a single connection is for all") {
    SenderTurns<char> narrow;
    push(narrow, "a", "1");
    push(narrow, "b", "2");
    CHECK(taken(narrow, 1) == "1");
    CHECK(narrow.next_turn(1, kBegin) == TimePoint::max());
    narrow.end("a");
    CHECK(narrow.next_turn(1, kBegin) == kBegin);
    CHECK(taken(narrow, 1) == "2");
  }
}

TEST_CASE("Requests that wait too long leave the line, each sender's from its front",
          "[fetchers][transport][limits]") {
  SenderTurns<char> turns;
  push(turns, "a", "1a2");
  push(turns, "b", "34");
  push(turns, "c", "c");
  const auto late = turns.take_late([](char item) { return item < 'a'; });
  CHECK(std::string(late.begin(), late.end()) == "341");
  std::string left;
  for (const char* item : turns.first_of_each()) left += *item;
  CHECK(left.size() == 2);
  CHECK(left.find_first_not_of("ac") == std::string::npos);
  CHECK(turns.waiting_of("a") == 2);
  CHECK(turns.waiting_of("b") == 0);
}
