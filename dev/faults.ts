// All attacks in their whole size, with all that they take:  npm run faults -- --help
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runAttacks, tableOf } from './faults/attacks.ts'
import { runControls } from './faults/controls.ts'
import { type FaultsOptions, parseFaultsOptions, usage } from './faults/options.ts'
import { followLines } from './process/follow.ts'
import { runCommand } from './process/program.ts'
import { createProgress } from './process/progress.ts'
import { whyNoRealNode } from './run/claim.ts'
import { setupSuites } from './test/runs.ts'

const kept = fileURLToPath(new URL('../.artefacts/faults', import.meta.url))

/** The folder for results of this run: all RESULT lines, and logs and histories of failed attacks. */
function openFolder(): string {
  const folder = join(kept, new Date().toISOString().replaceAll(':', '-'))
  mkdirSync(folder, { recursive: true })
  return folder
}

/** Only a complete run shows which rights are never used. */
const isWhole = ({ controls, pattern, filters }: FaultsOptions) => !controls && !pattern && filters.length === 0

async function faults(options: FaultsOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const tools = await setupSuites({}, options.realNode, progress, signal)
  const folder = openFolder()
  const results = join(folder, 'results.ndjson')
  writeFileSync(results, '')
  const context = {
    choice: {},
    tools,
    progress,
    signal,
    logsFolder: join(folder, 'logs'),
    options,
    results,
    rightsName: isWhole(options) ? 'faults' : undefined,
  }
  const unfollow = followLines(results, line => process.stdout.write(`RESULT ${line}\n`))
  try {
    const { table, isRight } = await (options.controls ? runControls(context) : runAttacks(context)).finally(unfollow)
    process.stdout.write(`${table}\n`)
    progress.summary()
    if (existsSync(context.logsFolder)) progress.say(`Logs and histories of what failed: ${context.logsFolder}`)
    return isRight ? 0 : 1
  } catch (error) {
    // All attacks take hours: what has ended by then is shown. Controls have no such table: there red is right.
    if (signal.aborted && !options.controls)
      process.stdout.write(`${tableOf(results)}\nIt was interrupted: what had not ended is not in the table.\n`)
    throw error
  }
}

await runCommand({ usage, parse: args => parseFaultsOptions(args, whyNoRealNode() === null), run: faults })
