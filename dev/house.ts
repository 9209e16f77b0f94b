// Reports the structure of the source: rooms, arrows, circles, sizes:  npm run house -- --help
import { parseArgs } from 'node:util'
import { buildHouse } from './house/house.ts'
import { figuresOf, formatHouse } from './house/report.ts'
import { readSource } from './house/source.ts'
import { table } from './house/table.ts'
import { runCommand, UsageError } from './process/program.ts'

const usage = `npm run house -- [OPTION…]

Prints the rooms (folders) of the source with their sizes, and what the imports between them come to.

  --arrows  also every arrow between rooms, with its imports
  --json    the figures alone, as one JSON object
  --help    prints this
`

interface Options {
  readonly arrows: boolean
  readonly json: boolean
}

function parse(args: readonly string[]): Options {
  try {
    const options = { arrows: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } } as const
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

await runCommand({
  usage,
  parse,
  async run({ arrows, json }) {
    const files = await readSource()
    const house = buildHouse(files, table)
    const figures = figuresOf(house, files)
    process.stdout.write(json ? `${JSON.stringify(figures)}\n` : formatHouse(house, figures))
    if (!arrows) return 0
    for (const { from, to, imports } of house.arrows) {
      process.stdout.write(`${from} → ${to}\n${imports.map(each => `  ${each}\n`).join('')}`)
    }
    return 0
  },
})
