// Tests the CUDA provider with the agent's core, a fake CUPTI and a fake driver. Its CUPTI subscription belongs to the
// process, so each test needs its own process; ctest does that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/agent/gate.h"
#include "collector/agent/provider.h"
#include "collector/agent/spool_writer.h"
#include "collector/agent/testing/test_spool.h"
#include "collector/cuda/testing/fake_cupti.h"
#include "trace/spool/spool_reader.h"

extern "C" {
void dcmt_provider_start();
int foreign_subscribe();
int foreign_unsubscribe();
int foreign_finalize();
}

namespace dcmt::agent {

struct Touch {
  const void* owner;
  std::uint64_t bytes;
  std::string name;
  bool operator==(const Touch&) const = default;
};

namespace {

const CudaProvider* g_cuda = nullptr;
std::vector<Touch> g_touches;
int g_work = 0;  ///< reports that GPU work begins
std::map<std::uint64_t, ArgumentOf> g_arguments;
constexpr std::uint64_t kStack = 77;

void gpu_touch(const void* owner, std::uint64_t bytes, const char* name) noexcept {
  g_touches.push_back({owner, bytes, name != nullptr ? name : ""});
}

const TorchProvider kTorch = [] {
  TorchProvider torch{};
  torch.gpu_touch = gpu_touch;
  torch.gpu_work_begins = []() noexcept { ++g_work; };
  torch.stack = []() noexcept { return kStack; };
  torch.argument_of = [](std::uint64_t address) noexcept {
    const auto found = g_arguments.find(address);
    return found != g_arguments.end() ? found->second : ArgumentOf::kUnknown;
  };
  return torch;
}();

}  // namespace

const TorchProvider* torch_provider() noexcept { return &kTorch; }
const CudaProvider* cuda_provider() noexcept { return g_cuda; }
void register_cuda_provider(const CudaProvider* provider) noexcept { g_cuda = provider; }

namespace {

using ::testing::HasSubstr;
using wire::RecordType;

constexpr std::uint64_t kBegin = 0x7f0000000000;
constexpr std::uint64_t kBytes = 0x1000;

const void* storage(std::uint64_t number) { return reinterpret_cast<const void*>(0x1000 * number); }

class Provider : public ::testing::Test {
 protected:
  Provider() {
    test_spool();
    start();
  }

  static void start() {
    const Inside inside;
    dcmt_provider_start();
  }
  /// Ends the recording; the program continues.
  static void end() {
    close_gate();
    g_cuda->leave();
    open_gate();
  }
  static std::string watch_from_now() {
    const Inside inside;
    const char* why = g_cuda->watch_from_now();
    return why != nullptr ? why : "";
  }
  static void watch_calls() {
    const Inside inside;
    ASSERT_NE(g_cuda, nullptr);
    g_cuda->watch_calls();
  }
  static void watch_memory() { ASSERT_TRUE(watch_range(storage(1), kBegin, kBytes)); }

  /// A launch with these arguments, each in memory of its own.
  static void launch(CUfunction kernel, const std::vector<std::uint64_t>& arguments, const char* name = "kernel") {
    std::vector<std::uint64_t> values = arguments;
    std::vector<void*> pointers;
    for (std::uint64_t& value : values) pointers.push_back(&value);
    cuLaunchKernel_params parameters{};
    parameters.f = kernel;
    parameters.kernelParams = pointers.data();
    fake::call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &parameters, name);
  }

  std::vector<Touch> drain_touches() { return std::exchange(g_touches, {}); }

