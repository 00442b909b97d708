#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/support/temporary_folder.h"

namespace metafuse::test {

/// Files with three random runs for twelve queries and their judgments.
struct JudgedRunFiles {
  TemporaryFolder folder;
  std::vector<std::string> runs;  ///< NAME=FILE
  std::string qrels;

  JudgedRunFiles() {
    Random random(7);
    std::string judged;
    std::string text[3];
    for (int query = 1; query <= 12; ++query) {
      const std::string id = "q" + std::to_string(query);
      for (int document = 0; document < 15; ++document)
        judged += id + " 0 d" + std::to_string(document) + " " + std::to_string(random.below(3)) + "\n";
      for (auto& lines : text) {
        std::vector<int> documents(20);
        std::iota(documents.begin(), documents.end(), 0);
        random.shuffle(documents);
        for (int rank = 1; rank <= 8; ++rank)  // two per score: ties
          lines += id + " Q0 d" + std::to_string(documents[static_cast<std::size_t>(rank)]) + " " +
                   std::to_string(rank) + " " + std::to_string(10 - rank / 2) + " run\n";
      }
    }
    for (int run = 0; run < 3; ++run) {
      const std::string name(1, static_cast<char>('a' + run));
      folder.write(name + ".run", text[run]);
      runs.push_back(name + "=" + folder.path(name + ".run"));
    }
    folder.write("qrels", judged);
    qrels = folder.path("qrels");
  }
};

}  // namespace metafuse::test
