// Builds the controller's image without pulling anything, and pins digests of images that are pulled:  npm run image -- --help
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { controllerImage } from './image/controller.ts'
import { pinFiles } from './image/pin.ts'
import { runCommand, UsageError } from './process/program.ts'
import { createProgress } from './process/progress.ts'
import { setup } from './setup/setup.ts'

const checkout = fileURLToPath(new URL('..', import.meta.url))
/** Files of this checkout that name images of registries. */
const ownFiles = ['Dockerfile', 'hub/examples/*/Dockerfile', 'k8s/components/*/*.yaml']

const usage = `npm run image                        builds the controller's image, and compares each file of it with its source
npm run image -- --pin [FILE…]       writes the digest of each image that files name by a tag

Without --pin: prints one line of JSON: the path of the image (an OCI layout), its bill of materials, and its size.
With --pin: FILEs are Dockerfiles and YAML (manifests, kustomizations, Helm values, configurations);
default: the files of this checkout that name images. Passwords of registries come from Docker's config.json.
`

interface Options {
  readonly pin: boolean
  readonly files: readonly string[]
}

function parse(args: readonly string[]): Options {
  try {
    const options = { pin: { type: 'boolean', default: false } } as const
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    if (positionals.length > 0 && !values.pin) throw new UsageError('FILE: only with --pin')
    return { pin: values.pin, files: positionals }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

async function run({ pin, files }: Options, signal: AbortSignal): Promise<number> {
  if (pin) {
    const own = async () => (await Array.fromAsync(glob(ownFiles, { cwd: checkout }))).map(path => join(checkout, path))
    await pinFiles({ files: files.length > 0 ? files : (await own()).sort(), say, signal })
    return 0
  }
  const progress = createProgress()
  await setup(['image', 'builder'], progress, signal)
  const image = await controllerImage(progress, signal)
  progress.summary()
  process.stdout.write(`${JSON.stringify(image)}\n`)
  return 0
}

const say = (line: string) => void process.stdout.write(`${line}\n`)

await runCommand({ usage, parse, run })
