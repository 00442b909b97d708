#include "evaluation/reports/report.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "core/text.h"
#include "evaluation/reports/run_evaluation.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::evaluation;

namespace {

Report example_report(const test::TemporaryFolder& folder) {
  const auto judgments = read_qrels(folder.write("q", "1 0 a 1\n1 0 b 0\n2 0 a 1\n3 0 c 2\n"));
  Report report;
  report.set = *parse_measures("map,P.1,2,5,num_rel_ret");
  report.is_per_query = true;
  for (const auto& [name, text] :
       {std::pair{"x<&>", "1 Q0 b 1 2 x\n1 Q0 a 2 1 x\n2 Q0 a 1 1 x\n4 Q0 a 1 1 x\n"},
        std::pair{"y_z", "1 Q0 a 1 2 y\n2 Q0 d 1 1 y\n"}}) {
    const auto run = index_run(std::string(name) + "=" + folder.write("run", text));
    report.runs.push_back(*evaluate_run(*run, *judgments, report.set, {}));
  }
  return report;
}

}  // namespace

TEST_CASE("No cell of a CSV report is a formula", "[evaluation][report]") {
  const test::TemporaryFolder folder;
  Report report = example_report(folder);
  report.runs[0].run = "=HYPERLINK(\"x\")";
  report.runs[0].summary[0] = -0.5;
  const std::string csv = format_report(report, Format::csv);
  INFO(csv);
  CHECK(csv.find("\n\"'=HYPERLINK(\"\"x\"\")\",") != std::string::npos);
  CHECK(csv.find(",-0.5,") != std::string::npos);
}

TEST_CASE("Every format has every run with special characters escaped", "[evaluation][report]") {
  const test::TemporaryFolder folder;
  Report report = example_report(folder);
  REQUIRE(compare_with_baseline(report, {"y_z", "randomisation", 1}).has_value());
  CHECK(report.comparisons.size() == 4);
  CHECK(report.comparisons[0].difference == Approx(0.25));
  CHECK(report.comparisons[0].wins == 1);
  CHECK(report.comparisons[0].losses == 1);
  CHECK(format_report(report, Format::table).find("x<&>      all  0.7500") != std::string::npos);
  CHECK(format_report(report, Format::csv).find("x<&>,1,0.5,0,0.5,0.2,1,,") != std::string::npos);
  CHECK(format_report(report, Format::markdown).find("| x<&> | 2 | 1.0000 |") != std::string::npos);
  CHECK(format_report(report, Format::latex).find("y\\_z & all") != std::string::npos);
  const std::string page = format_report(report, Format::html);
  CHECK(page.find("x&lt;&amp;&gt;") != std::string::npos);
  CHECK(page.find("<figure><svg") != std::string::npos);
  CHECK(page.find("<rect") != std::string::npos);
  CHECK(page.find("src=") == std::string::npos);
  CHECK(page.find("href=") == std::string::npos);
  const auto json = parse_json(format_report(report, Format::json), "report");
  REQUIRE(json.has_value());
  const auto& run = json->as_object().at("runs").as_array()[0].as_object();
  CHECK(run.at("queries").to_number<int>() == 2);
  CHECK(run.at("per_query").as_object().at("2").as_object().at("map").to_number<double>() == 1.0);
}

