#include "fusion/unsupervised/fuse_runs.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/parallel.h"
#include "core/put_text.h"
#include "evaluation/runs/topic_index.h"

namespace metafuse::fusion {
namespace {

using evaluation::IdKey;
using evaluation::IdTable;
using evaluation::RunIndex;
using evaluation::RunLine;

/// The index of each topic in each run, topics x runs in row-major order.
struct TopicTable {
  std::vector<std::string_view> topics;
  std::vector<std::uint32_t> places;  // 0: not in the run, else the topic's index + 1
};

TopicTable merge_topics(std::span<const RunIndex> runs) {
  TopicTable table;
  std::vector<std::size_t> next(runs.size(), 0);
  const auto next_topic = [&](std::size_t run) {
    const auto& topics = runs[run].topics;
    return next[run] < topics.topic_count() ? &topics.key(next[run]) : nullptr;
  };
  for (;;) {
    const IdKey* least = nullptr;
    for (std::size_t run = 0; run < runs.size(); ++run)
      if (const IdKey* topic = next_topic(run); topic != nullptr && (least == nullptr || *topic < *least))
        least = topic;
    if (least == nullptr) return table;
    table.topics.push_back(least->id);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const IdKey* const topic = next_topic(run);
      const bool is_held = topic != nullptr && *topic == *least;
      table.places.push_back(is_held ? static_cast<std::uint32_t>(++next[run]) : 0U);
    }
  }
}

/// A growing text buffer that does not initialise its memory.
class TextBuffer {
 public:
  char* room_for(std::size_t bytes) {
    if (capacity_ - size_ < bytes) {
      capacity_ = std::max(capacity_ * 2, size_ + bytes);
      std::unique_ptr<char[]> larger(new char[capacity_]);
      if (size_ > 0) std::memcpy(larger.get(), text_.get(), size_);
      text_ = std::move(larger);
    }
    return text_.get() + size_;
  }
  void end_at(const char* end) { size_ = static_cast<std::size_t>(end - text_.get()); }
  std::string_view text() const { return {text_.get(), size_}; }
  void clear() { size_ = 0; }

 private:
  std::unique_ptr<char[]> text_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// The tables and output of one worker, reused from topic to topic.
struct Worker {
  IdTable ids;
  QueryLists query;
  std::vector<std::uint32_t> last_list;  // per document: the last list that held it, + 1
  std::vector<Standing> standing;        // per document
  std::vector<RunLine> lines;
  TextBuffer output;
};

/// Prefetches the first lines of a topic while another list is parsed, since the lists of a topic lie
/// far apart.
void fetch_ahead(const evaluation::TopicIndex& topics, std::size_t topic) {
  constexpr std::size_t kBytes = 2048;
  constexpr std::size_t kCacheLine = 64;
  const std::string_view lines = topics.pieces_of(topic).front().lines;
  for (std::size_t at = 0; at < std::min(kBytes, lines.size()); at += kCacheLine)
    __builtin_prefetch(lines.data() + at);
}

/// Reads the list of one topic from one run into the query.
Result<void> add_list(const RunIndex& run, std::size_t list, std::size_t topic, std::size_t depth,
                      Worker& worker) {
  TRY_VOID(parse_run_topic(run, topic, {}, worker.lines));
  sort_as_listed(worker.lines);
  auto& entries = worker.query.lists[list];
  entries.resize(depth == 0 ? worker.lines.size() : std::min(depth, worker.lines.size()));
  const auto mark = static_cast<std::uint32_t>(list + 1);
  std::size_t place = 0;
  bool is_new = false;
  worker.last_list.resize(worker.ids.size() + worker.lines.size(), 0);
  worker.standing.resize(worker.ids.size() + worker.lines.size());
  for (const RunLine& line : worker.lines) {
    const std::uint32_t document = worker.ids.insert(line.document, is_new);
    if (std::exchange(worker.last_list[document], mark) == mark) {
      TRY_VOID(parse_run_topic(run, topic, {}, worker.lines));
      return check_documents_differ(run, topic, worker.lines);
    }
    if (place == entries.size()) continue;
    entries[place++] = {document, line.score};
    worker.standing[document].add(static_cast<std::uint32_t>(place));
  }
  return {};
}

void write_topic(std::string_view topic, const std::vector<std::uint32_t>& order, const QueryLists& query,
                 const FuseOptions& options, TextBuffer& output) {
  const std::size_t count = options.limit > 0 ? std::min(options.limit, order.size()) : order.size();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i)
    bytes += topic.size() + query.documents[order[i]].size() + options.tag.size() + 48;
  char* at = output.room_for(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    at = put_text(put_text(at, topic), " Q0 ");
    at = put_text(put_text(at, query.documents[order[i]]), " ");
    at = put_text(put_whole(at, i + 1), " ");
    at = put_text(put_whole(at, count - i), " ");
    at = put_text(put_text(at, options.tag), "\n");
  }
  output.end_at(at);
}

/// Removes documents below the depth. They were numbered only to detect documents that occur twice.
void drop_unlisted(QueryLists& query) {
  std::vector<std::uint32_t> number(query.size(), 0);
  std::vector<char> is_listed(query.size(), 0);
  for (const auto& list : query.lists)
    for (const ListEntry& entry : list) is_listed[entry.document] = 1;
  std::uint32_t next = 0;
  for (std::size_t document = 0; document < query.size(); ++document) {
    if (is_listed[document] == 0) continue;
    query.documents[next] = query.documents[document];
    number[document] = next++;
  }
  query.documents.resize(next);
  for (auto& list : query.lists)
    for (ListEntry& entry : list) entry.document = number[entry.document];
}

Result<void> fuse_topic(std::span<const RunIndex> runs, const TopicTable& table, std::size_t topic,
                        const ScoreQuery& score, const FuseOptions& options, Worker& worker) {
  worker.ids.clear();
  worker.last_list.clear();
  worker.standing.clear();
  worker.query.lists.resize(runs.size());
  const std::uint32_t* const places = &table.places[topic * runs.size()];
  for (std::size_t run = 0; run < runs.size(); ++run) {
    worker.query.lists[run].clear();
    if (run + 1 < runs.size() && places[run + 1] != 0) fetch_ahead(runs[run + 1].topics, places[run + 1] - 1);
    const std::uint32_t place = places[run];
    if (place == 0) continue;
    TRY_VOID(add_list(runs[run], run, place - 1, options.depth, worker));
  }
  worker.query.documents.assign(worker.ids.ids().begin(), worker.ids.ids().end());
  if (options.depth > 0) {
    drop_unlisted(worker.query);
    worker.standing = standings(worker.query);
  }
  if (options.most_documents > 0 && worker.query.size() > options.most_documents)
    return fail(Code::bad_data,
                fmt::format("topic \"{}\": the lists have {} documents, and this method takes at most {}; "
                            "lower --depth",
                            table.topics[topic], worker.query.size(), options.most_documents));
  const std::vector<double> scores = score(worker.query);
  write_topic(table.topics[topic], fused_order(worker.query, scores, worker.standing), worker.query, options,
              worker.output);
  return {};
}

/// How many topics a thread fuses before their output is written: about four megabytes of input.
std::size_t queries_per_block(std::span<const RunIndex> runs, std::size_t topics) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  std::size_t total = 1;
  for (const RunIndex& run : runs) total += run.topics.file.text.size();
  return std::clamp<std::size_t>(topics * kBytes / total, 1, 4096);
}

