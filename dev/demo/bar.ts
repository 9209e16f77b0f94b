/** Shows a lab's events to a person: a growing bar, and text. */
import type { LabEvent } from '../../src/base/domain.ts'

/** The output that the bar is drawn on; on a terminal it stays on one line. */
export interface Screen {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

const barCells = 24
const defaultColumns = 80

/** One line of at most `columns` characters: a bar of `percent`, and the text. */
export function renderBar(percent: number, words: string, columns: number): string {
  const full = Math.round((Math.min(Math.max(percent, 0), 100) / 100) * barCells)
  const bar = `${'█'.repeat(full)}${'░'.repeat(barCells - full)}`
  const line = `  ${bar} ${String(Math.round(percent)).padStart(3)} % ${words.replace(/\s+/g, ' ')}`
  return line.length < columns ? line : `${line.slice(0, columns - 2)}…`
}

export class EventBar {
  readonly #screen: Screen
  #percent = 0
  #words = ''

  constructor(screen: Screen) {
    this.#screen = screen
  }

  /** Shows one event. Errors keep a line of their own; without a terminal every text does. */
  show({ event, data }: LabEvent): void {
    if (event === 'progress') this.#percent = Number(data)
    else if (event === 'error') this.#stay(`  ! ${data}`)
    else this.#words = data
    if (event === 'complete') this.#percent = 100
    if (this.#screen.isTTY) this.#screen.write(`\r\x1b[K${this.#line()}`)
    else if (event === 'info' || event === 'complete') this.#screen.write(`${this.#line()}\n`)
    if (event === 'complete' || event === 'failed') this.#end(event, data)
  }

  #line(): string {
    const { isTTY, columns } = this.#screen
    // A terminal of unknown size reports 0.
    const room = isTTY ? columns || defaultColumns : Number.POSITIVE_INFINITY
    return renderBar(this.#percent, this.#words, room)
  }

  #end(event: 'complete' | 'failed', data: string): void {
    if (event === 'failed') this.#stay(`  failed: ${data}`)
    else if (this.#screen.isTTY) this.#screen.write('\n')
  }

  #stay(text: string): void {
    this.#screen.write(this.#screen.isTTY ? `\r\x1b[K${text}\n` : `${text}\n`)
  }
}
