/** Paths that a user's name is part of: the home, and what mounts name. Pure. */

import { ApiError } from '../base/errors.ts'
import type { Config } from '../config/schema.ts'

/** What stands for the user's name in paths of mounts. */
export const userMark = '{username}'

/**
 * The home of a user (SQR-066, "User and group mappings"), by the configured prefix and scheme.
 * @throws {ApiError} 403 as `pathFor`
 */
export function homeOf(lab: Pick<Config['lab'], 'homePrefix' | 'homeScheme'>, username: string): string {
  const [initial = ''] = username
  const folder = lab.homeScheme === 'username' ? userMark : `${initial}/${userMark}`
  return pathFor(`${withoutEnd(lab.homePrefix)}/${folder}`, username)
}

/**
 * A configured path with the user's name in it, without slashes at its end.
 * @throws {ApiError} 403 when the name makes a detour of it
 */
export function pathFor(path: string, username: string): string {
  // As a function: `$&` in a name is no pattern.
  const filled = withoutEnd(path.replaceAll(userMark, () => username))
  if (username === '' || username.includes('/') || hasDetour(filled)) {
    throw new ApiError(403, {
      msg: `The user name ${JSON.stringify(username)} cannot be part of a path, so you cannot have a lab`,
      type: 'forbidden',
    })
  }
  return filled
}

/** Whether `path` is `folder`, or lies in it. Both are absolute, and without detours. */
export function isWithin(path: string, folder: string): boolean {
  return `${withoutEnd(path)}/`.startsWith(`${withoutEnd(folder)}/`)
}

/** The same path without slashes at its end; nothing of the root. */
export function withoutEnd(path: string): string {
  return path.replace(/\/+$/, '')
}

function hasDetour(path: string): boolean {
  return path.split('/').some(part => part === '.' || part === '..')
}
