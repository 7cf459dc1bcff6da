// Keeps one tensor by each kind of C++ holder that no Python object leads to; a Python program loads it with ctypes.
#include <ATen/core/ivalue.h>
#include <ATen/ops/ones.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace planted {

/// No virtual functions: an object without a name.
struct Plain {
  at::Tensor tensor;
};

struct Session {
  virtual ~Session() = default;
  std::shared_ptr<Plain> inner = std::make_shared<Plain>();
};

at::Tensor g_tensor;
std::vector<at::Tensor> g_vector;
std::unordered_map<std::string, at::Tensor> g_map;
std::shared_ptr<Session> g_session;
c10::IValue g_list;
c10::Storage g_storage;
thread_local at::Tensor t_tensor;

namespace {
std::vector<Plain>& hidden() {
  static std::vector<Plain> kept;
  return kept;
}
}  // namespace

}  // namespace planted

/// Writes the address of the data of each, in this order: variable, vector, map, session, list, storage, hidden, thread-local.
extern "C" __attribute__((visibility("default"))) void plant_native_holders(const void** data) {
  using namespace planted;
  std::int64_t size = 50'000;
  const auto make = [&] {
    at::Tensor tensor = at::ones({++size});
    *data++ = tensor.const_data_ptr();
    return tensor;
  };
  g_tensor = make();
  for (int i = 0; i < 20; ++i) g_vector.push_back(at::ones({10}));
  g_vector.push_back(make());
  g_map["kept"] = make();
  g_session = std::make_shared<Session>();
  g_session->inner->tensor = make();
  c10::List<at::Tensor> list;
  list.push_back(make());
  g_list = list;
  g_storage = make().storage();
  hidden().push_back({make()});
  t_tensor = make();
}
