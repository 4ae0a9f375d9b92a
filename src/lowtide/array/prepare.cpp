#include "lowtide/array/prepare.h"

#include "lowtide/io/descriptors.h"
#include "lowtide/io/mode.h"
#include "lowtide/io/thread_pool.h"
#include "lowtide/memory/block_cache.h"
#include "lowtide/memory/for_speed.h"
#include "lowtide/memory/page_arena.h"
#include "lowtide/memory/spare_blocks.h"
#include "lowtide/transfer/warm_maps.h"
#include "lowtide/transfer/whole_files.h"

namespace lowtide {

void prepare_process() {
  [[maybe_unused]] static const bool prepared = [] {
    Budget::process();
    PageArena::process();
    io::DescriptorTable::process();
    SpareBlocks::process();
    BlockCache::process();
    WarmMaps::process();
    WholeFiles::process();
    io::ThreadPool::process();
    ForSpeed::prepare();
    io::usable_threads();
    io::uring_available();
    return true;
  }();
}

}  // namespace lowtide
