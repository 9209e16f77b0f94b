/** Which variables are secret, so that nobody is shown their values. Pure. */
import { globs } from './glob.ts'

/** What clients see in place of a secret value. */
export const mask = '***'

const urlWithUser = /:\/\/[^\s/?#]*@/
const namesLike = globs({ ignoreCase: true })

/**
 * A variable is secret if its name matches a pattern, or if its value is an address with user information.
 * @param patterns `lab.secretPatterns`
 */
export function secretTest(patterns: readonly string[]): (name: string, value: string) => boolean {
  const isLike = namesLike(patterns)
  return (name, value) => isLike(name) || urlWithUser.test(value)
}
