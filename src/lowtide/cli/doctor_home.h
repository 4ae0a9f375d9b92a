// Where the parts that go into watched programs are installed: the Python side and the allocation sampler.
//
//   DoctorHome home = find_doctor_home();
//   home.inject           // a folder for PYTHONPATH; empty where it is not installed
//   home.sampler          // a file for LD_PRELOAD; empty likewise
//
// LOWTIDE_DOCTOR_HOME names another folder. Thread-safe.
#pragma once

#include <string>

namespace lowtide::cli {

struct DoctorHome {
  std::string inject, sampler;
};
DoctorHome find_doctor_home();

}  // namespace lowtide::cli
