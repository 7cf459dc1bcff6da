# dlsym, seen without becoming its caller, which RTLD_NEXT depends on: a program that asks for the address of malloc, as
# ctypes does, gets the hook. dcmt_native_symbol(handle, symbol) returns an address, or null for the real dlsym.

    .text
    .globl dcmt_native_dlsym
    .hidden dcmt_native_dlsym
    .type dcmt_native_dlsym, @function
dcmt_native_dlsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq  $8, %rsp
    .cfi_adjust_cfa_offset 8
    call  dcmt_native_symbol
    addq  $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq  %rsi
    .cfi_adjust_cfa_offset -8
    popq  %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    jne   1f
    jmp   *dcmt_native_real_dlsym(%rip)
1:  ret
    .cfi_endproc
    .size dcmt_native_dlsym, .-dcmt_native_dlsym

    .section .note.GNU-stack,"",@progbits
