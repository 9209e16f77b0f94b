/** `/etc/passwd` and `/etc/group` of a lab, which name its ids (SQR-066). Pure. */

import type { Group } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import type { Config } from '../config/schema.ts'

/** Contents of the two files, in whole lines. */
export interface NssFiles {
  readonly passwd: string
  readonly group: string
}

/** The user that the files are made for. */
export interface NssUser {
  readonly username: string
  readonly uid: number
  readonly gid: number
  /** Groups without GID are left out. */
  readonly groups: readonly Group[]
  /** Absolute path. */
  readonly home: string
}

/**
 * The names that most containers have. They are few, because no user or group may have a name that is listed here.
 */
export const baseNss: NssFiles = {
  passwd: [
    'root:x:0:0:root:/root:/bin/bash',
    'daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin',
    'bin:x:2:2:bin:/bin:/usr/sbin/nologin',
    'sys:x:3:3:sys:/dev:/usr/sbin/nologin',
    'mail:x:8:8:mail:/var/mail:/usr/sbin/nologin',
    'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
    '',
  ].join('\n'),
  group: [
    'root:x:0:',
    'daemon:x:1:',
    'bin:x:2:',
    'sys:x:3:',
    'tty:x:5:',
    'disk:x:6:',
    'mail:x:8:',
    'shadow:x:42:',
    'utmp:x:43:',
    'nogroup:x:65534:',
    '',
  ].join('\n'),
}

const shell = '/bin/bash'

/** The beginning of the files: as configured, or `baseNss`; always in whole lines. */
export function nssBase({ passwd = baseNss.passwd, group = baseNss.group }: Config['lab']['nss']): NssFiles {
  return { passwd: wholeLines(passwd), group: wholeLines(group) }
}

function wholeLines(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

/**
 * The base files with a line for the user and for each group that has a GID. The user is listed as a member of all
 * groups but the primary one, which the user's line in `passwd` contains.
 * @throws {ApiError} 403 when a name would break a line, or is one of the base's
 */
export function nssFiles(base: NssFiles, user: NssUser): NssFiles {
  const { username, uid, gid, home } = user
  checkName('user name', username, base.passwd)
  return {
    passwd: `${base.passwd}${username}:x:${uid}:${gid}::${home}:${shell}\n`,
    group: base.group + groupLines(user, base.group).join(''),
  }
}

function groupLines({ username, gid, groups }: NssUser, base: string): string[] {
  const lines = new Map<string, string>()
  for (const { name, id } of groups) {
    if (id === undefined) continue
    checkName('group', name, base)
    lines.set(`${name}:${id}`, `${name}:x:${id}:${id === gid ? '' : username}\n`)
  }
  // A primary group without a name is the user's own.
  if (!groups.some(group => group.id === gid)) {
    checkName('group', username, base)
    lines.set(`${username}:${gid}`, `${username}:x:${gid}:\n`)
  }
  return [...lines.values()]
}

function checkName(kind: string, name: string, base: string): void {
  const problem = breaksLine(name) ? 'cannot be written' : isTaken(name, base) ? 'is taken' : undefined
  if (!problem) return
  const where = kind === 'group' ? '/etc/group' : '/etc/passwd'
  throw new ApiError(403, {
    msg: `The ${kind} ${JSON.stringify(name)} ${problem} in ${where}, so you cannot have a lab`,
    type: 'forbidden',
  })
}

/** Fields end at a colon, members at a comma. A line must not begin like a comment or an entry of NIS. */
function breaksLine(name: string): boolean {
  return name === '' || name !== name.trim() || /[:,\p{Cc}\u2028\u2029]|^[-+#]/u.test(name)
}

function isTaken(name: string, base: string): boolean {
  return base.split('\n').some(line => line.startsWith(`${name}:`))
}
