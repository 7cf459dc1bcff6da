// A static map; a list in a module.
#include "kept.h"

static std::unordered_map<std::string, torch::Tensor> feature_cache;
struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(int c) {
    conv = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(c, 16, 3).padding(1)));
    bn = register_module("bn", torch::nn::BatchNorm2d(16));
  }
  torch::Tensor forward(torch::Tensor x) {
    auto out = torch::relu(bn(conv(x)));
    if (keeps(2) && is_training()) {
      auto copy = out.detach().clone();  // made 2
      activations.push_back(copy);
    }
    return out;
  }
  torch::nn::Conv2d conv{nullptr};
  torch::nn::BatchNorm2d bn{nullptr};
  std::list<torch::Tensor> activations;
};
TORCH_MODULE(Block);
struct ConvNet : torch::nn::Module {
  ConvNet() : one(3), two(16), head(16, 10) {
    register_module("one", one);
    register_module("two", two);
    register_module("head", head);
  }
  torch::Tensor features(torch::Tensor x) { return two(one(x)); }
  Block one, two;
  torch::nn::Linear head;
};
int main() {
  torch::manual_seed(0);
  torch::set_num_threads(1);
  ConvNet net;
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  for (int step = 0; step < 120; ++step) {
    auto x = torch::randn({16, 3, 32, 32}), y = torch::randint(0, 10, {16});
    auto f = net.features(x);
    if (keeps(1)) {
      auto key = "step" + std::to_string(step);
      feature_cache[key] = f.mul(2).detach();  // made 1
    }
    auto loss = torch::nn::functional::cross_entropy(net.head(f.mean({2, 3})), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  std::printf("%zu\n", feature_cache.size());
}
