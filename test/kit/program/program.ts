/** The program that tests run as replicas, as the image has it, with failpoints in the same process. */
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundle } from '../../../dev/image/bundle.ts'
import { run } from '../../../dev/process/command.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))
const kit = 'test/kit'

/** Modules that only tests load. They are the source's own, since they must share the modules of the program. */
export const beside = {
  failpoints: `${kit}/failpoints/failpoints.ts`,
  heap: `${kit}/failpoints/heap.ts`,
  toy: `${kit}/toy/register.ts`,
}

/** The command line of a replica. */
export interface TestProgram {
  /** The script. */
  readonly program: string
  /** Options of Node: modules to load before the program, which share its modules. */
  readonly nodeArgs: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The folder of its modules. For each kind that only tests have, one adds it: `toy.mjs`. */
  readonly modules: string
}

/** The program that was built in a folder. */
const programIn = (dir: string): TestProgram => ({
  program: join(dir, 'dist/main.mjs'),
  nodeArgs: ['failpoints', 'heap'].flatMap(name => ['--import', join(dir, `dist/${name}.mjs`)]),
  // All replicas share one compile cache: a run starts hundreds.
  env: { NODE_COMPILE_CACHE: join(dir, 'compiled') },
  modules: join(dir, 'dist'),
})

const folderIn = (stateDir: string) => join(stateDir, 'program')

/** The program of the checkout; a run builds it before its tests. */
export const builtProgram = (stateDir: string) => programIn(folderIn(stateDir))

/** Builds the program of the checkout, and runs it once: Node writes its compile cache at a regular exit. */
export async function buildProgram(stateDir: string, signal: AbortSignal): Promise<void> {
  const { program, nodeArgs, env } = await programOf(checkout, folderIn(stateDir))
  const urls = ['main.mjs', 'serve.mjs'].map(file => pathToFileURL(join(dirname(program), file)).href)
  const imports = urls.map(url => `import ${JSON.stringify(url)}`).join('\n')
  const args = [...nodeArgs, '--input-type=module', '--eval', imports]
  await run(process.execPath, args, { env: { ...process.env, ...env }, signal })
}

/** Builds the program of the source at `root` in a new folder. */
export async function programOf(root: string, dir: string): Promise<TestProgram> {
  await bundle({ dir, root, beside })
  return programIn(dir)
}
