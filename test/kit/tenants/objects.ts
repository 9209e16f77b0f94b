/** Objects of tenants as tests send them, and the paths of their kinds. */
import type { KubeMetadata, KubeObject } from '../../../src/base/domain.ts'
import { tenants } from '../../../src/config/tenants.ts'

export const lnsVersion = 'gial.lblw.dev/v1beta1'
const rbac = 'rbac.authorization.k8s.io'
/** The account of k8s/components/tenants. */
export const account = 'system:serviceaccount:skylab:skylab-tenants'

/** The configuration of the tests' operator: labels of one prefix are open to everybody. */
export const siteTenants = tenants.parse({ labelPrefixes: ['team.example.org/'] })

interface Place {
  readonly apiVersion: string
  readonly plural: string
}

/** Kinds that tenants are made of. */
const places = {
  Namespace: { apiVersion: 'v1', plural: 'namespaces' },
  ResourceQuota: { apiVersion: 'v1', plural: 'resourcequotas' },
  LimitRange: { apiVersion: 'v1', plural: 'limitranges' },
  NetworkPolicy: { apiVersion: 'networking.k8s.io/v1', plural: 'networkpolicies' },
  RoleBinding: { apiVersion: `${rbac}/v1`, plural: 'rolebindings' },
  ClusterRole: { apiVersion: `${rbac}/v1`, plural: 'clusterroles' },
  ClusterRoleBinding: { apiVersion: `${rbac}/v1`, plural: 'clusterrolebindings' },
  LNamespace: { apiVersion: lnsVersion, plural: 'lnamespaces' },
  CustomResourceDefinition: { apiVersion: 'apiextensions.k8s.io/v1', plural: 'customresourcedefinitions' },
  ValidatingAdmissionPolicy: { apiVersion: 'admissionregistration.k8s.io/v1', plural: 'validatingadmissionpolicies' },
  MutatingAdmissionPolicyBinding: {
    apiVersion: 'admissionregistration.k8s.io/v1',
    plural: 'mutatingadmissionpolicybindings',
  },
} as const satisfies Record<string, Place>

export type TenantKind = keyof typeof places

/** Path of a kind's collection; in the whole cluster without a namespace. */
export function collectionOf(kind: TenantKind, namespace?: string): string {
  const { apiVersion, plural } = places[kind]
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  return `${root}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`
}

/** Path of one object. */
export const pathOf = (kind: TenantKind, name: string, namespace?: string): string =>
  `${collectionOf(kind, namespace)}/${encodeURIComponent(name)}`

export interface Subject {
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  readonly apiGroup?: string
}

export const user = (name: string): Subject => ({ kind: 'User', name })
export const group = (name: string): Subject => ({ kind: 'Group', name })

/** The subject of a binding. */
export const bound = (subject: Subject): Subject =>
  subject.kind === 'ServiceAccount' ? subject : { ...subject, apiGroup: rbac }

export const lnamespace = (name: string, spec: object = {}, metadata: object = {}): KubeObject => ({
  ...{ apiVersion: lnsVersion, kind: 'LNamespace', metadata: { name, ...metadata }, spec },
})

/** The name of a person in names of roles. */
export const escaped = (name: string): string =>
  name.replaceAll('=', '=3D').replaceAll('/', '=2F').replaceAll('%', '=25')

/** Makes objects of one tenant as the controller does. */
export class TenantObjects {
  readonly name: string
  readonly uid: string

  constructor(name: string, uid: string) {
    this.name = name
    this.uid = uid
  }

  get owner() {
    return { apiVersion: lnsVersion, kind: 'LNamespace', name: this.name, uid: this.uid }
  }

  metadata(name: string, more: Partial<KubeMetadata> = {}): KubeMetadata {
    // Several tenants can share what a sudoer has.
    const of = name.startsWith('lns:self:') ? {} : { 'lns.skylab/of': this.name }
    const labels = { 'lns.skylab/installation': 'skylab', ...of, ...more.labels }
    return { name, ownerReferences: [this.owner], ...more, labels }
  }

