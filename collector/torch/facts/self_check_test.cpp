// Tests the self-check with the torch that the provider is built for: unchanged, and with each field moved.
#include "collector/torch/facts/self_check.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace dcmt::torch_provider {
namespace {

TEST(SelfCheckTest, TheTorchThatItWasBuiltForPasses) {
  EXPECT_STREQ(wrong_fields(Fields()), nullptr);
  EXPECT_STREQ(self_check(), nullptr);
}

TEST(SelfCheckTest, AFieldThatMovedIsRefused) {
  const std::vector<std::pair<std::string, std::size_t Fields::*>> all = {
      {"count", &Fields::count},
      {"tensor_storage", &Fields::tensor_storage},
      {"tensor_autograd", &Fields::tensor_autograd},
      {"tensor_py_object", &Fields::tensor_py_object},
      {"tensor_offset", &Fields::tensor_offset},
      {"tensor_elements", &Fields::tensor_elements},
      {"tensor_dtype", &Fields::tensor_dtype},
      {"storage_data", &Fields::storage_data},
      {"storage_device", &Fields::storage_device},
      {"storage_bytes", &Fields::storage_bytes},
      {"storage_py_object", &Fields::storage_py_object},
      {"view_base", &Fields::view_base},
      {"view_has_base", &Fields::view_has_base},
  };
  ASSERT_EQ(sizeof(Fields), all.size() * sizeof(std::size_t)) << "a field is not tested";
  for (const auto& [name, field] : all) {
    for (const std::ptrdiff_t by : {-8, 8}) {
      Fields moved;
      moved.*field += static_cast<std::size_t>(by);
      EXPECT_NE(wrong_fields(moved), nullptr) << name << " moved by " << by;
    }
  }
}

}  // namespace
}  // namespace dcmt::torch_provider
