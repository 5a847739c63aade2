#include "tuner/training/parameter_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topology/check.h"

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

ModelDescription Parse(const std::string& text, const ParameterCsvOptions& options = {}) {
  return ParseParameterCsv(text, "m.csv", options);
}

std::string Failure(const std::string& text) {
  try {
    Parse(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no failure";
}
std::string FailureOfRow(const std::string& row) {
  return Failure("name,shape,dtype\nx.weight,2x3,float32\n" + row + "\n");
}

std::vector<std::string> Names(const ModelDescription& model) {
  std::vector<std::string> names;
  for (const ModelParameter& parameter : model.parameters) names.push_back(parameter.name);
  return names;
}
// "name parameters", with a * for blocks.
std::vector<std::string> Units(const ModelDescription& model) {
  std::vector<std::string> units;
  for (const ModelUnit& unit : model.units) {
    units.push_back(unit.name + " " + std::to_string(unit.parameters) + (unit.is_block ? "*" : ""));
  }
  return units;
}

constexpr const char* kSmall =
    "name,shape,dtype\n"
    "embed.weight,1000x64,bfloat16\n"
    "layers.0.attn.q.weight,64x64,bfloat16\n"
    "layers.0.experts.1.weight,64x128,bfloat16\n"
    "layers.0.norm.weight,64,float32\n"
    "layers.1.attn.q.weight,64x64,bfloat16\n"
    "norm.weight,64,torch.float32\n"
    "head.weight,1000x64,bf16\n";

TEST(ParameterCsvTest, ReadsNamesShapesAndTypes) {
  const ModelDescription model = Parse(kSmall);
  EXPECT_EQ(model.name, "m.csv");
  EXPECT_EQ(model.parameters.at(0).name, "embed.weight");
  EXPECT_EQ(model.parameters.at(0).shape, (Shape{1000, 64}));
  EXPECT_EQ(model.parameters.at(0).type, DataType::kBfloat16);
  EXPECT_EQ(model.parameters.at(3).shape, (Shape{64}));
  EXPECT_EQ(model.parameters.at(5).type, DataType::kFloat32);
  EXPECT_EQ(model.parameters.at(6).type, DataType::kBfloat16);
  EXPECT_EQ(TotalElements(model), 2 * 64000 + 2 * 4096 + 8192 + 2 * 64);
  EXPECT_EQ(TotalBytes(model), 2 * TotalElements(model) + 2 * 2 * 64);
  EXPECT_EQ(model.tokens_per_sample, 1);
  EXPECT_FALSE(model.transformer);
  const ModelDescription convolution = Parse("name,shape,dtype\nconv1.weight,64x3x7x7,float32\n");
  EXPECT_EQ(convolution.parameters.at(0).shape, (Shape{64, 3, 7, 7}));
}

TEST(ParameterCsvTest, UnitsAreModulesUpToTheirFirstNumber) {
  EXPECT_THAT(Units(Parse(kSmall)), ElementsAre("embed 1", "layers.0 3*", "layers.1 1*", "norm 2"));
  EXPECT_THAT(Units(Parse("name,shape,dtype\n"
                          "conv1.weight,2,float32\n"
                          "bn1.weight,2,float32\n"
                          "layer1.0.downsample.0.weight,2,float32\n"
                          "layer1.1.conv1.weight,2,float32\n"
                          "h/2/w,2,float32\n"
                          "list.3,2,float32\n"
                          "scale,2,float32\n")),
              ElementsAre("conv1 2", "layer1.0 1*", "layer1.1 1*", "h/2 1*", "list 2"));
  const ModelDescription model = Parse(kSmall);
  EXPECT_EQ(model.units.at(2).first_parameter, 4);
}

TEST(ParameterCsvTest, FlopsAreTwoAnElementOfMatricesAndToken) {
  const ModelDescription model = Parse(kSmall, {.tokens_per_sample = 10});
  EXPECT_EQ(model.tokens_per_sample, 10);
  EXPECT_EQ(model.units.at(1).forward_flops, 2 * 10 * (4096 + 8192));
  EXPECT_EQ(model.units.at(3).forward_flops, 2 * 10 * 64000);
}

TEST(ParameterCsvTest, ATypeAskedForReplacesTheFiles) {
  EXPECT_EQ(TotalBytes(Parse(kSmall, {.type = DataType::kFloat64})),
            8 * TotalElements(Parse(kSmall)));
}

TEST(ParameterCsvTest, AnOrderSortsTheRows) {
  EXPECT_THAT(
      Names(Parse("order,dtype,name,shape\n7,float32,c,1\n-1,float32,a,2\n3,float32,b,3\n")),
      ElementsAre("a", "b", "c"));
}

TEST(ParameterCsvTest, MarksLineEndsAndSpacesDoNotMatter) {
  const ModelDescription model = Parse(
      "\xEF\xBB\xBF name , shape, dtype ,order\r\n\"b\",2 ,float32,2\r\n\r\n  a , 3 x 4 ,  "
      "float16\t, 1");
  EXPECT_THAT(Names(model), ElementsAre("a", "b"));
  EXPECT_EQ(model.parameters.at(0).shape, (Shape{3, 4}));
  EXPECT_EQ(model.parameters.at(0).type, DataType::kFloat16);
}

TEST(ParameterCsvTest, OtherColumnsAreRefused) {
  EXPECT_THAT(Failure("name,shape\na,1\n"), HasSubstr("m.csv:1:1: expected a column named dtype"));
  EXPECT_THAT(Failure("name,shape,dtype,ordr\n"),
              HasSubstr("m.csv:1:1: \"ordr\": expected the columns name, shape, dtype"));
  EXPECT_THAT(Failure("name,shape,dtype, name\n"), HasSubstr("\"name\": expected the columns"));
  EXPECT_THAT(Failure(""), HasSubstr("m.csv:1:1: expected a row of column names"));
}

TEST(ParameterCsvTest, AnEmptyListIsRefused) {
  EXPECT_EQ(Failure("name,shape,dtype\n"),
            "m.csv:1:1: no parameters: expected rows of name, shape and dtype");
}

TEST(ParameterCsvTest, ABadRowIsNamedWithItsPlace) {
  EXPECT_EQ(FailureOfRow("x.weight,4,float32"),
            "m.csv:3:1: \"x.weight\": expected each once, and line 2 has it");
  EXPECT_EQ(FailureOfRow(" ,4,float32"), "m.csv:3:1: \"\": expected a name");
  for (const std::string shape : {"0", "4x0", "-4", "4x-1", "4x", "x4", "4*4", "4.0", "4xx4",
                                  "1099511627777", "99999999999999999999", "scalar"}) {
    EXPECT_EQ(FailureOfRow("y,  " + shape + ",float32"),
              "m.csv:3:5: \"" + shape +
                  "\": expected sizes of 1 to 2^40 with an x between them, such as 64x3x7x7");
  }
  EXPECT_THAT(FailureOfRow("y,,float32"), HasSubstr("m.csv:3:3: \"\": expected sizes"));
  EXPECT_THAT(FailureOfRow("y,1099511627776x1099511627776,float32"),
              HasSubstr("expected at most 2^53 elements"));
  EXPECT_EQ(FailureOfRow("y,4,fp24"),
            "m.csv:3:5: \"fp24\": expected one of float16, bfloat16, float8_e4m3, float8_e5m2, "
            "float32, float64");
  EXPECT_THAT(FailureOfRow("y,4,int32"), HasSubstr("m.csv:3:5: \"int32\": expected one of"));
  EXPECT_THAT(FailureOfRow("y,4"), HasSubstr("m.csv:3:1: expected 3 fields, found 2"));
}

TEST(ParameterCsvTest, ABadOrderIsNamedWithItsPlace) {
  const std::string text = "name,shape,dtype,order\na,1,float32,1\nb,1,float32,";
  EXPECT_EQ(Failure(text + "1"), "m.csv:3:13: \"1\": expected each once, and line 2 has it");
  EXPECT_EQ(Failure(text + ""), "m.csv:3:13: \"\": expected a whole number, in every row");
  EXPECT_THAT(Failure(text + "1.5"), HasSubstr("m.csv:3:13: \"1.5\": expected a whole number"));
}

TEST(ParameterCsvTest, TooManyElementsAreRefused) {
  std::string text = "name,shape,dtype\n";
  for (int i = 0; i < 9; ++i) text += "w" + std::to_string(i) + ",9007199254740992,float32\n";
  EXPECT_THAT(Failure(text), HasSubstr("expected sizes"));
  text = "name,shape,dtype\n";
  for (int i = 0; i < 9; ++i) text += "w" + std::to_string(i) + ",1099511627776x8192,float32\n";
  EXPECT_THAT(Failure(text), HasSubstr("m.csv: w8: expected at most 72057594037927936"));
}

}  // namespace
}  // namespace hockney
