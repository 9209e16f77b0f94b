/**
 * The same as `skylab-tenants-lnamespaces` and `skylab-tenants-names` of k8s/components/tenants/policies.yaml, for creations of
 * LNamespaces on clusters that have no MutatingAdmissionPolicy. Pure. Seed 004, "Testing strategy for webhooks": a webhook
 * answers with JSON patches, and these are what is tested.
 */
import { asObject, asText, type JsonObject } from '../base/json.ts'
import { reservedIn } from './settings.ts'
import type { TenantSettings } from './spec.ts'
import { tenantAnnotations, tenantGroup } from './words.ts'

/** A creation that the API server asks about. */
export interface Creation {
  /** The requester. */
  readonly username: string
  readonly groups?: readonly string[]
  /** All facts about the requester, as the API server sent them. */
  readonly userInfo?: JsonObject
  readonly object: JsonObject
}

/** An operation of RFC 6902. */
export interface JsonPatch {
  readonly op: 'add'
  readonly path: string
  readonly value: unknown
}

export class BadReview extends Error {}

/**
 * The creation in an AdmissionReview; undefined if it is about something else, of which nothing is judged.
 * @throws {BadReview} for what no API server sends
 */
export function creationIn(review: unknown): { readonly uid: string; readonly creation: Creation | undefined } {
  const { apiVersion, kind, request } = asObject(review)
  if (apiVersion !== 'admission.k8s.io/v1' || kind !== 'AdmissionReview')
    throw new BadReview('not an AdmissionReview, v1')
  const { uid, operation, resource, subResource, object, userInfo } = asObject(request)
  if (typeof uid !== 'string' || uid === '') throw new BadReview('request.uid is missing')
  const { group, resource: plural } = asObject(resource)
  const isCreation = operation === 'CREATE' && group === tenantGroup && plural === 'lnamespaces' && !subResource
  if (!isCreation) return { uid, creation: undefined }
  const asker = asObject(userInfo)
  const { groups } = asker
  const username = asText(asker.username)
  if (username === '') throw new BadReview('request.userInfo.username is empty')
  // An object that is to be made has no name yet when defaults are asked for.
  const { name, generateName } = asObject(asObject(object).metadata)
  if (asText(name) + asText(generateName) === '') throw new BadReview('request.object has no name')
  return {
    uid,
    creation: {
      ...{ username, groups: Array.isArray(groups) ? groups.map(asText) : [] },
      ...{ userInfo: asker, object: asObject(object) },
    },
  }
}

/**
 * The creator is the requester, and without a list the first sudoer.
 * @param named groups that defaults of billing name: those of the creator are noted
 */
export function patchesFor(
  { username, groups = [], object }: Creation,
  named: readonly string[] = [],
): readonly JsonPatch[] {
  const noted = named.filter(group => groups.includes(group)).join('\n')
  const { annotations } = asObject(object.metadata)
  const { spec } = object
  const hasSudoers = Object.hasOwn(asObject(spec), 'sudoers')
  const add = (path: string, value: unknown): JsonPatch => ({ op: 'add', path, value })
  const sudoers = [{ kind: 'User', name: username, namespace: '' }]
  return [
    ...(annotations ? [] : [add('/metadata/annotations', {})]),
    ...(Object.hasOwn(asObject(annotations), tenantAnnotations.requester)
      ? []
      : [add(pathOf(tenantAnnotations.requester), username)]),
    ...(noted === '' || asObject(annotations)[tenantAnnotations.requesterGroups] === noted
      ? []
      : [add(pathOf(tenantAnnotations.requesterGroups), noted)]),
    ...(hasSudoers || isOfTheCluster(username)
      ? []
      : [...(spec ? [] : [add('/spec', {})]), add('/spec/sudoers', sudoers)]),
  ]
}

const pathOf = (annotation: string): string => `/metadata/annotations/${annotation.replace('/', '~1')}`

/**
 * Why a creation is refused; undefined if it is not.
 * @param mayOverride whether who asks has the verb `override` on this LNamespace: asked only if it matters
 */
export async function refusalOf(
  { username, groups = [], object }: Creation,
  settings: TenantSettings,
  mayOverride: () => Promise<boolean>,
): Promise<string | undefined> {
  const metadata = asObject(object.metadata)
  const name = asText(metadata.name)
  const { platform, namespaceLabelOverrides } = asObject(object.spec)
  const labels = Object.keys(asObject(namespaceLabelOverrides))
  const requester = `metadata.annotations[${tenantAnnotations.requester}]`
  if (asObject(metadata.annotations)[tenantAnnotations.requester] !== username)
    return `${requester} must be who asks, ${username}: leave it out, and it is added`
  const noted = asText(asObject(metadata.annotations)[tenantAnnotations.requesterGroups])
  if (noted !== '' && !noted.split('\n').every(group => groups.includes(group)))
    return `metadata.annotations[${tenantAnnotations.requesterGroups}] must be groups of who asks: leave it out`
  if (labels.some(isBelieved))
    return 'spec.namespaceLabelOverrides: labels of Kubernetes, of Skylab and istio.io/rev cannot be overridden'
  const reserved = reservedWords(name, settings)
  if (reserved !== undefined) return `metadata.name: ${name} ${reserved}`
  const { labelPrefixes } = settings.tenants
  const closed = labels.filter(key => !labelPrefixes.some(prefix => key.startsWith(prefix)))
  const isPrivileged = [
    isOfTheCluster(username) && `${requester}: ${username} is no person, and may not override lnamespaces`,
    Object.keys(asObject(platform)).length > 0 && 'spec.platform is for accounts that may override lnamespaces',
    closed.length > 0 &&
      `spec.namespaceLabelOverrides: ${closed.join(', ')} is for accounts that may override lnamespaces`,
  ].find(words => words !== false)
  return isPrivileged !== undefined && !(await mayOverride()) ? isPrivileged : undefined
}

const isOfTheCluster = (username: string): boolean => username.startsWith('system:')

/** Labels by which the cluster or Skylab itself decides. */
const isBelieved = (key: string): boolean =>
  /^(lns\.)?skylab\/|^istio\.io\/rev$|^([^/]*\.)?(kubernetes|k8s)\.io\//.test(key) &&
  !key.startsWith('app.kubernetes.io/')

/** In the words of `skylab-tenants-names`. */
function reservedWords(name: string, settings: TenantSettings): string | undefined {
  const { names, prefixes } = reservedIn(settings)
  if (names.includes(name)) return 'is reserved'
  if (prefixes.some(prefix => name.startsWith(prefix))) return 'begins like names that are reserved'
  return name.startsWith(`${settings.labPrefix}-`) ? 'is a name of namespaces of labs' : undefined
}
