#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/data/column_file.h"
#include "fusion/data/thresholds.h"
#include "fusion/data/training_set.h"
#include "fusion/input/input_files.h"
#include "tests/support/full_disk.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// Documents with and without ids, features with few and with many values, missing cells, and a feature that
/// only the last lines name. Some documents are equal or differ only in their grade.
std::string wide_letor_text() {
  Random random(11);
  std::string text;
  for (int i = 0; i < 6'000; ++i) {
    std::string line = " qid:" + std::to_string(i / 20);
    for (int j = 1; j <= 9; ++j) {
      if (random.below(5) == 0) continue;
      line += ' ' + std::to_string(j) + ':';
      const auto value = random.below(j < 4 ? 3 : 1'000'000);
      line += random.below(20) == 0 ? "NULL" : std::to_string(static_cast<double>(value) / 64);
    }
    if (i >= 5'900) line += " 12:-" + std::to_string(i);
    text += std::to_string(random.below(3)) + line + (i % 2 == 0 ? " # d" + std::to_string(i) + "\n" : "\n");
    if (i % 50 == 1) text += "1" + line + "\n0" + line + "\n";
  }
  return text;
}

std::string shuffled_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) + 1 - at));
  Random(9).shuffle(lines);
  std::string shuffled;
  for (const std::string& line : lines) shuffled += line;
  return shuffled;
}

MemoryLimit small_parts(const test::TemporaryFolder& folder) {
  MemoryLimit limit;
  limit.bytes = std::size_t{256} << 20;
  limit.folder = folder.path();
  limit.bytes_per_document = 100;
  limit.part_bytes = 100'000;
  return limit;
}

void check_same(const TrainingSet& found, const TrainingSet& wanted) {
  CHECK(fingerprint(found) == fingerprint(wanted));
  CHECK(found.documents == wanted.documents);
  CHECK(found.grades == wanted.grades);
  REQUIRE(found.matrix.feature_count() == wanted.matrix.feature_count());
  for (std::size_t i = 0; i < wanted.matrix.feature_count(); ++i) {
    CHECK(found.matrix.column(i)->values == wanted.matrix.column(i)->values);
    CHECK(found.matrix.column(i)->bytes == wanted.matrix.column(i)->bytes);
    CHECK(found.matrix.column(i)->words == wanted.matrix.column(i)->words);
  }
}

}  // namespace

TEST_CASE("Columns in a file equal those in memory for any order of lines and any threads",
          "[fusion][memory_limit]") {
  const test::TemporaryFolder folder;
  const std::string text = wide_letor_text();
  TrainingInput input;
  input.letor = {folder.write("train", text)};
  const std::string shuffled = folder.write("shuffled", shuffled_lines(text));
  for (const bool is_absent_unranked : {false, true}) {
    input.is_absent_unranked = is_absent_unranked;
    input.limit.reset();
    input.letor = {folder.path("train")};
    const auto in_memory = read_training_set(input);
    REQUIRE(in_memory.has_value());
    CHECK(in_memory->matrix.file() == nullptr);
    input.limit = small_parts(folder);
    for (const std::string& file : {folder.path("train"), shuffled})
      for (const unsigned threads : {1U, 3U}) {
        input.letor = {file};
        input.threads = threads;
        const auto in_file = read_training_set(input);
        REQUIRE(in_file.has_value());
        CHECK(in_file->matrix.file() != nullptr);
        check_same(*in_file, *in_memory);
      }
  }
}

TEST_CASE("Thresholds of columns in a file equal those of columns in memory", "[fusion][memory_limit]") {
  const test::TemporaryFolder folder;
  TrainingInput input;
  input.letor = {folder.write("train", wide_letor_text())};
  const auto in_memory = read_training_set(input);
  input.limit = small_parts(folder);
  const auto in_file = read_training_set(input);
  REQUIRE(in_memory.has_value());
  REQUIRE(in_file.has_value());
  const std::vector<std::uint8_t> is_counted = [&] {
    std::vector<std::uint8_t> all(in_memory->grades.size(), 1);
    for (std::size_t i = 0; i < all.size(); i += 7) all[i] = 0;
    return all;
  }();
  for (const std::size_t most : {std::size_t{2}, std::size_t{255}, ThresholdOptions::kAll}) {
    const auto found = CodedFeatures::make(in_file->matrix, {most}, is_counted);
    REQUIRE(found.has_value());
    CHECK(found->is_in_file());
    const CodedFeatures wanted(in_memory->matrix, {most}, is_counted);
    for (std::size_t feature = 0; feature < wanted.feature_count(); ++feature) {
      CHECK(found->thresholds(feature).values == wanted.thresholds(feature).values);
      REQUIRE(found->is_byte(feature) == wanted.is_byte(feature));
      for (std::size_t row = 0; row < wanted.document_count(); ++row)
        if (found->code(row, feature) != wanted.code(row, feature)) FAIL("row " << row);
    }
  }
}

