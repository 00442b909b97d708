#include "service/judges/judge_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace metafuse::service {
namespace {

constexpr int kTriesOfRequest = 4;
/// With pauses of 1 s, 2 s, 4 s and so on it waits longer than a minute, which limits count by.
constexpr int kTriesWhileBusy = 7;
/// After so many answers that are no chat, and not one that is, the address is taken to be wrong; after so
/// many requests in a row without any answer, the server is.
constexpr std::size_t kStrangeAnswers = 10;
constexpr double kMillion = 1e6;
constexpr std::size_t kTokensPerGrade = 24;
constexpr std::size_t kTokensAround = 64;

/// Documents of one task that are asked together, by their positions.
struct Batch {
  std::size_t task = 0;
  std::vector<std::size_t> documents;
  bool is_repeated = false;  ///< its answer could not be read before
};

/// What one request may take, or took.
struct Cost {
  std::uint64_t requests = 0;
  std::uint64_t input = 0;
  std::uint64_t output = 0;

  Cost& operator+=(const Cost& other) {
    requests += other.requests;
    input += other.input;
    output += other.output;
    return *this;
  }
  Cost& operator-=(const Cost& other) {
    requests -= other.requests;
    input -= other.input;
    output -= other.output;
    return *this;
  }
  double money(const JudgeBudget& budget) const {
    return (static_cast<double>(input) * budget.input_price +
            static_cast<double>(output) * budget.output_price) /
           kMillion;
  }
};

/// Which limit a sum of costs exceeds; empty if none.
std::string exceeded(const Cost& cost, const JudgeBudget& budget) {
  if (budget.requests > 0 && cost.requests > budget.requests)
    return fmt::format("the budget of {} requests", budget.requests);
  if (budget.tokens > 0 && cost.input + cost.output > budget.tokens)
    return fmt::format("the budget of {} tokens", budget.tokens);
  if (budget.money > 0 && cost.money(budget) > budget.money)
    return fmt::format("the budget of {:g} in money", budget.money);
  return {};
}

/// What a cost is in the unit of the limit that it exceeds.
std::string needs(const Cost& cost, const JudgeBudget& budget) {
  if (budget.tokens > 0 && cost.input + cost.output > budget.tokens)
    return fmt::format("{} tokens", cost.input + cost.output);
  return fmt::format("{:.2g} in money", cost.money(budget));
}

/// The work of one run, shared by its threads.
class JudgeWork {
 public:
  JudgeWork(const ChatEndpoint& endpoint, const JudgePrompt& prompt, const std::vector<JudgeTask>& tasks,
            KeptAnswers& kept, const JudgeRunOptions& options)
      : endpoint_(endpoint), prompt_(prompt), tasks_(tasks), kept_(kept), options_(options) {}

  Result<JudgeRun> run() {
    collect();
    report();
    std::vector<std::thread> threads;
    const std::size_t count = std::min<std::size_t>(std::max(1U, options_.parallel), waiting_.size());
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    const auto kept = keep_refusals();
    if (error_) return *error_;
    if (strange_ > 0 && !has_chatted_) return no_chat();
    if (!has_answered_ && !last_failure_.empty() && !run_.is_interrupted &&
        (run_.known == 0 || !run_.ended_by.empty()))
      return fail(Code::unavailable,
                  fmt::format("{}; {}", last_failure_, run_.ended_by.empty() ? hint_ : run_.ended_by));
    TRY_VOID(kept);
    answer_equal();
    run_.left = total_ - done_;
    run_.requests = spent_.requests;
    run_.input_tokens = spent_.input;
    run_.output_tokens = spent_.output;
    run_.money = spent_.money(options_.budget);
    return std::move(run_);
  }

 private:
  /// Takes over the answers of earlier runs, and puts the other documents into batches.
  void collect() {
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      run_.grades.emplace_back(tasks_[t].texts.size());
      Batch together{t, {}};
      for (std::size_t d = 0; d < tasks_[t].texts.size(); ++d) {
        ++total_;
        if (take_known(t, d)) continue;
        if (!asked_.insert(digest(t, d)).second) {
          equal_.emplace_back(t, d);
          continue;
        }
        if (speaks_to_judge(tasks_[t].texts[d])) {
          waiting_.push_back({t, {d}});
          continue;
        }
        together.documents.push_back(d);
        if (together.documents.size() < std::max<std::size_t>(1, options_.documents_per_request)) continue;
        waiting_.push_back(std::exchange(together, Batch{t, {}}));
      }
      if (!together.documents.empty()) waiting_.push_back(std::move(together));
    }
  }

