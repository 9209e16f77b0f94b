import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { credentialRanges, isRangeWithin } from '../base/addresses.ts'
import { asObject, asObjects } from '../base/json.ts'
import { configSchema } from '../config/schema.ts'
import { networkProblems } from '../settings/network-checks.ts'
import { controllerLabels, networkPolicySpec } from './network.ts'
import { podLabels } from './objects.ts'

const specOf = (network: object) => networkPolicySpec(configSchema.parse({ network }).network)

const configured = {
  proxySelector: { role: 'proxy' },
  hubSelector: { role: 'hub' },
  clusterRanges: ['10.0.0.0/8', 'fd00::/8', '192.168.0.0/16'],
  egressRanges: ['10.1.2.0/24', 'fd00:1::/64'],
}

const inNamespace = (namespace: string | undefined, podLabels: object) => ({
  namespaceSelector: namespace ? { matchLabels: { 'kubernetes.io/metadata.name': namespace } } : {},
  podSelector: { matchLabels: podLabels },
})
const tcp = (...ports: number[]) => ports.map(port => ({ protocol: 'TCP', port }))
const names = (port = 53) => [
  { protocol: 'UDP', port },
  { protocol: 'TCP', port },
]

/** The blocks of addresses that a lab reaches at any port. */
function openBlocks(network: object) {
  const rules = asObjects(asObject(specOf(network)).egress).filter(({ ports }) => ports === undefined)
  return rules
    .flatMap(({ to }) => asObjects(to))
    .flatMap(({ ipBlock }) => (ipBlock ? [ipBlock as { cidr: string; except?: string[] }] : []))
}

const reaches = (network: object, range: string) =>
  openBlocks(network).some(
    ({ cidr, except = [] }) => isRangeWithin(range, cidr) && !except.some(each => isRangeWithin(range, each)),
  )

