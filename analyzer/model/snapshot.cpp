#include "analyzer/model/snapshot.h"

namespace dcmt::model {

Bytes Snapshot::bytes() const {
  Bytes sum;
  for (const SnapshotStorage& storage : storages) sum.value += storage.bytes.value;
  return sum;
}

Bytes Snapshot::bytes_explained() const {
  Bytes sum;
  for (const SnapshotStorage& storage : storages) {
    if (!storage.holders.empty() || storage.role) sum.value += storage.bytes.value;
  }
  return sum;
}

}  // namespace dcmt::model
