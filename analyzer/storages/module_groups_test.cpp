#include "analyzer/storages/module_groups.h"

#include <gtest/gtest.h>

namespace dcmt::analyzer {
namespace {

ModuleGroup group(const std::string& name, std::int64_t bytes, const std::string& category, bool is_module = true) {
  ModuleGroup result;
  result.name = name;
  result.is_module = is_module;
  result.bytes = Bytes(bytes);
  Group& of = result.categories.emplace_back();
  of.name = category;
  of.bytes = Bytes(bytes);
  return result;
}

TEST(ModuleGroups, AreJoinedByTheFirstPartsOfTheirNames) {
  const std::vector<ModuleGroup> groups = {group("model.layers.0.mlp", 40, "parameter"),
                                           group("model.layers.1.mlp", 30, "gradient"),
                                           group("model.head", 20, "parameter"), group("models[0].a", 5, "parameter"),
                                           group("train.py:3 model.f", 5, "temporary", false)};
  const std::vector<ModuleGroup> two = at_depth(groups, 2);
  ASSERT_EQ(two.size(), 4U);
  EXPECT_EQ(two[0].name, "model.layers");
  EXPECT_EQ(two[0].bytes.value, 70);
  EXPECT_DOUBLE_EQ(two[0].share, 0.7);
  ASSERT_EQ(two[0].categories.size(), 2U);
  EXPECT_EQ(two[0].categories[0].name, "parameter");
  const std::vector<ModuleGroup> one = at_depth(groups, 1);
  ASSERT_EQ(one.size(), 3U);
  EXPECT_EQ(one[0].name, "model");
  EXPECT_EQ(one[0].bytes.value, 90);
  EXPECT_EQ(one[2].bytes.value, 5);
  EXPECT_EQ(at_depth(groups, 9).size(), groups.size());
  EXPECT_EQ(at_depth({group("self.model.layers.0", 1, "parameter")}, 2)[0].name, "self.model.layers");
  EXPECT_EQ(at_depth({group("self", 1, "parameter")}, 2)[0].name, "self");
}

}  // namespace
}  // namespace dcmt::analyzer
