// Keeps one tensor by each kind of C++ holder that no Python object leads to; a Python program loads it with ctypes.
#include <ATen/core/ivalue.h>
#include <ATen/ops/ones.h>
#include <torch/library.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <thread>
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

/// As the reduce buckets of DeepSpeed's DeepCompile: by type in one variable, which what runs a graph shares.
struct Buckets {
  std::unordered_map<c10::ScalarType, std::shared_ptr<Plain>> current;
};
struct Executor {
  virtual ~Executor() = default;
  std::shared_ptr<Buckets> buckets;
};
std::shared_ptr<Buckets> g_buckets;
std::unordered_map<long, std::shared_ptr<Executor>> g_executors;

/// What a Python program gives to the library.
std::vector<at::Tensor> g_given;

/// Both keep nothing any more: their memory still has the addresses of tensors that others keep.
std::vector<at::Tensor> g_tasks;
std::deque<at::Tensor> g_queue;

namespace {
std::vector<Plain>& hidden() {
  static std::vector<Plain> kept;
  return kept;
}
}  // namespace

/// Uses up malloc's free memory, so that what is allocated next lies where no object was before. The unused end of an
/// allocation may still have the address of an object from before, and then the search proves nothing for the object
/// that has this address now.
void use_up_free_memory() {
  const void* end = sbrk(0);
  for (std::size_t size = 4096; size >= 24; size -= 16) {
    void* volatile last = nullptr;  // a compiler removes allocations that nothing uses
    do {
      last = std::malloc(size);
    } while (last != nullptr && last < end);
  }
}

}  // namespace planted

TORCH_LIBRARY(planted, library) {
  library.def("keep(Tensor given) -> ()", [](const at::Tensor& given) { planted::g_given.push_back(given); });
}

/// Writes the address of the data of each, in this order: variable, vector, map, session, list, storage, hidden,
/// thread-local, buckets, and one that only a running function has.
extern "C" __attribute__((visibility("default"))) void plant_native_holders(const void** data) {
  using namespace planted;
  use_up_free_memory();
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
  g_buckets = std::make_shared<Buckets>();
  g_buckets->current[at::kFloat] = std::make_shared<Plain>();
  at::Tensor& bucket = g_buckets->current[at::kFloat]->tensor;
  bucket = make();
  for (long graph = 0; graph < 2; ++graph) {
    g_executors[graph] = std::make_shared<Executor>();
    g_executors[graph]->buckets = g_buckets;
  }
  at::Tensor running = make();
  for (int i = 0; i < 3; ++i) {
    for (const at::Tensor& each : {bucket, running}) {
      g_tasks.push_back(each);
      g_queue.push_back(each);
    }
  }
  g_tasks.clear();
  while (g_queue.size() > 1) g_queue.pop_front();
  g_queue.front() = at::ones({10});
  std::thread(
      [](at::Tensor tensor) {
        while (tensor.defined()) pause();
      },
      std::move(running))
      .detach();
}