TEST_CASE("A comparison of equal differences has no p value, and every format says so",
          "[evaluation][report]") {
  const test::TemporaryFolder folder;
  const auto judgments = read_qrels(folder.write("q", "1 0 a 1\n2 0 a 1\n"));
  Report report;
  report.set = *parse_measures("P.2,P.1");
  for (const auto& [name, text] :
       {std::pair{"x", "1 Q0 a 1 2 x\n2 Q0 a 1 2 x\n"},
        std::pair{"y", "1 Q0 b 1 2 y\n1 Q0 a 2 1 y\n2 Q0 b 1 1 y\n2 Q0 a 2 0 y\n"}}) {
    const auto run = index_run(std::string(name) + "=" + folder.write("run", text));
    report.runs.push_back(*evaluate_run(*run, *judgments, report.set, {}));
  }
  REQUIRE(compare_with_baseline(report, {"y", "t", 1}).has_value());
  const auto& at_one = report.comparisons.at(1);  // P.2 is .5 in both runs
  CHECK(at_one.difference == 1.0);
  CHECK_FALSE(at_one.p.has_value());
  CHECK_FALSE(at_one.p_holm.has_value());
  CHECK(report.comparisons.at(0).p_bonferroni == 1.0);
  const std::string note = "all queries have the same difference";
  for (const Format format : {Format::table, Format::markdown, Format::latex, Format::html})
    CHECK(format_report(report, format).find(note) != std::string::npos);
  CHECK(format_report(report, Format::csv).find(",y,t,0,0,0,1,1,1,,0,2,0,1,1,1,,,,,2,0,0\n") !=
        std::string::npos);
  const auto json = parse_json(format_report(report, Format::json), "report");
  CHECK(json->at_pointer("/comparisons/1/p").is_null());
  CHECK(json->at_pointer("/comparisons/0/p").to_number<double>() == 1.0);
}

TEST_CASE("CSV is one table with comparisons and agreements in the rows of their runs",
          "[evaluation][report]") {
  const test::TemporaryFolder folder;
  Report report = example_report(folder);
  REQUIRE(compare_with_baseline(report, {"y_z", "wilcoxon", 1}).has_value());
  report.reference = "y_z";
  report.agreements = {{"x<&>", 2, 0.5, 0.75}};
  report.is_per_query = GENERATE(true, false);
  const std::string csv = format_report(report, Format::csv);
  std::vector<std::vector<std::string>> rows;
  for (std::string_view text = csv; !text.empty();) {
    std::string_view line = take_until(text, '\n');
    auto& row = rows.emplace_back();
    for (bool has_more = true; has_more;) {
      has_more = line.find(',') != std::string_view::npos;
      row.emplace_back(take_until(line, ','));
    }
  }
  REQUIRE(rows.size() == (report.is_per_query ? 7 : 3));
  for (const auto& row : rows) CHECK(row.size() == rows.front().size());
  const auto cell = [&](std::size_t row, const std::string& column) {
    const auto at = std::ranges::find(rows.front(), column);
    REQUIRE(at != rows.front().end());
    return rows[row][static_cast<std::size_t>(at - rows.front().begin())];
  };
  const std::size_t compared = report.is_per_query ? 3 : 1;
  CHECK(cell(compared, "run") == "x<&>");
  CHECK(cell(compared, "baseline") == "y_z");
  CHECK(cell(compared, "test") == "wilcoxon");
  CHECK(cell(compared, "map_difference") == "0.25");
  CHECK(cell(compared, "P_5_wins") == "1");
  CHECK(cell(compared, "kendall_tau") == "0.5");
  CHECK(cell(rows.size() - 1, "run") == "y_z");
  CHECK(cell(rows.size() - 1, "map_difference").empty());
  CHECK(cell(rows.size() - 1, "rbo").empty());
}

TEST_CASE("Tables show top-k as counts and programs get shares and the best is marked",
          "[evaluation][report]") {
  Report report;
  report.set = *parse_measures("top_1,avg_rank_31");
  for (const double first : {1.0, 0.0}) {
    RunEvaluation run;
    run.run = first > 0 ? "good" : "bad";
    run.queries = {"1", "2", "3"};
    run.values = {1.0, 1.0, first, 2.0, 0.0, 5.0};
    summarise(run, report.set, {});
    report.runs.push_back(std::move(run));
  }
  CHECK(format_report(report, Format::table).find("good        3      2 ") != std::string::npos);
  CHECK(format_report(report, Format::csv).find("good,3,0.6666666666666666,2.6666666666666665") !=
        std::string::npos);
  CHECK(format_report(report, Format::html).find("<td><strong>2</strong></td>") != std::string::npos);
  CHECK(format_report(report, Format::latex).find("\\textbf{2}") != std::string::npos);
  CHECK(format_report(report, Format::latex).find("\\textbf{2.6667}") == std::string::npos);
  CHECK(format_report(report, Format::latex).find("\\textbf{1}") == std::string::npos);
}

