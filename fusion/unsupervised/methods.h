#pragma once

#include "fusion/unsupervised/fusion_method.h"

/// The functions behind the table of fusion methods; the file that holds each states its rule and source.
namespace metafuse::fusion::methods {

using Scores = std::vector<double>;

// rank_methods.cpp
void reciprocal_rank_fusion(const QueryLists&, const FusionOptions&, double k, Scores&);
void inverse_square_rank(const QueryLists&, const FusionOptions&, double k, Scores&);
void log_inverse_square_rank(const QueryLists&, const FusionOptions&, double k, Scores&);
void rank_biased_centroid(const QueryLists&, const FusionOptions&, double k, Scores&);
void borda(const QueryLists&, const FusionOptions&, double k, Scores&);
void searxng(const QueryLists&, const FusionOptions&, double k, Scores&);
void round_robin(const QueryLists&, const FusionOptions&, double k, Scores&);
void median_rank(const QueryLists&, const FusionOptions&, double k, Scores&);

// comb_methods.cpp
void comb_min(const QueryLists&, const FusionOptions&, double k, Scores&);
void comb_max(const QueryLists&, const FusionOptions&, double k, Scores&);
void comb_median(const QueryLists&, const FusionOptions&, double k, Scores&);
void comb_sum(const QueryLists&, const FusionOptions&, double k, Scores&);
void comb_anz(const QueryLists&, const FusionOptions&, double k, Scores&);
void comb_mnz(const QueryLists&, const FusionOptions&, double k, Scores&);
void comb_gmnz(const QueryLists&, const FusionOptions&, double k, Scores&);

// condorcet.cpp, copeland.cpp
void condorcet(const QueryLists&, const FusionOptions&, double k, Scores&);
void copeland(const QueryLists&, const FusionOptions&, double k, Scores&);

// markov_chains.cpp
void markov_chain_1(const QueryLists&, const FusionOptions&, double k, Scores&);
void markov_chain_2(const QueryLists&, const FusionOptions&, double k, Scores&);
void markov_chain_3(const QueryLists&, const FusionOptions&, double k, Scores&);
void markov_chain_4(const QueryLists&, const FusionOptions&, double k, Scores&);

// robust_rank_aggregation.cpp
void robust_rank_aggregation(const QueryLists&, const FusionOptions&, double k, Scores&);

// position_methods.cpp
void sum_of_position_values(const QueryLists&, const FusionOptions&, double k, Scores&);
void segfuse(const QueryLists&, const FusionOptions&, double k, Scores&);

}  // namespace metafuse::fusion::methods
