/**
 * Proves the origin of each file of the controller's image by content: this checkout, a package of package-lock.json, or a
 * C library of libraries.json. Precompiled code must belong to the bundle (compiled.ts says how far that is checked).
 */
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../process/command.ts'
import {
  type BundleAccount,
  billOfMaterials,
  bundledPackages,
  type ImageFile,
  type Lockfile,
  packageOf,
} from './bill.ts'
import { bundle, madeInput } from './bundle.ts'
import { type Contents, contentsOf, differences, type Sources, sha256 } from './compare.ts'
import { isCompiledFrom } from './compiled.ts'
import { blobPath } from './layout.ts'
import { type LibraryLock, librariesFile } from './libraries.ts'
import { fetchPackages } from './packages.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const nodePackage = `node_modules/node-linux-${process.arch}`
const pagePackage = 'node_modules/swagger-ui-dist'
export const billPath = '/skylab/sbom.cdx.json'

export interface Proof {
  /** A line for each file without an origin; empty when all have one. */
  readonly problems: readonly string[]
  /** Number of files by origin. */
  readonly files: Readonly<Record<string, number>>
  /** Number of packages with code in the bundle. */
  readonly bundledPackages: number
}

export interface ProofParts {
  /** The unpacked image. */
  readonly rootfs: string
  /** An empty folder. */
  readonly work: string
  readonly signal?: AbortSignal | undefined
}

/** Unpacks the one image of a layout into a folder. */
export async function unpackImage(layout: string, folder: string, signal?: AbortSignal): Promise<void> {
  await mkdir(folder, { recursive: true })
  const index = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8'))
  const manifest = JSON.parse(await readFile(blobPath(layout, index.manifests[0].digest), 'utf8'))
  for (const { digest } of manifest.layers) {
    await run('tar', ['--extract', '--file', blobPath(layout, digest), '--directory', folder], { signal })
  }
}

/** Examines a whole image. Needs root, since Node runs as in the image. */
export async function proveImage(parts: ProofParts): Promise<Proof> {
  const image = await contentsOf(parts.rootfs)
  const made = await makeAgain(parts)
  const sources = await sourcesOf(parts, image, made)
  const changed = await changedInputs(made)
  return {
    problems: [...changed, ...differences(image, sources)],
    files: Object.fromEntries(Object.entries(sources).map(([name, contents]) => [name, contents.size])),
    bundledPackages: bundledPackages({ bundle: made.account }).length,
  }
}

/** The program bundled once more, and its packages fetched from the registry. */
interface Made {
  readonly lock: Lockfile
  readonly account: BundleAccount & { readonly inputs: object }
  /** Folder of the program. */
  readonly folder: string
  /** Folders of packages by their path in the lockfile. */
  readonly packages: ReadonlyMap<string, string>
}

async function makeAgain({ work, signal }: ProofParts): Promise<Made> {
  const lock: Lockfile = JSON.parse(await readFile(join(checkout, 'package-lock.json'), 'utf8'))
  const file = join(work, 'bundle.json')
  const folder = join(work, 'program')
  await bundle({ dir: folder, account: file })
  const account: Made['account'] = JSON.parse(await readFile(file, 'utf8'))
  const bundled = Object.keys(account.inputs).flatMap(input => packageOf(input) ?? [])
  const paths = [...new Set([nodePackage, pagePackage, ...bundled])]
  const packages = await fetchPackages({ lock, paths, folder: join(work, 'packages'), signal })
  return { lock, account, folder, packages }
}

/** Whether an input of the bundle is of this checkout. */
const isOwn = (input: string) => /^(src\/|package\.json$)/.test(input) || input === madeInput

/** Those inputs of a bundle that are neither of this checkout nor of a package. */
export function inputsWithoutSource({ inputs }: Pick<Made['account'], 'inputs'>): string[] {
  return Object.keys(inputs).filter(input => packageOf(input) === undefined && !isOwn(input))
}

