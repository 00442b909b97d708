#include "fusion/unsupervised/fuse_runs.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "core/text_file.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

std::vector<std::string> run_lines(Random& random, const std::string& tag) {
  std::vector<std::string> lines;
  for (int topic = 0; topic < 70; ++topic) {
    if (random.below(8) == 0) continue;
    std::vector<int> documents;
    for (int i = 0; i < 25; ++i) documents.push_back(i);
    random.shuffle(documents);
    documents.resize(1 + random.below(20));
    int rank = 0;
    for (const int document : documents) {
      ++rank;
      lines.push_back(std::to_string(topic) + " Q0 D" + std::to_string(document) + " " +
                      std::to_string(rank) + " " + std::to_string(9 - rank / 3) + ".5 " + tag + "\n");
    }
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

ScoreQuery by_method(const char* name) {
  return [method = find_fusion_method(name)](const QueryLists& query) {
    return fuse_scores(*method, query, {});
  };
}

/// The slow way: whole runs in memory, topic by topic.
std::string fused_in_memory(const std::vector<evaluation::Run>& runs, const ScoreQuery& score,
                            const FuseOptions& options) {
  std::string text;
  std::set<std::string_view> topics;
  for (const evaluation::Run& run : runs)
    for (const evaluation::RunTopic& topic : run.topics) topics.insert(topic.topic);
  for (const std::string_view topic : topics) {
    const QueryLists query = lists_of_topic(runs, topic, options.depth);
    const std::vector<std::uint32_t> order = fused_order(query, score(query));
    for (std::size_t i = 0; i < order.size(); ++i)
      text += std::string(topic) + " Q0 " + std::string(query.documents[order[i]]) + " " +
              std::to_string(i + 1) + " " + std::to_string(order.size() - i) + " " + options.tag + "\n";
  }
  return text;
}

Result<std::string> fused_text(const std::vector<std::string>& paths, const char* method,
                               const FuseOptions& options, const test::TemporaryFolder& folder) {
  std::vector<evaluation::RunIndex> runs;
  for (const std::string& path : paths) {
    auto run = evaluation::index_run(path);
    if (!run) return run.error();
    runs.push_back(std::move(*run));
  }
  auto writer = FileWriter::open(folder.path("fused"));
  if (!writer) return writer.error();
  if (auto fused = fuse_files(runs, by_method(method), options, *writer); !fused) return fused.error();
  if (auto committed = writer->commit(); !committed) return committed.error();
  return read_text(folder.path("fused"), std::size_t{1} << 26);
}

}  // namespace

TEST_CASE("Fusing run files gives the run of a worked example", "[fusion][fuse]") {
  const test::TemporaryFolder folder;
  const std::string a = folder.write("a", "1 Q0 x 1 3 a\n1 Q0 y 2 2 a\n2 Q0 z 1 1 a\n");
  const std::string b = folder.write("b", "1 Q0 y 0 8 b\n1 Q0 w 1 7 b");
  FuseOptions options;
  options.tag = "rrf";
  const auto text = fused_text({a, b}, "rrf", options, folder);
  REQUIRE(text.has_value());
  CHECK(*text == "1 Q0 y 1 3 rrf\n1 Q0 x 2 2 rrf\n1 Q0 w 3 1 rrf\n2 Q0 z 1 1 rrf\n");
  options.depth = 1;
  CHECK(*fused_text({a, b}, "rrf", options, folder) == "1 Q0 x 1 2 rrf\n1 Q0 y 2 1 rrf\n2 Q0 z 1 1 rrf\n");
  options.depth = 0;
  options.limit = 1;
  CHECK(*fused_text({a, b}, "rrf", options, folder) == "1 Q0 y 1 1 rrf\n2 Q0 z 1 1 rrf\n");
}

TEST_CASE("A topic with more documents than the options allow is refused by name", "[fusion][fuse]") {
  const test::TemporaryFolder folder;
  const std::string a = folder.write("a", "1 Q0 x 1 2 a\n1 Q0 y 2 1 a\n");
  const std::string b = folder.write("b", "1 Q0 z 1 2 b\n1 Q0 y 2 1 b\n");
  FuseOptions options;
  options.most_documents = 3;
  CHECK(fused_text({a, b}, "mc4", options, folder).has_value());
  options.most_documents = 2;
  const auto refused = fused_text({a, b}, "mc4", options, folder);
  REQUIRE(refused.has_error());
  CHECK(refused.error().text ==
        "topic \"1\": the lists have 3 documents, and this method takes at most 2; lower --depth");
  options.depth = 1;
  CHECK(fused_text({a, b}, "mc4", options, folder).has_value());
}

TEST_CASE("The fused bytes are the same for any order of lines and any number of threads", "[fusion][fuse]") {
  const test::TemporaryFolder folder;
  Random random(9);
  std::vector<std::vector<std::string>> files;
  for (int run = 0; run < 3; ++run) files.push_back(run_lines(random, "t" + std::to_string(run)));
  for (const char* method : {"rrf", "combmnz", "borda", "condorcet", "mc2", "combmed"}) {
    std::string first;
    for (unsigned threads = 1; threads <= 3; ++threads) {
      std::vector<std::string> paths;
      for (std::size_t run = 0; run < files.size(); ++run)
        paths.push_back(folder.write("run" + std::to_string(run), joined(files[run])));
      FuseOptions options;
      options.threads = threads;
      const auto text = fused_text(paths, method, options, folder);
      REQUIRE(text.has_value());
      if (first.empty()) first = *text;
      CHECK(*text == first);
      for (auto& lines : files) random.shuffle(lines);
    }
  }
}

TEST_CASE("Several threads write many blocks in order, up to the first error", "[fusion][fuse]") {
  constexpr int kTopics = 30'000;  // at most 4096 per block
  const test::TemporaryFolder folder;
  std::vector<std::string> lines;
  for (int topic = 0; topic < kTopics; ++topic)
    lines.push_back("topic-" + std::to_string(topic) + " Q0 D1 1 9 a\n");
  const std::string path = folder.write("run", joined(lines));
  FuseOptions options;
  const auto alone = fused_text({path}, "rrf", options, folder);
  REQUIRE(alone.has_value());
  CHECK(std::count(alone->begin(), alone->end(), '\n') == kTopics);
  lines[29'000] = "topic-29000 Q0 D1 1 x a\n";
  lines[29'999] = "topic-29999 Q0 D1 1 y a\n";  // in byte order, a later block
  const std::string damaged = folder.write("damaged", joined(lines));
  for (options.threads = 2; options.threads <= 4; ++options.threads) {
    CHECK(*fused_text({path}, "rrf", options, folder) == *alone);
    const auto refused = fused_text({damaged}, "rrf", options, folder);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().text.find("damaged:29001:") != std::string::npos);
  }
}

TEST_CASE("An exception on one of several threads ends the fusion", "[fusion][fuse]") {
  const test::TemporaryFolder folder;
  std::string text;
  for (int topic = 0; topic < 20'000; ++topic) text += std::to_string(topic) + " Q0 D1 1 9 a\n";
  auto run = evaluation::index_run(folder.write("run", text));
  REQUIRE(run.has_value());
  std::atomic<int> scored = 0;
  const ScoreQuery score = [&](const QueryLists& query) -> std::vector<double> {
    if (++scored == 5000) throw std::runtime_error("no scores");
    return std::vector<double>(query.size());
  };
  FuseOptions options;
  options.threads = 3;
  auto writer = FileWriter::open(folder.path("fused"));
  REQUIRE(writer.has_value());
  CHECK_THROWS_AS((void)fuse_files(std::vector{*run}, score, options, *writer), std::runtime_error);
}

TEST_CASE("Runs in memory are fused like their files", "[fusion][fuse]") {
  const test::TemporaryFolder folder;
  Random random(4);
  std::vector<std::string> paths;
  for (int run = 0; run < 3; ++run)
    paths.push_back(
        folder.write("run" + std::to_string(run), joined(run_lines(random, "t" + std::to_string(run)))));
  const auto runs = evaluation::read_runs(paths);
  REQUIRE(runs.has_value());
  FuseOptions options;
  options.depth = 7;
  options.tag = "f";
  const std::string text = fused_in_memory(*runs, by_method("borda"), options);
  CHECK(*fused_text(paths, "borda", options, folder) == text);
}

TEST_CASE("A bad line anywhere ends the fusion with one error and no file", "[fusion][fuse]") {
  const test::TemporaryFolder folder;
  const std::string a = folder.write("a", "1 Q0 x 1 3 a\n9 Q0 y 2 2 a\n9 Q0 y 3 1 a\n");
  const auto text = fused_text({a}, "rrf", {}, folder);
  REQUIRE(text.has_error());
  CHECK(text.error().code == Code::bad_data);
  CHECK(text.error().text.find("a:3: the document \"y\" occurs twice in topic \"9\", first in line 2") !=
        std::string::npos);
  CHECK(read_text(folder.path("fused"), 100).error().code == Code::no_input);
}
