/** The block `network`: the connections to labs and from labs. A part of the schema in `schema.ts`. */
import { z } from 'zod'
import { privateRanges } from '../base/addresses.ts'
import { cidr, labelValue, objectName, qualifiedName } from './values.ts'

const podSelector = z
  .record(qualifiedName, labelValue)
  .refine(labels => Object.keys(labels).length > 0, { error: 'without a label it would be every pod' })

const port = z.number().int().min(1).max(65_535)
const ports = z.array(port).min(1)

const dns = z.strictObject({
  namespace: objectName.default('kube-system').describe('namespace of the DNS pods'),
  selectors: z
    .array(podSelector)
    .default([{ 'k8s-app': 'kube-dns' }, { 'k8s-app': 'node-local-dns' }])
    .describe('labels of these pods; a pod must match one entry'),
  port: port.default(53).describe('port of the DNS pods themselves, not of their Service; OpenShift has 5353'),
  addresses: z
    .array(cidr)
    .default(['169.254.20.10/32'])
    .describe(
      'CIDRs of DNS servers at port 53 that are not pods: NodeLocal DNSCache, and the Service that it replaces',
    ),
})

export const network = z.strictObject({
  appsOfGroups: z
    .boolean()
    .default(false)
    .describe(
      'labs reach the apps of their users’ groups, as the identity source names them; the apps need `apps.labs` too',
    ),
  proxySelector: podSelector
    .default({ app: 'jupyterhub', component: 'proxy' })
    .describe('labels of the proxy’s pods, which reach labs and are reached by labs'),
  proxyNamespace: objectName
    .optional()
    .describe('namespace of these pods; without it any namespace counts, and `check` warns'),
  proxyPorts: ports
    .optional()
    .describe('ports of these pods that labs reach, such as 8000; without it all ports, and `check` warns'),
  hubSelector: podSelector
    .default({ app: 'jupyterhub', component: 'hub' })
    .describe('labels of the Hub’s pods, which reach labs and are reached by labs'),
  hubNamespace: objectName
    .optional()
    .describe('namespace of these pods; without it any namespace counts, and `check` warns'),
  hubPorts: ports
    .optional()
    .describe('ports of these pods that labs reach, such as 8081; without it all ports, and `check` warns'),
  dns: dns.prefault({}).describe('the DNS of labs; they may connect to no other port 53 of the cluster'),
  clusterRanges: z
    .array(cidr)
    .default([...privateRanges])
    .describe(
      'CIDRs of pods, services and nodes, which labs must not reach; addresses with credentials of a cloud are always added',
    ),
  egressRanges: z
    .array(cidr)
    .default([])
    .describe('CIDRs within these that labs may reach; never addresses with credentials of a cloud'),
})
