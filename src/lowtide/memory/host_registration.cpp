#include "lowtide/memory/host_registration.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>
#include <new>
#include <type_traits>

#include "lowtide/base/fork.h"

namespace lowtide {
namespace {

// The part of CUDA's driver API that is used, as its ABI has been since CUDA 4.
using Result = int;
using Device = int;
using Context = void*;
constexpr unsigned int for_all_contexts = 1;  // CU_MEMHOSTREGISTER_PORTABLE

struct DriverCalls {
  Result (*init)(unsigned int) = nullptr;
  Result (*current_device)(Device*) = nullptr;
  Result (*device_get)(Device*, int) = nullptr;
  Result (*retain_context)(Context*, Device) = nullptr;
  Result (*push_context)(Context) = nullptr;
  Result (*pop_context)(Context*) = nullptr;
  Result (*register_memory)(void*, std::size_t, unsigned int) = nullptr;
  Result (*unregister_memory)(void*) = nullptr;
  Result (*error_name)(Result, const char**) = nullptr;
};

class Driver {
 public:
  static Driver& process() {
    static Driver* const driver = new Driver;  // used by whatever is freed at exit
    return *driver;
  }

  bool register_memory(void* data, std::size_t bytes) {
    if (forked()) return false;
    const std::lock_guard lock(mutex_);
    return ready() &&
           in_context("cuMemHostRegister", [&] { return calls_.register_memory(data, bytes, for_all_contexts); });
  }

  void unregister_memory(void* data) {
    if (forked()) return;
    const std::lock_guard lock(mutex_);
    in_context("cuMemHostUnregister", [&] { return calls_.unregister_memory(data); });
  }

  void forbid(std::string why) {
    if (forked()) return;
    const std::lock_guard lock(mutex_);
    looked_for_ = true;
    absence_ = std::move(why);
    forbidden_ = true;
  }

  std::string refusal() {
    if (forked()) return "CUDA does not survive fork()";
    const std::lock_guard lock(mutex_);
    return refusal_;
  }

 private:
  Driver() = default;

  // Asked before the lock is: at the fork, a thread that is not here may have held it.
  bool forked() const { return !made_.here(); }

  bool refuse(std::string why) {
    refusal_ = std::move(why);
    return false;
  }

  bool succeeded(Result result, const char* call) {
    if (result == 0) return true;
    const char* name = nullptr;
    if (calls_.error_name(result, &name) != 0 || name == nullptr) name = "an unknown error";
    return refuse(fmt::format("{}: {} ({})", call, name, result));
  }

  bool ready() {
    if (context_ == nullptr && !looked_for_) {
      looked_for_ = true;
      absence_ = find() && make_context() ? "" : refusal_;
    }
    return (context_ != nullptr && !forbidden_) || refuse(absence_);
  }

  bool find() {
    void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return refuse(fmt::format("no CUDA driver: {}", dlerror()));
    const auto take = [&](auto& call, const char* name) {
      call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(dlsym(library, name));
      return call != nullptr || refuse(fmt::format("the CUDA driver has no {}", name));
    };
    return take(calls_.init, "cuInit") && take(calls_.current_device, "cuCtxGetDevice") &&
           take(calls_.device_get, "cuDeviceGet") && take(calls_.retain_context, "cuDevicePrimaryCtxRetain") &&
           take(calls_.push_context, "cuCtxPushCurrent_v2") && take(calls_.pop_context, "cuCtxPopCurrent_v2") &&
           take(calls_.register_memory, "cuMemHostRegister_v2") &&
           take(calls_.unregister_memory, "cuMemHostUnregister") && take(calls_.error_name, "cuGetErrorName");
  }

  bool make_context() {
    if (!succeeded(calls_.init(0), "cuInit")) return false;
    Device device = 0;
    // Device 0's context costs each process of a node some hundred MiB there, so the one that the caller uses anyway is preferred.
    if (calls_.current_device(&device) != 0 && !succeeded(calls_.device_get(&device, 0), "cuDeviceGet")) return false;
    Context context = nullptr;
    if (!succeeded(calls_.retain_context(&context, device), "cuDevicePrimaryCtxRetain")) return false;
    context_ = context;
    return true;
  }

  // Pushed and popped: which context is the thread's own is not ours to change.
  template <class Call>
  bool in_context(const char* name, Call call) {
    if (!succeeded(calls_.push_context(context_), "cuCtxPushCurrent")) return false;
    const bool done = succeeded(call(), name);
    Context popped = nullptr;
    calls_.pop_context(&popped);
    return done;
  }

  const MadeHere made_;
  std::mutex mutex_;
  bool looked_for_ = false, forbidden_ = false;
  DriverCalls calls_;
  Context context_ = nullptr;
  std::string absence_;  // why there is no context, and will be none
  std::string refusal_;
};

}  // namespace

HostRegistration HostRegistration::of(void* data, std::size_t bytes) noexcept {
  try {
    return HostRegistration(Driver::process().register_memory(data, bytes) ? data : nullptr);
  } catch (const std::bad_alloc&) {  // of the words of a refusal
    return {};
  }
}

void HostRegistration::forbid(std::string why) { Driver::process().forbid(std::move(why)); }

std::string HostRegistration::refusal() { return Driver::process().refusal(); }

HostRegistration& HostRegistration::operator=(HostRegistration&& other) noexcept {
  if (this != &other) {
    undo();
    data_ = std::exchange(other.data_, nullptr);
  }
  return *this;
}

void HostRegistration::undo() noexcept {
  if (data_ == nullptr) return;
  try {
    Driver::process().unregister_memory(std::exchange(data_, nullptr));
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace lowtide
