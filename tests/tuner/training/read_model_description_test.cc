#include "tuner/training/read_model_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/scratch_folder.h"
#include "topology/check.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;
using testing::ScratchFolder;

std::string Failure(const std::string& text, const ModelOptions& options = {}) {
  try {
    ReadModelDescription(text, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no failure";
}

class ReadModelDescriptionTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.Path(name)) << text;
    return folder_.Path(name);
  }
  std::string WriteConfig() {
    return Write("config.json",
                 R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
                     "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
                     "max_position_embeddings": 32, "torch_dtype": "bfloat16"})");
  }

  ScratchFolder folder_;
};

TEST_F(ReadModelDescriptionTest, TakesAPresetsName) {
  const ModelDescription model = ReadModelDescription("llama3-8b", {});
  EXPECT_EQ(TotalElements(model), 8'030'261'248);
  EXPECT_EQ(model.parameters.at(0).type, DataType::kFloat32);
  const ModelDescription other = ReadModelDescription(
      "llama3-8b",
      {.tokens_per_sample = 4096, .type = DataType::kBfloat16, .scale = "layers=2,hidden=256"});
  EXPECT_EQ(other.tokens_per_sample, 4096);
  EXPECT_EQ(other.parameters.at(0).type, DataType::kBfloat16);
  EXPECT_EQ(other.transformer.value().layers, 2);
  EXPECT_EQ(other.parameters.size(), 2U * 9 + 3);
  EXPECT_EQ(TotalBytes(ReadModelDescription("resnet-18", {.type = DataType::kFloat16})),
            2 * 11'689'512);
}

TEST_F(ReadModelDescriptionTest, TakesAHuggingFaceConfig) {
  const std::string path = WriteConfig();
  const ModelDescription model = ReadModelDescription(path, {});
  EXPECT_EQ(model.name, path);
  EXPECT_EQ(model.tokens_per_sample, 32);
  const std::int64_t elements = 2 * 100 * 64 + 64 + 2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64);
  EXPECT_EQ(TotalElements(model), elements);
  EXPECT_EQ(TotalBytes(model), 2 * elements);
  EXPECT_EQ(TotalBytes(ReadModelDescription(path, {.type = DataType::kFloat32})), 4 * elements);
  EXPECT_EQ(ReadModelDescription(path, {.scale = "layers=5"}).transformer.value().layers, 5);
}

TEST_F(ReadModelDescriptionTest, TakesAListOfParameters) {
  const std::string path = Write("model.csv", "name,shape,dtype\na,4x5,float16\n");
  EXPECT_EQ(ReadModelDescription(path, {}).tokens_per_sample, 1);
  const ModelDescription model =
      ReadModelDescription(path, {.tokens_per_sample = 7, .type = DataType::kFloat32});
  EXPECT_EQ(TotalBytes(model), 80);
  EXPECT_EQ(model.units.at(0).forward_flops, 2 * 20 * 7);
}

TEST_F(ReadModelDescriptionTest, FilesThatCannotBeReadAreNamed) {
  EXPECT_THAT(Failure(folder_.Path("none.json")), HasSubstr(folder_.Path("none.json")));
  EXPECT_THAT(Failure(folder_.Path("none.csv")), HasSubstr(folder_.Path("none.csv")));
  EXPECT_THAT(Failure(Write("bad.json", "{")), HasSubstr("bad.json:1:2: "));
  EXPECT_THAT(Failure(Write("bad.csv", "name,shape,dtype\na,0,float32\n")),
              HasSubstr("bad.csv:2:3: \"0\""));
}

TEST_F(ReadModelDescriptionTest, AnUnknownNameListsThePresetsAndTheFiles) {
  EXPECT_THAT(Failure("llama9"), HasSubstr("one of gpt2, "));
  EXPECT_THAT(Failure("llama9"), HasSubstr("ending in .json"));
  EXPECT_THAT(Failure(""), HasSubstr("\"\": expected a model"));
}

TEST_F(ReadModelDescriptionTest, LengthsThatDoNotFitAreRefused) {
  EXPECT_THAT(Failure("llama3-8b", {.tokens_per_sample = -1}),
              HasSubstr("a sequence length of -1: expected 1 to 1073741824"));
  EXPECT_THAT(Failure("llama3-8b", {.tokens_per_sample = (std::int64_t{1} << 30) + 1}),
              HasSubstr("expected 1 to 1073741824"));
  EXPECT_EQ(Failure("gpt2", {.tokens_per_sample = 2048}),
            "gpt2: a sequence length of 2048: expected at most 1024, its learned positions");
  EXPECT_EQ(ReadModelDescription("llama3-8b", {.tokens_per_sample = 131072}).tokens_per_sample,
            131072);
  EXPECT_THAT(Failure("resnet-50", {.tokens_per_sample = 8}),
              HasSubstr("resnet-50: a sequence length of 8: expected none"));
}

TEST_F(ReadModelDescriptionTest, OnlyTransformersAreScaled) {
  EXPECT_EQ(Failure("resnet-18", {.scale = "layers=4"}),
            "resnet-18: scale \"layers=4\": expected none: it is a network for images, only the "
            "configuration of a transformer can be scaled");
  const std::string path = Write("model.csv", "name,shape,dtype\na,4x5,float16\n");
  EXPECT_THAT(Failure(path, {.scale = "layers=4"}), HasSubstr("a list of parameters says nothing"));
}

}  // namespace
}  // namespace hockney
