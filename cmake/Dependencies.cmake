# Compilers, CUDA (found or not) and libraries. stencil_options carries the flags of every target.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# An archive needs no other one to be made: its files compile beside those of the archives that it is linked with.
set(CMAKE_OPTIMIZE_DEPENDENCIES ON)

set(STENCIL_HAVE_CUDA OFF)
set(STENCIL_EMULATED OFF)
if(STENCIL_CUDA STREQUAL "EMULATED")
    enable_language(CXX)
    include(Emulated)
    set(STENCIL_HAVE_CUDA ON)
    set(STENCIL_EMULATED ON)
    set(CMAKE_SKIP_INSTALL_RULES ON)
    set(CMAKE_ENABLE_EXPORTS ON) # names of kernels, for messages
elseif(NOT STENCIL_CUDA STREQUAL "OFF")
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
        find_program(STENCIL_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
        if(STENCIL_NVCC)
            set(CMAKE_CUDA_COMPILER ${STENCIL_NVCC})
        endif()
    endif()
    # The architecture of the GPU that is here; Hopper where there is none to ask.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        find_program(STENCIL_NVIDIA_SMI nvidia-smi)
        set(listed 1)
        if(STENCIL_NVIDIA_SMI)
            execute_process(COMMAND ${STENCIL_NVIDIA_SMI} -L RESULT_VARIABLE listed OUTPUT_QUIET ERROR_QUIET)
        endif()
        if(listed EQUAL 0)
            set(CMAKE_CUDA_ARCHITECTURES native)
        else()
            set(CMAKE_CUDA_ARCHITECTURES 90)
        endif()
    endif()
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        enable_language(CUDA)
        find_package(CUDAToolkit REQUIRED)
        set(CMAKE_CUDA_STANDARD 17)
        set(CMAKE_CUDA_STANDARD_REQUIRED ON)
        set(STENCIL_HAVE_CUDA ON)
        # NCCL and cuRAND are loaded at run time: the build needs only their headers.
        find_path(STENCIL_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
        find_path(STENCIL_CURAND_INCLUDE curand.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
        mark_as_advanced(STENCIL_NCCL_INCLUDE STENCIL_CURAND_INCLUDE)
    elseif(STENCIL_CUDA STREQUAL "ON")
        message(FATAL_ERROR "STENCIL_CUDA=ON, but no CUDA compiler was found (set CUDACXX or CUDA_HOME)")
    endif()
endif()
message(STATUS "CUDA back-end: ${STENCIL_HAVE_CUDA}")

# MPI for the command; the static build travels, and MPI does not.
set(STENCIL_HAVE_MPI OFF)
if(STENCIL_COMMAND AND (STENCIL_MPI STREQUAL "ON" OR (STENCIL_MPI STREQUAL "AUTO" AND NOT STENCIL_STATIC)))
    set(MPI_CXX_SKIP_MPICXX ON)
    find_package(MPI COMPONENTS C)
    set(STENCIL_HAVE_MPI ${MPI_C_FOUND})
    if(STENCIL_MPI STREQUAL "ON" AND NOT STENCIL_HAVE_MPI)
        message(FATAL_ERROR "STENCIL_MPI=ON, but no MPI was found (Debian: libopenmpi-dev)")
    endif()
endif()
message(STATUS "MPI: ${STENCIL_HAVE_MPI}")

find_package(OpenMP REQUIRED COMPONENTS C)
if(STENCIL_COMMAND)
    include(Files)
endif()

add_library(stencil_options INTERFACE)
target_compile_definitions(stencil_options INTERFACE _POSIX_C_SOURCE=200809L STENCIL_VERSION="${PROJECT_VERSION}"
    $<$<BOOL:${STENCIL_HAVE_CUDA}>:STENCIL_HAVE_CUDA> $<$<BOOL:${STENCIL_EMULATED}>:STENCIL_EMULATED>)
# One result: no contraction behind our back, on either side. Machine code for GPUs is packed, a third of its size; what a
# run uses of it is unpacked when it is loaded. Messages name sources by their paths in the tree, wherever that was built.
set(paths -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
set(paths_cuda -Xcompiler=${paths})
if(CMAKE_SOURCE_DIR MATCHES "[ ,]") # which nvcc does not hand on
    set(paths_cuda "")
endif()
target_compile_options(stencil_options INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Werror -ffp-contract=off -fno-math-errno -fno-trapping-math ${paths}>
    "$<$<COMPILE_LANG_AND_ID:C,Clang>:-Wno-missing-field-initializers;-Wno-format-zero-length>" # {NULL} ends tables
    $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false -Xfatbin=-compress-all -Xcompiler=-Wall,-Wextra ${paths_cuda}>)
target_link_libraries(stencil_options INTERFACE OpenMP::OpenMP_C m)
# With -O1, and for debuggers lines alone, code with sanitizers compiles in two thirds of the time, with the same checks.
if(STENCIL_SANITIZE)
    target_compile_options(stencil_options INTERFACE
        $<$<COMPILE_LANGUAGE:C>:-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1>
        $<$<NOT:$<CONFIG:Debug>>:$<$<COMPILE_LANGUAGE:C>:-O1>>)
    target_link_options(stencil_options INTERFACE -fsanitize=address,undefined)
endif()
