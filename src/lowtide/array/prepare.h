// Makes everything that is one for the process, before any thread can be half-way through making it when another forks: the child
// would wait for ever for a thread that it does not have.
//
//   prepare_process();        // where every array begins: open, create, save
//
// Thread-safe; does its work once.
#pragma once

namespace lowtide {

void prepare_process();

}  // namespace lowtide
