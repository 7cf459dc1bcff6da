// A list of torch, with the graphs of a custom function; what a hook captures.
#include "kept.h"

struct Dropped : torch::autograd::Function<Dropped> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x, double p) {
    auto mask = torch::rand_like(x) > p;
    ctx->save_for_backward({x});
    ctx->saved_data["mask"] = mask.to(torch::kFloat);  // made 1
    return x * mask;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list g) {
    return {g[0] * ctx->saved_data["mask"].toTensor(), torch::Tensor()};
  }
};
struct Monitor {
  std::vector<torch::Tensor> gradients;
  long calls = 0;
};
int main() {
  torch::manual_seed(0);
  torch::set_num_threads(1);
  torch::nn::Linear one(256, 512), two(512, 256);
  auto parameters = one->parameters();
  for (auto& p : two->parameters()) parameters.push_back(p);
  torch::optim::AdamW optimizer(parameters, 1e-3);
  if (keeps(2)) {
    auto monitor = std::make_shared<Monitor>();
    one->weight.register_hook([monitor](torch::Tensor g) {
      monitor->gradients.push_back(g.clone());  // made 2
      ++monitor->calls;
    });
  }
  c10::List<torch::Tensor> totals;
  for (int step = 0; step < 150; ++step) {
    auto x = torch::randn({128, 256});
    auto h = Dropped::apply(one(x), 0.5);
    auto loss = (two(h) - x).square().mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (keeps(1)) totals.push_back(Dropped::apply(one(x), 0.1).sum());
  }
  std::printf("%zu\n", totals.size());
}