  /// The records published since the last call.
  struct Published {
    std::vector<wire::LaunchesRecord> launches;
    int diagnostics = 0;
  };
  Published drain_published() {
    Published published;
    close_thread_chunk();
    while (test_spool().read() != 0) {
      for (spool::SequencedRecord r = test_spool().next(); r.header != nullptr; r = test_spool().next()) {
        if (r.header->type == RecordType::kLaunches) {
          published.launches.push_back(*reinterpret_cast<const wire::LaunchesRecord*>(r.header));
        }
        published.diagnostics += r.header->type == RecordType::kDiagnostic ? 1 : 0;
      }
      test_spool().give_back();
    }
    return published;
  }
  void expect_that_it_has_begun() {
    const Published published = drain_published();
    ASSERT_EQ(published.launches.size(), 1u);
    EXPECT_EQ(published.launches[0].header.aux, 1u);
    EXPECT_EQ(published.diagnostics, 0);
  }
  wire::LaunchesRecord counts() {
    {
      const Inside inside;
      g_cuda->write_launches();
    }
    const Published published = drain_published();
    return published.launches.empty() ? wire::LaunchesRecord{} : published.launches.back();
  }

  const std::vector<Touch> kTouched{{storage(1), kBytes, "kernel"}};
};

TEST_F(Provider, IsNoSubscriberUntilItIsAsked) {
  EXPECT_FALSE(fake::subscribed());
  {
    const Inside inside;
    g_cuda->write_launches();
  }
  EXPECT_TRUE(drain_published().launches.empty()) << "launches were not recorded";
  watch_calls();
  EXPECT_TRUE(fake::enabled(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  EXPECT_TRUE(fake::enabled(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz));
  expect_that_it_has_begun();
}

TEST_F(Provider, FindsAnAddressAmongTheParameters) {
  watch_calls();
  watch_memory();
  const CUfunction kernel = fake::add_kernel({8, 4, 8});
  launch(kernel, {kBegin - 1, kBegin, kBegin + kBytes});
  EXPECT_EQ(drain_touches(), std::vector<Touch>()) << "beside it, and in a parameter of 4 bytes";
  const int work = g_work;
  launch(kernel, {0, 0, kBegin});
  EXPECT_EQ(g_work, work + 1) << "releases of the thread are judged when it launches";
  EXPECT_EQ(drain_touches(), kTouched);
  launch(kernel, {kBegin + kBytes - 1, 0, kBegin + 8});
  EXPECT_EQ(drain_touches(), kTouched) << "once, however often it is there";
  EXPECT_EQ(counts().calls, 3u);
  EXPECT_EQ(counts().unknown, 0u);
}

TEST_F(Provider, FindsAnAddressInAStructureAndInABuffer) {
  watch_calls();
  watch_memory();
  struct Structure {
    int number;
    std::uint64_t address;
  } structure{7, kBegin + 100};
  void* pointers[] = {&structure};
  cuLaunchKernelEx_params parameters{};
  parameters.f = fake::add_kernel({sizeof(Structure)});
  parameters.kernelParams = pointers;
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &parameters, "kernel");
  EXPECT_EQ(drain_touches(), kTouched);

  std::size_t bytes = sizeof structure;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &structure, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  parameters.kernelParams = nullptr;
  parameters.extra = extra;
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, &parameters, "kernel");
  EXPECT_EQ(drain_touches(), kTouched);
  bytes = 8;
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &parameters, "kernel");
  EXPECT_EQ(drain_touches(), std::vector<Touch>()) << "the buffer ends before the address";

  cuLaunchCooperativeKernel_params cooperative{};
  cooperative.f = parameters.f;
  cooperative.kernelParams = pointers;
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, &cooperative, "kernel");
  EXPECT_EQ(drain_touches(), kTouched);
  EXPECT_EQ(counts().unknown, 0u);
}

TEST_F(Provider, AsksForTheParametersOfAKernelOnce) {
  watch_calls();
  watch_memory();
  const CUfunction function = fake::add_kernel({8});
  const CUfunction runtimes = fake::add_kernel({4, 8}, true);
  launch(function, {kBegin});
  launch(runtimes, {0, kBegin});
  EXPECT_EQ(drain_touches().size(), 2u);
  const int asked = fake::questions();
  launch(function, {kBegin});
  launch(runtimes, {0, kBegin});
  EXPECT_EQ(drain_touches().size(), 2u);
  EXPECT_EQ(fake::questions(), asked);

  // A kernel can have the handle of unloaded code.
  fake::change_kernel(function, {4});
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, nullptr);
  launch(function, {kBegin});
  EXPECT_EQ(drain_touches(), std::vector<Touch>());
  EXPECT_GT(fake::questions(), asked);
}

