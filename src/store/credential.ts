/** The token with which a lab's own API is asked, sealed in the lab's record for its user and its op. */
import { NeedsSomeone } from '../base/errors.ts'
import { labOf, sealedName } from '../base/subject.ts'
import type { LabRecord } from './records.ts'
import type { Sealer } from './sealing.ts'

export const sealCredential = (sealer: Pick<Sealer, 'seal'>, user: string, op: number, text: string): string =>
  sealer.seal(text, sealedName(labOf(user)), String(op))

/**
 * @returns undefined if the record has none, or one that does not open: by a key that this replica does not have, or of another
 *   operation, as a deletion is. The lab's own Secret still has it
 */
export function openCredential(
  sealer: Pick<Sealer, 'open'>,
  user: string,
  { op, credential }: Pick<LabRecord, 'op' | 'credential'>,
): string | undefined {
  try {
    return credential === undefined ? undefined : sealer.open(credential, sealedName(labOf(user)), String(op))
  } catch (error) {
    if (error instanceof NeedsSomeone) return undefined
    throw error
  }
}
