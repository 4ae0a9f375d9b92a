// Whether data is what it was: a hash of samples of every file's content, small enough for a checkpoint.
//
//   DataFingerprint now = fingerprint(files);
//   check_same(saved, now, files);           // DataChangedError names the first file that differs
//
// Of a megabyte in all, every byte is read; of more, pages at fixed places of each file, its first and last among them. Sizes count,
// names and times do not: a copy is the same data.
//
// Thread-safe. Blocks for the disk, interruptible.
#pragma once

#include <memory>
#include <span>

#include "lowtide/io/file.h"
#include "lowtide/loader.h"

namespace lowtide {

DataFingerprint fingerprint(std::span<const std::shared_ptr<io::File>> files);
void check_same(const DataFingerprint& saved, const DataFingerprint& now,
                std::span<const std::shared_ptr<io::File>> files);

}  // namespace lowtide
