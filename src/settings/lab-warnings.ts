/** Warnings about the block `lab`: it is permitted, and an operator should know. */

import { hasDigest } from '../config/image-name.ts'
import { secretPatterns } from '../config/lab.ts'
import type { Config } from '../config/schema.ts'
import { homeOf, isWithin, pathFor } from '../labs/paths.ts'
import { getsToken } from '../labs/token.ts'

type Lab = Config['lab']
type Volume = Lab['volumes'][number]

/** With these a lab is as good as root on its node: the node's own settings, and what its programs are asked by. */
const fatalPaths = [
  '/etc',
  '/root',
  '/boot',
  '/dev',
  '/proc',
  '/sys',
  '/run',
  '/var/run',
  '/var/lib',
  '/usr',
  '/lib',
  '/bin',
  '/sbin',
]

export function labWarnings(config: Config): string[] {
  const { lab } = config
  return [
    ...tokenWarnings(config),
    ...homeWarnings(lab),
    ...lab.volumes.flatMap(hostPathWarnings),
    ...provisioningWarnings(lab),
    ...environmentWarnings(lab),
    ...userNamespaceWarnings(lab),
  ]
}

function tokenWarnings(config: Config): string[] {
  const { provider } = config.identity
  if (provider === 'gafaelfawr' || !getsToken(config)) return []
  return [`lab.token: bearer with the provider ${provider} puts into the lab a token that may do all that its user may`]
}

/** A claim of a lab's own goes with its namespace, as a folder does. */
function homeWarnings(lab: Lab): string[] {
  const user = 'user'
  const home = homeOf(lab, user)
  const holding = lab.mounts.filter(({ path }) => isWithin(home, pathFor(path, user)))
  const lasts = ({ nfs, hostPath, persistentVolumeClaim: claim }: Volume) => nfs ?? hostPath ?? claim?.volumeName
  const outlive = holding.some(({ volume }) => lab.volumes.some(each => each.name === volume && lasts(each)))
  return outlive
    ? []
    : ['lab.mounts: no volume that outlives labs holds homes: what users write is gone with their lab']
}

function hostPathWarnings({ hostPath }: Volume, index: number): string[] {
  if (!hostPath) return []
  const { path, type } = hostPath
  const key = `lab.volumes.${index}.hostPath`
  if (type === 'Socket' || /\.sock$/.test(path)) {
    return [`${key}: ${path} is a socket of the node: labs ask a program of the node what root may`]
  }
  const fatal = path === '/' || fatalPaths.some(folder => isWithin(path, folder) || isWithin(folder, path))
  return [`${key}: ${path} is a folder of the node${fatal ? ', with which labs may become root of it' : ''}`]
}

/** Anybody with the right to push may move a tag. */
function provisioningWarnings({ provisioning }: Lab): string[] {
  if (!provisioning || hasDigest(provisioning.image)) return []
  const asWhom = provisioning.runAsRoot ? ', and it runs as root over homes' : ''
  return [`lab.provisioning.image: has no digest, so what runs can change unseen${asWhom}`]
}

function environmentWarnings({ env, secretPatterns: patterns }: Lab): string[] {
  const known = patterns.map(pattern => pattern.toUpperCase())
  const missing = known.includes('*') ? [] : secretPatterns.filter(pattern => !known.includes(pattern))
  return [
    ...(Object.hasOwn(env, 'HOME') ? ['lab.env.HOME: is not heeded: it is always the home, by lab.homePrefix'] : []),
    ...(missing.length > 0 ? [`lab.secretPatterns: lacks ${missing.join(', ')}, so such variables are shown`] : []),
  ]
}

/** File systems of the network cannot map ids. */
function userNamespaceWarnings({ hostUsers, volumes }: Lab): string[] {
  if (hostUsers !== false || !volumes.some(({ nfs }) => nfs)) return []
  return ['lab.hostUsers: false does not go with volumes of NFS: labs that mount one do not start']
}
