// Writes the checksums of everything that is installed beside npm's packages:  npm run lock -- --help
import { readFile, writeFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { librariesFile, lockLibraries } from './image/libraries.ts'
import { runCommand, UsageError } from './process/program.ts'
import { createProgress } from './process/progress.ts'
import { lockRequirements, requirementFiles } from './setup/requirements.ts'
import { setup } from './setup/setup.ts'

const checkout = fileURLToPath(new URL('..', import.meta.url))

const usage = `npm run lock [-- --python | --libraries]     writes checksums of what is installed beside npm's packages

  --python       only those of Python: to each version in a list of requirements the checksums of all its files
  --libraries    only ${relative(checkout, librariesFile)}: the C libraries that Node needs in the image, by apt
`

interface Options {
  readonly python: boolean
  readonly libraries: boolean
}

function parse(args: readonly string[]): Options {
  const flag = { type: 'boolean' } as const
  try {
    const { values } = parseArgs({ args: [...args], options: { python: flag, libraries: flag } })
    const { python = false, libraries = false } = values
    return python || libraries ? { python, libraries } : { python: true, libraries: true }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

async function run({ python, libraries }: Options, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  if (python) {
    await setup(['python'], progress, signal)
    for (const file of await requirementFiles()) {
      const lock = async () => writeFile(file, await lockRequirements(await readFile(file, 'utf8'), progress, signal))
      await progress.part(relative(checkout, file), lock)
    }
  }
  if (libraries) {
    const locked = await progress.part('C libraries', () => lockLibraries(signal))
    await writeFile(librariesFile, `${JSON.stringify(locked, null, 2)}\n`)
  }
  return 0
}

await runCommand({ usage, parse, run })
