/** Folders of containers, which their owners name. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Makes a folder and those above it. One by one: Node's own way never ends where a folder cannot be made for a reason that looks
 * like a missing parent, as below `/proc`.
 * @throws where one cannot be made
 */
export function makeFolders(path: string): void {
  let made = '/'
  for (const name of path.split('/')) {
    made = join(made, name)
    try {
      mkdirSync(made)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}
