/** The source that the replicas of a fleet run: the checkout's own, or a copy of it in which guards are missing. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { controlNamed, edited, isOfCluster } from './controls.ts'
import { testPlace } from './place.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))
/** A replica loads failpoints too, with whatever they import. */
const loaded = ['package.json', 'src', 'test/integration/harness']

const copies = new Map<string, string>()

/**
 * The root of a source without the guards of these controls, separated by commas; of the checkout itself without any.
 * @throws where an edit does not fit the source any more
 */
export function sourceWithout(controls: string): string {
  const names = [...new Set(controls.split(',').filter(name => name !== ''))]
  const edits = names.flatMap(name =>
    controlNamed(name)
      .edits.filter(edit => !isOfCluster(edit))
      .map(edit => ({ name, edit })),
  )
  if (edits.length === 0) return checkout
  const key = names.join(',')
  const known = copies.get(key)
  if (known) return known
  const root = copy()
  for (const { name, edit } of edits) {
    const file = join(root, edit.file)
    writeFileSync(file, edited(readFileSync(file, 'utf8'), edit, name))
  }
  copies.set(key, root)
  return root
}

function copy(): string {
  const folder = join(testPlace().stateDir, 'controls')
  mkdirSync(folder, { recursive: true })
  const root = mkdtempSync(join(folder, 'source-'))
  for (const path of loaded) cpSync(join(checkout, path), join(root, path), { recursive: true })
  symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'))
  return root
}
