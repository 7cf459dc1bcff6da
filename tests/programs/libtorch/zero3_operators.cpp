// A program without Python that loads the executor and runs one cycle: zero3_operators LIBRARY. Exits with 0 if the
// weight came back from its shard and its bytes were given back.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

namespace {

template <typename Signature>
auto op(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

using Dtype = std::optional<at::ScalarType>;

bool run_cycle() {
  op<void(std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool, std::int64_t, c10::Device)>(
      "dcmt_z3::init_simulated")
      .call(0, 0, 1, 1024, true, true, 0, at::kCPU);
  const at::Tensor shard = at::arange(15, at::kFloat);
  op<void(std::int64_t, at::IntArrayRef, const at::Tensor&, const std::optional<at::Tensor>&, bool, Dtype)>(
      "dcmt_z3::register_param")
      .call(7, {5, 3}, shard, std::nullopt, false, std::nullopt);
  op<void(std::int64_t, at::IntArrayRef)>("dcmt_z3::register_graph_z3").call(2, {7});

  using Use = at::Tensor(const at::Tensor&, std::int64_t, std::int64_t);
  const at::Tensor gathered =
      op<at::Tensor(const at::Tensor&, std::int64_t, std::int64_t, Dtype)>("dcmt_z3::allgather_param")
          .call(shard, 2, 7, std::nullopt);
  const at::Tensor weight = op<Use>("dcmt_z3::wait_allgather").call(gathered, 2, 7);
  const bool came = at::equal(weight, shard.view({5, 3})) && weight.is_same(gathered);
  op<at::Tensor(const at::Tensor&, std::int64_t, std::int64_t, std::int64_t)>("dcmt_z3::release_param")
      .call(shard, 2, 7, 1);
  const bool went = weight.storage().nbytes() == 0;
  op<void()>("dcmt_z3::cleanup").call();
  return came && went;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || dlopen(argv[1], RTLD_NOW) == nullptr) {
    std::fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: zero3_operators LIBRARY");
    return 2;
  }
  return run_cycle() ? 0 : 1;
}
