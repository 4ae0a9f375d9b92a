#include "lowtide/doctor/sampler/python_stack.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace lowtide::sampler {
namespace {

struct Api {
  int (*is_initialized)() = nullptr;
  void* (*this_thread_state)() = nullptr;
  void* (*current_thread_state)() = nullptr;
  void* (*get_frame)() = nullptr;
  void* (*frame_back)(void*) = nullptr;
  void* (*frame_code)(void*) = nullptr;
  int (*frame_line)(void*) = nullptr;
  void* (*attribute)(void*, const char*) = nullptr;
  const char* (*utf8)(void*) = nullptr;
  void (*release)(void*) = nullptr;
  int (*gc_disable)() = nullptr;
  int (*gc_enable)() = nullptr;
  void (*error_fetch)(void**, void**, void**) = nullptr;
  void (*error_restore)(void*, void*, void*) = nullptr;
};

Api api;
bool found = false;
const void* interpreter_base = nullptr;

template <class Function>
bool find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

void add_text(void* code, const char* name, char* out, std::size_t room) {
  void* value = api.attribute(code, name);
  const char* text = value == nullptr ? nullptr : api.utf8(value);
  if (text == nullptr) text = "?";
  const char* slash = std::strrchr(text, '/');
  std::snprintf(out, room, "%s", slash == nullptr ? text : slash + 1);
  if (value != nullptr) api.release(value);
}

std::uint32_t text_of(LiveTable& table, void* frame) {
  void* code = api.frame_code(frame);
  if (code == nullptr) return 0;
  char file[96], function[64], text[192];
  add_text(code, "co_filename", file, sizeof file);
  add_text(code, "co_name", function, sizeof function);
  api.release(code);
  std::snprintf(text, sizeof text, "%s:%d %s", file, api.frame_line(frame), function);
  return table.intern(text);
}

}  // namespace

void find_python() {
  found =
      find("Py_IsInitialized", api.is_initialized) && find("PyGILState_GetThisThreadState", api.this_thread_state) &&
      (find("PyThreadState_GetUnchecked", api.current_thread_state) ||
       find("_PyThreadState_UncheckedGet", api.current_thread_state)) &&
      find("PyEval_GetFrame", api.get_frame) && find("PyFrame_GetBack", api.frame_back) &&
      find("PyFrame_GetCode", api.frame_code) && find("PyFrame_GetLineNumber", api.frame_line) &&
      find("PyObject_GetAttrString", api.attribute) && find("PyUnicode_AsUTF8", api.utf8) &&
      find("Py_DecRef", api.release) && find("PyGC_Disable", api.gc_disable) && find("PyGC_Enable", api.gc_enable) &&
      find("PyErr_Fetch", api.error_fetch) && find("PyErr_Restore", api.error_restore);
  Dl_info info{};
  if (api.is_initialized != nullptr && dladdr(reinterpret_cast<void*>(api.is_initialized), &info) != 0)
    interpreter_base = info.dli_fbase;
}

bool is_python_code(const void* address) {
  Dl_info info{};
  return interpreter_base != nullptr && dladdr(address, &info) != 0 && info.dli_fbase == interpreter_base;
}

int python_frames(LiveTable& table, std::uint32_t* out) {
  if (!found || api.is_initialized() == 0) return 0;
  void* state = api.this_thread_state();
  if (state == nullptr || state != api.current_thread_state()) return 0;
  // Frame objects are made on demand up to 3.11, and making one may start a collection: not inside malloc.
  const int enabled = api.gc_disable();
  void *type = nullptr, *value = nullptr, *trace = nullptr;
  api.error_fetch(&type, &value, &trace);
  int count = 0;
  void* frame = api.get_frame();
  bool owned = false;
  while (frame != nullptr && count < python_depth) {
    out[count++] = text_of(table, frame);
    void* back = api.frame_back(frame);
    if (owned) api.release(frame);
    frame = back;
    owned = true;
  }
  if (frame != nullptr && owned) api.release(frame);
  api.error_restore(type, value, trace);
  if (enabled != 0) api.gc_enable();
  return count;
}

}  // namespace lowtide::sampler
