#include "bench/training/train_mlp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "bench/training/train_calls.h"
#include "bench/training/train_data.h"
#include "bench/training/train_run.h"
#include "tests/bench/training/load_gemm.h"
#include "topology/check.h"

namespace hockney {
namespace {

constexpr double kTimeoutSeconds = 60;
constexpr int kSteps = 20;

// Numbers that 3 and 4 ranks share out alike, and parameters that they do not: shards have padding.
TrainPlan PlanOf(int tp, int dp, Sharding sharding) {
  return {.shape = {.features = 22, .inner = 36},
          .rows = 48,
          .degrees = {.tp = tp, .dp = dp},
          .sharding = sharding,
          .seed = 5};
}

using Losses = std::vector<double>;

Losses StepBy(MlpTrainer& trainer) {
  Losses losses;
  for (int step = 0; step < kSteps; ++step) losses.push_back(trainer.Step());
  return losses;
}

Losses OneRankLosses(const TrainPlan& plan, const std::shared_ptr<const Gemm>& gemm) {
  MlpTrainer trainer(OneRank(plan), 0, gemm, {});
  return StepBy(trainer);
}

// Leaves out a collective: gives its buffers what a rank would have without the others.
class NoExchange : public Prepared {
 public:
  NoExchange(const Exchange& exchange, std::size_t rank)
      : input_(exchange.input), output_(exchange.output), rank_(rank) {}
  void Run() override {
    if (input_.size() > output_.size()) {
      std::ranges::copy(input_.subspan(rank_ * output_.size(), output_.size()), output_.begin());
    } else {
      std::fill(output_.begin(), output_.end(), 0.0F);
      const bool gathers = input_.size() < output_.size();
      std::ranges::copy(input_, output_.begin() + (gathers ? rank_ * input_.size() : 0));
    }
  }

