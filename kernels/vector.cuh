/* 16-byte accesses and exact arithmetic, the same names for float and double. */
#ifndef STENCIL_KERNELS_VECTOR_CUH
#define STENCIL_KERNELS_VECTOR_CUH

namespace stencil {

template <class T> constexpr int vector_cells = 16 / sizeof(T);

__device__ __forceinline__ float multiply(float a, float b) {
    return __fmul_rn(a, b);
}
__device__ __forceinline__ double multiply(double a, double b) {
    return __dmul_rn(a, b);
}
__device__ __forceinline__ float multiply_add(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
__device__ __forceinline__ double multiply_add(double a, double b, double c) {
    return __fma_rn(a, b, c);
}

/* Plain loads: the field changes while a persistent kernel runs, so never through the non-coherent path. */
__device__ __forceinline__ void load_vector(const float *from, float *to) {
    const float4 v = *reinterpret_cast<const float4 *>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
__device__ __forceinline__ void load_vector(const double *from, double *to) {
    const double2 v = *reinterpret_cast<const double2 *>(from);
    to[0] = v.x, to[1] = v.y;
}
__device__ __forceinline__ void store_vector(float *to, const float *from) {
    *reinterpret_cast<float4 *>(to) = make_float4(from[0], from[1], from[2], from[3]);
}
__device__ __forceinline__ void store_vector(double *to, const double *from) {
    *reinterpret_cast<double2 *>(to) = make_double2(from[0], from[1]);
}

template <class T> __device__ __forceinline__ const T *weights_of(const stencil_weights &weights);
template <> __device__ __forceinline__ const float *weights_of<float>(const stencil_weights &weights) {
    return weights.f32;
}
template <> __device__ __forceinline__ const double *weights_of<double>(const stencil_weights &weights) {
    return weights.f64;
}

} // namespace stencil
#endif
