#pragma once

#include <string>
#include <utility>

#include "tuner/training/model_description.h"

namespace hockney {

// Puts a description together in the order of registration, unit by unit.
class ModelBuilder {
 public:
  ModelBuilder(std::string name, std::string source);

  // What is added from now on belongs to this unit.
  void BeginUnit(std::string name, bool is_block);
  // Throws InputError, naming the model, beyond 2^56 elements or 1,000,000 tensors in all: nobody
  // trains that, and sums of it would overflow.
  void Add(ModelParameter parameter);
  void AddFlops(double flops) { model_.units.back().forward_flops += flops; }
  // All flops of the unit so far are the attention's.
  void EndAttention() { model_.units.back().attention_flops = model_.units.back().forward_flops; }

  const ModelDescription& model() const { return model_; }
  ModelDescription Take() && { return std::move(model_); }

 private:
  ModelDescription model_;
  double elements_ = 0;
};

}  // namespace hockney