TEST_F(Provider, InspectsMoreKernelsThanItsTableHolds) {
  watch_calls();
  watch_memory();
  for (int i = 0; i < 20'000; ++i) launch(fake::add_kernel({8}), {kBegin});
  EXPECT_EQ(drain_touches().size(), 20'000u);
  EXPECT_EQ(counts().unknown, 0u);
}

TEST_F(Provider, CountsWhatItCannotSeeInto) {
  watch_calls();
  watch_memory();
  const cuGraphLaunch_params graph{};
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &graph);
  const CUfunction nccl = fake::add_kernel({8});
  launch(nccl, {0}, "_Z34ncclDevKernel_AllGather_RING_LLv24ncclDevKernelArgsStorageILm4096EE");
  launch(nccl, {0}, "_Z34ncclDevKernel_AllGather_RING_LLv24ncclDevKernelArgsStorageILm4096EE");
  int nothing = 0;
  launch(reinterpret_cast<CUfunction>(&nothing), {kBegin});
  const cuMemcpy2DAsync_v2_params copy{};
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2, &copy);
  cuLaunchKernel_params without{};
  without.f = fake::add_kernel({});
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &without, "without_parameters");
  const wire::LaunchesRecord seen = counts();
  EXPECT_EQ(seen.calls, 6u);
  EXPECT_EQ(seen.graphs, 1u);
  EXPECT_EQ(seen.nccl, 2u);
  EXPECT_EQ(seen.unknown, 1u);
  EXPECT_EQ(seen.copies, 1u);
  EXPECT_EQ(drain_touches(), std::vector<Touch>());
}

TEST_F(Provider, FindsAddressesOfCopiesAndFills) {
  watch_calls();
  watch_memory();
  const std::vector<Touch> touched{{storage(1), kBytes, "cuSomething"}};
  cuMemcpyDtoHAsync_v2_params to_host{};
  to_host.srcDevice = kBegin + 8;
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, &to_host);
  EXPECT_EQ(drain_touches(), touched);
  cuMemcpyAsync_params copy{};
  copy.dst = kBegin;
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync, &copy);
  EXPECT_EQ(drain_touches(), touched);
  cuMemcpyPeerAsync_params peer{};
  peer.srcDevice = kBegin;
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync, &peer);
  EXPECT_EQ(drain_touches(), touched);
  cuMemsetD8Async_params fill{};
  fill.dstDevice = kBegin;
  fill.N = kBegin;
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, &fill);
  EXPECT_EQ(drain_touches(), touched);
  fill.dstDevice = kBegin + kBytes;
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, &fill);
  EXPECT_EQ(drain_touches(), std::vector<Touch>());
}

TEST_F(Provider, InspectsNothingWhileNothingIsWatched) {
  watch_calls();
  const CUfunction kernel = fake::add_kernel({8});
  launch(kernel, {kBegin});
  EXPECT_EQ(fake::questions(), 0);
  watch_memory();
  launch(kernel, {kBegin});
  {
    const Inside inside;  // inside the guard, the agent's own launches do not count
    launch(kernel, {kBegin});
  }
  EXPECT_TRUE(unwatch_range(storage(1)));
  launch(kernel, {kBegin});
  EXPECT_EQ(drain_touches().size(), 1u);
  EXPECT_EQ(counts().calls, 1u);
}

