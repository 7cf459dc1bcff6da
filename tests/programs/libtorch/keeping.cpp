// Trains with libtorch alone, without Python, and keeps one output of each step in a static variable, or in one of a
// thread. Then it writes a line and waits for the end of its input, to be inspected.
//
// Usage: libtorch_keeping list|map|member|thread|nothing
#include <torch/torch.h>

#include <unistd.h>

#include <cstdio>
#include <future>
#include <map>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace kept {

struct Trainer {
  virtual ~Trainer() = default;
  std::vector<torch::Tensor> outputs;
};

std::vector<torch::Tensor> list;
std::map<int, torch::Tensor> map;
std::unique_ptr<Trainer> trainer;
thread_local std::vector<torch::Tensor> of_thread;

/// A thread that has the list from here on.
void give_to_thread() {
  std::promise<void> done;
  std::thread([&done, outputs = std::exchange(list, {})]() mutable {
    of_thread = std::move(outputs);
    done.set_value();
    while (!of_thread.empty()) pause();
  }).detach();
  done.get_future().wait();
}

void keep(std::string_view where, int step, const torch::Tensor& output) {
  if (where == "list" || where == "thread") list.push_back(output);
  if (where == "map") map[step] = output;
  if (where == "member") trainer->outputs.push_back(output);
}

}  // namespace kept

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  constexpr int kSteps = 20;
  constexpr int kBatch = 64, kWidth = 1024;
  torch::manual_seed(0);
  torch::set_num_threads(1);
  kept::trainer = std::make_unique<kept::Trainer>();
  torch::nn::Linear model(kWidth, kWidth);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.01));
  for (int step = 0; step < kSteps; ++step) {
    const auto output = model(torch::randn({kBatch, kWidth}));
    optimizer.zero_grad();
    output.square().mean().backward();
    optimizer.step();
    kept::keep(argv[1], step, output.detach());
  }
  if (std::string_view(argv[1]) == "thread") kept::give_to_thread();
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}
