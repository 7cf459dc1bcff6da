#include "trace/base/code_path.h"

#include <gtest/gtest.h>

namespace dcmt {
namespace {

TEST(CodePath, WhatAPersonWroteIsNoLibrary) {
  for (const char* own : {"/home/a/train.py", "<ipython-input-1-1fe1d4080093>", "<stdin>", "/tmp/ipykernel_7/12.py",
                          "/usr/lib/python3/dist-packages/transformers/trainer.py"}) {
    EXPECT_FALSE(is_library_file(own)) << own;
  }
  for (const char* library : {"", "<string>", "<frozen importlib._bootstrap>", "/usr/lib/python3.11/contextlib.py",
                              "/v/lib/python3.11/site-packages/torch/nn/modules/linear.py"}) {
    EXPECT_TRUE(is_library_file(library)) << library;
  }
}

TEST(CodePath, HeadersOfTorchAndOfCppAreALibrary) {
  for (const char* library : {"/opt/libtorch/include/torch/csrc/api/include/torch/nn/functional/loss.h",
                              "/opt/libtorch/include/ATen/ops/relu.h", "/usr/include/c++/12/bits/stl_vector.h"}) {
    EXPECT_TRUE(is_library_file(library)) << library;
  }
  EXPECT_FALSE(is_library_file("/home/a/train/include/net.h"));
  EXPECT_TRUE(is_library_function("torch::nn::functional::cross_entropy"));
  EXPECT_TRUE(is_library_function("std::vector::push_back"));
  EXPECT_FALSE(is_library_function("torchtrainer::step"));
  EXPECT_FALSE(is_library_function("main"));
}

}  // namespace
}  // namespace dcmt
