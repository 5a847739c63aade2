#pragma once

#include "collectives/program.h"

// The builders behind the rows of collectives/algorithms.cc. Each is a pure function of its
// arguments; `parameters` hold lanes and pieces >= 1. All throw std::invalid_argument for shapes no
// program can have (see Builder).
namespace hockney {

// Ring of ranks r -> r+1. All-reduce and its halves: "Bandwidth optimal all-reduce algorithms for
// clusters of workstations", JPDC 69(2), 2009. Broadcast and reduce pass pieces along the chain
// that starts, or ends, at the root.
RankProgram RingAllReduce(const Shape& shape, int rank, const Parameters& parameters);
RankProgram RingReduceScatter(const Shape& shape, int rank, const Parameters& parameters);
RankProgram RingAllGather(const Shape& shape, int rank, const Parameters& parameters);
RankProgram RingBroadcast(const Shape& shape, int rank, const Parameters& parameters);
RankProgram RingReduce(const Shape& shape, int rank, const Parameters& parameters);
RankProgram RingShift(const Shape& shape, int rank, const Parameters& parameters);

// Two complementary binary trees, each with half of the vector: "Two-tree algorithms for full
// bandwidth broadcast, reduction and scan", Parallel Computing 35(12), 2009; NCCL's construction of
// the trees. Broadcast and reduce put the root outside both trees, as the paper does.
RankProgram TreeAllReduce(const Shape& shape, int rank, const Parameters& parameters);
RankProgram TreeBroadcast(const Shape& shape, int rank, const Parameters& parameters);
RankProgram TreeReduce(const Shape& shape, int rank, const Parameters& parameters);

// Exchange with the rank that differs in one bit. Ranks beyond the largest power of two fold into a
// partner first.
RankProgram DoublingAllReduce(const Shape& shape, int rank, const Parameters& parameters);
RankProgram DoublingAllGather(const Shape& shape, int rank, const Parameters& parameters);
RankProgram DoublingBarrier(const Shape& shape, int rank, const Parameters& parameters);

// Rabenseifner: recursive halving, then doubling. "Optimization of collective communication
// operations in MPICH", IJHPCA 19(1), 2005, section 4.
RankProgram HalvingAllReduce(const Shape& shape, int rank, const Parameters& parameters);
RankProgram HalvingReduceScatter(const Shape& shape, int rank, const Parameters& parameters);

// Every rank reads every input itself (one_shot); or reduces its part of all inputs and writes it
// to all outputs (two_shot: 2*p*n bytes of memory traffic, the least possible). With protocol LL
// both send packets instead.
RankProgram OneShotAllReduce(const Shape& shape, int rank, const Parameters& parameters);
RankProgram TwoShotAllReduce(const Shape& shape, int rank, const Parameters& parameters);

// The same peer shape for the other collectives: a rank reads and writes its peers' buffers between
// two barriers.
RankProgram DirectReduceScatter(const Shape& shape, int rank, const Parameters& parameters);
RankProgram DirectAllGather(const Shape& shape, int rank, const Parameters& parameters);
RankProgram DirectAllToAll(const Shape& shape, int rank, const Parameters& parameters);
RankProgram DirectBroadcast(const Shape& shape, int rank, const Parameters& parameters);
RankProgram DirectReduce(const Shape& shape, int rank, const Parameters& parameters);
RankProgram DirectGather(const Shape& shape, int rank, const Parameters& parameters);
RankProgram DirectScatter(const Shape& shape, int rank, const Parameters& parameters);
RankProgram DirectBarrier(const Shape& shape, int rank, const Parameters& parameters);
RankProgram DirectShift(const Shape& shape, int rank, const Parameters& parameters);

// "Efficient algorithms for all-to-all communications in multiport message-passing systems", IEEE
// TPDS 8(11), 1997.
RankProgram BruckAllGather(const Shape& shape, int rank, const Parameters& parameters);
RankProgram BruckAllToAll(const Shape& shape, int rank, const Parameters& parameters);

// p-1 exchanges, step j with the ranks at distance j.
RankProgram PairwiseAllToAll(const Shape& shape, int rank, const Parameters& parameters);
RankProgram PairwiseReduceScatter(const Shape& shape, int rank, const Parameters& parameters);

// "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv 2506.20252:
// Bruck with the dimensions reversed; `aggregation` limits the chunks of a message (log2(A) + p/A -
// 1 messages). The reduce-scatter goes breadth first and so uses scratch of the input's size, not
// the paper's logarithmic buffers.
RankProgram PatAllGather(const Shape& shape, int rank, const Parameters& parameters);
RankProgram PatReduceScatter(const Shape& shape, int rank, const Parameters& parameters);

// Everything through the root (rank `shape.root`, 0 where the collective has none): the baseline of
// baselines.
RankProgram NaiveAllReduce(const Shape& shape, int rank, const Parameters& parameters);
RankProgram NaiveReduceScatter(const Shape& shape, int rank, const Parameters& parameters);
RankProgram NaiveAllGather(const Shape& shape, int rank, const Parameters& parameters);
RankProgram NaiveAllToAll(const Shape& shape, int rank, const Parameters& parameters);
RankProgram NaiveBroadcast(const Shape& shape, int rank, const Parameters& parameters);
RankProgram NaiveReduce(const Shape& shape, int rank, const Parameters& parameters);
RankProgram NaiveGather(const Shape& shape, int rank, const Parameters& parameters);
RankProgram NaiveScatter(const Shape& shape, int rank, const Parameters& parameters);
RankProgram NaiveBarrier(const Shape& shape, int rank, const Parameters& parameters);
RankProgram NaiveShift(const Shape& shape, int rank, const Parameters& parameters);

// Other rows, inside nodes and between them, as `parameters.levels` and `parameters.placement` say
// (empty: the usual ones, on one node): all_reduce, reduce_scatter, all_gather, all_to_all,
// broadcast and reduce. Rank j of a node talks to rank j of other nodes. all_to_all cuts nodes of
// unlike numbers of ranks into equal ones first (see EqualNodes). Throws
// std::invalid_argument, with the reason, for levels that do not fit and placements that have no
// such program (see WhyNotHierarchical). Source: "Optimization of collective communication for
// heterogeneous HPC platforms" describes such compositions; NCCL's and Open MPI's (coll/han) are of
// two levels.
RankProgram Hierarchical(const Shape& shape, int rank, const Parameters& parameters);

}  // namespace hockney