  std::string digest(std::size_t task, std::size_t document) const {
    return digest_of_question(endpoint_.model().model, prompt_, tasks_[task].query,
                              tasks_[task].texts[document]);
  }

  bool take_known(std::size_t task, std::size_t document) {
    const auto known = kept_.find(digest(task, document));
    if (!known) return false;
    run_.grades[task][document] = known->grade;
    ++(known->grade ? run_.known : run_.refused);
    ++done_;
    return true;
  }

  /// Gives documents whose text equals another's of the same query the grade of that one. Those whose twin
  /// has no kept answer are left for the next run.
  void answer_equal() {
    for (const auto& [task, document] : equal_) {
      const std::string question = digest(task, document);
      const auto twin = kept_.find(question);
      if (!twin && !refusals_.contains(question)) continue;
      const auto grade = twin ? twin->grade : std::nullopt;
      run_.grades[task][document] = grade;
      ++(grade ? run_.graded : run_.refused);
      ++done_;
    }
    if (!equal_.empty()) report();
  }

  void report() const {
    if (options_.progress && total_ > 0) options_.progress(done_, total_);
  }

  bool is_stopped() const { return options_.is_interrupted && options_.is_interrupted(); }

  /// One thread's work: batch after batch until none is left or the run ends.
  void work() {
    while (auto batch = next()) {
      auto outcome = ask(*batch);
      const std::lock_guard lock(mutex_);
      --in_work_;
      // After the end, failures are those of requests that were given up.
      if (!outcome && !is_ended_ && !is_stopped()) error_ = outcome.error();
      if (!outcome) is_ended_ = true;
      has_changed_.notify_all();
    }
  }

  /// The next batch; waits while others' work may bring more. Nothing at the end.
  std::optional<Batch> next() {
    std::unique_lock lock(mutex_);
    while (true) {
      if (is_stopped()) {
        run_.is_interrupted = is_ended_ = true;
        run_.ended_by = "interrupted";
      }
      if (is_ended_ || (waiting_.empty() && in_work_ == 0)) return std::nullopt;
      if (!waiting_.empty()) break;
      has_changed_.wait_for(lock, kLooks);
    }
    Batch batch = std::move(waiting_.front());
    waiting_.pop_front();
    ++in_work_;
    return batch;
  }

  /// Sets a request's highest cost aside. Waits while other requests under way may turn out cheaper; false
  /// if the budget does not allow it, which ends the run.
  bool reserve(const Cost& cost) {
    std::unique_lock lock(mutex_);
    while (true) {
      if (is_ended_ || is_stopped()) return false;
      Cost sum = spent_;
      sum += reserved_;
      sum += cost;
      const std::string limit = exceeded(sum, options_.budget);
      if (limit.empty()) break;
      if (reserved_.requests == 0) {
        run_.ended_by = spent_.requests > 0
                            ? limit + " is used up"
                            : fmt::format("{} is too small for one request, which may need {}", limit,
                                          needs(cost, options_.budget));
        is_ended_ = true;
        has_changed_.notify_all();
        return false;
      }
      has_changed_.wait_for(lock, kLooks);
    }
    reserved_ += cost;
    return true;
  }

  void settle(const Cost& reserved, const Cost& spent) {
    const std::lock_guard lock(mutex_);
    reserved_ -= reserved;
    spent_ += spent;
    has_changed_.notify_all();
  }

  /// A document of which the model said something without a grade.
  struct Refusal {
    std::size_t task, document;
    std::string answer;
  };

  /// What became of a request after all tries.
  struct Exchanged {
    std::optional<ChatAnswer> answer;
    std::string trouble;      ///< why there is none
    bool is_refused = false;  ///< as the same request always would be
  };

