#include "evaluation/runs/lines.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "evaluation/runs/run_file.h"
#include "evaluation/runs/topic_index.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::evaluation;

namespace {

FileText file_of(std::string_view text) {
  return {"a.run", text, nullptr};
}

std::string random_word(Random& random, std::size_t longest) {
  std::string word;
  const std::size_t size = 1 + random.below(longest);
  for (std::size_t i = 0; i < size; ++i) word += static_cast<char>('!' + random.below(90));
  return word;
}

std::string random_number(Random& random) {
  char text[40];
  const double value = (random.uniform() - 0.3) * std::pow(10.0, static_cast<double>(random.below(9)));
  if (random.below(4) == 0)
    std::snprintf(text, sizeof text, "%.12g", value);
  else
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(random.below(9)), value);
  return text;
}

/// Reads the number with text before and after it, as in a file.
bool reads_short(const std::string& number, double& value) {
  const std::string padded = "1 Q0 doc 1 " + number + " tag                      ";
  const char* const from = padded.data() + 11;
  return read_short_decimal(from, from + number.size(), value);
}

}  // namespace

TEST_CASE("A short decimal is read as the same double as by strtod", "[evaluation][run]") {
  Random random(11);
  std::size_t short_ones = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    char text[40];
    const int decimals = 1 + static_cast<int>(random.below(8));
    std::snprintf(text, sizeof text, "%s%.*f", random.below(5) == 0 ? "-" : "", decimals,
                  random.uniform() * std::pow(10.0, static_cast<double>(random.below(8))));
    double value = -1.0;
    if (!reads_short(text, value)) continue;
    ++short_ones;
    INFO(text);
    REQUIRE(value == std::strtod(text, nullptr));
  }
  CHECK(short_ones > 15000);
}

TEST_CASE("Text that is not a short decimal is left to the general reader", "[evaluation][run]") {
  double value = 7.0;
  for (const char* text : {"1",     "1.",  ".5",          "+1.5",        "1.5e3",
                           "1e5",   "inf", "nan",         "0x1.8",       "--1.5",
                           "1.5.2", "1,5", "123456789.5", "1.123456789", "1.5a",
                           "a1.5",  "-",   ".",           "1 .5",        "99999999.99999999"}) {
    INFO(text);
    CHECK_FALSE(reads_short(text, value));
  }
  CHECK(value == 7.0);
  REQUIRE(reads_short("-0.0", value));
  CHECK(std::signbit(value));
}

TEST_CASE("The byte scanner stops at every byte of its kind at any length", "[evaluation][run]") {
  Random random(3);
  for (int trial = 0; trial < 400; ++trial) {
    std::string text(random.below(300), 'x');
    for (char& c : text)
      if (random.below(9) == 0) c = random.below(2) == 0 ? '\n' : ' ';
    ByteScanner<LineEnds> scanner(text.data(), text.data() + text.size());
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
      REQUIRE(scanner.next() == text.data() + at);
    REQUIRE(scanner.next() == text.data() + text.size());
  }
}

TEST_CASE("Lines of any spacing and length are split like by a stream", "[evaluation][run]") {
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::string text;
    const int count = 1 + static_cast<int>(random.below(6));
    const bool is_odd = random.below(3) == 0;
    const auto gap = [&] {
      return std::string(is_odd && random.below(4) == 0 ? 2 : 1, is_odd && random.below(4) == 0 ? '\t' : ' ');
    };
    for (int i = 0; i < count; ++i) {
      text += "q1" + gap() + random_word(random, 3) + gap() + random_word(random, 60) + gap();
      text += std::to_string(random.below(2000)) + gap() + random_number(random) + gap() + "tag";
      text += is_odd && random.below(3) == 0 ? " \r\n" : i + 1 == count && random.below(2) == 0 ? "" : "\n";
    }
    std::vector<RunLine> lines;
    REQUIRE(parse_run_lines(file_of(text), text, "tag", false, lines).has_value());
    std::istringstream stream(text);
    REQUIRE(lines.size() == static_cast<std::size_t>(count));
    for (const RunLine& line : lines) {
      std::string topic, iteration, document, rank, score, tag;
      stream >> topic >> iteration >> document >> rank >> score >> tag;
      REQUIRE(std::string(line.document) == document);
      REQUIRE(std::to_string(line.rank) == rank);
      REQUIRE(line.score == std::strtod(score.c_str(), nullptr));
    }
  }
}

