/** Tables of commands: cells of others are data, never orders for a terminal. */

/** @returns one line for the head and one for each row, without blanks at their ends */
export function columns(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows.map(row => row.map(printable))]
  const widths = head.map((_, i) => cells.reduce((most, row) => Math.max(most, row[i]!.length), 0))
  const lines = cells.map(row => row.map((cell, i) => cell.padEnd(widths[i]!)).join('  '))
  return lines.map(line => `${line.trimEnd()}\n`).join('')
}

/** Text of a server or a machine as one line, without control characters. */
export const printable = (text: string): string => text.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ').trim()

/** As kubectl has it: the two largest units. */
export function ageOf(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ]
  if (days > 0) return `${days}d${hours}h`
  if (hours > 0) return `${hours}h${minutes}m`
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`
}
