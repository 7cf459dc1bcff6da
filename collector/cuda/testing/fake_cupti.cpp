#include "collector/cuda/testing/fake_cupti.h"

#include <set>

namespace dcmt::fake {
namespace {

CUpti_CallbackFunc g_callback = nullptr;
void* g_data = nullptr;
std::set<CUpti_CallbackId> g_enabled;
bool g_in_use = false;
int g_subscriber;  // its address is the handle

}  // namespace

void call(CUpti_CallbackId function, const void* parameters, const char* kernel, CUresult result) {
  CUpti_CallbackData data{};
  data.functionName = "cuSomething";
  data.functionParams = parameters;
  data.symbolName = kernel;
  data.functionReturnValue = &result;
  for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
    data.callbackSite = site;
    if (enabled(function)) g_callback(g_data, CUPTI_CB_DOMAIN_DRIVER_API, function, &data);
  }
}

bool subscribed() { return g_callback != nullptr; }
bool enabled(CUpti_CallbackId function) { return g_callback != nullptr && g_enabled.count(function) > 0; }
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

}  // extern "C"