  /// Sends one request until it is answered or has failed several times, with pauses.
  ///
  /// out:    nothing if the run has ended
  /// errors: unavailable: no request would be answered, or the server is busy for long
  Result<std::optional<Exchanged>> exchange(const GradeRequest& request) {
    const std::size_t limit = endpoint_.model().answer_tokens > 0
                                  ? endpoint_.model().answer_tokens
                                  : kTokensAround + kTokensPerGrade * request.ids.size();
    for (int tries = 1;; ++tries) {
      const Cost most{1, most_input(request.text.size()), limit};
      if (!reserve(most)) return std::optional<Exchanged>();
      auto sent = endpoint_.ask(request.text, limit, [this] { return has_ended(); });
      const bool is_answered = sent && sent->answer;
      Cost spent{1, 0, 0};
      if (is_answered)
        spent = {1, sent->answer->input_tokens, sent->answer->output_tokens};
      else if (sent && sent->may_have_cost)
        spent = most;
      settle(most, spent);
      if (is_answered) note_size(request.text.size(), spent.input);
      note_outcome(is_answered, sent ? endpoint_.url() + ": " + sent->trouble : sent.error().text);
      if (!sent) return sent.error();
      if (is_answered) return std::optional<Exchanged>({std::move(sent->answer), {}});
      if (sent->outcome == ChatOutcome::refused) return std::optional<Exchanged>({{}, sent->trouble, true});
      const std::string trouble = fmt::format("{} ({} times)", sent->trouble, tries);
      if (sent->outcome == ChatOutcome::busy && tries >= kTriesWhileBusy) return unavailable(trouble);
      if (sent->outcome == ChatOutcome::failed && tries >= kTriesOfRequest)
        return std::optional<Exchanged>({{}, trouble});
      const int seconds = std::max(sent->retry_after_seconds, 1 << (tries - 1));
      if (options_.pause) options_.pause(std::chrono::seconds(seconds), [this] { return has_ended(); });
    }
  }

  Error unavailable(const std::string& trouble) const {
    return fail(Code::unavailable,
                fmt::format("{}: {}; what was answered is kept, so run the same command again later",
                            endpoint_.url(), trouble));
  }

  void note_outcome(bool is_answered, const std::string& trouble) {
    const std::lock_guard lock(mutex_);
    has_answered_ = has_answered_ || is_answered;
    if (is_answered) fruitless_ = 0;
    if (!is_answered) last_failure_ = trouble;
  }

  std::uint64_t most_input(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    return std::max(most_tokens(bytes),
                    static_cast<std::uint64_t>(std::ceil(tokens_per_byte_ * static_cast<double>(bytes))));
  }

  /// Learns from what a server counted how many tokens a prompt may have.
  void note_size(std::size_t bytes, std::uint64_t tokens) {
    const std::lock_guard lock(mutex_);
    tokens_per_byte_ = std::max(tokens_per_byte_, static_cast<double>(tokens) / static_cast<double>(bytes));
  }

  bool has_ended() {
    const std::lock_guard lock(mutex_);
    return is_ended_ || is_stopped();
  }

  Result<void> ask(const Batch& batch) {
    const JudgeTask& task = tasks_[batch.task];
    std::vector<TextToGrade> texts;
    for (const std::size_t document : batch.documents) texts.push_back(task.texts[document]);
    const GradeRequest request = prompt_.request(task.query, texts);
    TRY(const auto came, exchange(request));
    if (!came) return {};
    if (!came->answer) return note_unanswered(batch, *came);
    const auto& answer = came->answer;
    TRY_VOID(note_form(answer->content.has_value() || answer->is_cut));
    const bool is_last = batch.is_repeated && batch.documents.size() == 1;
    const auto grades = answer->content ? read_grades_answer(*answer->content, request.ids) : std::nullopt;
    if (grades) {
      for (std::size_t i = 0; i < grades->size(); ++i)
        TRY_VOID(keep(batch, i, (*grades)[i], *answer->content));
      return {};
    }
    if (answer->is_cut || (is_last && !answer->content)) {
      note_refused(batch, answer->is_cut, "");
      return {};
    }
    if (is_last)
      refuse(batch, *answer->content);
    else
      ask_again(batch);
    return {};
  }

  /// Notices a server that answers everything with something that is no chat.
  Result<void> note_form(bool is_chat) {
    const std::lock_guard lock(mutex_);
    has_chatted_ = has_chatted_ || is_chat;
    strange_ += is_chat ? 0 : 1;
    if (has_chatted_ || strange_ < kStrangeAnswers) return {};
    return no_chat();
  }

  Error no_chat() const {
    return fail(
        Code::unavailable,
        endpoint_.url() + ": answers, but not in the form of OpenAI's chat interface; check --endpoint");
  }

  void ask_again(const Batch& batch) {
    if (batch.is_repeated) return ask_alone(batch);
    const std::lock_guard lock(mutex_);
    waiting_.push_back({batch.task, batch.documents, true});
    has_changed_.notify_all();
  }

  void ask_alone(const Batch& batch) {
    const std::lock_guard lock(mutex_);
    for (const std::size_t document : batch.documents) waiting_.push_back({batch.task, {document}, true});
    has_changed_.notify_all();
  }

