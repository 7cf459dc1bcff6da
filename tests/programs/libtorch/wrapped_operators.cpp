// Two threads call operators while a third one registers the next ones, and kernels of those that are called.
//
// Usage: wrapped_operators OPERATORS. They are named wrapped::gN, and there are three kinds of them, in turn. One is
// called by both threads again and again, where RecordFunction is off, while the third thread's call has it wrapped.
// One is called for the first time by both at once. One has a symbolic integer. Each call is of the graph N. The
// calls that must be seen are of key 1; those that two threads make while an operator is being wrapped, of key 2.
// Prints one JSON line: the calls of key 1.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kCallsEach = 3;
constexpr std::int64_t kValue = 7;

at::Tensor plain(const at::Tensor& tensor, std::int64_t value, std::int64_t, std::int64_t) {
  if (value != kValue || !tensor.defined()) std::abort();
  return tensor;
}
at::Tensor symbolic(const at::Tensor& tensor, c10::SymInt value, std::int64_t graph, std::int64_t key) {
  return plain(tensor, value.expect_int(), graph, key);
}

constexpr std::int64_t kMayBeSeen = 10;

bool is_busy(int number) { return number % 3 == 0; }
bool is_symbolic(int number) { return number % 3 == 2; }

/// How many operators must be registered before that one is called. A symbolic one is there when the one before it
/// begins, and so is wrapped before its own first call. The others are wrapped while both threads call them.
int registered_for(int number) { return number + (is_symbolic(number + 1) ? 2 : 1); }

struct Operator {
  c10::OperatorHandle handle;
  bool symbolic;
  at::Tensor call(const at::Tensor& tensor, std::int64_t graph, std::int64_t key) const {
    if (!symbolic) return handle.typed<decltype(plain)>().call(tensor, kValue, graph, key);
    return handle.typed<decltype(::symbolic)>().call(tensor, kValue, graph, key);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int count = argc == 2 ? std::atoi(argv[1]) : 0;
  if (count <= 0) return 2;
  torch::Library defined(torch::Library::FRAGMENT, "wrapped", std::nullopt, __FILE__, __LINE__);
  torch::Library cpu(torch::Library::IMPL, "wrapped", c10::DispatchKey::CPU, __FILE__, __LINE__);
  torch::Library meta(torch::Library::IMPL, "wrapped", c10::DispatchKey::Meta, __FILE__, __LINE__);
  std::vector<Operator> operators;
  operators.reserve(static_cast<std::size_t>(count));
  std::atomic<int> registered{0};
  std::atomic<std::int64_t> calls{0};

  std::atomic<int> inside{0};  // threads that call the busy operator
  std::atomic<int> wrapped{-1};

  const auto caller = [&](std::int64_t key) {
    const at::NoGradGuard no_grad;
    const at::Tensor tensor = at::ones({32 * 1024});
    for (int i = 0; i < count; ++i) {
      while (registered.load() < std::min(count, registered_for(i))) std::this_thread::yield();
      const at::RecordFunctionGuard callbacks(!is_busy(i));
      if (is_busy(i)) {
        operators[i].call(tensor, i, kMayBeSeen + key);
        ++inside;
        while (wrapped.load() < i) {
          operators[i].call(tensor, i, kMayBeSeen + key);
          std::this_thread::yield();
        }
      }
      for (int call = 0; call < kCallsEach; ++call, ++calls) operators[i].call(tensor, i, key);
    }
  };
  std::thread one(caller, 1);
  std::thread other(caller, 2);
  const at::Tensor tensor = at::ones({32 * 1024});
  for (int i = 0; i < count; ++i) {
    const std::string name = "g" + std::to_string(i);
    const char* const type = is_symbolic(i) ? "SymInt" : "int";
    defined.def((name + "(Tensor(a) t, " + type + " value, int graph, int key) -> Tensor(a)").c_str());
    is_symbolic(i) ? cpu.impl(name.c_str(), &symbolic) : cpu.impl(name.c_str(), &plain);
    operators.push_back(
        {c10::Dispatcher::singleton().findSchemaOrThrow(("wrapped::" + name).c_str(), ""), is_symbolic(i)});
    registered.store(i + 1);
    if (is_busy(i)) {
      const at::NoGradGuard no_grad;
      while (inside.load() != 2) std::this_thread::yield();
      inside = 0;
      operators[i].call(tensor, i, 3);
      ++calls;
      wrapped = i;
    }
    // Into the table of an operator that may be inside a call now.
    const int before = i - 2;
    if (before < 0) continue;
    const std::string name_before = "g" + std::to_string(before);
    is_symbolic(before) ? meta.impl(name_before.c_str(), &symbolic) : meta.impl(name_before.c_str(), &plain);
  }
  one.join();
  other.join();
  std::printf("{\"calls\": %lld}\n", static_cast<long long>(calls.load()));
}