TEST_F(Provider, MakesWayForAProfilerAndComesBack) {
  watch_calls();
  watch_memory();
  drain_published();
  EXPECT_EQ(foreign_subscribe(), CUPTI_SUCCESS);
  EXPECT_FALSE(fake::enabled(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  launch(fake::add_kernel({8}), {kBegin});
  EXPECT_EQ(drain_touches(), std::vector<Touch>());
  Published published = drain_published();
  ASSERT_EQ(published.launches.size(), 1u);
  EXPECT_EQ(published.launches[0].header.aux, 0u);
  EXPECT_EQ(published.diagnostics, 1);

  watch_calls();
  EXPECT_EQ(drain_published().diagnostics, 0) << "said once";
  EXPECT_EQ(foreign_subscribe(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) << "as without us";
  EXPECT_EQ(foreign_unsubscribe(), CUPTI_SUCCESS);
  EXPECT_FALSE(fake::subscribed()) << "not before it is asked";
  watch_calls();
  launch(fake::add_kernel({8}), {kBegin});
  EXPECT_EQ(drain_touches(), kTouched);
  published = drain_published();
  ASSERT_EQ(published.launches.size(), 1u);
  EXPECT_EQ(published.launches[0].header.aux, 1u);

  EXPECT_EQ(foreign_subscribe(), CUPTI_SUCCESS);
  EXPECT_EQ(foreign_finalize(), CUPTI_SUCCESS);
  watch_calls();
  EXPECT_TRUE(fake::enabled(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
}

TEST_F(Provider, StaysAwayFromAProfilerThatWasThereFirst) {
  EXPECT_EQ(foreign_subscribe(), CUPTI_SUCCESS);
  EXPECT_EQ(drain_published().diagnostics, 0) << "nobody wanted to see kernels yet";
  watch_calls();
  watch_calls();
  EXPECT_EQ(drain_published().diagnostics, 1);
  EXPECT_FALSE(fake::enabled(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  EXPECT_EQ(foreign_unsubscribe(), CUPTI_SUCCESS);
  watch_calls();
  EXPECT_TRUE(fake::enabled(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
}

TEST_F(Provider, TriesAgainAfterARefusalButNotAtOnce) {
  fake::set_in_use(true);
  watch_calls();
  EXPECT_EQ(drain_published().diagnostics, 1);
  fake::set_in_use(false);
  watch_calls();
  EXPECT_FALSE(fake::subscribed());
  usleep(1'100'000);
  watch_calls();
  EXPECT_TRUE(fake::subscribed());
}

TEST_F(Provider, AProfilersFailureIsNoReasonToStayAway) {
  fake::set_in_use(true);
  EXPECT_EQ(foreign_subscribe(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  fake::set_in_use(false);
  watch_calls();
  EXPECT_TRUE(fake::subscribed());
}

TEST_F(Provider, ObservesFromTheBeginOfARecordingOnWhereTheProgramUsesAGpu) {
  EXPECT_THAT(watch_from_now(), HasSubstr("uses no GPU so far"));
  EXPECT_FALSE(fake::subscribed()) << "it would begin to use CUDA for the program";
  EXPECT_EQ(drain_published().diagnostics, 1);
  fake::set_gpus(0);
  EXPECT_THAT(watch_from_now(), HasSubstr("uses no GPU so far"));
  fake::set_gpus(1);
  EXPECT_EQ(watch_from_now(), "");
  EXPECT_TRUE(fake::enabled(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  expect_that_it_has_begun();
}

TEST_F(Provider, SaysAtTheBeginThatAnotherHasIt) {
  fake::set_gpus(1);
  EXPECT_EQ(foreign_subscribe(), CUPTI_SUCCESS);
  EXPECT_THAT(watch_from_now(), HasSubstr("another CUPTI user"));
  EXPECT_EQ(drain_published().diagnostics, 1);
  EXPECT_EQ(foreign_unsubscribe(), CUPTI_SUCCESS);
  watch_calls();
  EXPECT_TRUE(fake::subscribed());
}

TEST_F(Provider, LeavesAtTheEndOfARecordingAndObservesAgainInTheNext) {
  fake::set_gpus(1);
  for (int recording = 0; recording < 3; ++recording) {
    if (recording != 0) start();
    EXPECT_EQ(watch_from_now(), "");
    watch_memory();
    launch(fake::add_kernel({8}), {kBegin});
    EXPECT_EQ(drain_touches(), kTouched);
    drain_published();
    {
      const Inside inside;
      g_cuda->before_end();
    }
    const Published published = drain_published();
    ASSERT_EQ(published.launches.size(), 1u) << "the last count";
    EXPECT_EQ(published.diagnostics, recording == 0 ? 1 : 0) << "of the same text, once";
    end();
    EXPECT_FALSE(fake::subscribed());
    watch_calls();
    EXPECT_FALSE(fake::subscribed()) << "of a thread that was on its way";
    EXPECT_EQ(foreign_subscribe(), CUPTI_SUCCESS) << "by its own import";
    EXPECT_EQ(foreign_unsubscribe(), CUPTI_SUCCESS);
    watch_calls();
    EXPECT_FALSE(fake::subscribed());
    ASSERT_TRUE(unwatch_range(storage(1)));
  }
  start();
  EXPECT_EQ(watch_from_now(), "");
  EXPECT_EQ(foreign_subscribe(), CUPTI_SUCCESS) << "it makes way as in the first";
}

TEST_F(Provider, ARecordingThatEndsWhileAnotherHasItDoesNotKeepTheNextFromObserving) {
  fake::set_gpus(1);
  EXPECT_EQ(foreign_subscribe(), CUPTI_SUCCESS);
  end();
  EXPECT_EQ(foreign_unsubscribe(), CUPTI_SUCCESS) << "nobody sees it";
  start();
  EXPECT_EQ(watch_from_now(), "");
}

TEST_F(Provider, LeavesForGoodForWhomItCannotFollow) {
  watch_calls();
  {
    const Inside inside;
    g_cuda->step_aside();
  }
  EXPECT_FALSE(fake::subscribed());
  watch_calls();
  EXPECT_FALSE(fake::subscribed());
  EXPECT_EQ(drain_published().diagnostics, 1);
}

/// A StreamCallRecord with its addresses.
struct StreamCalled {
  wire::StreamCall call;
  bool blocks;
  std::uint64_t stream, event, stack;
  std::vector<std::uint64_t> addresses;
  bool operator==(const StreamCalled&) const = default;
};

class Streams : public Provider {
 protected:
  Streams() {
    g_hot.streams = true;
    watch_calls();
    fake::set_non_blocking(kSide);
    drain_published();
  }
  ~Streams() override { g_hot.streams = false; }

  static std::vector<StreamCalled> drain_calls() {
    std::vector<StreamCalled> calls;
    close_thread_chunk();
    while (test_spool().read() != 0) {
      for (spool::SequencedRecord r = test_spool().next(); r.header != nullptr; r = test_spool().next()) {
        if (r.header->type != RecordType::kStreamCall) continue;
        const auto& record = *reinterpret_cast<const wire::StreamCallRecord*>(r.header);
        StreamCalled called{static_cast<wire::StreamCall>(record.header.aux & 0xff),
                            (record.header.aux & wire::kStreamBlocks) != 0,
                            record.stream,
                            record.event,
                            record.stack,
                            {}};
        called.addresses.resize((record.header.words * 8 - sizeof record) / 8);
        std::memcpy(called.addresses.data(), &record + 1, called.addresses.size() * 8);
        calls.push_back(std::move(called));
      }
      test_spool().give_back();
    }
    return calls;
  }
  static std::uint64_t number(const void* handle) { return reinterpret_cast<std::uint64_t>(handle); }

  inline static const CUstream kSide = reinterpret_cast<CUstream>(0x5000);
  inline static const CUstream kBlocking = reinterpret_cast<CUstream>(0x6000);
  inline static const CUevent kEvent = reinterpret_cast<CUevent>(0x7000);
  static constexpr std::uint64_t kOther = 0x7e0000000000;
};

TEST_F(Streams, AKernelsPointersAreItsUses) {
  const CUfunction kernel = fake::add_kernel({8, 4, 16, 8});
  std::uint64_t pair[] = {kOther, 7};
  std::uint64_t first = kBegin, last = 0x3f8000003f800000;
  std::uint32_t count = 5;
  void* arguments[] = {&first, &count, pair, &last};
  cuLaunchKernel_params launch{};
  launch.f = kernel;
  launch.kernelParams = arguments;
  launch.hStream = kSide;
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch, "kernel");
  const StreamCalled called{wire::StreamCall::kKernel, false, number(kSide), 0, kStack, {kBegin}};
  EXPECT_EQ(drain_calls(), std::vector{called}) << "two floats are no address; nor does a structure say much";
  EXPECT_EQ(g_work, 0) << "no memory is watched";

  g_arguments = {{kOther, ArgumentOf::kOperator}, {kBegin, ArgumentOf::kNothing}};
  launch.hStream = kBlocking;
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch, "kernel");
  const StreamCalled of_operator{wire::StreamCall::kKernel, true, number(kBlocking), 0, kStack, {kOther}};
  EXPECT_EQ(drain_calls(), std::vector{of_operator}) << "the operator knows better";
}

TEST_F(Streams, ACopyUsesBothEndsAndIsOverWhereTheHostMustWait) {
  fake::set_known_memory(kBegin, kBytes);
  cuMemcpyAsync_params copy{kBegin, kOther, 8, kSide};
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync, &copy);
  const StreamCalled copied{wire::StreamCall::kCopy, false, number(kSide), 0, kStack, {kBegin, kOther}};
  EXPECT_EQ(drain_calls(), std::vector{copied});

  cuMemcpyDtoHAsync_v2_params to_host{reinterpret_cast<void*>(kOther), kBegin, 8, kSide};
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, &to_host);
  const StreamCalled to_pageable{wire::StreamCall::kCopy, false, number(kSide), 0, kStack, {kOther, kBegin}};
  const StreamCalled done{wire::StreamCall::kStreamDone, false, number(kSide), 0, 0, {}};
  EXPECT_EQ(drain_calls(), (std::vector{to_pageable, done}));

  cuMemsetD8_v2_params fill{kBegin, 0, 8};
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2, &fill);
  const StreamCalled filled{wire::StreamCall::kFill, true, 0, 0, kStack, {kBegin}};
  const StreamCalled all_waited{wire::StreamCall::kStreamDone, true, 0, 0, 0, {}};
  EXPECT_EQ(drain_calls(), (std::vector{filled, all_waited}));

  cuMemsetD32Async_params later{kBegin, 0, 8, kSide};
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async, &later);
  const StreamCalled filled_later{wire::StreamCall::kFill, false, number(kSide), 0, kStack, {kBegin}};
  EXPECT_EQ(drain_calls(), std::vector{filled_later});
}

TEST_F(Streams, WhatOrdersWorkIsRecordedOnceItIsTrue) {
  cuEventRecord_params record{kEvent, kSide};
  cuStreamWaitEvent_params wait{kBlocking, kEvent, 0};
  cuEventQuery_params query{kEvent};
  cuStreamSynchronize_params synchronize{kSide};
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuEventRecord, &record);
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent, &wait);
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuEventQuery, &query, nullptr, CUDA_ERROR_NOT_READY);
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuEventQuery, &query);
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, &synchronize);
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, nullptr);
  const std::vector<StreamCalled> expected{
      {wire::StreamCall::kEventRecord, false, number(kSide), number(kEvent), 0, {}},
      {wire::StreamCall::kWaitEvent, true, number(kBlocking), number(kEvent), 0, {}},
      {wire::StreamCall::kEventDone, true, 0, number(kEvent), 0, {}},
      {wire::StreamCall::kStreamDone, false, number(kSide), 0, 0, {}},
      {wire::StreamCall::kAllDone, true, 0, 0, 0, {}},
  };
  EXPECT_EQ(drain_calls(), expected);
}

TEST_F(Streams, ACaptureIsRecorded) {
  cuStreamBeginCapture_v2_params begin{kSide, CU_STREAM_CAPTURE_MODE_GLOBAL};
  cuStreamEndCapture_params end{kSide, nullptr};
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &begin);
  cuEventRecord_params record{kEvent, kSide};
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuEventRecord, &record);
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, &end);
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &begin, nullptr, CUDA_ERROR_ILLEGAL_STATE);
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuEventRecord, &record);
  const std::vector<StreamCalled> expected{
      {wire::StreamCall::kCaptureBegins, true, number(kSide), 0, 0, {}},
      {wire::StreamCall::kEventRecord, true, number(kSide), number(kEvent), 0, {}},
      {wire::StreamCall::kCaptureEnds, false, number(kSide), 0, 0, {}},
      {wire::StreamCall::kCaptureEnds, false, number(kSide), 0, 0, {}},
      {wire::StreamCall::kEventRecord, false, number(kSide), number(kEvent), 0, {}},
  };
  EXPECT_EQ(drain_calls(), expected);
  EXPECT_EQ(fake::stream_questions(), 3) << "none in the capture, which it would make fail";
  EXPECT_EQ(fake::capture_mode(), CU_STREAM_CAPTURE_MODE_GLOBAL);
}

