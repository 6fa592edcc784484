# cmake -D SOURCE=… -D OUTPUT=… -P Revision.cmake: writes the git revision of SOURCE into a header, which is touched
# only when it changes. Run by every build.
find_package(Git QUIET)
set(revision unknown)
if(GIT_FOUND)
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --abbrev=12 --exclude=* --dirty
        OUTPUT_VARIABLE described RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    # Sources inside another project's tree have no revision of their own.
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} rev-parse --show-prefix
        OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT failed AND "${prefix}" STREQUAL "")
        set(revision ${described})
    endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define STENCIL_GIT_REVISION \"${revision}\"\n")
