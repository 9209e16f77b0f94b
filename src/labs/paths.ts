/** Paths that contain a user's name: the home, and paths of mounts. Pure. */

import { ApiError } from '../base/errors.ts'
import type { Config } from '../config/schema.ts'

/** The placeholder for the user's name in paths of mounts. */
export const userPlaceholder = '{username}'

/**
 * The home of a user (SQR-066, "User and group mappings"), by the configured prefix and scheme.
 * @throws {ApiError} 403 as `pathFor`
 */
export function homeOf(lab: Pick<Config['lab'], 'homePrefix' | 'homeScheme'>, username: string): string {
  const [initial = ''] = username
  const folder = lab.homeScheme === 'username' ? userPlaceholder : `${initial}/${userPlaceholder}`
  return pathFor(`${withoutEnd(lab.homePrefix)}/${folder}`, username)
}

/**
 * A configured path with the user's name in it, without slashes at its end.
 * @throws {ApiError} 403 when the name would leave the folder
 */
export function pathFor(path: string, username: string): string {
  // A function as replacement, since `$&` in a text would be a pattern.
  const filled = withoutEnd(path.replaceAll(userPlaceholder, () => username))
  if (username === '' || username.includes('/') || hasDetour(filled)) {
    throw new ApiError(403, {
      msg: `The user name ${JSON.stringify(username)} cannot be part of a path, so you cannot have a lab`,
      type: 'forbidden',
    })
  }
  return filled
}

/** Whether `path` is `folder`, or is inside it. Both are absolute, without `.` and `..`. */
export function isWithin(path: string, folder: string): boolean {
  return `${withoutEnd(path)}/`.startsWith(`${withoutEnd(folder)}/`)
}

/** The same path without slashes at its end; the root becomes empty. */
export function withoutEnd(path: string): string {
  return path.replace(/\/+$/, '')
}

function hasDetour(path: string): boolean {
  return path.split('/').some(part => part === '.' || part === '..')
}
