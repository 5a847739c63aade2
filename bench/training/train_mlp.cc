#include "bench/training/train_mlp.h"

#include <algorithm>
#include <limits>

#include "bench/training/train_data.h"
#include "collectives/kernels/scalar.h"

namespace hockney {
namespace {

// Different numbers for every use of one seed.
std::uint64_t StudentSeed(std::uint64_t seed) { return 3 * seed; }
std::uint64_t TeacherSeed(std::uint64_t seed) { return 3 * seed + 1; }
std::uint64_t InputSeed(std::uint64_t seed) { return 2 * (3 * seed + 2); }

// A step of Adam moves every parameter by as much as the rate, and `features` of them together move
// what is between the products.
AdamWOptions OptionsOf(const MlpShape& shape) { return {.learning_rate = 0.2 / shape.features}; }

void Round(DataType type, std::span<float> numbers) {
  if (type != DataType::kBfloat16) return;
  for (float& each : numbers) each = Bfloat16::Decode(Bfloat16::Encode(each));
}

}  // namespace

MlpTrainer::MlpTrainer(const TrainPlan& plan, std::int64_t rank,
                       const std::shared_ptr<const Gemm>& gemm, const TrainExchanges& exchanges)
    : plan_(plan),
      exchanges_(exchanges),
      place_(PlaceOf(plan.degrees, rank)),
      model_(PartOf(plan), RowsOf(plan), gemm),
      teacher_(plan.shape, RowsOf(plan), gemm),
      teacher_parameters_(InitialParameters(plan.shape, TeacherSeed(plan.seed))),
      parameters_(TensorPart(plan.shape, InitialParameters(plan.shape, StudentSeed(plan.seed)),
                             static_cast<int>(place_.tp), static_cast<int>(plan.degrees.tp))),
      optimizer_(static_cast<std::size_t>(MasterElements(plan)), OptionsOf(plan.shape)) {
  parameters_.resize(static_cast<std::size_t>(PaddedElements(plan)));
  gradients_.resize(parameters_.size());  // of the padding they stay 0
  const auto kept = static_cast<std::size_t>(MasterElements(plan));
  const bool is_shard = kept < parameters_.size();
  const std::size_t begin = is_shard ? static_cast<std::size_t>(place_.dp) * kept : 0;
  const auto own = std::span<const float>(parameters_).subspan(begin, kept);
  master_.assign(own.begin(), own.end());
  master_gradients_.resize(kept);
  Round(plan_.weights, parameters_);
  const auto values =
      static_cast<std::size_t>(RowsOf(plan)) * static_cast<std::size_t>(plan.shape.features);
  for (auto* each : {&inputs_, &targets_, &outputs_, &output_gradients_, &input_gradients_})
    each->resize(values);
  if (plan_.sharding == Sharding::kZero3) DropParameters();
}

void MlpTrainer::FillBatch() {
  const std::int64_t first = steps_ * plan_.rows + place_.dp * RowsOf(plan_);
  FillInputs(plan_.shape.features, InputSeed(plan_.seed), first, inputs_);
  teacher_.Forward(teacher_parameters_, inputs_, targets_);
  teacher_.AddBias(teacher_parameters_, targets_);
}

void MlpTrainer::GatherParameters() {
  weights_ = master_;
  Round(plan_.weights, weights_);
  exchanges_.parameters.Run(weights_, parameters_);
}

// What computes with parameters that it should have gathered gets no number.
void MlpTrainer::DropParameters() {
  std::ranges::fill(parameters_, std::numeric_limits<float>::quiet_NaN());
}

double MlpTrainer::Forward() {
  model_.Forward(parameters_, inputs_, outputs_);
  exchanges_.outputs.Run(outputs_, outputs_);
  model_.AddBias(parameters_, outputs_);
  return MeanSquaredError<float>(outputs_, targets_, output_gradients_);
}

void MlpTrainer::Backward() {
  model_.Backward(parameters_, output_gradients_, gradients_, input_gradients_);
  exchanges_.input_gradients.Run(input_gradients_, input_gradients_);
  model_.GainGradient(inputs_, input_gradients_, gradients_);
}

void MlpTrainer::Update() {
  exchanges_.gradients.Run(gradients_, master_gradients_);
  const float share = 1 / static_cast<float>(plan_.degrees.dp);
  for (float& each : master_gradients_) each *= share;
  optimizer_.Update(master_, master_gradients_);
}

double MlpTrainer::MeanLoss(double own) const {
  auto sum = static_cast<float>(own);
  exchanges_.loss.Run({&sum, 1}, {&sum, 1});
  return static_cast<double>(sum) / static_cast<double>(plan_.degrees.dp);
}

double MlpTrainer::Step() {
  const bool drops = plan_.sharding == Sharding::kZero3;
  FillBatch();
  if (drops) GatherParameters();
  const double own_loss = Forward();
  if (drops) {
    DropParameters();
    GatherParameters();
  }
  Backward();
  Update();
  if (drops) {
    DropParameters();
  } else {
    GatherParameters();
  }
  ++steps_;
  return MeanLoss(own_loss);
}

}  // namespace hockney
