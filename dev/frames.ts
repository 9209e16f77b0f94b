// Carries generated WebSocket frames with and without the gateway, and compares them byte for byte:  npm run frames -- --help
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { FramesApp } from '../test/kit/gateway/frames/carry.ts'
import { compare, type Maker } from '../test/kit/gateway/frames/compare.ts'
import { directWay, gatewayWay } from '../test/kit/gateway/frames/ways.ts'
import { FramesByWebsockets } from '../test/kit/gateway/frames/websockets.ts'
import { framesByWs } from '../test/kit/gateway/frames/ws.ts'
import { appId, startGateway } from '../test/kit/gateway/process.ts'
import { runCommand, UsageError } from './process/program.ts'
import { createProgress } from './process/progress.ts'
import { openRun } from './run/run.ts'
import { pythonEnvironment } from './setup/python.ts'
import { setup } from './setup/setup.ts'

const usage = `npm run frames [-- --sequences N --seed N --from N]     compares WebSocket traffic with and without the gateway

  --sequences N   default 10000; each is carried both ways, once directly and once through the gateway
  --seed N        repeats a run; default: a new one, which is printed
  --from N        begins with sequence N of the seed, such as one that differed

Frames are made by ws (npm) and websockets (PyPI), and spoiled. The command prints RESULT {json}. It exits with 1 when a
byte differed.
`
const requirements = fileURLToPath(new URL('frames/requirements.txt', import.meta.url))
const atOnce = 16

interface Options {
  readonly sequences: number
  readonly seed: number
  readonly from: number
}

function parse(args: readonly string[]): Options {
  try {
    const text = { type: 'string' } as const
    const { values } = parseArgs({ args: [...args], options: { sequences: text, seed: text, from: text } })
    const number = (value: string | undefined, other: number) => (value === undefined ? other : Number(value))
    const options = {
      sequences: number(values.sequences, 10_000),
      seed: number(values.seed, Math.floor(Math.random() * 2 ** 31)),
      from: number(values.from, 0),
    }
    if (!Object.values(options).every(Number.isSafeInteger)) throw new UsageError('each option is a number')
    return options
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

async function frames({ sequences, seed, from }: Options, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  await setup(['python', 'redis'], progress, signal)
  const environment = await pythonEnvironment({ name: 'websockets', requirements, progress, signal })
  const websockets = new FramesByWebsockets(join(environment, 'bin', 'python'))
  const app = await FramesApp.start()
  const maker: Maker = (side, isClient) =>
    side.library === 'ws' ? framesByWs(side, isClient) : websockets.frames(side, isClient)
  const run = await openRun(progress)
  try {
    const limits = { socketsPerUser: 1000 }
    const opened = await progress.part('a gateway', () =>
      startGateway({ stateDir: run.stateDir, port: app.port, config: { limits } }),
    )
    const gateway = gatewayWay(opened.replica.port, `/console/apps/${appId}`, opened.lines)
    const common = { seed, app, gateway, direct: directWay(app.port), maker, atOnce, signal } as const
    const begunMs = performance.now()
    const outcome = await progress.part(`${sequences} sequences`, () =>
      compare({ ...common, from, count: sequences, libraries: ['ws', 'websockets'] }),
    )
    const seconds = Math.round((performance.now() - begunMs) / 1000)
    process.stdout.write(`RESULT ${JSON.stringify({ test: 'frames', seed, ...outcome, seconds })}\n`)
    return outcome.differences.length === 0 && outcome.sequences === sequences ? 0 : 1
  } finally {
    websockets.stop()
    app.stop()
    await run.close()
  }
}

await runCommand({ usage, parse, run: frames })
