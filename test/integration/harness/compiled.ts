/** What the replicas of a run are compiled to, kept for all of them: each would do it anew, and a run starts hundreds. */
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { run } from '../../../box/command.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))
const heapModule = fileURLToPath(new URL('./heap.ts', import.meta.url))

/** Options of Node for a replica of the source at `root`: what tests load before the program. */
export const nodeArgs = (root: string): string[] => [
  // The very module of `failpoint` that this program loads.
  ...['--import', join(root, 'test/integration/harness/failpoints.ts')],
  ...['--import', heapModule],
]

/** In the environment of a replica. @param stateDir folder of the run */
export const compiledEnv = (stateDir: string) => ({ NODE_COMPILE_CACHE: join(stateDir, 'compiled') })

/** Loads all that a replica of the checkout loads, once: Node keeps the result when a process ends by itself. */
export async function compile(stateDir: string, signal: AbortSignal): Promise<void> {
  const modules = ['src/main.ts', 'src/serve.ts'].map(path => pathToFileURL(join(checkout, path)).href)
  const program = modules.map(url => `import ${JSON.stringify(url)}`).join('\n')
  const args = [...nodeArgs(checkout), '--input-type=module', '--eval', program]
  await run(process.execPath, args, { env: { ...process.env, ...compiledEnv(stateDir) }, signal })
}
