/** The block `network`: who reaches labs, and what labs reach. A part of the schema in `schema.ts`. */
import { z } from 'zod'
import { privateRanges } from '../base/addresses.ts'
import { cidr, labelValue, objectName, qualifiedName } from './values.ts'

const podSelector = z
  .record(qualifiedName, labelValue)
  .refine(labels => Object.keys(labels).length > 0, { error: 'without a label it would be every pod' })

const port = z.number().int().min(1).max(65_535)
const ports = z.array(port).min(1)

const dns = z.strictObject({
  namespace: objectName.default('kube-system').describe('namespace of the pods that answer for names'),
  selectors: z
    .array(podSelector)
    .default([{ 'k8s-app': 'kube-dns' }, { 'k8s-app': 'node-local-dns' }])
    .describe('labels of these pods; a pod needs those of one entry'),
  port: port.default(53).describe('port of these pods, behind their Service; OpenShift has 5353'),
  addresses: z
    .array(cidr)
    .default(['169.254.20.10/32'])
    .describe(
      'CIDRs where names are answered at port 53 by no pod: of NodeLocal DNSCache, and of the Service in whose place it answers',
    ),
})

export const network = z.strictObject({
  proxySelector: podSelector
    .default({ app: 'jupyterhub', component: 'proxy' })
    .describe('labels of the pods of the proxy: they reach labs, and labs reach them'),
  proxyNamespace: objectName
    .optional()
    .describe('namespace of these pods; without it they may be in any, of which `check` warns'),
  proxyPorts: ports
    .optional()
    .describe('ports of these pods that labs reach, such as 8000; without it all, of which `check` warns'),
  hubSelector: podSelector
    .default({ app: 'jupyterhub', component: 'hub' })
    .describe('labels of the pods of the Hub: they reach labs, and labs reach them'),
  hubNamespace: objectName
    .optional()
    .describe('namespace of these pods; without it they may be in any, of which `check` warns'),
  hubPorts: ports
    .optional()
    .describe('ports of these pods that labs reach, such as 8081; without it all, of which `check` warns'),
  dns: dns.prefault({}).describe('where labs ask for names: nowhere else may they connect to port 53 of the cluster'),
  clusterRanges: z
    .array(cidr)
    .default([...privateRanges])
    .describe(
      'CIDRs of pods, services and nodes, where labs may not connect; addresses that serve credentials of a cloud are added always',
    ),
  egressRanges: z
    .array(cidr)
    .default([])
    .describe('CIDRs within those that labs may reach all the same; never those that serve credentials of a cloud'),
})
