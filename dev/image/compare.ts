/** Compares the files of the image with those of its sources, by path and content. */
import { createHash } from 'node:crypto'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

/** Absolute paths in the image, and the SHA-256 of each content. */
export type Contents = ReadonlyMap<string, string>

/** The files that each source provides, by the name of the source. */
export type Sources = Readonly<Record<string, Contents>>

export const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex')

/**
 * The contents of a folder that is, or becomes, the folder `at` of the image. An entry that is neither folder nor plain
 * file, or that has another owner, gets its mode as content: no source has that.
 */
export async function contentsOf(folder: string, at = '/'): Promise<Map<string, string>> {
  const contents = new Map<string, string>()
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue
    const path = join(entry.parentPath, entry.name)
    const { mode } = await lstat(path)
    const isPlain = entry.isFile() && (mode & 0o7000) === 0
    const what = isPlain ? sha256(await readFile(path)) : `mode ${mode.toString(8)}`
    contents.set(join(at, relative(folder, path)), what)
  }
  return contents
}

/** @returns a line for each file that no source has, that differs from its source, or that is missing */
export function differences(image: Contents, sources: Sources): string[] {
  const known = new Set<string>()
  const lines = Object.entries(sources).flatMap(([name, source]) =>
    [...source].flatMap(([path, sum]) => {
      known.add(path)
      const found = image.get(path)
      if (found === undefined) return [`${path}: is missing; ${name} has it`]
      return found === sum ? [] : [`${path}: differs from ${name}`]
    }),
  )
  const foreign = [...image.keys()].filter(path => !known.has(path)).map(path => `${path}: comes from no source`)
  return [...lines, ...foreign].sort()
}
