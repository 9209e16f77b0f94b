// An operator's first day, by the commands of the documentation:  npm run day -- --help
import { parseArgs } from 'node:util'
import { systemClock } from '../src/base/clock.ts'
import { commandsOf } from './day/commands.ts'
import { blocksOf, Day, formatDay, Stumble } from './day/day.ts'
import { mistakes } from './day/mistakes.ts'
import { plan, plannedPages, usersWithLabs } from './day/plan.ts'
import { Shell } from './day/shell.ts'
import { startWorld } from './day/world.ts'
import { prepareInCluster } from './in-cluster/stack.ts'
import { aborted, runCommand, UsageError } from './process/program.ts'
import { createProgress } from './process/progress.ts'
import { openRun } from './run/run.ts'

const usage = `npm run day [-- OPTIONS]     runs the commands of the operators' pages on a cluster with a real node

  --list     print the commands, and run none
  --stay     after a stumble keep the cluster until Ctrl-C, to look at it
`

interface Options {
  readonly list: boolean
  readonly stay: boolean
}

function parse(args: readonly string[]): Options {
  const flag = { type: 'boolean', default: false } as const
  try {
    return parseArgs({ args: [...args], options: { list: flag, stay: flag } }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

async function run({ list, stay }: Options, signal: AbortSignal): Promise<number> {
  if (list) {
    for (const { at, text } of plannedPages.flatMap(page => blocksOf(page).flatMap(commandsOf))) {
      process.stdout.write(`${at}  ${text}\n`)
    }
    return 0
  }
  const progress = createProgress()
  const prepared = await prepareInCluster(progress, signal)
  const opened = await openRun(progress)
  let shell: Shell | undefined
  try {
    const { stateDir } = opened
    const world = await startWorld({ stateDir, prepared, progress, signal })
    shell = new Shell({ cwd: world.checkout, env: world.env, folder: stateDir, signal })
    const day = new Day(world, shell, progress, signal)
    const begunMs = systemClock.monotonicMs()
    try {
      await live(day)
      progress.say(`The day took ${Math.round((systemClock.monotonicMs() - begunMs) / 1000)} s, without a stumble.`)
      return 0
    } catch (error) {
      if (!(error instanceof Stumble)) throw error
      progress.say(`Stumbled: ${error.message}`)
      if (stay)
        progress.say(`export KUBECONFIG=${world.cluster.kubeconfig}; cd ${world.checkout}     # Ctrl-C ends it all`)
      if (stay) await aborted(signal)
      return 1
    } finally {
      if (day.done.length > 0) process.stdout.write(`${[formatDay(day.done), ...day.notes].join('\n')}\n`)
    }
  } finally {
    shell?.close()
    await progress.part('take down', () => opened.close())
  }
}

async function live(day: Day): Promise<void> {
  for (const part of plan) {
    if (part === 'mistakes') for (const mistake of mistakes) await day.mistake(mistake)
    else if (part === 'labs') await day.labs(usersWithLabs)
    else if (part === 'labs run') await day.labsRun(usersWithLabs)
    else await day.page(part)
  }
}

await runCommand({ usage, parse, run })