  namespace(labels: Readonly<Record<string, string>> = {}, more: Partial<KubeMetadata> = {}): KubeObject {
    const ours = { 'lns.skylab/uid': this.uid, 'pod-security.kubernetes.io/enforce': 'baseline', ...labels }
    return { apiVersion: 'v1', kind: 'Namespace', metadata: this.metadata(this.name, { ...more, labels: ours }) }
  }

  /** @param kind of the object `lns-platform` */
  platform(kind: 'ResourceQuota' | 'LimitRange' | 'NetworkPolicy', more: Partial<KubeMetadata> = {}): KubeObject {
    const specs = {
      ResourceQuota: { hard: { pods: '10' } },
      LimitRange: { limits: [{ type: 'Container', default: { cpu: '1' } }] },
      NetworkPolicy: { podSelector: {}, policyTypes: ['Ingress'] },
    }
    const { apiVersion } = places[kind]
    const metadata = this.metadata('lns-platform', { namespace: this.name, ...more })
    return { apiVersion, kind, metadata, spec: specs[kind] }
  }

  roleBinding(name: string, role: string, subjects: readonly Subject[], more: Partial<KubeMetadata> = {}): KubeObject {
    const metadata = this.metadata(name, { namespace: this.name, ...more })
    return bindingOf('RoleBinding', metadata, role, subjects)
  }

  role(name: string, rules: readonly object[], more: Partial<KubeMetadata> & { aggregate?: object } = {}): KubeObject {
    const { aggregate, ...metadata } = more
    return {
      ...{ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: this.metadata(name, metadata), rules },
      ...(aggregate && { aggregationRule: aggregate }),
    }
  }

  binding(
    name: string,
    subjects: readonly Subject[],
    { role = name, ...more }: Partial<KubeMetadata> & { role?: string } = {},
  ): KubeObject {
    return bindingOf('ClusterRoleBinding', this.metadata(name, more), role, subjects)
  }

  /** All that the controller makes of a tenant with one user, one manager and one sudoer. */
  all(one: { user: string; manager: string; sudoer: string }): KubeObject[] {
    const { name } = this
    const [edit, sudo, self] = [`lns:edit:${name}`, `lns:sudo:${name}`, `lns:self:${escaped(one.sudoer)}`]
    const sudoers = group(`${name}-sudoers`)
    return [
      this.namespace(),
      ...(['ResourceQuota', 'LimitRange', 'NetworkPolicy'] as const).map(kind => this.platform(kind)),
      this.roleBinding('lns-developer', 'admin', [user(one.user)]),
      this.roleBinding('lns-sudoer', 'cluster-admin', [sudoers]),
      this.role(edit, [editRule(name)]),
      this.binding(edit, [user(one.manager), sudoers]),
      this.role(sudo, [impersonate('groups', sudoers.name)]),
      this.binding(sudo, [user(one.sudoer)]),
      this.role(self, [impersonate('users', one.sudoer)]),
      this.binding(self, [user(one.sudoer)]),
    ]
  }
}

/** A rule to impersonate one. */
export const impersonate = (resource: string, name: string): object => ({
  ...{ apiGroups: [''], resources: [resource], verbs: ['impersonate'], resourceNames: [name] },
})

/** A rule to edit one LNamespace. */
export const editRule = (name: string): object => ({
  apiGroups: ['gial.lblw.dev'],
  resources: ['lnamespaces'],
  verbs: ['get', 'update', 'patch', 'delete'],
  resourceNames: [name],
})

const bindingOf = (kind: string, metadata: KubeMetadata, role: string, subjects: readonly Subject[]): KubeObject => ({
  ...{ apiVersion: `${rbac}/v1`, kind, metadata },
  roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
  subjects: subjects.map(bound),
})
