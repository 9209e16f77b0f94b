/** The house as text: for a terminal, and for docs/architecture.md. Pure. */
import type { House, Table } from './house.ts'
import type { SourceFile } from './source.ts'

/** Figures of the house, by name. */
export interface Figures {
  readonly rooms: number
  readonly arrows: number
  readonly circles: number
  readonly against: number
  /** Share of the lines that are no tests, in percent. */
  readonly biggestShare: number
  readonly biggest: string
  readonly mostFiles: number
  readonly longestChain: number
  readonly fileMedian: number
  readonly file90: number
  readonly filesOver250: number
  readonly functionMedian: number
  readonly function90: number
  readonly functionsOver40: number
}

export function figuresOf(house: House, files: readonly SourceFile[]): Figures {
  const own = files.filter(({ isTest }) => !isTest)
  const all = own.reduce((sum, { lines }) => sum + lines, 0)
  const biggest = house.rooms.reduce((most, room) => (room.lines > most.lines ? room : most))
  const lengths = own.map(({ lines }) => lines)
  const functions = own.flatMap(file => file.functions.map(({ lines }) => lines))
  return {
    rooms: house.rooms.filter(room => room.files > 0).length,
    arrows: house.arrows.length,
    circles: house.circles.length + house.fileCircles.length,
    against: house.against.length,
    biggestShare: Math.round((biggest.lines / all) * 100),
    biggest: biggest.name,
    mostFiles: Math.max(...house.rooms.map(room => room.files)),
    longestChain: house.longestChain.length,
    fileMedian: quantile(lengths, 0.5),
    file90: quantile(lengths, 0.9),
    filesOver250: lengths.filter(lines => lines > 250).length,
    functionMedian: quantile(functions, 0.5),
    function90: quantile(functions, 0.9),
    functionsOver40: functions.filter(lines => lines > 40).length,
  }
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? 0
}

/** The rooms with their sizes, then the figures. */
export function formatHouse(house: House, figures: Figures): string {
  const width = Math.max(...house.rooms.map(({ name }) => name.length))
  const rooms = house.rooms.map(
    ({ name, files, lines, tests }) =>
      `${name.padEnd(width)} ${String(files).padStart(4)} files ${String(lines).padStart(6)} lines ${String(tests).padStart(4)} tests`,
  )
  return [...rooms, '', ...formatFigures(figures), ''].join('\n')
}

function formatFigures(figures: Figures): string[] {
  const { rooms, arrows, circles, against, biggestShare, biggest, mostFiles, longestChain } = figures
  const { fileMedian, file90, filesOver250, functionMedian, function90, functionsOver40 } = figures
  return [
    `rooms                     ${rooms}`,
    `arrows between rooms      ${arrows}`,
    `circles                   ${circles}`,
    `arrows against the table  ${against}`,
    `share of the biggest room ${biggestShare} % (${biggest})`,
    `files in one room         ${mostFiles} at most`,
    `longest chain of imports  ${longestChain}`,
    `lines of a file           median ${fileMedian}, 90 % up to ${file90}, ${filesOver250} over 250`,
    `lines of a function       median ${functionMedian}, 90 % up to ${function90}, ${functionsOver40} over 40`,
  ]
}

const [tableBegins, tableEnds] = ['<!-- rooms -->\n', '<!-- /rooms -->']

/** The page with the current table between its two marks. @throws {Error} the page lacks the marks */
export function withTable(page: string, table: Table): string {
  const [from, to] = [page.indexOf(tableBegins), page.indexOf(tableEnds)]
  if (from < 0 || to < from) throw new Error(`the page lacks ${tableBegins.trim()} … ${tableEnds}`)
  return `${page.slice(0, from)}${tableBegins}${formatTable(table)}${page.slice(to)}`
}

/** The table in Markdown. */
function formatTable(table: Table): string {
  const list = (rooms: readonly string[]) =>
    rooms.length === 0 ? 'nothing' : rooms.map(room => `\`${room}\``).join(', ')
  const rows = Object.entries(table).map(([room, others]) => `| \`${room}\` | ${list(others)} |`)
  return ['| room | may import |', '| --- | --- |', ...rows, ''].join('\n')
}
