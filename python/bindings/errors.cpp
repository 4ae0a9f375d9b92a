// One translation of every error at the border: the classes live in lowtide.errors.
#include "bindings.h"
#include "lowtide/base/interrupt.h"
#include "lowtide/memory/budget.h"

namespace lowtide::python {
namespace {

template <class... Arguments>
void raise(const char* maker, const char* message, Arguments... arguments) {
  const nb::object error = nb::module_::import_("lowtide.errors").attr(maker)(FsText{message}, arguments...);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const BudgetError& e) {
    raise("BudgetError", e.what(), e.needed_bytes(), e.limit_bytes());
  } catch (const IoError& e) {
    raise("io_error", e.what(), e.code(), FsText{e.path()}, e.offset());
  } catch (const FormatError& e) {
    raise("FormatError", e.what());
  } catch (const DataChangedError& e) {
    raise("DataChangedError", e.what());
  } catch (const UnsupportedError& e) {
    raise("UnsupportedError", e.what());
  } catch (const CancelledError& e) {
    raise("CancelledError", e.what());
  } catch (const Error& e) {
    raise("Error", e.what());
  } catch (const TypeError& e) {
    PyErr_SetString(PyExc_TypeError, e.what());
  }
}

// Ctrl-C: Python runs its handler on the main thread only; elsewhere this is a no-op.
void check_signals() {
  const GilHeld gil;
  if (or_sleep_at_exit([] { return PyErr_CheckSignals(); }) != 0) throw nb::python_error();
}

// Results kept by garbage that the collector has not seen yet.
void collect_garbage() {
  const GilHeld gil;
  or_sleep_at_exit([] { nb::module_::import_("gc").attr("collect")(); });
}

// Only Python knows of workers among which a budget is divided.
void take_share() {
  const GilHeld gil;
  or_sleep_at_exit([] { nb::module_::import_("lowtide.budget").attr("take_share")(); });
}

}  // namespace

void bind_errors(nb::module_&) {
  nb::register_exception_translator(translate);
  set_interrupt_hook(check_signals);
  set_last_resort(collect_garbage);
  set_first_use(take_share);
}

}  // namespace lowtide::python
