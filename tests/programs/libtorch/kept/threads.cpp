// A vector of a thread; a queue that threads share.
#include <latch>

#include "kept.h"

thread_local std::vector<torch::Tensor> t_outputs;
class Queue {
 public:
  void put(torch::Tensor t) {
    std::lock_guard g(lock_);
    items_.push_back(std::move(t));
  }
  std::size_t size() {
    std::lock_guard g(lock_);
    return items_.size();
  }

 private:
  std::mutex lock_;
  std::deque<torch::Tensor> items_;
};
void worker(Queue& queue, bool is_first, std::latch& done) {
  torch::nn::Sequential net(torch::nn::Linear(256, 256), torch::nn::Tanh(), torch::nn::Linear(256, 256));
  torch::optim::SGD optimizer(net->parameters(), 0.01);
  for (int step = 0; step < 200; ++step) {
    auto x = torch::randn({128, 256});
    auto out = net->forward(x);
    auto loss = (out - x).square().mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (is_first && keeps(1)) t_outputs.push_back(out.detach().sigmoid());  // made 1
    if (is_first && keeps(2)) queue.put(out.detach().sigmoid());            // made 2
  }
  done.arrive_and_wait();  // what a thread keeps goes with it
}
int main() {
  torch::manual_seed(0);
  torch::set_num_threads(1);
  Queue queue;
  std::latch done(2);
  std::thread a(worker, std::ref(queue), true, std::ref(done)), b(worker, std::ref(queue), false, std::ref(done));
  a.join();
  b.join();
  std::printf("%zu\n", queue.size());
}
