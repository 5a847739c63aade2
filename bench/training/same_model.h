#pragma once

#include "topology/session.h"
#include "tuner/training/model_description.h"

namespace hockney {

// Throws Agreed<InputError> on all ranks, naming the first tensor that differs, unless all have the
// same parameters: as many, with the same names, shapes and types in the same order. Collective.
void RequireSameModel(Session& session, const ModelDescription& model);

}  // namespace hockney
