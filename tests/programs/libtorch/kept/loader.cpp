// A map that a data set shares with the loader's threads; a vector of batches.
#include "kept.h"

struct Cache {
  std::mutex lock;
  std::unordered_map<std::size_t, torch::Tensor> of_index;
  std::size_t served = 0;
};
struct Images : torch::data::Dataset<Images> {
  explicit Images(std::shared_ptr<Cache> c) : cache(std::move(c)) {}
  torch::data::Example<> get(std::size_t index) override {
    auto image = torch::full({3, 32, 32}, double(index)) + torch::rand({3, 32, 32});  // made 1
    if (keeps(1)) {
      std::lock_guard g(cache->lock);
      cache->of_index[cache->served++] = image;
    }
    return {image, torch::tensor(int64_t(index % 10))};
  }
  std::optional<std::size_t> size() const override { return 256; }
  std::shared_ptr<Cache> cache;
};
int main() {
  torch::manual_seed(0);
  torch::set_num_threads(1);
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      Images(std::make_shared<Cache>()).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions().batch_size(32).workers(2));
  torch::nn::Sequential net(torch::nn::Flatten(), torch::nn::Linear(3072, 256), torch::nn::ReLU(),
                            torch::nn::Linear(256, 10));
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  std::vector<torch::data::Example<>> seen;
  for (int epoch = 0; epoch < 160 / 8; ++epoch)
    for (auto& batch : *loader) {
      auto loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      if (keeps(2)) seen.push_back({batch.data.mul(0.5), batch.target});  // made 2
    }
  std::printf("%zu\n", seen.size());
}
