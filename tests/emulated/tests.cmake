# The product of strategies, sweeps and parts on emulated GPUs, a sample (tests/draw.h); and faults that have to be
# found. Included by tests/CMakeLists.txt.
function(stencil_emulated_test name program)
    add_test(NAME ${name} COMMAND ${program} ${ARGN})
    stencil_test_properties(${name} OFF emulated)
    set_tests_properties(${name} PROPERTIES TIMEOUT 900)
endfunction()

add_executable(test_conformance conformance.c conformance_classes.c conformance_coefficients.c conformance_ends.c
               conformance_passes.c conformance_times.c)
add_executable(test_parts parts.c parts_stress.c)
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
endforeach()

# stencil_fault(NAME FILE OLD NEW KIND SET): test_conformance with the kernels of that kind and set compiled from a copy
# of FILE in which a fault was planted. They stand in for those of the library.
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
    set(faults ${faults} "$<TARGET_FILE:fault_${name}>=${set} float32" PARENT_SCOPE)
endfunction()
stencil_fault(unawaited_copies kernels/sweeps/pipeline_planes.cuh "await_copies<shape.ahead - 1>();" "" deep j3d7pt)
stencil_fault(unawaited_rows kernels/sweeps/pipeline_pass.cuh "                    wait_warp(u.barrier, u.parity);\n" "\n"
    deep j2d5pt)
stencil_fault(early_exit sync/central.cuh "count_and_wait(s, stencil_barrier_counter(&s, 0), goal, step);"
    "count_in(stencil_barrier_counter(&s, 0));" shard j2d5pt)
stencil_fault(unpolled_flags sync/neighbor.cuh "if (t < watchers() && flag != nullptr)" "if (false)" shard j2d5pt)
stencil_python_test(faults emulated/faults_test.py LABELS emulated)
set_property(TEST faults APPEND PROPERTY ENVIRONMENT "FAULTS=${faults}")
set_tests_properties(faults PROPERTIES TIMEOUT 900)
