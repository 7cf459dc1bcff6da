#include "tensors.h"

#include <ATen/ATen.h>
#include <c10/core/impl/alloc_cpu.h>

namespace {
at::Tensor make() { return at::ones({kTensorBytes / 4}); }
}  // namespace

HeldTensor::HeldTensor() : tensor_(new at::Tensor(make())) {}
void* HeldTensor::address() const { return static_cast<at::Tensor*>(tensor_)->unsafeGetTensorImpl(); }
HeldTensor::~HeldTensor() { delete static_cast<at::Tensor*>(tensor_); }

double make_tensors(int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += make().data_ptr<float>()[0];
  return sum;
}

void make_blocks(int count, std::int64_t bytes) {
  for (int i = 0; i < count; ++i) c10::free_cpu(c10::alloc_cpu(static_cast<std::size_t>(bytes)));
}
