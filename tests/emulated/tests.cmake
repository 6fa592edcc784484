# The product of strategies, sweeps and parts on emulated GPUs, a sample (tests/draw.h); and faults that have to be
# found. Included by tests/CMakeLists.txt. What float32 shows is made in float64 by ./dev test --all alone.
function(stencil_emulated_test name program)
    add_test(NAME ${name} COMMAND ${program} ${ARGN})
    if(name MATCHES "_float64$")
        stencil_test_properties(${name} OFF emulated large)
    else()
        stencil_test_properties(${name} OFF emulated)
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT 900)
endfunction()

add_executable(test_conformance ${conformance})
add_executable(test_parts parts.c parts_alone.c parts_stress.c)
add_executable(test_barriers barriers.c)
foreach(program test_conformance test_parts test_barriers)
    target_link_libraries(${program} PRIVATE test_trial PkgConfig::CMOCKA stencil_options)
endforeach()
foreach(set j2d5pt j3d7pt)
    stencil_emulated_test(conformance_${set} test_conformance gpu "${set} *")
    stencil_emulated_test(parts_${set} test_parts gpu 2 "${set} float32")
endforeach()
foreach(precision float32 float64)
    stencil_emulated_test(coefficients_${precision} test_conformance gpu "coefficients ${precision}")
    stencil_emulated_test(sums_in_time_${precision} test_conformance gpu "sums in time ${precision}")
    stencil_emulated_test(deep_classes_${precision} test_conformance gpu "deep classes ${precision}")
    stencil_emulated_test(resident_fields_${precision} test_conformance gpu "resident fields ${precision}")
    set_property(TEST resident_fields_${precision} APPEND PROPERTY ENVIRONMENT STENCIL_EMULATED_SMS=48)
    stencil_emulated_test(parts_fixed_${precision} test_parts gpu 2 "fixed cells ${precision}")
    stencil_emulated_test(parts_classes_${precision} test_parts gpu 2 "cells of classes ${precision}")
    stencil_emulated_test(parts_walls_${precision} test_parts gpu 2 "walls ${precision}")
    stencil_emulated_test(wide_rows_${precision} test_conformance gpu "wide rows ${precision}")
    stencil_emulated_test(parts_wide_rows_${precision} test_parts gpu 2 "wide rows ${precision}")
endforeach()

# Which blocks of an ordinary launch run at the same time.
stencil_emulate(${CMAKE_CURRENT_SOURCE_DIR}/sync/discovery.cu)
add_executable(test_discovery sync/discovery_test.c sync/discovery.cu)
target_link_libraries(test_discovery PRIVATE test_trial PkgConfig::CMOCKA stencil_options)
stencil_emulated_test(discovery test_discovery)

# Barriers, thousands of times in a row.
stencil_emulate(${CMAKE_CURRENT_SOURCE_DIR}/sync/meetings.cu)
add_executable(test_meetings sync/meetings_test.c sync/meetings.cu)
target_link_libraries(test_meetings PRIVATE test_trial PkgConfig::CMOCKA stencil_options)
stencil_emulated_test(meetings test_meetings)

# Parts in processes of their own, where MPI is.
add_subdirectory(mpi)

# Arrays in the memory of a GPU, through the library.
add_executable(test_library_device library/device_test.c)
target_link_libraries(test_library_device PRIVATE stencil_library PkgConfig::CMOCKA stencil_options)
stencil_emulated_test(library_device test_library_device)

# The Python module in an interpreter that has the emulated GPU inside, where headers and library of Python are.
execute_process(COMMAND ${STENCIL_PYTHON} -c
    "import sysconfig as s; print(s.get_path('include'), s.get_config_var('LIBDIR'), s.get_config_var('LDVERSION'), sep=';')"
    OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE)
