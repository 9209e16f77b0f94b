/** Builds the runner for tests, also without some of its guards. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
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
  const dir = mkdtempSync(join(tmpdir(), 'skylab-runner-program-'))
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  const outfile = join(dir, 'runner.mjs')
  await build({
    entryPoints: [join(checkout, 'test/kit/runner/entry.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    plugins: [without(controls.split(',').filter(Boolean))],
    logLevel: 'warning',
  })
  return outfile
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
