// How many bytes of gathered weights are alive, no matter which references keep them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace dcmt::zero3 {

class GatheredBytes {
 public:
  /// Call it after a weight, or its copy in another dtype, was allocated.
  void add(const at::Tensor& flat) {
    storages_.push_back(flat.storage().getWeakStorageImpl());
    most_ = std::max(most_, now());
  }

  /// The highest sum since the last call.
  std::int64_t read_most() { return std::exchange(most_, now()); }

 private:
  /// The sum only rises in add(), so freed storages can be dropped here.
  std::int64_t now() {
    std::int64_t bytes = 0;
    std::erase_if(storages_, [&](const auto& one) {
      const auto storage = one.lock();
      const auto left = storage ? static_cast<std::int64_t>(storage->nbytes()) : 0;
      bytes += left;
      return left == 0;
    });
    return bytes;
  }

  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> storages_;
  std::int64_t most_ = 0;
};

}  // namespace dcmt::zero3
