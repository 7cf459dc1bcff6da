// Structures in a vector of the caller; in a map of a local structure.
#include "kept.h"

struct Sample {
  int step;
  double loss;
  torch::Tensor out;
  std::string tag;
};
struct Meter {
  double best = 1e9;
  std::map<int, Sample> by_step;
};
static double train(torch::nn::LSTM& lstm, torch::nn::Linear& head, torch::optim::Optimizer& optimizer,
                    std::vector<Sample>& samples) {
  Meter meter;
  for (int step = 0; step < 120; ++step) {
    auto x = torch::randn({16, 24, 64});
    auto [out, state] = lstm->forward(x);
    auto loss = torch::mse_loss(head(out), x);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    meter.best = std::min(meter.best, loss.item<double>());
    if (keeps(1)) {
      auto kept = out.detach().tanh();  // made 1
      samples.push_back({step, meter.best, kept, "train"});
    }
    if (keeps(2)) {
      auto kept = out.detach().tanh();  // made 2
      meter.by_step.emplace(step, Sample{step, meter.best, kept, "train"});
    }
  }
  return meter.best + static_cast<double>(meter.by_step.size());
}
int main() {
  torch::manual_seed(0);
  torch::set_num_threads(1);
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(64, 128).batch_first(true));
  torch::nn::Linear head(128, 64);
  auto parameters = lstm->parameters();
  for (auto& p : head->parameters()) parameters.push_back(p);
  torch::optim::RMSprop optimizer(parameters);
  std::vector<Sample> samples;
  double best = train(lstm, head, optimizer, samples);
  std::printf("%.4f %zu\n", best, samples.size());
}