/** Compares the bundle's inputs with the packages of the registry: the bundle is only as good as its inputs. */
async function changedInputs({ account, packages }: Made): Promise<string[]> {
  const strange = inputsWithoutSource(account).map(input => `${input}: is bundled, but comes from no source`)
  const lines = Object.keys(account.inputs).map(async input => {
    const path = packageOf(input)
    if (path === undefined) return []
    const original = await readFile(join(packages.get(path)!, input.slice(path.length))).catch(() => null)
    const same = original?.equals(await readFile(join(checkout, input)))
    return same ? [] : [`${input}: is bundled, and not what package-lock.json has`]
  })
  return [...strange, ...(await Promise.all(lines)).flat()]
}

async function sourcesOf(parts: ProofParts, image: Contents, made: Made): Promise<Sources> {
  const { folder, packages } = made
  const page = await contentsOf(packages.get(pagePackage)!, join('/skylab', pagePackage))
  const node = sha256(await readFile(join(packages.get(nodePackage)!, 'bin/node')))
  const libraries = await libraryFiles(image)
  return {
    'this checkout': new Map([
      ...(await contentsOf(join(checkout, 'dev/image/etc'), '/etc')),
      ...(await contentsOf(join(folder, 'dist'), '/skylab/dist')),
    ]),
    'package-lock.json': new Map([
      ['/usr/local/bin/node', node],
      ...[...page].filter(([path]) => !path.endsWith('.map')),
    ]),
    'libraries.json': new Map(libraries.map(({ path, sha256 }) => [path, sha256])),
    'the build': new Map([
      ...(await compiledFiles(parts, image, made)),
      [billPath, sha256(await billAgain(parts, image, made, libraries))],
    ]),
  }
}

/** Libraries of libraries.json, under the paths at which the image has files of these names. */
async function libraryFiles(image: Contents): Promise<ImageFile[]> {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const lock: LibraryLock = JSON.parse(await readFile(librariesFile, 'utf8'))
  const paths = [...image.keys()].filter(path => !path.startsWith('/skylab/'))
  return (lock[architecture] ?? []).map(({ file, sha256, package: name, version }) => {
    const path = paths.find(each => basename(each) === file) ?? `/lib/${file}`
    return { path, sha256, debian: { package: name, version, architecture } }
  })
}

const compiledFolder = '/skylab/compiled'
/** The script that the Dockerfile makes Node run; it is compiled as well. */
const loader = "await import('/skylab/dist/main.mjs'); await import('/skylab/dist/serve.mjs')"

/** Code compiled from the bundle. Code compiled from anything else remains without an origin. */
async function compiledFiles({ rootfs }: ProofParts, image: Contents, { folder }: Made): Promise<Contents> {
  const names = (await readdir(join(folder, 'dist'))).filter(name => name.endsWith('.mjs'))
  const modules = await Promise.all(names.map(name => readFile(join(folder, 'dist', name))))
  const known = new Map<string, string>()
  for (const [path, sum] of image) {
    if (!path.startsWith(`${compiledFolder}/`)) continue
    if (isCompiledFrom(await readFile(join(rootfs, path)), [...modules, Buffer.from(loader)])) known.set(path, sum)
  }
  return known
}

const askNode = `
import { rootCertificates } from 'node:tls'
console.log(JSON.stringify({ node: { arch: process.arch, versions: process.versions }, authorities: rootCertificates }))
`

async function billAgain({ rootfs, signal }: ProofParts, image: Contents, made: Made, libraries: ImageFile[]) {
  const node = [rootfs, '/usr/local/bin/node', '--input-type=module', '--eval', askNode]
  const facts = JSON.parse(await run('chroot', node, { env: {}, signal }))
  const known = new Map(libraries.map(each => [each.path, each.debian]))
  const files = [...image]
    .filter(([path]) => path !== billPath)
    .map(([path, sha256]) => ({ path, sha256, debian: known.get(path) }))
  const bill = billOfMaterials({ lock: made.lock, bundle: made.account, files, ...facts })
  return `${JSON.stringify(bill, null, 1)}\n`
}
