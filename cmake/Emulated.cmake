# stencil_emulate(FILE …): compiles the .cu files among them for the emulated GPU (tests/emulated/), whose headers stand
# in for CUDA's and for those of this project that contain PTX.
set(emulated ${CMAKE_SOURCE_DIR}/tests/emulated)
set(STENCIL_EMULATED_OPTIONS -std=c++17 -O1 -ffp-contract=off -iquote${emulated}/include -I${emulated}/include
    -include cuda_runtime.h -D__CUDACC__ -D__CUDA_ARCH__=900 -D__CUDA_ARCH_LIST__=900
    # Shared memory: see tests/emulated/block.cc.
    -fno-extern-tls-init -ftls-model=local-exec -fno-stack-protector -pipe -B${emulated}/assembler
    -Wall -Wno-unknown-pragmas -Wno-sign-compare -Wno-unused-variable)
# fma() as an instruction, where the machine that builds, and runs, has it: the same bits, sooner.
include(CheckCSourceRuns)
check_c_source_runs("int main(void) { return !__builtin_cpu_supports(\"fma\"); }" STENCIL_BUILD_HAS_FMA)
if(STENCIL_BUILD_HAS_FMA)
    list(APPEND STENCIL_EMULATED_OPTIONS -mfma)
endif()
function(stencil_emulate)
    list(FILTER ARGN INCLUDE REGEX "\\.cu$")
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${STENCIL_EMULATED_OPTIONS}"
        OBJECT_DEPENDS ${CMAKE_SOURCE_DIR}/tests/emulated/assembler/as)
endfunction()
