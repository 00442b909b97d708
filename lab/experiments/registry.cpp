#include "lab/experiments/experiment.h"

namespace metafuse::lab::experiments {

namespace {

const Experiment kExperiments[] = {
    {"home-pages", "the demonstration: RankBoost, unsupervised fusion and single templates on five samples",
     "Freund et al. 2003, sec. 6.1, on a Debian package index", "packages.txt (apt-cache dumpavail)",
     run_home_pages},
    {"spelling",
     "typing errors in titles corrected, right ones left alone, and how fast titles are completed",
     "ours, by Garbe's SymSpell", "text-collections/NAME/docs.jsonl, packages.txt", run_spelling},
    {"letor-agg",
     "fusion on the LETOR aggregation sets: RankBoost against RRF, CombMNZ, Borda and SearXNG's formula",
     "Freund et al. 2003 on Qin et al. 2010's rank aggregation sets", "letor4-agg", run_letor_agg, true},
    {"learning-curve", "quality of fused rankings by number of judged queries, above all those of auto",
     "ours", "letor4-agg, trec-runs-top100, packages.txt if any", run_learning_curve},
    {"hindsight", "what auto loses by choosing, against the best learner in hindsight on every data set",
     "ours", "letor4-agg, trec-runs-top100, fedweb2013-qrels, packages.txt if any", run_hindsight},
    {"other-domains", "what other domains' models are worth to a domain with few judged queries", "ours",
     "packages.txt (apt-cache dumpavail)", run_other_domains},
    {"fewer-engines", "what is lost when only the lists are asked that judged queries chose", "ours",
     "fedweb2013-qrels, packages.txt if any", run_fewer_engines},
    {"label-noise", "every learner when judges turn grades at random by 0 to 40 %",
     "ours, on a question of Busa-Fekete et al. 2011, sec. 8", "letor4-agg, packages.txt if any",
     run_label_noise},
    {"judges", "a language model's grades, right and 30 % wrong, and known items, as training data", "ours",
     "text-collections", run_judges},
    {"query-choice", "which query to judge next: a committee's disagreement against random choice",
     "ours, by Abe, Mamitsuka 1998", "letor4-agg", run_query_choice},
    {"click-learning", "what clicks of three kinds of simulated users teach, with and without a poisoner",
     "ours, users of Hofmann et al. 2013", "letor4-agg", run_click_learning},
    {"metasearch", "every fusion method on TREC-3, TREC-COVID round 1 and FedWeb 2013, with significance",
     "ours, on the setting of Aslam, Montague 2001", "trec-runs-top100, fedweb2013-qrels", run_metasearch},
    {"hybrid", "keyword lists, vectors by latent semantic indexing, RRF and learned fusion",
     "ours, on the collection of Shaw, Wood, Wood, Tibbo 1991", "cystic-fibrosis", run_hybrid},
    {"online", "online rankers: synthetic ranks, four judges, movies; test and running losses",
     "Harrington 2003, tables 1 and 2, figures 2 and 3", "cystic-fibrosis, movielens-100k", run_online},
    {"calibrated", "calibrated AdaBoost.MH ensembles against plain ones, RankBoost and published results",
     "Busa-Fekete et al. 2011, table 2, figures 2 and 3",
     "letor3-OHSUMED, letor3-baselines, letor4-MQ2008, letor4-MQ2007 if any", run_calibrated},
    {"calibrated-factors",
     "what may explain the gap between those ensembles and the published ones, one factor at a time",
     "ours, on Busa-Fekete et al. 2011, table 2", "letor3-OHSUMED, letor4-MQ2008", run_calibrated_factors},
    {"movies",
     "movie recommendations: RankBoost, VSIM, nearest neighbour, regression and what the paper proposes",
     "Freund et al. 2003, sec. 6.2, figures 5 to 8", "movielens-100k", run_movies},
    {"weak-learners", "training and test loss of WeakLearn.2, 3, 2.cum and 3.cum by round",
     "Freund et al. 2003, sec. 6.1.2, figure 4", "letor4-agg, packages.txt if any", run_weak_learners},
    {"mpboost", "MPBoost's four forms against RankBoost and published results; overfitting",
     "Zhu et al. 2009, figures 2, 3, 5 and 6", "letor3-OHSUMED, letor3-baselines, mslr-web10k-sample",
     run_mpboost},
    {"rankboost-plus", "Rb-d, Rb-c and RankBoost+: average ranks, convergence, halting, speed",
     "Connamacher et al. 2020, tables 1 to 4, figures 1 to 4",
     "movielens-100k, mslr-web10k-sample, letor4-MQ2008", run_rankboost_plus},
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

}  // namespace metafuse::lab::experiments
