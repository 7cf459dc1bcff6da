// Trains a small convolutional network with libtorch alone: a traced program without Python.
//
// Usage: libtorch_train FILE [--profile]. Writes the bytes of all parameters to FILE, where the test hashes them, and
// prints one JSON line: the losses of 20 steps and, with --profile, what torch's profiler counted.
#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <vector>

#include "memory_counts.h"

namespace {

constexpr std::int64_t kBatch = 8;
constexpr std::int64_t kImage = 32;
constexpr std::int64_t kClasses = 10;
constexpr int kSteps = 20;

torch::nn::Sequential make_network() {
  using torch::nn::Conv2dOptions;
  return torch::nn::Sequential(
      torch::nn::Conv2d(Conv2dOptions(3, 16, 3).stride(2).padding(1)), torch::nn::BatchNorm2d(16), torch::nn::ReLU(),
      torch::nn::Conv2d(Conv2dOptions(16, 32, 3).stride(2).padding(1)), torch::nn::ReLU(), torch::nn::Flatten(),
      torch::nn::Linear(32 * 8 * 8, 64), torch::nn::ReLU(), torch::nn::Linear(64, kClasses));
}

std::vector<double> train(torch::nn::Sequential& network) {
  torch::optim::SGD optimizer(network->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    const auto images = torch::randn({kBatch, 3, kImage, kImage});
    const auto labels = torch::randint(kClasses, {kBatch}, torch::kLong);
    optimizer.zero_grad();
    auto loss = torch::nn::functional::cross_entropy(network->forward(images), labels);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

bool write_parameters(torch::nn::Sequential& network, const char* path) {
  std::ofstream file(path, std::ios::binary);
  for (const auto& parameter : network->parameters()) {
    const auto values = parameter.detach().contiguous();
    file.write(static_cast<const char*>(values.data_ptr()), static_cast<std::streamsize>(values.nbytes()));
  }
  return file.good();
}

void print(const MemoryCounts& counts) {
  std::printf(R"(, "memory": {"allocations": %lld, "frees": %lld, "allocated_bytes": %lld, "peak_bytes": %lld, )"
              R"("left_bytes": %lld})",
              static_cast<long long>(counts.allocations), static_cast<long long>(counts.frees),
              static_cast<long long>(counts.allocated_bytes), static_cast<long long>(counts.peak_bytes),
              static_cast<long long>(counts.left_bytes));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool profile = argc > 2 && std::string_view(argv[2]) == "--profile";
  torch::manual_seed(0);
  torch::set_num_threads(2);
  at::globalContext().setDeterministicAlgorithms(true, false);

  auto network = make_network();
  if (profile) begin_memory_counts();
  const auto losses = train(network);
  const auto counts = profile ? end_memory_counts() : MemoryCounts{};

  std::printf(R"({"losses": [)");
  for (std::size_t i = 0; i < losses.size(); ++i) std::printf("%s%.17g", i == 0 ? "" : ", ", losses[i]);
  std::printf("]");
  if (profile) print(counts);
  std::printf("}\n");
  return write_parameters(network, argv[1]) ? 0 : 1;
}
