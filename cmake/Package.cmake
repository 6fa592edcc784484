# Packages for Debian and Ubuntu, `./dev package`: the command, the library, what programs need that use it, and the
# Python module. The name of each is that of a component of cmake --install.
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL command library development module)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_NAME stencil)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The stencil authors <maintainers@stencil.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "solver for iterative stencil problems on CPUs and NVIDIA GPUs")
set(CPACK_PACKAGE_VENDOR "the stencil authors")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
file(STRINGS ${CMAKE_SOURCE_DIR}/library/stencil.h abi REGEX "^#define STENCIL_ABI ")
string(REGEX REPLACE "[^0-9]" "" abi "${abi}")

# stencil_package(COMPONENT NAME SECTION DEPENDS SUMMARY): a package, with its copyright and its changes.
function(stencil_package component name section depends summary)
    string(TOUPPER ${component} at)
    set(CPACK_DEBIAN_${at}_PACKAGE_NAME ${name} PARENT_SCOPE)
    set(CPACK_DEBIAN_${at}_PACKAGE_SECTION ${section} PARENT_SCOPE)
    set(CPACK_DEBIAN_${at}_PACKAGE_DEPENDS ${depends} PARENT_SCOPE)
    set(CPACK_COMPONENT_${at}_DESCRIPTION ${summary} PARENT_SCOPE)
    set(changes ${CMAKE_BINARY_DIR}/changelog-${component})
    string(TIMESTAMP day "%a, %d %b %Y %H:%M:%S +0000" UTC)
    file(WRITE ${changes} "stencil (${PROJECT_VERSION}-1) unstable; urgency=medium\n\n  * Version ${PROJECT_VERSION}.\n\n"
        " -- ${CPACK_PACKAGE_CONTACT}  ${day}\n")
    file(ARCHIVE_CREATE OUTPUT ${changes}.gz PATHS ${changes} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
    set(folder share/doc/${name})
    install(FILES ${changes}.gz DESTINATION ${folder} RENAME changelog.Debian.gz COMPONENT ${component} EXCLUDE_FROM_ALL)
    install(FILES ${CMAKE_SOURCE_DIR}/cmake/copyright DESTINATION ${folder} COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
stencil_package(command stencil science "python3:any"
    "Solves Jacobi, heat and Poisson problems, and any weights on a 2D or 3D
grid, in HDF5 files, with interchangeable ways to keep the steps in order:
kernel launches, CUDA graphs, persistent kernels with barriers, several GPUs.")
stencil_package(library libstencil${abi} libs ""
    "The solver of stencil for arrays in memory, as a shared library. It links
neither HDF5 nor MPI.")
stencil_package(development libstencil-dev libdevel "libstencil${abi} (= ${PROJECT_VERSION}-1)"
    "What programs need that call the solver of stencil, and its barriers as
headers for CUDA kernels.")
stencil_package(module python3-stencil python "libstencil${abi} (= ${PROJECT_VERSION}-1), python3:any, python3-numpy"
    "The solver of stencil for NumPy arrays, as a Python module.")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "python3-matplotlib, python3-h5py")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(control ${CMAKE_BINARY_DIR}/control)
file(WRITE ${control}/shlibs "libstencil ${abi} libstencil${abi} (= ${PROJECT_VERSION}-1)\n")
file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${control}/shlibs ${control}/triggers)
set(CPACK_DEBIAN_MODULE_PACKAGE_ARCHITECTURE all)
include(CPack)