 private:
  std::span<float> input_;
  std::span<float> output_;
  std::size_t rank_;
};

// Calls `train` with a trainer for every rank; `broken`, if given, is a collective that is left out
// on all ranks.
void TrainOnRanks(const TrainPlan& plan, const std::shared_ptr<const Gemm>& gemm,
                  const std::function<void(const Session&, MlpTrainer&)>& train,
                  Exchange TrainExchanges::*broken = nullptr) {
  const auto ranks = static_cast<int>(RanksOfWorld(plan.degrees));
  RunThreadRanks(ranks, kTimeoutSeconds, [&](Session& session) {
    Session local = session.SplitSharedMemory();
    const HostExecutor::Options executor{.oversubscribed = true,
                                         .timeout_seconds = kTimeoutSeconds};
    HostGroundOptions options{.executor = executor};
    options.domain.lanes = 1;
    const HostGround ground = MakeHostGround(session, local, options);
    const TrainCalls calls(session, ground, nullptr, plan, {.executor = executor});
    TrainExchanges exchanges = calls.Exchanges();
    std::unique_ptr<NoExchange> nothing;
    if (broken != nullptr) {
      nothing =
          std::make_unique<NoExchange>(exchanges.*broken, static_cast<std::size_t>(session.rank()));
      (exchanges.*broken).call = nothing.get();
    }
    MlpTrainer trainer(plan, session.rank(), gemm, exchanges);
    train(session, trainer);
    session.Barrier();
  });
}

// Returns rank 0's losses.
Losses LossesOf(const TrainPlan& plan, const std::shared_ptr<const Gemm>& gemm,
                Exchange TrainExchanges::*broken = nullptr) {
  Losses losses;
  const auto train = [&](const Session& session, MlpTrainer& trainer) {
    const Losses own = StepBy(trainer);
    if (session.rank() == 0) losses = own;
  };
  TrainOnRanks(plan, gemm, train, broken);
  return losses;
}

double LargestDifference(const Losses& losses, const Losses& others) {
  double largest = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const double difference = LossDifference(losses[i], others[i]);
    if (std::isnan(difference)) return difference;
    largest = std::max(largest, difference);
  }
  return largest;
}

TEST(TrainMlpTest, LossFalls) {
  const auto gemm = testing::LoadGemmOrSkip();
  if (!gemm) return;
  const Losses losses = OneRankLosses(PlanOf(1, 1, Sharding::kDdp), gemm);
  EXPECT_GT(losses.front(), 0.1);
  EXPECT_LT(losses.back(), 0.6 * losses.front());
}

TEST(TrainMlpTest, RanksTrainAsOneDoes) {
  const auto gemm = testing::LoadGemmOrSkip();
  if (!gemm) return;
  struct Case {
    int tp;
    int dp;
    Sharding sharding;
  };
  std::vector<Case> cases;
  for (const int ranks : {1, 2, 3, 4}) {
    for (const Sharding sharding : {Sharding::kDdp, Sharding::kZero1, Sharding::kZero3})
      cases.push_back({1, ranks, sharding});
    cases.push_back({ranks, 1, Sharding::kDdp});
  }
  cases.push_back({2, 2, Sharding::kDdp});
  cases.push_back({2, 2, Sharding::kZero3});
  for (const Case& each : cases) {
    for (const DataType weights : {DataType::kFloat32, DataType::kBfloat16}) {
      TrainPlan plan = PlanOf(each.tp, each.dp, each.sharding);
      plan.weights = weights;
      const double difference = LargestDifference(LossesOf(plan, gemm), OneRankLosses(plan, gemm));
      EXPECT_LE(difference, kLossTolerance)
          << Text(plan.degrees) << " " << Name(plan.sharding) << " " << Name(weights);
    }
  }
}

// Weights of bfloat16 have 8 bits: steps of the rate are lost in most of them, but not in the
// master.
TEST(TrainMlpTest, RoundedWeightsStillLearn) {
  const auto gemm = testing::LoadGemmOrSkip();
  if (!gemm) return;
  TrainPlan plan = PlanOf(1, 1, Sharding::kDdp);
  const Losses exact = OneRankLosses(plan, gemm);
  plan.weights = DataType::kBfloat16;
  const Losses rounded = OneRankLosses(plan, gemm);
  EXPECT_NE(exact.front(), rounded.front());
  EXPECT_NEAR(rounded.back(), exact.back(), 0.05 * exact.back());
}

// Adam takes gradients of any scale alike, so losses do not show one that counts twice.
TEST(TrainMlpTest, GradientsAreMeansOfTheGlobalBatch) {
  const auto gemm = testing::LoadGemmOrSkip();
  if (!gemm) return;
  const TrainPlan plan = PlanOf(1, 3, Sharding::kZero1);
  MlpTrainer one_rank(OneRank(plan), 0, gemm, {});
  one_rank.Step();
  std::vector<float> expected(one_rank.mean_gradients().begin(), one_rank.mean_gradients().end());
  expected.resize(static_cast<std::size_t>(PaddedElements(plan)));  // with zeros
  ASSERT_GT(expected.size(), one_rank.mean_gradients().size());
  TrainOnRanks(plan, gemm, [&](const Session& session, MlpTrainer& trainer) {
    trainer.Step();
    const auto own = trainer.mean_gradients();
    const auto begin = static_cast<std::size_t>(session.rank()) * own.size();
    float largest = 0;
    for (std::size_t i = 0; i < own.size(); ++i)
      largest = std::max(largest, std::abs(own[i] - expected[begin + i]));
    EXPECT_LT(largest, 1e-6) << session.rank();
  });
}

// What the tolerance is for: each collective that is left out shows.
TEST(TrainMlpTest, ACollectiveThatIsLeftOutShowsInTheLoss) {
  const auto gemm = testing::LoadGemmOrSkip();
  if (!gemm) return;
  struct Case {
    const char* what;
    TrainPlan plan;
    Exchange TrainExchanges::*broken;
  };
  const Case cases[] = {
      {"ddp gradients", PlanOf(1, 2, Sharding::kDdp), &TrainExchanges::gradients},
      {"zero1 gradients", PlanOf(1, 2, Sharding::kZero1), &TrainExchanges::gradients},
      {"zero1 parameters", PlanOf(1, 2, Sharding::kZero1), &TrainExchanges::parameters},
      {"zero3 parameters", PlanOf(1, 2, Sharding::kZero3), &TrainExchanges::parameters},
      {"outputs", PlanOf(2, 1, Sharding::kDdp), &TrainExchanges::outputs},
      {"input gradients", PlanOf(2, 1, Sharding::kDdp), &TrainExchanges::input_gradients},
  };
  for (const Case& each : cases) {
    const double difference =
        LargestDifference(LossesOf(each.plan, gemm, each.broken), OneRankLosses(each.plan, gemm));
    EXPECT_FALSE(difference <= 5 * kLossTolerance) << each.what << ": " << difference;
  }
}

TEST(TrainMlpTest, RowsAreHandedOverAndCompared) {
  const auto gemm = testing::LoadGemmOrSkip();
  if (!gemm) return;
  const TrainPlan plan = PlanOf(1, 1, Sharding::kDdp);
  TrainPlan other = plan;
  other.seed = 6;
  RunThreadRanks(1, kTimeoutSeconds, [&](Session& session) {
    for (const TrainPlan& beside : {plan, other}) {
      MlpTrainer trainer(plan, 0, gemm, {});
      MlpTrainer one_rank(beside, 0, gemm, {});
      std::vector<LossRow> rows;
      const TrainOutcome outcome = RunTraining(session, trainer, &one_rank, 3,
                                               [&](const LossRow& row) { rows.push_back(row); });
      EXPECT_TRUE(outcome.finished);
      EXPECT_EQ(outcome.same_loss, beside.seed == plan.seed);
      ASSERT_EQ(rows.size(), 3U);
      EXPECT_EQ(rows[0].step, 1);
      EXPECT_EQ(rows[2].step, 3);
      EXPECT_EQ(rows[0].loss == rows[0].one_rank_loss, beside.seed == plan.seed);
    }
  });
}

// Squared error as a function of the parameters, or of the inputs.
double Loss(Mlp<double>& model, const std::vector<double>& parameters,
            const std::vector<double>& inputs, const std::vector<double>& targets) {
  std::vector<double> outputs(targets.size());
  std::vector<double> gradients(targets.size());
  model.Forward(parameters, inputs, outputs);
  model.AddBias(parameters, outputs);
  return MeanSquaredError<double>(outputs, targets, gradients);
}

TEST(MlpTest, GradientsAreThoseOfFiniteDifferences) {
  const auto gemm = testing::LoadGemmOrSkip();
  if (!gemm) return;
  const MlpShape shape{.features = 3, .inner = 5};
  constexpr int kRows = 4;
  Mlp<double> model(shape, kRows, gemm);
  const auto random = [](std::size_t count, std::uint64_t seed) {
    std::vector<double> numbers(count);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = UniformAt(seed, i);
    return numbers;
  };
  std::vector<double> parameters = random(static_cast<std::size_t>(Elements(shape)), 1);
  const std::vector<double> inputs = random(kRows * 3, 2);
  const std::vector<double> targets = random(kRows * 3, 3);
  std::vector<double> outputs(targets.size());
  std::vector<double> output_gradients(targets.size());
  std::vector<double> gradients(parameters.size(), -1);
  std::vector<double> input_gradients(inputs.size());
  model.Forward(parameters, inputs, outputs);
  model.AddBias(parameters, outputs);
  MeanSquaredError<double>(outputs, targets, output_gradients);
  model.Backward(parameters, output_gradients, gradients, input_gradients);
  model.GainGradient(inputs, input_gradients, gradients);
  constexpr double kStep = 1e-5;  // errors of its square and of 1e-16 over it
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double kept = parameters[i];
    parameters[i] = kept + kStep;
    const double above = Loss(model, parameters, inputs, targets);
    parameters[i] = kept - kStep;
    const double below = Loss(model, parameters, inputs, targets);
    parameters[i] = kept;
    EXPECT_NEAR(gradients[i], (above - below) / (2 * kStep), 1e-9) << i;
  }
}

