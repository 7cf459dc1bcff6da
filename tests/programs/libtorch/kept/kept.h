// What the programs of this folder share. Each trains, and keeps something of each step where the environment says
// KEPT=1 or KEPT=2; else it is healthy. Lines that make what is kept end with `made 1` or `made 2`.
#pragma once

#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

inline bool keeps(int way) {
  const char* const kept = std::getenv("KEPT");
  return kept != nullptr && std::atoi(kept) == way;
}
