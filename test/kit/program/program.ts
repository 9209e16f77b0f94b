/** What the replicas of tests run: the program as the image has it, with what strikes it in the same process. */
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundle } from '../../../dev/image/bundle.ts'
import { run } from '../../../dev/process/command.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))
const failpoints = 'test/kit/failpoints'

/** How a replica is started. */
export interface TestProgram {
  /** The file that is run. */
  readonly program: string
  /** Options of Node: what is loaded before the program, and shares its modules. */
  readonly nodeArgs: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Of the program that was built in a folder. */
const programIn = (dir: string): TestProgram => ({
  program: join(dir, 'dist/main.mjs'),
  nodeArgs: ['failpoints', 'heap'].flatMap(name => ['--import', join(dir, `dist/${name}.mjs`)]),
  // What replicas are compiled to is kept for all of them: a run starts hundreds.
  env: { NODE_COMPILE_CACHE: join(dir, 'compiled') },
})

const folderIn = (stateDir: string) => join(stateDir, 'program')

/** The program of the checkout, which a run builds before its tests. */
export const builtProgram = (stateDir: string) => programIn(folderIn(stateDir))

/** Builds the program of the checkout, and loads it once: Node keeps what it compiled when a process ends by itself. */
export async function buildProgram(stateDir: string, signal: AbortSignal): Promise<void> {
  const { program, nodeArgs, env } = await programOf(checkout, folderIn(stateDir))
  const urls = ['main.mjs', 'serve.mjs'].map(file => pathToFileURL(join(dirname(program), file)).href)
  const imports = urls.map(url => `import ${JSON.stringify(url)}`).join('\n')
  const args = [...nodeArgs, '--input-type=module', '--eval', imports]
  await run(process.execPath, args, { env: { ...process.env, ...env }, signal })
}

/** Builds the program of the source at `root` in a folder that is not there yet. */
export async function programOf(root: string, dir: string): Promise<TestProgram> {
  // The source's own: what strikes the program must be loaded with the very modules that it loads.
  const beside = { failpoints: `${failpoints}/failpoints.ts`, heap: `${failpoints}/heap.ts` }
  await bundle({ dir, root, beside })
  return programIn(dir)
}
