// How many clusters of thread blocks a card runs at a time, by their shape and the shared memory of a block.
//
//     nvcc -arch=sm_90 measure_clusters.cu -o measure_clusters && ./measure_clusters > clusters.jsonl      (one H200)

#include <cstdio>
#include <cuda_runtime.h>

__global__ void idle(float *out) {
    extern __shared__ float shared[];
    if (out) out[0] = shared[0];
}

int main() {
    cudaDeviceProp card;
    cudaGetDeviceProperties(&card, 0);
    printf("{\"name\": \"%s\", \"sms\": %d}\n", card.name, card.multiProcessorCount);
    cudaFuncSetAttribute(idle, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    for (int bytes : {220 * 1024, 160 * 1024, 100 * 1024}) {
        cudaFuncSetAttribute(idle, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        for (int m = 1; m <= 16; m++) {
            for (int n = 1; n * m <= 16; n++) {
                cudaLaunchAttribute cluster[1];
                cluster[0].id = cudaLaunchAttributeClusterDimension;
                cluster[0].val.clusterDim.x = m;
                cluster[0].val.clusterDim.y = n;
                cluster[0].val.clusterDim.z = 1;
                cudaLaunchConfig_t launch = {};
                launch.gridDim = dim3(m * 32, n * 32, 1);
                launch.blockDim = dim3(384, 1, 1);
                launch.dynamicSmemBytes = bytes;
                launch.attrs = cluster;
                launch.numAttrs = 1;
                int clusters = -1;
                if (cudaOccupancyMaxActiveClusters(&clusters, idle, &launch) != cudaSuccess) return 1;
                printf("{\"shared_memory_bytes\": %d, \"cluster_m\": %d, \"cluster_n\": %d, \"clusters\": %d}\n",
                       bytes, m, n, clusters);
            }
        }
    }
}