// The first step is known: the mean over the root of the mean of squares is the gradient's sign.
TEST(AdamWTest, FirstStepMovesByTheRateAndDecays) {
  AdamW optimizer(3, {.learning_rate = 0.1, .weight_decay = 0.5});
  std::vector<float> parameters = {1, -2, 0};
  const std::vector<float> gradients = {4, -0.25F, 0};
  optimizer.Update(parameters, gradients);
  EXPECT_NEAR(parameters[0], 0.95 * 1 - 0.1, 1e-6);
  EXPECT_NEAR(parameters[1], 0.95 * -2 + 0.1, 1e-6);
  EXPECT_EQ(parameters[2], 0);
  // m = 0.9 * 0.1 * 4 + 0.1 * -4 = -0.04, over 1 - 0.81; v = (0.999 + 1) * 0.001 * 16 over 1 -
  // 0.999^2 = 16.
  const float before = parameters[0];
  optimizer.Update(parameters, std::vector<float>{-4, 0, 0});
  EXPECT_NEAR(parameters[0], 0.95 * before + 0.1 * (0.04 / 0.19) / 4, 1e-6);
}

TEST(TrainDataTest, InputsAreSharedOutByTheirNumber) {
  std::vector<float> all(6 * 4);
  std::vector<float> part(2 * 4);
  FillInputs(4, 9, 10, all);
  FillInputs(4, 9, 13, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 3 * 4));
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 10'000;
  for (int i = 0; i < kCount; ++i) {
    const double value = UniformAt(9, static_cast<std::uint64_t>(i));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.01);
  EXPECT_NE(UniformAt(9, 0), UniformAt(10, 0));
}

TEST(TrainPlanTest, WhatCannotBeTrainedIsSaid) {
  const auto why = [](const std::function<void(TrainPlan&)>& change) {
    TrainPlan plan = PlanOf(2, 2, Sharding::kDdp);
    change(plan);
    return WhyNotTrained(plan);
  };
  EXPECT_EQ(why([](TrainPlan&) {}), "");
  EXPECT_NE(why([](TrainPlan& plan) { plan.degrees.pp = 2; }), "");
  EXPECT_NE(why([](TrainPlan& plan) { plan.sharding = Sharding::kZero2; }), "");
  EXPECT_NE(why([](TrainPlan& plan) { plan.shape.inner = 37; }), "");
  EXPECT_NE(why([](TrainPlan& plan) { plan.rows = 47; }), "");
  EXPECT_NE(why([](TrainPlan& plan) { plan.weights = DataType::kFloat16; }), "");
  EXPECT_NE(why([](TrainPlan& plan) { plan.shape = {16384, 53248}; }), "");
}

}  // namespace
}  // namespace hockney