TEST_CASE("Z-scores of counts have decimals in every table", "[evaluation][report]") {
  Report report;
  report.set = *parse_measures("num_rel_ret");
  report.is_z_score = true;
  RunEvaluation run;
  run.run = "a";
  run.queries = {"1"};
  run.values = run.summary = {0.73};
  report.runs.push_back(std::move(run));
  CHECK(format_report(report, Format::table).find("0.7300") != std::string::npos);
  CHECK(format_report(report, Format::csv).find("a,1,0.73\n") != std::string::npos);
}

TEST_CASE("A comparison with a run or test that does not exist is refused", "[evaluation][report]") {
  const test::TemporaryFolder folder;
  Report report = example_report(folder);
  CHECK(compare_with_baseline(report, {"nobody", "t", 1}).error().code == Code::usage);
  CHECK(compare_with_baseline(report, {"y_z", "u", 1}).error().code == Code::usage);
}

TEST_CASE("Runs without judged queries are an error and missing lists count as zero if asked",
          "[evaluation][report]") {
  const test::TemporaryFolder folder;
  const auto judgments = read_qrels(folder.write("q", "1 0 a 1\n2 0 a -1\n"));
  const auto set = *parse_measures("map");
  const auto other = index_run(folder.write("r", "9 Q0 a 1 1 t\n"));
  CHECK(evaluate_run(*other, *judgments, set, {}).error().code == Code::bad_data);
  const auto run = index_run(folder.write("s", "1 Q0 a 1 1 t\n"));
  CHECK(evaluate_run(*run, *judgments, set, {})->summary[0] == 1.0);
  EvaluationOptions complete;
  complete.is_complete = true;
  CHECK(evaluate_run(*run, *judgments, set, complete)->summary[0] == 0.5);
  // A topic with only negative judgments has nothing to find: 0, no crash.
  const auto negative = index_run(folder.write("n", "2 Q0 a 1 1 t\n"));
  CHECK(evaluate_run(*negative, *judgments, set, {})->summary[0] == 0.0);
  const auto twice = index_run(folder.write("d", "1 Q0 b 1 1 t\n1 Q0 a 2 1 t\n1 Q0 b 3 1 t\n"));
  const auto refused = evaluate_run(*twice, *judgments, set, {});
  REQUIRE(refused.has_error());
  CHECK(refused.error().text.find("d:3: the document \"b\" occurs twice") != std::string::npos);
  // A truncated file is an error even if its topic is not judged.
  const auto cut = index_run(folder.write("cut", "1 Q0 a 1 1 t\n9 Q0 b 1 1 t\n9 Q0 c\n"));
  CHECK(evaluate_run(*cut, *judgments, set, {}).error().text.find("cut:3: too few columns") !=
        std::string::npos);
}

TEST_CASE("A depth counts that many documents of each list", "[evaluation][report]") {
  const test::TemporaryFolder folder;
  const auto judgments = read_qrels(folder.write("q", "1 0 a 1\n1 0 b 0\n1 0 c 1\n"));
  const auto run = index_run(folder.write("r", "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 c 3 1 t\n"));
  const auto set = *parse_measures("num_ret,num_rel_ret,num_nonrel_judged_ret");
  EvaluationOptions options;
  CHECK(evaluate_run(*run, *judgments, set, options)->summary == std::vector<double>{3, 2, 1});
  options.depth = 2;
  CHECK(evaluate_run(*run, *judgments, set, options)->summary == std::vector<double>{2, 1, 1});
}