describe('networkPolicySpec', () => {
  it('makes one spec for each configuration', () => {
    const { network } = configSchema.parse({ network: configured })
    expect(networkPolicySpec(network)).toBe(networkPolicySpec(network))
    const other = configSchema.parse({ network: { ...configured, egressRanges: [] } }).network
    expect(networkPolicySpec(other)).not.toEqual(networkPolicySpec(network))
  })

  it('admits only proxy and hub, to the lab’s port', () => {
    expect(specOf(configured)).toMatchObject({
      podSelector: { matchLabels: podLabels },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          from: [inNamespace(undefined, { role: 'proxy' }), inNamespace(undefined, { role: 'hub' })],
          ports: tcp(8888),
        },
      ],
    })
  })

  it('admits the controller’s pods in its namespace too when it asks labs', () => {
    const { network } = configSchema.parse({ network: configured })
    const [plain, asked] = [networkPolicySpec(network), networkPolicySpec(network, 'skylab')]
    const controller = inNamespace('skylab', {
      'app.kubernetes.io/name': 'skylab',
      'app.kubernetes.io/component': 'controller',
    })
    const [{ from, ports }] = asObjects(asObject(plain).ingress) as [{ from: object[]; ports: object[] }]
    expect(asked).toEqual({ ...plain, ingress: [{ from: [...from, controller], ports }] })
    expect(networkPolicySpec(network, 'skylab')).toBe(asked)
    expect(networkPolicySpec(network)).toBe(plain)
    expect(networkPolicySpec(network, 'other')).not.toEqual(asked)
  })

  it('knows the controller’s pods by the labels of k8s/base/deployment.yaml', () => {
    const text = readFileSync(new URL('../../k8s/base/deployment.yaml', import.meta.url), 'utf8')
    const { spec } = parse(text, { version: '1.1' })
    expect(spec.template.metadata.labels).toMatchObject(controllerLabels)
  })

  it('needs no more of the controller’s own NetworkPolicy: it may connect to pods of every namespace', () => {
    const text = readFileSync(new URL('../../k8s/base/network.yaml', import.meta.url), 'utf8')
    const policies = parseAllDocuments(text).map(each => each.toJS())
    const { spec } = policies.find(({ metadata }) => metadata.name === 'skylab')
    const anywhere = asObjects(spec.egress).filter(({ ports }) => ports === undefined)
    expect(anywhere.flatMap(({ to }) => asObjects(to))).toContainEqual({ namespaceSelector: {} })
  })

  it('allows the cluster’s DNS, addresses outside the cluster, proxy and hub, and configured ranges', () => {
    const four = credentialRanges.filter(range => !range.includes(':'))
    const six = credentialRanges.filter(range => range.includes(':'))
    expect(specOf(configured)).toHaveProperty('egress', [
      {
        to: [
          inNamespace('kube-system', { 'k8s-app': 'kube-dns' }),
          inNamespace('kube-system', { 'k8s-app': 'node-local-dns' }),
        ],
        ports: names(),
      },
      { to: [{ ipBlock: { cidr: '169.254.20.10/32' } }], ports: names() },
      {
        to: [
          { ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8', '192.168.0.0/16', ...four] } },
          { ipBlock: { cidr: '::/0', except: ['fd00::/8', ...six] } },
          { ipBlock: { cidr: '10.1.2.0/24' } },
          { ipBlock: { cidr: 'fd00:1::/64' } },
        ],
      },
      { to: [inNamespace(undefined, { role: 'proxy' })] },
      { to: [inNamespace(undefined, { role: 'hub' })] },
    ])
  })

  it('restricts proxy and hub to a namespace and ports when these are configured', () => {
    const network = { proxyNamespace: 'edge', proxyPorts: [8000, 8443], hubNamespace: 'jhub', hubPorts: [8081] }
    const proxy = inNamespace('edge', { app: 'jupyterhub', component: 'proxy' })
    const hub = inNamespace('jhub', { app: 'jupyterhub', component: 'hub' })
    const spec = asObject(specOf(network))
    expect(spec.ingress).toEqual([{ from: [proxy, hub], ports: tcp(8888) }])
    expect(asObjects(spec.egress).slice(-2)).toEqual([
      { to: [proxy], ports: tcp(8000, 8443) },
      { to: [hub], ports: tcp(8081) },
    ])
  })

  it('allows only the configured DNS servers', () => {
    const dns = { namespace: 'openshift-dns', selectors: [{ dns: 'default' }], port: 5353, addresses: [] }
    const spec = asObject(specOf({ dns }))
    expect(asObjects(spec.egress)[0]).toEqual({
      to: [inNamespace('openshift-dns', { dns: 'default' })],
      ports: names(5353),
    })
    expect(JSON.stringify(spec)).not.toContain('"port":53}')
    // No rule has ports without peers, which would mean all addresses.
    for (const rule of asObjects(spec.egress)) expect(asObjects(rule.to).length).toBeGreaterThan(0)
  })

  it('has no block of addresses when all of them are the cluster’s', () => {
    const rules = asObjects(asObject(specOf({ clusterRanges: ['0.0.0.0/0', '::/0'] })).egress)
    expect(rules.filter(({ ports }) => ports === undefined)).toHaveLength(2)
    expect(openBlocks({ clusterRanges: ['0.0.0.0/0', '::/0'] })).toEqual([])
  })
})

describe('ranges that serve credentials of a cloud', () => {
  const served = [
    ...['169.254.169.254/32', '169.254.170.2/32', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'],
    ...['fe80::a9fe:a9fe/128', 'fd00:ec2::254/128', 'fd00:ec2::23/128', 'fd20:ce::254/128', 'fd00:c1::a9fe:a9fe/128'],
    ...['fd00:42::42/128', '64:ff9b::a9fe:a9fe/128'],
  ]

  it.each(served)('are not reached, whatever is configured: %s', range => {
    expect(reaches({}, range)).toBe(false)
    expect(reaches({ clusterRanges: [] }, range)).toBe(false)
    const opened = ['0.0.0.0/0', '100.64.0.0/10', '168.63.129.0/24', '::/0', 'fc00::/7', 'fe00::/7', range]
    expect(reaches({ clusterRanges: [], egressRanges: opened }, range)).toBe(false)
  })

  it.each(served)('are refused as an egress range: %s', range => {
    expect(networkProblems(configSchema.parse({ network: { egressRanges: [range] } }))).toEqual([
      expect.stringMatching(/^network\.egressRanges\.0: serves credentials of a cloud/),
    ])
  })

  it('are excluded from an egress range around them, the rest of which is reached', () => {
    const network = { egressRanges: ['100.64.0.0/10'] }
    expect(networkProblems(configSchema.parse({ network }))).toEqual([])
    expect(openBlocks(network)).toContainEqual({ cidr: '100.64.0.0/10', except: ['100.100.100.200/32'] })
    expect(reaches(network, '100.64.1.1/32')).toBe(true)
    expect(reaches({}, '100.64.1.1/32')).toBe(false)
  })
})
