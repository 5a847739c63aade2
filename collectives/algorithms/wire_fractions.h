#pragma once

#include "collectives/program.h"

// What each algorithm moves between ranks, from its source's formula: bytes `rank` sends, or reads
// and writes in its peers' memory, over the size of the collective. The verifier holds every
// program against these.
namespace hockney::wire {

double Nothing(const Shape& shape, int rank, const Parameters& parameters);
double Everything(const Shape& shape, int rank, const Parameters& parameters);
double OnePass(const Shape& shape, int rank, const Parameters& parameters);    // (p-1)/p
double TwoPasses(const Shape& shape, int rank, const Parameters& parameters);  // 2(p-1)/p
double OneShot(const Shape& shape, int rank, const Parameters& parameters);    // p-1
double ToRoot(const Shape& shape, int rank, const Parameters& parameters);
double FromRoot(const Shape& shape, int rank, const Parameters& parameters);
double OneBlockToRoot(const Shape& shape, int rank, const Parameters& parameters);
double BlocksFromRoot(const Shape& shape, int rank, const Parameters& parameters);
double TreeAllReduce(const Shape& shape, int rank, const Parameters& parameters);
double TreeBroadcast(const Shape& shape, int rank, const Parameters& parameters);
double DoublingAllReduce(const Shape& shape, int rank, const Parameters& parameters);
double DoublingAllGather(const Shape& shape, int rank, const Parameters& parameters);
double HalvingAllReduce(const Shape& shape, int rank, const Parameters& parameters);
double HalvingReduceScatter(const Shape& shape, int rank, const Parameters& parameters);
double BruckAllToAll(const Shape& shape, int rank, const Parameters& parameters);
double RingBroadcast(const Shape& shape, int rank, const Parameters& parameters);
double DirectBroadcast(const Shape& shape, int rank, const Parameters& parameters);
double DirectReduce(const Shape& shape, int rank, const Parameters& parameters);
double NaiveAllReduce(const Shape& shape, int rank, const Parameters& parameters);
double NaiveReduceScatter(const Shape& shape, int rank, const Parameters& parameters);
double NaiveAllGather(const Shape& shape, int rank, const Parameters& parameters);
double NaiveAllToAll(const Shape& shape, int rank, const Parameters& parameters);
double NaiveShift(const Shape& shape, int rank, const Parameters& parameters);
// The sum of what its levels move; where nodes have unlike numbers of ranks, nearly so.
double Hierarchical(const Shape& shape, int rank, const Parameters& parameters);

}  // namespace hockney::wire