TEST_CASE("A query without a relevant document counts except under gdeval", "[evaluation][report]") {
  const test::TemporaryFolder folder;
  const auto judgments = read_qrels(folder.write("q", "1 0 a 1\n2 0 a 0\n"));
  const auto run = index_run(folder.write("r", "1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n"));
  const auto set = *parse_measures("P_1");
  EvaluationOptions options;
  CHECK(evaluate_run(*run, *judgments, set, options)->queries == std::vector<std::string>{"1", "2"});
  options.rules.mode = Mode::gdeval;
  CHECK(evaluate_run(*run, *judgments, *parse_measures("ndcg_cut_20"), options)->queries ==
        std::vector<std::string>{"1"});
  const std::string letor = folder.write("l", "1 qid:1 1:1\n0 qid:2 1:1\n");
  const std::string scores = folder.write("s", "1\n1\n");
  const auto set_of_gains = *parse_measures("ndcg_cut_20");
  CHECK(evaluate_letor(letor, false, scores, set_of_gains, options)->queries ==
        std::vector<std::string>{"1"});
  options.rules.mode = Mode::letor4;
  CHECK(evaluate_letor(letor, false, scores, set_of_gains, options)->queries ==
        std::vector<std::string>{"1", "2"});
}

TEST_CASE("A negative grade does not count as judged", "[evaluation][report]") {
  const test::TemporaryFolder folder;
  const auto judgments = read_qrels(folder.write("q", "1 0 a 1\n1 0 d 1\n1 0 b 0\n1 0 c -1\n"));
  const auto run = index_run(folder.write("r", "1 Q0 b 1 3 t\n1 Q0 a 2 2 t\n1 Q0 d 3 1 t\n"));
  // One document is judged not relevant, and it is ranked before both relevant ones: 1 - 1 / min(2, 1).
  CHECK(evaluate_run(*run, *judgments, *parse_measures("bpref"), {})->summary[0] == 0.0);
}

TEST_CASE("LETOR files are evaluated with a file of scores in the same order", "[evaluation][report]") {
  const test::TemporaryFolder folder;
  const std::string letor = folder.write("l", "0 qid:2 1:1 # a\n1 qid:2 1:2 # b\n1 qid:1 1:1 # c\n");
  const auto set = *parse_measures("map_all,P_1");
  EvaluationOptions options;
  options.rules.mode = Mode::letor4;
  const auto evaluated = evaluate_letor(letor, false, folder.write("s", "1\n1\n0.5\n"), set, options);
  REQUIRE(evaluated.has_value());
  CHECK(evaluated->queries == std::vector<std::string>{"1", "2"});
  CHECK(evaluated->summary == std::vector<double>{0.75, 0.5});
  for (const Mode mode : {Mode::letor3, Mode::letor4, Mode::mslr}) {  // equal scores stay as in the file
    options.rules.mode = mode;
    CHECK(evaluate_letor(letor, false, folder.write("s", "1\n1\n0.5\n"), *parse_measures("map_all"), options)
              ->values == std::vector<double>{1.0, 0.5});
  }
  CHECK(evaluate_letor(letor, false, folder.write("s", "1\n1\n"), set, options).error().code ==
        Code::bad_data);
  CHECK(
      evaluate_letor(letor, false, folder.write("s", "1\nnan\n1\n"), set, options).error().text.find(":2:") !=
      std::string::npos);
}

