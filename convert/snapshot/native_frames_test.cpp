#include "convert/snapshot/native_frames.h"

#include <gtest/gtest.h>

namespace dcmt::convert {
namespace {

std::vector<SnapshotFrame> frames(const std::vector<std::string_view>& functions) {
  std::vector<SnapshotFrame> all;
  for (const std::string_view function : functions) all.push_back({"??", function, 0});
  return all;
}

TEST(NativeFrames, TheNodeAndItsOutermostOperator) {
  EXPECT_EQ(node_and_operator(
                frames({"torch::unwind::unwind()", "at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>)",
                        "at::_ops::div_Tensor::redispatch(c10::DispatchKeySet)",
                        "at::_ops::div_Tensor::call(at::Tensor const&, at::Tensor const&)",
                        "torch::autograd::generated::MeanBackward0::apply(std::vector<at::Tensor>&&)",
                        "at::_ops::_backward::call(at::Tensor const&)", "__clone"})),
            "MeanBackward0 → aten::div");
  EXPECT_EQ(
      node_and_operator(frames({"c10::alloc()", "torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)"})),
      "AccumulateGrad");
  EXPECT_EQ(node_and_operator(frames({"at::_ops::convolution_backward::call(at::Tensor const&)", "train(Net&)"})),
            "aten::convolution_backward");
  EXPECT_EQ(node_and_operator(frames({"torch::unwind::unwind()", "train(Net&)", "main"})), "");
}

TEST(NativeFrames, FramesOfTheProgramAreNoPlumbing) {
  for (const std::string_view function : {"torch::unwind::unwind()", "c10::cuda::CUDACachingAllocator::malloc()"})
    EXPECT_TRUE(is_plumbing({"??", function, 0})) << function;
  for (const std::string_view function : {"Net::forward(at::Tensor)", "main", "cudnn_frontend::plan()"})
    EXPECT_FALSE(is_plumbing({"??", function, 0})) << function;
}

}  // namespace
}  // namespace dcmt::convert