TEST_F(Provider, WithoutStreamsNothingOfThemIsObserved) {
  watch_calls();
  EXPECT_FALSE(fake::enabled(CUPTI_DRIVER_TRACE_CBID_cuEventRecord));
}

class GpuWork : public Provider {
 protected:
  GpuWork() { g_hot.gpu_work = true; }
  ~GpuWork() override { g_hot.gpu_work = false; }

  struct Recorded {
    std::vector<wire::GpuLaunchRecord> launches;
    std::vector<wire::GpuWorkItem> items;
    std::uint64_t now = 0, lost = 0;
    int diagnostics = 0;
  };
  static Recorded drain() {
    Recorded recorded;
    close_thread_chunk();
    while (test_spool().read() != 0) {
      for (spool::SequencedRecord r = test_spool().next(); r.header != nullptr; r = test_spool().next()) {
        recorded.diagnostics += r.header->type == RecordType::kDiagnostic ? 1 : 0;
        if (r.header->type == RecordType::kGpuLaunch) {
          recorded.launches.push_back(*reinterpret_cast<const wire::GpuLaunchRecord*>(r.header));
        }
        if (r.header->type != RecordType::kGpuWork) continue;
        const auto& record = *reinterpret_cast<const wire::GpuWorkRecord*>(r.header);
        recorded.now = record.now;
        recorded.lost += record.lost;
        const auto* items = reinterpret_cast<const wire::GpuWorkItem*>(&record + 1);
        recorded.items.insert(recorded.items.end(), items, items + record.header.aux);
      }
      test_spool().give_back();
    }
    return recorded;
  }
};