TEST_CASE("The highest grade of LETOR files is that of their grades", "[evaluation][report]") {
  const test::TemporaryFolder folder;
  const auto set = *parse_measures("err_10");
  const std::string letor = folder.write("l", "1 qid:1 1:1 # a\n2 qid:1 1:2 # b\n0 qid:1 1:1 # c\n");
  const auto of_letor = evaluate_letor(letor, false, folder.write("s", "3\n2\n1\n"), set, {});
  const auto judgments = read_qrels(folder.write("q", "1 0 a 1\n1 0 b 2\n1 0 c 0\n"));
  const auto run = index_run(folder.write("r", "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 c 3 1 t\n"));
  EvaluationOptions options;
  options.rules.top_grade = highest_grade(*judgments);
  CHECK(of_letor->summary == evaluate_run(*run, *judgments, set, options)->summary);
  CHECK(of_letor->summary[0] == Approx(0.25 + 0.75 * 0.75 / 2));
}

TEST_CASE("Equal scores of a run stay in the file's order by the rules of LETOR's scripts alone",
          "[evaluation][report]") {
  const test::TemporaryFolder folder;
  const auto judgments = read_qrels(folder.write("q", "1 0 a 1\n1 0 b 0\n"));
  const auto run = index_run(folder.write("r", "1 Q0 a 1 7 t\n1 Q0 b 2 7 t\n"));
  for (const auto& [mode, value] : {std::pair{Mode::letor3, 1.0},
                                    {Mode::letor4, 1.0},
                                    {Mode::mslr, 1.0},
                                    {Mode::trec9, 0.5},
                                    {Mode::trec10, 0.5},
                                    {Mode::gdeval, 0.5}}) {
    INFO(static_cast<int>(mode));
    EvaluationOptions options;
    options.rules.mode = mode;
    CHECK(evaluate_run(*run, *judgments, *parse_measures("map"), options)->summary[0] == value);
  }
}

TEST_CASE("Runs over other queries are not compared by Tukey's test", "[evaluation][report]") {
  const test::TemporaryFolder folder;
  const auto judgments = read_qrels(folder.write("q", "1 0 a 1\n2 0 a 1\n3 0 a 1\n"));
  const auto compared = [&](const std::string& last) {
    Report report;
    report.set = *parse_measures("map");
    const std::vector<std::pair<std::string, std::string>> files = {
        {"x", "1 Q0 a 1 1 x\n2 Q0 b 1 1 x\n"}, {"y", "1 Q0 b 1 1 y\n2 Q0 a 1 1 y\n"}, {"z", last}};
    for (const auto& [name, text] : files) {
      const auto run = index_run(name + "=" + folder.write(name, text));
      report.runs.push_back(*evaluate_run(*run, *judgments, report.set, {}));
    }
    REQUIRE(compare_with_baseline(report, {"x", "t", 1}).has_value());
    return std::ranges::all_of(report.comparisons,
                               [](const Comparison& one) { return one.p_tukey.has_value(); });
  };
  CHECK(compared("1 Q0 a 1 1 z\n2 Q0 a 1 1 z\n"));
  CHECK_FALSE(compared("2 Q0 a 1 1 z\n3 Q0 a 1 1 z\n"));
}

TEST_CASE("Tukey's p values compare with the baseline wherever it stands among the runs",
          "[evaluation][report]") {
  const test::TemporaryFolder folder;
  std::string qrels, good, same, bad;
  for (int query = 1; query <= 9; ++query) {
    const std::string number = std::to_string(query);
    qrels += number + " 0 a 1\n";
    good += number + " Q0 a 1 1 good\n";
    same += number + " Q0 a 1 1 same\n";
    bad += number + " Q0 b 1 1 bad\n";
  }
  const auto judgments = read_qrels(folder.write("q", qrels));
  Report report;
  report.set = *parse_measures("map");
  for (const auto& [name, text] : {std::pair{"good", good}, std::pair{"same", same}, std::pair{"bad", bad}}) {
    const auto run = index_run(std::string(name) + "=" + folder.write(name, text));
    report.runs.push_back(*evaluate_run(*run, *judgments, report.set, {}));
  }
  for (const std::string baseline : {"good", "same"}) {
    report.comparisons.clear();
    REQUIRE(compare_with_baseline(report, {baseline, "t", 1}).has_value());
    REQUIRE(report.comparisons.size() == 2);
    for (const Comparison& one : report.comparisons) {
      INFO(baseline << " and " << one.run);
      CHECK((one.p_tukey.value() < 0.01) == (one.run == "bad"));
    }
  }
}