  /// Goes on with the others after a request without an answer: a text may be what the server cannot stand,
  /// and strangers write texts. Ends the run if nothing gets through. Requests that the server refuses tell
  /// only that while it has answered nothing else.
  Result<void> note_unanswered(const Batch& batch, const Exchanged& came) {
    if (batch.documents.size() > 1) {
      ask_alone(batch);
      return {};
    }
    note_refused(batch, false, came.trouble);
    const std::lock_guard lock(mutex_);
    hint_ = came.is_refused ? "is this OpenAI's chat interface, and --model a model of it?"
                            : "run the same command again later";
    last_failure_ = endpoint_.url() + ": " + came.trouble;
    if ((came.is_refused && has_answered_) || ++fruitless_ < kStrangeAnswers) return {};
    return has_answered_ ? unavailable(came.trouble) : fail(Code::unavailable, last_failure_ + "; " + hint_);
  }

  /// Counts the documents of a request without an answer, or of one that was cut off or said nothing,
  /// as refused, but does not keep that: with a higher limit or another server a later run may have
  /// their grades.
  void note_refused(const Batch& batch, bool is_cut, const std::string& trouble) {
    const std::lock_guard lock(mutex_);
    run_.cut += is_cut ? 1 : 0;
    run_.refused += batch.documents.size();
    run_.asked_again += batch.documents.size();
    if (run_.refused_answer.empty()) run_.refused_answer = trouble;
    done_ += batch.documents.size();
    report();
  }

  /// Counts a document as refused whose answer, though it was asked alone, has no grade.
  void refuse(const Batch& batch, const std::string& answer) {
    const std::size_t document = batch.documents.front();
    const std::lock_guard lock(mutex_);
    if (run_.refused_answer.empty()) run_.refused_answer = answer;
    refusals_.emplace(digest(batch.task, document), Refusal{batch.task, document, answer});
    ++run_.refused;
    ++done_;
    report();
  }

  /// Keeps refusals if the model has graded anything. If it has not, its answers may all have the wrong form,
  /// and should be asked for again when that is mended.
  Result<void> keep_refusals() {
    if (run_.graded + run_.known == 0) return {};
    for (const auto& [question, refusal] : refusals_)
      TRY_VOID(keep_line(question, refusal.task, refusal.document, std::nullopt, refusal.answer));
    return {};
  }

  Result<void> keep_line(const std::string& question, std::size_t task, std::size_t document,
                         std::optional<int> grade, std::string_view answer) {
    return kept_.add({question, endpoint_.model().model, tasks_[task].query, tasks_[task].documents[document],
                      grade, answer});
  }

  Result<void> keep(const Batch& batch, std::size_t place, int grade, std::string_view answer) {
    const std::size_t document = batch.documents[place];
    TRY_VOID(keep_line(digest(batch.task, document), batch.task, document, grade, answer));
    const std::lock_guard lock(mutex_);
    run_.grades[batch.task][document] = grade;
    ++run_.graded;
    ++done_;
    report();
    return {};
  }

  static constexpr std::chrono::milliseconds kLooks{100};

  const ChatEndpoint& endpoint_;
  const JudgePrompt& prompt_;
  const std::vector<JudgeTask>& tasks_;
  KeptAnswers& kept_;
  const JudgeRunOptions& options_;
  std::mutex mutex_;
  std::condition_variable has_changed_;
  std::deque<Batch> waiting_;
  std::set<std::string> asked_;                             ///< digests of the questions of this run
  std::vector<std::pair<std::size_t, std::size_t>> equal_;  ///< task and document of a question asked already
  std::size_t in_work_ = 0;
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  Cost spent_;
  Cost reserved_;               ///< of the requests under way
  double tokens_per_byte_ = 0;  ///< the most that a prompt of this run had
  bool is_ended_ = false;
  bool has_chatted_ = false;
  bool has_answered_ = false;                ///< to any request, in whatever form
  std::size_t fruitless_ = 0;                ///< documents in a row whose requests were not answered
  std::string last_failure_;                 ///< of a request that was not answered
  std::string hint_;                         ///< what to do about it
  std::map<std::string, Refusal> refusals_;  ///< by question
  std::size_t strange_ = 0;
  std::optional<Error> error_;
  JudgeRun run_;
};

}  // namespace

Result<JudgeRun> run_judge(const ChatEndpoint& endpoint, const JudgePrompt& prompt,
                           const std::vector<JudgeTask>& tasks, KeptAnswers& kept,
                           const JudgeRunOptions& options) {
  return JudgeWork(endpoint, prompt, tasks, kept, options).run();
}

}  // namespace metafuse::service
