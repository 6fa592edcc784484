/* The address of a kernel, for tables of kernels (kernels/table.h). */
#pragma once

namespace stencil {

template <class... Arguments> const void *kernel_address(void (*kernel)(Arguments...)) {
    return reinterpret_cast<const void *>(kernel);
}

} // namespace stencil
