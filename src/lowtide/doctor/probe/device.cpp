#include "lowtide/doctor/probe/device.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace lowtide::doctor {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

DeviceProbe::DeviceProbe() {
  const char* name = std::getenv("LOWTIDE_NVML");
  library_ = dlopen(name != nullptr ? name : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return;
  int (*init)() = nullptr;
  const bool whole = find(library_, "nvmlInit_v2", init) && find(library_, "nvmlDeviceGetCount_v2", count_) &&
                     find(library_, "nvmlDeviceGetHandleByIndex_v2", handle_) &&
                     find(library_, "nvmlDeviceGetComputeRunningProcesses_v3", running_processes_);
  if (!whole || init() != 0) running_processes_ = nullptr;
}

DeviceProbe::~DeviceProbe() {
  if (library_ != nullptr) dlclose(library_);
}

std::uint64_t DeviceProbe::used_bytes(const std::vector<int>& pids) const {
  unsigned devices = 0;
  if (!present() || count_(&devices) != 0) return 0;
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < devices; ++i) {
    Device device = nullptr;
    std::array<ProcessInfo, 256> running{};
    unsigned count = running.size();
    if (handle_(i, &device) != 0 || running_processes_(device, &count, running.data()) != 0) continue;
    for (unsigned p = 0; p < std::min<unsigned>(count, running.size()); ++p) {
      if (std::find(pids.begin(), pids.end(), static_cast<int>(running[p].pid)) != pids.end())
        bytes += running[p].used_bytes;
    }
  }
  return bytes;
}

}  // namespace lowtide::doctor
