/** Bills in the order in which they are written. Pure. */
import type { WaitingBill } from '../store/bills.ts'

/** Bills in one call of the table. */
const most = 100

/** Each has one bill of an LNamespace at most; the earlier ones are in earlier waves. */
export function wavesOf(bills: readonly WaitingBill[]): readonly (readonly WaitingBill[])[] {
  const seen = new Map<string, number>()
  const waves: WaitingBill[][] = []
  for (const waiting of bills) {
    const { uid } = waiting.bill
    const wave = seen.get(uid) ?? 0
    seen.set(uid, wave + 1)
    waves[wave] ??= []
    waves[wave].push(waiting)
  }
  return waves.flatMap(wave =>
    Array.from({ length: Math.ceil(wave.length / most) }, (_, i) => wave.slice(i * most, (i + 1) * most)),
  )
}
