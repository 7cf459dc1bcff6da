// Which storages and tensors live in this process, found without any help: by scanning its writable memory for objects
// of the classes asked for. What a trace says is alive is compared with this.
//
// Plain C, without torch: the C++ programs link it, the Python programs load it with ctypes.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// Objects whose first word is `table` (two words past the symbol of their virtual table) are searched for.
__attribute__((visibility("default"))) void live_objects_storage_class(const void* table);
__attribute__((visibility("default"))) void live_objects_tensor_class(const void* table);

/// Appends to the file one line an object that has references: "storage ADDRESS BYTES" (0 bytes where it has no data)
/// or "tensor ADDRESS STORAGE", in decimal. Returns how many, -1 if memory or file could not be read or written. No
/// other thread may make or end objects meanwhile.
__attribute__((visibility("default"))) long live_objects_write(const char* path);

#ifdef __cplusplus
}
#endif
