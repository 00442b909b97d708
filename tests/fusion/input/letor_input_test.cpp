#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/data/training_set.h"
#include "fusion/input/growing_column.h"
#include "fusion/input/input_files.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// More than one block of lines. Some features have few values, others many, and some cells are missing.
std::string letor_text() {
  Random random(5);
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += std::to_string(random.below(3)) + " qid:" + std::to_string(i / 25);
    for (int j = 1; j <= 12; ++j) {
      if (random.below(4) == 0) continue;
      text += ' ' + std::to_string(j) + ':';
      const auto value = random.below(j < 6 ? 200 : 1'000'000);
      text += random.below(20) == 0 ? "NULL" : std::to_string(static_cast<double>(value) / 64);
    }
    text += i % 2 == 0 ? " # d" + std::to_string(i * 7919 % 1000) + "-" + std::to_string(i) + "\n" : "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("Any number of reading threads gives the same training set", "[fusion][letor_input]") {
  const test::TemporaryFolder folder;
  TrainingInput input;
  input.letor = {folder.write("train", letor_text())};
  for (const bool is_absent_unranked : {false, true}) {
    input.is_absent_unranked = is_absent_unranked;
    input.threads = 1;
    const auto alone = read_training_set(input);
    REQUIRE(alone.has_value());
    REQUIRE(alone->matrix.document_count() == 20'000);
    for (const unsigned threads : {2U, 3U}) {
      input.threads = threads;
      const auto together = read_training_set(input);
      REQUIRE(together.has_value());
      CHECK(fingerprint(*together) == fingerprint(*alone));
      CHECK(together->documents == alone->documents);
      CHECK(together->grades == alone->grades);
      for (std::size_t i = 0; i < 12; ++i) {
        REQUIRE(together->matrix.column(i)->values == alone->matrix.column(i)->values);
        REQUIRE(together->matrix.column(i)->bytes == alone->matrix.column(i)->bytes);
        REQUIRE(together->matrix.column(i)->words == alone->matrix.column(i)->words);
      }
    }
  }
}

TEST_CASE("Scattered lines of a query give the same training set", "[fusion][letor_input]") {
  const test::TemporaryFolder folder;
  const std::string text = letor_text();
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) + 1 - at));
  Random(9).shuffle(lines);
  std::string shuffled;
  for (const std::string& line : lines) shuffled += line;
  TrainingInput input;
  input.letor = {folder.write("train", text)};
  const auto as_written = read_training_set(input);
  REQUIRE(as_written.has_value());
  input.letor = {folder.write("shuffled", shuffled)};
  for (const unsigned threads : {1U, 2U}) {
    input.threads = threads;
    const auto mixed = read_training_set(input);
    REQUIRE(mixed.has_value());
    CHECK(fingerprint(*mixed) == fingerprint(*as_written));
    CHECK(mixed->documents == as_written->documents);
    CHECK(mixed->grades == as_written->grades);
  }
}

TEST_CASE("A bad line far into a file is named by its number with any number of threads",
          "[fusion][letor_input]") {
  const test::TemporaryFolder folder;
  TrainingInput input;
  input.letor = {folder.write("train", letor_text() + "1 qid:9 1:x\n1 qid:9 1:y\n")};
  for (const unsigned threads : {1U, 2U}) {
    input.threads = threads;
    const auto read = read_training_set(input);
    REQUIRE(read.has_error());
    CHECK(read.error().text.find("train:20001: ") != std::string::npos);
  }
}

TEST_CASE("Values chosen for a hash without a secret are told apart as fast as others",
          "[fusion][letor_input]") {
  // Times kOdd, they are 1, 2, 3 and so on, whose high bits are all 0. With that product as the hash, this
  // takes longer than a test may.
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
  std::uint64_t inverse = kOdd;
  for (int step = 0; step < 6; ++step) inverse *= 2 - kOdd * inverse;
  REQUIRE(kOdd * inverse == 1);
  GrowingColumn column;
  std::size_t rows = 0;
  for (std::uint64_t i = 1; i < 1'000'000; ++i)
    if (const auto value = std::bit_cast<double>(i * inverse); std::isfinite(value))
      column.set(rows++, value);
  CHECK(column.raw(rows).values.size() == rows + 1);
}
