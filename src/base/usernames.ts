/** What a user name may be. Pure. */
import { invalid } from './errors.ts'

/** In bytes of UTF-8: no folder has a longer name. */
export const longestUsername = 255

/**
 * Refuses user names that no lab can have: empty or over `maxBytes` of UTF-8, with control characters, `:` or `/`, and
 * the two names that mean folders. They become a line of `/etc/passwd` and a folder. Also those with what is not seen, or
 * turns what follows around (Unicode's category Cf): one such name looks like another.
 * @throws {ApiError} 422 at `path`, `username`
 */
export function checkUsername(username: string, maxBytes = longestUsername): void {
  const problem = usernameProblem(username, maxBytes)
  if (problem) throw invalid(`The user name ${problem}`, 'path', 'username')
}

function usernameProblem(username: string, maxBytes: number): string | undefined {
  if (username === '') return 'is empty'
  if (Buffer.byteLength(username) > maxBytes) return `is longer than ${maxBytes} bytes`
  // Half a surrogate pair has no form of its own in UTF-8: two such names would share one hash.
  if (!username.isWellFormed()) return 'is not well-formed Unicode'
  if (/[\p{Cc}\u2028\u2029]/u.test(username)) return 'contains a control character'
  if (/\p{Cf}/u.test(username)) return 'contains a character that is not seen'
  if (/[:/]/.test(username)) return 'contains ":" or "/"'
  if (username === '.' || username === '..') return 'is the name of a folder'
  return undefined
}
