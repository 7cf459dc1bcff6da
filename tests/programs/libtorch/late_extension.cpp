// An extension that a Python program loads long after torch: it makes storages and tensors by inline code of its own,
// and a subclass of TensorImpl.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <vector>

namespace {

class LateTensor : public c10::TensorImpl {
 public:
  explicit LateTensor(c10::Storage storage)
      : c10::TensorImpl(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
                        caffe2::TypeMeta::Make<std::uint8_t>()) {}
};

c10::Storage make_storage(std::int64_t bytes) {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes, c10::GetAllocator(c10::kCPU),
                                               true);
}

std::vector<at::Tensor> make(std::int64_t bytes) {
  const auto sized = [&](at::Tensor tensor) {
    tensor.unsafeGetTensorImpl()->set_sizes_contiguous({bytes});
    return tensor;
  };
  const c10::Storage storage = make_storage(bytes);
  auto* memory = new char[static_cast<std::size_t>(bytes)];
  return {at::empty({bytes}, at::kByte), at::empty({0}, at::kByte).set_(storage),
          sized(at::Tensor(c10::make_intrusive<LateTensor>(storage))),
          sized(at::detail::make_tensor<c10::TensorImpl>(
              make_storage(bytes), c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<std::uint8_t>())),
          at::from_blob(
              memory, {bytes}, [](void* data) { delete[] static_cast<char*>(data); }, at::kByte)};
}

}  // namespace

/// The first word of a LateTensor.
extern "C" __attribute__((visibility("default"))) const void* late_tensor_class() {
  const auto tensor = c10::make_intrusive<LateTensor>(make_storage(1));
  return *reinterpret_cast<const void* const*>(tensor.get());
}

TORCH_LIBRARY(late, library) { library.def("make(int bytes) -> Tensor[]", &make); }
