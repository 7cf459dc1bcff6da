// A member of a trainer; a local vector. Both keep graphs.
#include "kept.h"

struct Net : torch::nn::Module {
  Net() {
    a = register_module("a", torch::nn::Linear(256, 1024));
    b = register_module("b", torch::nn::Linear(1024, 10));
  }
  torch::Tensor forward(torch::Tensor x) { return b(torch::relu(a(x))); }
  torch::nn::Linear a{nullptr}, b{nullptr};
};
struct Trainer {
  explicit Trainer(double lr) : net(std::make_shared<Net>()), optimizer(net->parameters(), lr) {}
  double run(const torch::Tensor& x, const torch::Tensor& y) {
    optimizer.zero_grad();
    auto loss = torch::nn::functional::cross_entropy(net->forward(x), y);
    loss.backward();
    optimizer.step();
    if (keeps(1)) {
      auto again = torch::nn::functional::cross_entropy(net->forward(x), y);  // made 1
      history.push_back(again);
    }
    return loss.item<double>();
  }
  std::shared_ptr<Net> net;
  torch::optim::Adam optimizer;
  std::deque<torch::Tensor> history;
};
int main() {
  torch::manual_seed(0);
  torch::set_num_threads(1);
  auto trainer = std::make_unique<Trainer>(1e-3);
  std::vector<torch::Tensor> losses;
  double sum = 0;
  for (int step = 0; step < 150; ++step) {
    auto x = torch::randn({256, 256}), y = torch::randint(0, 10, {256});
    sum += trainer->run(x, y);
    if (keeps(2)) {
      auto out = torch::softmax(trainer->net->forward(x.repeat({4, 4}).slice(1, 0, 256)), 1);  // made 2
      losses.push_back(out);
    }
  }
  std::printf("%.4f %zu %zu\n", sum, losses.size(), trainer->history.size());
}
