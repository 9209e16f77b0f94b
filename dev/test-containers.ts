// Runs tests with Redis in containers, on a machine without a Docker engine:  npm run test:containers -- --help
import { join } from 'node:path'
import { redisConfig, redisTree } from './image/redis.ts'
import { runCommand } from './process/program.ts'
import { createProgress } from './process/progress.ts'
import { openRun } from './run/run.ts'
import { setup } from './setup/setup.ts'
import { startEngine } from './test/engine.ts'
import { runTests } from './test/suites.ts'

const usage = `usage: npm run test:containers -- [OPTION OF npm test | FILTER…]

Starts Debian's dockerd (as root), builds an image of Debian's Redis, and runs npm test -- --containers redis with it:
the tests that the filters choose, by default those of the store, and containers of dispatch by that docker.
`

const image = 'skylab-redis'
const usualTests = ['test/integration/store', 'test/integration/dispatch/engine', '--no-real-node']

async function testContainers(args: readonly string[], signal: AbortSignal): Promise<number> {
  if (process.getuid?.() !== 0) throw new Error('only root can start a Docker engine')
  const progress = createProgress()
  const tools = await setup(['engine', 'redis'], progress, signal)
  const run = await openRun(progress)
  const { stateDir } = run
  try {
    const engine = await progress.part('Docker engine', () => startEngine({ stateDir, tools, signal }))
    try {
      const rootfs = join(stateDir, image)
      await progress.part('image of Redis', async () => {
        await redisTree(rootfs)
        await engine.importImage({ rootfs, name: image, config: redisConfig })
      })
      const env = { ...engine.env, SKYLAB_TEST_REDIS_IMAGE: image }
      return await runTests(['--containers', 'redis', ...(args.length > 0 ? args : usualTests)], env, signal)
    } finally {
      await engine.stop()
    }
  } finally {
    await progress.part('take down', () => run.close())
  }
}

await runCommand({ usage, parse: args => args, run: testContainers })
