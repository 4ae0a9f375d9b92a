// Memory of NVIDIA devices that the tree holds, through the driver's own management library where there is one.
//
//   DeviceProbe probe;
//   probe.used_bytes(pids);          // 0 without a driver
//
// Not thread-safe. The library is opened at run time; nothing links it.
#pragma once

#include <cstdint>
#include <vector>

namespace lowtide::doctor {

class DeviceProbe {
 public:
  // LOWTIDE_NVML names another library to open, as the tests do.
  DeviceProbe();
  ~DeviceProbe();
  DeviceProbe(const DeviceProbe&) = delete;
  DeviceProbe& operator=(const DeviceProbe&) = delete;
  std::uint64_t used_bytes(const std::vector<int>& pids) const;
  bool present() const { return running_processes_ != nullptr; }

 private:
  // The layout of nvmlProcessInfo_t as of driver 510, which _v3 of the call fills.
  struct ProcessInfo {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
  };
  using Device = void*;
  void* library_ = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, Device*) = nullptr;
  int (*running_processes_)(Device, unsigned*, ProcessInfo*) = nullptr;
};

}  // namespace lowtide::doctor
