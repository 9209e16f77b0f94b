import { expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import { networkPolicySpec } from './network.ts'

const { network } = configSchema.parse({
  network: {
    proxySelector: { role: 'proxy' },
    hubSelector: { role: 'hub' },
    clusterRanges: ['10.0.0.0/8', 'fd00::/8', '192.168.0.0/16'],
    egressRanges: ['10.1.2.0/24', 'fd00:1::/64'],
  },
})

const proxy = { namespaceSelector: {}, podSelector: { matchLabels: { role: 'proxy' } } }
const hub = { namespaceSelector: {}, podSelector: { matchLabels: { role: 'hub' } } }

it('lets in proxy and hub alone, to the lab’s port', () => {
  expect(networkPolicySpec(network, { a: 'b' })).toMatchObject({
    podSelector: { matchLabels: { a: 'b' } },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [proxy, hub], ports: [{ protocol: 'TCP', port: 8888 }] }],
  })
})

it('lets out to names, to what is outside the cluster, and to what is configured', () => {
  expect(networkPolicySpec(network, {})).toHaveProperty('egress', [
    {
      ports: [
        { protocol: 'UDP', port: 53 },
        { protocol: 'TCP', port: 53 },
      ],
    },
    {
      to: [
        { ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8', '192.168.0.0/16', '169.254.0.0/16'] } },
        { ipBlock: { cidr: '::/0', except: ['fd00::/8', 'fe80::/10'] } },
        proxy,
        hub,
        { ipBlock: { cidr: '10.1.2.0/24' } },
        { ipBlock: { cidr: 'fd00:1::/64' } },
      ],
    },
  ])
})