list(GET python 0 python_include)
list(GET python 1 python_folder)
list(GET python 2 python_version)
find_library(STENCIL_PYTHON_LIBRARY python${python_version} HINTS ${python_folder})
if(EXISTS ${python_include}/Python.h AND STENCIL_PYTHON_LIBRARY)
    add_executable(test_python emulated/python.c)
    target_include_directories(test_python SYSTEM PRIVATE ${python_include})
    target_link_libraries(test_python PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,stencil_library> stencil_options
        ${STENCIL_PYTHON_LIBRARY})
    set_target_properties(test_python PROPERTIES ENABLE_EXPORTS ON)
    add_test(NAME python_device COMMAND test_python -B ${CMAKE_CURRENT_SOURCE_DIR}/library/device_test.py -v)
    stencil_test_properties(python_device OFF emulated)
    set_tests_properties(python_device PROPERTIES TIMEOUT 900 ENVIRONMENT STENCIL_LIBRARY=)
endif()

# stencil_fault(NAME FILE OLD NEW KIND SET [TESTS]): test_conformance with the kernels of that kind and set compiled from a
# copy of FILE in which a fault was planted. They stand in for those of the library. TESTS: which have to find it.
set(faults "")
function(stencil_fault name file old new kind set)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/emulated/${name})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${file})
    file(READ ${CMAKE_SOURCE_DIR}/${file} text)
    string(FIND "${text}" "${old}" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "${file} has no '${old}' for the fault ${name}")
    endif()
    string(REPLACE "${old}" "${new}" text "${text}")
    file(CONFIGURE OUTPUT ${folder}/${file} CONTENT "${text}" @ONLY)
    string(TOUPPER ${kind} macro)
    file(CONFIGURE OUTPUT ${folder}/kernels.cu CONTENT "#include \"kernels/${kind}.cuh\"\nSTENCIL_${macro}(${set})\n")
    set_source_files_properties(${folder}/kernels.cu PROPERTIES LANGUAGE CXX
        COMPILE_OPTIONS "-iquote${folder};${STENCIL_EMULATED_OPTIONS}")
    add_executable(fault_${name} ${folder}/kernels.cu $<TARGET_OBJECTS:test_conformance>)
    target_link_libraries(fault_${name} PRIVATE test_trial PkgConfig::CMOCKA stencil_options)
    set(tests "${set} float32" ${ARGN})
    list(GET tests -1 tests)
    set(faults ${faults} "$<TARGET_FILE:fault_${name}>=${tests}" PARENT_SCOPE)
endfunction()
stencil_fault(unawaited_copies kernels/sweeps/pipeline_planes.cuh "await_copies<shape.ahead - 1>();" "" deep j3d7pt)
stencil_fault(unawaited_rows kernels/sweeps/pipeline_pass.cuh "                    wait_warp(u.barrier, u.parity);\n" "\n"
    deep j2d5pt)
stencil_fault(early_exit sync/central.cuh "count_and_wait(s, stencil_barrier_counter(&s, 0), goal, step);"
    "count_in(stencil_barrier_counter(&s, 0));" shard j2d5pt)
stencil_fault(unpolled_flags sync/neighbor.cuh "if (t < watchers() && flag != nullptr)" "if (false)" shard j2d5pt)
stencil_fault(moved_cells kernels/sweeps/pipeline_warp.cuh "s = fixed[j - R] & 1u << v ? kept(t, j, v, c) : s;" "{}"
    deep_classed j2d5pt "deep classes float32")
stencil_fault(unawaited_weights kernels/persistent.cuh "await_copies<0>();" "{}" classed j2d5pt "cycles float32")
stencil_python_test(faults emulated/faults_test.py LABELS emulated)
set_property(TEST faults APPEND PROPERTY ENVIRONMENT "FAULTS=${faults}")
set_tests_properties(faults PROPERTIES TIMEOUT 900)
stencil_python_test(attribution emulated/attribution_test.py LABELS emulated)
set_tests_properties(attribution PROPERTIES TIMEOUT 900)
stencil_python_test(hardware emulated/hardware_test.py LABELS emulated)
set_tests_properties(hardware PROPERTIES TIMEOUT 1800)
