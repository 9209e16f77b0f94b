/**
 * Names of a lab's objects. Pure.
 *
 * The spec calls the namespace `nublado-<username>` and starts the names in it with `nb-<username>` (SQR-066, "Pod
 * configuration"). User names allow more than names in Kubernetes. Both therefore use the user's *slug*: the user name
 * itself if that is a DNS label, else readable text and a hash.
 */
import { createHash } from 'node:crypto'

/** Names of the objects of one lab. All but `namespace` are in that namespace. */
export interface LabNames {
  readonly namespace: string
  /** Name of the Pod, the Service, the NetworkPolicy and the Secret of files. */
  readonly lab: string
  /** Name of the ConfigMap and the Secret of the environment. */
  readonly env: string
  /** Name of the ConfigMap of user and group mappings. */
  readonly nss: string
  /** Name of the Secret by which images are pulled. */
  readonly pull: string
  /** Name of the ConfigMap of variables for provisioning. */
  readonly provision: string
}

/** Names that a configured volume must not have: the objects behind volumes are named in the same way as our own. */
export const reservedVolumeNames: readonly string[] = ['env', 'nss', 'pull', 'provision']

/** Prefix of the volumes that every lab has. No configured volume may begin with it. */
export const ownVolumePrefix = 'skylab-'

const maxLabelLength = 63
const objectPrefix = 'nb-'
const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
/** The form that `hashed` makes. A user name of this form is hashed too, or it could equal another user's slug. */
const slugForm = /--[0-9a-z]{19}$/
const hashLength = 19

/** Names for a user under a namespace prefix: always the same for one user, and different for different users. */
export function labNames(namespacePrefix: string, username: string): LabNames {
  const slug = userSlug(namespacePrefix, username)
  const lab = objectPrefix + slug
  return {
    namespace: `${namespacePrefix}-${slug}`,
    lab,
    env: `${lab}-env`,
    nss: `${lab}-nss`,
    pull: `${lab}-pull`,
    provision: `${lab}-provision`,
  }
}

/** Name of the object behind a configured volume, in the namespace of a lab. */
export function volumeObjectName({ lab }: LabNames, volume: string): string {
  return `${lab}-${volume}`
}

function userSlug(namespacePrefix: string, username: string): string {
  const room = maxLabelLength - Math.max(namespacePrefix.length + 1, objectPrefix.length)
  const exact = username.length <= room && dnsLabel.test(username) && !slugForm.test(username)
  return exact ? username : hashed(username, room)
}

function hashed(username: string, room: number): string {
  const stem = username
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{Mn}+/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, room - hashLength - 2)
    .replace(/-$/, '')
  return `${stem || 'user'}--${hashOf(username)}`
}

/** 96 bits of SHA-256 in base 36: a collision cannot be found in practice. */
function hashOf(username: string): string {
  const hex = createHash('sha256').update(username, 'utf8').digest('hex').slice(0, 24)
  return BigInt(`0x${hex}`).toString(36).padStart(hashLength, '0')
}