/// Writes the blocks of several workers in their order, each as soon as those before it are written.
class OrderedOutput {
 public:
  explicit OrderedOutput(FileWriter& output) : output_(output) {}

  /// Waits for the blocks before this one.
  ///
  /// in:  fused - if it is an error, it ends the output before this block
  /// out: whether blocks may follow
  bool write(std::size_t block, std::string_view text, const Result<void>& fused) {
    {
      std::unique_lock lock(mutex_);
      turns_.wait(lock, [&] { return is_over_ || next_ == block; });
      if (is_over_) return false;
    }
    outcome_ = fused ? output_.write(text) : fused;  // nobody else has a turn
    const std::lock_guard lock(mutex_);
    ++next_;
    is_over_ = is_over_ || !outcome_;
    turns_.notify_all();
    return !is_over_;
  }

  /// Ends the output because a worker has failed by an exception.
  void abandon() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    turns_.notify_all();
  }

  /// The first error, once all workers have ended.
  const Result<void>& outcome() const { return outcome_; }

 private:
  FileWriter& output_;
  std::mutex mutex_;
  std::condition_variable turns_;
  std::size_t next_ = 0;  ///< the block whose turn it is
  bool is_over_ = false;
  Result<void> outcome_;
};

}  // namespace

Result<void> fuse_files(std::span<const RunIndex> runs, const ScoreQuery& score, const FuseOptions& options,
                        FileWriter& output) {
  const TopicTable table = merge_topics(runs);
  const std::size_t block = queries_per_block(runs, table.topics.size());
  OrderedOutput ordered(output);
  std::atomic<std::size_t> next_block{0};
  const auto fuse_blocks = [&] {
    Worker worker;
    while (true) {
      const std::size_t number = next_block++;
      const std::size_t begin = number * block;
      if (begin >= table.topics.size()) return;
      const std::size_t end = std::min(begin + block, table.topics.size());
      worker.output.clear();
      Result<void> fused;
      for (std::size_t topic = begin; topic < end && fused; ++topic)
        fused = fuse_topic(runs, table, topic, score, options, worker);
      if (!ordered.write(number, worker.output.text(), fused)) return;
    }
  };
  parallel_for(std::max(1U, options.threads), options.threads, [&](std::size_t) {
    try {
      fuse_blocks();
    } catch (...) {
      ordered.abandon();
      throw;
    }
  });
  return ordered.outcome();
}

QueryLists join_lists(std::span<const evaluation::RunTopic* const> lists, std::size_t depth) {
  QueryLists query;
  IdTable ids;
  bool is_new = false;
  query.lists.resize(lists.size());
  for (std::size_t run = 0; run < lists.size(); ++run) {
    if (lists[run] == nullptr) continue;
    const auto& entries = lists[run]->entries;
    const std::size_t length = depth > 0 ? std::min(depth, entries.size()) : entries.size();
    for (std::size_t i = 0; i < length; ++i)
      query.lists[run].push_back({ids.insert(entries[i].document, is_new), entries[i].score});
  }
  query.documents = ids.ids();
  return query;
}

QueryLists lists_of_topic(std::span<const evaluation::Run> runs, std::string_view topic, std::size_t depth) {
  std::vector<const evaluation::RunTopic*> lists;
  for (const evaluation::Run& run : runs) lists.push_back(run.find(topic));
  return join_lists(lists, depth);
}

}  // namespace metafuse::fusion