TEST_CASE("Documents that exceed a memory limit are refused with the memory they need",
          "[fusion][memory_limit]") {
  const test::TemporaryFolder folder;
  TrainingInput input;
  input.letor = {folder.write("train", wide_letor_text())};
  input.limit = small_parts(folder);
  input.limit->bytes = std::size_t{32} << 20;
  const auto refused = read_training_set(input);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code == Code::usage);
  CHECK(refused.error().text.find("--memory-limit: training on 128 documents") == 0);
  CHECK(refused.error().text.find("33 MiB besides their columns, more than 32 MiB") != std::string::npos);
}

TEST_CASE("The weights of many grades' pairs and given pairs count against the memory limit",
          "[fusion][memory_limit]") {
  const test::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 1'500; ++i)
    text += std::to_string(i) + ".5 qid:1 1:" + std::to_string(i % 7) + " # d" + std::to_string(i) + "\n";
  TrainingInput input;
  input.letor = {folder.write("train", text)};
  input.limit = small_parts(folder);
  input.limit->bytes = std::size_t{64} << 20;
  const auto refused = read_training_set(input);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code == Code::usage);
  CHECK(refused.error().text.find("--memory-limit: training on 1500 documents and all pairs of their grades "
                                  "needs 101 MiB") == 0);
  input.limit->bytes = std::size_t{101} << 20;
  CHECK(read_training_set(input).has_value());
  input.limit->bytes = std::size_t{33} << 20;
  input.feedback.is_bipartite = true;
  CHECK(read_training_set(input).has_value());
  std::string pairs;
  for (int i = 1; i <= 9'000; ++i) pairs += "1 d0 d" + std::to_string(1 + i % 1'499) + " 1\n";
  input.pairs = folder.write("pairs", pairs);
  CHECK(read_training_set(input).has_value());
  for (int i = 0; i < 3'000; ++i) pairs += "1 d1 d2 1\n";
  input.pairs = folder.write("pairs", pairs);
  const auto too_many = read_training_set(input);
  REQUIRE(!too_many.has_value());
  CHECK(too_many.error().code == Code::usage);
  CHECK(too_many.error().text.find(input.pairs + ":9") == 0);
  CHECK(too_many.error().text.find("--memory-limit: there is memory for 9") != std::string::npos);
  input.limit.reset();
  CHECK(read_training_set(input).has_value());
}

TEST_CASE("A memory limit needs a writable folder and excludes derived features", "[fusion][memory_limit]") {
  const test::TemporaryFolder folder;
  TrainingInput input;
  input.letor = {folder.write("train", wide_letor_text())};
  input.limit = small_parts(folder);
  input.limit->folder = folder.path("nowhere");
  const auto without_folder = read_training_set(input);
  REQUIRE(!without_folder.has_value());
  CHECK(without_folder.error().code == Code::no_input);
  CHECK(without_folder.error().text.find(folder.path("nowhere") + ": cannot write") == 0);
  input.limit = small_parts(folder);
  input.derive = "lists";
  const auto derived = read_training_set(input);
  REQUIRE(!derived.has_value());
  CHECK(derived.error().text.find("leave out --derive") != std::string::npos);
}

TEST_CASE("A bad line far into the input is named when columns are kept in a file",
          "[fusion][memory_limit]") {
  const test::TemporaryFolder folder;
  const std::string text = wide_letor_text();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  TrainingInput input;
  input.letor = {folder.write("train", text + "1 qid:9 1:x\n")};
  input.limit = small_parts(folder);
  const auto refused = read_training_set(input);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().text.find("train:" + std::to_string(lines + 1) + ":") != std::string::npos);
  // Of several duplicate documents the one in the named line is named.
  input.letor = {folder.write("twice", text + "1 qid:9 1:1 # d186\n1 qid:0 1:1 # d0\n")};
  for (const bool is_limited : {true, false}) {
    if (!is_limited) input.limit.reset();
    const auto twice = read_training_set(input);
    REQUIRE(!twice.has_value());
    CHECK(twice.error().text.find("twice:" + std::to_string(lines + 2) +
                                  ": query \"0\": the document \"d0\"") != std::string::npos);
  }
}

TEST_CASE("Codes that do not fit on the disk are an error", "[fusion][memory_limit]") {
  const test::TemporaryFolder folder;
  TrainingInput input;
  input.letor = {folder.write("train", wide_letor_text())};
  input.limit = small_parts(folder);
  const auto set = read_training_set(input);
  REQUIRE(set.has_value());
  const auto refused = [&] {
    const test::FullDisk full(4096);
    return CodedFeatures::make(set->matrix, {});
  }();
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code == Code::try_again);
}

TEST_CASE("Threads that append to one file of columns get places of their own", "[fusion][memory]") {
  const test::TemporaryFolder folder;
  const auto file = ColumnFile::open(folder.path());
  REQUIRE(file.has_value());
  constexpr std::size_t kThreads = 4, kTimes = 20'000;
  const std::array<std::byte, 3> bytes{};
  std::vector<std::vector<std::uint64_t>> places(kThreads);
  std::vector<std::thread> threads;
  for (auto& own : places)
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < kTimes; ++i)
        if (const auto place = (*file)->append(bytes)) own.push_back(*place);
    });
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> all;
  for (const auto& own : places) all.insert(own.begin(), own.end());
  CHECK(all.size() == kThreads * kTimes);
  CHECK(*all.rbegin() == 8 * (kThreads * kTimes - 1));
}
