/** Blocks `tenants.platform` that `skylab check` refuses, since the API server would refuse the objects, and one that it accepts. */

export const unfitPlatforms = [
  [{ quota: { memorry: '1Gi' } }, 'tenants.platform.quota.memorry: no ResourceQuota counts this'],
  [{ quota: { pods: '1.5' } }, 'tenants.platform.quota.pods: not a whole number'],
  [{ quota: { 'count/jobs.batch': '500m' } }, 'tenants.platform.quota.count/jobs.batch: not a whole number'],
  [{ limits: { max: { pods: 5 } } }, 'tenants.platform.limits.max.pods: is no resource of a container'],
  [
    { limits: { default: { memory: '2Gi' }, max: { memory: '1Gi' } } },
    'tenants.platform.limits.default.memory: is more than max',
  ],
  [
    { limits: { default: { cpu: '1' }, defaultRequest: { cpu: '1500m' } } },
    'tenants.platform.limits.defaultRequest.cpu: is more than the limit of a container that names none',
  ],
  [
    { limits: { defaultRequest: { memory: '2Gi' }, max: { memory: '1Gi' } } },
    'tenants.platform.limits.defaultRequest.memory: is more than the limit of a container that names none',
  ],
] as const

export const fitPlatform = {
  quota: { 'requests.cpu': '8', 'requests.nvidia.com/gpu': 1, 'count/jobs.batch': 20, 'hugepages-2Mi': '1Gi' },
  limits: { default: { memory: '1Gi' }, defaultRequest: { cpu: '100m' }, max: { memory: '16Gi' } },
}
