/** Trees of this machine's programs with their libraries, for small images; nothing is fetched. */
import { copyFile, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { findProgram, run } from '../process/command.ts'

/** Copies programs into an empty or missing folder, each to a given path there. Throws when one is not installed. */
export async function copyPrograms(rootfs: string, pathOf: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, path] of Object.entries(pathOf)) {
    const program = findProgram(name)
    if (!program) throw new Error(`there is no ${name} on this machine`)
    await copyInto(rootfs, program, path)
    for (const library of librariesOf(await run('ldd', [program]))) await copyInto(rootfs, library, library)
  }
}

/** Paths in the output of ldd, including the loader's. The kernel's own library has none. */
export const librariesOf = (output: string): string[] =>
  output.split('\n').flatMap(line => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1] ?? [])

/** Copies the target of a path, through all links. */
async function copyInto(rootfs: string, from: string, to: string): Promise<void> {
  await mkdir(join(rootfs, dirname(to)), { recursive: true })
  await copyFile(from, join(rootfs, to))
}
