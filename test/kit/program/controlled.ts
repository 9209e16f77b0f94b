/** The program of a fleet's replicas: the checkout's own, or a build of a source without some guards. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testBed } from '../testbed.ts'
import { controlNamed, edited, isOfCluster } from './controls.ts'
import { builtProgram, programOf, type TestProgram } from './program.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))
/** Replicas also load failpoints, with their imports. */
const loaded = ['package.json', 'src', 'test/kit/failpoints', 'test/kit/toy']

const programs = new Map<string, Promise<TestProgram>>()

/**
 * The program without the guards of these controls, separated by commas; without controls the checkout's own.
 * @throws if an edit does not fit the source
 */
export async function programWithout(controls: string): Promise<TestProgram> {
  const names = [...new Set(controls.split(',').filter(name => name !== ''))]
  const edits = names.flatMap(name =>
    controlNamed(name)
      .edits.filter(edit => !isOfCluster(edit))
      .map(edit => ({ name, edit })),
  )
  if (edits.length === 0) return builtProgram(testBed().stateDir)
  const key = names.join(',')
  const known = programs.get(key)
  if (known) return known
  const root = copy()
  for (const { name, edit } of edits) {
    const file = join(root, edit.file)
    writeFileSync(file, edited(readFileSync(file, 'utf8'), edit, name))
  }
  const program = programOf(root, join(root, 'program'))
  programs.set(key, program)
  return program
}

function copy(): string {
  const folder = join(testBed().stateDir, 'controls')
  mkdirSync(folder, { recursive: true })
  const root = mkdtempSync(join(folder, 'source-'))
  for (const path of loaded) cpSync(join(checkout, path), join(root, path), { recursive: true })
  symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'))
  return root
}
