/** Rules for user names. Pure. */
import { invalid } from './errors.ts'

/** In bytes of UTF-8, the longest name of a folder. */
export const longestUsername = 255

/**
 * Refuses user names that no lab can have: empty, over `maxBytes` of UTF-8, with control characters, `:` or `/`, and
 * the names `.` and `..`. They become a line of `/etc/passwd` and a folder. Also refuses invisible characters and those
 * that change the direction of text (Unicode's category Cf): such a name looks like another.
 * @throws {ApiError} 422 at `path`, `username`
 */
export function checkUsername(username: string, maxBytes = longestUsername): void {
  const problem = usernameProblem(username, maxBytes)
  if (problem) throw invalid(`The user name ${problem}`, 'path', 'username')
}

function usernameProblem(username: string, maxBytes: number): string | undefined {
  if (username === '') return 'is empty'
  if (Buffer.byteLength(username) > maxBytes) return `is longer than ${maxBytes} bytes`
  // Half a surrogate pair has no form in UTF-8: two such names would share one hash.
  if (!username.isWellFormed()) return 'is not well-formed Unicode'
  if (/[\p{Cc}\u2028\u2029]/u.test(username)) return 'contains a control character'
  if (/\p{Cf}/u.test(username)) return 'contains an invisible character'
  if (/[:/]/.test(username)) return 'contains ":" or "/"'
  if (username === '.' || username === '..') return 'is the name of a folder'
  return undefined
}
