/** The block `tenants`: what a namespace that people make themselves may be called, may carry, and gets. */
import { z } from 'zod'
import { parseQuantity } from '../base/quantity.ts'
import { tenantBilling } from './billing.ts'
import { seconds } from './values.ts'
import { vetting } from './vetting.ts'

/** Laxest first. */
export const podSecurityLevels = ['privileged', 'baseline', 'restricted'] as const

/** A name of a namespace, or the beginning of such names and an asterisk. */
const reservedName = z
  .string()
  .regex(/^[a-z0-9][-a-z0-9]{0,62}\*?$/, { error: 'not the name of a namespace, or its beginning and an asterisk' })

/** Labels that Kubernetes, meshes or this program believe: no tenant may set them by a prefix. */
const believed = /(^|\.)(kubernetes\.io|k8s\.io|istio\.io|skylab|lblw\.dev)\/$|^(lns\.)?skylab\/$/

const labelPrefix = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/$/, {
    error: 'not a prefix of labels, such as example.com/',
  })
  .refine(prefix => !believed.test(prefix), { error: 'is a prefix that the cluster or this program believes' })

const quantity = z
  .union([z.string(), z.number()], { error: 'not a Kubernetes quantity' })
  .transform((value, context) => {
    try {
      if (parseQuantity(value) >= 0) return String(value)
    } catch {
      // Told below.
    }
    context.addIssue('not a Kubernetes quantity')
    return z.NEVER
  })

const quantities = z.record(z.string().regex(/^[A-Za-z0-9][-A-Za-z0-9_./]{0,252}$/), quantity)

const limits = z.strictObject({
  default: quantities.default({}).describe('limits of a container that names none'),
  defaultRequest: quantities.default({}).describe('requests of a container that names none'),
  max: quantities.default({}).describe('the most that a container may name'),
})

const platform = z.strictObject({
  podSecurity: z.enum(podSecurityLevels).default('baseline').describe('the Pod Security Standard that is enforced'),
  quota: quantities.default({}).describe('the ResourceQuota, such as `requests.cpu`; without an entry there is none'),
  limits: limits.prefault({}).describe('the LimitRange; without an entry there is none'),
  network: z
    .enum(['deny', 'open'])
    .default('deny')
    .describe('`deny`: pods of other namespaces reach none of this one, unless a NetworkPolicy allows it'),
})

/** A name of the cluster, made of one that the identity provider gives. */
function template(mark: string) {
  return z
    .string()
    .max(256)
    .refine(text => text.split(mark).length === 2, { error: `does not contain ${mark} once` })
    .refine(text => !/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(text), { error: 'contains an invisible character' })
    .refine(text => !text.startsWith('system:'), { error: 'begins with system:, as names of the cluster itself' })
}

const rest = z.strictObject({
  usernameTemplate: template('{username}')
    .optional()
    .describe(
      'the user of the cluster who a caller is, such as `oidc:{username}`; without it REST knows nobody’s role, and gives no sudo',
    ),
  groupTemplate: template('{group}')
    .optional()
    .describe('the same for groups, such as `oidc:{group}`; without it a caller has no groups here'),
})

const webhooks = z.strictObject({
  port: z
    .number()
    .int()
    .min(0)
    .max(65535)
    .default(8443)
    .describe('port of the webhooks, which serves nothing else; 0 for any free one'),
  certFile: z
    .string()
    .describe('PEM: the certificate for `skylab-tenants-webhook.<namespace>.svc`, then intermediate certificates'),
  keyFile: z.string().describe('PEM: its private key. Both files are read again when they change'),
})

const fields = z.strictObject({
  webhooks: webhooks
    .optional()
    .describe(
      'serve the webhooks of LNamespaces, for clusters without MutatingAdmissionPolicy (Kubernetes 1.30 to 1.35): the component tenants-webhook',
    ),
  rest: rest
    .optional()
    .describe('serve REST at /tenants/v1, on `api.port`, for callers whom `identity` knows; `{}` is enough to read'),
  reserved: z
    .array(reservedName)
    .default(['skylab-*', 'openshift-*'])
    .describe(
      'names that no tenant may have, beside default, kube-*, the controller’s namespace and those of labs; `team-*` means all that begin so',
    ),
  labelPrefixes: z
    .array(labelPrefix)
    .default([])
    .describe('prefixes of the labels that `namespaceLabelOverrides` may set; others are not set'),
  maxPerUser: z
    .number()
    .int()
    .positive()
    .default(100)
    .describe('LNamespaces of one requester; further ones get no namespace until one of them is gone'),
  unlimitedRequesters: z
    .array(z.string().min(1).max(256))
    .default([])
    .describe('requesters without that limit, such as the one who applies a repository'),
  laxestPodSecurity: z
    .enum(podSecurityLevels)
    .default('baseline')
    .describe(
      'the laxest Pod Security Standard that any namespace may have; with `privileged`, a sudoer of such a namespace can become root of a node',
    ),
  platform: platform.prefault({}).describe('what a namespace gets where its LNamespace says nothing'),
  vetting: vetting.prefault({}).describe('comparison of the rights of the cluster with what was vetted'),
  policyIntervalSeconds: seconds(60).describe('interval of checks that the admission policies of tenants work'),
  room: z.number().int().positive().default(16).describe('tenants that this replica writes at once'),
  billing: tenantBilling
    .optional()
    .describe('send bills of all namespaces to a database; without it nothing of it is loaded'),
})

const levelOf = (level: (typeof podSecurityLevels)[number]): number => podSecurityLevels.indexOf(level)

export const tenants = fields.refine(
  ({ laxestPodSecurity, platform }) => levelOf(platform.podSecurity) >= levelOf(laxestPodSecurity),
  { path: ['platform', 'podSecurity'], error: 'is laxer than laxestPodSecurity' },
)

export type TenantsConfig = z.infer<typeof tenants>
export type PlatformConfig = TenantsConfig['platform']
export type RestConfig = z.infer<typeof rest>
