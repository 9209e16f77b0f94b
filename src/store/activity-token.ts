/**
 * The file `activity-token` of a lab: a token by which the program in the lab reports activity of this lab, and nothing else.
 * Its form is `<op>.<key id>.<MAC>`; the MAC covers the user and the op. It ends with the op: the caller compares.
 */
import type { Sealer } from './sealing.ts'

const form = /^([1-9][0-9]{0,15})\.([0-9a-f]{12}\.[A-Za-z0-9_-]{43})$/

export const activityToken = (sealer: Pick<Sealer, 'mac'>, user: string, op: number): string =>
  `${op}.${sealer.mac([user, String(op)], 'activity')}`

/**
 * Checks a token that a stranger sent for a user. Takes the same time whatever part of the MAC is wrong.
 * @returns the op of the lab that it was given to; undefined if none of our keys made it for this user. The lab may be
 *   gone: the token is good only while the user's record has this op
 */
export function checkActivityToken(sealer: Pick<Sealer, 'checkMac'>, user: string, token: string): number | undefined {
  const [, op, mac] = form.exec(token) ?? []
  if (op === undefined || sealer.checkMac([user, op], mac, 'activity') !== 'right') return undefined
  return Number(op)
}