TEST_F(GpuWork, IsRecordedWithTheCallThatGaveIt) {
  watch_calls();
  cuLaunchKernel_params parameters{};
  parameters.f = fake::add_kernel({8});
  parameters.hStream = reinterpret_cast<CUstream>(0x5000);
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &parameters, "kernel");
  cuMemcpyHtoDAsync_v2_params copy{kBegin, nullptr, 8, nullptr};
  fake::call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, &copy);
  std::vector<wire::GpuLaunchRecord> launches = drain().launches;
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].stream, 0x5000u);
  EXPECT_EQ(launches[0].stack, kStack);
  EXPECT_EQ(launches[1].stream, 0u);
  EXPECT_NE(launches[0].header.aux, launches[1].header.aux);

  fake::kernel_done("kernel", 100, 250, launches[0].header.aux, 7, 3);
  fake::copy_done(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 8, 300, 310, launches[1].header.aux, 9);
  fake::set_timestamp(1000);
  fake::hand_over();
  const Recorded recorded = drain();
  ASSERT_EQ(recorded.items.size(), 2u);
  EXPECT_EQ(recorded.now, 1000u);
  EXPECT_EQ(recorded.lost, 0u);
  const wire::GpuWorkItem& kernel = recorded.items[0];
  EXPECT_EQ(kernel.start, 100u);
  EXPECT_EQ(kernel.end, 250u);
  EXPECT_EQ(kernel.name, intern("kernel", 6));
  EXPECT_EQ(kernel.call, launches[0].header.aux);
  EXPECT_EQ(kernel.stream, 7u);
  EXPECT_EQ(kernel.graph, 3u);
  EXPECT_EQ(kernel.kind, wire::GpuWorkKind::kKernel);
  EXPECT_EQ(recorded.items[1].kind, wire::GpuWorkKind::kCopyToGpu);
  EXPECT_EQ(recorded.items[1].bytes, 8u);
  EXPECT_EQ(recorded.items[1].name, 0u);
}