TEST_CASE("Plain lines are read like by a stream, and none behind the piece", "[evaluation][run]") {
  Random random(6);
  for (int trial = 0; trial < 300; ++trial) {
    const std::string tag = random_word(random, 40);
    std::string text;
    const std::size_t count = 1 + random.below(100);
    for (std::size_t i = 0; i < count; ++i)
      text += "q1 Q0 " + random_word(random, 20) + " " +
              std::to_string(random.below(random.below(2) == 0 ? 1000 : 2'000'000'000)) + " " +
              random_number(random) + " " + tag + "\n";
    const std::string file = text + "q2 Q0 other 1 1.5 " + tag + "\n" + std::string(random.below(200), 'x');
    std::vector<RunLine> lines;
    const FileText whole = file_of(file);
    REQUIRE(parse_run_lines(whole, whole.text.substr(0, text.size()), tag, false, lines).has_value());
    REQUIRE(lines.size() == count);
    std::istringstream stream(text);
    for (const RunLine& line : lines) {
      std::string topic, iteration, document, rank, score, end;
      stream >> topic >> iteration >> document >> rank >> score >> end;
      REQUIRE(std::string(line.document) == document);
      REQUIRE(std::to_string(line.rank) == rank);
      REQUIRE(line.score == std::strtod(score.c_str(), nullptr));
      REQUIRE(std::signbit(line.score) == (score.front() == '-'));
    }
  }
}

TEST_CASE("A mistake in a line is found in any surroundings", "[evaluation][run]") {
  for (const std::string& bad :
       {std::string("1 Q0 d 1 0.5\n"), std::string("1 Q0 d 1 0.5 tag more\n"),
        std::string("1 Q0 d one 0.5 tag\n"), std::string("1 Q0 d -1 0.5 tag\n"),
        std::string("1 Q0 d 1 nan tag\n"), std::string("1 Q0 d 1 1e400 tag\n"),
        std::string("1 Q0 d 1 0.5 other\n"),
        std::string("1 Q0 d\x01"
                    "e 1 0.5 tag\n"),
        std::string("1 Q0 d 1 0x1 tag\n"), std::string("1 Q0 d\0e 1 0.5 tag\n", 20)}) {
    const std::string good = "1 Q0 good 1 0.25 tag\n";
    std::string text = good + bad;
    while (text.size() < 300) text += good;
    std::vector<RunLine> lines;
    const auto parsed = parse_run_lines(file_of(text), text, "tag", false, lines);
    INFO(bad);
    REQUIRE(parsed.has_error());
    CHECK(parsed.error().text.starts_with("a.run:2:"));
  }
}

TEST_CASE("Equal ids get the same number at any length", "[evaluation][run]") {
  Random random(9);
  IdTable table;
  std::vector<std::string> ids;
  for (std::size_t size = 1; size < 40; ++size)
    for (int i = 0; i < 20; ++i) ids.push_back(std::string(size - 1, 'a') + static_cast<char>('a' + i));
  bool is_new = false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    REQUIRE(table.insert(ids[i], is_new) == i);
    REQUIRE(is_new);
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string copy = ids[i];
    REQUIRE(table.insert(copy, is_new) == i);
    REQUIRE_FALSE(is_new);
    REQUIRE(table.find(copy) == i);
  }
}

TEST_CASE("Keys compare ids as texts do, whether their first eight bytes hold them or not",
          "[evaluation][run]") {
  Random random(5);
  std::vector<std::string> ids;
  for (int i = 0; i < 200; ++i) {
    ids.emplace_back();
    // few different bytes, so that many ids begin alike; zeros are those that a short id is filled up with
    for (std::size_t size = random.below(12); size > 0; --size)
      ids.back() += static_cast<char>(random.below(3) * 100);
  }
  int wrong = 0;
  for (const std::string& a : ids)
    for (const std::string& b : ids) {
      wrong += (IdKey(a) < IdKey(b)) != (a < b) ? 1 : 0;
      wrong += (IdKey(a) == IdKey(b)) != (a == b) ? 1 : 0;
    }
  CHECK(wrong == 0);
}

TEST_CASE("The index joins the pieces of every topic in ascending order", "[evaluation][run]") {
  const test::TemporaryFolder folder;
  Random random(21);
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<std::string> topics;
    std::string text;
    for (int i = 0; i < 120; ++i) {
      topics.push_back((random.below(2) == 0 ? "a-long-topic-" : "") + std::to_string(random.below(14)));
      text += topics.back() + " Q0 d" + std::to_string(i) + " 1 1.5 t\n";
      if (random.below(10) == 0) text += random.below(2) == 0 ? "\n" : "# a comment\n";
    }
    auto index = index_topics(folder.write("a.run", text));
    REQUIRE(index.has_value());
    std::vector<std::string> expected = topics;
    std::sort(expected.begin(), expected.end());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    REQUIRE(index->topic_count() == expected.size());
    for (std::size_t topic = 0; topic < expected.size(); ++topic) {
      REQUIRE(index->topic(topic) == expected[topic]);
      std::vector<RunLine> lines;
      for (const TopicPiece& piece : index->pieces_of(topic))
        REQUIRE(parse_run_lines(index->file, piece.lines, "t", false, lines).has_value());
      std::vector<std::string> found;
      for (const RunLine& line : lines) found.emplace_back(line.document);
      std::vector<std::string> there;
      for (std::size_t i = 0; i < topics.size(); ++i)
        if (topics[i] == expected[topic]) there.push_back("d" + std::to_string(i));
      REQUIRE(found == there);
    }
  }
}
