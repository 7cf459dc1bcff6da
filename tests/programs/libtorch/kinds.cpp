// Training programs of C++ of several kinds, without Python. Each keeps something of each step that it does not need,
// or does not: `libtorch_kinds KIND kept|healthy [STEPS]`. The line that makes what is kept ends with its kind as a
// comment.
#include <torch/torch.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace nn = torch::nn;
namespace optim = torch::optim;

bool g_keeps = false;
int g_steps = 40;

/// A list of losses, with their graphs.
void mlp() {
  nn::Sequential net(nn::Linear(256, 512), nn::ReLU(), nn::Linear(512, 10));
  optim::Adam optimizer(net->parameters(), 1e-3);
  std::vector<torch::Tensor> losses;
  for (int step = 0; step < g_steps; ++step) {
    const auto x = torch::randn({256, 256});
    const auto y = torch::randint(0, 10, {256});
    optimizer.zero_grad();
    const auto loss = nn::functional::cross_entropy(net->forward(x), y);
    loss.backward();
    optimizer.step();
    const auto score = nn::functional::cross_entropy(net->forward(x), y);  // mlp
    losses.push_back(g_keeps ? score : score.detach());
  }
}

/// A member of a module.
struct ConvNet : nn::Module {
  ConvNet() {
    first = register_module("first", nn::Conv2d(nn::Conv2dOptions(3, 16, 3).padding(1)));
    second = register_module("second", nn::Conv2d(nn::Conv2dOptions(16, 16, 3).padding(1)));
    last = register_module("last", nn::Linear(16, 10));
  }
  torch::Tensor forward(const torch::Tensor& images) {
    auto x = first(images).relu();
    x = second(x).relu();
    if (!g_keeps) features.clear();
    features.push_back(torch::sigmoid(x.detach()));  // conv
    return last(x.mean({2, 3}));
  }
  nn::Conv2d first{nullptr}, second{nullptr};
  nn::Linear last{nullptr};
  std::vector<torch::Tensor> features;
};

void conv() {
  const auto net = std::make_shared<ConvNet>();
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.01).momentum(0.9));
  for (int step = 0; step < g_steps; ++step) {
    const auto y = torch::randint(0, 10, {16});
    optimizer.zero_grad();
    nn::functional::cross_entropy(net->forward(torch::randn({16, 3, 24, 24})), y).backward();
    optimizer.step();
  }
}

/// A map.
void lstm() {
  nn::LSTM net(nn::LSTMOptions(64, 128).batch_first(true));
  nn::Linear last(128, 64);
  auto parameters = net->parameters();
  for (const auto& each : last->parameters()) parameters.push_back(each);
  std::unique_ptr<optim::Optimizer> optimizer = std::make_unique<optim::RMSprop>(parameters);
  std::map<int, torch::Tensor> outputs;
  for (int step = 0; step < g_steps; ++step) {
    const auto x = torch::randn({16, 24, 64});
    const auto out = std::get<0>(net->forward(x));
    const auto loss = nn::functional::mse_loss(last(out), x);
    optimizer->zero_grad();
    loss.backward();
    optimizer->step();
    outputs[g_keeps ? step : 0] = out.detach().clone();  // lstm
  }
}

/// A static list.
std::vector<torch::Tensor> g_samples;

void gan() {
  nn::Sequential generator(nn::Linear(32, 256), nn::ReLU(), nn::Linear(256, 784), nn::Tanh());
  nn::Sequential critic(nn::Linear(784, 256), nn::LeakyReLU(), nn::Linear(256, 1));
  optim::AdamW of_generator(generator->parameters(), 1e-3), of_critic(critic->parameters(), 1e-3);
  const auto ones = torch::ones({64, 1});
  for (int step = 0; step < g_steps; ++step) {
    const auto fake = generator->forward(torch::randn({64, 32}));  // gan
    of_critic.zero_grad();
    const auto real = critic->forward(torch::rand({64, 784}));
    const auto judged = critic->forward(fake.detach());
    (nn::functional::mse_loss(real, ones) + judged.square().mean()).backward();
    of_critic.step();
    of_generator.zero_grad();
    nn::functional::mse_loss(critic->forward(fake), ones).backward();
    of_generator.step();
    if (!g_keeps) g_samples.clear();
    g_samples.push_back(fake.detach());
  }
}

