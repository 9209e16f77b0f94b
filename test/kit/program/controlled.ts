/** The program of a fleet's replicas: the checkout's own, or a build of a source without some guards. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testBed } from '../testbed.ts'
import { controlNamed, edited, isOfCluster } from './controls.ts'
import { builtProgram, programOf, type TestProgram } from './program.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))
/**
 * The files and folders that a source without guards has. Replicas also load failpoints and toys, with their imports.
 * Replicas that reconcile run from the source. Fleets of tenants and of apps apply their component.
 */
export const copied = [
  ...['package.json', 'src', 'k8s/components/tenants', 'k8s/components/apps'],
  ...['test/kit/failpoints', 'test/kit/reconcile', 'test/kit/toy'],
]

const programs = new Map<string, Promise<TestProgram>>()
const sources = new Map<string, string>()

/**
 * The program without the guards of these controls, separated by commas; without controls the checkout's own.
 * @throws if an edit does not fit the source
 */
export async function programWithout(controls: string): Promise<TestProgram> {
  const root = sourceWithout(controls)
  if (root === checkout) return builtProgram(testBed().stateDir)
  const program = programs.get(root) ?? programOf(root, join(root, 'program'))
  programs.set(root, program)
  return program
}

/** The root of the source, as `programWithout` builds it. */
export function sourceWithout(controls: string): string {
  const names = [...new Set(controls.split(',').filter(name => name !== ''))]
  const edits = names.flatMap(name =>
    controlNamed(name)
      .edits.filter(edit => !isOfCluster(edit))
      .map(edit => ({ name, edit })),
  )
  if (edits.length === 0) return checkout
  const key = names.join(',')
  const known = sources.get(key)
  if (known) return known
  const root = copy()
  for (const { name, edit } of edits) {
    const file = join(root, edit.file)
    writeFileSync(file, edited(readFileSync(file, 'utf8'), edit, name))
  }
  sources.set(key, root)
  return root
}

function copy(): string {
  const folder = join(testBed().stateDir, 'controls')
  mkdirSync(folder, { recursive: true })
  const root = mkdtempSync(join(folder, 'source-'))
  for (const path of copied) cpSync(join(checkout, path), join(root, path), { recursive: true })
  symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'))
  return root
}