TEST_F(GpuWork, MoreThanARecordHoldsIsInSeveral) {
  watch_calls();
  drain();
  constexpr std::uint64_t kMany = 1000;
  for (std::uint64_t i = 0; i < kMany; ++i) fake::kernel_done("kernel", i, i + 1, 1, 7);
  fake::hand_over();
  const Recorded recorded = drain();
  ASSERT_EQ(recorded.items.size(), kMany);
  for (std::uint64_t i = 0; i < kMany; ++i) ASSERT_EQ(recorded.items[i].start, i);
}

TEST_F(GpuWork, WithoutATimeItIsCountedAsLost) {
  watch_calls();
  drain();
  fake::set_has_timestamp(false);
  constexpr std::uint64_t kMany = 1000;
  for (std::uint64_t i = 0; i < kMany; ++i) fake::kernel_done("kernel", i, i + 1, 1, 7);
  fake::hand_over();
  EXPECT_TRUE(drain().items.empty());
  fake::set_has_timestamp(true);
  fake::kernel_done("kernel", 1, 2, 1, 7);
  fake::hand_over();
  const Recorded recorded = drain();
  EXPECT_EQ(recorded.items.size(), 1u);
  EXPECT_EQ(recorded.lost, kMany);
}

TEST_F(GpuWork, WhatFindsNoSpaceInTheSpoolIsALostRecord) {
  watch_calls();
  drain();
  const std::uint64_t lost = test_spool().lost();
  constexpr int kRounds = 40, kEach = 1500;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kEach; ++i) fake::kernel_done("kernel", 1, 2, 1, 7);
    fake::hand_over();
  }
  EXPECT_LE(drain().items.size(), static_cast<std::size_t>(kRounds) * kEach);
  EXPECT_GT(test_spool().lost(), lost) << "the spool is smaller than that";
}

TEST_F(GpuWork, WhatWasDroppedIsCounted) {
  watch_calls();
  drain();
  fake::drop(5);
  fake::hand_over();
  EXPECT_EQ(drain().lost, 5u) << "also if nothing else comes";
}

TEST_F(GpuWork, EndsWhereAnotherUserComes) {
  watch_calls();
  drain();
  fake::kernel_done("kernel", 1, 2, 1, 7);
  foreign_subscribe();
  const Recorded recorded = drain();
  EXPECT_EQ(recorded.items.size(), 1u) << "what was collected is not lost";
  EXPECT_EQ(recorded.diagnostics, 1);
  EXPECT_FALSE(fake::collects(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  foreign_unsubscribe();
  watch_calls();
  EXPECT_TRUE(fake::collects(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

TEST_F(Provider, CollectsNothingUnlessItIsAsked) {
  watch_calls();
  EXPECT_FALSE(fake::collects(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

}  // namespace
}  // namespace dcmt::agent
