/** Lines of a watch that come late, in their order: each watch of each replica by itself, so replicas see different pasts. */

/** One line in twenty comes up to this late, and all behind it wait. */
const longMs = 1_500
const shortMs = 100
/** The server ends the watch after such a line. A late one would be lost, and each next watch would begin at the same place. */
const errorHead = '{"type":"ERROR"'

export interface LateWatch {
  readonly signal: AbortSignal
  abort(reason: unknown): void
}

/** `receive` gets copies of the lines. What it throws ends the watch, after which no line comes. */
export function late(receive: (line: Buffer) => void, watch: LateWatch): (line: Buffer) => void {
  const waiting: { readonly line: Buffer; readonly dueMs: number }[] = []
  const wait = () => {
    const [first] = waiting
    if (first) setTimeout(deliver, Math.max(0, first.dueMs - performance.now())).unref()
  }
  const deliver = () => {
    if (watch.signal.aborted) return
    try {
      while (waiting.length > 0 && waiting[0]!.dueMs <= performance.now()) receive(waiting.shift()!.line)
    } catch (error) {
      return watch.abort(error)
    }
    wait()
  }
  return line => {
    if (line.toString('latin1', 0, errorHead.length) === errorHead) return receive(line)
    const lateMs = Math.random() * (Math.random() < 0.05 ? longMs : shortMs)
    waiting.push({ line: Buffer.from(line), dueMs: performance.now() + lateMs })
    // A timer runs for those before it.
    if (waiting.length === 1) wait()
  }
}
