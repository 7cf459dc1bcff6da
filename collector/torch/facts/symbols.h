// Mangled names of torch's functions, virtual tables and variables that are hooked or read.
#pragma once

namespace dcmt::torch_provider {

// Tensors and storages.
inline constexpr char kConstruct4[] =
    "_ZN3c1010TensorImplC1EONS_7StorageENS_14DispatchKeySetEN6caffe28TypeMetaESt8optionalINS_6DeviceEE";
inline constexpr char kConstructViewC1[] =
    "_ZN3c1010TensorImplC1ENS0_8ImplTypeEONS_7StorageENS_14DispatchKeySetEN6caffe28TypeMetaE";
inline constexpr char kConstructViewC2[] =
    "_ZN3c1010TensorImplC2ENS0_8ImplTypeEONS_7StorageENS_14DispatchKeySetEN6caffe28TypeMetaE";
inline constexpr char kDestroyD1[] = "_ZN3c1010TensorImplD1Ev";
inline constexpr char kDestroyD2[] = "_ZN3c1010TensorImplD2Ev";
inline constexpr char kResizeCpu[] = "_ZN2at6native16resize_bytes_cpuEPN3c1011StorageImplEm";
inline constexpr char kResizeCuda[] = "_ZN2at6native17resize_bytes_cudaEPN3c1011StorageImplEm";
inline constexpr char kCopyMetadata[] = "_ZN3c1010TensorImpl20copy_tensor_metadataEPKS0_PS0_RKNS_15VariableVersionEb";
inline constexpr char kCopyMetadataMove[] =
    "_ZN3c1010TensorImpl20copy_tensor_metadataEPKS0_PS0_ONS_15VariableVersionEb";
inline constexpr char kSetCpu[] = "_ZN2at6native16set_storage_cpu_ERNS_6TensorEN3c107StorageElNS3_8ArrayRefIlEES6_";
inline constexpr char kSetCuda[] = "_ZN2at6native17set_storage_cuda_ERNS_6TensorEN3c107StorageElNS3_8ArrayRefIlEES6_";
inline constexpr char kSetMeta[] =
    "_ZN2at6native24set_storage_meta__symintERNS_6TensorEN3c107StorageENS3_6SymIntENS3_8ArrayRefIS5_EES7_";
inline constexpr char kSetQuantized[] =
    "_ZN2at6native22set_storage_quantized_ERNS_6TensorEN3c107StorageElNS3_8ArrayRefIlEES6_";
inline constexpr char kMakeStorage[] =
    "_ZN3c1017make_storage_implENS_11StorageImpl15use_byte_size_tENS_6SymIntENS_7DataPtrEPNS_9AllocatorEbSt8"
    "optionalINS_6DeviceEE";
inline constexpr char kEngineExecute[] =
    "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_";
inline constexpr char kEngineTable[] = "_ZTVN5torch8autograd6EngineE";
inline constexpr char kUndefined[] = "_ZN3c1019UndefinedTensorImpl10_singletonE";
inline constexpr char kTensorTable[] = "_ZTVN3c1010TensorImplE";
inline constexpr char kStorageTable[] = "_ZTVN3c1011StorageImplE";
inline constexpr char kFunctionalTable[] = "_ZTVN2at17functionalization21FunctionalStorageImplE";

// Blocks.
inline constexpr char kAllocCpu[] = "_ZN3c109alloc_cpuEm";
inline constexpr char kFreeCpu[] = "_ZN3c108free_cpuEPv";
inline constexpr char kReportMemory[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
inline constexpr char kReportOutOfMemory[] = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE";
inline constexpr char kCpuOutOfMemory[] = "_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm";

}  // namespace dcmt::torch_provider