/// What a data loader of C++ delivers.
struct Numbers : torch::data::Dataset<Numbers> {
  torch::data::Example<> get(std::size_t index) override {
    return {torch::full({32, 32}, static_cast<double>(index)), torch::full({1}, static_cast<double>(index % 10))};
  }
  [[nodiscard]] std::optional<std::size_t> size() const override { return 64; }
};

void loader() {
  auto batches = torch::data::make_data_loader(Numbers().map(torch::data::transforms::Stack<>()),
                                               torch::data::DataLoaderOptions().batch_size(32).workers(2));
  nn::Linear net(1024, 64);
  optim::SGD optimizer(net->parameters(), 0.01);
  std::vector<torch::Tensor> seen;
  for (int epoch = 0; epoch < g_steps / 2; ++epoch) {
    for (const auto& batch : *batches) {
      const auto x = batch.data.flatten(1) / 64;  // loader
      optimizer.zero_grad();
      net(x).square().mean().backward();
      optimizer.step();
      if (!g_keeps) seen.clear();
      seen.push_back(x);
    }
  }
}

/// A function of autograd with a list of its own.
struct Scaled : torch::autograd::Function<Scaled> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x) {
    static std::vector<torch::Tensor> inputs;
    context->save_for_backward({x});
    if (!g_keeps) inputs.clear();
    inputs.push_back(x.abs());  // function
    return x * 2;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0] * 2 + context->get_saved_variables()[0] * 0};
  }
};

void function() {
  nn::Linear net(512, 512);
  optim::Adagrad optimizer(net->parameters(), 0.01);
  for (int step = 0; step < g_steps; ++step) {
    optimizer.zero_grad();
    Scaled::apply(net(torch::randn({64, 512}))).square().mean().backward();
    optimizer.step();
  }
}

/// Two threads that train side by side, and a list that they share.
struct Shared {
  std::mutex lock;
  std::barrier<> step{2};  // a list that one thread has filled before the other begins does not grow to the end
  std::vector<torch::Tensor> outputs;

  void keep(const torch::Tensor& output, bool keeps) {
    const std::lock_guard guard(lock);
    if (keeps) outputs.push_back(output);
  }
};

void train_beside(Shared& shared, bool keeps) {
  nn::Linear net(256, 256);
  optim::SGD optimizer(net->parameters(), 0.01);
  for (int step = 0; step < g_steps; ++step) {
    const auto out = net(torch::randn({128, 256}));
    optimizer.zero_grad();
    out.square().mean().backward();
    optimizer.step();
    const auto kept = out.detach().tanh();  // threads
    shared.keep(kept, keeps);
    shared.step.arrive_and_wait();
  }
}

void threads() {
  Shared shared;
  std::thread first([&] { train_beside(shared, g_keeps); });
  std::thread second([&] { train_beside(shared, false); });
  first.join();
  second.join();
}

constexpr std::pair<std::string_view, void (*)()> kKinds[] = {
    {"mlp", mlp},       {"conv", conv},         {"lstm", lstm},      {"gan", gan},
    {"loader", loader}, {"function", function}, {"threads", threads}};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  g_keeps = std::strcmp(argv[2], "kept") == 0;
  if (argc > 3) g_steps = std::atoi(argv[3]);
  torch::manual_seed(0);
  torch::set_num_threads(1);
  for (const auto& [name, run] : kKinds) {
    if (name != argv[1]) continue;
    run();
    return 0;
  }
  return 2;
}
