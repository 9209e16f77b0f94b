/** Builds the runner for tests, also without some of its guards. */
import { hash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { forSsh2, require } from '../../../dev/image/bundle.ts'
import { controlNamed, edited } from '../program/controls.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))
const built = new Map<string, Promise<string>>()

/**
 * The path of the runner without the guards of these controls. One build for each process of the tests.
 * @param controls names, separated by commas
 */
export function runnerProgram(controls = ''): Promise<string> {
  const known = built.get(controls) ?? buildRunner(controls)
  built.set(controls, known)
  return known
}

async function buildRunner(controls: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(checkout, 'test/kit/runner/entry.ts')],
    outfile: 'runner.mjs',
    write: false,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    ...{ banner: { js: require }, ...forSsh2 },
    plugins: [without(controls.split(',').filter(Boolean))],
    logLevel: 'warning',
  })
  const { contents } = outputFiles[0]!
  // By its contents: all processes of the tests share it, and none needs to remove it.
  const dir = join(checkout, '.artefacts/runner-programs')
  const file = join(dir, `${hash('sha256', contents).slice(0, 16)}.mjs`)
  mkdirSync(dir, { recursive: true })
  writeFileSync(`${file}.${process.pid}`, contents)
  renameSync(`${file}.${process.pid}`, file)
  return file
}

/** Edits files as they are read. */
const without = (controls: readonly string[]): Plugin => ({
  name: 'without-guards',
  setup({ onLoad }) {
    const edits = controls.flatMap(name => controlNamed(name).edits.map(edit => ({ name, edit })))
    onLoad({ filter: /\/src\/runner\/[^/]+\.ts$/ }, ({ path }) => {
      const ours = edits.filter(({ edit }) => path === join(checkout, edit.file))
      if (ours.length === 0) return undefined
      const contents = ours.reduce((text, { name, edit }) => edited(text, edit, name), readFileSync(path, 'utf8'))
      return { contents, loader: 'ts' }
    })
  },
})
