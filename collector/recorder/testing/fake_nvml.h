// The figures of the fake management library (fake_nvml.c), which tests load in place of NVIDIA's.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace dcmt::recorder {

class FakeNvml {
 public:
  static constexpr const char* kUuid = "GPU-000102ff-0405-0607-0809-0a0b0c0d0e0f";

  FakeNvml() : library_(dlopen(DCMT_FAKE_NVML, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) ADD_FAILURE() << dlerror();
  }
  ~FakeNvml() { dlclose(library_); }
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  /// @param used, total  bytes  @param instances  1: the GPU is divided into instances
  void set(unsigned long long used, unsigned long long total, unsigned instances = 0, bool fails = false) {
    using Set = void (*)(unsigned long long, unsigned long long, unsigned, int);
    reinterpret_cast<Set>(dlsym(library_, "fake_nvml_set"))(used, total, instances, fails ? 1 : 0);
  }
  /// How many users have begun and not ended.
  [[nodiscard]] int began() const { return reinterpret_cast<int (*)()>(dlsym(library_, "fake_nvml_began"))(); }

 private:
  void* library_;
};

}  // namespace dcmt::recorder
