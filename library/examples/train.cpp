// Trains a model on judged queries, saves it, fuses a new query with it, and evaluates it.
#include <iostream>

#include <metafuse/evaluate.h>
#include <metafuse/train.h>

int main() {
  std::vector<metafuse::Run> runs;
  runs.emplace_back("words");
  runs.emplace_back("vectors");
  metafuse::Qrels qrels;
  // Twelve judged queries show that the document that "vectors" ranks first, and "words" last, is relevant.
  for (int i = 0; i < 12; ++i) {
    const std::string query = "q" + std::to_string(i);
    const std::string right = "right" + std::to_string(i);
    runs[0].add(query, {"a", "b", "c", right});
    runs[1].add(query, {right, "c", "b", "a"});
    qrels.add(query, {right, "a"}, {1, 0});
  }
  try {
    const metafuse::Model learned = metafuse::train(runs, qrels, "rankboost", {{"rounds", "20"}});
    learned.save("model.json");
    const metafuse::Model model = metafuse::Model::load("model.json");
    const std::vector<metafuse::List> lists{{"words", {"x", "y", "z"}, {}}, {"vectors", {"z", "y", "x"}, {}}};
    std::cout << "first: " << model.fuse(lists).front().document << '\n';
    std::cout << model.explain(lists, "z") << '\n';
    const auto measured = metafuse::evaluate(model.fuse(runs), qrels, "map");
    std::cout << "map " << measured.summary(0) << " over " << measured.queries().size() << " queries\n";
    metafuse::Model::load("nowhere.json");
  } catch (const metafuse::Error& error) {
    std::cout << "refused (" << error.status() << "): " << error.what() << '\n';
  }
}
