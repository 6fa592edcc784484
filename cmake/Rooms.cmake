# A room is a folder, a static library and an include directory of its own: code sees `room/header.h` of a room
# only if its target links it, so an include that points up the house does not compile.
# A room within another one has a name with a slash: solver/parts is the target stencil_solver_parts.
# stencil_room(NAME SOURCES … ROOMS lower rooms … LIBRARIES others …)
function(stencil_room name)
    cmake_parse_arguments(ROOM "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
    string(REPLACE "/" "_" target stencil_${name})
    set(include_directory ${CMAKE_BINARY_DIR}/rooms/${name})
    get_filename_component(outer ${include_directory}/${name} DIRECTORY)
    file(MAKE_DIRECTORY ${outer})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${include_directory}/${name} SYMBOLIC)
    add_library(${target} STATIC ${ROOM_SOURCES})
    if(STENCIL_EMULATED)
        stencil_emulate(${ROOM_SOURCES})
    endif()
    target_include_directories(${target} PUBLIC ${include_directory})
    # What libstencil is made of shows programs only what library/stencil.h declares.
    if(name MATCHES "^(library|solver/.+|kernels|sync|base)$")
        set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden)
    endif()
    foreach(lower IN LISTS ROOM_ROOMS)
        string(REPLACE "/" "_" lower stencil_${lower})
        target_link_libraries(${target} PUBLIC ${lower})
    endforeach()
    target_link_libraries(${target} PUBLIC ${ROOM_LIBRARIES} PRIVATE stencil_options)
    set_property(GLOBAL APPEND PROPERTY STENCIL_ROOMS ${name})
    set_property(TARGET ${target} PROPERTY STENCIL_LOWER_ROOMS ${ROOM_ROOMS})
endfunction()

# Writes what tests/rooms_test.py holds against the sources: for each room its name, the rooms that it names, the
# directories of its includes and its objects, a line each.
function(stencil_rooms_write file)
    get_property(names GLOBAL PROPERTY STENCIL_ROOMS)
    set(text)
    foreach(name IN LISTS names)
        string(REPLACE "/" "_" target stencil_${name})
        string(APPEND text "${name}\n$<TARGET_PROPERTY:${target},STENCIL_LOWER_ROOMS>\n"
            "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>\n$<TARGET_OBJECTS:${target}>\n")
    endforeach()
    file(GENERATE OUTPUT ${file} CONTENT "${text}")
endfunction()

# The first argument of every row `MACRO(name, …)` of a .def file, in order: lists that CMake and C share.
function(stencil_def_names file macro result)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} rows REGEX "^${macro}\\(")
    set(names)
    foreach(row IN LISTS rows)
        string(REGEX REPLACE "^${macro}\\(([A-Za-z0-9_]+).*" "\\1" name "${row}")
        list(APPEND names ${name})
    endforeach()
    set(${result} ${names} PARENT_SCOPE)
endfunction()
