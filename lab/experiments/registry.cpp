#include <fmt/format.h>

#include "core/atomic_file.h"
#include "lab/experiments/experiment.h"

namespace metafuse::lab::experiments {

namespace {

constexpr Experiment::Takes kFull{.full_size = true};

const Experiment kExperiments[] = {
    {"home-pages", "The demonstration's home pages",
     "the demonstration: RankBoost, unsupervised fusion and single templates on five samples",
     "Freund et al. 2003, sec. 6.1, on a Debian package index", "packages.txt (apt-cache dumpavail)",
     run_home_pages},
    {"spelling", "Corrections and completions",
     "typing errors in titles corrected, and right titles left alone", "ours, by Garbe's SymSpell",
     "text-collections/NAME/docs.jsonl, packages.txt", run_spelling},
    {"letor-agg",
     "Fusion on LETOR's rank aggregation sets",
     "fusion on the LETOR aggregation sets: RankBoost against RRF, CombMNZ, Borda and SearXNG's formula",
     "Freund et al. 2003 on Qin et al. 2010's rank aggregation sets",
     "letor4-agg",
     run_letor_agg,
     {.full_size = true, .peer_runs = true}},
    {"learning-curve", "What judged queries are worth",
     "quality of fused rankings by number of judged queries, above all those of auto", "ours",
     "letor4-agg, trec-runs-top100, packages.txt if any", run_learning_curve, kFull},
    {"hindsight", "auto beside the best learner in hindsight",
     "what auto loses by choosing, against the best learner in hindsight on every data set", "ours",
     "letor4-agg, trec-runs-top100, fedweb2013-qrels, packages.txt if any", run_hindsight},
    {"other-domains", "What other domains' models are worth",
     "what other domains' models are worth to a domain with few judged queries", "ours",
     "packages.txt (apt-cache dumpavail)", run_other_domains, kFull},
    {"fewer-engines", "Asking fewer engines",
     "what is lost when only the lists are asked that judged queries chose", "ours",
     "fedweb2013-qrels, packages.txt if any", run_fewer_engines},
    {"label-noise", "How careless may judges be",
     "every learner when judges turn grades at random by 0 to 40 %",
     "ours, on a question of Busa-Fekete et al. 2011, sec. 8", "letor4-agg, packages.txt if any",
     run_label_noise, kFull},
    {"judges", "Judges that are no people",
     "a language model's grades, right and 30 % wrong, and known items, as training data", "ours",
     "text-collections", run_judges, kFull},
    {"click-learning", "What clicks alone teach",
     "what clicks of three kinds of simulated users teach, with and without a poisoner",
     "ours, users of Hofmann et al. 2013", "letor4-agg", run_click_learning, kFull},
    {"metasearch", "Every fusion method on three collections",
     "every fusion method on TREC-3, TREC-COVID round 1 and FedWeb 2013, with significance",
     "ours, on the setting of Aslam, Montague 2001", "trec-runs-top100, fedweb2013-qrels", run_metasearch},
    {"hybrid", "Keywords and vectors",
     "keyword lists, vectors by latent semantic indexing, RRF and learned fusion",
     "ours, on the collection of Shaw, Wood, Wood, Tibbo 1991", "cystic-fibrosis", run_hybrid},
    {"online", "Online rankers (Harrington 2003)",
     "online rankers: synthetic ranks, four judges, movies; test and running losses",
     "Harrington 2003, tables 1 and 2, figures 2 and 3", "cystic-fibrosis, movielens-100k", run_online},
    {"calibrated", "Calibrated AdaBoost.MH (Busa-Fekete et al. 2011)",
     "calibrated AdaBoost.MH ensembles against plain ones, RankBoost and published results",
     "Busa-Fekete et al. 2011, table 2, figures 2 and 3",
     "letor3-OHSUMED, letor3-baselines, letor4-MQ2008, letor4-MQ2007 if any", run_calibrated, kFull},
    {"calibrated-factors", "Calibrated AdaBoost.MH, one factor at a time",
     "what may explain the gap between those ensembles and the published ones, one factor at a time",
     "ours, on Busa-Fekete et al. 2011, table 2", "letor3-OHSUMED, letor4-MQ2008", run_calibrated_factors},
    {"movies", "Movie recommendations (Freund et al. 2003, sec. 6.2) on MovieLens 100K",
     "movie recommendations: RankBoost, VSIM, nearest neighbour, regression and what the paper proposes",
     "Freund et al. 2003, sec. 6.2, figures 5 to 8", "movielens-100k", run_movies, kFull},
    {"weak-learners", "RankBoost's four weak learners (Freund et al. 2003, fig. 4)",
     "training and test loss of WeakLearn.2, 3, 2.cum and 3.cum by round",
     "Freund et al. 2003, sec. 6.1.2, figure 4", "letor4-agg, packages.txt if any", run_weak_learners},
    {"mpboost", "MPBoost (Zhu et al. 2009)",
     "MPBoost's four forms against RankBoost and published results; overfitting",
     "Zhu et al. 2009, figures 2, 3, 5 and 6", "letor3-OHSUMED, letor3-baselines, mslr-web10k-sample",
     run_mpboost, kFull},
    {"rankboost-plus", "RankBoost+ against Rb-d and Rb-c (Connamacher et al. 2020)",
     "Rb-d, Rb-c and RankBoost+: average ranks, convergence, halting, speed",
     "Connamacher et al. 2020, tables 1 to 4, figures 1 to 4",
     "movielens-100k, mslr-web10k-sample, letor4-MQ2008", run_rankboost_plus, kFull},
};

}  // namespace

std::span<const Experiment> experiments() {
  return kExperiments;
}

const Experiment* find_experiment(std::string_view name) {
  for (const Experiment& experiment : experiments())
    if (experiment.name == name) return &experiment;
  return nullptr;
}

Result<std::string> run(const Experiment& experiment, const ExperimentOptions& options) {
  if (options.data.empty()) return fail(Code::usage, "give --data DIR, the folder of the data sets");
  TRY(auto report, experiment.run(options));
  std::string text = report.text;
  JsonArray claims;
  std::vector<std::string> sentences;
  if (!report.claims.empty()) text += "Claims\n";
  for (const Claim& claim : report.claims) {
    sentences.push_back(fmt::format("{}: {} ({})", claim.verdict, claim.text, claim.evidence));
    text += "- " + sentences.back() + "\n";
    claims.push_back(
        JsonObject{{"claim", claim.text}, {"verdict", claim.verdict}, {"evidence", claim.evidence}});
  }
  if (options.output.empty()) return text;
  report.json["claims"] = std::move(claims);
  report.json["seed"] = options.seed;
  const std::string base = options.output + "/" + experiment.name;
  TRY_VOID(write_file(base + ".txt", text));
  TRY_VOID(write_file(base + ".json", to_pretty_text(Json(report.json))));
  TRY_VOID(write_file(base + ".html",
                      evaluation::html_page(experiment.title, report.text, report.plots, sentences)));
  return text;
}

}  // namespace metafuse::lab::experiments
