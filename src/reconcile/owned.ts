/** Checks that the fields of a wish are owned. Pure. */
import type { Path } from './types.ts'

/** The owned fields below a place. */
interface Node {
  /** All of the place is owned. */
  isOwned: boolean
  readonly below: Map<string, Node>
}

const newNode = (): Node => ({ isOwned: false, below: new Map() })

/** By the paths of a source, which never change. */
const trees = new WeakMap<readonly Path[], Node>()

/** @throws {Error} with the first field that no path owns */
export function checkOwned(content: object, owned: readonly Path[], kind: string): void {
  const path = unownedIn(content, treeOf(owned))
  if (path) throw unowned(path, kind)
}

export const unowned = (path: Path, kind: string): Error => new Error(`no source owns ${path.join('.')} of a ${kind}`)

function unownedIn(value: unknown, { isOwned, below }: Node): Path | undefined {
  if (isOwned) return undefined
  if (typeof value !== 'object' || value === null) return []
  for (const name of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[name]
    if (inner === undefined) continue
    const node = below.get(name)
    const path = node ? unownedIn(inner, node) : []
    if (path) return [name, ...path]
  }
  return undefined
}

function treeOf(paths: readonly Path[]): Node {
  const known = trees.get(paths)
  if (known) return known
  const root = newNode()
  for (const path of paths) {
    let node = root
    for (const name of path) {
      const next = node.below.get(name) ?? newNode()
      node.below.set(name, next)
      node = next
    }
    node.isOwned = true
  }
  trees.set(paths, root)
  return root
}