TEST_CASE("Judgment groups give the mean over those that judged a query", "[evaluation][report]") {
  const test::TemporaryFolder folder;
  const std::vector<Judgments> groups = {*read_qrels(folder.write("q1", "1 0 a 1\n2 0 a 1\n")),
                                         *read_qrels(folder.write("q2", "2 0 b 1\n"))};
  const auto run = index_run(folder.write("r", "1 Q0 a 1 1 t\n2 Q0 a 1 2 t\n2 Q0 b 2 1 t\n"));
  const auto mean = evaluate_run_by_groups(*run, groups, *parse_measures("map"), {});
  REQUIRE(mean.has_value());
  CHECK(mean->queries == std::vector<std::string>{"1", "2"});
  CHECK(mean->values == std::vector<double>{1.0, 0.75});
  CHECK(mean->summary == std::vector<double>{0.875});
}

TEST_CASE("A judge of other queries does not stop the others, and relstring has no mean",
          "[evaluation][report]") {
  const test::TemporaryFolder folder;
  std::vector<Judgments> groups = {*read_qrels(folder.write("q1", "1 0 a 1\n7 0 a 1\n")),
                                   *read_qrels(folder.write("q2", "9 0 b 1\n"))};
  const auto run = index_run(folder.write("r", "1 Q0 a 1 1 t\n"));
  Report report;
  report.set = *parse_measures("map_all,relstring_5");
  report.is_per_query = true;
  report.runs = {evaluate_run_by_groups(*run, groups, report.set, {}).value()};
  CHECK(report.runs[0].queries == std::vector<std::string>{"1"});
  CHECK(report.runs[0].missing == 2);
  CHECK(report.runs[0].summary[0] == 1.0 / 3.0);  // two judged queries have no list
  CHECK(format_report(report, Format::trec_eval).find("relstring") == std::string::npos);
  groups.erase(groups.begin());
  CHECK(evaluate_run_by_groups(*run, groups, report.set, {}).error().code == Code::bad_data);
}

TEST_CASE("Without unjudged documents those that are judged not relevant stay", "[evaluation][report]") {
  const test::TemporaryFolder folder;
  const auto judgments = read_qrels(folder.write("q", "1 0 zero 0\n1 0 minus -1\n1 0 r 1\n"));
  const auto run =
      index_run(folder.write("r", "1 Q0 zero 1 4 t\n1 Q0 minus 2 3 t\n1 Q0 away 3 2 t\n1 Q0 r 4 1 t\n"));
  const auto set = *parse_measures("num_ret,recip_rank,relstring_5");
  EvaluationOptions options;
  CHECK(evaluate_run(*run, *judgments, set, options)->summary[1] == 0.25);
  options.judged_only = true;
  const auto evaluated = evaluate_run(*run, *judgments, set, options);
  CHECK(evaluated->summary[0] == 2.0);
  CHECK(evaluated->summary[1] == 0.5);
}

TEST_CASE("A run in memory is ordered by its entries where scores are equal", "[evaluation][report]") {
  const test::TemporaryFolder folder;
  const auto judgments = read_qrels(folder.write("q", "1 0 a 1\n1 0 z 0\n"));
  const auto run = read_run(folder.write("r", "1 Q0 a 1 1 t\n1 Q0 z 2 1 t\n"));
  const auto set = *parse_measures("recip_rank");
  EvaluationOptions options;
  const auto in_memory = evaluate_run(*run, *judgments, set, options);
  const auto from_file = evaluate_run(*index_run(folder.path("r")), *judgments, set, options);
  REQUIRE(in_memory.has_value());
  CHECK(in_memory->summary == from_file->summary);
}
