// What the executor's operators cost the host, called through torch's dispatcher as any program would, and a simulated
// gather against memcpy of the same bytes: zero3_bench LIBRARY [Google Benchmark's options].
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

namespace {

template <typename Signature>
auto op(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

using Dtype = std::optional<at::ScalarType>;
using Gather = at::Tensor(const at::Tensor&, std::int64_t, std::int64_t, Dtype);
using Use = at::Tensor(const at::Tensor&, std::int64_t, std::int64_t);
using Release = at::Tensor(const at::Tensor&, std::int64_t, std::int64_t, std::int64_t);

constexpr std::int64_t kGraph = 0;
constexpr std::int64_t kId = 0;
constexpr std::int64_t kNeverTheLast = std::int64_t{1} << 62;
constexpr std::int64_t kElements = 256;
constexpr std::int64_t kBucketElements = std::int64_t{1} << 17;

/// The only rank of a world, for as long as a benchmark runs. Its parameters have the ids from 0 and share a shard.
class Rank {
 public:
  explicit Rank(std::int64_t elements, std::int64_t parameters = 1) : shard_(at::zeros({elements}, at::kFloat)) {
    op<void(std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool, std::int64_t, c10::Device)>(
        "dcmt_z3::init_simulated")
        .call(0, 0, 1, kBucketElements, true, true, 0, at::kCPU);
    std::vector<std::int64_t> ids(static_cast<std::size_t>(parameters));
    std::iota(ids.begin(), ids.end(), 0);
    for (const std::int64_t id : ids) add(id, elements);
    op<void(std::int64_t, at::IntArrayRef)>("dcmt_z3::register_graph_z3").call(kGraph, ids);
  }
  ~Rank() { op<void()>("dcmt_z3::cleanup").call(); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  at::Tensor gather() const { return gather_.call(shard_, kGraph, kId, std::nullopt); }
  at::Tensor wait(const at::Tensor& weight) const { return wait_.call(weight, kGraph, kId); }
  at::Tensor release(std::int64_t users) const { return release_.call(shard_, kGraph, kId, users); }
  at::Tensor reduce(const at::Tensor& gradient, std::int64_t id) const { return reduce_.call(gradient, kGraph, id); }

 private:
  void add(std::int64_t id, std::int64_t elements) const {
    op<void(std::int64_t, at::IntArrayRef, const at::Tensor&, const std::optional<at::Tensor>&, bool, Dtype)>(
        "dcmt_z3::register_param")
        .call(id, {elements}, shard_, at::zeros({elements}, at::kFloat), false, std::nullopt);
  }

  const at::Tensor shard_;
  const c10::TypedOperatorHandle<Gather> gather_ = op<Gather>("dcmt_z3::allgather_param");
  const c10::TypedOperatorHandle<Use> wait_ = op<Use>("dcmt_z3::wait_allgather");
  const c10::TypedOperatorHandle<Release> release_ = op<Release>("dcmt_z3::release_param");
  const c10::TypedOperatorHandle<Use> reduce_ = op<Use>("dcmt_z3::reduce_grad");
};

void gather_valid(benchmark::State& state) {
  const Rank rank(kElements);
  const at::Tensor weight = rank.gather();
  for (auto _ : state) benchmark::DoNotOptimize(rank.gather());
}
BENCHMARK(gather_valid);

void wait(benchmark::State& state) {
  const Rank rank(kElements);
  const at::Tensor weight = rank.gather();
  for (auto _ : state) benchmark::DoNotOptimize(rank.wait(weight));
}
BENCHMARK(wait);

/// A release that is not the last of its cycle.
void release_counted(benchmark::State& state) {
  const Rank rank(kElements);
  const at::Tensor weight = rank.gather();
  for (auto _ : state) benchmark::DoNotOptimize(rank.release(kNeverTheLast));
}
BENCHMARK(release_counted);

/// The final release, with the gather of 1 KiB that it needs.
void gather_and_final_release(benchmark::State& state) {
  const Rank rank(kElements);
  for (auto _ : state) {
    const at::Tensor weight = rank.gather();
    benchmark::DoNotOptimize(rank.release(1));
  }
}
BENCHMARK(gather_and_final_release);

constexpr std::int64_t kParameters = kBucketElements / kElements;

/// A gradient of 1 KiB. If the bucket has room for all iterations, none of them flushes it; with more, each has its
/// share.
void reduce_grad(benchmark::State& state) {
  const Rank rank(kElements, kParameters);
  const at::Tensor gradient = at::zeros({kElements}, at::kFloat);
  std::int64_t next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(rank.reduce(gradient, next++ % kParameters));
}
BENCHMARK(reduce_grad)->Name("reduce_grad_queued")->Iterations(kParameters);
BENCHMARK(reduce_grad)->Name("reduce_grad_and_flush");

constexpr std::int64_t kSmallest = std::int64_t{64} << 10;
constexpr std::int64_t kLargest = std::int64_t{64} << 20;

/// A gather into a new buffer, and its release.
void world_gather(benchmark::State& state) {
  const Rank rank(state.range(0) / 4);
  for (auto _ : state) {
    const at::Tensor weight = rank.gather();
    benchmark::DoNotOptimize(weight.const_data_ptr());
    rank.release(1);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(world_gather)->RangeMultiplier(4)->Range(kSmallest, kLargest);

/// The same bytes copied into a new tensor, and its end.
void plain_memcpy(benchmark::State& state) {
  const at::Tensor from = at::zeros({state.range(0) / 4}, at::kFloat);
  for (auto _ : state) {
    const at::Tensor into = at::empty({state.range(0) / 4}, at::kFloat);
    std::memcpy(into.mutable_data_ptr(), from.const_data_ptr(), static_cast<std::size_t>(state.range(0)));
    benchmark::DoNotOptimize(into.const_data_ptr());
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(plain_memcpy)->RangeMultiplier(4)->Range(kSmallest, kLargest);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2 || dlopen(argv[1], RTLD_NOW) == nullptr) {
    std::fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: zero3_bench LIBRARY [--benchmark_...]");
    return 2;
  }
  at::set_num_threads(1);  // memcpy has one, too
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
