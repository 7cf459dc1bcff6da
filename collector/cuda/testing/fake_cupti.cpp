#include "collector/cuda/testing/fake_cupti.h"

#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace dcmt::fake {
namespace {

CUpti_CallbackFunc g_callback = nullptr;
void* g_data = nullptr;
std::set<CUpti_CallbackId> g_enabled;
bool g_in_use = false;
int g_subscriber;  // its address is the handle

// As in CUPTI 12: later versions append to these.
using Kernel = CUpti_ActivityKernel7;
using Copy = CUpti_ActivityMemcpy5;
CUpti_BuffersCallbackRequestFunc g_request = nullptr;
CUpti_BuffersCallbackCompleteFunc g_complete = nullptr;
std::set<CUpti_ActivityKind> g_collected;
std::vector<std::vector<char>> g_activities;
std::uint64_t g_timestamp = 0;
bool g_has_timestamp = true;
std::size_t g_dropped = 0;

template <class Activity>
void done(const Activity& activity) {
  if (!collects(activity.kind)) return;
  const char* bytes = reinterpret_cast<const char*>(&activity);
  g_activities.emplace_back(bytes, bytes + sizeof activity);
}

}  // namespace

void call(CUpti_CallbackId function, const void* parameters, const char* kernel, CUresult result) {
  CUpti_CallbackData data{};
  data.functionName = "cuSomething";
  data.functionParams = parameters;
  data.symbolName = kernel;
  data.functionReturnValue = &result;
  static uint32_t number = 0;
  data.correlationId = ++number;
  for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
    data.callbackSite = site;
    if (enabled(function)) g_callback(g_data, CUPTI_CB_DOMAIN_DRIVER_API, function, &data);
  }
}

bool subscribed() { return g_callback != nullptr; }
bool enabled(CUpti_CallbackId function) { return g_callback != nullptr && g_enabled.count(function) > 0; }
bool collects(CUpti_ActivityKind kind) { return g_collected.count(kind) > 0; }

void kernel_done(const char* name, std::uint64_t start, std::uint64_t end, std::uint32_t call, std::uint32_t stream,
                 std::uint32_t graph) {
  Kernel kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.name = name;
  kernel.start = start;
  kernel.end = end;
  kernel.correlationId = call;
  kernel.streamId = stream;
  kernel.graphId = graph;
  done(kernel);
}

void copy_done(CUpti_ActivityMemcpyKind kind, std::uint64_t bytes, std::uint64_t start, std::uint64_t end,
               std::uint32_t call, std::uint32_t stream) {
  Copy copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = static_cast<std::uint8_t>(kind);
  copy.bytes = bytes;
  copy.start = start;
  copy.end = end;
  copy.correlationId = call;
  copy.streamId = stream;
  done(copy);
}

void set_timestamp(std::uint64_t now) { g_timestamp = now; }
void set_has_timestamp(bool has_timestamp) { g_has_timestamp = has_timestamp; }
void drop(std::size_t activities) { g_dropped += activities; }

void hand_over() {
  if (g_request == nullptr) return;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, most = 0, valid = 0;
  g_request(&buffer, &size, &most);
  for (const std::vector<char>& activity : std::exchange(g_activities, {})) {
    if (valid + activity.size() > size) {
      ++g_dropped;
      continue;
    }
    std::memcpy(buffer + valid, activity.data(), activity.size());
    valid += activity.size();
  }
  if (buffer != nullptr) g_complete(nullptr, 0, buffer, size, valid);
}

void set_in_use(bool in_use) { g_in_use = in_use; }

}  // namespace dcmt::fake

using namespace dcmt::fake;

extern "C" {

DCMT_FAKE CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* data) {
  if (g_in_use || g_callback != nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  g_callback = callback;
  g_data = data;
  g_enabled.clear();
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&g_subscriber);
  return CUPTI_SUCCESS;
}

DCMT_FAKE CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  if (g_callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  g_callback = nullptr;
  return CUPTI_SUCCESS;
}

DCMT_FAKE CUptiResult cuptiFinalize() {
  g_callback = nullptr;
  return CUPTI_SUCCESS;
}

DCMT_FAKE CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                          CUpti_CallbackId id) {
  if (g_callback == nullptr || domain != CUPTI_CB_DOMAIN_DRIVER_API) return CUPTI_ERROR_INVALID_PARAMETER;
  if (enable != 0) {
    g_enabled.insert(id);
  } else {
    g_enabled.erase(id);
  }
  return CUPTI_SUCCESS;
}

DCMT_FAKE CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                     CUpti_BuffersCallbackCompleteFunc complete) {
  g_request = request;
  g_complete = complete;
  return CUPTI_SUCCESS;
}

DCMT_FAKE CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  g_collected.insert(kind);
  return CUPTI_SUCCESS;
}

DCMT_FAKE CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  g_collected.erase(kind);
  return CUPTI_SUCCESS;
}

DCMT_FAKE CUptiResult cuptiActivityFlushAll(uint32_t) {
  hand_over();
  return CUPTI_SUCCESS;
}

DCMT_FAKE CUptiResult cuptiActivityFlushPeriod(uint32_t) { return CUPTI_SUCCESS; }

DCMT_FAKE CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) {
    const bool is_kernel = (*record)->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    next = reinterpret_cast<std::uint8_t*>(*record) + (is_kernel ? sizeof(Kernel) : sizeof(Copy));
  }
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

DCMT_FAKE CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = std::exchange(g_dropped, 0);
  return CUPTI_SUCCESS;
}

DCMT_FAKE CUptiResult cuptiGetTimestamp(uint64_t* now) {
  *now = g_timestamp;
  return g_has_timestamp ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
}

}  // extern "C"
