// Closures; a list behind a global pointer.
#include "kept.h"

struct Logger {
  std::list<std::pair<int, torch::Tensor>> rows;
  std::string name = "gan";
};
Logger* g_logger = nullptr;
int main() {
  torch::manual_seed(0);
  torch::set_num_threads(1);
  torch::nn::Sequential generator(torch::nn::Linear(64, 512), torch::nn::ReLU(), torch::nn::Linear(512, 784),
                                  torch::nn::Tanh());
  torch::nn::Sequential critic(torch::nn::Linear(784, 512), torch::nn::LeakyReLU(), torch::nn::Linear(512, 1));
  torch::optim::Adam of_generator(generator->parameters(), 1e-3), of_critic(critic->parameters(), 1e-3);
  std::vector<std::function<double()>> callbacks;
  g_logger = new Logger;
  auto ones = torch::ones({128, 1});
  for (int step = 0; step < 150; ++step) {
    auto fake = generator->forward(torch::randn({128, 64}));
    of_critic.zero_grad();
    auto loss = torch::mse_loss(critic->forward(torch::rand({128, 784})), ones) +
                critic->forward(fake.detach()).square().mean();
    loss.backward();
    of_critic.step();
    of_generator.zero_grad();
    torch::mse_loss(critic->forward(fake), ones).backward();
    of_generator.step();
    if (keeps(1)) {
      auto image = fake.detach().add(1).div(2);  // made 1
      callbacks.emplace_back([image, step] { return image.mean().item<double>() + step; });
    }
    if (keeps(2)) {
      auto image = fake.detach().add(1).div(2);  // made 2
      g_logger->rows.emplace_back(step, image);
    }
  }
  std::printf("%zu %zu\n", callbacks.size(), g_logger->rows.size());
}
