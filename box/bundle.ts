/** The program as the image has it: its modules and packages in a few files, which start faster than the source. */
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { programOptions } from '../rolldown.config.ts'

const checkout = fileURLToPath(new URL('..', import.meta.url))

export interface BundleOptions {
  /** A folder that is not there yet, or only with what was put there before. */
  readonly dir: string
  /** The root of the source. Default: this checkout's. */
  readonly root?: string | undefined
  /** More modules that can be loaded into the same process, by name: `<name>.js` shares its modules with the program. */
  readonly beside?: Readonly<Record<string, string>>
}

/**
 * Makes the program. @returns path of its `main.js`
 * @throws where the source cannot be put together
 */
export async function bundle({ dir, root = checkout, beside = {} }: BundleOptions): Promise<string> {
  const { output, ...options } = programOptions(root, beside)
  const build = await rolldown(options)
  const dist = join(dir, 'dist')
  await build.write({ ...output, dir: dist }).finally(() => build.close())
  // What it does not bundle, which are the files of a page, is looked for where Node looks for packages.
  await mkdir(dir, { recursive: true })
  await symlink(join(checkout, 'node_modules'), join(dir, 'node_modules'))
  return join(dist, 'main.js')
}
