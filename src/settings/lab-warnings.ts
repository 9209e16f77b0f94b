/** Warnings about the block `lab`: permitted settings that an operator should know about. */

import { hasDigest } from '../config/image-name.ts'
import { secretPatterns } from '../config/lab.ts'
import type { Config } from '../config/schema.ts'
import { homeOf, isWithin, pathFor } from '../labs/paths.ts'
import { getsToken } from '../labs/token.ts'

type Lab = Config['lab']
type Volume = Lab['volumes'][number]

/** A lab with one of these paths is as good as root on its node: they hold settings and sockets of its programs. */
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
  return [`lab.token: bearer with the provider ${provider} puts into the lab a token with all rights of its user`]
}

/** A lab's own claim is deleted with its namespace, as a folder is. */
function homeWarnings(lab: Lab): string[] {
  const user = 'user'
  const home = homeOf(lab, user)
  const holding = lab.mounts.filter(({ path }) => isWithin(home, pathFor(path, user)))
  const lasts = ({ nfs, hostPath, persistentVolumeClaim: claim }: Volume) => nfs ?? hostPath ?? claim?.volumeName
  const outlive = holding.some(({ volume }) => lab.volumes.some(each => each.name === volume && lasts(each)))
  return outlive ? [] : ['lab.mounts: no volume that outlives labs holds homes: files of users are lost with their lab']
}

function hostPathWarnings({ hostPath }: Volume, index: number): string[] {
  if (!hostPath) return []
  const { path, type } = hostPath
  const key = `lab.volumes.${index}.hostPath`
  if (type === 'Socket' || /\.sock$/.test(path)) {
    return [`${key}: ${path} is a socket of the node: labs can use a program of the node with the rights of root`]
  }
  const fatal = path === '/' || fatalPaths.some(folder => isWithin(path, folder) || isWithin(folder, path))
  return [`${key}: ${path} is a folder of the node${fatal ? ', with which labs can become root on it' : ''}`]
}

/** Everyone with the right to push can move a tag. */
function provisioningWarnings({ provisioning }: Lab): string[] {
  if (!provisioning || hasDigest(provisioning.image)) return []
  const asWhom = provisioning.runAsRoot ? ', and it runs as root with access to homes' : ''
  return [`lab.provisioning.image: has no digest, so its content can change unnoticed${asWhom}`]
}

function environmentWarnings({ env, secretPatterns: patterns }: Lab): string[] {
  const known = patterns.map(pattern => pattern.toUpperCase())
  const missing = known.includes('*') ? [] : secretPatterns.filter(pattern => !known.includes(pattern))
  return [
    ...(Object.hasOwn(env, 'HOME') ? ['lab.env.HOME: has no effect: HOME is always the home, by lab.homePrefix'] : []),
    ...(missing.length > 0
      ? [`lab.secretPatterns: lacks ${missing.join(', ')}, so clients can read such variables`]
      : []),
  ]
}

/** Network file systems cannot map ids. */
function userNamespaceWarnings({ hostUsers, volumes }: Lab): string[] {
  if (hostUsers !== false || !volumes.some(({ nfs }) => nfs)) return []
  return ['lab.hostUsers: false does not work with NFS volumes: labs that mount one do not start']
}
